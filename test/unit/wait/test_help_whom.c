/* SPDX-License-Identifier: MIT */
/*
 * The tasks that a wait may help with (L9): helping makes no wait fail, or last, that would have
 * ended without helping. A wait with a deadline, or for any of several futures, leaves tasks to
 * others.
 */
#include "stash.h"

#include <baton/suspend.h>

/*
 * A task of `outer` that waits for a future of the queued resource `inner`, before whose task
 * another one lies, `caller`.
 */
enum wait {
	UNTIL,     /* baton_future_wait */
	ALL_UNTIL, /* baton_future_wait_all, with a deadline */
	AWAIT,     /* baton_resource_await, with a deadline */
	ANY,       /* baton_future_wait_any; the other future is a promise, fulfilled elsewhere */
	ALL,       /* baton_future_wait_all; the other future is one of `outer` itself */
	PLAIN,     /* baton_future_wait */
	WAITS
};

/* How the caller waits for `outer`. */
enum call { CALL, SUBMIT_UNTIL, AWAIT_UNTIL, QUIESCE_UNTIL, CALLS };

struct scene {
	struct stash stash;
	struct baton_resource_config config;
	struct baton_resource outer, inner;
	struct baton_task waiter, caller;
	struct baton_future promise;
	struct journal journal;
	struct step own; /* of `inner` */
	struct baton_future own_future;
	struct step late; /* of `outer`; begins when the waiter has returned */
	struct baton_future late_future;
	struct step asked; /* of `outer`, by the caller */
	struct baton_future asked_future;
	enum wait wait;
	enum call call;
	uint64_t timeout_ms;
	int called; /* what the caller's wait returned */
	int waited;
	size_t entered_meanwhile;
};

static void *nothing(void *arg)
{
	return arg;
}

static int caller_run(struct baton_task *task)
{
	struct scene *scene = baton_container_of(task, struct scene, caller);
	uint64_t deadline = deadline_in_ms(10);
	struct baton_resource *outer = &scene->outer;
	struct baton_suspension suspension;

	journal_add(&scene->journal, 0);
	switch (scene->call) {
	case SUBMIT_UNTIL:
		MUST(baton_submit(outer, &scene->asked.task) == 0);
		scene->called = baton_future_wait_until(&scene->asked_future, deadline);
		break;
	case AWAIT_UNTIL:
		scene->called = baton_resource_await_until(outer, deadline);
		break;
	case QUIESCE_UNTIL:
		scene->called = baton_quiesce_until(&outer, 1, &suspension, deadline);
		if (!scene->called)
			MUST(baton_quiesce_end(&suspension, 1) == 0);
		break;
	default:
		scene->called = baton_call(outer, nothing, NULL, NULL);
	}
	return 0;
}

static void *fulfil_main(void *arg)
{
	MUST(baton_future_complete(arg, 0, NULL) == 0);
	return NULL;
}

static int waiter_run(struct baton_task *task)
{
	struct scene *scene = baton_container_of(task, struct scene, waiter);
	uint64_t deadline = deadline_in_ms(scene->timeout_ms);
	struct baton_future *futures[2] = {&scene->own_future, NULL};
	pthread_t thread;

	if (!scene->timeout_ms)
		deadline = 0;
	switch (scene->wait) {
	case UNTIL:
		scene->waited = baton_future_wait_until(&scene->own_future, deadline);
		break;
	case ALL_UNTIL:
		scene->waited = baton_future_wait_all_until(futures, 1, deadline);
		break;
	case AWAIT:
		scene->waited = baton_resource_await_until(&scene->inner, deadline);
		break;
	case ANY:
		futures[1] = &scene->promise;
		thread = thread_start(fulfil_main, &scene->promise);
		scene->waited = baton_future_wait_any(futures, 2, NULL);
		thread_join(thread);
		break;
	case ALL:
		futures[1] = &scene->late_future;
		MUST(baton_submit(&scene->outer, &scene->late.task) == 0);
		scene->waited = baton_future_wait_all(futures, 2);
		break;
	default:
		scene->waited = baton_future_wait(&scene->own_future);
	}
	scene->entered_meanwhile = scene->journal.count;
	return 0;
}

static void scene_init(struct scene *scene, enum wait wait, enum call call, uint64_t timeout_ms)
{
	memset(scene, 0, sizeof(*scene));
	scene->wait = wait;
	scene->call = call;
	scene->timeout_ms = timeout_ms;
	scene->called = scene->waited = 1;
	stash_init(&scene->stash);
	scene->config = (struct baton_resource_config)BATON_RESOURCE_CONFIG_INIT;
	scene->config.executor = &scene->stash.executor;
	scene->config.name = "outer";
	baton_resource_init(&scene->outer, &scene->config);
	scene->config.name = "inner";
	baton_resource_init(&scene->inner, &scene->config);
	baton_promise_init(&scene->promise);
	baton_future_init(&scene->own_future);
	baton_future_init(&scene->late_future);
	baton_future_init(&scene->asked_future);
	baton_task_init(&scene->waiter, waiter_run, NULL);
	baton_task_init(&scene->caller, caller_run, NULL);
	step_init(&scene->own, &scene->journal, 1, &scene->own_future);
	step_init(&scene->late, &scene->journal, 2, &scene->late_future);
	step_init(&scene->asked, &scene->journal, 3, &scene->asked_future);
	cr_assert_eq(baton_submit_later(&scene->inner, &scene->caller), 0);
	cr_assert_eq(baton_submit_later(&scene->inner, &scene->own.task), 0);
}

static void scene_end(struct scene *scene)
{
	stash_run(&scene->stash);
	cr_assert_eq(baton_future_wait(&scene->own_future), 0);
	resource_end(&scene->inner);
	resource_end(&scene->outer);
}

/* The wait ends as it would if nobody could help, and so does the caller's. */
static void nothing_entered(enum wait wait, enum call call, uint64_t timeout_ms, int expected)
{
	struct scene scene;

	scene_init(&scene, wait, call, timeout_ms);
	cr_assert_eq(baton_submit(&scene.outer, &scene.waiter), 0);
	cr_assert_eq(scene.waited, expected, "%d: %d", wait, scene.waited);
	cr_assert_eq(scene.entered_meanwhile, 0, "%d", wait);
	scene_end(&scene);
	cr_assert_eq(scene.called, 0, "%d: %d", wait, scene.called);
}

Test(help_whom, a_wait_with_another_end_leaves_tasks_to_others, .timeout = 10)
{
	static const int results[PLAIN] = {[UNTIL] = -ETIMEDOUT,
	                                   [ALL_UNTIL] = -ETIMEDOUT,
	                                   [AWAIT] = -ETIMEDOUT,
	                                   [ANY] = 0,
	                                   [ALL] = -EDEADLK};

	for (int wait = 0; wait < PLAIN; wait++)
		nothing_entered((enum wait)wait, CALL, 10, results[wait]);
}

/* Outside of tasks, too: the task before may wait for what the waiter does after its wait. */
Test(help_whom, a_wait_outside_of_tasks_keeps_its_deadline, .timeout = 10)
{
	for (int wait = UNTIL; wait <= ANY; wait++) {
		struct scene scene;

		scene_init(&scene, (enum wait)wait, CALL, 10);
		(void)waiter_run(&scene.waiter);
		cr_assert_eq(scene.waited, wait == ANY ? 0 : -ETIMEDOUT);
		cr_assert_eq(scene.entered_meanwhile, 0, "%d", wait);
		scene_end(&scene);
	}
}

/* The deadline is looked at first, also where nobody but this thread would come to the task. */
Test(help_whom, a_deadline_that_has_passed_lets_nothing_be_entered, .timeout = 10)
{
	static const uint32_t limits[] = {BATON_CAPTURE_NONE, 10};

	for (int wait = UNTIL; wait <= AWAIT; wait++) {
		for (int limit = 0; limit <= 1; limit++) {
			struct baton_manual *manual = NULL;
			struct scene scene;

			scene_init(&scene, (enum wait)wait, CALL, 0);
			(void)waiter_run(&scene.waiter);
			cr_assert_eq(scene.waited, -ETIMEDOUT);
			cr_assert_eq(scene.entered_meanwhile, 0, "%d", wait);
			scene_end(&scene);
			MUST(baton_manual_create(&manual) == 0);
			scene.config.executor = baton_manual_executor(manual);
			scene.config.capture_max = limits[limit];
			scene.journal.count = 0;
			scene.config.name = "inner";
			baton_resource_init(&scene.inner, &scene.config);
			baton_future_init(&scene.own_future);
			cr_assert_eq(baton_submit_later(&scene.inner, &scene.own.task), 0);
			(void)waiter_run(&scene.waiter);
			cr_assert_eq(scene.waited, -ETIMEDOUT);
			cr_assert_eq(scene.entered_meanwhile, 0, "%d", wait);
			cr_assert_eq(baton_future_wait(&scene.own_future), 0);
			(void)baton_manual_run(manual, 0);
			resource_end(&scene.inner);
			baton_manual_destroy(manual);
		}
	}
}

/*
 * A helper holds the resources below; a task that it enters waits for those as on another thread.
 */
Test(help_whom, a_deadline_for_what_the_helper_holds_passes, .timeout = 10)
{
	for (int call = CALL; call < CALLS; call++) {
		struct baton_future after = BATON_FUTURE_INIT;
		struct scene scene;
		struct step step;

		scene_init(&scene, PLAIN, (enum call)call, 0);
		step_init(&step, &scene.journal, 4, &after);
		cr_assert_eq(baton_submit(&scene.outer, &scene.waiter), 0);
		cr_assert_eq(scene.waited, 0);
		/* Without a deadline it is a cycle, and one of the two waits is refused. */
		cr_assert_eq(scene.called, call == CALL ? -EDEADLK : -ETIMEDOUT, "%d: %d", call,
		             scene.called);
		scene_end(&scene);
	}
}

Test(help_whom, a_suspension_with_a_deadline_takes_effect_on_a_queued_resource, .timeout = 10)
{
	uint64_t deadline = deadline_in_ms(60000);
	struct baton_suspension suspension;
	struct baton_resource *resource;
	struct scene scene;

	scene_init(&scene, PLAIN, CALL, 0);
	resource = &scene.inner;
	cr_assert_eq(baton_quiesce_until(&resource, 1, &suspension, deadline), 0);
	cr_assert_eq(scene.journal.count, 0, "no task is entered for it");
	cr_assert_eq(baton_quiesce_end(&suspension, 1), 0);
	scene_end(&scene);
}

/* N workers that all wait for any of two, one of which nobody ever fulfils. */
enum { WORKERS = 3 };

struct asker {
	struct baton_task task;
	struct baton_resource resources[2];
	struct baton_future promise;
	struct baton_future future;
	struct journal journal;
	struct step step;
	pthread_barrier_t *barrier;
	int result;
};

static int asker_run(struct baton_task *task)
{
	struct asker *asker = baton_container_of(task, struct asker, task);
	struct baton_future *futures[2] = {&asker->promise, &asker->future};

	MUST(baton_submit_later(&asker->resources[1], &asker->step.task) == 0);
	(void)pthread_barrier_wait(asker->barrier);
	asker->result = baton_future_wait_any(futures, 2, NULL);
	return 0;
}

static void all_wait_for_any(uint32_t capture_max)
{
	struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;
	struct baton_pool *pool = pool_of(WORKERS);
	struct asker askers[WORKERS];
	pthread_barrier_t barrier;

	memset(askers, 0, sizeof(askers));
	MUST(pthread_barrier_init(&barrier, NULL, WORKERS) == 0);
	config.executor = baton_pool_executor(pool);
	config.capture_max = capture_max;
	for (int i = 0; i < WORKERS; i++) {
		for (int j = 0; j < 2; j++)
			baton_resource_init(&askers[i].resources[j], &config);
		baton_promise_init(&askers[i].promise);
		baton_future_init(&askers[i].future);
		step_init(&askers[i].step, &askers[i].journal, 0, &askers[i].future);
		baton_task_init(&askers[i].task, asker_run, NULL);
		askers[i].barrier = &barrier;
		askers[i].result = 1;
		cr_assert_eq(baton_submit_later(&askers[i].resources[0], &askers[i].task), 0);
	}
	cr_assert_eq(baton_pool_destroy(pool), 0);
	for (int i = 0; i < WORKERS; i++) {
		cr_assert_eq(askers[i].result, 0);
		resource_end(&askers[i].resources[0]);
		resource_end(&askers[i].resources[1]);
	}
}

Test(help_whom, workers_that_all_wait_for_any_of_several_do_not_hang, .timeout = 10)
{
	for (int i = 0; i < scaled(100); i++) {
		all_wait_for_any(10);
		all_wait_for_any(BATON_CAPTURE_NONE);
	}
}
