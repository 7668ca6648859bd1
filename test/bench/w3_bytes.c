/* SPDX-License-Identifier: MIT */
/*
 * What an idle resource costs: its size in the user's memory, and what grows beside it, measured as
 * memory that is present (which knows of every allocator) while BYTES_COUNT are made. Once for each
 * kind: a second time, memory that was freed would be taken again.
 */
#include "w3_many.h"

#include "harness.h"
#include "machine.h"
#include "peers/peer.h"

#include <malloc.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BYTES_COUNT 100000U
#define CASES_MAX 16

struct bytes_case {
	struct w3_set set;
	double own;
	double beside;
};

static void measure(struct bytes_case *to)
{
	const struct w3_kind *kind = to->set.kind;
	size_t size = kind->bare_size(&to->set);
	size_t length = BYTES_COUNT * ((size + 63) / 64 * 64);
	void *array = aligned_alloc(64, length);
	double before;

	if (!array)
		abort();
	memset(array, 0, length);
	(void)malloc_trim(0);
	if (to->set.peer)
		to->set.peer->start(1);
	before = machine_memory_bytes();
	kind->make_bare(&to->set, array, BYTES_COUNT);
	to->beside = (machine_memory_bytes() - before) / BYTES_COUNT;
	to->own = (double)size;
	if (kind->end_bare)
		kind->end_bare(&to->set, array, BYTES_COUNT);
	if (to->set.peer)
		to->set.peer->stop();
	free(array);
}

static void run(const void *setup, double *values)
{
	struct bytes_case *mine = (struct bytes_case *)(uintptr_t)setup;

	if (mine->own == 0)
		measure(mine);
	values[0] = mine->own + (mine->beside > 0 ? mine->beside : 0);
	values[1] = mine->own;
}

static struct bench_case case_of(struct bytes_case *memory, const char *name,
                                 const struct w3_kind *kind, const struct peer *peer)
{
	*memory = (struct bytes_case){.set = {.kind = kind, .peer = peer, .count = BYTES_COUNT}};
	return (struct bench_case){name, run, memory};
}

void w3_bytes(void)
{
	static const char *const metrics[] = {"bytes", "in the user's memory", NULL};
	struct bytes_case memory[CASES_MAX];
	struct bench_case cases[CASES_MAX];
	size_t count = 0;
	struct bench_group group = {
		"W3: memory of an idle resource",
		metrics,
		cases,
		0,
		0,
		"memory present, each measured once while 100,000 are made; less is better",
	};

	cases[count] = case_of(&memory[count], "pthread_mutex", &w3_mutex, NULL);
	count++;
	cases[count] = case_of(&memory[count], "baton", &w3_baton, NULL);
	count++;
	cases[count] = case_of(&memory[count], "CK ticket lock", &w3_ticket, NULL);
	count++;
	for (size_t i = 0; peers[i] && count < CASES_MAX; i++) {
		if (!peers[i]->present || !peers[i]->queue_is_light)
			continue;
		cases[count] = case_of(&memory[count], peers[i]->name, &w3_peer, peers[i]);
		count++;
	}
	group.case_count = count;
	bench_group(&group);
}
