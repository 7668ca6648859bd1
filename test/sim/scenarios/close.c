/* SPDX-License-Identifier: MIT */
/* Closing a resource beside submitters: awaits end, the finaliser runs once and last. */
#include "script.h"

SIM_SCRIPT(close_submit, 0, "beside a close a submit is refused, or its task runs",
           "limit 1; futures b | A: submit a = ok closed | B: submit b = ok closed | C: close")

SIM_SCRIPT(close_cancel_pending, 0, "a cancel mark beside a close does not open it again",
           "queued a | A: cancel_all | B: close | drive; close = already")

SIM_SCRIPT(close_twice, 0, "one of two closers",
           "queued a | A: close = ok already | B: close = ok already")

SIM_SCRIPT(close_await_run, 0, "close and await beside the runner; then the memory is the owner's",
           "quantum 1; queued a b | A: end")

SIM_VERB(should_yield, SIM_OK)
{
	sim_require(baton_should_yield());
	return 0;
}

SIM_VERB(should_not_yield, SIM_OK)
{
	sim_require(!baton_should_yield());
	return 0;
}

SIM_SCRIPT(close_await_yield, 0, "a task asks whether it should yield, beside close and await",
           "queued a b | a: should_yield | b: should_not_yield | A: end")

/* Whoever is a visitor when await returns has not touched the resource since. */
SIM_SCRIPT(close_await_visitor, 1, "close and await beside a helper",
           "queued a b | A: end | B: wait a")

SIM_SCRIPT(close_await_canceller, 1, "close and await beside a canceller",
           "queued a b | A: end | B: cancel a")

SIM_SCRIPT(await_submit, 1, "an awaiter beside submitters, inline",
           "| A: submit a | B: submit b | C: await")

SIM_SCRIPT(await_own, 1, "await waits for what its caller has submitted",
           "limit 1 | A: submit a; await; ran a | B: submit b c")

SIM_SCRIPT(await_twice, 1, "two awaiters of a queued resource", "queued a | A: await | B: await")

SIM_SCRIPT(await_deadline, 0, "an await that times out leaves nothing behind",
           "queued a | A: await 3000 = ok late")

SIM_SCRIPT(await_closed_deadline, 1, "an await on a closed resource, behind those that timed out",
           "queued a; close | A: await 3000 = ok late | B: await 3000 = ok late | C: await")

/* ---- Finalisers ---- */

SIM_SCRIPT(close_then_submit, 1, "beside close_then a submit is refused, or runs before it",
           "limit 1; stays; futures b"
           "| A: submit a = ok closed | B: submit b = ok closed | C: close_then")

static struct baton_task finalisers[2];
static unsigned accepted;
static unsigned finals;

static int count_final(struct baton_task *task)
{
	finals++;
	sim_retire(task, sizeof(*task));
	sim_retire(&sim_script_stage.topic.resource, sizeof(struct baton_resource));
	return 0;
}

SIM_UNSEEN static void accept(void)
{
	accepted++;
}

static void one_final(void)
{
	sim_require(accepted == 1 && finals == 1);
}

SIM_VERB(finalise, SIM_OK | SIM_ALREADY)
{
	int status;

	sim_script_mark(&sim_script_marks.ended);
	sim_script_before_close(one_final);
	baton_task_init(&finalisers[number], count_final, NULL);
	status = baton_resource_close_then(&sim_script_stage.topic.resource, &finalisers[number]);
	if (!status)
		accept();
	return status;
}

/* Neither has to fear that the other's finaliser frees what it closes. */
SIM_SCRIPT(close_then_twice, 1, "one of two finalisers",
           "queued a | a: finalise 0 = ok; finalise 1 = already | A: wait a")

SIM_SCRIPT(close_then_race, 0, "one of two finalisers, from two threads, while a task runs",
           "bare | a: start A B; join | A: finalise 0 | B: finalise 1 | submit a")

SIM_SCRIPT(close_then_inside, 0, "a task ends its own resource, beside one that is submitted",
           "stays | a: close_then | A: submit a | B: submit b = ok closed")

SIM_SCRIPT(close_then_inside_waiter, 1, "the same, queued, beside one who waits",
           "quantum 1; queued a b | a: close_then | A: wait b")

SIM_SCRIPT(close_then_await, 1, "an awaiter on a resource with a finaliser goes first",
           "stays; queued a | A: await | B: close_then")
