/* SPDX-License-Identifier: MIT */
/*
 * Sets of resources: set up within bounds, checked, ended.
 */
#include "w3_many.h"

#include "machine.h"
#include "peers/peer.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define SETUP_MS 5000
/* Resources made between two looks at the clock. */
#define STEP 4096U

static bool affordable(const struct w3_set *set)
{
	double there = (double)sysconf(_SC_AVPHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);

	/* TBB's queues allocate three times as much themselves. */
	return 4.0 * (double)set->count * (double)set->kind->size(set) < there / 2;
}

static bool fail(struct w3_set *set, unsigned made, const char *name, const char *why)
{
	printf("(%s, %u of them: left out, %s)\n", name, set->count, why);
	if (set->memory && set->kind->end)
		set->kind->end(set, made);
	free(set->memory);
	set->memory = NULL;
	return false;
}

bool w3_set_make(struct w3_set *set, const char *name)
{
	uint64_t start = machine_now_ns();

	set->expected = 0;
	set->memory = NULL;
	if (!affordable(set))
		return fail(set, 0, name, "there is not enough memory");
	set->memory = aligned_alloc(64, set->count * set->kind->size(set));
	if (!set->memory)
		abort();
	for (unsigned made = 0; made < set->count;) {
		unsigned end = set->count - made < STEP ? set->count : made + STEP;

		set->kind->make(set, made, end);
		made = end;
		if (machine_now_ns() - start > SETUP_MS * UINT64_C(1000000))
			return fail(set, made, name, "setting them up takes too long");
	}
	return true;
}

void w3_set_end(struct w3_set *set)
{
	if (set->memory && set->kind->end)
		set->kind->end(set, set->count);
	free(set->memory);
	set->memory = NULL;
}

void w3_set_check(struct w3_set *set, const char *name)
{
	uint64_t sum = 0;

	if (set->kind->settle)
		set->kind->settle(set);
	for (unsigned i = 0; i < set->count; i++)
		sum += set->kind->state(set, i)[0];
	if (sum == set->expected)
		return;
	fprintf(stderr, "bench: %s: %llu tasks of %llu have run\n", name, (unsigned long long)sum,
	        (unsigned long long)set->expected);
	exit(1);
}
