/* SPDX-License-Identifier: MIT */
/*
 * A bank whose books are audited while money moves. Each account is a resource. A transfer holds
 * two accounts, whichever is named first. The audit holds all accounts; their sum is always the
 * same. Exit status 1 if it is not.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include <baton.h>
#include <baton/hold.h>

#define ACCOUNTS 8
#define TELLERS 4
#define TRANSFERS 20000
#define EACH 1000

struct account {
	struct baton_resource resource;
	long balance;
};

static struct account accounts[ACCOUNTS];

static void transfer(struct account *from, struct account *to, long amount)
{
	struct baton_resource *const pair[] = {&from->resource, &to->resource};
	struct baton_hold holds[2] = {BATON_HOLD_INIT, BATON_HOLD_INIT};

	if (baton_hold_many(pair, 2, holds))
		abort();
	from->balance -= amount;
	to->balance += amount;
	if (baton_release(&holds[0]) || baton_release(&holds[1]))
		abort();
}

static long audit(void)
{
	struct baton_resource *all[ACCOUNTS];
	struct baton_hold holds[ACCOUNTS];
	long sum = 0;

	for (int i = 0; i < ACCOUNTS; i++) {
		all[i] = &accounts[i].resource;
		holds[i] = (struct baton_hold)BATON_HOLD_INIT;
	}
	if (baton_hold_many(all, ACCOUNTS, holds))
		abort();
	for (int i = 0; i < ACCOUNTS; i++)
		sum += accounts[i].balance;
	for (int i = 0; i < ACCOUNTS; i++)
		if (baton_release(&holds[i]))
			abort();
	return sum;
}

static void *pay(void *arg)
{
	((struct account *)arg)->balance += EACH;
	return NULL;
}

static void *tell(void *arg)
{
	unsigned random = 1 + (unsigned)(size_t)arg;

	for (int i = 0; i < TRANSFERS; i++) {
		unsigned from, to;

		random = random * 1103515245 + 12345;
		from = (random >> 16) % ACCOUNTS;
		to = (from + 1 + (random >> 24) % (ACCOUNTS - 1)) % ACCOUNTS;
		transfer(&accounts[from], &accounts[to], 1 + (long)(random >> 28));
	}
	return NULL;
}

int main(void)
{
	pthread_t tellers[TELLERS];
	int wrong = 0;

	for (int i = 0; i < ACCOUNTS; i++) {
		baton_resource_init(&accounts[i].resource, NULL);
		/* Calls and holds go together. */
		if (baton_call(&accounts[i].resource, pay, &accounts[i], NULL))
			return 1;
	}
	for (size_t i = 0; i < TELLERS; i++)
		if (pthread_create(&tellers[i], NULL, tell, (void *)i))
			return 1;
	for (int i = 0; i < 100; i++)
		wrong += audit() != (long)ACCOUNTS * EACH;
	for (int i = 0; i < TELLERS; i++)
		(void)pthread_join(tellers[i], NULL);
	wrong += audit() != (long)ACCOUNTS * EACH;
	for (int i = 0; i < ACCOUNTS; i++)
		if (baton_resource_close(&accounts[i].resource) ||
		    baton_resource_await(&accounts[i].resource))
			return 1;
	printf("%d of 101 audits were wrong\n", wrong);
	return wrong ? 1 : 0;
}
