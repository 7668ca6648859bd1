/* SPDX-License-Identifier: MIT */
/*
 * Fork and join: a thread submits one task to each of many resources, and waits for all of them.
 */
#include "../check.h"

#include <baton.h>

#define ACCOUNTS 16

/* ---- In baton-tutorial(7) ---- */
struct account {
	struct baton_resource resource;
	long balance;
};

/* One branch: reads one account. */
struct reading {
	struct baton_task task;
	struct baton_future future;
	struct account *account;
	long balance;
};

static int reading_run(struct baton_task *task)
{
	struct reading *reading = baton_container_of(task, struct reading, task);

	reading->balance = reading->account->balance;
	return 0;
}

static int read_all(struct account *accounts, long *sum)
{
	struct reading readings[ACCOUNTS];
	struct baton_future *futures[ACCOUNTS];
	size_t submitted = 0;
	int error = 0, waited;

	/* Fork: an idle account is read here and now, a busy one by its runner. */
	for (; submitted < ACCOUNTS && !error; submitted += !error) {
		struct reading *reading = &readings[submitted];

		reading->account = &accounts[submitted];
		baton_future_init(&reading->future);
		baton_task_init(&reading->task, reading_run, &reading->future);
		futures[submitted] = &reading->future;
		error = baton_submit(&reading->account->resource, &reading->task);
	}
	/* Join, also after an error: the readings lie on this stack. */
	waited = baton_future_wait_all(futures, submitted);
	if (waited)
		abort(); /* -EDEADLK: called in a task of one of the accounts */
	*sum = 0;
	for (size_t i = 0; i < submitted; i++)
		*sum += readings[i].balance;
	return error;
}
/* ---- To here ---- */

int main(void)
{
	static struct account accounts[ACCOUNTS];
	long sum;

	for (int i = 0; i < ACCOUNTS; i++)
		accounts[i].balance = i;
	CHECK(read_all(accounts, &sum) == 0);
	CHECK(sum == ACCOUNTS * (ACCOUNTS - 1) / 2);
	printf("%d accounts have %ld\n", ACCOUNTS, sum);
	return 0;
}
