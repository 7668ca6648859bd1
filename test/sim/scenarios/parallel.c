/* SPDX-License-Identifier: MIT */
/*
 * Parallel loops: each index once, all chunks over when the call returns, and nothing of the call
 * touched afterwards, by helpers that come late either.
 */
#include "jobs.h"

#include <baton/parallel.h>

#include "base/atomic.h"
#include "thread/thread.h"

#define INDICES 4
#define STATUS 7

/* What the chunks write is plain: an access that is not ordered is a race. */
struct loop {
	size_t count;
	unsigned done[INDICES]; /* how often */
	size_t fails_at;        /* index + 1; 0: none */
	bool over;              /* the call has returned */
	struct loop *inner;     /* what each chunk runs */
};

static struct baton_pool *pool;
static struct sim_item items[3];
static struct loop loops[3];

static int run(struct loop *loop);

static int chunk(void *argument, size_t begin, size_t end)
{
	struct loop *loop = argument;
	int status = 0;

	sim_require(!loop->over);
	for (size_t i = begin; i < end; i++) {
		loop->done[i]++;
		if (loop->inner && i == 0)
			sim_require(run(loop->inner) == 0);
		if (i + 1 == loop->fails_at)
			status = STATUS;
	}
	return status;
}

static int run(struct loop *loop)
{
	int status = baton_parallel_for(pool, loop->count, 1, chunk, loop);

	loop->over = true;
	for (size_t i = 0; i < loop->count; i++)
		sim_require(loop->done[i] == 1 || (status && loop->done[i] == 0));
	sim_retire(loop->done, sizeof(loop->done));
	return status;
}

static void run_outside(void *argument)
{
	sim_require(run(argument) == 0);
}

static void set_up(unsigned workers, size_t count)
{
	pool = sim_pool(workers);
	for (unsigned i = 0; i < 3; i++) {
		loops[i].count = count;
		sim_item_init(&items[i], NULL);
	}
}

static void end(void)
{
	sim_join_started();
	sim_require(baton_pool_destroy(pool) == 0);
	sim_require(load_relaxed(&baton__self->loops) == 0); /* nothing of them is left */
}

SIM_SCENARIO(parallel_2, "the caller and one helper, two chunks")
{
	set_up(2, 2);
	sim_require(run(&loops[0]) == 0);
	end();
}

SIM_SCENARIO(parallel_3, "the caller and two helpers, of which the first invites the second",
             .bound = 1)
{
	set_up(3, 3);
	sim_require(run(&loops[0]) == 0);
	end();
}

SIM_SCENARIO(parallel_twice, "the next loop begins while the helper of the last one comes late")
{
	set_up(2, 2);
	sim_require(run(&loops[0]) == 0);
	sim_require(run(&loops[1]) == 0);
	end();
}

SIM_SCENARIO(parallel_callers, "two callers, one pool", .bound = 1)
{
	set_up(2, 2);
	sim_start(run_outside, &loops[1]);
	sim_require(run(&loops[0]) == 0);
	end();
}

SIM_SCENARIO(parallel_fails, "one of two chunks fails: the other one runs once or not at all")
{
	set_up(2, 2);
	loops[0].fails_at = 1 + sim_pick(2);
	sim_require(run(&loops[0]) == STATUS);
	end();
}

/* ---- On a worker ---- */

static void run_in_item(struct sim_item *item)
{
	sim_require(run(&loops[item - items]) == 0);
}

SIM_SCENARIO(parallel_nested, "a loop on a worker, with another one in its first chunk", .bound = 1)
{
	set_up(2, 2);
	loops[0].inner = &loops[1];
	items[0].body = run_in_item;
	sim_require(sim_item_submit(&items[0], pool) == 0);
	sim_item_wait(&items[0]);
	end();
	sim_items_settled(items, 1);
}

SIM_SCENARIO(parallel_crossed, "two workers run loops at the same time: each may help the other",
             .bound = 1)
{
	set_up(2, 2);
	items[0].body = items[1].body = run_in_item;
	sim_require(sim_item_submit(&items[0], pool) == 0);
	sim_require(sim_item_submit(&items[1], pool) == 0);
	sim_item_wait(&items[0]);
	sim_item_wait(&items[1]);
	end();
	sim_items_settled(items, 2);
}

/* ---- Beside other jobs, and the end ---- */

static void submit(void *argument)
{
	sim_require(sim_item_submit(argument, pool) == 0);
}

SIM_SCENARIO(parallel_leaves, "jobs come meanwhile: a helper leaves for them, and may come back",
             .bound = 1)
{
	set_up(2, 4);
	sim_start(submit, &items[0]);
	submit(&items[1]);
	sim_require(run(&loops[0]) == 0);
	sim_item_wait(&items[0]);
	sim_item_wait(&items[1]);
	end();
	sim_items_settled(items, 2);
}

SIM_SCENARIO(parallel_shutdown, "the pool is shut down meanwhile: the caller runs the rest",
             .bound = 1)
{
	set_up(2, 2);
	sim_start(run_outside, &loops[0]);
	sim_require(baton_pool_shutdown(pool) == 0);
	end();
}

SIM_SCENARIO(parallel_shutdown_now, "the invitation is given back, and cancelled or run",
             .bound = 1)
{
	struct baton_job *jobs = NULL;

	set_up(2, 2);
	sim_start(run_outside, &loops[0]);
	sim_require(baton_pool_shutdown_now(pool, &jobs) == 0);
	while (jobs) {
		struct baton_job *job = jobs;

		jobs = baton_job_next(job);
		if (sim_pick(2))
			baton_job_cancel(job);
		else
			baton_job_run(job);
	}
	end();
}

static uint32_t let_go;

static void stay(struct sim_item *item)
{
	(void)item;
	while (!add_seq_cst(&let_go, 0))
		sim_idle(&let_go);
}

SIM_SCENARIO(parallel_late, "no worker is free: the helper comes when the call has returned")
{
	set_up(2, 2);
	sim_calm(true);
	items[0].body = items[1].body = stay;
	submit(&items[0]);
	submit(&items[1]);
	sim_settle();
	sim_calm(false);
	sim_require(run(&loops[0]) == 0);
	store_seq_cst(&let_go, 1);
	sim_item_wait(&items[0]);
	sim_item_wait(&items[1]);
	end();
	sim_items_settled(items, 2);
}
