/* SPDX-License-Identifier: MIT */
/* Functions that are given a future, a timer, a trigger; see firsts.h. */
#include "firsts.h"

#include <unistd.h>

/* ---- Futures ---- */

FIRST(baton_future_init)
{
	baton_future_init(&f);
	baton_task_init(&t, run_task, &f);
	MUST(!baton_submit(&r, &t));
	MUST(!baton_future_wait(&f));
}

FIRST(baton_promise_init)
{
	baton_promise_init(&promise);
	MUST(!baton_future_complete(&promise, 0, NULL));
}

FIRST(baton_future_state)
{
	MUST(baton_future_state(&f) == BATON_PENDING);
}

FIRST(baton_future_status)
{
	MUST(!baton_future_complete(&promise, 5, NULL));
	MUST(baton_future_status(&promise) == 5);
}

FIRST(baton_future_value)
{
	MUST(!baton_future_complete(&promise, 0, &r));
	MUST(baton_future_value(&promise) == &r);
}

FIRST(baton_future_complete)
{
	MUST(!baton_future_complete(&promise, 0, NULL));
	MUST(!baton_future_wait(&promise));
}

static const uint64_t past = 1;

FIRST(baton_future_wait)
{
	MUST(!baton_future_complete(&promise, 0, NULL));
	MUST(!baton_future_wait(&promise));
}

FIRST(baton_future_wait_until)
{
	MUST(baton_future_wait_until(&f, past) == -ETIMEDOUT);
}

FIRST(baton_future_wait_any)
{
	struct baton_future *const futures[] = {&f, &promise};
	size_t index;

	MUST(!baton_future_complete(&promise, 0, NULL));
	MUST(!baton_future_wait_any(futures, 2, &index));
}

FIRST(baton_future_wait_any_until)
{
	struct baton_future *const futures[] = {&f, &promise};
	size_t index;

	MUST(baton_future_wait_any_until(futures, 2, past, &index) == -ETIMEDOUT);
}

FIRST(baton_future_wait_all)
{
	struct baton_future *const futures[] = {&promise};

	MUST(!baton_future_complete(&promise, 0, NULL));
	MUST(!baton_future_wait_all(futures, 1));
}

FIRST(baton_future_wait_all_until)
{
	struct baton_future *const futures[] = {&f, &promise};

	MUST(baton_future_wait_all_until(futures, 2, past) == -ETIMEDOUT);
}

FIRST(baton_future_wait_all_or_cancel)
{
	struct baton_future *const futures[] = {&promise};

	MUST(!baton_future_complete(&promise, 0, NULL));
	MUST(!baton_future_wait_all_or_cancel(futures, 1));
}

FIRST(baton_future_wait_all_or_cancel_until)
{
	struct baton_future *const futures[] = {&f};

	MUST(baton_future_wait_all_or_cancel_until(futures, 1, past) == -ETIMEDOUT);
}

FIRST(baton_future_cancel)
{
	MUST(!baton_future_cancel(&promise));
	MUST(baton_future_state(&promise) == BATON_CANCELLED);
}

FIRST(baton_future_ref)
{
	struct baton_future *future;

	MUST(!baton_async(&r, run_call, NULL, &future));
	baton_future_unref(baton_future_ref(future));
	baton_future_unref(future);
	ran();
}

FIRST(baton_future_unref)
{
	struct baton_future *future;

	MUST(!baton_async(&r, run_call, NULL, &future));
	baton_future_unref(future);
	ran();
}

/* The resource is initialised last. */
FIRST(baton_continuation_task)
{
	static struct baton_resource late;

	memset(&late, 0xA5, sizeof(late));
	baton_continuation_task(&c, &late, &t);
	baton_future_then(&promise, &c);
	baton_resource_init(&late, NULL);
	MUST(!baton_future_complete(&promise, 0, NULL));
	ran();
}

FIRST(baton_future_then)
{
	baton_continuation_task(&c, &r, &t);
	baton_future_then(&promise, &c);
	MUST(!baton_future_complete(&promise, 0, NULL));
	ran();
}

static void run_job(struct baton_plain_job *job)
{
	(void)job;
	used();
}

FIRST(baton_continuation_job)
{
	static struct baton_plain_job job = BATON_PLAIN_JOB_INIT(run_job, run_job);
	struct baton_pool *pool;

	MUST(!baton_pool_default(&pool));
	baton_continuation_job(&c, baton_pool_executor(pool), &job.job);
	baton_future_then(&promise, &c);
	MUST(!baton_future_complete(&promise, 0, NULL));
	ran();
}

static void count_told(void *told)
{
	++*(int *)told;
}

/* In the function: a submit, and a wait for what is over. */
static void submit_and_wait(void *told)
{
	MUST(!baton_future_wait(&promise));
	MUST(!baton_submit(&r, &t));
	count_told(told);
}

FIRST(baton_continuation_function)
{
	static struct baton_continuation second;
	static int told;

	baton_continuation_function(&c, submit_and_wait, &told);
	baton_future_then(&promise, &c);
	MUST(!baton_future_complete(&promise, 0, NULL));
	baton_continuation_function(&second, count_told, &told);
	baton_future_then(&promise, &second);
	MUST(told == 2);
	ran();
}

FIRST(baton_group_then)
{
	struct baton_group group = BATON_GROUP_INIT;

	baton_group_enter(&group);
	baton_continuation_task(&c, &r, &t);
	baton_group_then(&group, &c);
	baton_group_leave(&group);
	ran();
}

/* ---- Timers ---- */

static int run_timer(struct baton_timer *timer)
{
	(void)timer;
	used();
	return 0;
}

static struct baton_timer timer = BATON_TIMER_INIT(NULL, &r, run_timer);

/* On a wheel whose clock the program turns; statically, but for the wheel. */
static void on_wheel(void)
{
	timer = (struct baton_timer)BATON_TIMER_INIT(wheel(), &r, run_timer);
}

static void turn(void)
{
	MUST(baton_timers_advance(wheel(), 2) >= 0);
	ran();
}

/* A stopped timer is not queued when r ends. */
static void stop_timer(void)
{
	MUST(!baton_timer_stop_wait(&timer));
}

/* The resource is initialised last. */
FIRST(baton_timer_init)
{
	static struct baton_resource late;

	memset(&late, 0xA5, sizeof(late));
	baton_timer_init(&timer, wheel(), &late, run_timer);
	baton_resource_init(&late, NULL);
	MUST(!baton_timer_arm_after(&timer, 1));
	turn();
	stop_timer();
}

FIRST(baton_timer_set_dropped)
{
	on_wheel();
	baton_timer_set_dropped(&timer, NULL);
	MUST(!baton_timer_arm_after(&timer, 1));
	turn();
	stop_timer();
}

FIRST(baton_submit_after)
{
	MUST(!baton_submit_after(&r, &timer, 1, run_timer));
	ran();
	stop_timer();
}

FIRST(baton_timer_arm_after)
{
	on_wheel();
	MUST(!baton_timer_arm_after(&timer, 1));
	turn();
	stop_timer();
}

FIRST(baton_timer_arm_at)
{
	on_wheel();
	MUST(!baton_timer_arm_at(&timer, baton_timers_now(wheel()) + 1));
	turn();
	stop_timer();
}

FIRST(baton_timer_arm_every)
{
	on_wheel();
	MUST(!baton_timer_arm_every(&timer, baton_timers_now(wheel()) + 1, 2, BATON_TIMER_SKIP));
	turn();
	stop_timer();
}

FIRST(baton_timer_arm_again_after)
{
	on_wheel();
	MUST(!baton_timer_arm_again_after(&timer, 1));
	turn();
	stop_timer();
}

FIRST(baton_timer_state)
{
	MUST(baton_timer_state(&timer) == BATON_TIMER_IDLE);
}

FIRST(baton_timer_stop)
{
	MUST(baton_timer_stop(&timer).met == BATON_STOP_NOTHING);
	on_wheel();
	MUST(!baton_timer_arm_after(&timer, 1));
	MUST(baton_timer_stop(&timer).met == BATON_STOP_PREVENTED);
}

FIRST(baton_timer_disarm)
{
	baton_timer_disarm(&timer);
}

FIRST(baton_timer_stop_then)
{
	MUST(baton_timer_stop_then(&timer, baton_stopped_complete, &promise).met ==
	     BATON_STOP_NOTHING);
	MUST(!baton_future_wait(&promise));
}

FIRST(baton_timer_stop_wait)
{
	stop_timer();
}

FIRST(baton_timer_stop_wait_until)
{
	MUST(!baton_timer_stop_wait_until(&timer, past));
}
