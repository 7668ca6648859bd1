/* SPDX-License-Identifier: MIT */
/* Waits that can never end get -EDEADLK (L9); a wait drives the executor that its thread drives. */
#include "support.h"

/* A task that waits for another's future in the way that `how` says, perhaps through a resource. */
struct asker {
	struct baton_task task;
	struct baton_resource *own;
	struct baton_resource *through;
	struct step *next; /* submitted to `own` first */
	struct baton_future *awaited;
	struct baton_future *promise;
	uint64_t deadline;
	int results[4];
	size_t index;
};

static int asks(struct baton_task *task)
{
	struct asker *asker = baton_container_of(task, struct asker, task);
	struct baton_future *futures[2] = {asker->awaited, asker->promise};

	if (asker->next)
		MUST(baton_submit(asker->own, &asker->next->task) == 0);
	asker->results[0] = baton_future_wait_until(asker->awaited, asker->deadline);
	asker->results[1] = baton_resource_await_until(asker->own, asker->deadline);
	asker->results[2] = baton_future_wait_all_until(futures, 2, asker->deadline);
	asker->results[3] = baton_future_wait_any_until(futures, 1, asker->deadline, &asker->index);
	return 0;
}

static int asks_through(struct baton_task *task)
{
	struct asker *asker = baton_container_of(task, struct asker, task);

	baton_task_init(task, asks, NULL);
	return baton_submit(asker->through, task);
}

static void all_are_deadlocks(baton_task_fn how, uint64_t deadline)
{
	struct baton_resource own = BATON_RESOURCE_INIT(NULL);
	struct baton_resource through = BATON_RESOURCE_INIT(NULL);
	struct baton_future future = BATON_FUTURE_INIT;
	struct baton_future promise = BATON_PROMISE_INIT;
	struct journal journal = {0};
	struct step next;
	struct asker asker = {.task = BATON_TASK_INIT(how, NULL),
	                      .own = &own,
	                      .through = &through,
	                      .next = &next,
	                      .awaited = &future,
	                      .promise = &promise,
	                      .deadline = deadline,
	                      .index = 7};

	step_init(&next, &journal, 1, &future);
	cr_assert_eq(baton_submit(&own, &asker.task), 0);
	resource_end(&own);
	resource_end(&through);
	for (int i = 0; i < 4; i++)
		cr_assert_eq(asker.results[i], -EDEADLK, "%d: %d", i, asker.results[i]);
	cr_assert_eq(asker.index, 7);
	cr_assert_eq(journal.count, 1, "the awaited task runs all the same");
	cr_assert_eq(baton_future_state(&future), BATON_DONE);
}

Test(deadlock, waiting_for_the_own_resource, .timeout = 10)
{
	all_are_deadlocks(asks, BATON_FOREVER);
}

Test(deadlock, waiting_for_a_resource_held_further_down, .timeout = 10)
{
	all_are_deadlocks(asks_through, BATON_FOREVER);
}

/* Long before the deadline. */
Test(deadlock, waiting_for_a_resource_held_here_with_a_deadline, .timeout = 10)
{
	uint64_t deadline = deadline_in_ms(60000);

	all_are_deadlocks(asks, deadline);
	all_are_deadlocks(asks_through, deadline);
}

Test(deadlock, a_task_that_waits_for_itself, .timeout = 10)
{
	struct baton_resource own = BATON_RESOURCE_INIT(NULL);
	struct baton_future future = BATON_FUTURE_INIT;
	struct baton_future promise = BATON_PROMISE_INIT;
	struct asker asker = {.task = BATON_TASK_INIT(asks, &future),
	                      .deadline = BATON_FOREVER,
	                      .own = &own,
	                      .awaited = &future,
	                      .promise = &promise};

	cr_assert_eq(baton_submit(&own, &asker.task), 0);
	for (int i = 0; i < 4; i++)
		cr_assert_eq(asker.results[i], -EDEADLK, "%d: %d", i, asker.results[i]);
	resource_end(&own);
}

static int asks_any(struct baton_task *task)
{
	struct asker *asker = baton_container_of(task, struct asker, task);
	struct baton_future *futures[2] = {asker->awaited, asker->promise};

	MUST(baton_submit(asker->own, &asker->next->task) == 0);
	asker->results[0] = baton_future_wait_any(futures, 2, &asker->index);
	return 0;
}

static void *fulfil_main(void *arg)
{
	MUST(baton_future_complete(arg, 0, NULL) == 0);
	return NULL;
}

Test(deadlock, wait_any_is_none_while_one_of_them_can_end, .timeout = 10)
{
	struct baton_resource own = BATON_RESOURCE_INIT(NULL);
	struct baton_future future = BATON_FUTURE_INIT;
	struct baton_future promise = BATON_PROMISE_INIT;
	struct journal journal = {0};
	struct step next;
	struct asker asker = {.task = BATON_TASK_INIT(asks_any, NULL),
	                      .deadline = BATON_FOREVER,
	                      .own = &own,
	                      .next = &next,
	                      .awaited = &future,
	                      .promise = &promise,
	                      .index = 7};
	pthread_t thread = thread_start(fulfil_main, &promise);

	step_init(&next, &journal, 1, &future);
	cr_assert_eq(baton_submit(&own, &asker.task), 0);
	thread_join(thread);
	cr_assert_eq(asker.results[0], 0);
	cr_assert_eq(asker.index, 1);
	resource_end(&own);
}

/* Executors that only this thread drives. */
enum { MANUAL, LOOP };

struct driven {
	struct baton_manual *manual;
	struct baton_loop *loop;
	struct baton_resource_config config;
};

static void driven_init(struct driven *driven, int kind, uint32_t capture_max)
{
	memset(driven, 0, sizeof(*driven));
	driven->config = (struct baton_resource_config)BATON_RESOURCE_CONFIG_INIT;
	driven->config.capture_max = capture_max;
	if (kind == MANUAL) {
		cr_assert_eq(baton_manual_create(&driven->manual), 0);
		driven->config.executor = baton_manual_executor(driven->manual);
	} else {
		cr_assert_eq(baton_loop_create(&driven->loop), 0);
		MUST(baton_loop_adopt(driven->loop) == 0);
		driven->config.executor = baton_loop_executor(driven->loop);
	}
}

static void driven_deinit(struct driven *driven)
{
	if (driven->manual)
		baton_manual_destroy(driven->manual);
	else
		baton_loop_destroy(driven->loop);
}

static void *returns_arg(void *arg)
{
	return arg;
}

static void waits_drive(int kind, uint32_t capture_max)
{
	struct driven driven;
	struct baton_resource resources[3];
	struct baton_future futures[3] = {BATON_FUTURE_INIT, BATON_FUTURE_INIT, BATON_FUTURE_INIT};
	struct journal journals[3];
	struct step steps[3];
	void *value = NULL;

	driven_init(&driven, kind, capture_max);
	memset(journals, 0, sizeof(journals));
	for (int i = 0; i < 3; i++) {
		baton_resource_init(&resources[i], &driven.config);
		step_init(&steps[i], &journals[i], i, &futures[i]);
		cr_assert_eq(baton_submit_later(&resources[i], &steps[i].task), 0);
	}
	cr_assert_eq(baton_future_wait(&futures[2]), 0);
	cr_assert(journal_counts_up(&journals[2], 2, 1) && journal_here(&journals[2], 0));
	cr_assert_eq(baton_resource_await(&resources[0]), 0);
	cr_assert_eq(baton_future_state(&futures[0]), BATON_DONE);
	cr_assert_eq(baton_call(&resources[1], returns_arg, &driven, &value), 0);
	cr_assert_eq(value, &driven);
	cr_assert_eq(baton_future_state(&futures[1]), BATON_DONE);
	for (int i = 0; i < 3; i++)
		resource_end(&resources[i]);
	driven_deinit(&driven);
}

Test(deadlock, a_wait_drives_the_manual_executor_of_its_own_thread, .timeout = 10)
{
	waits_drive(MANUAL, BATON_CAPTURE_NONE);
	waits_drive(MANUAL, 10);
}

Test(deadlock, a_wait_drives_the_loop_executor_of_its_own_thread, .timeout = 10)
{
	waits_drive(LOOP, BATON_CAPTURE_NONE);
	waits_drive(LOOP, 10);
}

/* Task i waits for task i + 1, each of a resource of its own on one driven executor. */
enum { DEEP = 20000 };

struct deep {
	struct baton_task task;
	struct baton_future future;
	struct baton_resource *resource;
	struct deep *next;
	int ran;
	int result;
	size_t cycle; /* so long */
};

static int deep_run(struct baton_task *task)
{
	struct deep *deep = baton_container_of(task, struct deep, task);

	deep->ran++;
	if (!deep->next)
		return 0;
	deep->result = baton_submit_later(deep->next->resource, &deep->next->task);
	if (deep->result == 0)
		deep->result = baton_future_wait(&deep->next->future);
	if (deep->result)
		deep->cycle = baton_deadlock_cycle(NULL, 0);
	return 0;
}

static const uint32_t limits[] = {BATON_CAPTURE_NONE, 10};

static void goes_deep(int count, int kind, uint32_t capture_max, int *failed)
{
	struct baton_resource *resources = calloc(DEEP, sizeof(*resources));
	struct deep *deeps = calloc(DEEP, sizeof(*deeps));
	struct driven driven;

	MUST(resources && deeps);
	driven_init(&driven, kind, capture_max);
	for (int i = 0; i < count; i++) {
		baton_resource_init(&resources[i], &driven.config);
		baton_future_init(&deeps[i].future);
		baton_task_init(&deeps[i].task, deep_run, &deeps[i].future);
		deeps[i].resource = &resources[i];
		deeps[i].next = i + 1 < count ? &deeps[i + 1] : NULL;
	}
	cr_assert_eq(baton_submit_later(&resources[0], &deeps[0].task), 0);
	cr_assert_eq(baton_future_wait(&deeps[0].future), 0);
	*failed = 0;
	for (int i = 0; i < count; i++) {
		resource_end(&resources[i]);
		cr_assert_eq(deeps[i].ran, 1);
		cr_assert(deeps[i].result == 0 || deeps[i].result == -EDEADLK);
		cr_assert_eq(deeps[i].cycle, 0);
		*failed += deeps[i].result != 0;
	}
	driven_deinit(&driven);
	free(deeps);
	free(resources);
}

Test(deadlock, tasks_on_a_driven_executor_wait_for_each_other, .timeout = 10)
{
	int failed;

	for (int kind = MANUAL; kind <= LOOP; kind++)
		for (int limit = 0; limit <= 1; limit++) {
			goes_deep(3, kind, limits[limit], &failed);
			cr_assert_eq(failed, 0);
		}
}

/* More than the stack would bear if nothing bounded it. */
Test(deadlock, driving_too_deep_is_answered_and_nothing_is_lost, .timeout = 10)
{
	int failed;

	for (int kind = MANUAL; kind <= LOOP; kind++) {
		goes_deep(DEEP, kind, BATON_CAPTURE_NONE, &failed);
		cr_assert_gt(failed, 0);
	}
}

Test(deadlock, helping_too_deep_is_answered_and_nothing_is_lost, .timeout = 10)
{
	int failed;

	for (int kind = MANUAL; kind <= LOOP; kind++) {
		goes_deep(BATON_HELPING_MAX - 2, kind, 10, &failed);
		cr_assert_eq(failed, 0);
		goes_deep(DEEP, kind, 10, &failed);
		cr_assert_gt(failed, 0);
	}
}

Test(deadlock, a_depth_names_no_cycle, .timeout = 10)
{
	int failed;

	for (int limit = 0; limit <= 1; limit++) {
		all_are_deadlocks(asks, BATON_FOREVER);
		cr_assert_eq(baton_deadlock_cycle(NULL, 0), 1);
		goes_deep(DEEP, MANUAL, limits[limit], &failed);
		cr_assert_gt(failed, 0);
	}
}

/* ---- Deep calls, without help ---- */

static struct {
	struct baton_resource resources[BATON_HELPING_MAX], last;
	struct baton_task queued;
	unsigned depth;
	int status;
	sem_t entered, leave;
} deep_call;

static int is_queued(struct baton_task *task)
{
	(void)task;
	return 0;
}

static void keeps_the_worker(struct baton_plain_job *job)
{
	(void)job;
	gate_open(&deep_call.entered);
	gate_pass(&deep_call.leave);
}

static void *frees_the_worker(void *arg)
{
	while (!baton__thread_any_asleep())
		sched_yield();
	gate_open(&deep_call.leave);
	return arg;
}

static void *is_called(void *arg)
{
	return arg;
}

static void *calls_deeper(void *arg)
{
	pthread_t other;

	if (deep_call.depth < BATON_HELPING_MAX) {
		MUST(baton_call(&deep_call.resources[deep_call.depth++], calls_deeper, NULL,
		                NULL) == 0);
		return arg;
	}
	MUST(baton_submit_later(&deep_call.last, &deep_call.queued) == 0);
	other = thread_start(frees_the_worker, NULL);
	deep_call.status = baton_call(&deep_call.last, is_called, NULL, NULL);
	return thread_join(other);
}

/* The pool's only worker is busy, and then comes. */
Test(deadlock, a_call_from_deep_calls_waits_for_the_pool, .timeout = 20)
{
	struct baton_plain_job job = BATON_PLAIN_JOB_INIT(keeps_the_worker, NULL);
	struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;
	const struct baton_pool_options one = {.workers = 1};
	struct baton_pool *pool;

	cr_assert_eq(baton_pool_create(&one, &pool), 0);
	config.executor = baton_pool_executor(pool);
	for (unsigned i = 0; i < BATON_HELPING_MAX; i++)
		baton_resource_init(&deep_call.resources[i], &config);
	baton_resource_init(&deep_call.last, &config);
	baton_task_init(&deep_call.queued, is_queued, NULL);
	gate_init(&deep_call.entered);
	gate_init(&deep_call.leave);
	cr_assert_eq(baton_pool_submit(pool, &job), 0);
	gate_pass(&deep_call.entered);
	(void)calls_deeper(NULL);
	cr_assert_eq(deep_call.status, 0);
	for (unsigned i = 0; i < BATON_HELPING_MAX; i++)
		resource_end(&deep_call.resources[i]);
	resource_end(&deep_call.last);
	cr_assert_eq(baton_pool_destroy(pool), 0);
}

/* ---- A driver behind a task that another thread runs ---- */

#define CROWD 40 /* more than a wait drives before it sleeps */

static struct {
	struct driven driven;
	struct baton_resource resources[CROWD];
	struct step steps[CROWD];
	struct baton_future futures[2]; /* of the last step, of what is behind the holder */
	struct journal journal;
	struct baton_resource held;
	struct baton_task holder; /* waits for the last step */
	struct step behind;
	sem_t begun;
} crowd;

static int waits_for_the_last(struct baton_task *task)
{
	(void)task;
	for (int i = 0; i < CROWD; i++)
		MUST(baton_submit_later(&crowd.resources[i], &crowd.steps[i].task) == 0);
	gate_open(&crowd.begun);
	return baton_future_wait(&crowd.futures[0]);
}

static void *holds(void *arg)
{
	MUST(baton_submit(&crowd.held, &crowd.holder) == 0);
	return arg;
}

Test(deadlock, a_wait_drives_all_jobs_that_a_task_before_its_own_may_wait_for, .timeout = 10)
{
	struct baton_resource_config config;
	pthread_t other;

	driven_init(&crowd.driven, MANUAL, BATON_CAPTURE_NONE);
	for (int i = 0; i < CROWD; i++) {
		baton_resource_init(&crowd.resources[i], &crowd.driven.config);
		step_init(&crowd.steps[i], &crowd.journal, i,
		          i + 1 < CROWD ? NULL : &crowd.futures[0]);
	}
	config = crowd.driven.config;
	config.capture_max = 10;
	baton_resource_init(&crowd.held, &config);
	baton_future_init(&crowd.futures[0]);
	baton_task_init(&crowd.holder, waits_for_the_last, NULL);
	step_init(&crowd.behind, &crowd.journal, CROWD, &crowd.futures[1]);
	gate_init(&crowd.begun);
	other = thread_start(holds, NULL);
	gate_pass(&crowd.begun);
	cr_assert_eq(baton_submit(&crowd.held, &crowd.behind.task), 0);
	cr_assert_eq(baton_future_wait(&crowd.futures[1]), 0);
	cr_assert(journal_counts_up(&crowd.journal, 0, CROWD + 1));
	thread_join(other);
	resource_end(&crowd.held);
	for (int i = 0; i < CROWD; i++)
		resource_end(&crowd.resources[i]);
	driven_deinit(&crowd.driven);
}
