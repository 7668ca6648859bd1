/* SPDX-License-Identifier: MIT */
/*
 * Waits inside tasks. First, a pool of one worker whose jobs block. Then, two tasks that wait for
 * each other: the wait of one of them returns -EDEADLK.
 */
#include <baton.h>
#include <baton/blocking.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define JOBS 4

static struct baton_future done[JOBS];
static const struct baton_resource_config accounts = BATON_RESOURCE_CONFIG_NAMED("accounts");
static const struct baton_resource_config auditing = BATON_RESOURCE_CONFIG_NAMED("audit");
static struct baton_resource a = BATON_RESOURCE_INIT(&accounts);
static struct baton_resource b = BATON_RESOURCE_INIT(&auditing);
static struct baton_future both_hold = BATON_PROMISE_INIT;

/* The job must block, and says so: meanwhile a spare thread takes the worker's place. */
static void fetch(struct baton_plain_job *job)
{
	static unsigned entered;
	const struct timespec disk = {0, 20 * 1000000};
	unsigned number = __atomic_fetch_add(&entered, 1, __ATOMIC_RELAXED);

	(void)job;
	baton_blocking_begin();
	(void)nanosleep(&disk, NULL);
	baton_blocking_end();
	(void)baton_future_complete(&done[number], 0, NULL);
}

static void *nothing(void *argument)
{
	return argument;
}

static void *audit(void *argument)
{
	(void)baton_future_complete(&both_hold, 0, NULL);
	/* The other thread holds "accounts", and waits for "audit", which this thread holds. */
	*(int *)argument = baton_call(&a, nothing, NULL, NULL);
	return NULL;
}

static void audit_job(struct baton_plain_job *job);
static int status[2];
static struct baton_plain_job auditor = BATON_PLAIN_JOB_INIT(audit_job, NULL);
static struct baton_future audited = BATON_PROMISE_INIT;

/* Called by the thread whose wait was refused: prints the names of the resources on the cycle. */
static void print_cycle(void)
{
	struct baton_deadlock_link cycle[BATON_DEADLOCK_MAX];
	size_t length = baton_deadlock_cycle(cycle, BATON_DEADLOCK_MAX);

	for (size_t i = 0; i < length; i++)
		printf("on the cycle: %s\n", cycle[i].name);
}

static void audit_job(struct baton_plain_job *job)
{
	(void)job;
	BATON_IGNORE(baton_call(&b, audit, &status[0], NULL));
	if (status[0] == -EDEADLK)
		print_cycle();
	(void)baton_future_complete(&audited, 0, NULL);
}

static void *book(void *pool)
{
	/* This thread holds "accounts" now. */
	if (baton_pool_submit(pool, &auditor))
		return NULL;
	if (baton_future_wait(&both_hold))
		return NULL;
	status[1] = baton_call(&b, nothing, NULL, NULL);
	if (status[1] == -EDEADLK)
		print_cycle();
	return NULL;
}

int main(void)
{
	struct baton_pool_options options = BATON_POOL_OPTIONS_INIT;
	struct baton_plain_job jobs[JOBS];
	struct baton_pool_stats stats;
	struct baton_pool *pool;

	options.workers = 1;
	if (baton_pool_create(&options, &pool))
		return EXIT_FAILURE;
	for (int i = 0; i < JOBS; i++) {
		baton_promise_init(&done[i]);
		baton_plain_job_init(&jobs[i], fetch, NULL);
		BATON_IGNORE(baton_pool_submit(pool, &jobs[i]));
	}
	for (int i = 0; i < JOBS; i++)
		if (baton_future_wait(&done[i]))
			return EXIT_FAILURE;
	baton_pool_stats_read(pool, &stats);
	printf("%d jobs that block on one worker: %u spare threads came\n", JOBS,
	       (unsigned)stats.spares_started);

	BATON_IGNORE(baton_call(&a, book, pool, NULL));
	if (baton_future_wait(&audited))
		return EXIT_FAILURE;
	printf("of the two that wait for each other one gets -EDEADLK: %s\n",
	       (status[0] == -EDEADLK) != (status[1] == -EDEADLK) ? "yes" : "no");
	BATON_IGNORE(baton_pool_destroy(pool));
	return (status[0] == -EDEADLK) != (status[1] == -EDEADLK) && stats.spares_started
	               ? EXIT_SUCCESS
	               : EXIT_FAILURE;
}
