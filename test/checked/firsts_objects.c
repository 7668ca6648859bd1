/* SPDX-License-Identifier: MIT */
/* Functions that are given a future, a timer, a trigger, a window, a watch; see firsts.h. */
#include "firsts.h"

#include <unistd.h>

/* ---- Futures ---- */

FIRST(baton_future_init)
{
	baton_future_init(&f);
	baton_task_init(&t, run_task, &f);
	MUST(!baton_submit(&r, &t));
	MUST(!baton_future_wait(&f, NULL));
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
	MUST(!baton_future_wait(&promise, NULL));
}

static const struct timespec past = {1, 0};

FIRST(baton_future_wait)
{
	MUST(baton_future_wait(&f, &past) == -ETIMEDOUT);
}

FIRST(baton_future_wait_any)
{
	struct baton_future *const futures[] = {&f, &promise};
	size_t index;

	MUST(baton_future_wait_any(futures, 2, &past, &index) == -ETIMEDOUT);
}

FIRST(baton_future_wait_all)
{
	struct baton_future *const futures[] = {&f, &promise};

	MUST(baton_future_wait_all(futures, 2, &past) == -ETIMEDOUT);
}

FIRST(baton_future_wait_all_or_cancel)
{
	struct baton_future *const futures[] = {&f};

	MUST(baton_future_wait_all_or_cancel(futures, 1, &past) == -ETIMEDOUT);
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
	MUST(!baton_future_wait(&promise, NULL));
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

FIRST(baton_group_notify)
{
	struct baton_group group = BATON_GROUP_INIT;

	baton_group_enter(&group);
	baton_continuation_task(&c, &r, &t);
	baton_group_notify(&group, &c);
	baton_group_leave(&group);
	ran();
}

FIRST(baton_labelled_init)
{
	static struct baton_labelled labelled;

	baton_labelled_init(&labelled, run_task, NULL);
	MUST(!baton_submit(&r, &labelled.task));
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
	MUST(!baton_timer_stop_wait(&timer, NULL));
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
	MUST(baton_timer_stop(&timer) == BATON_TIMER_IDLE);
	on_wheel();
	MUST(!baton_timer_arm_after(&timer, 1));
	MUST(baton_timer_stop(&timer) == BATON_TIMER_PENDING);
}

FIRST(baton_timer_disarm)
{
	MUST(baton_timer_disarm(&timer) == BATON_TIMER_IDLE);
}

FIRST(baton_timer_stop_then)
{
	MUST(baton_timer_stop_then(&timer, &promise) == BATON_TIMER_IDLE);
	MUST(!baton_future_wait(&promise, NULL));
}

FIRST(baton_timer_stop_wait)
{
	stop_timer();
}

/* ---- Triggers ---- */

static void run_trigger(struct baton_trigger *trigger, uint64_t fires)
{
	(void)trigger;
	(void)fires;
	used();
}

static struct baton_trigger trigger = BATON_TRIGGER_INIT(&r, run_trigger, NULL);

/* The resource is initialised last. */
FIRST(baton_trigger_init)
{
	static struct baton_resource late;

	memset(&late, 0xA5, sizeof(late));
	baton_trigger_init(&trigger, &late, run_trigger, NULL);
	baton_resource_init(&late, NULL);
	MUST(!baton_trigger_fire(&trigger));
	ran();
}

FIRST(baton_trigger_fire)
{
	MUST(!baton_trigger_fire(&trigger));
	ran();
}

FIRST(baton_trigger_stop)
{
	MUST(!baton_trigger_stop(&trigger));
}

FIRST(baton_trigger_is_pending)
{
	MUST(!baton_trigger_is_pending(&trigger));
}

FIRST(baton_continuation_trigger)
{
	baton_continuation_trigger(&c, &trigger);
	baton_future_then(&promise, &c);
	MUST(!baton_future_complete(&promise, 0, NULL));
	ran();
}

/* ---- Windows ---- */

static struct baton_window window = BATON_WINDOW_INIT(&r, 1);
static struct baton_windowed windowed;
static struct baton_windowed later;

static int detach(struct baton_task *task)
{
	return baton_detach(&baton_container_of(task, struct baton_windowed, task)->token, 0);
}

/* The second task waits in the window while r is idle. */
static void two_in_the_window(void)
{
	baton_windowed_init(&windowed, &window, detach, NULL);
	baton_windowed_init(&later, &window, run_task, &f);
	MUST(!baton_submit(&r, &windowed.task));
	MUST(!baton_submit(&r, &later.task));
	MUST(!baton_call(&r, run_call, NULL, NULL));
	ran();
}

FIRST(baton_window_init)
{
	baton_window_init(&window, &r, 1);
	two_in_the_window();
	MUST(!baton_detached_complete(&windowed.token, 0, NULL));
	ran();
}

FIRST(baton_windowed_init)
{
	two_in_the_window();
	MUST(!baton_detached_complete(&windowed.token, 0, NULL));
	ran();
}

FIRST(baton_window_set_lanes)
{
	static struct baton_window_lane lanes[2];

	baton_window_set_lanes(&window, lanes, 2);
	two_in_the_window();
	MUST(!baton_detached_complete(&windowed.token, 0, NULL));
	ran();
}

FIRST(baton_window_set_limit)
{
	MUST(!baton_window_set_limit(&window, 1));
	two_in_the_window();
	MUST(!baton_window_set_limit(&window, 2));
	ran();
	MUST(!baton_detached_complete(&windowed.token, 0, NULL));
}

FIRST(baton_window_cancel)
{
	MUST(!baton_window_cancel(&window));
	two_in_the_window();
	MUST(!baton_window_cancel(&window));
	MUST(!baton_detached_complete(&windowed.token, 0, NULL));
}

FIRST(baton_windowed_cancel)
{
	two_in_the_window();
	MUST(!baton_windowed_cancel(&later));
	MUST(!baton_detached_complete(&windowed.token, 0, NULL));
}

FIRST(baton_window_in_flight)
{
	MUST(baton_window_in_flight(&window) == 0);
}

FIRST(baton_window_waiting)
{
	MUST(baton_window_waiting(&window) == 0);
}

FIRST(baton_window_deinit)
{
	baton_window_deinit(&window);
}

/* ---- Watches of descriptors ---- */

static int run_io(struct baton_io *io)
{
	(void)io;
	used();
	return 0;
}

static struct baton_io io = BATON_IO_INIT(&r, run_io);

static void watch(void)
{
	int ends[2];

	MUST(!pipe(ends) && write(ends[1], "x", 1) == 1);
	MUST(!baton_io_start(&io, ends[0], BATON_IO_READ));
	ran();
}

/* The resource is initialised last. */
FIRST(baton_io_init)
{
	static struct baton_resource late;

	memset(&late, 0xA5, sizeof(late));
	baton_io_init(&io, &late, run_io);
	baton_resource_init(&late, NULL);
	watch();
}

FIRST(baton_io_set_dropped)
{
	baton_io_set_dropped(&io, NULL);
	watch();
}

FIRST(baton_io_start)
{
	watch();
}

FIRST(baton_io_stop)
{
	(void)baton_io_stop(&io);
	watch();
}

FIRST(baton_io_is_active)
{
	MUST(!baton_io_is_active(&io));
}
