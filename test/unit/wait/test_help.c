/* SPDX-License-Identifier: MIT */
/*
 * Helping (L9): a waiter whose resource is queued runs the resource's tasks itself, in a worker as
 * well as outside; and a wait that cannot end returns an error.
 */
#include "stash.h"

static void queued_init(struct baton_resource *resource, struct baton_resource_config *config,
                        struct stash *stash, struct baton_resource_stats *stats)
{
	stash_init(stash);
	*config = (struct baton_resource_config)BATON_RESOURCE_CONFIG_INIT;
	config->executor = &stash->executor;
	baton_resource_init(resource, config);
	if (stats)
		baton_resource_set_stats(resource, stats);
}

Test(help, a_waiter_of_a_queued_resource_runs_up_to_its_task_itself, .timeout = 10)
{
	struct baton_future futures[3] = {BATON_FUTURE_INIT, BATON_FUTURE_INIT, BATON_FUTURE_INIT};
	struct baton_resource_stats stats = {0};
	struct baton_resource_config config;
	struct baton_resource resource;
	struct journal journal = {0};
	struct stash stash;
	struct step steps[3];

	queued_init(&resource, &config, &stash, &stats);
	for (int i = 0; i < 3; i++) {
		step_init(&steps[i], &journal, i, &futures[i]);
		cr_assert_eq(baton_submit_later(&resource, &steps[i].task), 0);
	}
	cr_assert_eq(baton_future_wait(&futures[1]), 0);
	cr_assert(journal_counts_up(&journal, 0, 2), "up to its own task, not further");
	cr_assert(journal_here(&journal, 0) && journal_here(&journal, 1));
	cr_assert_eq(stats.helped, 1);
	cr_assert_eq(baton_future_state(&futures[2]), BATON_PENDING);
	cr_assert_eq(atomic_load(&stash.count), 1, "the entry is still the same one");
	cr_assert_geq(atomic_load(&stash.returned), 1, "and the executor knows of the rest");
	stash_run(&stash);
	cr_assert(journal_counts_up(&journal, 0, 3));
	resource_end(&resource);
	cr_assert_eq(atomic_load(&stash.count), 1);
}

Test(help, a_helper_that_runs_everything_leaves_an_entry_that_does_nothing, .timeout = 10)
{
	struct baton_future future = BATON_FUTURE_INIT;
	struct baton_resource_config config;
	struct baton_resource resource;
	struct journal journal = {0};
	struct stash stash;
	struct step steps[2];

	queued_init(&resource, &config, &stash, NULL);
	step_init(&steps[0], &journal, 0, &future);
	step_init(&steps[1], &journal, 1, NULL);
	cr_assert_eq(baton_submit_later(&resource, &steps[0].task), 0);
	cr_assert_eq(baton_future_wait(&future), 0);
	cr_assert_eq(baton_submit(&resource, &steps[1].task), 0);
	stash_run(&stash);
	cr_assert(journal_counts_up(&journal, 0, 2));
	resource_end(&resource);
}

Test(help, a_waiter_outside_runs_a_captured_resource_that_was_handed_off, .timeout = 10)
{
	struct baton_resource_config config;
	struct baton_future future = BATON_FUTURE_INIT;
	struct baton_resource resource;
	struct journal journal = {0};
	struct occupant occupant;
	struct stash stash;
	struct step step;

	queued_init(&resource, &config, &stash, NULL);
	config.capture_max = 1;
	step_init(&step, &journal, 0, &future);
	occupy(&occupant, &resource);
	cr_assert_eq(baton_submit(&resource, &step.task), 0);
	release(&occupant);
	cr_assert_eq(journal.count, 0);
	cr_assert_eq(baton_future_wait(&future), 0);
	cr_assert(journal_here(&journal, 0));
	stash_run(&stash);
	resource_end(&resource);
}

/* A task that submits the next one to its resource and waits for it, or calls it. */
struct asker {
	struct baton_task task;
	struct baton_future future;
	struct baton_resource *resource;
	struct asker *next;
	pthread_barrier_t *barrier;
	sem_t *gate;
	bool calls;
	int result;
	int value;
};

static int asker_run(struct baton_task *task);

static void *asker_call(void *arg)
{
	struct asker *asker = arg;

	(void)asker_run(&asker->task);
	return arg;
}

static int asker_run(struct baton_task *task)
{
	struct asker *asker = baton_container_of(task, struct asker, task);
	struct asker *next = asker->next;

	asker->value = 1;
	if (asker->barrier)
		(void)pthread_barrier_wait(asker->barrier);
	if (next && asker->calls) {
		asker->result = baton_call(next->resource, asker_call, next, NULL);
	} else if (next) {
		asker->result = baton_submit_later(next->resource, &next->task);
		if (asker->result == 0)
			asker->result = baton_future_wait(&next->future);
	}
	if (next && asker->result == 0)
		asker->value += next->value;
	if (asker->gate)
		gate_open(asker->gate);
	return 0;
}

static void asker_init(struct asker *asker, struct baton_resource *resource, struct asker *next)
{
	memset(asker, 0, sizeof(*asker));
	baton_future_init(&asker->future);
	baton_task_init(&asker->task, asker_run, &asker->future);
	asker->resource = resource;
	asker->next = next;
}

/* `count` resources in a chain on a pool of one worker; returns what the first counted. */
static int chain(int count, uint32_t capture_max, bool calls, int *failed)
{
	struct baton_pool *pool = pool_of(1);
	struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;
	struct baton_resource *resources = calloc((size_t)count, sizeof(*resources));
	struct asker *askers = calloc((size_t)count, sizeof(*askers));
	sem_t gate;
	int value;

	MUST(resources && askers);
	gate_init(&gate);
	config.executor = baton_pool_executor(pool);
	config.capture_max = capture_max;
	for (int i = 0; i < count; i++) {
		baton_resource_init(&resources[i], &config);
		asker_init(&askers[i], &resources[i], i + 1 < count ? &askers[i + 1] : NULL);
		askers[i].calls = calls;
	}
	askers[0].gate = &gate;
	cr_assert_eq(baton_submit_later(&resources[0], &askers[0].task), 0);
	gate_pass(&gate);
	cr_assert_eq(baton_pool_destroy(pool), 0);
	*failed = 0;
	for (int i = 0; i < count; i++) {
		resource_end(&resources[i]);
		cr_assert(askers[i].result == 0 || askers[i].result == -EDEADLK, "%d",
		          askers[i].result);
		*failed += askers[i].result != 0;
	}
	value = askers[0].value;
	free(askers);
	free(resources);
	return value;
}

Test(help, one_worker_and_three_resources_that_wait_in_a_chain, .timeout = 10)
{
	int failed;

	cr_assert_eq(chain(3, 10, false, &failed), 3);
	cr_assert_eq(failed, 0);
}

Test(help, one_worker_and_three_resources_that_call_in_a_chain, .timeout = 10)
{
	int failed;

	cr_assert_eq(chain(3, 10, true, &failed), 3);
	cr_assert_eq(failed, 0);
}

Test(help, one_worker_and_three_resources_with_limit_0, .timeout = 10)
{
	int failed;

	cr_assert_eq(chain(3, BATON_CAPTURE_NONE, false, &failed), 3);
	cr_assert_eq(failed, 0);
	cr_assert_eq(chain(3, BATON_CAPTURE_NONE, true, &failed), 3);
	cr_assert_eq(failed, 0);
}

Test(help, a_chain_that_is_too_deep_ends_with_an_answer, .timeout = 10)
{
	static const uint32_t limits[] = {BATON_CAPTURE_NONE, 10};
	int failed;

	for (int limit = 0; limit <= 1; limit++) {
		cr_assert_gt(chain(200, limits[limit], false, &failed), 0);
		cr_assert_gt(chain(200, limits[limit], true, &failed), 0);
	}
}

enum { WORKERS = 4 };

static void all_workers_wait(uint32_t capture_max)
{
	struct baton_pool *pool = pool_of(WORKERS);
	struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;
	struct baton_resource resources[2 * WORKERS];
	struct asker askers[2 * WORKERS];
	pthread_barrier_t barrier;

	MUST(pthread_barrier_init(&barrier, NULL, WORKERS) == 0);
	config.executor = baton_pool_executor(pool);
	config.capture_max = capture_max;
	for (int i = 0; i < 2 * WORKERS; i++) {
		baton_resource_init(&resources[i], &config);
		asker_init(&askers[i], &resources[i], i < WORKERS ? &askers[WORKERS + i] : NULL);
		askers[i].barrier = i < WORKERS ? &barrier : NULL;
	}
	for (int i = 0; i < WORKERS; i++)
		cr_assert_eq(baton_submit_later(&resources[i], &askers[i].task), 0);
	cr_assert_eq(baton_pool_destroy(pool), 0);
	for (int i = 0; i < 2 * WORKERS; i++) {
		resource_end(&resources[i]);
		cr_assert_eq(askers[i].result, 0);
		cr_assert_eq(askers[i].value, i < WORKERS ? 2 : 1);
	}
}

Test(help, workers_that_all_wait_for_queued_resources_do_not_hang, .timeout = 10)
{
	for (int i = 0; i < scaled(200); i++)
		all_workers_wait(10);
}

Test(help, workers_that_all_wait_for_resources_with_limit_0_do_not_hang, .timeout = 10)
{
	for (int i = 0; i < scaled(200); i++)
		all_workers_wait(BATON_CAPTURE_NONE);
}

/* The resource is handed off when its waiter sleeps already and no worker is free. */
struct sleeper {
	struct baton_task task;
	struct baton_future *awaited;
	atomic_int tid;
	int result;
};

static int sleeper_run(struct baton_task *task)
{
	struct sleeper *sleeper = baton_container_of(task, struct sleeper, task);

	atomic_store(&sleeper->tid, thread_id());
	sleeper->result = baton_future_wait(sleeper->awaited);
	return 0;
}

static void *sleeper_main(void *arg)
{
	struct sleeper *sleeper = arg;

	(void)sleeper_run(&sleeper->task);
	return NULL;
}

static void until_sleeper_asleep(struct sleeper *sleeper)
{
	until_at_least(&sleeper->tid, 1);
	until_asleep(atomic_load(&sleeper->tid));
}

Test(help, workers_asleep_in_a_wait_run_what_is_handed_off_to_them, .timeout = 10)
{
	struct baton_pool *pool = pool_of(2);
	struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;
	struct baton_future futures[2] = {BATON_FUTURE_INIT, BATON_FUTURE_INIT};
	struct baton_resource busy, mine[2];
	struct sleeper sleepers[2];
	struct occupant occupant;
	struct journal journal = {0};
	struct step steps[2];

	config.executor = baton_pool_executor(pool);
	config.capture_max = 1;
	baton_resource_init(&busy, &config);
	occupy(&occupant, &busy);
	for (int i = 0; i < 2; i++) {
		baton_resource_init(&mine[i], &config);
		step_init(&steps[i], &journal, i, &futures[i]);
		cr_assert_eq(baton_submit(&busy, &steps[i].task), 0);
		sleepers[i] =
			(struct sleeper){BATON_TASK_INIT(sleeper_run, NULL), &futures[i], 0, 1};
		cr_assert_eq(baton_submit_later(&mine[i], &sleepers[i].task), 0);
	}
	until_sleeper_asleep(&sleepers[0]);
	until_sleeper_asleep(&sleepers[1]);
	release(&occupant);
	cr_assert_eq(baton_pool_destroy(pool), 0);
	cr_assert(journal_counts_up(&journal, 0, 2));
	for (int i = 0; i < 2; i++) {
		cr_assert_eq(sleepers[i].result, 0);
		resource_end(&mine[i]);
	}
	resource_end(&busy);
}

Test(help, a_sleeper_is_woken_to_run_what_no_thread_is_free_for, .timeout = 10)
{
	struct baton_future future = BATON_FUTURE_INIT;
	struct sleeper sleeper = {BATON_TASK_INIT(sleeper_run, NULL), &future, 0, 1};
	struct baton_resource_config config;
	struct baton_resource resource;
	struct journal journal = {0};
	struct occupant occupant;
	struct stash stash;
	pthread_t thread;
	struct step step;

	queued_init(&resource, &config, &stash, NULL);
	config.capture_max = 1;
	atomic_store(&stash.answer, 1);
	step_init(&step, &journal, 0, &future);
	occupy(&occupant, &resource);
	cr_assert_eq(baton_submit(&resource, &step.task), 0);
	thread = thread_start(sleeper_main, &sleeper);
	until_sleeper_asleep(&sleeper);
	release(&occupant);
	thread_join(thread);
	cr_assert_eq(sleeper.result, 0);
	cr_assert(pthread_equal(journal.thread[0], thread));
	stash_run(&stash);
	resource_end(&resource);
}

Test(help, a_sleeper_outside_runs_what_is_handed_off_to_a_pool_that_is_stuck, .timeout = 10)
{
	struct baton_pool *pool = pool_of(1);
	struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;
	struct baton_future future = BATON_FUTURE_INIT;
	struct sleeper sleeper = {BATON_TASK_INIT(sleeper_run, NULL), &future, 0, 1};
	struct baton_resource stuck, busy;
	struct occupant worker, occupant;
	struct journal journal = {0};
	struct step step;
	pthread_t thread;

	config.executor = baton_pool_executor(pool);
	config.capture_max = 1;
	baton_resource_init(&stuck, &config);
	baton_resource_init(&busy, &config);
	occupy_later(&worker, &stuck);
	occupy(&occupant, &busy);
	step_init(&step, &journal, 0, &future);
	cr_assert_eq(baton_submit(&busy, &step.task), 0);
	thread = thread_start(sleeper_main, &sleeper);
	until_sleeper_asleep(&sleeper);
	release(&occupant);
	thread_join(thread); /* while the only worker is stuck */
	cr_assert_eq(sleeper.result, 0);
	cr_assert(journal_counts_up(&journal, 0, 1));
	gate_open(&worker.leave);
	cr_assert_eq(baton_pool_destroy(pool), 0);
	resource_end(&stuck);
	resource_end(&busy);
}

/* ---- What a thread is shown to wait for ---- */

struct outer_wait {
	struct baton_task task; /* waits for `inner` */
	struct baton_future inner, outer;
	struct baton_future future; /* the task's */
	struct baton__thread *self;
	atomic_int tid;
	sem_t entered;
};

static int wait_inside(struct baton_task *task)
{
	struct outer_wait *wait = baton_container_of(task, struct outer_wait, task);

	gate_open(&wait->entered);
	return baton_future_wait(&wait->inner);
}

static void *wait_outside(void *arg)
{
	struct outer_wait *wait = arg;
	struct baton_future *both[] = {&wait->future, &wait->outer};

	MUST(baton__thread_attach() == 0);
	wait->self = baton__self;
	atomic_store(&wait->tid, thread_id());
	MUST(baton_future_wait_all(both, 2) == 0);
	return NULL;
}

/* The sleeper helps with a task that waits, too; then it sleeps on. */
Test(help, a_wait_that_goes_on_after_one_inside_it_is_shown_again, .timeout = 10)
{
	struct outer_wait wait = {.task = BATON_TASK_INIT(wait_inside, NULL),
	                          .inner = BATON_PROMISE_INIT,
	                          .outer = BATON_PROMISE_INIT,
	                          .future = BATON_FUTURE_INIT};
	struct baton_resource_config config;
	struct baton_resource resource;
	struct occupant occupant;
	struct stash stash;
	pthread_t thread;
	uint64_t since_ns;

	gate_init(&wait.entered);
	queued_init(&resource, &config, &stash, NULL);
	config.capture_max = 1;
	atomic_store(&stash.answer, 1);
	occupy(&occupant, &resource);
	baton_task_init(&wait.task, wait_inside, &wait.future);
	cr_assert_eq(baton_submit(&resource, &wait.task), 0);
	thread = thread_start(wait_outside, &wait);
	until_at_least(&wait.tid, 1);
	until_asleep(atomic_load(&wait.tid));
	since_ns = __atomic_load_n(&wait.self->wait.since_ns, __ATOMIC_RELAXED);
	cr_assert_neq(since_ns, 0);
	release(&occupant);
	gate_pass(&wait.entered);
	until_asleep(atomic_load(&wait.tid));
	cr_assert_gt(__atomic_load_n(&wait.self->wait.since_ns, __ATOMIC_RELAXED), since_ns);
	cr_assert_eq(baton_future_complete(&wait.inner, 0, NULL), 0);
	while (!baton_future_is_complete(&wait.future))
		sched_yield();
	until_asleep(atomic_load(&wait.tid));
	cr_assert_eq(__atomic_load_n(&wait.self->wait.since_ns, __ATOMIC_RELAXED), since_ns);
	cr_assert_eq(__atomic_load_n(&wait.self->wait.future, __ATOMIC_RELAXED), &wait.future);
	cr_assert_eq(baton_future_complete(&wait.outer, 0, NULL), 0);
	thread_join(thread);
	stash_run(&stash);
	resource_end(&resource);
}
