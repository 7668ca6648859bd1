/* SPDX-License-Identifier: MIT */
/* Tasks that submit to their own and to other resources, and wait for the result. */
#include "support.h"

static struct baton_manual *manual;
static struct sim_topic topics[3];
static struct sim_note notes[6];
static struct baton_continuation continuations[2];

static void begin(unsigned count, uint32_t limit)
{
	sim_require(baton_manual_create(&manual) == 0);
	for (unsigned i = 0; i < count; i++)
		sim_topic_init(&topics[i], limit, 64, baton_manual_executor(manual));
}

static void end(unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		sim_settled(&topics[i]);
		sim_topic_close(&topics[i]);
	}
	baton_manual_destroy(manual);
	sim_no_leaks();
}

static void submits_next(struct sim_note *note)
{
	sim_does_submit(note->argument);
}

/* notes[i] on topics[i % 2], which submits notes[i + 1] to the other one. */
static void cycle(unsigned first, unsigned length)
{
	for (unsigned i = first; i < first + length; i++) {
		sim_note_init(&notes[i], &topics[i % 2], false);
		if (i + 1 < first + length) {
			notes[i].body = submits_next;
			notes[i].argument = &notes[i + 1];
		}
	}
}

SIM_SCENARIO(nested_cycle, "A's task submits to B, B's to A, on two threads")
{
	begin(2, 10);
	cycle(0, 2);
	cycle(3, 2);
	sim_start(sim_does_submit, &notes[0]);
	sim_start(sim_does_submit, &notes[3]);
	sim_drive(manual);
	end(2);
}

SIM_SCENARIO(nested_cycle_3, "and back again", .bound = 1)
{
	begin(2, 10);
	cycle(0, 3);
	cycle(3, 3);
	sim_start(sim_does_submit, &notes[0]);
	sim_start(sim_does_submit, &notes[3]);
	sim_drive(manual);
	end(2);
}

SIM_SCENARIO(nested_cycle_limit_1, "the same with hand-offs", .bound = 1)
{
	begin(2, 1);
	cycle(0, 3);
	cycle(3, 3);
	sim_start(sim_does_submit, &notes[0]);
	sim_start(sim_does_submit, &notes[3]);
	sim_drive(manual);
	end(2);
}

static void submits_to_own(struct sim_note *note)
{
	struct sim_note *next = note->argument;

	sim_does_submit(next);
	sim_require(next->fate == SIM_ACCEPTED);
}

SIM_SCENARIO(nested_own, "what a task submits to its own resource comes after it")
{
	begin(1, 1);
	sim_note_init(&notes[0], &topics[0], false);
	sim_note_init(&notes[1], &topics[0], false);
	sim_note_init(&notes[2], &topics[0], false);
	notes[0].body = submits_to_own;
	notes[0].argument = &notes[1];
	sim_start(sim_does_submit, &notes[0]);
	sim_start(sim_does_submit, &notes[2]);
	sim_drive(manual);
	end(1);
}

/* ---- Waiting inside ---- */

static void waits_for_next(struct sim_note *note)
{
	struct sim_note *next = note->argument;

	sim_does_submit(next);
	sim_require(baton_future_wait(&next->future, NULL) == 0);
	sim_note_over(next);
}

static void wait_init(unsigned i, struct sim_topic *topic, struct sim_note *next)
{
	sim_note_init(&notes[i], topic, true);
	if (next) {
		notes[i].body = waits_for_next;
		notes[i].argument = next;
	}
}

SIM_SCENARIO(nested_wait, "a task waits for a queued resource's: it helps, or is woken", .bound = 1)
{
	begin(2, 1);
	wait_init(0, &topics[0], &notes[1]);
	wait_init(1, &topics[1], NULL);
	sim_note_init(&notes[2], &topics[1], false);
	sim_note_init(&notes[3], &topics[1], false);
	sim_start(sim_does_submit_and_wait, &notes[0]);
	sim_start(sim_does_submit_two, &notes[2]);
	sim_drive(manual);
	end(2);
}

SIM_SCENARIO(nested_wait_later, "executor's thread: it drives what it waits for itself", .bound = 1)
{
	begin(2, 0);
	wait_init(0, &topics[0], &notes[1]);
	wait_init(1, &topics[1], NULL);
	sim_start(sim_does_submit_and_wait, &notes[0]);
	sim_drive(manual);
	end(2);
}

static void waits_for_own(struct sim_note *note)
{
	struct sim_note *next = note->argument;
	void *value = NULL;

	sim_does_submit(next);
	sim_require(baton_future_wait(&next->future, NULL) == -EDEADLK);
	sim_require(baton_resource_await(&note->topic->resource, NULL) == -EDEADLK);
	sim_require(baton_call(&note->topic->resource, sim_note_run, next, &value) == -EDEADLK);
	sim_require(baton_future_wait(&note->future, NULL) == -EDEADLK);
}

SIM_SCENARIO(nested_deadlock, "a task that waits for its own resource is told", .bound = 1)
{
	begin(1, 1);
	wait_init(0, &topics[0], NULL);
	wait_init(1, &topics[0], NULL);
	notes[0].body = waits_for_own;
	notes[0].argument = &notes[1];
	sim_note_init(&notes[2], &topics[0], false);
	sim_start(sim_does_submit_and_wait, &notes[0]);
	sim_start(sim_does_submit, &notes[2]);
	sim_drive(manual);
	sim_note_over(&notes[1]);
	end(1);
}

static void waits_through_other(struct sim_note *note)
{
	struct sim_note *next = note->argument;

	/* On the other resource, by a task of this one: its wait comes back to us. */
	sim_does_submit(next);
}

static void waits_for_below(struct sim_note *note)
{
	sim_require(baton_future_wait(&((struct sim_note *)note->argument)->future, NULL) ==
	            -EDEADLK);
}

SIM_SCENARIO(nested_deadlock_below, "so is one that waits for a resource held below", .bound = 1)
{
	begin(2, 10);
	wait_init(0, &topics[0], NULL);
	notes[0].body = waits_through_other;
	notes[0].argument = &notes[1];
	sim_note_init(&notes[1], &topics[1], false);
	/* Runs on notes[0]'s thread, or its hand-off's, where notes[0] is over or running. */
	notes[1].body = waits_for_below;
	notes[1].argument = &notes[0];
	sim_note_init(&notes[2], &topics[0], false);
	sim_start(sim_does_submit, &notes[0]);
	sim_start(sim_does_submit, &notes[2]);
	sim_drive(manual);
	sim_note_over(&notes[0]);
	end(2);
}

/* ---- A chain ---- */

static void link_to(struct sim_note *from, struct sim_note *to,
                    struct baton_continuation *continuation)
{
	sim_note_begin(to);
	baton_continuation_task(continuation, &to->topic->resource, &to->task);
	baton_future_then(&from->future, continuation);
}

SIM_SCENARIO(nested_chain, "a chain through three resources, beside a submitter of the second")
{
	begin(3, 1);
	for (unsigned i = 0; i < 3; i++)
		wait_init(i, &topics[i], NULL);
	link_to(&notes[0], &notes[1], &continuations[0]);
	link_to(&notes[1], &notes[2], &continuations[1]);
	sim_note_init(&notes[3], &topics[1], false);
	sim_start(sim_does_submit_and_wait, &notes[0]);
	sim_start(sim_does_submit, &notes[3]);
	sim_drive(manual);
	sim_note_over(&notes[1]);
	sim_note_over(&notes[2]);
	end(3);
}

/* ---- Nobody takes what is left of a nested capture ---- */

static struct sim_shelf shelf;

SIM_SCENARIO(nested_refused, "a nested hand-off is refused: it runs when the stack is unwound",
             .bound = 1)
{
	sim_shelf_init(&shelf, 1, 1);
	sim_topic_init(&topics[0], 10, 64, &shelf.executor);
	sim_topic_init(&topics[1], 10, 64, &shelf.executor);
	sim_note_init(&notes[0], &topics[0], false);
	wait_init(1, &topics[1], NULL);
	notes[0].body = submits_next;
	notes[0].argument = &notes[1];
	wait_init(2, &topics[1], NULL);
	wait_init(3, &topics[1], NULL);
	sim_start(sim_does_submit, &notes[0]);
	sim_start(sim_does_submit_and_wait, &notes[2]);
	sim_start(sim_does_submit_and_wait, &notes[3]);
	sim_shelf_drive(&shelf);
	sim_note_over(&notes[1]);
	for (unsigned i = 0; i < 2; i++) {
		sim_settled(&topics[i]);
		sim_topic_close(&topics[i]);
	}
	sim_no_leaks();
}
