/* SPDX-License-Identifier: MIT */
/* The table of the public functions: which errors each may return. */
#include "contract.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../parts.h"

#include <baton/call.h>

#define FUNCTIONS_MAX 512

static const struct function {
	const char *name;
	int errors[14];
} functions[] = {
#include "contract_rows.inc"
};

#define FUNCTIONS (sizeof(functions) / sizeof(*functions))

_Static_assert(FUNCTIONS <= FUNCTIONS_MAX, "room for their notes");

/* Shared with the children. */
static struct notes {
	atomic_uint calls[FUNCTIONS_MAX]; /* in cycles with a fault */
} * notes;

const char *_Atomic *contract_last;

void contract_init(void)
{
	notes = mmap(NULL, sizeof(*notes), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
	             0);
	if (notes == MAP_FAILED)
		abort();
}

/* The function's place in the table; `text` goes on after the name. */
static size_t find(const char *text)
{
	size_t length = strcspn(text, "(; \n");

	for (size_t i = 0; i < FUNCTIONS; i++)
		if (strlen(functions[i].name) == length &&
		    !strncmp(functions[i].name, text, length))
			return i;
	return FUNCTIONS;
}

void contract_enter(const char *call)
{
	size_t index = find(call);

	if (index == FUNCTIONS)
		contract_broken(call, 0, "not in the table of contract.c");
	atomic_store(contract_last, call);
	if (fault_planned())
		atomic_fetch_add(&notes->calls[index], 1);
}

int contract_leave(const char *call, int status)
{
	const struct function *function = &functions[find(call)];
	char text[64];

	if (status == 0)
		return 0;
	for (size_t i = 0; i < sizeof(function->errors) / sizeof(*function->errors); i++)
		if (function->errors[i] && function->errors[i] == -status)
			return status;
	(void)snprintf(text, sizeof(text), "returned %d, which its header does not document",
	               status);
	contract_broken(call, 0, text);
}

int64_t contract_count(const char *call, int64_t count)
{
	return count < 0 ? contract_leave(call, (int)count) : count;
}

/* Complains about functions of a library that the table lacks. */
static unsigned not_listed(const char *path)
{
	FILE *map = fopen(path, "r");
	unsigned bad = 0;
	char line[128];

	if (!map) {
		perror(path);
		return 1;
	}
	while (fgets(line, sizeof(line), map)) {
		const char *name = line + strspn(line, "\t ");

		/* All but the one variable, and what inlined code shares with the library. */
		if (strncmp(name, "baton_", strlen("baton_")) == 0 &&
		    strncmp(name, "baton_assert_hook;", strlen("baton_assert_hook;")) != 0 &&
		    strncmp(name, "baton_inline_", strlen("baton_inline_")) != 0 &&
		    find(name) == FUNCTIONS)
			bad += fprintf(stderr, "[FAIL] not in contract.c: %s", name) > 0;
	}
	(void)fclose(map);
	return bad;
}

unsigned contract_uncovered(void)
{
	static const char *const maps[] = {
		"src/baton.map",
		"src/companion/mainloop/mainloop.map",
		"src/companion/admission/admission.map",
	};
	unsigned bad = 0;

	for (size_t i = 0; i < sizeof(maps) / sizeof(maps[0]); i++)
		bad += not_listed(maps[i]);
	for (size_t i = 0; i < FUNCTIONS; i++)
		if (!atomic_load(&notes->calls[i]))
			bad += !!fprintf(stderr, "[FAIL] nothing calls %s\n", functions[i].name);
	return bad;
}
