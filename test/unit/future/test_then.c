/* SPDX-License-Identifier: MIT */
/* Continuations: what happens when a future is complete, in which order, and if it is refused. */
#include "fixture.h"

struct relay {
	struct baton_continuation continuation;
	struct baton_plain_job job;
	struct step step;
	struct baton_future future;
};

static void relay_task(struct relay *relay, struct baton_resource *resource,
                       struct journal *journal, int number)
{
	baton_future_init(&relay->future);
	step_init(&relay->step, journal, number, &relay->future);
	baton_continuation_task(&relay->continuation, resource, &relay->step.task);
}

Test(then, before_completion_it_waits_and_after_it_fires_at_once, .timeout = 10)
{
	struct baton_future promise = BATON_PROMISE_INIT;
	struct relay relays[2];

	relay_task(&relays[0], &fix.resource, &fix.journal, 0);
	relay_task(&relays[1], &fix.resource, &fix.journal, 1);
	baton_future_then(&promise, &relays[0].continuation);
	cr_assert_eq(fix.journal.count, 0);
	cr_assert_eq(baton_future_state(&relays[0].future), BATON_PENDING);
	cr_assert_eq(baton_future_complete(&promise, 0, NULL), 0);
	cr_assert_eq(fix.journal.count, 1);
	baton_future_then(&promise, &relays[1].continuation);
	cr_assert(journal_counts_up(&fix.journal, 0, 2));
	cr_assert_eq(baton_future_state(&relays[0].future), BATON_DONE);
	cr_assert_eq(baton_future_state(&relays[1].future), BATON_DONE);
	fixture_end();
}

Test(then, several_fire_in_the_order_of_registration, .timeout = 10)
{
	struct baton_future promise = BATON_PROMISE_INIT;
	struct relay relays[20];

	for (int i = 0; i < 20; i++) {
		relay_task(&relays[i], &fix.resource, &fix.journal, i);
		baton_future_then(&promise, &relays[i].continuation);
	}
	cr_assert_eq(baton_future_complete(&promise, -EIO, NULL), 0);
	cr_assert(journal_counts_up(&fix.journal, 0, 20));
	fixture_end();
}

/* A thread that waits for a promise, and a continuation that waits for that thread. */
struct awaited {
	struct baton_task task;
	struct baton_future promise;
	atomic_int tid;
	atomic_int awake;
	bool seen; /* the thread came back from its wait while the continuation ran */
};

static void *wait_for_promise(void *arg)
{
	struct awaited *awaited = arg;

	atomic_store(&awaited->tid, thread_id());
	MUST(baton_future_wait(&awaited->promise) == 0);
	atomic_store(&awaited->awake, 1);
	return NULL;
}

static int wait_for_thread(struct baton_task *task)
{
	struct awaited *awaited = baton_container_of(task, struct awaited, task);
	const uint64_t end = deadline_in_ms(60000);

	while (!awaited->seen && now_ns() < end) {
		awaited->seen = atomic_load(&awaited->awake);
		sched_yield();
	}
	return 0;
}

Test(then, they_fire_after_the_sleepers_were_woken, .timeout = 10)
{
	struct awaited awaited = {.task = BATON_TASK_INIT(wait_for_thread, NULL),
	                          .promise = BATON_PROMISE_INIT};
	struct baton_continuation continuation;
	pthread_t thread = thread_start(wait_for_promise, &awaited);

	until_at_least(&awaited.tid, 1);
	until_asleep(atomic_load(&awaited.tid));
	baton_continuation_task(&continuation, &fix.resource, &awaited.task);
	baton_future_then(&awaited.promise, &continuation);
	cr_assert_eq(baton_future_complete(&awaited.promise, 0, NULL), 0);
	thread_join(thread);
	cr_assert(awaited.seen);
	fixture_end();
}

Test(then, they_fire_on_failure_and_on_cancel_too, .timeout = 10)
{
	struct baton_future first = BATON_FUTURE_INIT;
	struct relay relay;

	step_init(&fix.steps[0], &fix.journal, 0, &first);
	relay_task(&relay, &fix.resource, &fix.journal, 1);
	occupy(&fix.occupant, &fix.resource);
	cr_assert_eq(baton_submit(&fix.resource, &fix.steps[0].task), 0);
	baton_future_then(&first, &relay.continuation);
	cr_assert_eq(baton_future_cancel(&first), 0);
	release(&fix.occupant);
	cr_assert_eq(baton_future_wait(&relay.future), 0);
	fixture_end();
	cr_assert_eq(baton_future_state(&first), BATON_CANCELLED);
	cr_assert(journal_counts_up(&fix.journal, 1, 1));
}

Test(then, a_continuation_may_go_to_the_same_resource, .timeout = 10)
{
	struct baton_future first = BATON_FUTURE_INIT;
	struct relay relay;

	step_init(&fix.steps[0], &fix.journal, 0, &first);
	step_init(&fix.steps[1], &fix.journal, 1, NULL);
	relay_task(&relay, &fix.resource, &fix.journal, 2);
	occupy(&fix.occupant, &fix.resource);
	cr_assert_eq(baton_submit(&fix.resource, &fix.steps[0].task), 0);
	cr_assert_eq(baton_submit(&fix.resource, &fix.steps[1].task), 0);
	baton_future_then(&first, &relay.continuation);
	release(&fix.occupant);
	cr_assert_eq(baton_future_wait(&relay.future), 0);
	fixture_end();
	cr_assert(journal_counts_up(&fix.journal, 0, 3), "submitted last, so it runs last");
}

Test(then, a_task_that_its_resource_refuses_is_cancelled, .timeout = 10)
{
	struct baton_resource closed = BATON_RESOURCE_INIT(NULL);
	struct baton_future promise = BATON_PROMISE_INIT;
	struct journal journal = {0};
	struct relay relays[2];

	relay_task(&relays[0], &closed, &journal, 0);
	relay_task(&relays[1], &closed, &journal, 0);
	baton_future_then(&promise, &relays[0].continuation);
	cr_assert_eq(baton_resource_close(&closed), 0);
	cr_assert_eq(baton_future_complete(&promise, 0, NULL), 0);
	baton_future_then(&promise, &relays[1].continuation);
	for (int i = 0; i < 2; i++) {
		cr_assert_eq(baton_future_state(&relays[i].future), BATON_CANCELLED);
		cr_assert_eq(baton_future_status(&relays[i].future), -ECANCELED);
	}
	cr_assert_eq(journal.count, 0);
}

static int told;

static void count_told(struct baton_task *task)
{
	told++;
}

Test(then, a_refused_task_without_future_is_told_to_the_config, .timeout = 10)
{
	struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;
	struct baton_future promise = BATON_PROMISE_INIT;
	struct baton_continuation continuation;
	struct baton_resource closed;
	struct journal journal = {0};
	struct step step;

	config.cancelled = count_told;
	baton_resource_init(&closed, &config);
	cr_assert_eq(baton_resource_close(&closed), 0);
	step_init(&step, &journal, 0, NULL);
	baton_continuation_task(&continuation, &closed, &step.task);
	baton_future_then(&promise, &continuation);
	cr_assert_eq(baton_future_complete(&promise, 0, NULL), 0);
	cr_assert_eq(told, 1);
	cr_assert_eq(journal.count, 0);
}

Test(then, a_task_whose_future_is_bound_elsewhere_leaves_it_alone, .timeout = 10)
{
	struct baton_resource other = BATON_RESOURCE_INIT(NULL);
	struct baton_future promise = BATON_PROMISE_INIT;
	struct baton_future future = BATON_FUTURE_INIT;
	struct baton_continuation continuation;

	for (int i = 0; i < 2; i++)
		step_init(&fix.steps[i], &fix.journal, i, &future);
	occupy(&fix.occupant, &other);
	cr_assert_eq(baton_submit(&other, &fix.steps[0].task), 0);
	baton_continuation_task(&continuation, &fix.resource, &fix.steps[1].task);
	baton_future_then(&promise, &continuation);
	cr_assert_eq(baton_future_complete(&promise, 0, NULL), 0);
	cr_assert_eq(baton_future_state(&future), BATON_PENDING);
	release(&fix.occupant);
	cr_assert_eq(baton_future_state(&future), BATON_DONE);
	cr_assert(journal_counts_up(&fix.journal, 0, 1));
	fixture_end();
	resource_end(&other);
}

static int job_runs, job_cancels;

static void job_run(struct baton_plain_job *job)
{
	job_runs++;
}

static void job_cancel(struct baton_plain_job *job)
{
	job_cancels++;
}

Test(then, a_job_is_scheduled_or_cancelled, .timeout = 10)
{
	struct baton_future promise = BATON_PROMISE_INIT;
	struct relay relays[2];
	struct stash stash;

	stash_init(&stash);
	for (int i = 0; i < 2; i++) {
		baton_plain_job_init(&relays[i].job, job_run, job_cancel);
		baton_continuation_job(&relays[i].continuation, &stash.executor,
		                       &relays[i].job.job);
	}
	baton_future_then(&promise, &relays[0].continuation);
	cr_assert_eq(atomic_load(&stash.count), 0);
	cr_assert_eq(baton_future_complete(&promise, 0, NULL), 0);
	cr_assert_eq(atomic_load(&stash.count), 1);
	cr_assert_eq(job_runs, 0);
	stash_run(&stash);
	cr_assert(job_runs == 1 && job_cancels == 0);
	atomic_store(&stash.answer, -ESHUTDOWN);
	baton_future_then(&promise, &relays[1].continuation);
	cr_assert(job_runs == 1 && job_cancels == 1);
}

/* Racing: registered while it completes, each fires once and sees what the first task did. */
enum { RACES = 20000 };

struct race {
	struct baton_future promise;
	uint64_t plain;
	struct baton_continuation continuations[2];
	struct baton_task tasks[2];
	uint64_t seen;
	int fired[2];
};

static int first_fires(struct baton_task *task)
{
	struct race *race = baton_container_of(task, struct race, tasks[0]);

	race->seen = race->plain;
	race->fired[0]++;
	return 0;
}

static int second_fires(struct baton_task *task)
{
	baton_container_of(task, struct race, tasks[1])->fired[1]++;
	return 0;
}

static atomic_int race_turn;

static void *race_main(void *arg)
{
	struct race *races = arg;

	for (int i = 0; i < scaled(RACES); i++) {
		until_at_least(&race_turn, i + 1);
		for (int j = 0; j < i % 64; j++)
			atomic_load(&race_turn);
		races[i].plain = 5;
		MUST(baton_future_complete(&races[i].promise, 0, NULL) == 0);
	}
	return NULL;
}

Test(then, registered_while_it_completes_it_fires_once, .timeout = 10)
{
	struct race *races = calloc(RACES, sizeof(*races));
	pthread_t thread;

	MUST(races);
	for (int i = 0; i < RACES; i++) {
		baton_promise_init(&races[i].promise);
		baton_task_init(&races[i].tasks[0], first_fires, NULL);
		baton_task_init(&races[i].tasks[1], second_fires, NULL);
		for (int j = 0; j < 2; j++)
			baton_continuation_task(&races[i].continuations[j], &fix.resource,
			                        &races[i].tasks[j]);
	}
	thread = thread_start(race_main, races);
	for (int i = 0; i < scaled(RACES); i++) {
		atomic_store(&race_turn, i + 1);
		for (int j = 0; j < i % 37; j++)
			atomic_load(&race_turn);
		baton_future_then(&races[i].promise, &races[i].continuations[0]);
		baton_future_then(&races[i].promise, &races[i].continuations[1]);
	}
	thread_join(thread);
	fixture_end();
	for (int i = 0; i < scaled(RACES); i++) {
		cr_assert_eq(races[i].fired[0], 1);
		cr_assert_eq(races[i].fired[1], 1);
		cr_assert_eq(races[i].seen, 5);
	}
	free(races);
}

/* A chain over several resources, started by a promise. */
enum { LINKS = 200 };

struct chain_link {
	struct baton_continuation continuation;
	struct baton_task task;
	struct baton_future future;
	struct baton_resource *resource;
	int *position;
	int seen;
};

static int link_run(struct baton_task *task)
{
	struct chain_link *link = baton_container_of(task, struct chain_link, task);

	link->seen = (*link->position)++;
	return 0;
}

Test(then, a_chain_over_several_resources_keeps_its_order, .timeout = 10)
{
	struct baton_pool *pool = pool_of(2);
	struct baton_resource_config configs[3] = {
		BATON_RESOURCE_CONFIG_INIT, BATON_RESOURCE_CONFIG_INIT, BATON_RESOURCE_CONFIG_INIT};
	struct baton_future promise = BATON_PROMISE_INIT;
	struct baton_resource resources[3];
	struct chain_link links[LINKS];
	int position = 0;

	configs[1].capture_max = BATON_CAPTURE_NONE;
	for (int i = 0; i < 3; i++) {
		configs[i].executor = baton_pool_executor(pool);
		baton_resource_init(&resources[i], &configs[i]);
	}
	for (int i = 0; i < LINKS; i++) {
		baton_future_init(&links[i].future);
		baton_task_init(&links[i].task, link_run, &links[i].future);
		links[i].position = &position; /* a plain variable, handed down the chain */
		links[i].seen = -1;
		baton_continuation_task(&links[i].continuation, &resources[i % 3], &links[i].task);
		baton_future_then(i ? &links[i - 1].future : &promise, &links[i].continuation);
	}
	cr_assert_eq(baton_future_complete(&promise, 0, NULL), 0);
	cr_assert_eq(baton_future_wait(&links[LINKS - 1].future), 0);
	for (int i = 0; i < LINKS; i++)
		cr_assert_eq(links[i].seen, i);
	for (int i = 0; i < 3; i++)
		resource_end(&resources[i]);
	cr_assert_eq(baton_pool_destroy(pool), 0);
}
