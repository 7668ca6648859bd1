/* SPDX-License-Identifier: MIT */
/*
 * Helping: a waiter borrows the baton of a queued resource, while its job may be popped.
 */
#include "script.h"

SIM_SCRIPT(help_popped, 0, "a helper up to its own task, beside the thread that pops the job",
           "queued a b | A: wait a")

SIM_SCRIPT(help_all, 1, "a helper of the last task; one more is submitted",
           "quantum 1; queued a b | A: wait b | B: submit c")

SIM_SCRIPT(help_2, 1, "two helpers of two tasks", "queued a b | A: wait a | B: wait b")

/*
 * No thread drives the executor before both helpers are done. The second helper may have looked at
 * the turn before the first one gave the baton back: then only the CAS that borrows acquires.
 */
SIM_SCRIPT(edge_borrow, 2, "[turn.baton] a helper has what the helper before it did",
           "queued a b | A: wait a | B: wait b | join")

SIM_SCRIPT(help_canceller, 1, "a helper, a canceller of the next task, the executor's thread",
           "queued a b | A: wait a | B: cancel b")

SIM_SCRIPT(help_own_canceller, 1, "a helper of a task that is being cancelled",
           "queued a b | A: cancel b | until_complete b")

/* It helps, and must not be the one that runs. */
SIM_SCRIPT(help_later, 1, "limit 0: who waits elsewhere runs nothing",
           "limit 0; queued a b | A: wait a | B: cancel b")

SIM_SCRIPT(help_await, 1, "a helper and an awaiter", "queued a b | A: wait a | B: await")

/* ---- The end of a helper's wait ---- */

SIM_SCRIPT(help_await_behind, 0, "an awaiter leaves what is submitted behind its mark to others",
           "queued a; futures b | a: submit b | A: await; not_mine b")

SIM_SCRIPT(help_detached, 1, "a helper leaves what is behind its task, which detaches, to others",
           "queued a b | a: detach; start B | B: complete | A: until_complete a; not_mine b")

SIM_SCRIPT(help_in_time, 1, "an awaiter with a deadline enters nothing, beside a helper",
           "queued a b | A: wait a | B: await 1000000000 = ok late; not_mine b")

SIM_SCRIPT(help_finaliser, 0, "the finaliser comes when the last visitor has gone",
           "queued a; close_then | A: wait a")

SIM_SCRIPT(help_finaliser_2, 1, "a helper, a canceller, and a finaliser after them",
           "queued a b; close_then | A: wait a | B: cancel b")

SIM_SCRIPT(help_finaliser_later, 1, "limit 0: the finaliser, too, is the executor's",
           "limit 0; queued a b; close_then | A: wait a | B: cancel b | drive; finalised_here")

/* ---- An executor that refuses ---- */

static struct sim_shelf shelf;
static struct sim_topic refused;
static struct sim_note notes[3];
static struct sim_topic *const topic = &refused;

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
