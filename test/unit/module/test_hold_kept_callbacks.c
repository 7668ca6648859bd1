/* SPDX-License-Identifier: MIT */
/* A hold that outlives the hook, the callback, or the module's function that has taken it. */
#include "hold_kept.h"

#include <baton/board.h>
#include <baton/bound.h>
#include <baton/epoch.h>
#include <baton/fan_out.h>
#include <baton/hooks.h>
#include <baton/parallel.h>
#include <baton/registry.h>
#include <baton/suspend.h>
#include <baton/timer.h>
#include <baton/timers.h>
#include <baton/trigger.h>
#include <baton/undo.h>
#include <baton/watchdog.h>

#include "../parts.h"

static int keep_in_hook(struct baton_resource *resource)
{
	keep();
	return 0;
}

static void keep_in_context(struct baton_resource *resource)
{
	keep();
}

static void keep_in_failed(struct baton_resource *resource, struct baton_task *task, int status)
{
	keep();
}

static void keep_in_cancelled(struct baton_task *task)
{
	keep();
}

static void in_batch_begin(void)
{
	static const struct baton_resource_config config = {.batch_begin = keep_in_hook};

	begin(&config);
	submits(idle_run, NULL);
}

static void in_batch_end(void)
{
	static const struct baton_resource_config config = {.batch_end = keep_in_hook};

	begin(&config);
	submits(idle_run, NULL);
}

static void in_hook_of_hold(void)
{
	static const struct baton_resource_config config = {.batch_begin = keep_in_hook};
	struct baton_hold first = BATON_HOLD_INIT;

	begin(&config);
	BATON_IGNORE((baton_hold)(&other, &first));
}

static int flushes(struct baton_task *task)
{
	BATON_IGNORE(baton_batch_flush());
	return 0;
}

static void in_hook_of_flush(void)
{
	static const struct baton_resource_config config = {.batch_end = keep_in_hook};

	begin(&config);
	submits(flushes, NULL);
}

static void in_enter(void)
{
	static const struct baton_resource_config config = {.enter = keep_in_context};

	begin(&config);
	submits(idle_run, NULL);
}

static void in_leave(void)
{
	static const struct baton_resource_config config = {.leave = keep_in_context};

	begin(&config);
	submits(idle_run, NULL);
}

static int fail(struct baton_task *task)
{
	return -EIO;
}

static void in_failed(void)
{
	static const struct baton_resource_config config = {.failed = keep_in_failed};

	begin(&config);
	submits(fail, NULL);
}

static void in_cancelled(void)
{
	static const struct baton_resource_config config = {.cancelled = keep_in_cancelled};
	struct baton_hold first = BATON_HOLD_INIT;

	begin(&config);
	MUST((baton_hold)(&other, &first) == 0);
	MUST((baton_submit)(&other, &plain) == 0);
	BATON_IGNORE(baton_resource_cancel_pending(&other));
	BATON_IGNORE((baton_release)(&first));
}

static void in_finaliser(void)
{
	begin(NULL);
	BATON_IGNORE(baton_resource_close_then(&other, &task_keeps));
}

static void keep_told(void *arg)
{
	keep();
}

static void in_continuation(void)
{
	struct baton_future promise = BATON_PROMISE_INIT;
	struct baton_continuation continuation;

	MUST(baton_thread_attach() == 0);
	baton_continuation_function(&continuation, keep_told, NULL);
	baton_future_then(&promise, &continuation);
	BATON_IGNORE(baton_future_complete(&promise, 0, NULL));
}

/* The thread has no record as the function begins. */
static void in_first_continuation(void)
{
	struct baton_future promise = BATON_PROMISE_INIT;
	struct baton_continuation continuation;

	baton_continuation_function(&continuation, keep_told, NULL);
	baton_future_then(&promise, &continuation);
	BATON_IGNORE(baton_future_complete(&promise, 0, NULL));
}

static void keep_in_job(struct baton_plain_job *job)
{
	keep();
}

static void keep_in_job_cancelled(struct baton_plain_job *job)
{
	keep();
}

static void in_job(void)
{
	static struct baton_plain_job job = BATON_PLAIN_JOB_INIT(keep_in_job, NULL);
	struct baton_pool *pool;

	MUST(baton_pool_default(&pool) == 0);
	MUST(baton_pool_submit(pool, &job) == 0);
	BATON_IGNORE(baton_pool_default_destroy());
}

static void in_job_cancelled(void)
{
	static struct baton_plain_job job =
		BATON_PLAIN_JOB_INIT(keep_in_job, keep_in_job_cancelled);

	baton_job_cancel(&job.job);
}

/* ---- Modules ---- */

static int keep_in_timer(struct baton_timer *timer)
{
	keep();
	return 0;
}

static void keep_in_dropped(struct baton_timer *timer, int error)
{
	keep();
}

/* A timer that has expired. `refused`: its resource is closed. */
static void expire(bool refused)
{
	static struct baton_timer timer;
	struct baton_timers *timers;

	begin(NULL);
	MUST(baton_timers_create(&(struct baton_timers_options){.source = BATON_TIMERS_VIRTUAL},
	                         &timers) == 0);
	baton_timer_init(&timer, timers, &other, keep_in_timer);
	baton_timer_set_dropped(&timer, keep_in_dropped);
	MUST(baton_timer_arm_after(&timer, 1) == 0);
	if (refused)
		MUST(baton_resource_close(&other) == 0);
	BATON_IGNORE(baton_timers_advance(timers, BATON_SECOND));
	BATON_IGNORE((baton_call)(&other, nothing, NULL, NULL));
}

static void in_timer(void)
{
	expire(false);
}

static void in_timer_refused(void)
{
	expire(true);
}

static int keep_in_trigger(struct baton_trigger *trigger, uint64_t fires)
{
	keep();
	return 0;
}

static void in_trigger(void)
{
	static struct baton_trigger trigger;

	begin(NULL);
	baton_trigger_init(&trigger, &other, keep_in_trigger);
	BATON_IGNORE(baton_trigger_fire(&trigger));
	BATON_IGNORE((baton_call)(&other, nothing, NULL, NULL));
}

static int keep_in_item(struct baton_resource *resource, void *arg, size_t index)
{
	keep();
	return 0;
}

static void in_fan_out(void)
{
	const struct baton_fan_out_options options = {.fn = keep_in_item};
	struct baton_resource *resources[] = {&other};
	struct baton_fan_out *fan_out;

	begin(NULL);
	MUST(baton_fan_out_submit(resources, 1, &options, &fan_out) == 0);
	BATON_IGNORE(baton_fan_out_wait(fan_out));
}

static int keep_in_loop(void *arg, size_t begins, size_t ends)
{
	keep();
	return 0;
}

static void in_parallel_loop(void)
{
	BATON_IGNORE(baton_parallel_for(NULL, 1, 1, keep_in_loop, NULL));
}

static void in_reader(void)
{
	static struct read_task reader;
	static struct baton_readers readers;

	begin(NULL);
	baton_readers_init(&readers, &other);
	read_task_init(&reader, &readers, keep_in_task, NULL);
	BATON_IGNORE((baton_submit)(&other, &reader.task));
	BATON_IGNORE((baton_call)(&other, nothing, NULL, NULL));
}

static void keep_in_reclaim(struct baton_retired *retired)
{
	keep();
}

static void in_reclaim(void)
{
	static struct baton_retired retired;
	struct baton_limbo *limbo;

	MUST(baton_limbo_create(&limbo) == 0);
	baton_limbo_retire(limbo, &retired, keep_in_reclaim);
	baton_limbo_destroy(limbo);
}

static int keep_in_undo(struct baton_undo *undo)
{
	keep();
	return 0;
}

static int undoes(struct baton_task *task)
{
	struct baton_undo_log log;
	struct baton_undo undo;

	baton_undo_log_begin(&log);
	baton_undo_log_push(&log, &undo, keep_in_undo);
	return baton_undo_log_end(&log, -EIO);
}

static void in_undo(void)
{
	begin(NULL);
	submits(undoes, NULL);
}

static void keep_at_mark(struct baton_resource *resource, void *arg)
{
	keep();
}

/* The next function that the runner enters keeps nothing: it must not be entered. */
static int says_entered(struct baton_task *task)
{
	MUST(!"entered above a hold that was kept");
	return 0;
}

static void passes_mark(const struct baton_bound_config *config)
{
	static struct baton_bound bound;
	struct baton_hold first = BATON_HOLD_INIT;
	struct baton_task task = BATON_TASK_INIT(says_entered, NULL);

	begin(NULL);
	baton_bound_init(&bound, config);
	baton_resource_set_bound(&other, &bound);
	MUST((baton_hold)(&other, &first) == 0);
	MUST((baton_submit)(&other, &task) == 0);
	BATON_IGNORE((baton_release)(&first));
}

static void in_high(void)
{
	static const struct baton_bound_config config = {
		.tasks_max = 8, .tasks_high = 1, .high = keep_at_mark};

	passes_mark(&config);
}

static void in_low(void)
{
	static const struct baton_bound_config config = {
		.tasks_max = 8, .tasks_high = 1, .low = keep_at_mark};

	passes_mark(&config);
}

struct object {
	struct baton_registry_entry entry;
};

static bool keep_in_visit(struct baton_registry_entry *entry, void *arg)
{
	keep();
	return true;
}

static void in_visit(void)
{
	const struct baton_registry_options options = {.object_size = sizeof(struct object)};
	struct baton_registry_entry *entry;
	struct baton_registry *registry;

	MUST(baton_registry_create(&options, &registry) == 0);
	MUST(baton_registry_acquire(registry, "a", 1, &entry) >= 0);
	BATON_IGNORE(baton_registry_walk(registry, keep_in_visit, NULL));
}

static sem_t told;

static void keep_in_report(const struct baton_stuck *stuck, void *arg)
{
	keep();
	gate_open(&told);
}

static void in_report(void)
{
	struct baton_watchdog_options options = {.limit_ns = 1, .report = keep_in_report};
	struct baton_suspension suspension = BATON_SUSPENSION_INIT;
	struct baton_watchdog *watchdog;

	begin(NULL);
	gate_init(&told);
	MUST(baton_board_create(NULL, &options.board) == 0);
	MUST(baton_board_join(options.board, &other, NULL, NULL) == 0);
	MUST(baton_resource_suspend(&other, &suspension) == 0);
	MUST((baton_submit)(&other, &plain) == 0);
	MUST(baton_watchdog_create(&options, &watchdog) == 0);
	gate_pass(&told);
	baton_watchdog_destroy(watchdog);
}

static const struct mistake mistakes[] = {
	ROW(in_batch_begin),
	ROW(in_batch_end),
	ROW(in_hook_of_hold),
	ROW(in_hook_of_flush),
	ROW(in_enter),
	ROW(in_leave),
	ROW(in_failed),
	ROW(in_cancelled),
	ROW(in_finaliser),
	ROW(in_continuation),
	ROW(in_first_continuation),
	ROW(in_job),
	ROW(in_job_cancelled),
	ROW(in_timer),
	ROW(in_timer_refused),
	ROW(in_trigger),
	ROW(in_fan_out),
	ROW(in_parallel_loop),
	ROW(in_reader),
	ROW(in_reclaim),
	ROW(in_undo),
	ROW(in_report),
	ROW(in_high),
	ROW(in_low),
	{in_visit, "baton_hold: "}, /* the checked library names the section of the walk */
};

Test(hold_kept_callbacks, is_named_where_the_function_returns, .timeout = 120)
{
	mistakes_are_said(mistakes, sizeof(mistakes) / sizeof(*mistakes));
}
