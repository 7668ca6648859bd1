/* SPDX-License-Identifier: MIT */
/*
 * Drain hooks: whoever sees a future complete finds that its batch has ended. What the hooks write
 * is protected by the baton alone, and read by waiters because of the completion alone.
 */
#include "script.h"

#include <baton/call.h>
#include <baton/hooks.h>
#include <baton/suspend.h>

static struct sim_topic *const topic = &sim_script_stage.topic;
static struct sim_note *const notes = sim_script_stage.notes;

/* Protected by the baton. */
static struct sim_note *batch[SIM_SCRIPT_NOTES];
static unsigned batch_count;
static unsigned batches;
static bool open;
static int end_status;

/* By the baton, then by the note's completion. */
static bool committed[SIM_SCRIPT_NOTES];

static int begin(struct baton_resource *resource)
{
	sim_require(resource == &topic->resource);
	sim_require(!open);
	open = true;
	batch_count = 0;
	batches++;
	return 0;
}

static int end(struct baton_resource *resource)
{
	sim_require(resource == &topic->resource);
	sim_require(open);
	open = false;
	for (unsigned i = 0; i < batch_count; i++) {
		committed[batch[i] - notes] = true;
		batch[i]->status = end_status;
	}
	/* Where others have their say: nobody may have been told yet. */
	sim_point();
	return end_status;
}

static void join_batch(struct sim_note *note)
{
	sim_require(open);
	batch[batch_count++] = note;
}

static void all_are_committed(void)
{
	sim_require(!open);
	for (unsigned i = 0; i < SIM_SCRIPT_NOTES; i++)
		sim_require(committed[i] || notes[i].body != join_batch ||
		            notes[i].fate != SIM_RAN);
}

/* Tasks without a line join their batch. */
SIM_VERB(hooks, SIM_OK)
{
	topic->config.batch_begin = begin;
	topic->config.batch_end = end;
	topic->config.delay_completions = true;
	baton_resource_init(&topic->resource, &topic->config);
	for (unsigned i = 0; i < SIM_SCRIPT_NOTES; i++)
		if (!notes[i].body)
			notes[i].body = join_batch;
	sim_script_before_close(all_are_committed);
	return 0;
}

SIM_VERB(fails, SIM_OK)
{
	end_status = -EIO;
	return 0;
}

/* Here its end is known: if it has run its batch has ended. */
SIM_VERB(committed, SIM_OK)
{
	sim_require(committed[note - notes] || note->fate != SIM_RAN);
	return 0;
}

/* Waits for it; it is over. */
SIM_VERB(told, SIM_OK)
{
	sim_require(baton_future_wait(&note->future) == 0);
	sim_require(committed[note - notes] || note->fate != SIM_RAN);
	sim_script_mark(&sim_script_marks.over[note - notes]);
	sim_note_over(note);
	return 0;
}

SIM_SCRIPT(hooks_waiters, 1, "two submit and wait; they are told after the end of their batch",
           "hooks; futures a b | A: submit a; told a | B: submit b; told b")

SIM_SCRIPT(hooks_limit, 1, "limit 1: a batch ends before the hand-off",
           "hooks; limit 1; quantum 1; futures a b | A: submit a; told a | B: submit b; told b")

SIM_SCRIPT(hooks_helper, 1, "a helper's batch, beside the executor's thread",
           "hooks; queued a b | A: told a")

SIM_SCRIPT(hooks_helpers, 1, "two helpers, and one more is submitted",
           "hooks; quantum 2; queued a b; futures c | A: told a | B: told b | C: submit c; told c")

SIM_SCRIPT(hooks_fails, 1, "a batch that fails",
           "hooks; fails; queued a; futures b | A: told a | B: submit b; told b")

SIM_SCRIPT(hooks_cancel, 0, "a cancel meets a task before its batch, in it, or after it",
           "hooks; queued a b | A: cancel b")

SIM_SCRIPT(hooks_cancel_pending, 1, "what has not run is cancelled, what has run is not",
           "hooks; queued a b | A: cancel_all | B: told b")

/* Everything that had been accepted is over, and its future complete. */
SIM_SCRIPT(hooks_await, 1, "an awaiter is told after the batch",
           "hooks; queued a; futures b"
           "| A: await; is_complete a; committed a"
           "| B: submit b; told b")

SIM_SCRIPT(hooks_finaliser, 1, "the finaliser comes after the batch",
           "hooks; queued a b | A: close_then | B: told a")

SIM_SCRIPT(hooks_try_call, 0, "a try_call does not wait for a resume",
           "hooks"
           "| A: try_call a = ok again; committed a; fulfil"
           "| B: suspend 0; until_fulfilled; resume 0")

SIM_SCRIPT(hooks_calls, 1, "a call returns after its batch; a dropped future is freed",
           "hooks | A: call a; committed a | B: async_and_drop b")

SIM_SCRIPT(hooks_then, 1, "a continuation fires once, after the batch",
           "hooks; queued a; futures c; other 10; elsewhere b"
           "| b: committed a; give_back_continuation b | A: follow b | B: submit c; told c")

SIM_VERB(flush, SIM_OK)
{
	bool before = committed[0];

	join_batch(note);
	sim_require(!before);
	sim_require(baton_batch_flush() == 0);
	sim_require(committed[0] && committed[1]);
	sim_require(baton_future_is_complete(&notes[0].future));
	join_batch(note);
	return 0;
}

SIM_SCRIPT(hooks_flush, 1, "a flush completes what is before it",
           "hooks; limit 0; queued a b c | b: flush b | A: told c")

static unsigned failing;

SIM_VERB(fail_allocation, SIM_OK)
{
	failing = sim_pick(2);
	sim_fail_allocation(failing);
	return 0;
}

SIM_VERB(batch_was_cut, SIM_OK)
{
	sim_fail_allocation(0);
	sim_require(batches == 1 + failing);
	return 0;
}

SIM_SCRIPT(hooks_no_memory, 0, "what cannot be remembered ends its batch",
           "hooks; queued a b c | fail_allocation; drive; batch_was_cut")

/* ---- A call with a deadline ---- */

/* Its batch fails: if it ran in time the status is the batch's. */
SIM_VERB(call_late, SIM_OK)
{
	const struct baton_call_options options = {
		.fn = sim_note_run, .arg = note, .timeout_ns = 1000};
	int status;

	sim_note_begin(note);
	status = baton_call_with(&topic->resource, &options, NULL);
	(void)sim_note_end(note, status == -EIO ? 0 : status);
	if (status == -EIO)
		sim_require(note->fate == SIM_RAN);
	return status;
}

SIM_SCRIPT(hooks_call_late, 0, "a call whose time is over beside the end of its failing batch",
           "hooks; limit 0; fails | A: call_late a = failed late")
