/* SPDX-License-Identifier: MIT */
/*
 * Waits for a resource whose executor has ended, and whose job lies in a thread's deferred list: a
 * task of another resource has resumed it. That thread is the waiter, or waits for the waiter (L9).
 */
#include "stash.h"

#include <baton/suspend.h>

static struct {
	struct baton_resource_config config;
	struct baton_resource outer;    /* its task resumes the other, and waits */
	struct baton_resource resource; /* its executor has ended */
	struct baton_suspension suspension;
	struct baton_future future; /* of the one task that waits in the resource */
	struct journal journal;
	struct step step;
	struct baton_task task; /* of `outer` */
	int result;
} fix = {.config = BATON_RESOURCE_CONFIG_INIT,
         .outer = BATON_RESOURCE_INIT(NULL),
         .suspension = BATON_SUSPENSION_INIT,
         .future = BATON_FUTURE_INIT,
         .result = 1};

static struct baton_pool *ended; /* the executor of fix.resource */

static void fix_begin(uint32_t capture_max)
{
	struct baton_pool *pool = pool_of(1);

	ended = pool;
	fix.config.executor = baton_pool_executor(pool);
	fix.config.capture_max = capture_max;
	baton_resource_init(&fix.resource, &fix.config);
	step_init(&fix.step, &fix.journal, 1, &fix.future);
	MUST(baton_resource_suspend(&fix.resource, &fix.suspension) == 0);
	MUST(baton_submit(&fix.resource, &fix.step.task) == 0);
	baton_pool_shutdown(pool);
	MUST(baton_pool_await(pool) == 0);
}

static void *nothing_fn(void *arg)
{
	return arg;
}

static int calls(struct baton_task *task)
{
	(void)task;
	MUST(baton_resource_resume(&fix.suspension) == 0);
	fix.result = baton_call(&fix.resource, nothing_fn, NULL, NULL);
	return 0;
}

static int waits(struct baton_task *task)
{
	(void)task;
	MUST(baton_resource_resume(&fix.suspension) == 0);
	fix.result = baton_future_wait(&fix.future);
	return 0;
}

static int waits_for_any(struct baton_task *task)
{
	struct baton_future promise = BATON_PROMISE_INIT;
	struct baton_future *futures[2] = {&promise, &fix.future};
	size_t index = 0;

	(void)task;
	MUST(baton_resource_resume(&fix.suspension) == 0);
	fix.result = baton_future_wait_any(futures, 2, &index);
	MUST(index == 1 && baton_future_complete(&promise, 0, NULL) == 0);
	return 0;
}

static int awaits(struct baton_task *task)
{
	(void)task;
	MUST(baton_resource_resume(&fix.suspension) == 0);
	fix.result = baton_resource_await(&fix.resource);
	return 0;
}

/* The await waits for the release, which the job prevents. */
static int closes_and_awaits(struct baton_task *task)
{
	MUST(baton_resource_close(&fix.resource) == 0);
	return awaits(task);
}

static void ends(baton_task_fn how, uint32_t capture_max)
{
	fix_begin(capture_max);
	baton_task_init(&fix.task, how, NULL);
	cr_assert_eq(baton_submit(&fix.outer, &fix.task), 0);
	cr_assert_eq(fix.result, 0);
	cr_assert_eq(fix.journal.count, 1);
	cr_assert_eq(baton_future_state(&fix.future), BATON_DONE);
	if (how != closes_and_awaits)
		resource_end(&fix.resource);
	resource_end(&fix.outer);
	cr_assert_eq(baton_pool_destroy(ended), 0);
}

Test(deferred, a_call_to_a_resource_that_only_the_caller_can_run, .timeout = 5)
{
	ends(calls, BATON_CAPTURE_NONE);
}

Test(deferred, a_wait_for_a_task_that_only_the_waiter_can_run, .timeout = 5)
{
	ends(waits, BATON_CAPTURE_NONE);
}

Test(deferred, a_wait_for_any_of_which_only_the_waiter_can_run_one, .timeout = 5)
{
	ends(waits_for_any, BATON_CAPTURE_NONE);
}

Test(deferred, the_same_with_a_capture_limit, .timeout = 5)
{
	ends(waits_for_any, 10);
}

Test(deferred, an_await_of_a_resource_that_only_the_awaiter_can_run, .timeout = 5)
{
	ends(awaits, BATON_CAPTURE_NONE);
}

Test(deferred, an_await_of_a_closed_resource_that_only_the_awaiter_can_run, .timeout = 5)
{
	ends(closes_and_awaits, BATON_CAPTURE_NONE);
}

/* ---- What was taken out of the list ---- */

static struct {
	struct occupant occupant;
	struct step step;
} next;

/* The awaiter uses the memory for another resource, and another thread holds that. */
static int awaits_and_uses_the_memory(struct baton_task *task)
{
	(void)closes_and_awaits(task);
	baton_resource_deinit(&fix.resource);
	baton_resource_init(&fix.resource, NULL);
	occupy(&next.occupant, &fix.resource);
	MUST(baton_submit(&fix.resource, &next.step.task) == 0);
	return 0;
}

Test(deferred, a_resource_that_the_awaiter_has_released_is_not_run_by_its_list, .timeout = 5)
{
	fix_begin(BATON_CAPTURE_NONE);
	step_init(&next.step, &fix.journal, 2, NULL);
	baton_task_init(&fix.task, awaits_and_uses_the_memory, NULL);
	cr_assert_eq(baton_submit(&fix.outer, &fix.task), 0);
	cr_assert_eq(fix.result, 0);
	cr_assert_eq(fix.journal.count, 1, "the occupant holds the baton");
	release(&next.occupant);
	cr_assert_eq(fix.journal.count, 2);
	resource_end(&fix.resource);
	resource_end(&fix.outer);
	cr_assert_eq(baton_pool_destroy(ended), 0);
}

/* ---- The job lies in the list of a thread that waits for this one ---- */

static struct {
	struct baton_resource third;
	struct baton_task task; /* of `third` */
	struct baton_future future;
	pthread_t thread;
	sem_t resumed;
	int tid;
	int result;
} crossed = {.third = BATON_RESOURCE_INIT(NULL), .future = BATON_FUTURE_INIT, .result = 1};

/* In `outer`: resumes, and waits for the third resource, whose holder waits for the resumed one. */
static int resumes_and_waits(struct baton_task *task)
{
	(void)task;
	MUST(baton_resource_resume(&fix.suspension) == 0);
	crossed.tid = thread_id();
	gate_open(&crossed.resumed);
	crossed.result = baton_future_wait(&crossed.future);
	return 0;
}

static void *outer_main(void *arg)
{
	MUST(baton_submit(&fix.outer, &fix.task) == 0);
	return arg;
}

static int third_waits(struct baton_task *task)
{
	(void)task;
	crossed.thread = thread_start(outer_main, NULL);
	gate_pass(&crossed.resumed);
	until_asleep(crossed.tid);
	fix.result = baton_future_wait(&fix.future);
	return 0;
}

static void crosses(uint32_t capture_max)
{
	fix_begin(capture_max);
	gate_init(&crossed.resumed);
	baton_task_init(&fix.task, resumes_and_waits, NULL);
	baton_task_init(&crossed.task, third_waits, &crossed.future);
	cr_assert_eq(baton_submit(&crossed.third, &crossed.task), 0);
	thread_join(crossed.thread);
	cr_assert_eq(fix.result, 0);
	cr_assert_eq(crossed.result, 0);
	cr_assert_eq(fix.journal.count, 1);
	resource_end(&fix.resource);
	resource_end(&fix.outer);
	cr_assert_eq(baton_pool_destroy(ended), 0);
	resource_end(&crossed.third);
}

Test(deferred, a_wait_for_a_thread_that_waits_for_the_waiter, .timeout = 5)
{
	crosses(BATON_CAPTURE_NONE);
}

Test(deferred, a_wait_for_a_thread_that_waits_for_the_waiter_with_a_capture_limit, .timeout = 5)
{
	crosses(10);
}

/* ---- The waiter shelves the baton that it has borrowed ---- */

static struct {
	struct baton_suspension suspension; /* behind the task that waits */
	pthread_t thread;
	int tid; /* of the waiter */
	int (*resume)(struct baton_suspension *suspension);
} again = {.suspension = BATON_SUSPENSION_INIT};

static void *resume_main(void *arg)
{
	until_asleep(again.tid);
	MUST(baton_suspension_is_effective(&again.suspension));
	MUST(again.resume(&again.suspension) == 0);
	return arg;
}

static int meets_a_suspension(struct baton_task *task)
{
	(void)task;
	again.tid = thread_id();
	MUST(baton_resource_resume(&fix.suspension) == 0);
	MUST(baton_resource_suspend(&fix.resource, &again.suspension) == 0);
	again.thread = thread_start(resume_main, NULL);
	fix.result = baton_call(&fix.resource, nothing_fn, NULL, NULL);
	return 0;
}

static void meets(uint32_t capture_max, int (*resume)(struct baton_suspension *suspension))
{
	again.resume = resume;
	ends(meets_a_suspension, capture_max);
	thread_join(again.thread);
}

Test(deferred, a_suspension_that_the_waiter_meets_and_another_thread_resumes, .timeout = 5)
{
	meets(10, baton_resource_resume);
}

Test(deferred, a_suspension_that_the_waiter_meets_and_another_thread_resumes_later, .timeout = 5)
{
	meets(10, baton_resource_resume_later);
}

Test(deferred, a_suspension_that_the_waiter_meets_with_capture_limit_0, .timeout = 5)
{
	meets(BATON_CAPTURE_NONE, baton_resource_resume);
}

/* ---- A job that is to be cancelled ---- */

static struct {
	struct baton_resource resources[BATON_NESTING_MAX];
	struct baton_task tasks[BATON_NESTING_MAX];
	struct stash stash;
	int depth;
} deep;

static int goes_deep_and_cancels(struct baton_task *task)
{
	(void)task;
	deep.depth++;
	if (deep.depth < BATON_NESTING_MAX) {
		MUST(baton_submit(&deep.resources[deep.depth], &deep.tasks[deep.depth]) == 0);
		return 0;
	}
	baton_job_cancel(atomic_load(&deep.stash.jobs[0]));
	fix.result = baton_future_wait(&fix.future);
	return 0;
}

/* The cancel is put off, since the stack is deep. */
static void cancels(uint32_t capture_max)
{
	stash_init(&deep.stash);
	fix.config.executor = &deep.stash.executor;
	fix.config.capture_max = capture_max;
	baton_resource_init(&fix.resource, &fix.config);
	step_init(&fix.step, &fix.journal, 1, &fix.future);
	cr_assert_eq(baton_submit_later(&fix.resource, &fix.step.task), 0);
	for (int i = 0; i < BATON_NESTING_MAX; i++) {
		baton_resource_init(&deep.resources[i], NULL);
		baton_task_init(&deep.tasks[i], goes_deep_and_cancels, NULL);
	}
	cr_assert_eq(baton_submit(&deep.resources[0], &deep.tasks[0]), 0);
	cr_assert_eq(deep.depth, BATON_NESTING_MAX);
	cr_assert_eq(fix.result, 0);
	cr_assert(baton_future_is_complete(&fix.future));
	atomic_store(&deep.stash.answer, -ESHUTDOWN);
	resource_end(&fix.resource);
	for (int i = 0; i < BATON_NESTING_MAX; i++)
		resource_end(&deep.resources[i]);
}

Test(deferred, a_wait_for_a_job_that_the_waiter_is_to_cancel, .timeout = 5)
{
	cancels(BATON_CAPTURE_NONE);
}

Test(deferred, a_wait_for_a_job_that_the_waiter_is_to_cancel_with_a_capture_limit, .timeout = 5)
{
	cancels(10);
}
