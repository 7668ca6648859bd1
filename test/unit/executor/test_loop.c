/* SPDX-License-Identifier: MIT */
/* The loop executor: an eventfd for a thread that lives in an event loop. */
#include "support.h"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

static bool readable(const struct baton_loop *loop)
{
	struct pollfd entry = {baton_loop_fd(loop), POLLIN, 0};
	int ready = poll(&entry, 1, 0);

	MUST(ready >= 0);
	return ready == 1 && (entry.revents & POLLIN) != 0;
}

static struct baton_loop *loop_create(void)
{
	struct baton_loop *loop = NULL;

	MUST(baton_loop_create(&loop) == 0);
	MUST(baton_loop_adopt(loop) == 0);
	return loop;
}

Test(loop, the_descriptor_is_readable_exactly_while_there_are_jobs, .timeout = 10)
{
	struct baton_loop *loop = loop_create();
	struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;
	struct baton_resource resources[3];
	struct journal journal = {0};
	struct step steps[3];

	config.executor = baton_loop_executor(loop);
	cr_assert_not(readable(loop));
	cr_assert_eq(baton_loop_run(loop, 0), 0);
	steps_init(steps, 3, &journal, 0);
	for (int i = 0; i < 3; i++) {
		baton_resource_init(&resources[i], &config);
		cr_assert_eq(baton_submit_later(&resources[i], &steps[i].task), 0);
		cr_assert(readable(loop));
	}
	cr_assert_eq(baton_loop_run(loop, 1), 1);
	cr_assert_eq(journal.count, 1);
	cr_assert(readable(loop), "two are left");
	cr_assert_eq(baton_loop_run(loop, 0), 2);
	cr_assert(journal_counts_up(&journal, 0, 3));
	cr_assert_not(readable(loop));
	for (int i = 0; i < 3; i++)
		resource_end(&resources[i]);
	baton_loop_destroy(loop);
}

/* Calls within calls, as deep as they go; there the loop is run. */
struct descent {
	struct baton_resource resources[BATON_CALLING_MAX];
	struct baton_loop *loop;
	size_t level;
	size_t ran;
	bool readable; /* after the run */
};

static void *descend(void *arg)
{
	struct descent *descent = arg;

	if (descent->level < BATON_CALLING_MAX) {
		MUST(baton_call(&descent->resources[descent->level++], descend, arg, NULL) == 0);
		return NULL;
	}
	descent->ran = baton_loop_run(descent->loop, 0);
	descent->readable = readable(descent->loop);
	return NULL;
}

Test(loop, a_run_that_is_too_deep_leaves_the_descriptor_readable, .timeout = 10)
{
	struct baton_loop *loop = loop_create();
	struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;
	struct descent *descent = calloc(1, sizeof(*descent));
	struct baton_resource resource;
	struct journal journal = {0};
	struct step step;

	MUST(descent);
	descent->loop = loop;
	config.executor = baton_loop_executor(loop);
	baton_resource_init(&resource, &config);
	step_init(&step, &journal, 0, NULL);
	cr_assert_eq(baton_submit_later(&resource, &step.task), 0);
	(void)descend(descent);
	cr_assert_eq(descent->level, BATON_CALLING_MAX);
	cr_assert_eq(descent->ran, 0);
	cr_assert(descent->readable);
	cr_assert_eq(baton_loop_run(loop, 0), 1);
	cr_assert_eq(journal.count, 1);
	resource_end(&resource);
	baton_loop_destroy(loop);
	free(descent);
}

static int resubmits(struct baton_task *task)
{
	struct step *step = baton_container_of(task, struct step, task);

	(void)step_run(task);
	return --step->number > 0 ? baton_submit_later(baton_current(), task) : 0;
}

Test(loop, run_with_0_takes_what_was_there_at_the_start, .timeout = 10)
{
	struct baton_loop *loop = loop_create();
	struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;
	struct baton_resource resource;
	struct journal journal = {0};
	struct step step = {BATON_TASK_INIT(resubmits, NULL), &journal, 5};

	config.executor = baton_loop_executor(loop);
	config.capture_max = BATON_CAPTURE_NONE;
	config.quantum = 1;
	baton_resource_init(&resource, &config);
	cr_assert_eq(baton_submit(&resource, &step.task), 0);
	for (size_t i = 1; i <= 5; i++) {
		cr_assert(readable(loop));
		cr_assert_eq(baton_loop_run(loop, 0), 1);
		cr_assert_eq(journal.count, i, "the job that it left is for the next turn");
	}
	cr_assert_not(readable(loop));
	resource_end(&resource);
	baton_loop_destroy(loop);
}

/* Threads submit and wait; one thread lives in poll(). */
enum { THREADS = 3 };

struct life {
	struct baton_loop *loop;
	struct baton_resource resource;
	int calls;
	atomic_int finished;
	/* Guarded by the baton: */
	int ran;
	int elsewhere;
	pthread_t owner;
};

static void *life_step(void *arg)
{
	struct life *life = arg;

	life->ran++;
	life->elsewhere += !pthread_equal(life->owner, pthread_self());
	return life;
}

static void *life_main(void *arg)
{
	struct life *life = arg;
	intptr_t errors = 0;

	for (int i = 0; i < life->calls; i++) {
		struct baton_future *future = NULL;
		void *value = NULL;

		errors += baton_post(&life->resource, life_step, life) != 0;
		errors += baton_call(&life->resource, life_step, life, &value) != 0;
		errors += value != life;
		errors += baton_async(&life->resource, life_step, life, &future) != 0;
		errors += baton_future_wait(future) != 0;
		baton_future_unref(future);
	}
	atomic_fetch_add(&life->finished, 1);
	return (void *)errors;
}

Test(loop, with_limit_0_tasks_run_on_the_owners_thread_alone, .timeout = 10)
{
	struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;
	struct life life = {.loop = loop_create(), .calls = scaled(2000), .owner = pthread_self()};
	pthread_t threads[THREADS];

	config.executor = baton_loop_executor(life.loop);
	config.capture_max = BATON_CAPTURE_NONE;
	baton_resource_init(&life.resource, &config);
	for (int i = 0; i < THREADS; i++)
		threads[i] = thread_start(life_main, &life);
	while (atomic_load(&life.finished) < THREADS) {
		struct pollfd entry = {baton_loop_fd(life.loop), POLLIN, 0};

		/* The short time-out is for `finished` alone: nothing else may depend on it. */
		if (poll(&entry, 1, 1) == 1)
			(void)baton_loop_run(life.loop, 0);
	}
	for (int i = 0; i < THREADS; i++)
		cr_assert_null(thread_join(threads[i]));
	resource_end(&life.resource);
	cr_assert_eq(life.ran, 3 * THREADS * life.calls);
	cr_assert_eq(life.elsewhere, 0);
	baton_loop_destroy(life.loop);
}

static void *one_call(void *arg)
{
	struct life *life = arg;

	for (int i = 0; i < life->calls; i++)
		MUST(baton_call(&life->resource, life_step, life, NULL) == 0);
	return NULL;
}

Test(loop, every_job_wakes_a_loop_that_sleeps_without_time_out, .timeout = 10)
{
	struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;
	struct life life = {.loop = loop_create(), .calls = scaled(5000), .owner = pthread_self()};
	pthread_t thread;

	config.executor = baton_loop_executor(life.loop);
	config.capture_max = BATON_CAPTURE_NONE;
	baton_resource_init(&life.resource, &config);
	thread = thread_start(one_call, &life);
	while (life.ran < life.calls) { /* this thread runs them: no race */
		struct pollfd entry = {baton_loop_fd(life.loop), POLLIN, 0};

		MUST(poll(&entry, 1, -1) == 1);
		(void)baton_loop_run(life.loop, 1);
	}
	thread_join(thread);
	resource_end(&life.resource);
	cr_assert_eq(life.elsewhere, 0);
	baton_loop_destroy(life.loop);
}

static void *run_main(void *arg)
{
	return (void *)(intptr_t)baton_loop_run(arg, 0);
}

Test(loop, the_first_run_makes_its_thread_the_owner, .timeout = 10)
{
	struct baton_loop *loop = NULL;
	struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;
	struct baton_resource resource;
	struct journal journal = {0};
	struct step step;
	pthread_t thread;

	cr_assert_eq(baton_loop_create(&loop), 0);
	config.executor = baton_loop_executor(loop);
	config.capture_max = BATON_CAPTURE_NONE;
	baton_resource_init(&resource, &config);
	step_init(&step, &journal, 0, NULL);
	cr_assert_eq(baton_submit(&resource, &step.task), 0);
	thread = thread_start(run_main, loop);
	cr_assert_eq((intptr_t)thread_join(thread), 1);
	cr_assert_eq(journal.count, 1);
	cr_assert_not(journal_here(&journal, 0));
	resource_end(&resource);
	MUST(baton_loop_adopt(loop) == 0);
	baton_loop_destroy(loop);
}

Test(loop, destroying_it_runs_what_is_queued, .timeout = 10)
{
	struct baton_loop *loop = loop_create();
	struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;
	struct baton_resource resource;
	struct journal journal = {0};
	struct step steps[200];

	config.executor = baton_loop_executor(loop);
	config.quantum = 10;
	baton_resource_init(&resource, &config);
	steps_init(steps, 200, &journal, 0);
	for (int i = 0; i < 200; i++)
		cr_assert_eq(baton_submit_later(&resource, &steps[i].task), 0);
	baton_loop_destroy(loop);
	cr_assert(journal_counts_up(&journal, 0, 200));
	resource_end(&resource);
}

/* A resource of the loop, with what is to be run. */
struct gathered {
	struct baton_loop *loop;
	struct baton_resource_config config;
	struct baton_resource resource;
	struct journal journal;
	struct step steps[3];
};

static void gathered_init(struct gathered *gathered)
{
	const struct baton_resource_config defaults = BATON_RESOURCE_CONFIG_INIT;

	gathered->loop = loop_create();
	gathered->journal = (struct journal){0};
	gathered->config = defaults;
	gathered->config.executor = baton_loop_executor(gathered->loop);
	gathered->config.capture_max = BATON_CAPTURE_NONE;
	baton_resource_init(&gathered->resource, &gathered->config);
	steps_init(gathered->steps, 3, &gathered->journal, 0);
}

static void gathered_end(struct gathered *gathered)
{
	resource_end(&gathered->resource);
	baton_loop_destroy(gathered->loop);
}

Test(loop, what_its_own_thread_schedules_while_it_gathers_needs_no_signal, .timeout = 10)
{
	struct gathered own;

	gathered_init(&own);
	cr_assert_eq(baton_loop_run_gathered(own.loop), 0, "nothing yet");
	baton_loop_gather(own.loop);
	cr_assert_eq(baton_submit(&own.resource, &own.steps[0].task), 0);
	cr_assert_not(readable(own.loop));
	cr_assert_eq(own.journal.count, 0);
	cr_assert_eq(baton_loop_run_gathered(own.loop), 1);
	cr_assert_eq(own.journal.count, 1);
	cr_assert_eq(baton_submit(&own.resource, &own.steps[1].task), 0);
	cr_assert(readable(own.loop), "that has ended the gathering");
	cr_assert_eq(baton_loop_run_gathered(own.loop), 0, "it is not among the gathered");
	baton_loop_gather(own.loop);
	cr_assert_eq(baton_loop_run(own.loop, 0), 1);
	cr_assert_not(readable(own.loop));
	cr_assert_eq(baton_submit(&own.resource, &own.steps[2].task), 0);
	cr_assert(readable(own.loop), "so has this");
	cr_assert_eq(baton_loop_run(own.loop, 0), 1);
	cr_assert(journal_counts_up(&own.journal, 0, 3));
	gathered_end(&own);
}

Test(loop, what_gathered_jobs_schedule_is_for_the_next_turn, .timeout = 10)
{
	struct gathered own;
	struct step step;

	gathered_init(&own);
	own.config.quantum = 1;
	step_init(&step, &own.journal, 3, NULL);
	baton_task_init(&step.task, resubmits, NULL);
	baton_loop_gather(own.loop);
	cr_assert_eq(baton_submit(&own.resource, &step.task), 0);
	cr_assert_eq(baton_loop_run_gathered(own.loop), 1);
	cr_assert_eq(own.journal.count, 1);
	cr_assert(readable(own.loop));
	cr_assert_eq(baton_loop_run(own.loop, 0), 1);
	cr_assert_eq(baton_loop_run(own.loop, 0), 1);
	cr_assert_eq(own.journal.count, 3);
	gathered_end(&own);
}

static void *submit_gathered(void *arg)
{
	struct gathered *own = arg;

	MUST(baton_submit(&own->resource, &own->steps[0].task) == 0);
	return NULL;
}

Test(loop, other_threads_signal_while_it_gathers, .timeout = 10)
{
	struct gathered own;
	struct baton_resource second;

	gathered_init(&own);
	baton_resource_init(&second, &own.config);
	baton_loop_gather(own.loop);
	cr_assert_eq(baton_submit(&second, &own.steps[1].task), 0);
	thread_join(thread_start(submit_gathered, &own));
	cr_assert(readable(own.loop));
	cr_assert_eq(baton_loop_run_gathered(own.loop), 1);
	cr_assert(readable(own.loop), "the other one's is not among the gathered");
	cr_assert_eq(baton_loop_run(own.loop, 0), 1);
	cr_assert_eq(own.journal.count, 2);
	cr_assert_not(readable(own.loop));
	resource_end(&second);
	gathered_end(&own);
}

static void *count_step(void *arg)
{
	struct journal *journal = arg;

	journal->count++;
	return NULL;
}

Test(loop, waiting_for_a_gathered_task_runs_it, .timeout = 10)
{
	struct gathered own;

	gathered_init(&own);
	baton_loop_gather(own.loop);
	cr_assert_eq(baton_submit(&own.resource, &own.steps[0].task), 0);
	cr_assert_eq(baton_call(&own.resource, count_step, &own.journal, NULL), 0);
	cr_assert_eq(own.journal.count, 2);
	cr_assert_eq(baton_loop_run_gathered(own.loop), 1, "a job with nothing left");
	cr_assert_eq(own.journal.count, 2);
	gathered_end(&own);
}

Test(loop, run_and_destroy_run_what_was_gathered, .timeout = 10)
{
	struct gathered own;

	gathered_init(&own);
	baton_loop_gather(own.loop);
	cr_assert_eq(baton_submit(&own.resource, &own.steps[0].task), 0);
	cr_assert_eq(baton_loop_run(own.loop, 0), 1);
	baton_loop_gather(own.loop);
	cr_assert_eq(baton_submit(&own.resource, &own.steps[1].task), 0);
	baton_loop_destroy(own.loop);
	cr_assert(journal_counts_up(&own.journal, 0, 2));
	resource_end(&own.resource);
}

struct nested {
	struct baton_task task;
	struct gathered *own;
	struct baton_resource *other;
};

static int call_other(struct baton_task *task)
{
	struct nested *nested = baton_container_of(task, struct nested, task);

	return baton_call(nested->other, count_step, &nested->own->journal, NULL);
}

Test(loop, a_gathered_job_may_wait_for_the_last_one, .timeout = 10)
{
	struct gathered own;
	struct baton_resource other;
	struct nested nested = {.own = &own, .other = &other};

	gathered_init(&own);
	baton_resource_init(&other, &own.config);
	baton_task_init(&nested.task, call_other, NULL);
	baton_loop_gather(own.loop);
	cr_assert_eq(baton_submit(&own.resource, &nested.task), 0);
	cr_assert_eq(baton_submit(&other, &own.steps[0].task), 0);
	cr_assert_eq(baton_loop_run_gathered(own.loop), 2, "the other one has nothing left");
	cr_assert_eq(own.journal.count, 2);
	cr_assert_not(readable(own.loop));
	resource_end(&other);
	gathered_end(&own);
}

Test(loop, a_run_in_a_forked_child_takes_no_signal_of_the_parents, .timeout = 10)
{
	struct baton_loop *loop = loop_create();
	struct baton_pool *pool = pool_of(1);
	struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;
	struct baton_resource resource;
	struct journal journal = {0};
	struct step step;
	pid_t child;
	int status;

	config.executor = baton_loop_executor(loop);
	steps_init(&step, 1, &journal, 0);
	baton_resource_init(&resource, &config);
	cr_assert_eq(baton_submit_later(&resource, &step.task), 0);
	child = fork();
	cr_assert_geq(child, 0);
	if (child == 0)
		_exit(baton_loop_run(loop, 0) == 0 && journal.count == 0 ? 0 : 1);
	cr_assert_eq(waitpid(child, &status, 0), child);
	cr_assert_eq(status, 0);
	cr_assert(readable(loop));
	cr_assert_eq(baton_loop_run(loop, 0), 1);
	cr_assert_eq(journal.count, 1);
	resource_end(&resource);
	baton_loop_destroy(loop);
	cr_assert_eq(baton_pool_destroy(pool), 0);
}
