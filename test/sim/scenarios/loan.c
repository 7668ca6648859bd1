/* SPDX-License-Identifier: MIT */
/*
 * Loans: a submitter borrows the baton of a queued resource before it publishes its task.
 */
#include "support.h"

static struct sim_stage stage;
static struct sim_note *const notes = stage.notes;
static struct sim_topic *const topic = &stage.topic;
static struct baton_suspension suspension;

/* As a thread that has found the resource queued often enough. */
static void learn(void)
{
	sim_require(baton__thread_attach() == 0);
	baton__self->learnt.loan_skip = 0;
}

static void lends(void *argument)
{
	learn();
	sim_does_submit(argument);
}

static void lends_two(void *argument)
{
	struct sim_note *note = argument;

	lends(&note[0]);
	lends(&note[1]);
}

static void begin(uint32_t limit, unsigned queued, unsigned fresh)
{
	sim_stage_init(&stage, limit, 64, queued);
	for (unsigned i = queued; i < queued + fresh; i++)
		sim_note_init(&notes[i], topic, i % 2);
}

/* Every accepted note with a future is over. */
static void end(unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		if (notes[i].own_future && notes[i].fate != SIM_REFUSED)
			sim_note_over(&notes[i]);
}

SIM_SCENARIO(loan_popped, "a submitter borrows, beside the thread that pops the job")
{
	begin(10, 2, 1);
	sim_start(lends, &notes[2]);
	sim_drive(stage.manual);
	end(3);
	sim_stage_end(&stage);
}

SIM_SCENARIO(loan_limit_1, "the stay is over before the queue is empty")
{
	begin(1, 2, 2);
	sim_start(lends_two, &notes[2]);
	sim_drive(stage.manual);
	end(4);
	sim_stage_end(&stage);
}

SIM_SCENARIO(loan_2, "two submitters that would both borrow", .bound = 1)
{
	begin(1, 1, 4);
	sim_start(lends_two, &notes[1]);
	sim_start(lends_two, &notes[3]);
	sim_drive(stage.manual);
	end(5);
	sim_stage_end(&stage);
}

SIM_SCENARIO(loan_beside_push, "a borrower, and a submitter that pushes", .bound = 1)
{
	begin(10, 1, 3);
	sim_start(lends, &notes[1]);
	sim_start(sim_does_submit_two, &notes[2]);
	sim_drive(stage.manual);
	end(4);
	sim_stage_end(&stage);
}

static void lends_and_waits(void *argument)
{
	learn();
	sim_does_submit_and_wait(argument);
}

SIM_SCENARIO(loan_waiter, "a borrower that then waits, beside a helper", .bound = 1)
{
	begin(1, 2, 0);
	sim_note_init(&notes[2], topic, true);
	sim_start(lends_and_waits, &notes[2]);
	sim_start(sim_does_wait, &notes[0]);
	sim_drive(stage.manual);
	sim_note_over(&notes[1]);
	sim_stage_end(&stage);
}

SIM_SCENARIO(loan_canceller, "a borrower, and a canceller of a queued task", .bound = 1)
{
	begin(10, 2, 1);
	sim_start(lends, &notes[2]);
	sim_start(sim_does_cancel, &notes[1]);
	sim_drive(stage.manual);
	end(3);
	sim_stage_end(&stage);
}

static void lends_if_open(void *argument)
{
	int status;

	learn();
	status = sim_note_submit(argument);
	sim_require(status == 0 || status == -EPIPE);
}

static void closes(void *argument)
{
	sim_require(sim_topic_close_then(topic) == 0);
}

SIM_SCENARIO(loan_closed, "a borrower, and a closer with a finaliser")
{
	begin(10, 1, 1);
	topic->stays = true;
	sim_start(lends_if_open, &notes[1]);
	sim_start(closes, NULL);
	sim_drive(stage.manual);
	end(2);
	sim_stage_end_finalised(&stage);
}

SIM_SCENARIO(loan_closed_inbox, "the same, where the inbox is not empty", .bound = 2)
{
	begin(10, 2, 1);
	topic->stays = true;
	sim_start(lends_if_open, &notes[2]);
	sim_start(closes, NULL);
	sim_drive(stage.manual);
	end(3);
	sim_stage_end_finalised(&stage);
}

static void suspends(void *argument)
{
	sim_require(baton_resource_suspend(&topic->resource, &suspension) == 0);
	baton_resource_resume(&suspension);
}

SIM_SCENARIO(loan_suspended, "a borrower, and a suspender", .bound = 1)
{
	begin(10, 1, 1);
	sim_start(lends, &notes[1]);
	sim_start(suspends, NULL);
	sim_drive(stage.manual);
	end(2);
	sim_stage_end(&stage);
}

static void lends_a_batch(void *argument)
{
	struct sim_note *note = argument;
	struct baton_task *const tasks[] = {&note[0].task, &note[1].task};

	learn();
	sim_note_begin(&note[0]);
	sim_note_begin(&note[1]);
	sim_require(baton_submit_batch(&topic->resource, tasks, 2) == 0);
	(void)sim_note_end(&note[0], 0);
	(void)sim_note_end(&note[1], 0);
}

SIM_SCENARIO(loan_batch, "a borrower of a batch, and a submitter that pushes", .bound = 1)
{
	begin(1, 1, 3);
	sim_start(lends_a_batch, &notes[1]);
	sim_start(sim_does_submit, &notes[3]);
	sim_drive(stage.manual);
	end(4);
	sim_stage_end(&stage);
}

/* ---- Inside a task ---- */

static struct sim_topic other;
static struct sim_note outer;
static struct sim_note outer_next;
static bool closed_inside;

static void submits_inner(struct sim_note *note)
{
	sim_does_submit(note->argument);
}

static void owes(void *argument)
{
	learn();
	sim_does_submit(argument);
}

/* A task of `other` submits notes[queued] to the queued topic. */
static void begin_nested(uint32_t limit, unsigned queued, void (*body)(struct sim_note *))
{
	begin(limit, queued, 2);
	sim_topic_init(&other, 10, 64, baton_manual_executor(stage.manual));
	sim_note_init(&outer, &other, false);
	sim_note_init(&outer_next, &other, false);
	outer.body = body;
	outer.argument = &notes[queued];
	sim_start(owes, &outer);
}

static void end_other(void)
{
	sim_settled(&other);
	sim_topic_close(&other);
}

SIM_SCENARIO(loan_debt, "a debt is paid beside the thread that pops the job", .bound = 1)
{
	begin_nested(1, 2, submits_inner);
	sim_start(sim_does_submit, &notes[3]);
	sim_drive(stage.manual);
	end(4);
	end_other();
	sim_stage_end(&stage);
}

SIM_SCENARIO(loan_debt_helper, "a debt is paid beside a helper", .bound = 1)
{
	begin_nested(1, 2, submits_inner);
	sim_start(sim_does_wait, &notes[0]);
	sim_drive(stage.manual);
	sim_note_over(&notes[1]);
	end_other();
	sim_settled(topic);
	sim_stage_end(&stage);
}

static void submits_and_closes(struct sim_note *note)
{
	sim_does_submit(note->argument);
	sim_require(sim_topic_close_then(topic) == 0);
	closed_inside = true;
	sim_does_submit(&outer_next); /* a place to be stopped at */
	closed_inside = false;
}

SIM_SCENARIO(loan_debt_closed, "a debt of a resource that is closed and finalised")
{
	begin_nested(10, 1, submits_and_closes);
	sim_drive(stage.manual);
	end(2);
	end_other();
	sim_stage_end_finalised(&stage);
}

SIM_SCENARIO(loan_debt_closed_2, "the same, beside a waiter", .bound = 1)
{
	begin_nested(10, 1, submits_and_closes);
	sim_start(sim_does_wait, &notes[0]);
	sim_drive(stage.manual);
	end_other();
	sim_stage_end_finalised(&stage);
}

/* ---- Freezing ---- */

SIM_UNSEEN static void nobody_else_is_delayed(void)
{
	sim_not_delayed(topic);
}

SIM_SCENARIO(loan_frozen, "a stopped borrower delays its resource alone", .bound = 1, .freeze = 1,
             .frozen = nobody_else_is_delayed)
{
	begin(1, 1, 3);
	sim_start(lends, &notes[1]);
	sim_start(sim_does_submit_two, &notes[2]);
	sim_drive(stage.manual);
	end(4);
	sim_stage_end(&stage);
}

SIM_UNSEEN static void finalised_though_it_owes(void)
{
	if (closed_inside)
		sim_require(topic->finalised);
}

SIM_SCENARIO(loan_debt_frozen, "a stopped debtor does not keep a closed resource", .bound = 1,
             .freeze = 1, .frozen = finalised_though_it_owes)
{
	begin_nested(10, 1, submits_and_closes);
	sim_drive(stage.manual);
	end(2);
	end_other();
	sim_stage_end_finalised(&stage);
}
