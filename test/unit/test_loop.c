/* SPDX-License-Identifier: MIT */
/* The loop executor: an eventfd for a thread that lives in an event loop. */
#include "support.h"

#include <poll.h>

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
	baton_loop_adopt(loop);
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
		baton_resource_init(&resources[i], NULL, NULL, &config, NULL);
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
	config.capture_limit = 0;
	config.quantum = 1;
	baton_resource_init(&resource, NULL, NULL, &config, NULL);
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
	config.capture_limit = 0;
	baton_resource_init(&life.resource, NULL, NULL, &config, NULL);
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
	config.capture_limit = 0;
	baton_resource_init(&life.resource, NULL, NULL, &config, NULL);
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
	config.capture_limit = 0;
	baton_resource_init(&resource, NULL, NULL, &config, NULL);
	step_init(&step, &journal, 0, NULL);
	cr_assert_eq(baton_submit(&resource, &step.task), 0);
	thread = thread_start(run_main, loop);
	cr_assert_eq((intptr_t)thread_join(thread), 1);
	cr_assert_eq(journal.count, 1);
	cr_assert_not(journal_here(&journal, 0));
	resource_end(&resource);
	baton_loop_adopt(loop);
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
	baton_resource_init(&resource, NULL, NULL, &config, NULL);
	steps_init(steps, 200, &journal, 0);
	for (int i = 0; i < 200; i++)
		cr_assert_eq(baton_submit_later(&resource, &steps[i].task), 0);
	baton_loop_destroy(loop);
	cr_assert(journal_counts_up(&journal, 0, 200));
	resource_end(&resource);
}
