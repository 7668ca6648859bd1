/* SPDX-License-Identifier: MIT */
/* When baton_should_yield() tells a long task or job to make room, and when not. */
#include "stash.h"
#include "support.h"

#define MS ((uint64_t)1000000)
/* A thread may lose the CPU between two questions: not for so long. */
#define LIMIT_NS (50 * MS)
#define BEYOND_NS (75 * MS)

struct asker {
	struct baton_task task;
	struct baton_resource *resource; /* NULL, or where it submits `others` before it asks */
	struct baton_task *other;
	uint64_t spin_ns;
	bool before, after, at_once;
};

static int asker_run(struct baton_task *task)
{
	struct asker *asker = baton_container_of(task, struct asker, task);

	asker->before = baton_should_yield();
	if (asker->other)
		MUST(baton_submit(asker->resource, asker->other) == 0);
	asker->at_once = baton_should_yield();
	work_for_ns(asker->spin_ns);
	asker->after = baton_should_yield();
	return 0;
}

static int no_op(struct baton_task *task)
{
	return 0;
}

Test(should_yield, is_false_outside_tasks_and_for_a_task_that_nobody_waits_for, .timeout = 5)
{
	struct baton_resource resource = BATON_RESOURCE_INIT(NULL);
	struct asker asker = {.task = BATON_TASK_INIT(asker_run, NULL)};

	cr_assert_not(baton_should_yield());
	cr_assert_eq(baton_submit(&resource, &asker.task), 0);
	cr_assert_not(asker.before);
	cr_assert_not(asker.after);
	resource_end(&resource);
}

Test(should_yield, a_task_that_waits_at_the_same_resource_counts, .timeout = 5)
{
	struct baton_resource resource = BATON_RESOURCE_INIT(NULL);
	struct baton_resource another = BATON_RESOURCE_INIT(NULL);
	struct baton_task other = BATON_TASK_INIT(no_op, NULL);
	struct asker asker = {BATON_TASK_INIT(asker_run, NULL), &another, &other, 0, 1, 1, 1};

	cr_assert_eq(baton_submit(&resource, &asker.task), 0);
	cr_assert_not(asker.before);
	cr_assert_not(asker.after, "the other resource's task has run within the submit");
	baton_task_init(&other, no_op, NULL);
	baton_task_init(&asker.task, asker_run, NULL);
	asker.resource = &resource;
	cr_assert_eq(baton_submit(&resource, &asker.task), 0);
	cr_assert_not(asker.before);
	cr_assert(asker.at_once);
	resource_end(&resource);
	resource_end(&another);
}

struct awaits {
	struct baton_task task;
	struct baton_resource *resource;
	int count;
	bool told;
};

/* On a busy machine the deadline may have passed before the wait begins, which then leaves no mark:
 * the resource's word is what it was. */
static void *await_in_vain(void *arg)
{
	const struct awaits *awaits = arg;

	for (int i = 0; i < awaits->count; i++) {
		const uintptr_t before = load_relaxed(&awaits->resource->_word);

		do {
			uint64_t soon = deadline_in_ms(1);

			MUST(baton_resource_await_until(awaits->resource, soon) == -ETIMEDOUT);
		} while (load_relaxed(&awaits->resource->_word) == before);
	}
	return NULL;
}

static int awaited_run(struct baton_task *task)
{
	struct awaits *awaits = baton_container_of(task, struct awaits, task);

	thread_join(thread_start(await_in_vain, awaits));
	awaits->told = baton_should_yield();
	return 0;
}

/* Their marks wait for the runner. */
Test(should_yield, many_awaits_that_have_timed_out_cost_no_long_look, .timeout = 10)
{
	struct baton_resource resource = BATON_RESOURCE_INIT(NULL);

	for (int count = 64; count < 66; count++) {
		struct awaits awaits = {BATON_TASK_INIT(awaited_run, NULL), &resource, count,
		                        false};

		cr_assert_eq(baton_submit(&resource, &awaits.task), 0);
		cr_assert_eq(awaits.told, count > 64, "%d", count);
	}
	resource_end(&resource);
}

/* A batch of two: the second is asked within the drain. */
Test(should_yield, a_time_limit_counts_from_the_second_task_or_the_first_question, .timeout = 5)
{
	struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;
	struct baton_resource resource;
	struct asker askers[2] = {
		{.task = BATON_TASK_INIT(asker_run, NULL), .spin_ns = BEYOND_NS},
		{.task = BATON_TASK_INIT(asker_run, NULL), .spin_ns = BEYOND_NS},
	};
	struct baton_task *tasks[] = {&askers[0].task, &askers[1].task};

	config.capture_ns = LIMIT_NS;
	baton_resource_init(&resource, &config);
	cr_assert_eq(baton_submit_batch(&resource, tasks, 2), 0);
	cr_assert(askers[0].before, "its neighbour waits");
	cr_assert_not(askers[1].before);
	cr_assert(askers[1].after);
	config.capture_ns = 60 * (1000 * MS);
	baton_resource_init(&resource, &config);
	for (int i = 0; i < 2; i++)
		baton_task_init(&askers[i].task, asker_run, NULL);
	cr_assert_eq(baton_submit_batch(&resource, tasks, 2), 0);
	cr_assert_not(askers[1].after);
	resource_end(&resource);
}

struct job {
	struct baton_plain_job job;
	struct baton_pool *pool;
	struct baton_plain_job *own; /* submitted before it asks */
	sem_t entered, leave;
	bool before, after;
	atomic_int done;
};

static void job_run(struct baton_plain_job *plain)
{
	struct job *job = baton_container_of(plain, struct job, job);

	job->before = baton_should_yield();
	if (job->own)
		MUST(baton_pool_submit(job->pool, job->own) == 0);
	gate_open(&job->entered);
	gate_pass(&job->leave);
	job->after = baton_should_yield();
	atomic_store(&job->done, 1);
}

static void nothing(struct baton_plain_job *plain)
{
}

/* A job that runs when all workers are busy, with one from outside, its own, or none behind it. */
static bool told(bool outside, bool own)
{
	struct baton_pool *pool = pool_of(1);
	struct job job = {.job = BATON_PLAIN_JOB_INIT(job_run, NULL), .pool = pool};
	struct baton_plain_job other = BATON_PLAIN_JOB_INIT(nothing, NULL);

	job.own = own ? &other : NULL;
	gate_init(&job.entered);
	gate_init(&job.leave);
	cr_assert_eq(baton_pool_submit(pool, &job.job), 0);
	gate_pass(&job.entered);
	cr_assert(!outside || baton_pool_submit(pool, &other) == 0);
	gate_open(&job.leave);
	until_at_least(&job.done, 1);
	cr_assert_eq(baton_pool_destroy(pool), 0);
	cr_assert_not(job.before);
	return job.after;
}

Test(should_yield, a_job_that_no_worker_is_free_for_counts, .timeout = 10)
{
	cr_assert_not(told(false, false));
	cr_assert(told(true, false));
	cr_assert(told(false, true));
}

Test(should_yield, so_does_a_job_of_the_loop_that_runs_the_task, .timeout = 10)
{
	struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;
	struct asker asker = {.task = BATON_TASK_INIT(asker_run, NULL)};
	struct baton_plain_job other = BATON_PLAIN_JOB_INIT(nothing, NULL);
	struct baton_resource resource;
	struct baton_loop *loop = NULL;

	cr_assert_eq(baton_loop_create(&loop), 0);
	cr_assert_eq(baton_loop_adopt(loop), 0);
	config.executor = baton_loop_executor(loop);
	config.capture_max = BATON_CAPTURE_NONE;
	baton_resource_init(&resource, &config);
	for (int others = 0; others < 2; others++) {
		cr_assert_eq(baton_submit(&resource, &asker.task), 0);
		if (others)
			cr_assert_eq(baton_executor_schedule(config.executor, &other.job), 0);
		cr_assert_eq(baton_loop_run(loop, 0), 1 + others);
		cr_assert_eq(asker.after, others == 1);
		baton_task_init(&asker.task, asker_run, NULL);
	}
	cr_assert_eq(baton_resource_close(&resource), 0);
	cr_assert_eq(baton_resource_await(&resource), 0);
	baton_loop_destroy(loop);
}

/* The ways that run one function on an idle resource. */
static struct asker alone;
static struct baton_resource *alone_at;

static void *ask_alone(void *arg)
{
	(void)asker_run(&alone.task);
	return arg;
}

static int enter_alone(unsigned way, struct baton_resource *resource)
{
	static struct baton_future future;
	struct baton_future *made;
	int error;

	switch (way) {
	case 0:
		return baton_call(resource, ask_alone, NULL, NULL);
	case 1:
		return baton_try_call(resource, ask_alone, NULL, NULL);
	case 2:
		return baton_post(resource, ask_alone, NULL);
	case 3:
		error = baton_async(resource, ask_alone, NULL, &made);
		baton_future_unref(made);
		return error;
	default:
		baton_future_init(&future);
		baton_task_init(&alone.task, asker_run, way == 4 ? NULL : &future);
		return baton_submit(resource, &alone.task);
	}
}

static int enters_nested(struct baton_task *task)
{
	(void)task;
	for (unsigned way = 0; way < 6; way++) {
		alone = (struct asker){.spin_ns = BEYOND_NS};
		MUST(enter_alone(way, alone_at) == 0);
		cr_expect(!alone.before && alone.after, "way %u, nested", way);
	}
	return 0;
}

Test(should_yield, a_time_limit_holds_for_a_task_alone, .timeout = 10)
{
	struct baton_resource outer = BATON_RESOURCE_INIT(NULL), resource;
	struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;
	struct baton_task task = BATON_TASK_INIT(enters_nested, NULL);
	struct baton_resource_stats stats;

	config.capture_ns = LIMIT_NS;
	for (unsigned i = 0; i < 18; i++) {
		memset(&stats, 0, sizeof(stats));
		baton_resource_init(&resource, &config);
		if (i >= 12)
			baton_resource_set_stats(&resource, &stats);
		/* The first question begins the time, of each stay anew. */
		for (int again = 0; again < 2; again++) {
			alone = (struct asker){.spin_ns = i < 6 ? 0 : BEYOND_NS};
			cr_assert_eq(enter_alone(i % 6, &resource), 0);
			cr_expect_not(alone.before, "%u", i);
			cr_expect_eq(alone.after, i >= 6, "%u", i);
		}
		resource_end(&resource);
	}
	baton_resource_init(&resource, &config);
	alone_at = &resource;
	cr_assert_eq(baton_submit(&outer, &task), 0);
	resource_end(&resource);
	resource_end(&outer);
}

/* ---- In functions that hold no baton ---- */

static int answers; /* how many were true */

static int asking_finaliser(struct baton_task *task)
{
	(void)task;
	answers += baton_should_yield();
	return 0;
}

static void asking_told(void *count)
{
	answers += baton_should_yield();
	++*(int *)count;
}

Test(should_yield, is_false_in_a_finaliser_and_in_a_function_that_is_told_of_an_end, .timeout = 5)
{
	struct baton_resource resource = BATON_RESOURCE_INIT(NULL);
	struct baton_task finaliser = BATON_TASK_INIT(asking_finaliser, NULL);
	struct baton_future promise = BATON_PROMISE_INIT;
	struct baton_continuation told;
	int count = 0;

	cr_assert_eq(baton_resource_close_then(&resource, &finaliser), 0);
	baton_continuation_function(&told, asking_told, &count);
	baton_future_then(&promise, &told);
	cr_assert_eq(baton_future_complete(&promise, 0, NULL), 0);
	cr_assert_eq(count, 1);
	cr_assert_eq(answers, 0);
}

static void no_context(struct baton_resource *resource)
{
	(void)resource;
}

Test(should_yield, a_context_without_a_time_limit_sets_none, .timeout = 10)
{
	struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;
	struct baton_resource resource;

	config.enter = no_context;
	baton_resource_init(&resource, &config);
	for (unsigned way = 0; way < 6; way++) {
		alone = (struct asker){.spin_ns = MS};
		cr_assert_eq(enter_alone(way, &resource), 0);
		cr_expect_not(alone.before, "%u", way);
		cr_expect_not(alone.after, "%u", way);
	}
	resource_end(&resource);
}

/* The function has asked, its time is over, and a task waits behind it. */
static void enter_for_too_long(unsigned way, struct baton_resource *resource, struct asker *other)
{
	*other = (struct asker){.task = BATON_TASK_INIT(asker_run, NULL)};
	alone = (struct asker){.resource = resource, .other = &other->task, .spin_ns = BEYOND_NS};
	other->before = true;
	cr_assert_eq(enter_alone(way, resource), 0);
	cr_assert(alone.after);
}

Test(should_yield, a_question_begins_the_time_of_the_whole_stay, .timeout = 10)
{
	struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;
	struct baton_resource resource;
	struct asker other;
	struct stash stash;

	stash_init(&stash);
	config.executor = &stash.executor;
	config.capture_ns = LIMIT_NS;
	baton_resource_init(&resource, &config);
	for (unsigned way = 0; way < 6; way++) {
		enter_for_too_long(way, &resource, &other);
		cr_expect(other.before, "way %u: the task behind has run in the stay", way);
		stash_run(&stash);
		cr_expect_not(other.before);
	}
	resource_end(&resource);
}

Test(should_yield, a_stay_without_limits_has_not_the_time_of_the_stay_before, .timeout = 10)
{
	struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;
	struct baton_resource resource;
	struct asker other;
	struct stash stash;

	stash_init(&stash);
	atomic_store(&stash.answer, -ESHUTDOWN);
	config.executor = &stash.executor;
	config.capture_ns = LIMIT_NS;
	baton_resource_init(&resource, &config);
	for (unsigned way = 0; way < 6; way++) {
		enter_for_too_long(way, &resource, &other);
		cr_expect_not(other.before, "way %u", way);
	}
	resource_end(&resource);
}

static void *do_nothing(void *arg)
{
	return arg;
}

static void *await_it(void *arg)
{
	cr_assert_eq(baton_resource_await(arg), 0);
	return NULL;
}

static void *asks_beside_an_await(void *arg)
{
	pthread_t *waiter = arg;
	uintptr_t before = __atomic_load_n(&alone_at->_word, __ATOMIC_RELAXED);

	*waiter = thread_start(await_it, alone_at);
	while (__atomic_load_n(&alone_at->_word, __ATOMIC_RELAXED) == before)
		sched_yield();
	alone.after = baton_should_yield();
	cr_assert_eq(baton_post(alone_at, do_nothing, NULL), 0);
	alone.before = baton_should_yield();
	return NULL;
}

Test(should_yield, who_waits_for_the_resource_is_no_task, .timeout = 10)
{
	struct baton_resource resource = BATON_RESOURCE_INIT(NULL);
	pthread_t waiter;

	alone_at = &resource;
	cr_assert_eq(baton_call(&resource, asks_beside_an_await, &waiter, NULL), 0);
	cr_assert_not(alone.after);
	cr_assert(alone.before, "a task behind it is");
	thread_join(waiter);
	resource_end(&resource);
}

/* The first task closes, and a thread awaits: before the second task the runner looks at the
 * mark, which stays in the inbox. */
struct closer {
	struct baton_task task;
	struct asker asker;
	pthread_t waiter;
};

static int closer_run(struct baton_task *task)
{
	struct closer *closer = baton_container_of(task, struct closer, task);
	uintptr_t before;

	MUST(baton_resource_close(alone_at) == 0);
	before = __atomic_load_n(&alone_at->_word, __ATOMIC_RELAXED);
	closer->waiter = thread_start(await_it, alone_at);
	while (__atomic_load_n(&alone_at->_word, __ATOMIC_RELAXED) == before)
		sched_yield();
	return 0;
}

Test(should_yield, nor_is_a_waiter_at_which_the_runner_has_looked, .timeout = 10)
{
	struct baton_resource resource = BATON_RESOURCE_INIT(NULL);
	struct closer closer = {
		.task = BATON_TASK_INIT(closer_run, NULL),
		.asker = {BATON_TASK_INIT(asker_run, NULL), .before = true, .after = true},
	};
	struct baton_task *tasks[] = {&closer.task, &closer.asker.task};

	alone_at = &resource;
	cr_assert_eq(baton_submit_batch(&resource, tasks, 2), 0);
	thread_join(closer.waiter);
	cr_assert_not(closer.asker.before);
	cr_assert_not(closer.asker.after);
	resource_end(&resource);
}
