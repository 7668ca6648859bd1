/* SPDX-License-Identifier: MIT */
/*
 * Cancelling: the decision is one CAS; the unlinking is the canceller's or the runner's.
 */
#include "script.h"

#include <baton/call.h>
#include <baton/label.h>

static struct sim_note *const notes = sim_script_stage.notes;

SIM_SCRIPT(cancel_queued, 0, "a queued task is cancelled, or it runs; others run in any case",
           "queued a b | A: cancel a | drive; ran b")

SIM_SCRIPT(cancel_twice, 0, "of two cancels one succeeds at most",
           "queued a | A: cancel a | B: cancel a")

SIM_SCRIPT(cancel_two_tasks, 0, "two cancellers, each of its own task, borrow the baton",
           "queued a b c | A: cancel a | B: cancel c | drive; ran b")

/* The first cancel takes the inbox. */
SIM_SCRIPT(cancel_newest, 1, "the two newest are cancelled, one by one, while another comes",
           "queued a b; futures c d e; cancel a; submit c d; cancel d; over d"
           "| A: submit e"
           "| cancel c; drive; ran b")

SIM_SCRIPT(cancel_then_wait, 0, "a canceller that waits has its memory back at once",
           "queued a b | A: cancel a; wait a")

SIM_SCRIPT(cancel_busy, 1, "the task of one thread, cancelled by another while a third runs",
           "futures a | A: submit a | B: cancel a = ok already running early | C: submit b")

static uint32_t asked;
static bool running;

SIM_VERB(asks_to_stop, SIM_OK)
{
	for (int i = 0; i < 3 && !asked; i++) {
		sim_point();
		asked = baton_cancel_requested();
	}
	return 0;
}

SIM_VERB(is_not_asked, SIM_OK)
{
	sim_require(!baton_cancel_requested());
	return 0;
}

SIM_VERB(cancel_and_note, SIM_OK | SIM_ALREADY | SIM_RUNNING)
{
	int status = sim_note_cancel(note);

	running = status == -EINPROGRESS;
	return status;
}

SIM_VERB(asked_if_running, SIM_OK)
{
	sim_require(!asked || running);
	return 0;
}

SIM_SCRIPT(cancel_running, 0, "a running task is asked to stop, and no other one",
           "queued a b"
           "| a: asks_to_stop"
           "| b: is_not_asked"
           "| A: cancel_and_note a"
           "| drive; asked_if_running")

SIM_SCRIPT(cancel_beside_helper, 0, "a waiter that finds the baton with a canceller is told later",
           "queued a b | A: cancel b | B: wait a | join")

/* ---- cancel_pending ---- */

SIM_SCRIPT(cancel_pending, 0, "what was pending is cancelled or runs; what comes later runs",
           "quantum 1; queued a b | A: cancel_all | B: submit c")

SIM_SCRIPT(cancel_pending_then_submit, 0, "what its caller submits next runs",
           "queued a | A: cancel_all; submit b | B: submit c | drive; ran b")

SIM_SCRIPT(cancel_pending_twice, 1, "two marks, and one task that is cancelled by itself",
           "queued a b | A: cancel_all | B: cancel_all | C: cancel b")

SIM_SCRIPT(cancel_pending_later, 1, "limit 0: the mark leaves the mode as it was",
           "limit 0; quantum 1; queued a b | A: cancel_all | B: submit c")

/* The submit is not the first call of its thread, which would take the long way. */
SIM_SCRIPT(cancel_pending_mode, 0, "limit 0: nor does it run inline after a mark",
           "limit 0; queued a; cancel_all; run_one | A: cancel_all; submit b")

/* ---- With a deadline ---- */

SIM_VERB(wait_both, SIM_OK)
{
	struct baton_future *futures[] = {&notes[0].future, &notes[1].future};
	uint64_t deadline = sim_in(number);

	sim_script_mark(&sim_script_marks.cancels);
	return baton_future_wait_all_or_cancel_until(futures, 2, number ? deadline : BATON_FOREVER);
}

/* Without a deadline: what was cancelled is unlinked, what ran is complete. */
SIM_SCRIPT(cancel_wait_all, 2, "a wait for two that times out: each runs, or is cancelled",
           "queued a b | A: wait_both 2000 = ok late; wait_both; over a b")

/* A call that is late never runs. */
SIM_VERB(call_in_time, SIM_OK)
{
	struct baton_call_options options = {.fn = sim_note_run, .arg = note, .timeout_ns = 2000};

	sim_note_begin(note);
	return sim_note_end(note, baton_call_with(&note->topic->resource, &options, NULL));
}

SIM_SCRIPT(cancel_call, 2, "a call with a deadline runs before it returns, or never",
           "queued a | A: call_in_time b = ok / late; ran b")
