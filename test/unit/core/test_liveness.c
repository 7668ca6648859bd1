/* SPDX-License-Identifier: MIT */
/*
 * No wake is lost: work that no free thread comes to is announced to a thread that can do it, be it
 * an idle worker or a waiter asleep.
 */
#include "pool_support.h"
#include "fixture.h"

/* A thread that waits for `awaited` and then completes `then`, if that is not NULL. */
struct sleeper {
	struct baton_future *awaited;
	struct baton_future *then;
	pthread_t thread;
	atomic_int tid;
	int result;
};

static void *sleeper_main(void *arg)
{
	struct sleeper *sleeper = arg;

	atomic_store(&sleeper->tid, thread_id());
	sleeper->result = baton_future_wait(sleeper->awaited);
	if (sleeper->then)
		MUST(baton_future_complete(sleeper->then, 0, NULL) == 0);
	return NULL;
}

/* Returns when it sleeps. */
static void sleeper_start(struct sleeper *sleeper, struct baton_future *awaited,
                          struct baton_future *then)
{
	memset(sleeper, 0, sizeof(*sleeper));
	sleeper->awaited = awaited;
	sleeper->then = then;
	sleeper->thread = thread_start(sleeper_main, sleeper);
	until_at_least(&sleeper->tid, 1);
	until_asleep(atomic_load(&sleeper->tid));
}

/* A resource is put off (its executor refuses) by a thread that waits for the sleeper meanwhile. */
struct put_off {
	struct baton_task outer;
	struct baton_task inner;
	struct baton_resource *resource;
	struct step step;
	struct baton_future future; /* of the step */
	struct baton_future woken;
	struct sleeper sleeper;
	int result;
};

static int put_off_inner(struct baton_task *task)
{
	struct put_off *scene = baton_container_of(task, struct put_off, inner);

	MUST(baton_submit(scene->resource, &scene->step.task) == 0);
	sleeper_start(&scene->sleeper, &scene->future, &scene->woken);
	return 0;
}

static int put_off_outer(struct baton_task *task)
{
	struct put_off *scene = baton_container_of(task, struct put_off, outer);

	MUST(baton_submit(scene->resource, &scene->inner) == 0);
	scene->result = baton_future_wait(&scene->woken);
	return 0;
}

Test(liveness, a_sleeper_is_nudged_when_its_resource_is_put_off, .timeout = 10)
{
	struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;
	struct baton_resource own = BATON_RESOURCE_INIT(NULL);
	struct baton_resource resource;
	struct journal journal = {0};
	struct put_off scene = {.outer = BATON_TASK_INIT(put_off_outer, NULL),
	                        .inner = BATON_TASK_INIT(put_off_inner, NULL),
	                        .resource = &resource,
	                        .future = BATON_FUTURE_INIT,
	                        .woken = BATON_PROMISE_INIT,
	                        .result = 1};
	struct stash stash;

	stash_init(&stash);
	atomic_store(&stash.answer, -ESHUTDOWN);
	config.executor = &stash.executor;
	baton_resource_init(&resource, &config);
	step_init(&scene.step, &journal, 0, &scene.future);
	cr_assert_eq(baton_submit(&own, &scene.outer), 0);
	thread_join(scene.sleeper.thread);
	cr_assert_eq(scene.result, 0);
	cr_assert_eq(scene.sleeper.result, 0);
	cr_assert(journal_counts_up(&journal, 0, 1));
	cr_assert(pthread_equal(journal.thread[0], scene.sleeper.thread));
	resource_end(&resource);
	resource_end(&own);
}

static void plug_init(struct plug *plug, struct baton_pool *pool)
{
	work_init(&plug->work, work_stay, pool, NULL);
	gate_init(&plug->entered);
	gate_init(&plug->leave);
	plug->work.entered = &plug->entered;
	plug->work.leave = &plug->leave;
}

/* Occupies its resource, and gives the pool a plug just before it ends. */
struct plugger {
	struct baton_task task;
	struct baton_resource *resource;
	struct plug plug;
	sem_t entered;
	sem_t leave;
};

static int plugger_run(struct baton_task *task)
{
	struct plugger *plugger = baton_container_of(task, struct plugger, task);

	gate_open(&plugger->entered);
	gate_pass(&plugger->leave);
	return baton_pool_submit(plugger->plug.work.pool, &plugger->plug.work.job);
}

static void *plugger_main(void *arg)
{
	struct plugger *plugger = arg;

	MUST(baton_submit(plugger->resource, &plugger->task) == 0);
	return NULL;
}

static void busy_after_the_hand_off(void)
{
	struct baton_future future = BATON_FUTURE_INIT;
	struct plugger plugger;
	struct sleeper sleeper;
	pthread_t thread;

	fix.config.capture_max = 1;
	fixture_pool(1);
	baton_task_init(&plugger.task, plugger_run, NULL);
	plugger.resource = &fix.resource;
	plug_init(&plugger.plug, fix.pool);
	gate_init(&plugger.entered);
	gate_init(&plugger.leave);
	step_init(&fix.steps[0], &fix.journal, 0, &future);
	until_all_asleep(fix.pool);
	thread = thread_start(plugger_main, &plugger);
	gate_pass(&plugger.entered);
	cr_assert_eq(baton_submit(&fix.resource, &fix.steps[0].task), 0);
	sleeper_start(&sleeper, &future, NULL);
	gate_open(&plugger.leave);
	thread_join(sleeper.thread); /* while the only worker is stuck, or about to be */
	cr_assert_eq(sleeper.result, 0);
	cr_assert(journal_counts_up(&fix.journal, 0, 1));
	thread_join(thread);
	gate_open(&plugger.plug.leave);
	fixture_end();
}

/* Several times: the worker is sometimes in the plug before the hand-off. */
Test(liveness, a_sleeper_is_nudged_when_the_pool_is_busy_only_after_the_hand_off, .timeout = 10)
{
	for (int i = 0; i < 20; i++)
		busy_after_the_hand_off();
}

enum { STEPS = 200 }; /* more than a worker runs before it looks at the pool's common queue */

Test(liveness, a_sleeper_is_nudged_when_a_job_comes_between_two_quanta, .timeout = 10)
{
	struct baton_future future = BATON_FUTURE_INIT;
	struct step steps[STEPS];
	struct sleeper sleeper;
	struct plug plug;

	fix.config.quantum = 1;
	fixture_pool(1);
	occupy_later(&fix.occupant, &fix.resource);
	for (int i = 0; i < STEPS; i++) {
		step_init(&steps[i], &fix.journal, i, i == STEPS - 1 ? &future : NULL);
		cr_assert_eq(baton_submit(&fix.resource, &steps[i].task), 0);
	}
	sleeper_start(&sleeper, &future, NULL);
	plug_init(&plug, fix.pool);
	cr_assert_eq(baton_pool_submit(fix.pool, &plug.work.job), 0);
	gate_open(&fix.occupant.leave);
	thread_join(sleeper.thread); /* while the only worker is stuck in the plug */
	cr_assert_eq(sleeper.result, 0);
	cr_assert(journal_counts_up(&fix.journal, 0, STEPS));
	gate_open(&plug.leave);
	fixture_end();
}

/* Between others that sleep for promises, one that can help. The resource stays queued. */
static void the_right_one_is_nudged(struct baton_resource *resource)
{
	struct baton_future promises[2] = {BATON_PROMISE_INIT, BATON_PROMISE_INIT};
	struct baton_future future = BATON_FUTURE_INIT;
	struct sleeper sleeper, others[2];
	struct journal journal = {0};
	struct occupant occupant;
	struct step step;

	step_init(&step, &journal, 0, &future);
	occupy(&occupant, resource);
	cr_assert_eq(baton_submit(resource, &step.task), 0);
	sleeper_start(&others[0], &promises[0], NULL);
	sleeper_start(&sleeper, &future, NULL);
	sleeper_start(&others[1], &promises[1], NULL);
	release(&occupant);
	thread_join(sleeper.thread);
	cr_assert_eq(sleeper.result, 0);
	cr_assert(journal_counts_up(&journal, 0, 1));
	cr_assert(pthread_equal(journal.thread[0], sleeper.thread));
	for (int i = 0; i < 2; i++) {
		cr_assert_eq(baton_future_complete(&promises[i], 0, NULL), 0);
		thread_join(others[i].thread);
		cr_assert_eq(others[i].result, 0);
	}
}

Test(liveness, sleepers_that_cannot_help_do_not_take_the_nudge, .timeout = 10)
{
	struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;
	struct baton_resource resource;
	struct stash stash;

	stash_init(&stash);
	atomic_store(&stash.answer, 1);
	config.executor = &stash.executor;
	config.capture_max = 1;
	baton_resource_init(&resource, &config);
	the_right_one_is_nudged(&resource);
	stash_run(&stash);
	resource_end(&resource);
}

Test(liveness, sleepers_that_cannot_help_a_stuck_pool_do_not_take_the_nudge, .timeout = 10)
{
	struct plug plug;

	fix.config.capture_max = 1;
	fixture_pool(1);
	plug_in(&plug, fix.pool);
	the_right_one_is_nudged(&fix.resource);
	gate_open(&plug.leave);
	fixture_end();
}
