/* SPDX-License-Identifier: MIT */
/*
 * Helping: a waiter borrows the baton of a queued resource, while its job may be popped.
 */
#include "support.h"

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
	sim_require(baton_future_wait(&notes[1].future) == 0);
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
	(void)argument;
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
		sim_require(baton_future_poll(&note->future) == BATON_PENDING);
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
