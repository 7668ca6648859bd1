/* SPDX-License-Identifier: MIT */
/* README's way to hold two resources at once: nested calls, everywhere in the same order. */
#include "support.h"

enum { ACCOUNTS = 4, THREADS = 4, START = 1000 };

struct account {
	struct baton_resource resource;
	long balance;
};

struct transfer {
	struct account *first, *second, *from, *to;
	int thread; /* that runs the outer function */
	atomic_int *elsewhere;
};

struct bank {
	struct account accounts[ACCOUNTS];
	atomic_int elsewhere; /* inner functions that another thread has run */
	int transfers;        /* of each thread */
};

static void *move(void *arg)
{
	struct transfer *transfer = arg;

	baton_assert_held(&transfer->from->resource);
	baton_assert_held(&transfer->to->resource);
	atomic_fetch_add(transfer->elsewhere, transfer->thread != thread_id());
	transfer->from->balance--;
	transfer->to->balance++;
	return NULL;
}

static void *outer(void *arg)
{
	struct transfer *transfer = arg;

	transfer->thread = thread_id();
	MUST(baton_call(&transfer->second->resource, move, transfer, NULL) == 0);
	return NULL;
}

static void *transfer_main(void *arg)
{
	struct bank *bank = arg;
	uint64_t state = rng_fork(test_seed(), (uint64_t)thread_id());

	for (int i = 0; i < bank->transfers; i++) {
		struct account *from = &bank->accounts[rng_below(&state, ACCOUNTS)];
		struct account *to = &bank->accounts[rng_below(&state, ACCOUNTS)];
		struct transfer transfer = {
			from < to ? from : to, from < to ? to : from, from, to, 0,
			&bank->elsewhere};

		if (from != to)
			MUST(baton_call(&transfer.first->resource, outer, &transfer, NULL) == 0);
	}
	return NULL;
}

Test(transfer, transfers_between_two_resources_hold_both, .timeout = 20)
{
	struct bank bank = {.transfers = scaled(3000)};
	pthread_t threads[THREADS];
	long sum = 0;

	for (int i = 0; i < ACCOUNTS; i++) {
		baton_resource_init(&bank.accounts[i].resource, NULL);
		bank.accounts[i].balance = START;
	}
	for (int i = 0; i < THREADS; i++)
		threads[i] = thread_start(transfer_main, &bank);
	for (int i = 0; i < THREADS; i++)
		thread_join(threads[i]);
	for (int i = 0; i < ACCOUNTS; i++) {
		resource_end(&bank.accounts[i].resource);
		sum += bank.accounts[i].balance;
	}
	cr_assert_eq(sum, ACCOUNTS * START);
	cr_log_info("%d inner functions on another thread", atomic_load(&bank.elsewhere));
}
