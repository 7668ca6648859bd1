/* SPDX-License-Identifier: MIT */
/*
 * The pool: jobs from outside and from workers, stealing, parking, hand-off.
 */
#include "jobs.h"
#include "support.h"

#define ITEMS 10

static struct baton_pool *pool;
static struct sim_item items[ITEMS];
static struct sim_topic topic;
static struct sim_note notes[4];

static void set_up_awake(unsigned workers)
{
	pool = sim_pool_awake(workers);
	for (unsigned i = 0; i < ITEMS; i++)
		sim_item_init(&items[i], NULL);
}

static void set_up(unsigned workers)
{
	set_up_awake(workers);
	sim_settle();
}

static void end(unsigned given)
{
	for (unsigned i = 0; i < given; i++)
		sim_item_wait(&items[i]);
	sim_calm(true);
	sim_join_started();
	sim_require(baton_pool_destroy(pool) == 0);
	sim_items_settled(items, given);
}

static void submit(void *argument)
{
	sim_require(sim_item_submit(argument, pool) == 0);
}

static void wait_for_next(struct sim_item *item)
{
	sim_item_wait(item + 1);
}

/* ---- From outside ---- */

SIM_SCENARIO(pool_submit, "a job for the only worker, which sleeps")
{
	set_up(1);
	submit(&items[0]);
	end(1);
}

SIM_SCENARIO(pool_submit_2, "the second job comes while the worker goes to sleep again")
{
	set_up(1);
	submit(&items[0]);
	sim_item_wait(&items[0]);
	submit(&items[1]);
	end(2);
}

SIM_SCENARIO(pool_submitters, "two threads' jobs for one worker", .bound = 1)
{
	set_up(1);
	sim_start(submit, &items[1]);
	submit(&items[0]);
	end(2);
}

SIM_SCENARIO(pool_second_worker, "the first job waits for the second: the other worker has it")
{
	set_up(2);
	items[0].body = wait_for_next;
	submit(&items[0]);
	submit(&items[1]);
	end(2);
}

SIM_SCENARIO(pool_start, "a pool's workers start, a job comes, the pool ends")
{
	struct baton_pool_options options = {.workers = 1};

	sim_require(baton_pool_create(&options, &pool) == 0);
	sim_item_init(&items[0], NULL);
	submit(&items[0]);
	sim_require(baton_pool_destroy(pool) == 0);
	sim_items_settled(items, 1);
	sim_require(sim_allocated() == 2); /* the threads' records, which stay */
}

/* ---- From workers ---- */

static void submit_two(struct sim_item *item)
{
	submit(&items[1]);
	submit(&items[2]);
}

static void submit_and_wait(struct sim_item *item)
{
	submit(item + 1);
	sim_item_wait(item + 1);
}

static void submit_six(struct sim_item *item)
{
	for (int i = 1; i <= 6; i++)
		submit(item + i);
}

SIM_SCENARIO(pool_lifo, "a worker's jobs: the newest first, if it is alone")
{
	set_up(1);
	items[0].body = submit_two;
	submit(&items[0]);
	end(3);
	sim_require(items[2].number == 1 && items[1].number == 2);
}

SIM_SCENARIO(pool_steal, "a worker's jobs beside a thief")
{
	set_up(2);
	items[0].body = submit_two;
	submit(&items[0]);
	end(3);
}

SIM_SCENARIO(pool_steal_lifo, "the newest job of a worker that stays in a job is stolen")
{
	set_up(2);
	items[0].body = submit_and_wait;
	submit(&items[0]);
	end(2);
}

SIM_SCENARIO(pool_steal_lifo_park, "the same while the thief goes to sleep for the first time",
             .bound = 1)
{
	set_up_awake(2);
	items[0].body = submit_and_wait;
	submit(&items[0]);
	end(2);
}

SIM_SCENARIO(pool_steal_lifo_again, "the same job twice over: the thief is robbed", .bound = 1)
{
	set_up(3);
	items[0].body = submit_and_wait;
	items[1].body = submit_and_wait;
	submit(&items[0]);
	end(3);
}

SIM_SCENARIO(pool_overflow, "a full run queue: half goes to the injection queue")
{
	set_up(1);
	items[0].body = submit_six;
	submit(&items[0]);
	submit(&items[7]);
	end(8);
}

SIM_SCENARIO(pool_overflow_steal, "the same beside a thief", .bound = 1)
{
	set_up(2);
	items[0].body = submit_six;
	submit(&items[0]);
	end(7);
}

/* Puts itself back again and again, as a resource that never has enough. */
static void submit_more(struct sim_item *item)
{
	if (item < &items[6])
		submit(item + 1);
}

SIM_SCENARIO(pool_tick, "a worker that makes its own jobs comes to one from outside")
{
	set_up(1);
	items[0].body = items[1].body = items[2].body = submit_more;
	items[3].body = items[4].body = items[5].body = submit_more;
	submit(&items[0]);
	sim_item_wait(&items[1]);
	submit(&items[7]);
	end(8);
}

/* ---- Resources ---- */

static void submit_note(void *argument)
{
	sim_require(sim_note_submit(argument) == 0);
}

static void set_up_topic(unsigned workers, uint32_t limit, unsigned note_count)
{
	set_up(workers);
	sim_topic_init(&topic, limit, 1, baton_pool_executor(pool));
	for (unsigned i = 0; i < note_count; i++)
		sim_note_init(&notes[i], &topic, false);
}

static void end_topic(unsigned given)
{
	sim_join_started();
	sim_topic_close(&topic);
	end(given);
	sim_settled(&topic);
}

SIM_SCENARIO(pool_hand_off, "capture limit 1: the pool takes over, the submitter goes home")
{
	set_up_topic(1, 1, 3);
	sim_start(submit_note, &notes[0]);
	submit_note(&notes[1]);
	submit_note(&notes[2]);
	end_topic(0);
}

SIM_SCENARIO(pool_limit_0, "all is run by workers, one quantum of one task after the other")
{
	set_up_topic(2, 0, 2);
	submit_note(&notes[0]);
	submit_note(&notes[1]);
	end_topic(0);
}

SIM_SCENARIO(pool_quantum, "quantum 1: a job from outside comes between a resource's tasks",
             .bound = 1)
{
	set_up_topic(1, 0, 2);
	submit_note(&notes[0]);
	submit_note(&notes[1]);
	submit(&items[0]);
	end_topic(1);
}

static void submit_later(struct sim_note *note)
{
	sim_note_begin(note);
	sim_require(sim_note_end(note, baton_submit_later(&topic.resource, &note->task)) == 0);
}

static struct sim_item gate;

static void wait_at_gate(struct sim_item *item)
{
	sim_item_wait(&gate);
}

/* The worker puts the resource back without a word, and then takes another job first, in which it
 * stays: who waits for the resource must be told. */
SIM_SCENARIO(pool_unannounced, "what a worker has put back is helped if it takes something else",
             .bound = 1)
{
	set_up_topic(1, 1, 2);
	sim_item_init(&gate, NULL);
	sim_note_init(&notes[2], &topic, true);
	items[0].body = wait_at_gate;
	sim_start(submit, &items[0]);
	for (unsigned i = 0; i < 3; i++)
		submit_later(&notes[i]);
	sim_note_wait(&notes[2]);
	sim_item_is_over(&gate);
	end_topic(1);
}
