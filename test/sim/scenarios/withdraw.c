/* SPDX-License-Identifier: MIT */
/*
 * A job is taken out of the pool's queues (a waiter does this, when only marks are left of its
 * resource). All others are put back: each of them runs once, on a worker.
 */
#include "jobs.h"
#include "support.h"

#define ITEMS 5

static struct baton_pool *pool;
static struct sim_item items[ITEMS];
static struct sim_item gate; /* keeps the worker busy until the scenario opens it */
static struct baton_job *rest;
static unsigned workers;

static void wait_at_gate(struct sim_item *item)
{
	sim_item_wait(&items[0]);
}

static void set_up(unsigned count)
{
	workers = count;
	pool = sim_pool(count);
	for (unsigned i = 0; i < ITEMS; i++)
		sim_item_init(&items[i], NULL);
	sim_item_init(&gate, wait_at_gate);
}

static void submit(struct sim_item *item)
{
	sim_require(sim_item_submit(item, pool) == 0);
}

SIM_UNSEEN static void dropped(struct sim_item *item)
{
	if (item->fate != SIM_GIVEN)
		sim_fail("an item of fate %d was withdrawn", item->fate);
	item->fate = SIM_DROPPED;
}

static bool withdraw(struct sim_item *item)
{
	struct baton_executor *executor = baton_pool_executor(pool);
	bool found = executor->_ops->withdraw(executor, &item->plain.job);

	if (found)
		dropped(item);
	return found;
}

static void recall_outside(void *argument)
{
	struct sim_item *item = argument;
	struct baton_executor *executor = baton_pool_executor(pool);

	if (executor->_ops->recall(executor, &item->plain.job))
		dropped(item);
}

static void withdraw_outside(void *argument)
{
	(void)withdraw(argument);
}

SIM_UNSEEN static void check_getters(unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		if (items[i].fate == SIM_GOT && (!items[i].getter || items[i].getter > workers))
			sim_fail("item %u ran on thread %u, which is no worker", i,
			         items[i].getter);
}

static void end(unsigned given)
{
	sim_join_started();
	sim_require(baton_pool_destroy(pool) == 0);
	sim_items_settled(items, given);
	check_getters(given);
}

static void open_gate(void)
{
	sim_item_is_over(&items[0]);
}

/* The worker is in a job, two more are in the injection queue. */
static void set_up_busy(void)
{
	set_up(1);
	sim_calm(true);
	submit(&gate);
	sim_settle();
	submit(&items[1]);
	submit(&items[2]);
	(void)sim_item_give(&items[0]);
	sim_item_refused(&items[0]);
	sim_calm(false);
}

SIM_SCENARIO(withdraw_queued, "beside the worker that comes for it", .bound = 1)
{
	set_up_busy();
	sim_start(withdraw_outside, &items[1]);
	open_gate();
	end(3);
}

SIM_SCENARIO(withdraw_two, "two threads withdraw a job each: both find it, or a worker has",
             .bound = 1)
{
	set_up_busy();
	sim_start(withdraw_outside, &items[1]);
	sim_start(withdraw_outside, &items[2]);
	open_gate();
	end(3);
}

SIM_SCENARIO(withdraw_recall, "one withdraws, one recalls: both find theirs, or a worker has",
             .bound = 1)
{
	set_up_busy();
	sim_start(recall_outside, &items[1]);
	sim_start(withdraw_outside, &items[2]);
	open_gate();
	end(3);
}

static void submit_and_withdraw(struct sim_item *item)
{
	submit(item + 1);
	submit(item + 2);
	(void)withdraw(item + 1);
}

SIM_SCENARIO(withdraw_in_worker, "a worker withdraws beside a thief", .bound = 1)
{
	set_up(2);
	items[0].body = submit_and_withdraw;
	submit(&items[0]);
	sim_item_wait(&items[0]);
	end(3);
}

/* ---- As the library itself does it ---- */

static struct sim_topic topic;
static struct sim_note note;
static struct baton_future promise;

static void wait_for_promise(struct sim_item *item)
{
	sim_require(baton_future_wait(&promise) == 0);
}

/* A closed topic's job is queued behind a job that waits until the topic's end has been seen. */
SIM_SCENARIO(withdraw_await, "who awaits a closed resource withdraws its job, or a worker ends it",
             .bound = 1)
{
	set_up_busy();
	sim_calm(true);
	baton_promise_init(&promise);
	sim_item_init(&items[3], wait_for_promise);
	submit(&items[3]);
	sim_topic_init(&topic, 10, 64, baton_pool_executor(pool));
	sim_note_init(&note, &topic, true);
	sim_note_begin(&note);
	sim_require(sim_note_end(&note, baton_submit_later(&topic.resource, &note.task)) == 0);
	sim_calm(false);
	open_gate();
	sim_topic_close(&topic); /* helps */
	sim_require(baton_future_complete(&promise, 0, NULL) == 0);
	sim_item_wait(&items[3]);
	end(4);
	sim_settled(&topic);
}

static void lends(void *argument)
{
	sim_require(baton__thread_attach() == 0);
	baton__self->learnt.loan_skip = 0;
	sim_does_submit(argument);
}

/* A topic's job is queued behind the gate. A submitter runs its tasks and recalls the job, beside
 * another submitter, and beside the worker if the gate is open (`early`). */
static void lend_and_recall(bool early)
{
	static struct sim_note notes[3];

	set_up_busy();
	sim_calm(true);
	sim_topic_init(&topic, 10, 64, baton_pool_executor(pool));
	for (int i = 0; i < 3; i++)
		sim_note_init(&notes[i], &topic, true);
	sim_note_begin(&notes[0]);
	sim_require(sim_note_end(&notes[0], baton_submit_later(&topic.resource, &notes[0].task)) ==
	            0);
	sim_calm(false);
	if (early)
		open_gate();
	sim_start(sim_does_submit, &notes[2]);
	lends(&notes[1]);
	for (int i = 0; i < 3; i++)
		sim_note_wait(&notes[i]);
	sim_topic_close(&topic);
	if (!early)
		open_gate();
	end(3);
	sim_settled(&topic);
}

SIM_SCENARIO(withdraw_loan, "a submitter recalls a topic's job, beside the worker and a push",
             .bound = 1)
{
	lend_and_recall(true);
}

SIM_SCENARIO(withdraw_loan_alone, "the same, while the worker has no time", .bound = 1)
{
	lend_and_recall(false);
}

/* ---- Beside the end ---- */

static void cancel_rest(void)
{
	while (rest) {
		struct baton_job *job = rest;

		rest = baton_job_next(job);
		baton_job_cancel(job);
	}
}

SIM_SCENARIO(withdraw_shutdown_now, "beside shutdown_now: the others are in the list, or refused",
             .bound = 1)
{
	set_up_busy();
	sim_start(withdraw_outside, &items[1]);
	sim_require(baton_pool_shutdown_now(pool, &rest) == 0);
	cancel_rest();
	open_gate();
	end(3);
}

SIM_SCENARIO(withdraw_recall_shutdown_now, "a recall beside shutdown_now", .bound = 1)
{
	set_up_busy();
	sim_start(recall_outside, &items[1]);
	sim_require(baton_pool_shutdown_now(pool, &rest) == 0);
	cancel_rest();
	open_gate();
	end(3);
}

SIM_SCENARIO(withdraw_recall_shutdown, "a recall beside the end of a shutdown", .bound = 1)
{
	set_up(1);
	(void)sim_item_give(&items[0]);
	sim_item_refused(&items[0]);
	submit(&items[1]);
	sim_start(recall_outside, &items[1]);
	sim_require(baton_pool_shutdown(pool) == 0);
	end(2);
}

SIM_SCENARIO(withdraw_shutdown, "beside the end of a shutdown: the others run on a worker",
             .bound = 1)
{
	set_up(1);
	(void)sim_item_give(&items[0]);
	sim_item_refused(&items[0]);
	submit(&items[1]);
	sim_start(withdraw_outside, &items[2]);
	sim_require(baton_pool_shutdown(pool) == 0);
	end(2);
}
