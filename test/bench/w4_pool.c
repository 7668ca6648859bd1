/* SPDX-License-Identifier: MIT */
/*
 * W4: the pool with plain jobs. From outside: one thread submits them all. Recursive: a binary tree
 * of jobs, each of which submits its two children; a job that is entered is free memory, so it
 * becomes its own first child, and what leaves of the tree is kept per thread for the second ones.
 */
#include "harness.h"
#include "machine.h"
#include "queue_pool.h"
#include "team.h"

#include <stdlib.h>

#include <baton.h>

/* Jobs run by one thread, and its free jobs. */
struct tally {
	uint64_t count __attribute__((aligned(64)));
	struct job *free;
	struct tally *next;
};

struct job {
	union {
		struct baton_plain_job plain;
		struct queue_job queued;
	};
	struct job *next_free;
	unsigned depth;
} __attribute__((aligned(64)));

static struct tally *tallies;
static __thread struct tally *tally;

static struct baton_pool *pool;
static struct queue_pool *queue;

static struct tally *my_tally(void)
{
	if (!tally) {
		tally = aligned_alloc(64, sizeof(*tally));
		if (!tally)
			abort();
		*tally = (struct tally){.next = __atomic_load_n(&tallies, __ATOMIC_RELAXED)};
		while (!__atomic_compare_exchange_n(&tallies, &tally->next, tally, false,
		                                    __ATOMIC_RELEASE, __ATOMIC_RELAXED))
			;
	}
	return tally;
}

static uint64_t total(void)
{
	uint64_t sum = 0;

	for (struct tally *t = __atomic_load_n(&tallies, __ATOMIC_ACQUIRE); t; t = t->next)
		sum += __atomic_load_n(&t->count, __ATOMIC_RELAXED);
	return sum;
}

static void count_one(struct tally *mine)
{
	__atomic_store_n(&mine->count, mine->count + 1, __ATOMIC_RELAXED);
}

static void await_total(uint64_t expected)
{
	struct timespec nap = {0, 100000};

	/* The workers have the CPUs for themselves. */
	while (total() < expected)
		(void)nanosleep(&nap, NULL);
}

static unsigned jobs_log2(void)
{
	return bench_options.quick ? 16 : 18;
}

static void plain_run(struct baton_plain_job *job)
{
	(void)job;
	count_one(my_tally());
}

static void queued_run(struct queue_job *job)
{
	(void)job;
	count_one(my_tally());
}

static void run_outside(const void *setup, double *values)
{
	bool mine = setup != NULL;
	size_t count = (size_t)1 << jobs_log2();
	struct job *jobs = aligned_alloc(64, count * sizeof(*jobs));
	uint64_t before = total();
	uint64_t start;
	uint64_t submitted;

	if (!jobs)
		abort();
	for (size_t i = 0; i < count; i++) {
		if (mine)
			baton_plain_job_init(&jobs[i].plain, plain_run, NULL);
		else
			jobs[i].queued.run = queued_run;
	}
	start = machine_now_ns();
	for (size_t i = 0; i < count; i++) {
		if (mine)
			(void)baton_pool_submit(pool, &jobs[i].plain);
		else
			queue_pool_submit(queue, &jobs[i].queued);
	}
	submitted = machine_now_ns();
	await_total(before + count);
	values[0] = (double)(machine_now_ns() - start) / (double)count;
	values[1] = (double)(submitted - start) / (double)count;
	free(jobs);
}

static struct job *new_job(struct tally *mine)
{
	struct job *job = mine->free;

	if (job)
		mine->free = job->next_free;
	else if (!(job = aligned_alloc(64, sizeof(*job))))
		abort();
	return job;
}

static void leave(struct tally *mine, struct job *job)
{
	job->next_free = mine->free;
	mine->free = job;
}

static void tree_plain(struct baton_plain_job *plain)
{
	struct job *job = baton_container_of(plain, struct job, plain);
	struct tally *mine = my_tally();
	unsigned depth = job->depth;

	if (depth > 0) {
		struct job *second = new_job(mine);

		job->depth = second->depth = depth - 1;
		baton_plain_job_init(&second->plain, tree_plain, NULL);
		(void)baton_pool_submit(pool, &job->plain);
		(void)baton_pool_submit(pool, &second->plain);
	} else {
		leave(mine, job);
	}
	count_one(mine);
}

static void tree_queued(struct queue_job *queued)
{
	struct job *job = baton_container_of(queued, struct job, queued);
	struct tally *mine = my_tally();
	unsigned depth = job->depth;

	if (depth > 0) {
		struct job *second = new_job(mine);

		job->depth = second->depth = depth - 1;
		second->queued.run = tree_queued;
		queue_pool_submit(queue, &job->queued);
		queue_pool_submit(queue, &second->queued);
	} else {
		leave(mine, job);
	}
	count_one(mine);
}

static void run_tree(const void *setup, double *values)
{
	bool mine = setup != NULL;
	unsigned depth = jobs_log2() - 1 + (mine && !bench_options.quick ? 2 : 0);
	uint64_t count = (UINT64_C(2) << depth) - 1;
	struct job *root = new_job(my_tally());
	uint64_t before = total();
	uint64_t start = machine_now_ns();

	root->depth = depth;
	if (mine) {
		baton_plain_job_init(&root->plain, tree_plain, NULL);
		(void)baton_pool_submit(pool, &root->plain);
	} else {
		root->queued.run = tree_queued;
		queue_pool_submit(queue, &root->queued);
	}
	await_total(before + count);
	values[0] = (double)(machine_now_ns() - start) / (double)count;
}

void bench_w4_pool(void)
{
	static const char *const outside_metrics[] = {"ns/job", "of it submitting", NULL};
	static const char *const tree_metrics[] = {"ns/job", NULL};
	static const struct bench_case outside[] = {
		{"mutex, condition, list", run_outside, NULL},
		{"baton pool", run_outside, &pool},
	};
	static const struct bench_case tree[] = {
		{"mutex, condition, list", run_tree, NULL},
		{"baton pool", run_tree, &pool},
	};
	static const struct bench_group groups[] = {
		{"W4: pool, 2^18 jobs from outside (quick: 2^16)", outside_metrics, outside, 2, 0,
	         NULL},
		{"W4: pool, recursive fan-out", tree_metrics, tree, 2, 0,
	         "2^20 jobs, the list 2^18; quick: 2^16"},
	};
	struct baton_pool_options options = BATON_POOL_OPTIONS_INIT;
	int cpus[QUEUE_POOL_MAX];

	if (!bench_wanted(groups[0].name) && !bench_wanted(groups[1].name))
		return;
	options.cpu_count = team_cpus() < QUEUE_POOL_MAX ? team_cpus() : QUEUE_POOL_MAX;
	options.workers = options.cpu_count;
	for (unsigned i = 0; i < options.cpu_count; i++)
		cpus[i] = team_cpu(i);
	options.cpus = cpus;
	if (baton_pool_create(&options, &pool))
		abort();
	queue = queue_pool_create((unsigned)options.workers, true);
	bench_group(&groups[0]);
	bench_group(&groups[1]);
	queue_pool_destroy(queue);
	(void)baton_pool_destroy(pool);
}
