/* SPDX-License-Identifier: MIT */
/*
 * Loans: a submitter borrows the baton of a queued resource before it publishes its task.
 */
#include "script.h"

/* As a thread that has found the resource queued often enough. */
SIM_VERB(learn, SIM_OK)
{
	sim_require(baton__thread_attach() == 0);
	baton__self->learnt.loan_skip = 0;
	return 0;
}

SIM_SCRIPT(loan_popped, 0, "a submitter borrows, beside the thread that pops the job",
           "queued a b | A: learn; submit c")

SIM_SCRIPT(loan_limit_1, 0, "the stay is over before the queue is empty",
           "limit 1; queued a b; futures d | A: learn; submit c; learn; submit d")

SIM_SCRIPT(loan_2, 1, "two submitters that would both borrow",
           "limit 1; queued a; futures b d"
           "| A: learn; submit b; learn; submit c | B: learn; submit d; learn; submit e")

SIM_SCRIPT(loan_beside_push, 1, "a borrower, and a submitter that pushes",
           "queued a; futures b d | A: learn; submit b | B: submit c d")

SIM_SCRIPT(loan_waiter, 1, "a borrower that then waits, beside a helper",
           "limit 1; queued a b; futures c | A: learn; submit c; wait c | B: wait a")

SIM_SCRIPT(loan_canceller, 1, "a borrower, and a canceller of a queued task",
           "queued a b | A: learn; submit c | B: cancel b")

SIM_SCRIPT(loan_closed, 0, "a borrower, and a closer with a finaliser",
           "stays; queued a; futures b | A: learn; submit b = ok closed | B: close_then")

SIM_SCRIPT(loan_closed_inbox, 2, "the same, where the inbox is not empty",
           "stays; queued a b | A: learn; submit c = ok closed | B: close_then")

SIM_SCRIPT(loan_suspended, 1, "a borrower, and a suspender",
           "queued a; futures b | A: learn; submit b | B: suspend 0; resume 0")

SIM_SCRIPT(loan_batch, 1, "a borrower of a batch, and a submitter that pushes",
           "limit 1; queued c; futures a d | A: learn; batch_to b | B: submit d")

/* ---- Inside a task ---- */

SIM_SCRIPT(loan_debt, 1, "a debt is paid beside the thread that pops the job",
           "limit 1; other 10; elsewhere e; queued a b; futures d | e: submit c"
           "| A: learn; submit e | B: submit d")

SIM_SCRIPT(loan_debt_helper, 1, "a debt is paid beside a helper",
           "limit 1; other 10; elsewhere e; queued a b | e: submit c"
           "| A: learn; submit e | B: wait a")

/* Task f is a place to be stopped at. */
#define DEBT_CLOSED                                                                                \
	"other 10; elsewhere e f; queued a; futures b"                                             \
	"| e: submit b; close_then; owes; submit f; owes_nothing"                                  \
	"| A: learn; submit e"

static bool owes;

SIM_VERB(owes, SIM_OK)
{
	owes = true;
	return 0;
}

SIM_VERB(owes_nothing, SIM_OK)
{
	owes = false;
	return 0;
}

SIM_SCRIPT(loan_debt_closed, 0, "a debt of a resource that is closed and finalised", DEBT_CLOSED)

SIM_SCRIPT(loan_debt_closed_2, 1, "the same, beside a waiter", DEBT_CLOSED "| B: wait a")

/* ---- Freezing ---- */

SIM_SCRIPT_FROZEN(loan_frozen, "a stopped borrower delays its resource alone",
                  "limit 1; queued a; futures b d | A: learn; submit b | B: submit c d")

SIM_UNSEEN static void finalised_though_it_owes(void)
{
	if (owes)
		sim_require(sim_script_stage.topic.finalised);
}

SIM_SCENARIO(loan_debt_frozen, "a stopped debtor does not keep a closed resource", .bound = 1,
             .freeze = 1, .frozen = finalised_though_it_owes)
{
	sim_script_play(DEBT_CLOSED);
}
