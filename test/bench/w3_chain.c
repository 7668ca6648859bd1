/* SPDX-License-Identifier: MIT */
/*
 * W3b: a chain through a million resources: the task of each submits the next one's. With locks: a
 * loop, since they would have to be held inside one another else. On baton also where every thread,
 * the submitter and the pool's, has a stack of 64 KiB only. The peers post: their ways to run the
 * next one inside this one (dispatch, lightweight) would need a stack for a million of them.
 */
#include "w3_many.h"

#include "harness.h"
#include "machine.h"

#include <pthread.h>
#include <stdlib.h>

#define CASES_MAX 16
#define TITLE "W3b: a chain through 1,000,000 resources (quick: 100,000)"

struct chain_case {
	struct w3_set *set;
	const char *name;
};

static unsigned hops_of(const struct w3_set *set)
{
	return bench_options.quick && set->count > 100000 ? 100000 : set->count;
}

static void *thread_main(void *argument)
{
	struct w3_set *set = argument;

	set->kind->chain(set, hops_of(set));
	return NULL;
}

static void run_on_small_stack(struct w3_set *set)
{
	pthread_attr_t attributes;
	pthread_t id;

	(void)pthread_attr_init(&attributes);
	if (pthread_attr_setstacksize(&attributes, W3_SMALL_STACK) ||
	    pthread_create(&id, &attributes, thread_main, set))
		abort();
	(void)pthread_join(id, NULL);
	(void)pthread_attr_destroy(&attributes);
}

static void run(const void *setup, double *values)
{
	const struct chain_case *mine = setup;
	struct w3_set *set = mine->set;
	uint64_t start = machine_now_ns();

	if (set->small_stack)
		run_on_small_stack(set);
	else
		(void)thread_main(set);
	values[0] = (double)(machine_now_ns() - start) / hops_of(set);
	set->expected += hops_of(set);
	w3_set_check(set, mine->name);
}

bool w3_chain_wanted(void)
{
	return bench_wanted(TITLE);
}

void w3_chain(const struct w3_contender *contenders, size_t count)
{
	static const char *const metrics[] = {"ns/hop", NULL};
	struct chain_case chains[CASES_MAX];
	struct bench_case cases[CASES_MAX];
	struct bench_group group = {
		TITLE, metrics, cases,
		0,     0,       "less is better; the mutex's user has a loop, one after the other",
	};

	for (size_t i = 0; i < count && group.case_count < CASES_MAX; i++) {
		if (!contenders[i].set->memory || !contenders[i].set->kind->chain)
			continue;
		chains[group.case_count] =
			(struct chain_case){contenders[i].set, contenders[i].name};
		cases[group.case_count] =
			(struct bench_case){contenders[i].name, run, &chains[group.case_count]};
		group.case_count++;
	}
	bench_group(&group);
}
