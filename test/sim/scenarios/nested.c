/* SPDX-License-Identifier: MIT */
/* Tasks that submit to their own and to other resources, and wait for the result. */
#include "script.h"

SIM_SCRIPT(nested_cycle, 0, "A's task submits to B, B's to A, on two threads",
           "other 10; elsewhere b d | a: submit b | d: submit e | A: submit a | B: submit d")

SIM_SCRIPT(nested_cycle_3, 1, "and back again",
           "other 10; elsewhere b d f | a: submit b | b: submit c | d: submit e | e: submit f"
           "| A: submit a | B: submit d")

SIM_SCRIPT(nested_cycle_limit_1, 1, "the same with hand-offs",
           "limit 1; other 1; elsewhere b d f | a: submit b | b: submit c | d: submit e"
           "| e: submit f | A: submit a | B: submit d")

SIM_SCRIPT(nested_own, 0, "what a task submits to its own resource comes after it",
           "limit 1 | a: submit b; has_not_run b | A: submit a | B: submit c")

/* ---- Waiting inside ---- */

SIM_SCRIPT(nested_wait, 1, "a task waits for a queued resource's: it helps, or is woken",
           "limit 1; other 1; futures a b; elsewhere b c d | a: submit b; wait b"
           "| A: submit a; wait a | B: submit c d")

SIM_SCRIPT(nested_wait_later, 1, "executor's thread: it drives what it waits for itself",
           "limit 0; other 0; futures a b; elsewhere b | a: submit b; wait b"
           "| A: submit a; wait a")

SIM_SCRIPT(nested_deadlock, 1, "a task that waits for its own resource is told",
           "limit 1; futures a b"
           "| a: submit b; until_complete b = deadlock; await = deadlock; call d = deadlock;"
           "    until_complete a = deadlock"
           "| A: submit a; wait a | B: submit c")

/* Task b runs on a's thread, or on its hand-off's, where a is over or running. */
SIM_SCRIPT(nested_deadlock_below, 1, "so is one that waits for a resource held below",
           "other 10; futures a; elsewhere b | a: submit b | b: until_complete a = deadlock"
           "| A: submit a | B: submit c")

/* ---- A chain ---- */

static struct sim_topic third;

static void close_third(void)
{
	sim_settled(&third);
	sim_topic_close(&third);
}

SIM_VERB(third, SIM_OK)
{
	sim_topic_init(&third, 1, 64, baton_manual_executor(sim_script_stage.manual));
	sim_script_after_close(close_third);
	note->topic = &third;
	return 0;
}

SIM_SCRIPT(nested_chain, 0, "a chain through three resources, beside a submitter of the second",
           "limit 1; other 1; futures a b c; elsewhere b d; third c; follow b c"
           "| A: submit a; wait a | B: submit d")

/* ---- Nobody takes what is left of a nested capture ---- */

SIM_SCRIPT(nested_refused, 1, "a nested hand-off is refused: it runs when the stack is unwound",
           "refusing; other 10; futures b c d; elsewhere b c d | a: submit b"
           "| A: submit a | B: submit c; wait c | C: submit d; wait d")
