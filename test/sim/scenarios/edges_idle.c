/* SPDX-License-Identifier: MIT */
/*
 * As edges.c, for the idle set, the pool's end.
 */
#include "support.h"

#include <baton/manual.h>
#include <baton/pool.h>

#include "base/atomic.h"
#include "core/executor.h"
#include "base/futex.h"
#include "pool/idle.h"

/* ---- Idle set: workers as in worker.c, work is a number ---- */

static struct baton__idle idle;
static struct baton__sleeper sleepers[3];
static uint32_t work;
static uint32_t ended;
static uint32_t taken;
static int payload;

static bool take(void)
{
	uint32_t left = load_seq_cst(&work);

	while (left)
		if (cas_seq_cst(&work, &left, left - 1))
			return true;
	return false;
}

static void worker(void *argument)
{
	size_t self = (size_t)(uintptr_t)argument;
	bool searching = false;

	while (!load_acquire(&ended)) {
		enum baton__idle_entered entered;

		if (!searching)
			searching = baton__idle_try_search(&idle);
		if (take()) {
			if (searching && baton__idle_stop_searching(&idle) && load_seq_cst(&work))
				(void)baton__idle_notify(&idle);
			searching = false;
			(void)add_relaxed(&taken, 1);
			continue;
		}
		entered = baton__idle_enter(&idle, self, searching, false);
		if (load_seq_cst(&ended))
			break;
		if (entered == BATON__IDLE_LOOK && load_seq_cst(&work))
			(void)baton__idle_notify(&idle);
		(void)baton__idle_wait(&idle, self, BATON_FOREVER);
		searching = true;
	}
}

static void bring(void *argument)
{
	(void)add_seq_cst(&work, 1);
	(void)baton__idle_notify(&idle);
}

static void end_workers(uint32_t expected)
{
	while (load_relaxed(&taken) != expected)
		sim_yield();
	store_seq_cst(&ended, 1);
	baton__idle_wake_all(&idle);
	sim_join_all();
}

SIM_SCENARIO(edge_idle_1, "[idle.work] one worker, two who bring work: none is left lying")
{
	baton__idle_init(&idle, sleepers, 1);
	sim_start(worker, NULL);
	sim_start(bring, NULL);
	bring(NULL);
	end_workers(2);
}

SIM_SCENARIO(edge_idle_2, "[idle.link] [idle.work] [idle.number] two workers, two who bring work")
{
	baton__idle_init(&idle, sleepers, 2);
	sim_start(worker, NULL);
	sim_start(worker, (void *)(uintptr_t)1);
	sim_start(bring, NULL);
	bring(NULL);
	bring(NULL);
	end_workers(3);
}

SIM_SCENARIO(edge_idle_3, "[idle.link] [idle.work] three workers", .bound = 1)
{
	baton__idle_init(&idle, sleepers, 3);
	sim_start(worker, NULL);
	sim_start(worker, (void *)(uintptr_t)1);
	sim_start(worker, (void *)(uintptr_t)2);
	bring(NULL);
	bring(NULL);
	bring(NULL);
	end_workers(3);
}

SIM_SCENARIO(edge_idle_end,
             "[idle.ending] a worker that is on its way to sleep sees the end, or is woken")
{
	baton__idle_init(&idle, sleepers, 2);
	sim_start(worker, NULL);
	sim_start(worker, (void *)(uintptr_t)1);
	store_seq_cst(&ended, 1);
	baton__idle_wake_all(&idle);
	sim_join_all();
}

static void blocking_worker(void *argument)
{
	size_t self = (size_t)(uintptr_t)argument;
	bool searching = baton__idle_try_search(&idle);

	/* Found while searching: the last to search looks again before it enters the job, */
	while (!take()) {
		enum baton__idle_entered entered = baton__idle_enter(&idle, self, searching, false);

		if (entered == BATON__IDLE_LOOK && load_seq_cst(&work))
			(void)baton__idle_notify(&idle);
		(void)baton__idle_wait(&idle, self, BATON_FOREVER);
		searching = true;
	}
	if (searching && baton__idle_stop_searching(&idle) && load_seq_cst(&work))
		(void)baton__idle_notify(&idle);
	/* in which it waits for the other one. */
	(void)add_relaxed(&taken, 1);
	while (load_relaxed(&taken) < 2)
		sim_yield();
}

SIM_SCENARIO(edge_idle_blocked,
             "[idle.work] the last to search wakes another before it enters a job")
{
	baton__idle_init(&idle, sleepers, 2);
	sim_start(blocking_worker, NULL);
	sim_start(blocking_worker, (void *)(uintptr_t)1);
	bring(NULL);
	bring(NULL);
}

static void sleep_once(void *argument)
{
	(void)baton__idle_enter(&idle, 0, false, false);
	(void)baton__idle_wait(&idle, 0, BATON_FOREVER);
	sim_require(payload == 1);
}

static void wake_somebody(void *argument)
{
	payload = 1;
	while (!baton__idle_notify(&idle))
		sim_yield();
}

SIM_SCENARIO(edge_idle_wake, "[idle.woken] who is woken sees what was done before the wake-up")
{
	baton__idle_init(&idle, sleepers, 2);
	sim_start(sleep_once, NULL);
	wake_somebody(NULL);
	sim_join_all();
}

static void sleep_or_end(void *argument)
{
	(void)baton__idle_enter(&idle, 0, false, false);
	if (load_seq_cst(&ended))
		return;
	(void)baton__idle_wait(&idle, 0, BATON_FOREVER);
	sim_require(payload == 1);
}

SIM_SCENARIO(edge_idle_wake_all, "[idle.woken] the same for those that the end has woken")
{
	baton__idle_init(&idle, sleepers, 2);
	sim_start(sleep_or_end, NULL);
	payload = 1;
	store_seq_cst(&ended, 1);
	baton__idle_wake_all(&idle);
}

/* ---- Pool ---- */

static struct baton_pool *pool;
static struct baton_manual *manual;
static struct baton_plain_job jobs[6];
static int made[6];
static uint32_t ran;
static uint32_t refused;

static void run_job(struct baton_plain_job *job)
{
	size_t number = (size_t)(job - jobs);

	sim_require(made[number] == 1);
	made[number] = 2;
	(void)add_relaxed(&ran, 1);
}

static bool submit_job(size_t number, baton_job_fn run)
{
	made[number] = 1;
	baton_plain_job_init(&jobs[number], run, NULL);
	return baton_pool_submit(pool, &jobs[number]) == 0;
}

static void run_and_submit(struct baton_plain_job *job)
{
	size_t number = (size_t)(job - jobs);

	/* Refused when the pool has been shut down. */
	if (!submit_job(number + 1, run_job))
		(void)add_relaxed(&refused, 1);
	if (!submit_job(number + 2, run_job))
		(void)add_relaxed(&refused, 1);
	run_job(job);
}

static void create_pool(size_t workers)
{
	struct baton_pool_options options = BATON_POOL_OPTIONS_INIT;

	options.workers = workers;
	sim_require(baton_pool_create(&options, &pool) == 0);
}

static void wait_and_destroy(uint32_t count)
{
	while (load_relaxed(&ran) != count)
		sim_yield();
	sim_require(baton_pool_destroy(pool) == 0);
	for (uint32_t i = 0; i < count; i++)
		sim_require(made[i] == 2);
	sim_join_all();
}

static void submit_one(void *argument)
{
	(void)submit_job(5, run_job);
}

static void destroy_when_run(void *argument)
{
	while (load_relaxed(&ran) != 1)
		sim_yield();
	sim_require(baton_pool_destroy(pool) == 0);
}

SIM_SCENARIO(edge_pool_1, "one worker: what is submitted runs, without time-outs")
{
	create_pool(1);
	(void)submit_job(0, run_job);
	(void)submit_job(1, run_job);
	wait_and_destroy(2);
}

SIM_SCENARIO(edge_pool_2, "[worker.slot] [runqueue.job] two workers, jobs that submit jobs",
             .bound = 1)
{
	create_pool(2);
	(void)submit_job(0, run_and_submit);
	wait_and_destroy(3);
}

SIM_SCENARIO(edge_pool_3, "two workers, more jobs than fit", .bound = 1)
{
	create_pool(2);
	(void)submit_job(0, run_and_submit);
	(void)submit_job(3, run_and_submit);
	wait_and_destroy(6);
}

SIM_SCENARIO(edge_pool_outside,
             "[thread.inside] a pool is destroyed after the last submitter has left it")
{
	create_pool(1);
	sim_start(destroy_when_run, NULL);
	submit_one(NULL);
	sim_join_all();
}

static void shutdown_pool(void *argument)
{
	(void)baton_pool_shutdown(pool);
}

SIM_SCENARIO(edge_pool_shutdown, "[pool.state] [pool.last] an idle pool ends when told so")
{
	create_pool(2);
	sim_start(shutdown_pool, NULL);
	sim_join(3);
	sim_require(baton_pool_await(pool) == 0);
	sim_require(baton_pool_destroy(pool) == 0);
}

SIM_SCENARIO(edge_pool_shutdown_now, "[pool.state] [idle.ending] jobs run, or come back")
{
	struct baton_job *back = NULL;
	uint32_t count = 0;

	create_pool(2);
	(void)submit_job(0, run_and_submit);
	for (size_t i = 3; i < 6; i++)
		(void)submit_job(i, run_job);
	sim_require(baton_pool_shutdown_now(pool, &back) == 0);
	for (; back; back = baton_job_next(back))
		count++;
	sim_require(baton_pool_destroy(pool) == 0);
	/* The first may have come back, without the two that it would have made. */
	count += load_relaxed(&ran) + load_relaxed(&refused);
	sim_require(count == 6 || (count == 4 && made[1] == 0));
}

SIM_SCENARIO(edge_pool_termination, "[pool.ended] who awaits the end sees what the jobs did")
{
	uint64_t deadline = sim_in(100000);
	int status;

	create_pool(1);
	(void)submit_job(0, run_job);
	sim_require(baton_pool_shutdown(pool) == 0);
	status = baton_pool_await_until(pool, sim_pick(2) ? deadline : BATON_FOREVER);
	if (status == 0)
		sim_require(made[0] == 2);
	else
		sim_require(status == -ETIMEDOUT);
	sim_require(baton_pool_destroy(pool) == 0);
}

SIM_SCENARIO(edge_pool_start_fails, "[pool.started] a worker that cannot start is heard of")
{
	struct baton_pool_options options = BATON_POOL_OPTIONS_INIT;

	options.workers = 2;
	sim_require(baton_manual_create(&manual) == 0); /* our record */
	baton_manual_destroy(manual);
	sim_fail_allocation(2);
	sim_require(baton_pool_create(&options, &pool) == -ENOMEM);
}
