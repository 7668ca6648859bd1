/* SPDX-License-Identifier: MIT */
/* Finalisers among threads: one wins, it comes last, and what it runs on holds nothing. */
#include "fixture.h"

enum { THREADS = 3, POSTS = 300 };

struct ending {
	struct baton_resource resource;
	atomic_int begun;
	/* Guarded by the baton, and for the finaliser by being last: */
	int ran;
	int finals;
	int ran_at_final;
};

struct final {
	struct baton_task task;
	struct ending *ending;
};

struct rival {
	struct ending *ending;
	struct final final;
	int accepted;
	int won;
	int strange;
};

static void *count_ran(void *arg)
{
	struct ending *ending = arg;

	ending->ran++;
	return NULL;
}

static int final_run(struct baton_task *task)
{
	struct ending *ending = baton_container_of(task, struct final, task)->ending;

	ending->finals++;
	ending->ran_at_final = ending->ran;
	return 0;
}

static void *rival_main(void *arg)
{
	struct rival *rival = arg;
	int answer = 0;

	for (int i = 0; i < POSTS && answer == 0; i++) {
		answer = baton_post(&rival->ending->resource, count_ran, rival->ending);
		rival->accepted += answer == 0;
		rival->strange += answer != 0 && answer != -EPIPE;
		atomic_fetch_add(&rival->ending->begun, 1);
	}
	answer = baton_resource_close_then(&rival->ending->resource, &rival->final.task);
	rival->won += answer == 0;
	rival->strange += answer != 0 && answer != -EALREADY;
	return NULL;
}

static void rivals_run(struct ending *ending, struct rival *rivals, int index, uint64_t *rng,
                       bool await)
{
	pthread_t threads[THREADS];
	int won = 0;

	for (int i = 0; i < THREADS; i++) {
		rivals[i] = (struct rival){.ending = ending};
		rivals[i].final.ending = ending;
		baton_task_init(&rivals[i].final.task, final_run, NULL);
		threads[i] = thread_start(rival_main, &rivals[i]);
	}
	until_at_least(&ending->begun, (int)rng_below(rng, POSTS));
	if (index % 3 == 0)
		(void)baton_resource_close(&ending->resource);
	if (await) {
		uint64_t deadline = deadline_in_ms(60000);

		cr_assert_eq(baton_resource_await_until(&ending->resource,
		                                        index % 2 ? deadline : BATON_FOREVER),
		             0);
	}
	for (int i = 0; i < THREADS; i++) {
		thread_join(threads[i]);
		won += rivals[i].won;
		cr_assert_eq(rivals[i].strange, 0);
	}
	cr_assert_eq(won, 1, "exactly one close_then is taken");
}

static void endings(bool await)
{
	struct baton_pool *pool = pool_of(2);
	struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;
	int count = scaled(300);
	struct ending *all = calloc((size_t)count, sizeof(*all));
	struct rival(*rivals)[THREADS] = calloc((size_t)count, sizeof(*rivals));
	uint64_t rng = rng_fork(test_seed(), await ? 2 : 1);

	MUST(all && rivals);
	config.executor = baton_pool_executor(pool);
	config.capture_max = 2;
	config.quantum = 3;
	for (int i = 0; i < count; i++) {
		baton_resource_init(&all[i].resource, &config);
		rivals_run(&all[i], rivals[i], i, &rng, await);
	}
	cr_assert_eq(baton_pool_destroy(pool), 0);
	for (int i = 0; i < count; i++) {
		int accepted = 0;

		for (int j = 0; j < THREADS; j++)
			accepted += rivals[i][j].accepted;
		cr_assert_eq(all[i].finals, 1);
		cr_assert_eq(all[i].ran, accepted);
		cr_assert_eq(all[i].ran_at_final, accepted, "it came last");
	}
	free(rivals);
	free(all);
}

Test(finaliser, of_many_exactly_one_runs_after_everything_accepted, .timeout = 20)
{
	endings(false);
}

Test(finaliser, an_await_beside_it_returns, .timeout = 20)
{
	endings(true);
}

Test(finaliser, an_await_that_sleeps_while_it_is_set_is_woken, .timeout = 10)
{
	struct ending ending = {.resource = BATON_RESOURCE_INIT(NULL)};
	struct final final = {BATON_TASK_INIT(final_run, NULL), &ending};
	uint64_t deadline = deadline_in_ms(5);
	struct occupant occupant;

	occupy(&occupant, &ending.resource);
	cr_assert_eq(baton_resource_await_until(&ending.resource, deadline), -ETIMEDOUT);
	cr_assert_eq(baton_resource_close_then(&ending.resource, &final.task), 0);
	gate_open(&occupant.leave);
	cr_assert_eq(baton_resource_await(&ending.resource), 0);
	thread_join(occupant.thread);
	cr_assert_eq(ending.finals, 1);
}

/* It may do whatever a thread without a baton may: submit elsewhere, begin another life here. */
struct phoenix {
	struct baton_task finaliser;
	struct baton_resource *resource;
	struct baton_resource *other;
	struct step here;
	struct step there;
	int results[2];
};

static int phoenix_rises(struct baton_task *task)
{
	struct phoenix *phoenix = baton_container_of(task, struct phoenix, finaliser);

	baton_resource_init(phoenix->resource, NULL);
	phoenix->results[0] = baton_submit(phoenix->resource, &phoenix->here.task);
	phoenix->results[1] = baton_submit(phoenix->other, &phoenix->there.task);
	return 0;
}

Test(finaliser, the_memory_is_its_own_to_use_again, .timeout = 10)
{
	struct baton_resource other = BATON_RESOURCE_INIT(NULL);
	struct phoenix phoenix = {.finaliser = BATON_TASK_INIT(phoenix_rises, NULL),
	                          .resource = &fix.resource,
	                          .other = &other,
	                          .results = {1, 1}};

	step_init(&phoenix.here, &fix.journal, 0, NULL);
	step_init(&phoenix.there, &fix.journal, 1, NULL);
	occupy(&fix.occupant, &fix.resource);
	cr_assert_eq(baton_resource_close_then(&fix.resource, &phoenix.finaliser), 0);
	release(&fix.occupant);
	cr_assert_eq(phoenix.results[0], 0);
	cr_assert_eq(phoenix.results[1], 0);
	cr_assert(journal_counts_up(&fix.journal, 0, 2));
	fixture_end();
	resource_end(&other);
}

/* A capture inside a task ends another session. */
struct nested {
	struct baton_task outer;
	struct baton_task finaliser;
	struct baton_resource *b;
	int result;
	int calls;
	bool held_b;
};

static int nested_closes(struct baton_task *task)
{
	struct nested *nested = baton_container_of(task, struct nested, outer);

	nested->result = baton_resource_close_then(nested->b, &nested->finaliser);
	return 0;
}

static int nested_finalises(struct baton_task *task)
{
	struct nested *nested = baton_container_of(task, struct nested, finaliser);

	nested->calls++;
	nested->held_b = baton_held(nested->b);
	return 0;
}

Test(finaliser, a_task_of_another_resource_may_set_it, .timeout = 10)
{
	struct baton_resource a = BATON_RESOURCE_INIT(NULL);
	struct baton_resource b = BATON_RESOURCE_INIT(NULL);
	struct nested nested = {.outer = BATON_TASK_INIT(nested_closes, NULL),
	                        .finaliser = BATON_TASK_INIT(nested_finalises, NULL),
	                        .b = &b};

	cr_assert_eq(baton_submit(&a, &nested.outer), 0);
	cr_assert_eq(nested.result, 0);
	cr_assert_eq(nested.calls, 1);
	cr_assert_not(nested.held_b);
	resource_end(&a);
}

/* A wait that holds no baton, for a task that comes when the wait sleeps. */
struct early {
	struct baton_task finaliser;
	struct baton_future future;
	struct baton_resource other;
	struct journal journal;
	struct step step;
	int tid;
	int status;
};

static int early_waits(struct baton_task *task)
{
	struct early *early = baton_container_of(task, struct early, finaliser);

	early->status = baton_future_wait(&early->future);
	return 0;
}

static void *early_submit(void *arg)
{
	struct early *early = arg;

	until_asleep(early->tid);
	MUST(baton_submit(&early->other, &early->step.task) == 0);
	return NULL;
}

Test(finaliser, may_wait_for_a_task_that_is_submitted_later, .timeout = 10)
{
	struct baton_resource own = BATON_RESOURCE_INIT(NULL);
	struct early early = {.finaliser = BATON_TASK_INIT(early_waits, NULL),
	                      .future = BATON_FUTURE_INIT,
	                      .other = BATON_RESOURCE_INIT(NULL),
	                      .tid = thread_id(),
	                      .status = 1};
	pthread_t thread;

	step_init(&early.step, &early.journal, 0, &early.future);
	thread = thread_start(early_submit, &early);
	cr_assert_eq(baton_resource_close_then(&own, &early.finaliser), 0);
	thread_join(thread);
	cr_assert_eq(early.status, 0);
	resource_end(&early.other);
}
