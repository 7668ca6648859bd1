/* SPDX-License-Identifier: MIT */
/*
 * What a hand-off costs the one who gives: to a pool whose workers sleep, to one that has an awake
 * searcher, and from a worker to its own queue.
 */
#include "counters.h"

#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <unistd.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

#include <baton.h>

#include <ck_pr.h>

#define TRIES 10000
#define PATIENCE_S 15
#define QUANTUM 8
#define STAYS 50

static struct baton_pool *pool;
static struct baton_resource_config config;

/* Two tasks and a limit of one: the second one is handed off. */
struct pair {
	struct baton_task tasks[2];
	struct baton_resource resource;
	uint32_t done;
};

static int first_run(struct baton_task *task)
{
	return 0;
}

static int second_run(struct baton_task *task)
{
	struct baton_task *first = task - 1;
	struct pair *pair = baton_container_of(first, struct pair, tasks);

	store_release(&pair->done, 1);
	return 0;
}

static struct counts hand_off(void)
{
	struct pair pair = {
		.tasks = {BATON_TASK_INIT(first_run, NULL), BATON_TASK_INIT(second_run, NULL)}};
	struct baton_task *tasks[] = {&pair.tasks[0], &pair.tasks[1]};
	struct bench_counts before;
	struct counts cost;

	config = (struct baton_resource_config)BATON_RESOURCE_CONFIG_INIT;
	config.capture_max = 1;
	config.executor = baton_pool_executor(pool);
	baton_resource_init(&pair.resource, &config);
	before = counts_now();
	BATON_IGNORE(baton_submit_batch(&pair.resource, tasks, 2));
	cost = counts_since(&before, 1);
	cost.rmws -= 1; /* the capture */
	while (!load_acquire(&pair.done))
		(void)sched_yield();
	(void)baton_resource_close(&pair.resource);
	if (baton_resource_await(&pair.resource))
		abort();
	return cost;
}

static uint32_t woken;

static void job_run(struct baton_plain_job *job)
{
	store_release(&woken, 1);
}

/* A worker that has just run something soon looks around for more, before it sleeps. */
static void awake_searcher(int pauses)
{
	struct baton_plain_job job = BATON_PLAIN_JOB_INIT(job_run, NULL);

	store_release(&woken, 0);
	BATON_IGNORE(baton_pool_submit(pool, &job));
	while (!load_acquire(&woken))
		(void)sched_yield();
	for (int i = 0; i < pauses; i++)
		ck_pr_stall();
}

static struct counts least(struct counts one, struct counts other)
{
	return one.syscalls <= other.syscalls ? one : other;
}

/* A resource that runs on a worker alone: stays of QUANTUM tasks, each ended by a hand-off. */
struct long_queue {
	struct baton_resource resource;
	struct baton_resource_config config;
	struct baton_task tasks[QUANTUM * (STAYS + 2)];
	struct bench_counts start;
	struct counts cost;
	unsigned ran;
	uint32_t done;
};

static struct long_queue *long_queue;

static int long_run(struct baton_task *task)
{
	long_queue->ran++;
	if (long_queue->ran == QUANTUM)
		long_queue->start = counts_now();
	if (long_queue->ran == QUANTUM * (STAYS + 1))
		long_queue->cost = counts_since(&long_queue->start, STAYS);
	if (long_queue->ran == QUANTUM * (STAYS + 2))
		store_release(&long_queue->done, 1);
	return 0;
}

/* Holds the only worker until everything is in the inbox. */
static void block_run(struct baton_plain_job *job)
{
	while (!load_acquire(&woken))
		(void)sched_yield();
}

static struct counts worker_hand_off(void)
{
	struct baton_plain_job block = BATON_PLAIN_JOB_INIT(block_run, NULL);
	struct baton_pool_options options = BATON_POOL_OPTIONS_INIT;
	struct baton_pool *single;
	struct counts cost;

	options.workers = 1;
	long_queue = calloc(1, sizeof(*long_queue));
	if (!long_queue || baton_pool_create(&options, &single))
		abort();
	long_queue->config = (struct baton_resource_config){.capture_max = BATON_CAPTURE_NONE,
	                                                    .quantum = QUANTUM};
	long_queue->config.executor = baton_pool_executor(single);
	baton_resource_init(&long_queue->resource, &long_queue->config);
	store_release(&woken, 0);
	BATON_IGNORE(baton_pool_submit(single, &block));
	for (int i = 0; i < QUANTUM * (STAYS + 2); i++) {
		baton_task_init(&long_queue->tasks[i], long_run, NULL);
		BATON_IGNORE(baton_submit(&long_queue->resource, &long_queue->tasks[i]));
	}
	store_release(&woken, 1);
	while (!load_acquire(&long_queue->done))
		(void)sched_yield();
	cost = long_queue->cost;
	(void)baton_resource_close(&long_queue->resource);
	if (baton_resource_await(&long_queue->resource) || baton_pool_destroy(single))
		abort();
	free(long_queue);
	return cost;
}

/* Others take the CPU that a searching worker would need beside us. */
static bool is_busy(void)
{
	double load;

	return getloadavg(&load, 1) != 1 || load > (double)sysconf(_SC_NPROCESSORS_ONLN);
}

void counts_handoff(void)
{
	const struct timespec moment = {0, 3000000};
	struct baton_pool_options options = BATON_POOL_OPTIONS_INIT;
	struct counts awake = {INFINITY, INFINITY, INFINITY};
	const time_t until = time(NULL) + PATIENCE_S;
	struct counts asleep = {0};

	options.workers = 2;
	if (baton_pool_create(&options, &pool))
		abort();
	/* Whether one searches at that moment is up to the machine: until it has been so. */
	for (int i = 0; awake.syscalls > 0 && (i < TRIES || time(NULL) < until); i++) {
		awake_searcher(i % 200);
		awake = least(awake, hand_off());
	}
	if (awake.syscalls > 0 && is_busy())
		(void)printf("hand-off, an awake searcher: never seen, the machine is busy\n");
	else
		counts_row("hand-off, an awake searcher (the best try)", (struct counts){NAN, 0, 0},
		           awake);
	for (int i = 0; i < 20; i++) {
		struct counts one;

		(void)nanosleep(&moment, NULL);
		one = hand_off();
		asleep = one.syscalls > asleep.syscalls ? one : asleep;
	}
	counts_row("hand-off, all workers asleep (the worst of 20)", (struct counts){NAN, 0, 1},
	           asleep);
	counts_row("hand-off by a worker to its own queue, and pop", (struct counts){NAN, 0, 0},
	           worker_hand_off());
	BATON_IGNORE(baton_pool_destroy(pool));
}
