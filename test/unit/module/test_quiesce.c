/* SPDX-License-Identifier: MIT */
/*
 * Quiescing several resources at once: no task of theirs runs until the resume; time-outs and
 * closed resources undo all of it.
 */
#include "stash.h"

#include <baton/suspend.h>

#define ACCOUNTS 4

struct accounts {
	struct baton_resource resources[ACCOUNTS];
	struct baton_resource *set[ACCOUNTS];
	struct baton_suspension held[ACCOUNTS];
	long balances[ACCOUNTS]; /* each changed by tasks of its resource alone */
};

static void accounts_init(struct accounts *accounts, const struct baton_resource_config *config)
{
	memset(accounts, 0, sizeof(*accounts));
	for (size_t i = 0; i < ACCOUNTS; i++) {
		baton_resource_init(&accounts->resources[i], config);
		/* Not in the order of their addresses. */
		accounts->set[i] = &accounts->resources[(i + 2) % ACCOUNTS];
	}
}

static void accounts_end(struct accounts *accounts)
{
	for (size_t i = 0; i < ACCOUNTS; i++)
		resource_end(&accounts->resources[i]);
}

Test(quiesce, an_empty_set_is_quiet, .timeout = 10)
{
	cr_assert_eq(baton_quiesce(NULL, 0, NULL), 0);
	cr_assert_eq(baton_quiesce_end(NULL, 0), 0);
}

Test(quiesce, submits_queue_up_on_all_until_the_end, .timeout = 10)
{
	struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;
	struct journal journals[ACCOUNTS] = {{0}};
	struct step steps[ACCOUNTS];
	struct accounts accounts;
	struct stash stash;

	stash_init(&stash);
	config.executor = &stash.executor;
	accounts_init(&accounts, &config);
	cr_assert_eq(baton_quiesce(accounts.set, ACCOUNTS, accounts.held), 0);
	for (size_t i = 0; i < ACCOUNTS; i++) {
		step_init(&steps[i], &journals[i], 0, NULL);
		cr_assert_eq(baton_submit(&accounts.resources[i], &steps[i].task), 0);
		cr_assert_eq(journals[i].count, 0);
	}
	cr_assert_eq(baton_quiesce_end(accounts.held, ACCOUNTS), 0);
	/* On their executor, not here: they might wait for one another. */
	for (size_t i = 0; i < ACCOUNTS; i++)
		cr_assert_eq(journals[i].count, 0);
	stash_run(&stash);
	for (size_t i = 0; i < ACCOUNTS; i++)
		cr_assert_eq(journals[i].count, 1);
	accounts_end(&accounts);
}

Test(quiesce, the_same_resource_may_be_named_twice, .timeout = 10)
{
	struct accounts accounts;
	struct baton_resource *set[3];
	struct baton_suspension held[3];

	accounts_init(&accounts, NULL);
	set[0] = set[2] = &accounts.resources[1];
	set[1] = &accounts.resources[0];
	cr_assert_eq(baton_quiesce(set, 3, held), 0);
	cr_assert_eq(baton_quiesce_end(held, 3), 0);
	accounts_end(&accounts);
}

Test(quiesce, a_deadline_that_passes_undoes_it_all, .timeout = 10)
{
	uint64_t deadline = deadline_in_ms(10);
	struct journal journal = {0};
	struct accounts accounts;
	struct occupant occupant;
	struct step step;

	accounts_init(&accounts, NULL);
	occupy(&occupant, &accounts.resources[2]);
	cr_assert_eq(baton_quiesce_until(accounts.set, ACCOUNTS, accounts.held, deadline),
	             -ETIMEDOUT);
	for (int i = 0; i < ACCOUNTS; i++) {
		cr_assert_not(baton_suspension_is_effective(&accounts.held[i]));
		cr_assert_eq(baton_resource_resume(&accounts.held[i]), -EINVAL);
	}
	/* The others run as before. */
	step_init(&step, &journal, 0, NULL);
	cr_assert_eq(baton_submit(&accounts.resources[0], &step.task), 0);
	cr_assert_eq(journal.count, 1);
	release(&occupant);
	accounts_end(&accounts);
}

Test(quiesce, a_closed_one_undoes_it_all, .timeout = 10)
{
	struct journal journal = {0};
	struct accounts accounts;
	struct step step;

	accounts_init(&accounts, NULL);
	cr_assert_eq(baton_resource_close(&accounts.resources[2]), 0);
	cr_assert_eq(baton_quiesce(accounts.set, ACCOUNTS, accounts.held), -EPIPE);
	step_init(&step, &journal, 0, NULL);
	cr_assert_eq(baton_submit(&accounts.resources[0], &step.task), 0);
	cr_assert_eq(journal.count, 1);
	accounts_end(&accounts);
}

struct partner {
	struct baton_task task;
	struct baton_resource *other;
	bool ran;
	int result;
};

static void *partner_fn(void *arg)
{
	((struct partner *)arg)->ran = true;
	return NULL;
}

static int partner_run(struct baton_task *task)
{
	struct partner *partner = baton_container_of(task, struct partner, task);

	partner->result = baton_call(partner->other, partner_fn, partner, NULL);
	return 0;
}

/* Where no executor takes them, too: a task of the first that calls the last one. */
Test(quiesce, what_is_resumed_first_may_wait_for_what_is_resumed_last, .timeout = 10)
{
	struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;
	struct accounts accounts;
	struct stash stash;
	struct partner partner = {.task = BATON_TASK_INIT(partner_run, NULL)};

	stash_init(&stash);
	atomic_store(&stash.answer, -ESHUTDOWN);
	config.executor = &stash.executor;
	accounts_init(&accounts, &config);
	partner.other = &accounts.resources[ACCOUNTS - 1];
	cr_assert_eq(baton_quiesce(accounts.set, ACCOUNTS, accounts.held), 0);
	cr_assert_eq(baton_submit(&accounts.resources[0], &partner.task), 0);
	cr_assert_eq(baton_quiesce_end(accounts.held, ACCOUNTS), 0);
	cr_assert(partner.ran);
	cr_assert_eq(partner.result, 0);
	accounts_end(&accounts);
}

/* ---- Money moves between accounts; whoever looks finds all of it. ---- */

struct transfer {
	struct accounts *accounts;
	uint64_t seed;
	long wrong;
	int errors;
};

static void *add_one(void *balance)
{
	++*(long *)balance;
	return NULL;
}

static void *depositor_main(void *arg)
{
	struct transfer *transfer = arg;
	struct accounts *accounts = transfer->accounts;

	for (int i = 0; i < scaled(20000); i++) {
		uint32_t which = rng_below(&transfer->seed, ACCOUNTS);

		if (baton_post(&accounts->resources[which], add_one, &accounts->balances[which]))
			transfer->errors++;
	}
	return NULL;
}

/* Two of the accounts, in the order that comes; moves, looks, moves back. */
static void *mover_main(void *arg)
{
	struct transfer *transfer = arg;
	struct accounts *accounts = transfer->accounts;

	for (int i = 0; i < scaled(2000); i++) {
		uint32_t from = rng_below(&transfer->seed, ACCOUNTS);
		uint32_t to = rng_below(&transfer->seed, ACCOUNTS);
		struct baton_resource *set[] = {&accounts->resources[from],
		                                &accounts->resources[to]};
		struct baton_suspension held[2];
		long before;

		if (baton_quiesce(set, 2, held)) {
			transfer->errors++;
			continue;
		}
		before = accounts->balances[from] + accounts->balances[to];
		accounts->balances[from] -= 7;
		sched_yield();
		accounts->balances[to] += 7;
		transfer->wrong += before != accounts->balances[from] + accounts->balances[to];
		transfer->errors += baton_quiesce_end(held, 2) != 0;
	}
	return NULL;
}

Test(quiesce, overlapping_sets_exclude_each_other_and_all_tasks, .timeout = 60)
{
	uint64_t seed = test_seed();
	struct transfer transfers[4] = {{0}};
	struct accounts accounts;
	pthread_t threads[4];
	long sum = 0;

	accounts_init(&accounts, NULL);
	for (unsigned i = 0; i < 4; i++) {
		transfers[i].accounts = &accounts;
		transfers[i].seed = rng_fork(seed, i);
		threads[i] = thread_start(i < 2 ? mover_main : depositor_main, &transfers[i]);
	}
	for (int i = 0; i < 4; i++)
		thread_join(threads[i]);
	accounts_end(&accounts);
	for (int i = 0; i < ACCOUNTS; i++)
		sum += accounts.balances[i];
	cr_assert_eq(sum, 2L * scaled(20000));
	for (int i = 0; i < 4; i++) {
		cr_assert_eq(transfers[i].errors, 0);
		cr_assert_eq(transfers[i].wrong, 0);
	}
}

/* Each order of the same seven; all in one order, or two sets could lock each other out. */
static void orders(struct baton_resource **set, size_t fixed, size_t count)
{
	struct baton_suspension held[7];

	if (fixed == count) {
		cr_assert_eq(baton_quiesce(set, count, held), 0);
		for (size_t i = 1; i < count; i++)
			cr_assert_lt(held[i - 1]._resource, held[i]._resource);
		cr_assert_eq(baton_quiesce_end(held, count), 0);
		return;
	}
	for (size_t i = fixed; i < count; i++) {
		struct baton_resource *first = set[i];

		set[i] = set[fixed];
		set[fixed] = first;
		orders(set, fixed + 1, count);
		set[fixed] = set[i];
		set[i] = first;
	}
}

Test(quiesce, they_are_taken_in_the_order_of_their_addresses, .timeout = 10)
{
	struct baton_resource resources[7];
	struct baton_resource *set[7];

	for (size_t count = 2; count <= 7; count++) {
		for (size_t i = 0; i < count; i++) {
			baton_resource_init(&resources[i], NULL);
			set[i] = &resources[i];
		}
		orders(set, 0, count);
		for (size_t i = 0; i < count; i++)
			resource_end(&resources[i]);
	}
}

struct holding {
	struct baton_resource resources[2];
	int status[2]; /* without a deadline, and with one */
};

static void *quiesce_held(void *arg)
{
	struct holding *holding = arg;
	struct baton_resource *set[2] = {&holding->resources[0], &holding->resources[1]};
	struct baton_suspension suspensions[2] = {BATON_SUSPENSION_INIT, BATON_SUSPENSION_INIT};
	const uint64_t deadline = deadline_in_ms(100000);

	for (int timed = 0; timed < 2; timed++)
		holding->status[timed] =
			baton_quiesce_until(set, 2, suspensions, timed ? deadline : BATON_FOREVER);
	return NULL;
}

Test(quiesce, is_refused_inside_a_task_of_any_of_them, .timeout = 5)
{
	for (int held = 0; held < 2; held++) {
		struct holding holding;

		for (int i = 0; i < 2; i++)
			baton_resource_init(&holding.resources[i], NULL);
		cr_assert_eq(baton_call(&holding.resources[held], quiesce_held, &holding, NULL), 0);
		cr_assert_eq(holding.status[0], -EDEADLK, "%d", held);
		cr_assert_eq(holding.status[1], -EDEADLK, "%d", held);
		for (int i = 0; i < 2; i++)
			resource_end(&holding.resources[i]);
	}
}

/* A task of another resource, which calls one of the set. */
struct caller {
	struct baton_task task;
	struct baton_resource *resource;
	int status;
};

static void *counts(void *arg)
{
	++*(int *)arg;
	return NULL;
}

static int caller_run(struct baton_task *task)
{
	struct caller *caller = baton_container_of(task, struct caller, task);
	int count = 0;

	caller->status = baton_call(caller->resource, counts, &count, NULL) ? -1 : count;
	return 0;
}

/* Whoever suspends a queued resource obeys the cancel mark in front: the continuation of what the
 * mark cancels must not wait, on this thread, for what this thread has suspended. */
Test(quiesce, what_a_cancel_sets_off_runs_elsewhere, .timeout = 10)
{
	uint64_t deadline = deadline_in_ms(60000);

	/* Cancelled before: without and with a deadline; and meanwhile. */
	for (int round = 0; round < 3; round++) {
		struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;
		struct baton_future future = BATON_FUTURE_INIT;
		struct baton_continuation continuation;
		struct journal journal = {0};
		struct accounts accounts;
		struct baton_resource other;
		struct caller caller = {BATON_TASK_INIT(caller_run, NULL), NULL, 0};
		struct stash stash;
		struct step step;

		stash_init(&stash);
		config.executor = &stash.executor;
		accounts_init(&accounts, &config);
		baton_resource_init(&other, &config);
		caller.resource = &accounts.resources[round < 2 ? 0 : ACCOUNTS - 1];
		baton_continuation_task(&continuation, &other, &caller.task);
		baton_future_then(&future, &continuation);
		step_init(&step, &journal, 0, &future);
		cr_assert_eq(baton_submit_later(&accounts.resources[1], &step.task), 0);
		if (round < 2)
			cr_assert_eq(baton_resource_cancel_pending(&accounts.resources[1]), 0);
		cr_assert_eq(baton_quiesce_until(accounts.set, ACCOUNTS, accounts.held,
		                                 round == 1 ? deadline : BATON_FOREVER),
		             0);
		if (round == 2) {
			stash_run(&stash); /* the executor has come, and finds it suspended */
			cr_assert_eq(baton_resource_cancel_pending(&accounts.resources[1]), 0);
		}
		cr_assert_eq(baton_future_is_complete(&future), round < 2);
		cr_assert_eq(caller.status, 0);
		cr_assert_eq(baton_quiesce_end(accounts.held, ACCOUNTS), 0);
		while (caller.status == 0)
			stash_run(&stash);
		cr_assert_eq(caller.status, 1);
		cr_assert_eq(baton_future_state(&future), BATON_CANCELLED);
		cr_assert_eq(journal.count, 0);
		resource_end(&other);
		accounts_end(&accounts);
	}
}

/* ---- Beside nested calls ---- */

enum { NESTED_SET = 8 };

struct nesting {
	struct baton_resource resources[NESTED_SET];
	long units[NESTED_SET]; /* they add up to 0 */
	bool up;                /* calls go to higher addresses; false: to lower ones */
	atomic_int moving;
	atomic_int refused;
};

struct move {
	struct nesting *nesting;
	unsigned from, to;
	int status;
};

static void *moves(void *arg)
{
	struct move *move = arg;

	move->nesting->units[move->from]--;
	move->nesting->units[move->to]++;
	return NULL;
}

static void *moves_inside(void *arg)
{
	struct move *move = arg;

	move->status = baton_call(&move->nesting->resources[move->to], moves, move, NULL);
	return NULL;
}

static void *nesting_main(void *arg)
{
	struct nesting *nesting = arg;
	uint64_t rng = rng_fork(7, (uint64_t)atomic_load(&nesting->moving));

	for (int i = scaled(4000); i > 0; i--) {
		unsigned low = rng_below(&rng, NESTED_SET - 1);
		unsigned high = low + 1 + rng_below(&rng, NESTED_SET - 1 - low);
		struct move move = {nesting, nesting->up ? low : high, nesting->up ? high : low, 1};

		MUST(baton_call(&nesting->resources[move.from], moves_inside, &move, NULL) == 0);
		MUST(move.status == 0 || move.status == -EDEADLK);
		atomic_fetch_add(&nesting->refused, move.status != 0);
	}
	atomic_fetch_sub(&nesting->moving, 1);
	return NULL;
}

/* Quiesces while calls are made. */
static void quiesce_beside(struct nesting *nesting)
{
	struct baton_suspension suspensions[NESTED_SET];
	struct baton_resource *set[NESTED_SET];

	for (int i = 0; i < NESTED_SET; i++)
		set[i] = &nesting->resources[i];
	while (atomic_load(&nesting->moving)) {
		int error = baton_quiesce(set, NESTED_SET, suspensions);
		long sum = 0;

		cr_assert(error == 0 || error == -EDEADLK);
		atomic_fetch_add(&nesting->refused, error != 0);
		for (int i = 0; i < NESTED_SET && !error; i++)
			sum += nesting->units[i];
		cr_assert_eq(sum, 0);
		if (!error)
			cr_assert_eq(baton_quiesce_end(suspensions, NESTED_SET), 0);
	}
}

static int refused_beside_calls(bool up)
{
	static struct nesting nesting;
	pthread_t threads[2];

	memset(&nesting, 0, sizeof(nesting));
	nesting.up = up;
	for (int i = 0; i < NESTED_SET; i++)
		baton_resource_init(&nesting.resources[i], NULL);
	for (int i = 0; i < 2; i++) {
		atomic_fetch_add(&nesting.moving, 1);
		threads[i] = thread_start(nesting_main, &nesting);
	}
	quiesce_beside(&nesting);
	for (int i = 0; i < 2; i++)
		thread_join(threads[i]);
	for (int i = 0; i < NESTED_SET; i++)
		resource_end(&nesting.resources[i]);
	return atomic_load(&nesting.refused);
}

Test(quiesce, beside_calls_up_the_addresses_no_wait_is_refused, .timeout = 20)
{
	cr_assert_eq(refused_beside_calls(true), 0);
}

Test(quiesce, beside_calls_down_the_addresses_no_wait_lasts_for_ever, .timeout = 20)
{
	(void)refused_beside_calls(false);
}
