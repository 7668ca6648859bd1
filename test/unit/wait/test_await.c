/* SPDX-License-Identifier: MIT */
/* Await: until everything accepted before is through and the runner has let go. */
#include "fixture.h"

struct awaiter {
	struct baton_resource *resource;
	atomic_int tid;
	int result;
	size_t seen;
	const struct journal *journal;
};

static void *awaiter_main(void *arg)
{
	struct awaiter *awaiter = arg;

	atomic_store(&awaiter->tid, thread_id());
	awaiter->result = baton_resource_await(awaiter->resource);
	awaiter->seen = awaiter->journal->count;
	return NULL;
}

Test(await, an_idle_resource_needs_none, .timeout = 10)
{
	const uint64_t past = 1;

	cr_assert_eq(baton_resource_await(&fix.resource), 0);
	cr_assert_eq(baton_resource_await_until(&fix.resource, past), 0);
	fixture_end();
}

Test(await, it_times_out_and_can_be_repeated, .timeout = 10)
{
	uint64_t deadline = deadline_in_ms(10);
	const uint64_t past = 1;

	occupy(&fix.occupant, &fix.resource);
	cr_assert_eq(baton_submit(&fix.resource, &fix.steps[0].task), 0);
	cr_assert_eq(baton_resource_await_until(&fix.resource, past), -ETIMEDOUT);
	cr_assert_eq(baton_resource_await_until(&fix.resource, deadline), -ETIMEDOUT);
	cr_assert_geq(now_ns(), deadline);
	cr_assert_eq(fix.journal.count, 0);
	release(&fix.occupant);
	cr_assert_eq(baton_resource_await(&fix.resource), 0);
	cr_assert_eq(fix.journal.count, 1);
	fixture_end();
}

Test(await, several_sleepers_all_see_the_last_task, .timeout = 10)
{
	struct awaiter awaiters[6];
	pthread_t threads[6];

	occupy(&fix.occupant, &fix.resource);
	steps_submit(0, 5);
	for (int i = 0; i < 6; i++) {
		awaiters[i] = (struct awaiter){&fix.resource, 0, 1, 0, &fix.journal};
		threads[i] = thread_start(awaiter_main, &awaiters[i]);
	}
	for (int i = 0; i < 6; i++) {
		until_at_least(&awaiters[i].tid, 1);
		until_asleep(atomic_load(&awaiters[i].tid));
	}
	release(&fix.occupant);
	for (int i = 0; i < 6; i++) {
		thread_join(threads[i]);
		cr_assert_eq(awaiters[i].result, 0);
		cr_assert_eq(awaiters[i].seen, 5);
	}
	fixture_end();
}

Test(await, the_waiter_helps_a_queued_resource, .timeout = 10)
{
	struct baton_pool *pool = pool_of(1);
	struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;
	struct baton_resource stuck, queued;
	struct journal journal = {0};
	struct occupant occupant;
	struct step steps[30];
	struct awaiter awaiter = {&queued, 0, 1, 0, &journal};
	struct baton_future future = BATON_FUTURE_INIT;
	pthread_t thread;

	config.executor = baton_pool_executor(pool);
	baton_resource_init(&stuck, &config);
	baton_resource_init(&queued, &config);
	steps_init(steps, 30, &journal, 0);
	step_init(&steps[29], &journal, 29, &future);
	occupy_later(&occupant, &stuck); /* the only worker */
	for (int i = 0; i < 30; i++)
		cr_assert_eq(baton_submit_later(&queued, &steps[i].task), 0);
	thread = thread_start(awaiter_main, &awaiter);
	while (!baton_future_is_complete(&future))
		sched_yield();
	gate_open(&occupant.leave); /* the entry is in the worker's queue until it looks there */
	thread_join(thread);
	cr_assert_eq(awaiter.result, 0);
	cr_assert_eq(awaiter.seen, 30);
	cr_assert(journal_counts_up(&journal, 0, 30));
	resource_end(&queued);
	resource_end(&stuck);
	cr_assert_eq(baton_pool_destroy(pool), 0);
}

/* A resource that always has work: whoever awaits what came before is let go nevertheless. */
struct hot {
	struct baton_task task;
	struct baton_resource *resource;
	atomic_bool stop;
	atomic_int runs;
	int errors;
};

static int hot_run(struct baton_task *task)
{
	struct hot *hot = baton_container_of(task, struct hot, task);

	atomic_fetch_add(&hot->runs, 1);
	if (!atomic_load(&hot->stop))
		hot->errors += baton_submit(hot->resource, task) != 0;
	return 0;
}

Test(await, it_ends_although_new_tasks_keep_coming, .timeout = 10)
{
	struct hot hot = {.task = BATON_TASK_INIT(hot_run, NULL), .resource = &fix.resource};

	fixture_pool(1);
	cr_assert_eq(baton_submit_later(&fix.resource, &hot.task), 0);
	until_at_least(&hot.runs, 1);
	for (int i = 0; i < 20; i++)
		cr_assert_eq(baton_resource_await(&fix.resource), 0);
	atomic_store(&hot.stop, true);
	cr_assert_eq(baton_resource_await(&fix.resource), 0);
	resource_end(&fix.resource);
	cr_assert_eq(hot.errors, 0);
	cr_assert_eq(baton_pool_destroy(fix.pool), 0);
}

/* The memory is the caller's again at once: what the runner still touched would be seen. */
struct brief {
	struct baton_resource resource;
	struct step step;
	struct journal *journal;
};

Test(await, the_memory_of_a_closed_resource_goes_at_once, .timeout = 10)
{
	struct baton_pool *pool = pool_of(2);
	struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;
	struct journal *journal = calloc(1, sizeof(*journal));

	MUST(journal);
	config.executor = baton_pool_executor(pool);
	for (int i = 0; i < scaled(3000); i++) {
		struct brief *brief = malloc(sizeof(*brief));

		MUST(brief);
		journal->count = 0;
		config.capture_max = 10;
		baton_resource_init(&brief->resource, &config);
		step_init(&brief->step, journal, i, NULL);
		cr_assert_eq(baton_submit_later(&brief->resource, &brief->step.task), 0);
		cr_assert_eq(baton_resource_close(&brief->resource), 0);
		cr_assert_eq(baton_resource_await(&brief->resource), 0);
		cr_assert_eq(journal->count, 1);
		baton_resource_deinit(&brief->resource);
		memset(brief, 0x5A, sizeof(*brief));
		free(brief);
	}
	free(journal);
	cr_assert_eq(baton_pool_destroy(pool), 0);
}

Test(await, a_sleeper_of_many_rounds_is_never_forgotten, .timeout = 20)
{
	fix.config.capture_max = BATON_CAPTURE_NONE;
	fixture_pool(1);
	for (int i = 0; i < scaled(5000); i++) {
		steps_init(fix.steps, 2, &fix.journal, i);
		fix.journal.count = 0;
		cr_assert_eq(baton_submit(&fix.resource, &fix.steps[0].task), 0);
		cr_assert_eq(baton_submit(&fix.resource, &fix.steps[1].task), 0);
		cr_assert_eq(baton_resource_await(&fix.resource), 0);
		cr_assert(journal_counts_up(&fix.journal, i, 2));
	}
	fixture_end();
}

struct asks {
	struct baton_task task;
	struct awaiter *awaiter;
};

static int awaits_other(struct baton_task *task)
{
	(void)awaiter_main(baton_container_of(task, struct asks, task)->awaiter);
	return 0;
}

Test(await, a_task_may_await_another_resource, .timeout = 10)
{
	struct baton_pool *pool = pool_of(1);
	struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;
	struct baton_resource own, other;
	struct journal journal = {0};
	struct awaiter awaiter = {&other, 0, 1, 0, &journal};
	struct occupant occupant;
	struct asks asks = {BATON_TASK_INIT(awaits_other, NULL), &awaiter};
	struct step step;

	config.executor = baton_pool_executor(pool);
	baton_resource_init(&own, &config);
	baton_resource_init(&other, &config);
	step_init(&step, &journal, 0, NULL);
	occupy_later(&occupant, &own);
	cr_assert_eq(baton_submit(&own, &asks.task), 0);
	cr_assert_eq(baton_submit_later(&other, &step.task), 0); /* queued behind its own worker */
	gate_open(&occupant.leave);
	resource_end(&own);
	resource_end(&other);
	cr_assert_eq(awaiter.result, 0);
	cr_assert_eq(awaiter.seen, 1);
	cr_assert(journal_counts_up(&journal, 0, 1));
	cr_assert_eq(baton_pool_destroy(pool), 0);
}

/* The awaiter obeys the cancel mark. What the cancel sets off would make the await last longer. */
Test(await, with_a_deadline_leaves_what_a_cancel_sets_off_to_the_executor, .timeout = 10)
{
	uint64_t deadline = deadline_in_ms(60000);
	struct baton_future future = BATON_FUTURE_INIT;
	struct baton_continuation continuation;
	struct baton_resource other;

	fixture_stash();
	baton_resource_init(&other, &fix.config);
	step_init(&fix.steps[0], &fix.journal, 0, &future);
	baton_continuation_task(&continuation, &other, &fix.steps[1].task);
	baton_future_then(&future, &continuation);
	cr_assert_eq(baton_submit_later(&fix.resource, &fix.steps[0].task), 0);
	cr_assert_eq(baton_resource_cancel_pending(&fix.resource), 0);
	cr_assert_eq(baton_resource_await_until(&fix.resource, deadline), 0);
	cr_assert_eq(baton_future_state(&future), BATON_CANCELLED);
	cr_assert_eq(fix.journal.count, 0);
	stash_run(&fix.stash);
	cr_assert(journal_counts_up(&fix.journal, 1, 1));
	resource_end(&other);
	fixture_end();
}
