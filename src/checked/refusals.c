/* SPDX-License-Identifier: MIT */
/*
 * The list of refusals. The library cannot know whether the program has looked at a result; so the
 * list has all refusals, and a reader sees which of them are a surprise. The list is printed at the
 * program's end, and by baton_checked_refusals(). Without a refusal nothing is printed. (A
 * baton_try_call that finds its resource busy is no refusal: the call asks for just that.)
 */
#include "checked/refusals.h"

#include "base/platform.h"
#include "core/resource.h"
#include "inspect/function_place.h"

#include <baton/error.h>

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define REFUSALS_MAX 256
#define NAME_MAX_SIZE 40

struct refusal {
	const char *function;
	const void *caller;
	const char *why; /* -EINVAL: which argument it was, a constant; else NULL */
	int error;
	char name[NAME_MAX_SIZE]; /* a copy, quoted: the resource's own may be gone */
	uint64_t count;
};

static struct {
	pthread_mutex_t lock; /* lock allowed: the checked library gives up the progress laws */
	size_t count;
	uint64_t others; /* for which there was no room */
	struct refusal refusals[REFUSALS_MAX];
} list = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool is_same(const struct refusal *one, const struct refusal *other)
{
	return one->function == other->function && one->caller == other->caller &&
	       one->error == other->error && one->why == other->why &&
	       strcmp(one->name, other->name) == 0;
}

static void lock_list(void)
{
	/* lock allowed: the checked library gives up the progress laws */
	(void)pthread_mutex_lock(&list.lock);
}

static void unlock_list(void)
{
	/* lock allowed: the checked library gives up the progress laws */
	(void)pthread_mutex_unlock(&list.lock);
}

void baton__check_refused(const struct baton_resource *resource, int error, const char *function,
                          const void *caller)
{
	const char *name = resource ? baton__name(resource) : NULL;
	struct refusal refusal = {
		.function = function, .caller = caller, .error = error, .count = 1};
	size_t i = 0;

	if (error == -EINVAL)
		refusal.why = baton_refused();
	if (resource)
		(void)snprintf(refusal.name, sizeof(refusal.name), ": \"%s\"",
		               name ? name : "(no name)");
	lock_list();
	while (i < list.count && !is_same(&list.refusals[i], &refusal))
		i++;
	if (i < list.count)
		list.refusals[i].count++;
	else if (list.count < REFUSALS_MAX)
		list.refusals[list.count++] = refusal;
	else
		list.others++;
	unlock_list();
}

static void say_refusal(const struct refusal *refusal, char *text, size_t size)
{
	char place[BATON__PLACE_TEXT];
	const char *program = program_invocation_short_name;
	/* Behind the function, which the line has already. */
	const char *why =
		refusal->why ? strstr(refusal->why, ": ") + 2 : baton_error_text(refusal->error);

	/* The call lies before the address to which it returns. */
	(void)baton__place_text(place, program, (uintptr_t)refusal->caller - 1);
	(void)snprintf(text, size, "refused: %s%s: %s (%d), %" PRIu64 " time%s, called at %s",
	               refusal->function, refusal->name, why, refusal->error, refusal->count,
	               refusal->count == 1 ? "" : "s", place);
}

/* Calls `print` for each line. Returns the number of lines. */
static size_t each_line(void (*print)(const char *line, void *arg), void *arg)
{
	struct refusal refusal;
	char text[400];
	uint64_t others;
	size_t count = 0;

	/* Not under the lock while it prints: the program's hook may submit. Ends: the list is
	 * finite, and no line leaves it. */
	for (;; count++) {
		bool more;

		lock_list();
		more = count < list.count;
		if (more)
			refusal = list.refusals[count];
		others = list.others;
		unlock_list();
		if (!more)
			break;
		say_refusal(&refusal, text, sizeof(text));
		print(text, arg);
	}
	if (!others)
		return count;
	(void)snprintf(text, sizeof(text),
	               "refused: %" PRIu64 " more, for which the list has no room", others);
	print(text, arg);
	return count + 1;
}

static void print_to(const char *line, void *arg)
{
	(void)dprintf(*(int *)arg, "%s\n", line);
}

/*
 * Writes the list to the descriptor, a line for each function, resource, error and caller. Returns
 * the number of lines. In libbaton-checked alone: a program declares it weak.
 */
extern size_t baton_checked_refusals(int fd);
BATON_EXPORT size_t baton_checked_refusals(int fd)
{
	return each_line(print_to, &fd);
}

static void report(const char *line, void *arg)
{
	(void)arg;
	if (baton_assert_hook)
		baton_assert_hook(line, __FILE__, __LINE__);
}

__attribute__((destructor)) static void report_refusals(void)
{
	(void)each_line(report, NULL);
}
