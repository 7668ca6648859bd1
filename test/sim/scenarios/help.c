/* SPDX-License-Identifier: MIT */
/*
 * Helping: a waiter borrows the baton of a queued resource, while its job may be popped.
 */
#include "support.h"

#include <baton/detach.h>

static struct sim_stage stage;
static struct sim_note *const notes = stage.notes;
static struct sim_topic *const topic = &stage.topic;

static void over(unsigned from, unsigned to)
{
	for (unsigned i = from; i < to; i++)
		sim_note_over(&notes[i]);
	sim_stage_end(&stage);
}

SIM_SCENARIO(help_popped, "a helper up to its own task, beside the thread that pops the job")
{
	sim_stage_init(&stage, 10, 64, 2);
	sim_start(sim_does_wait, &notes[0]);
	sim_drive(stage.manual);
	over(1, 2);
}

SIM_SCENARIO(help_all, "a helper of the last task; one more is submitted", .bound = 1)
{
	sim_stage_init(&stage, 10, 1, 2);
	sim_note_init(&notes[2], topic, false);
	sim_start(sim_does_wait, &notes[1]);
	sim_start(sim_does_submit, &notes[2]);
	sim_drive(stage.manual);
	sim_note_over(&notes[0]);
	sim_stage_end(&stage);
}

SIM_SCENARIO(help_2, "two helpers of two tasks", .bound = 1)
{
	sim_stage_init(&stage, 10, 64, 2);
	sim_start(sim_does_wait, &notes[0]);
	sim_start(sim_does_wait, &notes[1]);
	sim_drive(stage.manual);
	over(2, 2);
}

/*
 * No thread drives the executor before both helpers are done. The second helper may have looked at
 * the turn before the first one gave the baton back: then only the CAS that borrows acquires.
 */
SIM_SCENARIO(edge_borrow, "[turn.baton] a helper has what the helper before it did", .bound = 2)
{
	sim_stage_init(&stage, 10, 64, 2);
	sim_start(sim_does_wait, &notes[0]);
	sim_start(sim_does_wait, &notes[1]);
	sim_join_all();
	sim_drive(stage.manual);
	sim_stage_end(&stage);
}

SIM_SCENARIO(help_canceller, "a helper, a canceller of the next task, the executor's thread",
             .bound = 1)
{
	sim_stage_init(&stage, 10, 64, 2);
	sim_start(sim_does_wait, &notes[0]);
	sim_start(sim_does_cancel, &notes[1]);
	sim_drive(stage.manual);
	over(1, 2);
}

SIM_SCENARIO(help_own_canceller, "a helper of a task that is being cancelled", .bound = 1)
{
	sim_stage_init(&stage, 10, 64, 2);
	sim_start(sim_does_cancel, &notes[1]);
	sim_require(baton_future_wait(&notes[1].future, NULL) == 0);
	sim_drive(stage.manual);
	over(0, 2);
}

/* It helps, and must not be the one that runs. */
SIM_SCENARIO(help_later, "limit 0: who waits elsewhere runs nothing", .bound = 1)
{
	sim_stage_init(&stage, 0, 64, 2);
	sim_start(sim_does_wait, &notes[0]);
	sim_start(sim_does_cancel, &notes[1]);
	sim_drive(stage.manual);
	over(1, 2);
}

static void await(void *argument)
{
	sim_require(baton_resource_await(&topic->resource, NULL) == 0);
}

SIM_SCENARIO(help_await, "a helper and an awaiter", .bound = 1)
{
	sim_stage_init(&stage, 10, 64, 2);
	sim_start(sim_does_wait, &notes[0]);
	sim_start(await, NULL);
	sim_drive(stage.manual);
	over(1, 2);
}

/* ---- The end of a helper's wait ---- */

static struct baton_detached token;

static void submit_next(struct sim_note *note)
{
	sim_require(sim_note_submit(note + 1) == 0);
}

static void detach(struct sim_note *note)
{
	sim_require(baton_detach(&token, 0) == 0);
}

/* The waiter has not entered the task behind the end of its wait. */
static void left_to_others(const struct sim_note *note)
{
	sim_require(note->fate != SIM_RAN || note->runner != sim_thread());
}

static void await_and_look(void *argument)
{
	await(NULL);
	left_to_others(argument);
}

SIM_SCENARIO(help_await_behind, "an awaiter leaves what is submitted behind its mark to others")
{
	sim_stage_init(&stage, 10, 64, 1);
	sim_note_init(&notes[1], topic, true);
	notes[0].body = submit_next;
	sim_start(await_and_look, &notes[1]);
	sim_drive(stage.manual);
	over(0, 2);
}

static void wait_and_look(void *argument)
{
	struct sim_note *note = argument;

	sim_require(baton_future_wait(&note->future, NULL) == 0);
	left_to_others(note + 1);
}

static void complete(void *argument)
{
	sim_require(baton_detached_complete(&token, 0, NULL) == 0);
}

static void detach_and_complete_elsewhere(struct sim_note *note)
{
	detach(note);
	sim_start(complete, NULL);
}

SIM_SCENARIO(help_detached, "a helper leaves what is behind its task, which detaches, to others",
             .bound = 1)
{
	baton_detached_init(&token);
	sim_stage_init(&stage, 10, 64, 2);
	notes[0].body = detach_and_complete_elsewhere;
	sim_start(wait_and_look, &notes[0]);
	sim_drive(stage.manual);
	over(1, 2);
}

static void await_in_time(void *argument)
{
	struct timespec deadline = sim_in(1000000000);
	int status = baton_resource_await(&topic->resource, &deadline);

	sim_require(status == 0 || status == -ETIMEDOUT);
	left_to_others(argument);
}

SIM_SCENARIO(help_in_time, "an awaiter with a deadline enters nothing, beside a helper", .bound = 1)
{
	sim_stage_init(&stage, 10, 64, 2);
	sim_start(sim_does_wait, &notes[0]);
	sim_start(await_in_time, &notes[1]);
	sim_drive(stage.manual);
	over(1, 2);
}

SIM_SCENARIO(help_finaliser, "the finaliser comes when the last visitor has gone")
{
	sim_stage_init(&stage, 10, 64, 1);
	sim_require(sim_topic_close_then(topic) == 0);
	sim_start(sim_does_wait, &notes[0]);
	sim_drive(stage.manual);
	sim_stage_end_finalised(&stage);
}

SIM_SCENARIO(help_finaliser_2, "a helper, a canceller, and a finaliser after them", .bound = 1)
{
	sim_stage_init(&stage, 10, 64, 2);
	sim_require(sim_topic_close_then(topic) == 0);
	sim_start(sim_does_wait, &notes[0]);
	sim_start(sim_does_cancel, &notes[1]);
	sim_drive(stage.manual);
	sim_note_over(&notes[1]);
	sim_stage_end_finalised(&stage);
}

SIM_SCENARIO(help_finaliser_later, "limit 0: the finaliser, too, is the executor's", .bound = 1)
{
	sim_stage_init(&stage, 0, 64, 2);
	sim_require(sim_topic_close_then(topic) == 0);
	sim_start(sim_does_wait, &notes[0]);
	sim_start(sim_does_cancel, &notes[1]);
	sim_drive(stage.manual);
	sim_require(topic->finalised_by == 0);
	sim_note_over(&notes[1]);
	sim_stage_end_finalised(&stage);
}

/* ---- An executor that refuses ---- */

static struct sim_shelf shelf;

SIM_SCENARIO(help_refused, "a hand-off is refused, while a helper has taken the baton")
{
	sim_shelf_init(&shelf, 1, 1);
	sim_topic_init(topic, 1, 64, &shelf.executor);
	for (int i = 0; i < 3; i++)
		sim_note_init(&notes[i], topic, i == 1);
	sim_start(sim_does_submit_two, &notes[0]);
	sim_start(sim_does_submit, &notes[2]);
	sim_shelf_drive(&shelf);
	sim_note_over(&notes[1]);
	sim_settled(topic);
	sim_topic_close(topic);
	sim_no_leaks();
}

static void submit_later(void *argument)
{
	struct sim_note *note = argument;
	int status = sim_note_submit_later(note);

	sim_require(status == 0 || status == -ESHUTDOWN || status == -ECANCELED);
	if (status == -ESHUTDOWN)
		sim_require(baton_future_state(&note->future) == BATON_PENDING);
	else
		sim_note_wait(note);
}

SIM_SCENARIO(help_refused_later, "submit_later: refused, or a helper has run it and it is accepted",
             .bound = 1)
{
	sim_shelf_init(&shelf, 1, 1);
	sim_topic_init(topic, 10, 64, &shelf.executor);
	sim_note_init(&notes[0], topic, true);
	sim_note_init(&notes[1], topic, true);
	sim_start(submit_later, &notes[0]);
	sim_start(sim_does_submit_and_wait, &notes[1]);
	sim_shelf_drive(&shelf);
	sim_settled(topic);
	sim_topic_close(topic);
	sim_no_leaks();
}
