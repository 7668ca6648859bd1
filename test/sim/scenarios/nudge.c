/* SPDX-License-Identifier: MIT */
/*
 * The executor never comes: whoever is asleep in a wait is nudged, helps, and passes a nudge on
 * that it cannot use (thread.h, T2 and T3). A lost one is a deadlock.
 */
#include "support.h"

static struct sim_shelf shelf;
static struct sim_topic topics[2];
static struct sim_note notes[6];

static void begin(uint32_t limit)
{
	sim_shelf_init(&shelf, 1, 0);
	for (int i = 0; i < 2; i++)
		sim_topic_init(&topics[i], limit, 64, &shelf.executor);
}

/* The jobs are run only now. */
static void end(void)
{
	sim_join_all();
	while (sim_shelf_run(&shelf))
		;
	for (int i = 0; i < 2; i++) {
		sim_settled(&topics[i]);
		sim_topic_close(&topics[i]);
	}
	sim_no_leaks();
}

static void init(unsigned first, unsigned count, struct sim_topic *topic, bool with_future)
{
	for (unsigned i = first; i < first + count; i++)
		sim_note_init(&notes[i], topic, with_future);
}

SIM_SCENARIO(nudge_1, "a waiter sleeps until the runner hands off: it is nudged, and helps")
{
	begin(1);
	init(0, 1, &topics[0], true);
	init(2, 2, &topics[0], false);
	sim_start(sim_does_submit_and_wait, &notes[0]);
	sim_start(sim_does_submit_two, &notes[2]);
	end();
}

SIM_SCENARIO(nudge_2, "two sleepers of one resource: the second is nudged by the first", .bound = 1)
{
	begin(1);
	init(0, 2, &topics[0], true);
	init(2, 2, &topics[0], false);
	sim_start(sim_does_submit_and_wait, &notes[0]);
	sim_start(sim_does_submit_and_wait, &notes[1]);
	sim_start(sim_does_submit_two, &notes[2]);
	end();
}

static void wait_in_time(struct sim_note *note)
{
	uint64_t deadline = sim_in(3000);
	int status = baton_future_wait_until(&note->future, deadline);

	sim_require(status == 0 || status == -ETIMEDOUT);
}

static void submit_and_leave(void *argument)
{
	sim_does_submit(argument);
	wait_in_time(argument);
}

SIM_SCENARIO(nudge_leaver, "the one that is nudged leaves, out of time: it passes it on",
             .bound = 1)
{
	begin(1);
	init(0, 2, &topics[0], true);
	init(2, 2, &topics[0], false);
	sim_start(sim_does_submit_and_wait, &notes[0]);
	sim_start(submit_and_leave, &notes[1]);
	sim_start(sim_does_submit_two, &notes[2]);
	end();
	sim_note_over(&notes[1]);
}

static void submit_and_wait_for_any(void *argument)
{
	struct baton_future *const futures[] = {&notes[4].future, &notes[0].future};
	size_t index = 2;

	sim_does_submit(argument);
	sim_require(baton_future_wait_any(futures, 2, &index) == 0);
	sim_require(index == 1);
	sim_note_over(argument);
}

SIM_SCENARIO(nudge_any, "who waits for any of two, the first never fulfilled, is nudged")
{
	begin(1);
	init(0, 1, &topics[0], true);
	baton_promise_init(&notes[4].future);
	init(2, 2, &topics[0], false);
	sim_start(submit_and_wait_for_any, &notes[0]);
	sim_start(sim_does_submit_two, &notes[2]);
	end();
}

static void submit_two_and_wait_for_all(void *argument)
{
	struct baton_future *const futures[] = {&notes[0].future, &notes[1].future};

	sim_does_submit(&notes[0]);
	sim_does_submit(&notes[1]);
	sim_require(baton_future_wait_all(futures, 2) == 0);
	sim_note_over(&notes[0]);
	sim_note_over(&notes[1]);
}

SIM_SCENARIO(nudge_all, "who waits for all of two resources' helps both", .bound = 1)
{
	begin(1);
	init(0, 1, &topics[0], true);
	init(1, 1, &topics[1], true);
	init(2, 1, &topics[0], false);
	init(3, 1, &topics[1], false);
	sim_start(submit_two_and_wait_for_all, NULL);
	sim_start(sim_does_submit, &notes[2]);
	sim_start(sim_does_submit, &notes[3]);
	end();
}

static void await(void *argument)
{
	sim_does_submit(argument);
	sim_require(baton_resource_await(&topics[0].resource) == 0);
}

SIM_SCENARIO(nudge_await, "an awaiter helps where nobody else comes", .bound = 1)
{
	begin(1);
	init(0, 1, &topics[0], false);
	init(2, 2, &topics[0], false);
	sim_start(await, &notes[0]);
	sim_start(sim_does_submit_two, &notes[2]);
	end();
}

/* ---- Obstructed by another visitor ---- */

static void wait_only(void *argument)
{
	struct sim_note *note = argument;

	sim_require(baton_future_wait(&note->future) == 0);
}

SIM_SCENARIO(nudge_obstructed, "a waiter whom a canceller obstructs looks again when it has left")
{
	begin(10);
	init(0, 1, &topics[0], true);
	sim_require(sim_note_submit_later(&notes[0]) == 0);
	sim_start(sim_does_cancel, &notes[0]);
	sim_start(wait_only, &notes[0]);
	end();
}

SIM_SCENARIO(nudge_2_waiters, "two waiters of one future: one helps, the other is woken")
{
	begin(10);
	init(0, 1, &topics[0], true);
	sim_require(sim_note_submit_later(&notes[0]) == 0);
	sim_start(wait_only, &notes[0]);
	sim_start(wait_only, &notes[0]);
	end();
}

SIM_SCENARIO(nudge_pushed, "a task is pushed while a helper that finds nothing has the baton",
             .bound = 1)
{
	begin(10);
	init(0, 3, &topics[0], true);
	sim_require(sim_note_submit_later(&notes[0]) == 0);
	sim_start(sim_does_wait, &notes[0]);
	sim_start(sim_does_submit_and_wait, &notes[1]);
	sim_start(sim_does_submit_and_wait, &notes[2]);
	end();
}

static void wait_for_any(void *argument)
{
	struct baton_future *const futures[] = {&notes[0].future, &notes[4].future};
	size_t index = 2;

	sim_require(baton_future_wait_any(futures, 2, &index) == 0);
	sim_require(index == 0);
}

SIM_SCENARIO(nudge_any_obstructed, "who waits for any looks again when a visitor has left",
             .bound = 1)
{
	begin(10);
	init(0, 1, &topics[0], true);
	baton_promise_init(&notes[4].future);
	sim_require(sim_note_submit_later(&notes[0]) == 0);
	sim_start(wait_for_any, NULL);
	sim_start(sim_does_cancel, &notes[0]);
	end();
}

/* It enters no task, but borrows the baton to look for marks. */
static void await_in_time(void *none)
{
	uint64_t deadline = sim_in(1000000);
	int status = baton_resource_await_until(&topics[0].resource, deadline);

	sim_require(status == 0 || status == -ETIMEDOUT);
}

/* A queued resource without a task: its job lies on the shelf, a helper has run what there was. */
static void empty(void)
{
	begin(10);
	init(5, 1, &topics[0], true);
	sim_require(sim_note_submit_later(&notes[5]) == 0);
	sim_note_wait(&notes[5]);
}

SIM_SCENARIO(nudge_empty, "who looks while a helper that finds nothing has the baton looks again",
             .bound = 1)
{
	empty();
	init(0, 1, &topics[0], true);
	sim_start(await_in_time, NULL);
	sim_start(sim_does_submit_and_wait, &notes[0]);
	end();
}

/* ---- Not asleep ---- */

static void goes_on_later(struct sim_note *note)
{
	for (int i = 0; i < 3; i++)
		sim_yield();
}

static void wait_and_fulfil(void *argument)
{
	wait_only(argument);
	sim_require(baton_future_complete(&notes[4].future, 0, NULL) == 0);
}

static void wait_for_both(void *argument)
{
	struct baton_future *const futures[] = {&notes[4].future, &notes[0].future};

	sim_require(baton_future_wait_all(futures, 2) == 0);
}

SIM_SCENARIO(nudge_all_obstructed, "who waits for all, the second being helped, sleeps")
{
	begin(10);
	init(0, 1, &topics[0], true);
	notes[0].body = goes_on_later;
	baton_promise_init(&notes[4].future);
	sim_require(sim_note_submit_later(&notes[0]) == 0);
	sim_start(wait_and_fulfil, &notes[0]);
	sim_start(wait_for_both, NULL);
	end();
}
