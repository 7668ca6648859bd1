/* SPDX-License-Identifier: MIT */
/*
 * Workers that wait inside jobs: what they wait for is queued on their own pool, and when all of
 * them wait, a job that arrives wakes them to help (P2 in pool.c).
 */
#include "jobs.h"
#include "support.h"

static struct baton_pool *pool;
static struct sim_item items[4];
static struct sim_topic topics[2];
static struct sim_note notes[4];
static struct sim_item gate;

static void set_up(unsigned workers, uint32_t limit)
{
	pool = sim_pool(workers);
	for (unsigned i = 0; i < 4; i++)
		sim_item_init(&items[i], NULL);
	sim_item_init(&gate, NULL);
	for (unsigned i = 0; i < 2; i++)
		sim_topic_init(&topics[i], limit, 1, baton_pool_executor(pool));
	for (unsigned i = 0; i < 4; i++)
		sim_note_init(&notes[i], &topics[i / 2], true);
}

static void submit(void *argument)
{
	sim_require(sim_item_submit(argument, pool) == 0);
}

static void submit_note(void *argument)
{
	sim_require(sim_note_submit(argument) == 0);
}

static void end(unsigned given)
{
	for (unsigned i = 0; i < given; i++)
		sim_item_wait(&items[i]);
	sim_calm(true);
	sim_join_started();
	for (unsigned i = 0; i < 2; i++)
		sim_topic_close(&topics[i]);
	sim_require(baton_pool_destroy(pool) == 0);
	sim_items_settled(items, given);
	sim_settled(&topics[0]);
	sim_settled(&topics[1]);
}

/* ---- The only worker waits for what is queued behind it ---- */

static void note_and_wait(struct sim_item *item)
{
	struct sim_note *note = &notes[2 * (item - items)];

	submit_note(note);
	sim_note_wait(note);
}

SIM_SCENARIO(blocked_own, "the only worker waits in a job for a task of its own pool")
{
	set_up(1, 0);
	items[0].body = note_and_wait;
	submit(&items[0]);
	end(1);
}

SIM_SCENARIO(blocked_own_2, "two workers wait in jobs for tasks of their own pool", .bound = 1)
{
	set_up(2, 0);
	items[0].body = note_and_wait;
	items[1].body = note_and_wait;
	submit(&items[0]);
	submit(&items[1]);
	end(2);
}

static void note_and_wait_for_any(struct sim_item *item)
{
	struct sim_note *note = &notes[2 * (item - items)];
	struct baton_future never = BATON_PROMISE_INIT;
	struct baton_future *const any[] = {&never, &note->future};

	submit_note(note);
	sim_require(baton_future_wait_any(any, 2, NULL) == 0);
	sim_note_over(note);
}

SIM_SCENARIO(blocked_any, "the only worker waits for any of two, one a task of its own pool")
{
	set_up(1, 0);
	items[0].body = note_and_wait_for_any;
	submit(&items[0]);
	end(1);
}

static void note_in_note(struct sim_note *note)
{
	submit_note(&notes[2]);
	sim_note_wait(&notes[2]);
}

SIM_SCENARIO(blocked_in_task, "the only worker waits inside a task for another resource's task")
{
	set_up(1, 0);
	notes[0].body = note_in_note;
	submit_note(&notes[0]);
	sim_note_wait(&notes[0]);
	end(0);
}

/* ---- A job that waits comes before one that is waited for ---- */

static struct baton_future promise;

static void wait_for_promise(struct sim_item *item)
{
	sim_require(baton_future_wait(&promise) == 0);
}

static void wait_at_gate(struct sim_note *note);

static void submit_and_open(void *argument)
{
	submit(argument);
	sim_item_is_over(&gate);
}

/* Thread 2 hands off to a worker that is awake, or woken; which then takes that job first, and
 * waits in it. Thread 0, who is asleep by then, must be told to help. */
static void behind(unsigned workers)
{
	set_up(workers, 1);
	notes[0].body = wait_at_gate;
	baton_promise_init(&promise);
	for (unsigned i = 0; i < workers; i++)
		items[i].body = wait_for_promise;
	sim_calm(true);
	sim_start(submit_note, &notes[0]);
	sim_settle();
	submit_note(&notes[1]);
	sim_calm(false);
	for (unsigned i = 1; i < workers; i++)
		submit(&items[i]);
	sim_start(submit_and_open, &items[0]);
	sim_note_wait(&notes[1]);
	sim_require(baton_future_complete(&promise, 0, NULL) == 0);
	end(workers);
}

SIM_SCENARIO(blocked_behind, "the only worker waits in a job; what it left in the queue is helped",
             .bound = 1)
{
	behind(1);
}

SIM_SCENARIO(blocked_behind_2, "the same with two workers", .bound = 1)
{
	behind(2);
}

/* ---- A hand-off arrives when all workers wait for it ---- */

static void wait_at_gate(struct sim_note *note)
{
	sim_item_wait(&gate);
}

/* Thread `start + 1` has captured the topic, and will hand it off when the gate is open. */
static void set_up_held(unsigned workers)
{
	set_up(workers, 1);
	notes[0].body = wait_at_gate;
	sim_calm(true);
	sim_start(submit_note, &notes[0]);
	sim_settle();
	submit_note(&notes[1]);
	sim_calm(false);
}

static void wait_for_note(struct sim_item *item)
{
	sim_require(baton_future_wait(&notes[1].future) == 0);
}

SIM_SCENARIO(blocked_hand_off, "a resource is handed off while its waiter, the only worker, dozes",
             .bound = 1)
{
	set_up_held(1);
	items[0].body = wait_for_note;
	submit(&items[0]);
	sim_item_is_over(&gate);
	end(1);
}

SIM_SCENARIO(blocked_hand_off_2, "the same with two workers, who wait for the same task",
             .bound = 1)
{
	set_up_held(2);
	items[0].body = wait_for_note;
	items[1].body = wait_for_note;
	submit(&items[0]);
	submit(&items[1]);
	sim_item_is_over(&gate);
	end(2);
}

SIM_SCENARIO(blocked_asleep, "the same when both are asleep by then", .bound = 1)
{
	set_up_held(2);
	items[0].body = wait_for_note;
	items[1].body = wait_for_note;
	submit(&items[0]);
	submit(&items[1]);
	sim_settle();
	sim_item_is_over(&gate);
	end(2);
}
