/* SPDX-License-Identifier: MIT */
/*
 * Awaiting a closed resource ends, or is answered, wherever the resource is queued. A helper cannot
 * release it: its entry in a queue must be run or withdrawn.
 */
#include "pool_support.h"
#include "fixture.h"

#include "core/awaiter.h"

#include <baton/detach.h>
#include <baton/lane.h>
#include <baton/suspend.h>

/* The thread that awaits has put the resource off itself, since its executor refuses. */
struct own_list {
	struct baton_task outer;
	struct baton_task inner;
	struct baton_resource *resource;
	struct step step;
	int result;
};

static int own_list_inner(struct baton_task *task)
{
	struct own_list *scene = baton_container_of(task, struct own_list, inner);

	return baton_submit(scene->resource, &scene->step.task);
}

static int own_list_outer(struct baton_task *task)
{
	struct own_list *scene = baton_container_of(task, struct own_list, outer);

	MUST(baton_submit(scene->resource, &scene->inner) == 0);
	MUST(baton_resource_close(scene->resource) == 0);
	scene->result = baton_resource_await(scene->resource);
	return 0;
}

Test(await_closed, put_off_by_the_thread_that_awaits, .timeout = 10)
{
	struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;
	struct baton_resource own = BATON_RESOURCE_INIT(NULL);
	struct baton_resource resource;
	struct own_list scene = {.outer = BATON_TASK_INIT(own_list_outer, NULL),
	                         .inner = BATON_TASK_INIT(own_list_inner, NULL),
	                         .resource = &resource,
	                         .result = 1};
	struct journal journal = {0};
	struct stash stash;

	stash_init(&stash);
	atomic_store(&stash.answer, -ESHUTDOWN);
	config.executor = &stash.executor;
	baton_resource_init(&resource, &config);
	step_init(&scene.step, &journal, 0, NULL);
	cr_assert_eq(baton_submit(&own, &scene.outer), 0);
	cr_assert_eq(scene.result, 0);
	cr_assert(journal_counts_up(&journal, 0, 1));
	resource_end(&resource);
	resource_end(&own);
}

/* The thread that awaits is as deep as it may be, and alone drives the executor. */
struct deep {
	struct baton_resource nest[BATON_NESTING_MAX];
	int depth;
	struct baton_resource *resource;
	struct step step;
	int result;
};

static void *deeper(void *arg)
{
	struct deep *deep = arg;

	if (deep->depth < BATON_NESTING_MAX) {
		MUST(baton_call(&deep->nest[deep->depth++], deeper, deep, NULL) == 0);
		return NULL;
	}
	MUST(baton_submit_later(deep->resource, &deep->step.task) == 0);
	MUST(baton_resource_close(deep->resource) == 0);
	deep->result = baton_resource_await(deep->resource);
	return NULL;
}

Test(await_closed, too_deep_to_drive_its_executor_is_answered, .timeout = 10)
{
	struct deep deep = {.resource = &fix.resource, .result = 1};

	fixture_manual();
	for (int i = 0; i < BATON_NESTING_MAX; i++)
		baton_resource_init(&deep.nest[i], NULL);
	step_init(&deep.step, &fix.journal, 0, NULL);
	(void)deeper(&deep);
	cr_assert_eq(deep.result, -EDEADLK);
	cr_assert(journal_counts_up(&fix.journal, 0, 1), "helped all the same");
	(void)baton_manual_run(fix.manual, 0);
	resource_end(&fix.resource);
	for (int i = 0; i < BATON_NESTING_MAX; i++)
		resource_end(&deep.nest[i]);
	baton_manual_destroy(fix.manual);
}

Test(await_closed, queued_in_a_pool_that_is_stuck, .timeout = 10)
{
	struct plug plug;

	fixture_pool(1);
	plug_in(&plug, fix.pool);
	cr_assert_eq(baton_submit_later(&fix.resource, &fix.steps[0].task), 0);
	cr_assert_eq(baton_resource_close(&fix.resource), 0);
	cr_assert_eq(baton_resource_await(&fix.resource), 0);
	cr_assert(journal_counts_up(&fix.journal, 0, 1) && journal_here(&fix.journal, 0));
	baton_resource_deinit(&fix.resource);
	gate_open(&plug.leave);
	cr_assert_eq(baton_pool_destroy(fix.pool), 0);
}

/* Not by anybody else than a worker, and the only worker is the one that awaits. */
struct lone {
	struct baton_plain_job job;
	struct baton_resource *resource;
	struct step step;
	int result;
	sem_t over;
};

static void lone_run(struct baton_plain_job *job)
{
	struct lone *lone = baton_container_of(job, struct lone, job);

	MUST(baton_submit(lone->resource, &lone->step.task) == 0);
	MUST(baton_resource_close(lone->resource) == 0);
	lone->result = baton_resource_await(lone->resource);
	gate_open(&lone->over);
}

Test(await_closed, with_limit_0_by_the_only_worker, .timeout = 10)
{
	struct lone lone = {.resource = &fix.resource, .result = 1};

	fix.config.capture_max = BATON_CAPTURE_NONE;
	fixture_pool(1);
	baton_plain_job_init(&lone.job, lone_run, NULL);
	step_init(&lone.step, &fix.journal, 0, NULL);
	gate_init(&lone.over);
	cr_assert_eq(baton_pool_submit(fix.pool, &lone.job), 0);
	gate_pass(&lone.over);
	cr_assert_eq(lone.result, 0);
	cr_assert(journal_counts_up(&fix.journal, 0, 1));
	baton_resource_deinit(&fix.resource);
	cr_assert_eq(baton_pool_destroy(fix.pool), 0);
}

/* A helper's tasks have put work off, which awaits the very resource that the helper visits. */
struct visited {
	struct baton_resource *resource;
	struct baton_resource *put_off;
	struct baton_task helped;
	struct baton_task inline_one;
	struct baton_task late_one;
	struct baton_future future; /* of `helped` */
	sem_t late;
	atomic_int over;
	int awaited;
	int waited;
};

static int visited_helped(struct baton_task *task)
{
	struct visited *scene = baton_container_of(task, struct visited, helped);

	return baton_submit(scene->put_off, &scene->inline_one);
}

static int visited_inline_one(struct baton_task *task)
{
	struct visited *scene = baton_container_of(task, struct visited, inline_one);

	return baton_submit(scene->put_off, &scene->late_one);
}

static int visited_late_one(struct baton_task *task)
{
	struct visited *scene = baton_container_of(task, struct visited, late_one);

	MUST(baton_resource_close(scene->resource) == 0);
	gate_open(&scene->late);
	scene->awaited = baton_resource_await(scene->resource);
	return 0;
}

static void *visited_main(void *arg)
{
	struct visited *scene = arg;

	scene->waited = baton_future_wait(&scene->future);
	atomic_store(&scene->over, 1);
	return NULL;
}

Test(await_closed, by_work_that_its_helper_has_put_off, .timeout = 10)
{
	struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;
	struct baton_resource_config refusing = BATON_RESOURCE_CONFIG_INIT;
	struct baton_manual *manual = NULL;
	struct baton_resource resource, put_off;
	struct visited scene = {.resource = &resource,
	                        .put_off = &put_off,
	                        .inline_one = BATON_TASK_INIT(visited_inline_one, NULL),
	                        .late_one = BATON_TASK_INIT(visited_late_one, NULL),
	                        .future = BATON_FUTURE_INIT,
	                        .awaited = 1,
	                        .waited = 1};
	struct stash stash;
	pthread_t thread;

	gate_init(&scene.late);
	stash_init(&stash);
	atomic_store(&stash.answer, -ESHUTDOWN);
	refusing.executor = &stash.executor;
	baton_resource_init(&put_off, &refusing);
	cr_assert_eq(baton_manual_create(&manual), 0);
	config.executor = baton_manual_executor(manual);
	baton_resource_init(&resource, &config);
	baton_task_init(&scene.helped, visited_helped, &scene.future);
	cr_assert_eq(baton_submit_later(&resource, &scene.helped), 0);
	thread = thread_start(visited_main, &scene);
	gate_pass(&scene.late);
	while (!atomic_load(&scene.over)) {
		(void)baton_manual_run(manual, 0);
		sched_yield();
	}
	thread_join(thread);
	cr_assert_eq(scene.waited, 0);
	cr_assert_eq(scene.awaited, 0);
	baton_resource_deinit(&resource);
	resource_end(&put_off);
	baton_manual_destroy(manual);
}

static void *await_300_ms(void *arg)
{
	uint64_t deadline = deadline_in_ms(300);

	return (void *)(intptr_t)baton_resource_await_until(arg, deadline);
}

static uint64_t process_cpu_ms(void)
{
	struct timespec used;

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	return (uint64_t)used.tv_sec * 1000 + (uint64_t)used.tv_nsec / 1000000;
}

/* Each, finding nothing to do, must not wake the other to find the same. */
Test(await_closed, by_two_who_can_do_nothing_costs_nothing, .timeout = 10)
{
	pthread_t threads[2];
	uint64_t before;
	void *answers[2];

	fixture_manual();
	cr_assert_eq(baton_submit_later(&fix.resource, &fix.steps[0].task), 0);
	cr_assert_eq(baton_resource_close(&fix.resource), 0);
	before = process_cpu_ms();
	for (int i = 0; i < 2; i++)
		threads[i] = thread_start(await_300_ms, &fix.resource);
	for (int i = 0; i < 2; i++)
		cr_assert_eq(pthread_join(threads[i], &answers[i]), 0);
	cr_assert_lt(process_cpu_ms() - before, 150);
	for (int i = 0; i < 2; i++)
		cr_assert_eq((intptr_t)answers[i], -ETIMEDOUT);
	(void)baton_manual_run(fix.manual, 0);
	baton_resource_deinit(&fix.resource);
	baton_manual_destroy(fix.manual);
}

/*
 * What the closed resource waits for ends on a thread that may not run the resource (limit 0): the
 * resource comes back to the queue, and only the thread that awaits comes to the queue.
 */
struct last {
	struct baton_task task;
	struct baton_detached token;
	struct baton_suspension suspension;
	struct baton_plain_job job;
	atomic_int awaits; /* the thread that awaits */
	sem_t over;
	int result;
};

static int last_run(struct baton_task *task)
{
	struct last *last = baton_container_of(task, struct last, task);

	return baton_detach(&last->token, BATON_DETACH_COUNTED);
}

static void last_await(struct last *last)
{
	MUST(baton_resource_close(&fix.resource) == 0);
	atomic_store(&last->awaits, thread_id());
	last->result = baton_resource_await(&fix.resource);
}

static void last_job(struct baton_plain_job *job)
{
	struct last *last = baton_container_of(job, struct last, job);

	last_await(last);
	gate_open(&last->over);
}

static void *completes(void *arg)
{
	struct last *last = arg;

	until_at_least(&last->awaits, 1);
	until_asleep(atomic_load(&last->awaits));
	MUST(baton_detached_complete(&last->token, 0, NULL) == 0);
	return NULL;
}

static void *resumes(void *arg)
{
	struct last *last = arg;

	until_at_least(&last->awaits, 1);
	until_asleep(atomic_load(&last->awaits));
	MUST(baton_resource_resume(&last->suspension) == 0);
	return NULL;
}

static void last_init(struct last *last)
{
	*last = (struct last){.task = BATON_TASK_INIT(last_run, NULL), .result = 1};
	baton_plain_job_init(&last->job, last_job, NULL);
	gate_init(&last->over);
	fix.config.capture_max = BATON_CAPTURE_NONE;
}

Test(await_closed, by_the_thread_that_drives_until_a_token_is_complete, .timeout = 10)
{
	struct last last;
	pthread_t thread;

	last_init(&last);
	fixture_manual();
	cr_assert_eq(baton_submit(&fix.resource, &last.task), 0);
	(void)baton_manual_run(fix.manual, 0);
	thread = thread_start(completes, &last);
	last_await(&last);
	thread_join(thread);
	cr_assert_eq(last.result, 0);
	baton_resource_deinit(&fix.resource);
	baton_manual_destroy(fix.manual);
}

Test(await_closed, by_the_thread_that_drives_until_the_lower_lanes_are_resumed, .timeout = 10)
{
	struct baton_lane lanes[2];
	struct baton_lanes both;
	struct last last;
	pthread_t thread;

	last_init(&last);
	fixture_manual();
	baton_lanes_init(&both, lanes, 2, NULL);
	baton_resource_set_lanes(&fix.resource, &both);
	cr_assert_eq(baton_resource_suspend_lower(&fix.resource, &last.suspension), 0);
	(void)baton_manual_run(fix.manual, 0);
	thread = thread_start(resumes, &last);
	last_await(&last);
	thread_join(thread);
	cr_assert_eq(last.result, 0);
	baton_resource_deinit(&fix.resource);
	baton_manual_destroy(fix.manual);
}

Test(await_closed, by_the_only_worker_until_a_token_is_complete, .timeout = 10)
{
	struct baton_pool_options pool_options = BATON_POOL_OPTIONS_INIT;
	struct last last;
	pthread_t thread;

	last_init(&last);
	pool_options.workers = 1;
	pool_options.spares_max = BATON_POOL_NO_SPARES;
	cr_assert_eq(baton_pool_create(&pool_options, &fix.pool), 0);
	fix.config.executor = baton_pool_executor(fix.pool);
	fixture_config();
	cr_assert_eq(baton_submit(&fix.resource, &last.task), 0);
	cr_assert_eq(baton_pool_submit(fix.pool, &last.job), 0);
	thread = thread_start(completes, &last);
	gate_pass(&last.over);
	thread_join(thread);
	cr_assert_eq(last.result, 0);
	baton_resource_deinit(&fix.resource);
	cr_assert_eq(baton_pool_destroy(fix.pool), 0);
}

static void *await_in_vain(void *arg)
{
	for (int i = 0; i < 8; i++) {
		uint64_t deadline = deadline_in_ms(2);

		MUST(baton_resource_await_until(arg, deadline) == -ETIMEDOUT);
	}
	return NULL;
}

static size_t marks_left(const struct baton_resource *resource)
{
	size_t count = 0;

	for (struct baton_task *mark = resource->_list; mark; mark = mark->_next) {
		count++;
		for (struct baton_task *other = baton__awaiter(mark)->others; other;
		     other = other->_next)
			count++;
	}
	return count;
}

Test(await_closed, awaits_that_have_timed_out_leave_when_it_comes_back_to_the_queue, .timeout = 10)
{
	struct last last;

	last_init(&last);
	fixture_manual();
	cr_assert_eq(baton_submit(&fix.resource, &last.task), 0);
	(void)baton_manual_run(fix.manual, 0);
	cr_assert_eq(baton_resource_close(&fix.resource), 0);
	thread_join(thread_start(await_in_vain, &fix.resource));
	(void)baton_manual_run(fix.manual, 0);
	/* A deadline that passes before the await has looked leaves no mark. */
	cr_assert_gt(marks_left(&fix.resource), 1);
	cr_assert_eq(baton_detached_complete(&last.token, 0, NULL), 0);
	cr_assert_eq(marks_left(&fix.resource), 1);
	fixture_end();
}
