/* SPDX-License-Identifier: MIT */
/* A waiter's own work while it waits: for all of its futures, and not beyond its deadline. */
#include "fixture.h"

/* A task that completes a promise. */
struct keeper {
	struct baton_task task;
	struct baton_future future;
	struct baton_future promise;
};

static int keeper_run(struct baton_task *task)
{
	struct keeper *keeper = baton_container_of(task, struct keeper, task);

	return baton_future_complete(&keeper->promise, 0, NULL);
}

static void keeper_init(struct keeper *keeper)
{
	baton_future_init(&keeper->future);
	baton_promise_init(&keeper->promise);
	baton_task_init(&keeper->task, keeper_run, &keeper->future);
}

static void wait_all_drives(bool promise_first)
{
	struct keeper keeper;
	struct baton_future *futures[2];

	fix.config.capture_max = BATON_CAPTURE_NONE;
	fixture_manual();
	keeper_init(&keeper);
	futures[promise_first ? 0 : 1] = &keeper.promise;
	futures[promise_first ? 1 : 0] = &keeper.future;
	cr_assert_eq(baton_submit(&fix.resource, &keeper.task), 0);
	cr_assert_eq(baton_future_wait_all(futures, 2), 0);
	fixture_end();
}

Test(wait_help, wait_all_drives_for_the_first_and_for_the_last, .timeout = 10)
{
	wait_all_drives(false);
	wait_all_drives(true);
}

/* On the only worker, a task that waits for another's promise and future. */
struct asker {
	struct baton_task task;
	struct baton_resource *resource;
	struct keeper keeper;
	int result;
};

static int asker_run(struct baton_task *task)
{
	struct asker *asker = baton_container_of(task, struct asker, task);
	struct baton_future *futures[2] = {&asker->keeper.promise, &asker->keeper.future};

	MUST(baton_submit_later(asker->resource, &asker->keeper.task) == 0);
	asker->result = baton_future_wait_all(futures, 2);
	return 0;
}

Test(wait_help, wait_all_helps_for_the_last_on_the_only_worker, .timeout = 10)
{
	struct baton_pool *pool = pool_of(1);
	struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;
	struct baton_resource resources[2];
	struct asker asker = {
		.task = BATON_TASK_INIT(asker_run, NULL), .resource = &resources[1], .result = 1};

	config.executor = baton_pool_executor(pool);
	for (int i = 0; i < 2; i++)
		baton_resource_init(&resources[i], &config);
	keeper_init(&asker.keeper);
	cr_assert_eq(baton_submit_later(&resources[0], &asker.task), 0);
	cr_assert_eq(baton_pool_destroy(pool), 0);
	cr_assert_eq(asker.result, 0);
	resource_end(&resources[0]);
	resource_end(&resources[1]);
}

/* There is always one more job to drive. */
struct ticker {
	struct baton_task task;
	struct baton_resource *resource;
	bool stop;
};

static int ticker_run(struct baton_task *task)
{
	struct ticker *ticker = baton_container_of(task, struct ticker, task);

	return ticker->stop ? 0 : baton_submit(ticker->resource, task);
}

Test(wait_help, the_deadline_ends_driving_that_would_never_end, .timeout = 10)
{
	struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT, never_here;
	struct baton_manual *manual = NULL;
	struct baton_future future = BATON_FUTURE_INIT;
	uint64_t deadline = deadline_in_ms(50);
	struct baton_resource ticking, busy;
	struct journal journal = {0};
	struct occupant occupant;
	struct ticker ticker = {BATON_TASK_INIT(ticker_run, NULL), &ticking, false};
	struct step step;

	cr_assert_eq(baton_manual_create(&manual), 0);
	config.executor = baton_manual_executor(manual);
	baton_resource_init(&busy, &config);
	occupy(&occupant, &busy);
	step_init(&step, &journal, 0, &future);
	cr_assert_eq(baton_submit(&busy, &step.task), 0);
	never_here = config;
	never_here.capture_max = BATON_CAPTURE_NONE;
	baton_resource_init(&ticking, &never_here);
	cr_assert_eq(baton_submit(&ticking, &ticker.task), 0);
	cr_assert_eq(baton_future_wait_until(&future, deadline), -ETIMEDOUT);
	cr_assert_eq(journal.count, 0);
	ticker.stop = true;
	release(&occupant);
	cr_assert_eq(baton_future_wait(&future), 0);
	(void)baton_manual_run(manual, 0);
	resource_end(&ticking);
	resource_end(&busy);
	baton_manual_destroy(manual);
}

/* A task that lasts until a time has passed. */
struct lasting {
	struct baton_task task;
	uint64_t until_ns;
};

static int lasting_run(struct baton_task *task)
{
	while (now_ns() <= baton_container_of(task, struct lasting, task)->until_ns)
		continue;
	return 0;
}

enum { STEPS = 100 };

Test(wait_help, the_deadline_ends_helping_after_the_task_it_passes_in, .timeout = 10)
{
	struct baton_future future = BATON_FUTURE_INIT;
	uint64_t deadline = deadline_in_ms(50);
	struct lasting lasting = {BATON_TASK_INIT(lasting_run, NULL), now_ns() + 50000000U};
	struct step steps[STEPS];

	fixture_manual();
	cr_assert_eq(baton_submit_later(&fix.resource, &lasting.task), 0);
	for (int i = 0; i < STEPS; i++) {
		step_init(&steps[i], &fix.journal, i, i == STEPS - 1 ? &future : NULL);
		cr_assert_eq(baton_submit_later(&fix.resource, &steps[i].task), 0);
	}
	cr_assert_eq(baton_future_wait_until(&future, deadline), -ETIMEDOUT);
	cr_assert_eq(fix.journal.count, 0);
	cr_assert_eq(baton_future_wait(&future), 0);
	cr_assert(journal_counts_up(&fix.journal, 0, STEPS));
	(void)baton_manual_run(fix.manual, 0);
	fixture_end();
}

/* ---- What a helper leaves ---- */

/* A task that stays until a thread sleeps for the next one. */
struct starter {
	struct baton_task task;
	struct baton_future *awaited;
	pthread_t thread;
	atomic_int tid;
	int result;
};

static void *starter_waits(void *arg)
{
	struct starter *starter = arg;

	atomic_store(&starter->tid, thread_id());
	starter->result = baton_future_wait(starter->awaited);
	return NULL;
}

static int starter_run(struct baton_task *task)
{
	struct starter *starter = baton_container_of(task, struct starter, task);

	starter->thread = thread_start(starter_waits, starter);
	until_at_least(&starter->tid, 1);
	until_asleep(atomic_load(&starter->tid));
	return 0;
}

Test(wait_help, a_helper_leaves_the_rest_to_a_sleeper_if_no_thread_is_free, .timeout = 10)
{
	struct baton_future futures[2] = {BATON_FUTURE_INIT, BATON_FUTURE_INIT};
	struct starter starter = {.awaited = &futures[1], .result = 1};

	fixture_stash();
	atomic_store(&fix.stash.busy, 1);
	/* The first task lets the others be taken from the inbox together. */
	step_init(&fix.steps[0], &fix.journal, 0, NULL);
	baton_task_init(&starter.task, starter_run, &futures[0]);
	step_init(&fix.steps[1], &fix.journal, 1, &futures[1]);
	cr_assert_eq(baton_submit_later(&fix.resource, &fix.steps[0].task), 0);
	cr_assert_eq(baton_submit_later(&fix.resource, &starter.task), 0);
	cr_assert_eq(baton_submit_later(&fix.resource, &fix.steps[1].task), 0);
	cr_assert_eq(baton_future_wait(&futures[0]), 0);
	thread_join(starter.thread);
	cr_assert_eq(starter.result, 0);
	cr_assert(pthread_equal(fix.journal.thread[1], starter.thread));
	stash_run(&fix.stash);
	fixture_end();
}

/* ---- Nudges ---- */

/* A thread that sleeps for a task of a resource which stays busy. */
struct sleeper {
	struct baton_future *awaited;
	struct baton__thread *record;
	pthread_t thread;
	atomic_int tid;
};

static void *sleeper_main(void *arg)
{
	struct sleeper *sleeper = arg;

	MUST(baton__thread_attach() == 0);
	sleeper->record = baton__self;
	atomic_store(&sleeper->tid, thread_id());
	MUST(baton_future_wait(sleeper->awaited) == 0);
	return NULL;
}

static void sleeper_start(struct sleeper *sleeper, struct baton_future *awaited)
{
	sleeper->awaited = awaited;
	atomic_init(&sleeper->tid, 0);
	sleeper->thread = thread_start(sleeper_main, sleeper);
	until_at_least(&sleeper->tid, 1);
	until_asleep(atomic_load(&sleeper->tid));
}

/* A nudge that a waiter has helped for is answered: it is not passed on at the end of the wait. */
Test(wait_help, a_nudge_that_a_waiter_has_helped_for_wakes_no_other, .timeout = 10)
{
	struct baton_resource other = BATON_RESOURCE_INIT(NULL);
	struct baton_future futures[2] = {BATON_FUTURE_INIT, BATON_FUTURE_INIT};
	struct occupant occupant, other_occupant;
	struct sleeper helper, bystander;
	struct step step;
	uint32_t nudge;

	fix.config.capture_max = 1;
	fixture_stash();
	atomic_store(&fix.stash.answer, 1); /* no thread is free */
	occupy(&occupant, &fix.resource);
	occupy(&other_occupant, &other);
	step_init(&fix.steps[0], &fix.journal, 0, &futures[0]);
	step_init(&step, &fix.journal, 1, &futures[1]);
	cr_assert_eq(baton_submit(&fix.resource, &fix.steps[0].task), 0);
	cr_assert_eq(baton_submit(&other, &step.task), 0);
	sleeper_start(&bystander, &futures[1]);
	sleeper_start(&helper, &futures[0]);
	nudge = __atomic_load_n(&bystander.record->nudge, __ATOMIC_RELAXED);
	release(&occupant); /* its limit is spent: it hands the resource off, and nudges */
	thread_join(helper.thread);
	cr_assert(pthread_equal(fix.journal.thread[0], helper.thread), "it has helped");
	cr_assert_eq(__atomic_load_n(&bystander.record->nudge, __ATOMIC_RELAXED), nudge);
	release(&other_occupant);
	thread_join(bystander.thread);
	stash_run(&fix.stash);
	fixture_end();
	resource_end(&other);
}
