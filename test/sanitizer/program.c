/* SPDX-License-Identifier: MIT */
/*
 * A user's program under ThreadSanitizer, valgrind and the like: three threads submit, call, post
 * and wait; all tasks change the resource's state, which needs no lock. With the argument "race"
 * the program has a race of its own: a variable that no resource guards.
 */
#include <baton.h>
#include <baton/inline.h>

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define THREADS 3
#define ROUNDS 300

struct account {
	struct baton_resource resource;
	long balance; /* touched by the resource's tasks alone */
};

static const struct baton_resource_config captured = BATON_RESOURCE_CONFIG_NAMED("account/0");
static const struct baton_resource_config handed_off = {
	.capture_max = 1, .quantum = 4, .name = "account/1"};
static struct account accounts[2] = {
	{.resource = BATON_RESOURCE_INIT(&captured)},
	{.resource = BATON_RESOURCE_INIT(&handed_off)},
};
static long unguarded;
static bool racing;

static void *add(void *arg)
{
	struct account *account = arg;

	account->balance++;
	return account;
}

struct deposit {
	struct baton_task task;
	struct account *account;
};

static int deposit_run(struct baton_task *task)
{
	struct deposit *deposit = baton_container_of(task, struct deposit, task);

	deposit->account->balance++;
	baton_set_result(&deposit->account->balance);
	return 0;
}

static void *work(void *arg)
{
	/* Before the first call, which would order the threads. */
	if (racing)
		unguarded++;
	for (int i = 0; i < ROUNDS; i++) {
		struct account *account = &accounts[i % 2];
		struct baton_future future = BATON_FUTURE_INIT;
		struct deposit deposit = {BATON_TASK_INIT(deposit_run, &future), account};
		struct baton_future *posted;

		if (baton_submit(&account->resource, &deposit.task) || baton_future_wait(&future) ||
		    baton_call(&account->resource, add, account, NULL) ||
		    baton_post(&account->resource, add, account) ||
		    baton_async(&account->resource, add, account, &posted))
			return arg;
		if (!baton_future_wait(posted))
			baton_future_unref(posted);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];
	long sum = 0;

	racing = argc > 1 && strcmp(argv[1], "race") == 0;
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, work, threads))
			return 1;
	for (int i = 0; i < THREADS; i++)
		(void)pthread_join(threads[i], NULL);
	for (int i = 0; i < 2; i++) {
		baton_resource_close(&accounts[i].resource);
		if (baton_resource_await(&accounts[i].resource))
			return 1;
		sum += accounts[i].balance;
	}
	printf("%ld\n", sum);
	return sum != 4L * THREADS * ROUNDS || baton_pool_default_destroy();
}
