/* SPDX-License-Identifier: MIT */
/* A hold that outlives the task or the called function that has taken it, or its thread. */
#include "hold_kept.h"

#include <baton/inline.h>
#include <baton/reader.h>

static int keep_and_fail(struct baton_task *task)
{
	keep();
	return -EIO;
}

/* A hold on a stack that is gone, and used anew, as the library looks. */
static __attribute__((noinline, unused)) int keep_on_stack(struct baton_task *task)
{
	struct baton_hold mine = BATON_HOLD_INIT;
	int error = (baton_hold)(&topic, &mine);

	memset(&mine, 0x5a, sizeof(mine));
	__asm__ volatile("" : : "r"(&mine) : "memory");
	return error;
}

static void in_task(void)
{
	begin(NULL);
	submits(keep_in_task, NULL);
}

static void in_first_task(void)
{
	submits(keep_in_task, NULL);
}

static __attribute__((unused)) void on_stack(void)
{
	begin(NULL);
	submits(keep_on_stack, NULL);
}

static void in_inlined_task(void)
{
	begin(NULL);
	BATON_IGNORE(baton_submit_inline(&other, &task_keeps));
}

static void in_inlined_call(void)
{
	begin(NULL);
	BATON_IGNORE(baton_call_inline(&other, keep_in_call, NULL, NULL));
}

static void in_task_with_future(void)
{
	struct baton_future future = BATON_FUTURE_INIT;

	begin(NULL);
	submits(keep_in_task, &future);
}

static void idle_told(void *arg)
{
	(void)arg;
}

static void in_task_with_continuation(void)
{
	struct baton_future future = BATON_FUTURE_INIT;
	struct baton_continuation continuation;

	begin(NULL);
	baton_continuation_function(&continuation, idle_told, NULL);
	baton_future_then(&future, &continuation);
	submits(keep_and_fail, &future);
}

static int submits_inside(struct baton_task *task)
{
	submits(keep_in_task, NULL);
	return 0;
}

static struct baton_resource outer;

static void in_nested_task(void)
{
	struct baton_task task = BATON_TASK_INIT(submits_inside, NULL);

	begin(NULL);
	baton_resource_init(&outer, NULL);
	BATON_IGNORE((baton_submit)(&outer, &task));
}

static void in_call(void)
{
	begin(NULL);
	BATON_IGNORE((baton_call)(&other, keep_in_call, NULL, NULL));
}

static void *calls_inside(void *arg)
{
	BATON_IGNORE((baton_call)(&other, keep_in_call, NULL, NULL));
	return arg;
}

static void in_nested_call(void)
{
	begin(NULL);
	baton_resource_init(&outer, NULL);
	BATON_IGNORE((baton_call)(&outer, calls_inside, NULL, NULL));
}

static int idle_hook(struct baton_resource *resource)
{
	return 0;
}

static struct baton_resource_stats stats;

static void in_call_with_stats(void)
{
	begin(NULL);
	baton_resource_set_stats(&other, &stats);
	BATON_IGNORE((baton_call)(&other, keep_in_call, NULL, NULL));
}

static void in_nested_call_with_stats(void)
{
	begin(NULL);
	baton_resource_set_stats(&other, &stats);
	baton_resource_init(&outer, NULL);
	BATON_IGNORE((baton_call)(&outer, calls_inside, NULL, NULL));
}

static void in_failing_task_with_stats(void)
{
	begin(NULL);
	baton_resource_set_stats(&other, &stats);
	submits(keep_and_fail, NULL);
}

static void nothing_in_context(struct baton_resource *resource)
{
	(void)resource;
}

static void in_call_in_context(void)
{
	static const struct baton_resource_config config = {.leave = nothing_in_context};

	begin(&config);
	BATON_IGNORE((baton_call)(&other, keep_in_call, NULL, NULL));
}

static void in_timed_call(void)
{
	static const struct baton_resource_config config = {.capture_ns = BATON_SECOND};

	begin(&config);
	BATON_IGNORE((baton_call)(&other, keep_in_call, NULL, NULL));
}

static void in_call_with_hooks(void)
{
	static const struct baton_resource_config config = {.batch_end = idle_hook};

	begin(&config);
	BATON_IGNORE(baton_try_call(&other, keep_in_call, NULL, NULL));
}

static const struct baton_resource_config elsewhere = {.capture_max = BATON_CAPTURE_NONE};

static void in_call_elsewhere(void)
{
	begin(&elsewhere);
	BATON_IGNORE((baton_call)(&other, keep_in_call, NULL, NULL));
}

static void in_call_of_holder(void)
{
	struct baton_hold first = BATON_HOLD_INIT;

	begin(&elsewhere);
	baton_resource_init(&outer, NULL);
	MUST((baton_hold)(&outer, &first) == 0);
	BATON_IGNORE((baton_call)(&other, keep_in_call, NULL, NULL));
}

static void in_post(void)
{
	begin(NULL);
	BATON_IGNORE(baton_post(&other, keep_in_call, NULL));
}

static void in_post_elsewhere(void)
{
	begin(&elsewhere);
	BATON_IGNORE(baton_post(&other, keep_in_call, NULL));
	BATON_IGNORE((baton_call)(&other, nothing, NULL, NULL));
}

static void in_async(void)
{
	struct baton_future *future;

	begin(NULL);
	BATON_IGNORE(baton_async(&other, keep_in_call, NULL, &future));
}

static void in_async_elsewhere(void)
{
	struct baton_future *future;

	begin(&elsewhere);
	MUST(baton_async(&other, keep_in_call, NULL, &future) == 0);
	BATON_IGNORE(baton_future_wait(future));
}

static void in_batch(void)
{
	struct baton_task *tasks[] = {&task_keeps, &plain};

	begin(NULL);
	BATON_IGNORE(baton_submit_batch(&other, tasks, 2));
}

static void in_queued_task(void)
{
	struct baton_hold first = BATON_HOLD_INIT;

	begin(NULL);
	MUST((baton_hold)(&other, &first) == 0);
	MUST((baton_submit)(&other, &task_keeps) == 0);
	BATON_IGNORE((baton_release)(&first));
}

static void in_queued_task_with_future(void)
{
	struct baton_hold first = BATON_HOLD_INIT;
	struct baton_future future = BATON_FUTURE_INIT;
	struct baton_task task = BATON_TASK_INIT(keep_in_task, &future);

	begin(NULL);
	MUST((baton_hold)(&other, &first) == 0);
	MUST((baton_submit)(&other, &task) == 0);
	BATON_IGNORE((baton_release)(&first));
}

static void in_queued_task_with_stats(void)
{
	begin(NULL);
	baton_resource_set_stats(&other, &stats);
	submits(keep_in_task, NULL);
}

/* ---- Elsewhere ---- */

static void *keep_and_end(void *arg)
{
	keep();
	return arg;
}

static void in_thread(void)
{
	thread_join(thread_start(keep_and_end, NULL));
}

static void *releases(void *arg)
{
	BATON_IGNORE((baton_release)(&hold));
	return arg;
}

static void released_elsewhere(void)
{
	keep();
	thread_join(thread_start(releases, NULL));
}

static void released_inside(void)
{
	begin(NULL);
	keep();
	BATON_IGNORE((baton_call)(&other, releases, NULL, NULL));
}

/* ---- Shared holds ---- */

static struct baton_readers readers = BATON_READERS_INIT(&topic);
static struct baton_shared_hold shared = BATON_SHARED_HOLD_INIT;

static void *share(void *arg)
{
	MUST(baton_hold_shared(&readers, &shared) == 0);
	return arg;
}

static void shared_in_call(void)
{
	begin(NULL);
	BATON_IGNORE((baton_call)(&other, share, NULL, NULL));
}

/* The innermost one is named. */
static void *share_and_hold(void *arg)
{
	static struct baton_resource third = BATON_RESOURCE_INIT(NULL);

	MUST((baton_hold)(&third, &hold) == 0);
	return share(arg);
}

static void shared_above_another(void)
{
	begin(NULL);
	BATON_IGNORE((baton_call)(&other, share_and_hold, NULL, NULL));
}

static void shared_beside_a_reader(void)
{
	struct baton_shared_hold first = BATON_SHARED_HOLD_INIT;

	MUST(baton_hold_shared(&readers, &first) == 0);
	thread_join(thread_start(share, NULL));
}

static void *releases_shared(void *arg)
{
	BATON_IGNORE(baton_release_shared(&shared));
	return arg;
}

static void shared_released_elsewhere(void)
{
	(void)share(NULL);
	thread_join(thread_start(releases_shared, NULL));
}

/* The thread that releases is a reader of the resource, by a hold of its own. */
static void *holds_and_releases_shared(void *arg)
{
	struct baton_shared_hold own = BATON_SHARED_HOLD_INIT;

	MUST(baton_hold_shared(&readers, &own) == 0);
	return releases_shared(arg);
}

static void shared_released_by_a_holder(void)
{
	(void)share(NULL);
	thread_join(thread_start(holds_and_releases_shared, NULL));
}

#define SHARED                                                                                     \
	"baton_hold_shared: \"topic/7\" is still held as the function returns that has taken "     \
	"it: call baton_release_shared before"
#define SHARED_ELSEWHERE "baton_release_shared: \"topic/7\" is not held by this hold here"
#define USED "baton_hold: a resource is still held as the function returns that has taken it"
#define ELSEWHERE "baton_release: \"topic/7\" is not held by this hold here"

static const struct mistake mistakes[] = {
	ROW(in_task),
	ROW(in_first_task),
#ifndef __SANITIZE_ADDRESS__ /* which names the use of the stack by itself */
	{on_stack, USED},
#endif
	ROW(in_inlined_task),
	ROW(in_inlined_call),
	ROW(in_task_with_future),
	ROW(in_task_with_continuation),
	ROW(in_nested_task),
	ROW(in_call),
	ROW(in_nested_call),
	ROW(in_call_with_stats),
	ROW(in_nested_call_with_stats),
	ROW(in_failing_task_with_stats),
	ROW(in_call_in_context),
	ROW(in_timed_call),
	ROW(in_call_with_hooks),
	ROW(in_call_elsewhere),
	ROW(in_call_of_holder),
	ROW(in_post),
	ROW(in_post_elsewhere),
	ROW(in_async),
	ROW(in_async_elsewhere),
	ROW(in_batch),
	ROW(in_queued_task),
	ROW(in_queued_task_with_future),
	ROW(in_queued_task_with_stats),
	{in_thread, "pthread_exit: the thread ends inside a hold"},
	{released_elsewhere, ELSEWHERE},
	{released_inside, ELSEWHERE},
	{shared_in_call, SHARED},
	{shared_above_another, SHARED},
	{shared_beside_a_reader, "pthread_exit: the thread ends inside a hold"},
	{shared_released_elsewhere, SHARED_ELSEWHERE},
	{shared_released_by_a_holder, SHARED_ELSEWHERE},
};

Test(hold_kept, is_named_where_the_function_returns, .timeout = 120)
{
	mistakes_are_said(mistakes, sizeof(mistakes) / sizeof(*mistakes));
}
