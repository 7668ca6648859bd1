/* SPDX-License-Identifier: MIT */
/*
 * Cancelling: the decision is one CAS; the unlinking is the canceller's or the runner's.
 */
#include "support.h"

#include <baton/labelled.h>

static struct sim_stage stage;
static struct sim_note *const notes = stage.notes;
static struct sim_topic *const topic = &stage.topic;
static int results[2];

static void cancel_into(void *argument)
{
	int *result = argument;

	*result = sim_note_cancel(&notes[0]);
}

SIM_SCENARIO(cancel_queued, "a queued task is cancelled, or it runs; others run in any case")
{
	sim_stage_init(&stage, 10, 64, 2);
	sim_start(cancel_into, &results[0]);
	sim_drive(stage.manual);
	sim_require(results[0] == 0 || results[0] == -EALREADY || results[0] == -EINPROGRESS);
	sim_require((results[0] == 0) == (notes[0].fate == SIM_ACCEPTED));
	sim_note_over(&notes[0]);
	sim_note_over(&notes[1]);
	sim_stage_end(&stage);
}

SIM_SCENARIO(cancel_twice, "of two cancels one succeeds at most")
{
	sim_stage_init(&stage, 10, 64, 1);
	sim_start(cancel_into, &results[0]);
	sim_start(cancel_into, &results[1]);
	sim_drive(stage.manual);
	sim_require(results[0] || results[1]);
	if (results[0] && results[1])
		sim_require(notes[0].fate == SIM_RAN);
	sim_note_over(&notes[0]);
	sim_stage_end(&stage);
}

SIM_SCENARIO(cancel_two_tasks, "two cancellers, each of its own task, borrow the baton")
{
	sim_stage_init(&stage, 10, 64, 3);
	sim_start(sim_does_cancel, &notes[0]);
	sim_start(sim_does_cancel, &notes[2]);
	sim_drive(stage.manual);
	for (int i = 0; i < 3; i++)
		sim_note_over(&notes[i]);
	sim_require(notes[1].fate == SIM_RAN);
	sim_stage_end(&stage);
}

SIM_SCENARIO(cancel_newest, "the two newest are cancelled, one by one, while another comes",
             .bound = 1)
{
	sim_stage_init(&stage, 10, 64, 2);
	sim_calm(true);
	for (int i = 2; i < 5; i++)
		sim_note_init(&notes[i], topic, true);
	sim_does_cancel(&notes[0]); /* takes the inbox */
	sim_require(sim_note_submit(&notes[2]) == 0);
	sim_require(sim_note_submit(&notes[3]) == 0);
	sim_does_cancel(&notes[3]);
	sim_note_over(&notes[3]);
	sim_calm(false);
	sim_start(sim_does_submit, &notes[4]);
	sim_does_cancel(&notes[2]);
	sim_drive(stage.manual);
	for (int i = 0; i < 5; i++)
		if (i != 3)
			sim_note_over(&notes[i]);
	sim_require(notes[1].fate == SIM_RAN);
	sim_stage_end(&stage);
}

static void cancel_and_wait(void *argument)
{
	sim_does_cancel(argument);
	sim_note_wait(argument);
}

SIM_SCENARIO(cancel_then_wait, "a canceller that waits has its memory back at once")
{
	sim_stage_init(&stage, 10, 64, 2);
	sim_start(cancel_and_wait, &notes[0]);
	sim_drive(stage.manual);
	sim_note_over(&notes[1]);
	sim_stage_end(&stage);
}

SIM_SCENARIO(cancel_busy, "the task of one thread, cancelled by another while a third runs",
             .bound = 1)
{
	sim_stage_init(&stage, 10, 64, 0);
	sim_note_init(&notes[0], topic, true);
	sim_note_init(&notes[1], topic, false);
	sim_start(sim_does_submit, &notes[0]);
	sim_start(cancel_into, &results[0]);
	sim_start(sim_does_submit, &notes[1]);
	sim_drive(stage.manual);
	sim_require(results[0] == 0 || results[0] == -EALREADY || results[0] == -EINPROGRESS ||
	            results[0] == -EINVAL);
	sim_note_over(&notes[0]);
	sim_stage_end(&stage);
}

static uint32_t asked;

static void look_whether_asked(struct sim_note *note)
{
	for (int i = 0; i < 3 && !asked; i++) {
		sim_point();
		asked = baton_cancel_requested();
	}
}

static void is_not_asked(struct sim_note *note)
{
	sim_require(!baton_cancel_requested());
}

SIM_SCENARIO(cancel_running, "a running task is asked to stop, and no other one")
{
	sim_stage_init(&stage, 10, 64, 2);
	notes[0].body = look_whether_asked;
	notes[1].body = is_not_asked;
	sim_start(cancel_into, &results[0]);
	sim_drive(stage.manual);
	sim_require(!asked || results[0] == -EINPROGRESS);
	sim_note_over(&notes[0]);
	sim_note_over(&notes[1]);
	sim_stage_end(&stage);
}

SIM_SCENARIO(cancel_beside_helper, "a waiter that finds the baton with a canceller is told later")
{
	sim_stage_init(&stage, 10, 64, 2);
	sim_start(sim_does_cancel, &notes[1]);
	sim_start(sim_does_wait, &notes[0]);
	sim_join_started();
	sim_drive(stage.manual);
	sim_note_over(&notes[1]);
	sim_stage_end(&stage);
}

/* ---- cancel_pending ---- */

static void cancel_all(void *argument)
{
	sim_require(baton_resource_cancel_pending(&topic->resource) == 0);
}

SIM_SCENARIO(cancel_pending, "what was pending is cancelled or runs; what comes later runs")
{
	sim_stage_init(&stage, 10, 1, 2);
	sim_note_init(&notes[2], topic, false);
	sim_start(cancel_all, NULL);
	sim_start(sim_does_submit, &notes[2]);
	sim_drive(stage.manual);
	sim_note_over(&notes[0]);
	sim_note_over(&notes[1]);
	sim_stage_end(&stage);
}

static void cancel_all_and_submit(void *argument)
{
	cancel_all(NULL);
	sim_does_submit(argument);
}

SIM_SCENARIO(cancel_pending_then_submit, "what its caller submits next runs")
{
	sim_stage_init(&stage, 10, 64, 1);
	sim_note_init(&notes[1], topic, false);
	sim_note_init(&notes[2], topic, false);
	sim_start(cancel_all_and_submit, &notes[1]);
	sim_start(sim_does_submit, &notes[2]);
	sim_drive(stage.manual);
	sim_require(notes[1].fate == SIM_RAN);
	sim_note_over(&notes[0]);
	sim_stage_end(&stage);
}

SIM_SCENARIO(cancel_pending_twice, "two marks, and one task that is cancelled by itself",
             .bound = 1)
{
	sim_stage_init(&stage, 10, 64, 2);
	sim_start(cancel_all, NULL);
	sim_start(cancel_all, NULL);
	sim_start(sim_does_cancel, &notes[1]);
	sim_drive(stage.manual);
	sim_note_over(&notes[0]);
	sim_note_over(&notes[1]);
	sim_stage_end(&stage);
}

SIM_SCENARIO(cancel_pending_later, "limit 0: the mark leaves the mode as it was", .bound = 1)
{
	sim_stage_init(&stage, 0, 1, 2);
	sim_note_init(&notes[2], topic, false);
	sim_start(cancel_all, NULL);
	sim_start(sim_does_submit, &notes[2]);
	sim_drive(stage.manual);
	sim_note_over(&notes[0]);
	sim_note_over(&notes[1]);
	sim_stage_end(&stage);
}

/* Not the first call of its thread, which would take the long way. */
static void submit_once_more(void *argument)
{
	sim_require(baton_resource_cancel_pending(&topic->resource) == 0);
	sim_does_submit(argument);
}

SIM_SCENARIO(cancel_pending_mode, "limit 0: nor does it run inline after a mark")
{
	sim_stage_init(&stage, 0, 64, 1);
	sim_note_init(&notes[1], topic, false);
	cancel_all(NULL);
	sim_require(baton_manual_run_one(stage.manual));
	sim_start(submit_once_more, &notes[1]);
	sim_drive(stage.manual);
	sim_note_over(&notes[0]);
	sim_stage_end(&stage);
}

static void wait_a_little_for_both(void *argument)
{
	struct baton_future *futures[] = {&notes[0].future, &notes[1].future};
	struct timespec deadline = sim_in(2000);
	int status = baton_future_wait_all_or_cancel(futures, 2, &deadline);

	sim_require(status == 0 || status == -ETIMEDOUT);
	/* No deadline: what was cancelled is unlinked, what ran is complete. */
	sim_require(baton_future_wait_all_or_cancel(futures, 2, NULL) == 0);
	sim_note_over(&notes[0]);
	sim_note_over(&notes[1]);
}

SIM_SCENARIO(cancel_wait_all, "a wait for two that times out: each runs, or is cancelled",
             .bound = 2)
{
	sim_stage_init(&stage, 10, 64, 2);
	sim_start(wait_a_little_for_both, NULL);
	sim_drive(stage.manual);
	sim_stage_end(&stage);
}

static unsigned called, called_at_return; /* plain: under the baton, then by who has waited */
static int call_status;

static void *count_call(void *argument)
{
	called++;
	return argument;
}

static void call_in_time(void *argument)
{
	struct timespec deadline = sim_in(2000);
	struct baton_call_options options = {
		.fn = count_call, .arg = argument, .deadline = &deadline};

	call_status = baton_call_with(&stage.topic.resource, &options, NULL);
	sim_require(call_status == 0 || call_status == -ETIMEDOUT);
	called_at_return = called;
	sim_require(called_at_return == (call_status == 0));
}

SIM_SCENARIO(cancel_call, "a call with a deadline runs before it returns, or never", .bound = 2)
{
	called = 0;
	sim_stage_init(&stage, 10, 64, 1);
	sim_start(call_in_time, NULL);
	sim_drive(stage.manual);
	sim_require(called == called_at_return);
	sim_note_over(&notes[0]);
	sim_stage_end(&stage);
}
