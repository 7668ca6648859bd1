/* SPDX-License-Identifier: MIT */
/* Stops beside a timer's `dropped`: the memory is the stopper's when the function has returned. */
#include "timer_support.h"

struct told {
	struct baton_timer timer;
	atomic_int inside;
	atomic_int stopping; /* the stop is about to be called */
	atomic_int left;
	bool rearm;
	int error;
	int armed;
};

static int told_runs(struct baton_timer *timer)
{
	(void)timer;
	return 0;
}

static void linger(struct baton_timer *timer, int error)
{
	struct told *told = baton_container_of(timer, struct told, timer);

	told->error = error;
	atomic_store(&told->inside, 1);
	until_at_least(&told->stopping, 1);
	/* The stop has time to come back too early. */
	for (int i = 0; i < 1000; i++)
		(void)sched_yield();
	if (told->rearm)
		told->armed = baton_timer_arm_after(timer, 1000 * TICK);
	atomic_store(&told->left, 1);
}

static void told_init(struct told *told, struct baton_timers *timers, struct baton_resource *of,
                      baton_timer_dropped_fn dropped)
{
	memset(told, 0, sizeof(*told));
	baton_timer_init(&told->timer, timers, of, told_runs);
	baton_timer_set_dropped(&told->timer, dropped);
	MUST(baton_timer_arm_after(&told->timer, TICK) == 0);
}

enum stop { STOP, STOP_THEN, STOP_WAIT, STOPS };

/* Stops the timer while its `dropped` runs; has the function returned after that? */
static bool stop_beside(struct told *told, enum stop how)
{
	struct baton_future gone = BATON_PROMISE_INIT;
	bool idle = true;

	until_at_least(&told->inside, 1);
	atomic_store(&told->stopping, 1);
	switch (how) {
	case STOP:
		idle = baton_timer_stop(&told->timer).met == BATON_STOP_NOTHING;
		break;
	case STOP_THEN:
		idle = baton_timer_stop_then(&told->timer, baton_stopped_complete, &gone).met ==
		               BATON_STOP_NOTHING &&
		       baton_future_is_complete(&gone);
		break;
	default:
		idle = baton_timer_stop_wait(&told->timer) == 0;
	}
	return atomic_load(&told->left) && idle;
}

static void *advance(void *arg)
{
	MUST(baton_timers_advance(arg, TICK) == 1);
	return NULL;
}

Test(timer_dropped, a_stop_waits_while_a_refused_run_is_told, .timeout = 10)
{
	struct baton_timers *timers = virtual_timers();

	for (int i = 0; i < STOPS; i++) {
		struct baton_resource closed = BATON_RESOURCE_INIT(NULL);
		pthread_t driver;
		struct told told;

		told_init(&told, timers, &closed, linger);
		cr_assert_eq(baton_resource_close(&closed), 0);
		driver = thread_start(advance, timers);
		cr_assert(stop_beside(&told, (enum stop)i), "case %d", i);
		cr_assert_eq(told.error, -EPIPE);
		thread_join(driver);
		resource_end(&closed);
	}
	cr_assert_eq(baton_timers_destroy(timers), 0);
}

static void *close_wheel(void *arg)
{
	MUST(baton_timers_close(arg, BATON_TIMERS_DROP) == 0);
	return NULL;
}

Test(timer_dropped, a_stop_waits_while_a_closed_wheel_is_told_of, .timeout = 10)
{
	struct baton_timers *timers = virtual_timers();
	struct baton_resource resource = BATON_RESOURCE_INIT(NULL);
	pthread_t closer;
	struct told told;

	told_init(&told, timers, &resource, linger);
	closer = thread_start(close_wheel, timers);
	cr_assert(stop_beside(&told, STOP));
	cr_assert_eq(told.error, -ESHUTDOWN);
	thread_join(closer);
	cr_assert_eq(baton_timers_destroy(timers), 0);
	resource_end(&resource);
}

Test(timer_dropped, a_stop_waits_while_a_cancelled_run_is_told, .timeout = 10)
{
	struct baton_timers *timers = virtual_timers();

	for (int i = 0; i < STOPS; i++) {
		struct baton_resource busy = BATON_RESOURCE_INIT(NULL);
		struct occupant occupant;
		struct told told;

		told_init(&told, timers, &busy, linger);
		occupy(&occupant, &busy);
		cr_assert_eq(baton_timers_advance(timers, TICK), 1);
		cr_assert_eq(baton_resource_cancel_pending(&busy), 0);
		gate_open(&occupant.leave);
		cr_assert(stop_beside(&told, (enum stop)i), "case %d", i);
		cr_assert_eq(told.error, -ECANCELED);
		thread_join(occupant.thread);
		resource_end(&busy);
	}
	cr_assert_eq(baton_timers_destroy(timers), 0);
}

Test(timer_dropped, a_stop_also_stops_what_the_told_function_arms, .timeout = 10)
{
	struct baton_timers *timers = virtual_timers();
	struct baton_resource resource = BATON_RESOURCE_INIT(NULL);

	for (int i = 0; i < STOPS; i++) {
		struct occupant occupant;
		struct told told;

		told_init(&told, timers, &resource, linger);
		told.rearm = true;
		occupy(&occupant, &resource);
		cr_assert_eq(baton_timers_advance(timers, TICK), 1);
		cr_assert_eq(baton_resource_cancel_pending(&resource), 0);
		gate_open(&occupant.leave);
		(void)stop_beside(&told, (enum stop)i);
		cr_assert_eq(told.left, 1, "case %d", i);
		cr_assert_eq(told.armed, 0);
		cr_assert_eq(baton_timer_state(&told.timer), BATON_TIMER_IDLE);
		cr_assert_eq(stats_of(timers).pending, 0);
		thread_join(occupant.thread);
	}
	cr_assert_eq(baton_timers_destroy(timers), 0);
	resource_end(&resource);
}

static void stop_it(struct baton_timer *timer, int error)
{
	struct told *told = baton_container_of(timer, struct told, timer);

	told->error = error;
	told->armed = baton_timer_stop_wait(timer);
}

Test(timer_dropped, the_told_function_may_stop_its_timer, .timeout = 10)
{
	struct baton_timers *timers = virtual_timers();
	struct baton_resource closed = BATON_RESOURCE_INIT(NULL);
	struct told told;

	told_init(&told, timers, &closed, stop_it);
	cr_assert_eq(baton_resource_close(&closed), 0);
	told.armed = -1;
	cr_assert_eq(baton_timers_advance(timers, TICK), 1);
	cr_assert_eq(told.error, -EPIPE);
	cr_assert_eq(told.armed, 0);
	cr_assert_eq(baton_timers_destroy(timers), 0);
	resource_end(&closed);
}
