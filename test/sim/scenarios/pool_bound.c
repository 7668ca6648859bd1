/* SPDX-License-Identifier: MIT */
/*
 * A bound on the plain jobs that wait in a pool: never more wait, a submitter that waits for room
 * gets it or is refused in the end, and nobody touches the pool after that.
 */
#include "jobs.h"

#include "pool/pool.h"

#define ITEMS 6

static struct baton_pool *pool;
static struct sim_item items[ITEMS];

static uint64_t waiting; /* as the pool counts */

SIM_UNSEEN static void is_within(const void *word, unsigned thread, uint64_t before, uint64_t after)
{
	sim_require(after <= sim_waiting_max);
	waiting = after;
}

SIM_UNSEEN static bool none_waits(void)
{
	return waiting == 0;
}

static void set_up(uint64_t waiting_max)
{
	sim_waiting_max = waiting_max;
	pool = sim_pool(1);
	sim_watch(&pool->room.waiting, is_within);
	for (unsigned i = 0; i < ITEMS; i++)
		sim_item_init(&items[i], NULL);
}

static void end(unsigned given)
{
	sim_require(baton_pool_destroy(pool) == 0);
	sim_require(none_waits());
	sim_items_settled(items, given);
}

static void submit_wait(void *argument)
{
	sim_require(sim_item_submit_wait(argument, pool, BATON_FOREVER) == 0);
}

static void submit_two(void *argument)
{
	struct sim_item *two = argument;

	submit_wait(&two[0]);
	submit_wait(&two[1]);
}

SIM_SCENARIO(room_for_one,
             "[room.sleepers] [room.changes] a submitter waits until a job is entered")
{
	set_up(1);
	sim_require(sim_item_submit(&items[0], pool) == 0);
	submit_wait(&items[1]);
	submit_wait(&items[2]);
	end(3);
}

SIM_SCENARIO(room_for_all, "[room.sleepers] submitters wait beside each other: each gets room")
{
	set_up(1);
	sim_start(submit_two, &items[0]);
	sim_start(submit_two, &items[2]);
	submit_wait(&items[4]);
	sim_join_started();
	end(5);
}

static void submit_or_not(void *argument)
{
	int status = sim_item_submit(argument, pool);

	sim_require(status == 0 || status == -EAGAIN);
}

SIM_SCENARIO(room_refused, "beside those that wait, others are refused or take the room")
{
	set_up(2);
	sim_start(submit_two, &items[0]);
	sim_start(submit_or_not, &items[2]);
	submit_or_not(&items[3]);
	submit_wait(&items[4]);
	sim_join_started();
	end(5);
}

static void submit_within(void *argument)
{
	uint64_t deadline = sim_in(sim_pick(2) * 1000);
	int status = sim_item_submit_wait(argument, pool, deadline);

	sim_require(status == 0 || status == -ETIMEDOUT);
}

SIM_SCENARIO(room_in_time, "one that gives up loses no other's wake-up")
{
	set_up(1);
	sim_require(sim_item_submit(&items[0], pool) == 0);
	sim_start(submit_within, &items[1]);
	submit_wait(&items[2]);
	sim_join_started();
	end(3);
}

static void submit_until_the_end(void *argument)
{
	int status = sim_item_submit_wait(argument, pool, BATON_FOREVER);

	sim_require(status == 0 || status == -ESHUTDOWN);
}

static void stay(struct sim_item *item)
{
	sim_item_wait(&items[ITEMS - 1]);
}

/* A job stays until the shutdown is over: only the shutdown ends the waits. */
static void at_the_bound(unsigned submitters[2])
{
	set_up(1);
	items[0].body = stay;
	sim_require(sim_item_submit(&items[0], pool) == 0);
	sim_require(sim_item_submit_wait(&items[1], pool, BATON_FOREVER) == 0);
	for (unsigned i = 0; i < 2; i++)
		submitters[i] = sim_start(submit_until_the_end, &items[2 + i]);
	if (sim_pick(2))
		sim_settle(); /* both sleep */
}

SIM_SCENARIO(room_shutdown, "[room.changes] a shutdown ends the wait for room")
{
	unsigned submitters[2];

	at_the_bound(submitters);
	sim_require(baton_pool_shutdown(pool) == 0);
	sim_join(submitters[0]);
	sim_join(submitters[1]);
	sim_item_is_over(&items[ITEMS - 1]);
	end(4);
}

SIM_SCENARIO(room_shutdown_now, "the same of shutdown_now; what was taken out does not count")
{
	struct baton_job *rest = NULL;
	unsigned submitters[2];

	at_the_bound(submitters);
	sim_require(baton_pool_shutdown_now(pool, &rest) == 0);
	sim_join(submitters[0]);
	sim_join(submitters[1]);
	sim_item_is_over(&items[ITEMS - 1]);
	while (rest) {
		struct baton_job *job = rest;

		rest = baton_job_next(job);
		baton_job_cancel(job);
	}
	end(4);
}

SIM_SCENARIO(room_destroy, "pool.outside: destroy waits for the submitters that it has woken")
{
	unsigned submitters[2];

	at_the_bound(submitters);
	sim_settle();
	sim_item_is_over(&items[ITEMS - 1]);
	end(4);
}
