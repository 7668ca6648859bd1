/* SPDX-License-Identifier: MIT */
/*
 * 64 threads submit faster than the work can be done, and throttle themselves: together they never
 * have more than 10,000 tasks outstanding. Each thread has an array of 156 tasks, each with a
 * future. Before the thread submits a task again, it waits for that task's future. A waiting thread
 * is not idle: it helps to run the tasks that are queued before its own.
 *
 * The tasks go to 100 accounts. No task runs inside its submit (baton_submit_later), as the thread
 * of an event loop would have it: the workers of a pool run the tasks, and the threads that wait.
 */
#include "check.h"

#include <baton.h>
#include <baton/stats.h>

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>

#define THREADS 64
#define OUTSTANDING 10000
#define SHARE (OUTSTANDING / THREADS) /* a thread's tasks */
#define TASKS (100 * SHARE)           /* that a thread submits */
#define ACCOUNTS 100

static struct account {
	struct baton_resource resource;
	struct baton_resource_stats stats;
	/* Touched by the account's tasks alone. */
	uint64_t balance;
	uint64_t longest_wait;
} accounts[ACCOUNTS];

struct deposit {
	struct baton_task task;
	struct baton_future future;
	struct account *account;
	uint64_t submitted; /* when */
};

static struct deposit deposits[THREADS][SHARE];
static atomic_int outstanding, most_outstanding;

static int deposit_run(struct baton_task *task)
{
	struct deposit *deposit = baton_container_of(task, struct deposit, task);
	struct account *account = deposit->account;
	uint64_t waited = baton_now() - deposit->submitted;

	account->balance++;
	if (waited > account->longest_wait)
		account->longest_wait = waited;
	atomic_fetch_sub(&outstanding, 1);
	return 0;
}

static void count_outstanding(void)
{
	int now = atomic_fetch_add(&outstanding, 1) + 1;
	int most = atomic_load(&most_outstanding);

	while (now > most && !atomic_compare_exchange_weak(&most_outstanding, &most, now))
		;
}

static void *submit_deposits(void *arg)
{
	struct deposit *share = arg;

	for (int i = 0; i < TASKS; i++) {
		struct deposit *deposit = &share[i % SHARE];

		if (i >= SHARE) /* the task was submitted before: is it done? */
			CHECK(baton_future_wait(&deposit->future) == 0);
		deposit->account = &accounts[i % ACCOUNTS];
		deposit->submitted = baton_now();
		baton_future_init(&deposit->future);
		baton_task_init(&deposit->task, deposit_run, &deposit->future);
		count_outstanding();
		CHECK(baton_submit_later(&deposit->account->resource, &deposit->task) == 0);
	}
	for (int i = 0; i < SHARE; i++)
		CHECK(baton_future_wait(&share[i].future) == 0);
	return NULL;
}

int main(void)
{
	static struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;
	struct baton_pool_options options = {.workers = 4, .name = "accounts"};
	struct baton_pool *pool;
	pthread_t threads[THREADS];
	struct baton_resource_stats counts;
	uint64_t balance = 0, handoffs = 0, helped = 0, longest_wait = 0;

	if (baton_pool_create(&options, &pool))
		return 1;
	config.executor = baton_pool_executor(pool);
	config.name = "account"; /* for messages and debuggers */
	for (int i = 0; i < ACCOUNTS; i++) {
		baton_resource_init(&accounts[i].resource, &config);
		baton_resource_set_stats(&accounts[i].resource, &accounts[i].stats);
	}
	for (int i = 0; i < THREADS; i++)
		CHECK(pthread_create(&threads[i], NULL, submit_deposits, deposits[i]) == 0);
	for (int i = 0; i < THREADS; i++)
		CHECK(pthread_join(threads[i], NULL) == 0);
	for (int i = 0; i < ACCOUNTS; i++) {
		struct account *account = &accounts[i];

		CHECK(baton_resource_close(&account->resource) == 0);
		CHECK(baton_resource_await(&account->resource) == 0);
		baton_resource_stats_read(&account->stats, &counts);
		balance += account->balance;
		handoffs += counts.handoffs;
		helped += counts.helped;
		if (account->longest_wait > longest_wait)
			longest_wait = account->longest_wait;
	}
	CHECK(baton_pool_destroy(pool) == 0);
	printf("%d threads submitted %" PRIu64 " tasks to %d accounts; each was run once.\n",
	       THREADS, balance, ACCOUNTS);
	printf("At most %d tasks were outstanding at a time; the limit is %d.\n",
	       atomic_load(&most_outstanding), OUTSTANDING);
	printf("Hand-offs: %" PRIu64 " times an account with tasks went to the pool.\n", handoffs);
	printf("Helped: %" PRIu64 " times a thread that waited ran an account's tasks itself.\n",
	       helped);
	printf("The longest wait of a task, from its submit to its run: %" PRIu64 " ms.\n",
	       longest_wait / BATON_MILLISECOND);
	CHECK(balance == (uint64_t)THREADS * TASKS);
	CHECK(atomic_load(&most_outstanding) <= OUTSTANDING);
	return 0;
}
