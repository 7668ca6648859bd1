/* SPDX-License-Identifier: MIT */
/*
 * Spare threads (crew.c, K1 to K5): jobs that block leave their places, and what is queued runs
 * although nobody helps.
 */
#include <baton/blocking.h>

#include "jobs.h"
#include "support.h"

#include "pool/crew.h"
#include "pool/pool.h"

static struct baton_pool *pool;
static struct sim_item items[4];
static struct baton_future promises[2];

static void set_up(unsigned workers, size_t spares)
{
	sim_spares = spares;
	pool = sim_pool(workers);
	for (unsigned i = 0; i < 4; i++)
		sim_item_init(&items[i], NULL);
	for (unsigned i = 0; i < 2; i++)
		baton_promise_init(&promises[i]);
}

static void submit(void *argument)
{
	sim_require(sim_item_submit(argument, pool) == 0);
}

/* Every place is held, or was left at the end; nobody is counted twice or forgotten. */
static void end(unsigned given)
{
	for (unsigned i = 0; i < given; i++)
		sim_item_wait(&items[i]);
	sim_join_started();
	sim_require(baton_pool_destroy(pool) == 0);
	sim_items_settled(items, given);
	sim_no_leaks();
}

static void fulfil(unsigned index)
{
	sim_require(baton_future_complete(&promises[index], 0, NULL) == 0);
}

static void wait_for_0(struct sim_item *item)
{
	sim_require(baton_future_wait(&promises[0]) == 0);
}

static void wait_for_1(struct sim_item *item)
{
	sim_require(baton_future_wait(&promises[1]) == 0);
}

static void fulfil_0(struct sim_item *item)
{
	fulfil(0);
}

static void fulfil_1(struct sim_item *item)
{
	fulfil(1);
}

/* ---- What comes later is what is waited for ---- */

SIM_SCENARIO(spare_comes,
             "the only worker waits for a job that comes from outside: a spare runs it")
{
	set_up(1, 1);
	items[0].body = wait_for_0;
	items[1].body = fulfil_0;
	sim_start(submit, &items[0]);
	submit(&items[1]);
	end(2);
}

static void give_and_wait(struct sim_item *item)
{
	submit(&items[1]);
	sim_require(baton_future_wait(&promises[0]) == 0);
}

SIM_SCENARIO(spare_own_lifo, "the only worker waits for the job in its own LIFO slot")
{
	set_up(1, 1);
	items[0].body = give_and_wait;
	items[1].body = fulfil_0;
	submit(&items[0]);
	end(2);
}

SIM_SCENARIO(spare_two, "two wait, for each other's successor; two spares at most", .bound = 1)
{
	set_up(2, 2);
	items[0].body = wait_for_0;
	items[1].body = wait_for_1;
	items[2].body = fulfil_1;
	items[3].body = fulfil_0;
	submit(&items[0]);
	submit(&items[1]);
	sim_start(submit, &items[2]);
	submit(&items[3]);
	end(4);
}

SIM_SCENARIO(spare_waits_too, "a spare waits, too; another one comes", .bound = 1)
{
	set_up(1, 2);
	items[0].body = wait_for_0;
	items[1].body = wait_for_1;
	items[2].body = fulfil_1;
	items[3].body = fulfil_0;
	submit(&items[0]);
	submit(&items[1]);
	sim_start(submit, &items[2]);
	submit(&items[3]);
	end(4);
}

/* ---- Brackets ---- */

static uint32_t opened;

static void block_until_open(struct sim_item *item)
{
	baton_blocking_begin();
	while (!add_seq_cst(&opened, 0))
		sim_idle(&opened);
	baton_blocking_end();
}

static void open(struct sim_item *item)
{
	store_release(&opened, 1);
	sim_point();
}

SIM_SCENARIO(spare_bracket, "a job blocks in a bracket; one that ends that runs meanwhile")
{
	set_up(1, 1);
	items[0].body = block_until_open;
	items[1].body = open;
	submit(&items[0]);
	submit(&items[1]);
	end(2);
}

static void give_and_block(struct sim_item *item)
{
	submit(&items[1]);
	submit(&items[2]);
	baton_blocking_begin();
	baton_blocking_begin();
	while (!add_seq_cst(&opened, 0))
		sim_idle(&opened);
	baton_blocking_end();
	baton_blocking_end();
	submit(&items[3]);
}

SIM_SCENARIO(spare_bracket_hands_over, "a job's bracket hands over what it has put into its queues",
             .bound = 1)
{
	set_up(1, 1);
	items[0].body = give_and_block;
	items[1].body = open;
	submit(&items[0]);
	end(4);
}

/* Back and forth: the place may have been taken, or a spare comes in vain. */
static void block_shortly(struct sim_item *item)
{
	baton_blocking_begin();
	sim_point();
	baton_blocking_end();
	baton_blocking_begin();
	baton_blocking_end();
}

SIM_SCENARIO(spare_in_vain, "places are left and found again while jobs arrive", .bound = 1)
{
	set_up(1, 1);
	for (unsigned i = 0; i < 3; i++)
		items[i].body = block_shortly;
	sim_start(submit, &items[0]);
	sim_start(submit, &items[1]);
	submit(&items[2]);
	end(3);
}

/* ---- The end ---- */

SIM_SCENARIO(spare_shutdown, "shut down while one is inside a job without a place", .bound = 1)
{
	set_up(1, 1);
	items[0].body = wait_for_0;
	items[1].body = fulfil_0;
	submit(&items[0]);
	submit(&items[1]);
	sim_require(baton_pool_shutdown(pool) == 0);
	end(2);
}

static struct sim_topic topic;
static struct sim_note note;

static void block_and_hand_off(struct sim_item *item)
{
	block_until_open(item);
	sim_require(sim_note_submit(&note) == 0);
}

SIM_SCENARIO(spare_shutdown_hand_off, "who has no place at the shutdown may still hand off",
             .bound = 1)
{
	set_up(1, 1);
	sim_topic_init(&topic, 0, 1, baton_pool_executor(pool));
	sim_note_init(&note, &topic, false);
	items[0].body = block_and_hand_off;
	items[1].body = open;
	submit(&items[0]);
	submit(&items[1]);
	sim_require(baton_pool_shutdown(pool) == 0);
	for (unsigned i = 0; i < 2; i++)
		sim_item_wait(&items[i]);
	sim_require(baton_pool_await(pool) == 0);
	sim_require(note.fate == SIM_RAN);
	sim_require(baton_pool_destroy(pool) == 0);
	sim_items_settled(items, 2);
	sim_settled(&topic);
	sim_no_leaks();
}

static void give_late(struct sim_item *item)
{
	baton_blocking_begin();
	while (!add_seq_cst(&opened, 0))
		sim_idle(&opened);
	baton_blocking_end();
}

/* Newest first: that is the one that ends the other's wait. */
static void run_all(struct baton_job *jobs)
{
	if (!jobs)
		return;
	run_all(baton_job_next(jobs));
	baton_job_run(jobs);
}

static void shut_down(void *argument)
{
	struct baton_job *jobs;

	sim_require(baton_pool_shutdown_now(pool, &jobs) == 0);
	run_all(jobs);
}

SIM_SCENARIO(spare_shutdown_now, "shutdown_now while one is inside a job without a place",
             .bound = 1)
{
	set_up(1, 1);
	items[0].body = give_late;
	items[1].body = open;
	submit(&items[0]);
	submit(&items[1]);
	sim_start(shut_down, NULL);
	end(2);
}

/* ---- No spare can be had ---- */

static void wait_for_note(struct sim_item *item)
{
	sim_note_wait(&note);
}

static void submit_note(void *argument)
{
	sim_require(sim_note_submit(argument) == 0);
}

enum lack { NO_SPARES, NO_THREAD, NO_RECORD };

/* The worker sleeps before the note comes, and must be told. */
static void without(enum lack lack)
{
	set_up(1, lack == NO_SPARES ? BATON_POOL_NO_SPARES : 1);
	sim_topic_init(&topic, 0, 1, baton_pool_executor(pool));
	sim_note_init(&note, &topic, true);
	items[0].body = wait_for_note;
	submit(&items[0]);
	if (lack == NO_THREAD)
		sim_fail_thread(1);
	if (lack == NO_RECORD)
		sim_fail_allocation(1);
	submit_note(&note);
	sim_item_wait(&items[0]);
	sim_fail_allocation(0); /* no spare was called */
	sim_calm(true);
	sim_topic_close(&topic);
	sim_calm(false);
	end(1);
	sim_settled(&topic);
}

SIM_SCENARIO(spare_fails, "no spare can be started: the sleeping worker helps", .ordered = true)
{
	without(NO_THREAD);
}

SIM_SCENARIO(spare_none, "no spares are wanted: the sleeping worker helps", .ordered = true)
{
	without(NO_SPARES);
}

SIM_SCENARIO(spare_ends, "the spare has no memory for its record: the sleeping worker helps",
             .ordered = true)
{
	without(NO_RECORD);
}

/* ---- Retirement ---- */

static void give_again(void *argument)
{
	submit(&items[2]);
	submit(&items[3]);
}

SIM_SCENARIO(spare_retires, "a spare that was idle ends; the next one joins it", .bound = 1)
{
	struct baton_pool_stats stats;

	set_up(1, 1);
	items[0].body = wait_for_0;
	items[1].body = fulfil_0;
	items[2].body = wait_for_1;
	items[3].body = fulfil_1;
	submit(&items[0]);
	submit(&items[1]);
	sim_item_wait(&items[0]);
	sim_item_wait(&items[1]);
	give_again(NULL);
	sim_item_wait(&items[2]);
	sim_item_wait(&items[3]);
	baton_pool_stats_read(pool, &stats);
	sim_require(stats.spares <= 1);
	end(4);
}
