/* SPDX-License-Identifier: MIT */
/*
 * While a helper is at work for a future, others come to the same future or the same resource: a
 * canceller, a second waiter, the end of the executor.
 */
#include "stash.h"

/* A queued resource whose first task a helper enters and stays in; at its end, an awaited step. */
struct scene {
	struct baton_manual *manual;
	struct stash stash; /* in its place, for a helper with a deadline */
	struct baton_resource_config config;
	struct baton_resource resource;
	struct occupant occupant;
	struct occupant second; /* behind it */
	struct journal journal;
	struct step step;
	struct baton_future future; /* of the step */
};

struct waiter {
	struct baton_future *future;
	uint64_t deadline;
	pthread_t thread;
	atomic_int tid;
	int result;
};

static void *waiter_main(void *arg)
{
	struct waiter *waiter = arg;

	atomic_store(&waiter->tid, thread_id());
	waiter->result = baton_future_wait_until(waiter->future, waiter->deadline);
	return NULL;
}

static void waiter_start(struct waiter *waiter, struct baton_future *future, uint64_t deadline)
{
	memset(waiter, 0, sizeof(*waiter));
	waiter->future = future;
	waiter->deadline = deadline;
	waiter->thread = thread_start(waiter_main, waiter);
}

static int not_driven_here(struct baton_executor *executor)
{
	return -EPERM;
}

static bool alone(struct baton_executor *executor)
{
	return true;
}

/* Every thread that asks takes it for its own: so waits with a deadline help. */
static const struct baton_executor_ops own_ops = {
	.schedule = stash_schedule,
	.drive = not_driven_here,
	.returned = stash_returned,
	.alone = alone,
};

/* Returns when the helper is in the first task. */
static void scene_begin(struct scene *scene, struct waiter *helper, uint64_t deadline, bool two)
{
	memset(scene, 0, sizeof(*scene));
	MUST(baton_manual_create(&scene->manual) == 0);
	scene->config = (struct baton_resource_config)BATON_RESOURCE_CONFIG_INIT;
	scene->config.executor = baton_manual_executor(scene->manual);
	if (deadline != BATON_FOREVER) {
		stash_init(&scene->stash);
		baton_executor_init(&scene->stash.executor, &own_ops);
		scene->config.executor = &scene->stash.executor;
	}
	baton_resource_init(&scene->resource, &scene->config);
	occupant_init(&scene->occupant, &scene->resource);
	baton_future_init(&scene->future);
	step_init(&scene->step, &scene->journal, 0, &scene->future);
	cr_assert_eq(baton_submit_later(&scene->resource, &scene->occupant.task), 0);
	occupant_init(&scene->second, &scene->resource);
	if (two)
		cr_assert_eq(baton_submit(&scene->resource, &scene->second.task), 0);
	cr_assert_eq(baton_submit(&scene->resource, &scene->step.task), 0);
	waiter_start(helper, &scene->future, deadline);
	gate_pass(&scene->occupant.entered);
}

static void scene_end(struct scene *scene)
{
	(void)baton_manual_run(scene->manual, 0);
	stash_run(&scene->stash);
	resource_end(&scene->resource);
	baton_manual_destroy(scene->manual);
}

Test(visitor, a_cancel_beside_a_helper_is_obeyed_when_the_helper_comes_to_the_task, .timeout = 10)
{
	struct scene scene;
	struct waiter helper;

	scene_begin(&scene, &helper, BATON_FOREVER, false);
	cr_assert_eq(baton_future_cancel(&scene.future), 0);
	cr_assert_eq(baton_future_state(&scene.future), BATON_PENDING, "the helper has the task");
	gate_open(&scene.occupant.leave);
	thread_join(helper.thread);
	cr_assert_eq(helper.result, 0);
	cr_assert_eq(baton_future_state(&scene.future), BATON_CANCELLED);
	cr_assert_eq(scene.journal.count, 0);
	scene_end(&scene);
}

Test(visitor, a_helper_that_times_out_wakes_the_waiter_that_it_was_in_the_way_of, .timeout = 10)
{
	uint64_t deadline = deadline_in_ms(1500); /* the helper has begun by then */
	struct scene scene;
	struct waiter helper, other;

	scene_begin(&scene, &helper, deadline, true);
	waiter_start(&other, &scene.future, BATON_FOREVER);
	until_at_least(&other.tid, 1);
	until_asleep(atomic_load(&other.tid));
	while (now_ns() <= deadline)
		sched_yield();
	gate_open(&scene.occupant.leave);
	gate_pass(&scene.second.entered);
	thread_join(helper.thread);
	cr_assert_eq(helper.result, -ETIMEDOUT);
	gate_open(&scene.second.leave);
	thread_join(other.thread);
	cr_assert_eq(other.result, 0);
	cr_assert(journal_counts_up(&scene.journal, 0, 1));
	cr_assert(pthread_equal(scene.journal.thread[0], other.thread));
	scene_end(&scene);
}

/* The job is cancelled, but the helper had the tasks first. */
Test(visitor, a_helper_goes_on_when_the_executor_ends_meanwhile, .timeout = 10)
{
	struct scene scene;
	struct waiter helper;

	scene_begin(&scene, &helper, BATON_FOREVER, false);
	baton_manual_destroy(scene.manual);
	gate_open(&scene.occupant.leave);
	thread_join(helper.thread);
	cr_assert_eq(helper.result, 0);
	cr_assert_eq(baton_future_state(&scene.future), BATON_DONE);
	cr_assert(journal_counts_up(&scene.journal, 0, 1));
	cr_assert(pthread_equal(scene.journal.thread[0], helper.thread));
	resource_end(&scene.resource);
}
