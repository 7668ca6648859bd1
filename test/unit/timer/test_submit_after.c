/* SPDX-License-Identifier: MIT */
/* A task, a delay, and a stop: baton_submit_after. */
#include "fixture.h"

#include <baton/timer.h>

struct delayed {
	struct baton_timer timer;
	atomic_int runs;
	atomic_int gone;
	bool held; /* the function ran under the baton */
	pthread_t thread;
};

static int run_delayed(struct baton_timer *timer)
{
	struct delayed *delayed = baton_container_of(timer, struct delayed, timer);

	delayed->held = baton_held(&fix.resource);
	delayed->thread = pthread_self();
	(void)atomic_fetch_add(&delayed->runs, 1);
	return 0;
}

static void gone(void *arg)
{
	struct delayed *delayed = arg;

	(void)atomic_fetch_add(&delayed->gone, 1);
}

Test(submit_after, it_runs_as_a_task_of_the_resource_when_the_delay_is_over, .timeout = 10)
{
	struct delayed delayed = {.runs = 0};
	const uint64_t begin = now_ns();

	fixture_pool(1);
	for (int i = 1; i <= 2; i++) {
		cr_assert_eq(baton_submit_after(&fix.resource, &delayed.timer, BATON_MILLISECOND,
		                                run_delayed),
		             0);
		until_at_least(&delayed.runs, i);
		cr_assert_geq(now_ns() - begin, (uint64_t)i * BATON_MILLISECOND);
		cr_assert(delayed.held && !pthread_equal(delayed.thread, pthread_self()));
		cr_assert_eq(baton_timer_stop_wait(&delayed.timer), 0);
	}
	fixture_end();
}

Test(submit_after, a_stop_before_the_delay_is_over_prevents_it, .timeout = 10)
{
	struct delayed delayed = {.runs = 0};

	cr_assert_eq(
		baton_submit_after(&fix.resource, &delayed.timer, 3600 * BATON_SECOND, run_delayed),
		0);
	cr_assert_eq(baton_timer_stop_then(&delayed.timer, gone, &delayed).met,
	             BATON_STOP_PREVENTED);
	cr_assert_eq(delayed.gone, 1);
	cr_assert_eq(delayed.runs, 0);
	fixture_end();
}

Test(submit_after, a_closed_resource_refuses_and_the_memory_stays_the_callers, .timeout = 10)
{
	struct delayed delayed = {.runs = 0};

	cr_assert_eq(baton_resource_close(&fix.resource), 0);
	cr_assert_eq(baton_submit_after(&fix.resource, &delayed.timer, 1, run_delayed), -EPIPE);
	cr_assert_eq(baton_timer_state(&delayed.timer), BATON_TIMER_IDLE);
	fixture_end();
}
