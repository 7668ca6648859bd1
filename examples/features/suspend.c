/* SPDX-License-Identifier: MIT */
/*
 * A consistent snapshot of several resources. Money moves from account to account all the time: a
 * transfer is a task of one account, then a task of another. A thread that adds up the balances one
 * by one finds too much or too little. A thread that quiesces all accounts finds no task running in
 * any of them: until the end of the quiescing the thread may read and change them.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include <baton.h>
#include <baton/suspend.h>

#define ACCOUNTS 3
#define TRANSFERS 20000

struct account {
	struct baton_resource resource;
	long in, out;
};

static struct account accounts[ACCOUNTS] = {
	{BATON_RESOURCE_INIT(NULL), 0, 0},
	{BATON_RESOURCE_INIT(NULL), 0, 0},
	{BATON_RESOURCE_INIT(NULL), 0, 0},
};

static void *take(void *arg)
{
	((struct account *)arg)->out++;
	return NULL;
}

static void *give(void *arg)
{
	((struct account *)arg)->in++;
	return NULL;
}

/* Gives first, then takes: a snapshot never has more taken than given. */
static void *transfer(void *done)
{
	for (int i = 0; i < TRANSFERS; i++) {
		struct account *to = &accounts[i % ACCOUNTS];
		struct account *from = &accounts[(i + 1) % ACCOUNTS];

		if (baton_call(&to->resource, give, to, NULL) != 0 ||
		    baton_call(&from->resource, take, from, NULL) != 0)
			abort();
	}
	(void)baton_future_complete(done, 0, NULL);
	return NULL;
}

int main(void)
{
	struct baton_resource *set[ACCOUNTS];
	struct baton_suspension held[ACCOUNTS];
	struct baton_future done = BATON_PROMISE_INIT;
	int looks = 0, wrong = 0;
	pthread_t thread;

	for (int i = 0; i < ACCOUNTS; i++)
		set[i] = &accounts[i].resource;
	if (pthread_create(&thread, NULL, transfer, &done))
		return 1;
	for (; !baton_future_is_complete(&done); looks++) {
		long open = 0;

		if (baton_quiesce(set, ACCOUNTS, held))
			return 1;
		for (int i = 0; i < ACCOUNTS; i++)
			open += accounts[i].in - accounts[i].out; /* no task runs: plain reads */
		wrong += open != 0 && open != 1; /* one transfer may be half done */
		if (baton_quiesce_end(held, ACCOUNTS))
			return 1;
	}
	pthread_join(thread, NULL);
	for (int i = 0; i < ACCOUNTS; i++) {
		baton_resource_close(&accounts[i].resource);
		if (baton_resource_await(&accounts[i].resource))
			return 1;
	}
	printf("%d snapshots of %d accounts during %d transfers: %d inconsistent\n", looks,
	       ACCOUNTS, TRANSFERS, wrong);
	return wrong != 0;
}
