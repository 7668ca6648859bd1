/* SPDX-License-Identifier: MIT */
/*
 * A bank. Threads transfer money between two accounts. Meanwhile an auditor adds up the balances of
 * all accounts, again and again: no money may ever be missing.
 *
 *   transfer   Nested calls: the function of the outer call calls the second account, and the inner
 *              function has both. All threads call the account with the lower address first, so
 *              that no two transfers wait for each other.
 *   audit      A quiesce: all accounts stand still between two tasks while the auditor looks at
 *              them. A quiesce takes resources in the order of their addresses, too.
 *   refusal    A transfer of more than the account has changes nothing, and is counted.
 */
#include "check.h"

#include <baton.h>
#include <baton/suspend.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#define ACCOUNTS 10
#define START 100 /* balance of each account */
#define THREADS 8
#define TRANSFERS 100000 /* of each thread */

static struct account {
	struct baton_resource resource;
	long balance; /* touched by the resource's tasks alone */
} accounts[ACCOUNTS];

struct transfer {
	struct account *from, *to;
	long amount;
	bool done;
	int error; /* of the inner call */
};

static atomic_int threads_left = THREADS;
static atomic_int refused;

/* Runs with both accounts, on this thread or on another. */
static void *move(void *arg)
{
	struct transfer *transfer = arg;

	transfer->done = transfer->from->balance >= transfer->amount;
	if (transfer->done) {
		transfer->from->balance -= transfer->amount;
		transfer->to->balance += transfer->amount;
	}
	return NULL;
}

static struct account *first(const struct transfer *transfer)
{
	return transfer->from < transfer->to ? transfer->from : transfer->to;
}

static struct account *second(const struct transfer *transfer)
{
	return transfer->from < transfer->to ? transfer->to : transfer->from;
}

/* Runs with the first account. */
static void *call_second(void *arg)
{
	struct transfer *transfer = arg;

	transfer->error = baton_call(&second(transfer)->resource, move, transfer, NULL);
	return NULL;
}

static void *make_transfers(void *arg)
{
	unsigned seed = *(unsigned *)arg;

	for (int i = 0; i < TRANSFERS; i++) {
		int from = rand_r(&seed) % ACCOUNTS;
		int to = (from + 1 + rand_r(&seed) % (ACCOUNTS - 1)) % ACCOUNTS;
		struct transfer transfer = {&accounts[from], &accounts[to],
		                            1 + rand_r(&seed) % START, false, 0};

		CHECK(baton_call(&first(&transfer)->resource, call_second, &transfer, NULL) == 0);
		CHECK(transfer.error == 0);
		if (!transfer.done)
			atomic_fetch_add(&refused, 1);
	}
	atomic_fetch_sub(&threads_left, 1);
	return NULL;
}

/* Returns the sum of all balances at one moment. */
static long audit(void)
{
	struct baton_resource *resources[ACCOUNTS];
	struct baton_suspension suspensions[ACCOUNTS];
	long sum = 0;

	for (int i = 0; i < ACCOUNTS; i++)
		resources[i] = &accounts[i].resource;
	CHECK(baton_quiesce(resources, ACCOUNTS, suspensions) == 0);
	for (int i = 0; i < ACCOUNTS; i++) {
		CHECK(accounts[i].balance >= 0);
		sum += accounts[i].balance;
	}
	CHECK(baton_quiesce_end(suspensions, ACCOUNTS) == 0);
	return sum;
}

int main(void)
{
	pthread_t threads[THREADS];
	unsigned seeds[THREADS];
	int audits = 0;

	for (int i = 0; i < ACCOUNTS; i++) {
		baton_resource_init(&accounts[i].resource, NULL);
		accounts[i].balance = START;
	}
	for (int i = 0; i < THREADS; i++) {
		seeds[i] = (unsigned)i;
		CHECK(pthread_create(&threads[i], NULL, make_transfers, &seeds[i]) == 0);
	}
	do {
		CHECK(audit() == ACCOUNTS * START);
		audits++;
	} while (atomic_load(&threads_left) > 0);
	for (int i = 0; i < THREADS; i++)
		CHECK(pthread_join(threads[i], NULL) == 0);
	for (int i = 0; i < ACCOUNTS; i++) {
		CHECK(baton_resource_close(&accounts[i].resource) == 0);
		CHECK(baton_resource_await(&accounts[i].resource) == 0);
	}
	printf("%d threads made %d transfers between %d accounts.\n", THREADS, THREADS * TRANSFERS,
	       ACCOUNTS);
	printf("%d were refused, because the account had too little.\n", atomic_load(&refused));
	printf("Meanwhile %d audits of all accounts at one moment each found %d.\n", audits,
	       ACCOUNTS * START);
	return 0;
}
