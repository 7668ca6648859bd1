/* SPDX-License-Identifier: MIT */
/*
 * The order YIELDS: a worker's two queues beside thieves, over the edge of the rings (4 slots
 * here), and when they overflow. What comes back once is hot.
 */
#include "jobs.h"
#include "support.h"

#include "base/atomic.h"
#include "base/futex.h"

#include <limits.h>

#define COMERS 7

static const struct baton_pool_policy policy = {
	.order = BATON_POOL_YIELDS,
	.hot_from = 1,
	.hot_share = 2,
};

/* A plain job that comes back; what it writes is plain, and goes with it from worker to worker. */
struct comer {
	struct baton_plain_job plain;
	unsigned left;
	unsigned runs;
	bool stays;         /* after it has come back it stays until its next run is over */
	unsigned makes;     /* in its first run: submits so many of the comers behind it */
	unsigned times;     /* how often these come back */
	uint32_t over;      /* futex word: how often a run has ended for good */
	uint32_t next_over; /* futex word: the run after the one that stays is over */
};

static struct baton_pool *pool;
static struct comer comers[COMERS];

static void comer_run(struct baton_plain_job *job);

static void comer_submit(unsigned index, unsigned times)
{
	comers[index].left = times;
	baton_plain_job_init(&comers[index].plain, comer_run, NULL);
	sim_require(baton_pool_submit(pool, &comers[index].plain) == 0);
}

static void post(uint32_t *word)
{
	store_release(word, 1);
	baton__futex_wake(word, INT_MAX);
}

static void wait_for(uint32_t *word)
{
	struct baton__futex_watch watch = {word, 0};

	while (!load_acquire(word))
		(void)baton__futex_wait(&watch, 1, BATON_FOREVER);
}

static void comer_run(struct baton_plain_job *job)
{
	struct comer *comer = baton_container_of(job, struct comer, plain);
	bool stays = comer->stays;
	unsigned makes = comer->makes;

	comer->runs++;
	comer->makes = 0;
	comer->stays = false;
	for (unsigned i = 1; i <= makes; i++)
		comer_submit((unsigned)(comer - comers) + i, comer->times);
	if (comer->left) {
		comer->left--;
		sim_require(baton_pool_submit(pool, job) == 0);
		/* Not its own memory any more, but for the words of the scenario. */
		if (stays)
			wait_for(&comer->over);
		return;
	}
	post(&comer->over);
}

static void set_up(unsigned workers)
{
	sim_policy = &policy;
	pool = sim_pool(workers);
}

static void end(unsigned count, unsigned runs)
{
	for (unsigned i = 0; i < count; i++)
		wait_for(&comers[i].over);
	sim_calm(true);
	sim_join_started();
	sim_require(baton_pool_destroy(pool) == 0);
	for (unsigned i = 0; i < count; i++)
		sim_require(comers[i].runs == runs);
}

SIM_SCENARIO(order_back, "a job that comes back, and one from outside: each run once each time")
{
	set_up(1);
	comer_submit(0, 2);
	comer_submit(1, 2);
	end(2, 3);
}

SIM_SCENARIO(order_steal, "hot and cold jobs of a worker beside a thief", .bound = 1)
{
	set_up(2);
	comers[0].makes = 2;
	comers[0].times = 1;
	comer_submit(0, 1);
	end(3, 2);
}

SIM_SCENARIO(order_wrap, "the ring of hot jobs goes round beside a thief", .bound = 1)
{
	set_up(2);
	comers[0].makes = 1;
	comers[0].times = 5;
	comer_submit(0, 5);
	end(2, 6);
}

SIM_SCENARIO(order_overflow, "more hot jobs than a ring holds: half goes to the injection queue",
             .bound = 1)
{
	set_up(1);
	comers[0].makes = 6;
	comers[0].times = 2;
	comer_submit(0, 2);
	end(7, 3);
}

SIM_SCENARIO(order_overflow_steal, "the same beside a thief", .bound = 1, .walk_only = true)
{
	set_up(2);
	comers[0].makes = 6;
	comers[0].times = 1;
	comer_submit(0, 1);
	end(7, 2);
}

/* L6: the worker does not come back to its loop before the job has run again. */
SIM_SCENARIO(order_stuck, "a hot job whose worker stays in its last run is stolen")
{
	set_up(2);
	comers[0].stays = true;
	comer_submit(0, 1);
	end(1, 2);
}

SIM_SCENARIO(order_park, "the same while the thief goes to sleep for the first time", .bound = 1)
{
	sim_policy = &policy;
	pool = sim_pool_awake(2);
	comers[0].stays = true;
	comer_submit(0, 1);
	end(1, 2);
}

static void submit_second(void *argument)
{
	comer_submit(1, 1);
}

SIM_SCENARIO(order_shutdown, "a pool that shuts down runs what comes back, and no more", .bound = 1)
{
	set_up(2);
	sim_start(submit_second, NULL);
	comer_submit(0, 1);
	end(2, 2);
}

/* ---- Resources ---- */

static struct sim_topic topic;
static struct sim_note notes[3];

SIM_SCENARIO(order_resource, "a resource with a quantum of 1 is hot, and helped meanwhile",
             .bound = 1)
{
	set_up(2);
	sim_topic_init(&topic, 0, 1, baton_pool_executor(pool));
	for (unsigned i = 0; i < 3; i++) {
		sim_note_init(&notes[i], &topic, i == 2);
		sim_require(sim_note_submit(&notes[i]) == 0);
	}
	sim_note_wait(&notes[2]);
	comer_submit(0, 1);
	sim_topic_close(&topic);
	end(1, 2);
	sim_settled(&topic);
}
