/* SPDX-License-Identifier: MIT */
/*
 * As edges.c, for jobs that wait: for one another, for tasks that only they themselves can run.
 */
#include "support.h"

#include <baton/pool.h>

#include "base/atomic.h"

static struct baton_pool *pool;
static struct baton_plain_job jobs[4];
static uint32_t met;
static uint32_t ran;
static struct baton_resource resource;
static struct baton_resource_config config;
static struct baton_task tasks[2];
static struct baton_future futures[2];
static int data;

static void create_pool(size_t workers)
{
	struct baton_pool_options options = BATON_POOL_OPTIONS_INIT;

	options.workers = workers;
	sim_require(baton_pool_create(&options, &pool) == 0);
}

static void submit_job(size_t number, baton_job_fn run)
{
	baton_plain_job_init(&jobs[number], run, NULL);
	sim_require(baton_pool_submit(pool, &jobs[number]) == 0);
}

static void count(struct baton_plain_job *job)
{
	(void)add_relaxed(&ran, 1);
}

static void end(uint32_t expected)
{
	while (load_relaxed(&ran) < expected)
		sim_yield();
	sim_require(baton_pool_destroy(pool) == 0);
}

/* ---- Two jobs that need two workers ---- */

static void meet(struct baton_plain_job *job)
{
	(void)add_relaxed(&met, 1);
	while (load_relaxed(&met) < 2)
		sim_yield();
	count(job);
}

SIM_SCENARIO(edge_block_meet, "W1: jobs that have been fetched or stolen together are announced",
             .bound = 1)
{
	create_pool(2);
	submit_job(0, count);
	submit_job(1, meet);
	submit_job(2, count);
	submit_job(3, meet);
	end(4);
}

static void submit_two(struct baton_plain_job *job)
{
	submit_job(1, meet);
	submit_job(2, meet);
	count(job);
}

SIM_SCENARIO(edge_block_meet_own, "W1: the same for a worker's own", .bound = 1)
{
	create_pool(2);
	submit_job(0, submit_two);
	end(3);
}

/* ---- A job that waits for a task of a resource that is queued behind it ---- */

static int change(struct baton_task *task)
{
	data++;
	return 0;
}

static void submit_to_held_and_wait(struct baton_plain_job *job)
{
	while (!load_acquire(&met))
		sim_yield();
	sim_require(baton_submit(&resource, &tasks[0]) == 0);
	store_release(&met, 2);
	sim_require(baton_future_wait(&futures[0]) == 0);
	count(job);
}

static int hold(struct baton_task *task)
{
	store_release(&met, 1);
	while (load_acquire(&met) != 2)
		sim_yield();
	for (int i = 0; i < 6; i++)
		sim_yield();
	return 0;
}

static void resource_init(uint32_t limit)
{
	config = (struct baton_resource_config){
		.capture_max = limit ? limit : BATON_CAPTURE_NONE,
		.quantum = 1,
		.executor = baton_pool_executor(pool),
	};
	baton_resource_init(&resource, &config);
	for (int i = 0; i < 2; i++) {
		baton_future_init(&futures[i]);
		baton_task_init(&tasks[i], change, &futures[i]);
	}
}

SIM_SCENARIO(edge_block_help,
             "[thread.asleep] a worker that waits in a job is told of what it can help", .bound = 2)
{
	create_pool(1);
	resource_init(1);
	baton_task_init(&tasks[1], hold, NULL);
	submit_job(0, submit_to_held_and_wait);
	/* Its limit is spent: what the worker waits for goes to the pool, all of which waits. */
	sim_require(baton_submit(&resource, &tasks[1]) == 0);
	end(1);
	sim_require(data == 1);
}

static void submit_and_wait(struct baton_plain_job *job)
{
	for (int i = 0; i < 2; i++)
		sim_require(baton_submit(&resource, &tasks[i]) == 0);
	sim_require(baton_future_wait(&futures[1]) == 0);
	count(job);
}

SIM_SCENARIO(edge_block_own, "the same for what it has submitted itself", .bound = 2)
{
	create_pool(1);
	resource_init(0);
	submit_job(0, submit_and_wait);
	end(1);
	sim_require(data == 2);
}

/* ---- A task that waits for its own resource ---- */

static int wait_for_other(struct baton_task *task)
{
	sim_require(baton_submit(&resource, &tasks[1]) == 0);
	sim_require(baton_future_wait(&futures[1]) == -EDEADLK);
	return 0;
}

SIM_SCENARIO(edge_block_held, "L9: a wait for what this very thread holds up is refused")
{
	create_pool(1);
	resource_init(10);
	baton_task_init(&tasks[0], wait_for_other, &futures[0]);
	sim_require(baton_submit(&resource, &tasks[0]) == 0);
	sim_require(baton_future_wait(&futures[1]) == 0);
	end(0);
	sim_require(data == 1);
}

/* ---- A worker takes two jobs, and the first waits for what waits for the second ---- */

static struct baton_future promise;

static void wait_for_promise(struct baton_plain_job *job)
{
	sim_require(baton_future_wait(&promise) == 0);
	count(job);
}

static void submit_wait_and_complete(void *argument)
{
	while (!load_acquire(&met))
		sim_yield();
	sim_require(baton_submit(&resource, &tasks[0]) == 0);
	store_release(&met, 2);
	sim_require(baton_future_wait(&futures[0]) == 0);
	sim_require(baton_future_complete(&promise, 0, NULL) == 0);
}

static int hold_and_submit(struct baton_task *task)
{
	(void)hold(task);
	submit_job(0, wait_for_promise);
	return 0;
}

SIM_SCENARIO(edge_block_behind,
             "[pool.vacant] sleepers are told when all workers wait, and there is a job",
             .bound = 2)
{
	create_pool(1);
	resource_init(1);
	baton_promise_init(&promise);
	baton_task_init(&tasks[1], hold_and_submit, NULL);
	sim_start(submit_wait_and_complete, NULL);
	sim_require(baton_submit(&resource, &tasks[1]) == 0);
	end(1);
	sim_require(data == 1);
}
