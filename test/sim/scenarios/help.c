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

SIM_SCRIPT(help_refused, 0, "a hand-off is refused, while a helper has taken the baton",
           "refusing; limit 1; futures b | A: submit a b | B: submit c")

/* As long as it is refused its future is pending. */
SIM_SCRIPT(help_refused_later, 1,
           "submit_later: refused, or a helper has run it and it is accepted",
           "refusing; futures a b"
           "| A: later a = ok cancelled / shutdown; wait a | B: submit b; wait b")
