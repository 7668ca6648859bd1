/* SPDX-License-Identifier: MIT */
/*
 * What the timers' tests share: a virtual clock with ticks of 1,024 ns, a resource, and bells,
 * timers that note when they ran.
 */
#ifndef BATON_TEST_UNIT_TIMER_SUPPORT_H
#define BATON_TEST_UNIT_TIMER_SUPPORT_H

#include "support.h"

#include <baton/timer.h>
#include <baton/timers.h>

#define TICK ((uint64_t)1024)
#define BELL_RUNS_MAX 64

struct bell {
	struct baton_timer timer;
	struct baton_timers *timers;
	uint64_t asked; /* for ran_early */
	unsigned runs;
	unsigned early;
	uint64_t ran_at[BELL_RUNS_MAX];
	int (*then)(struct bell *bell); /* within the function; NULL: nothing */
	void *argument;
};

static inline int bell_run(struct baton_timer *timer)
{
	struct bell *bell = baton_container_of(timer, struct bell, timer);
	uint64_t now = baton_timers_now(bell->timers);

	if (bell->runs < BELL_RUNS_MAX)
		bell->ran_at[bell->runs] = now;
	bell->runs++;
	bell->early += now < bell->asked;
	return bell->then ? bell->then(bell) : 0;
}

/* For `then`: adds 1 to the atomic_int that `argument` points to. */
static inline int bell_rings(struct bell *bell)
{
	(void)atomic_fetch_add((atomic_int *)bell->argument, 1);
	return 0;
}

static inline void bell_init(struct bell *bell, struct baton_timers *timers,
                             struct baton_resource *resource)
{
	*bell = (struct bell){.timers = timers};
	baton_timer_init(&bell->timer, timers, resource, bell_run);
}

static inline struct baton_timers *virtual_timers(void)
{
	struct baton_timers *timers;

	MUST(baton_timers_create(&(struct baton_timers_options){.source = BATON_TIMERS_VIRTUAL},
	                         &timers) == 0);
	return timers;
}

static inline struct baton_timers_stats stats_of(const struct baton_timers *timers)
{
	struct baton_timers_stats stats;

	baton_timers_stats_read(timers, &stats);
	return stats;
}

#endif
