/* SPDX-License-Identifier: MIT */
/* Continuations that are registered beside the completion fire once each. */
#include "script.h"

SIM_SCRIPT(then_1, 0, "registered beside the completion it fires once",
           "| a: written; give_back_continuation a | A: then a | B: write; fulfil")

SIM_SCRIPT(then_2, 1, "two registrations beside the completion",
           "| a: written; give_back_continuation a | b: written; give_back_continuation b"
           "| A: then a | B: then b | C: write; fulfil")

SIM_SCRIPT(then_2_wait, 1, "two, one after the other, and a waiter",
           "futures a b"
           "| a: written; give_back_continuation a | b: written; give_back_continuation b"
           "| A: then a b | B: write; fulfil | C: wait b | until_fulfilled")

static unsigned fired;

SIM_VERB(fires, SIM_OK)
{
	sim_require(fired == number);
	fired++;
	return 0;
}

SIM_SCRIPT(then_order, 0, "registered before the completion they fire in that order",
           "then a b c | a: fires 0 | b: fires 1 | c: fires 2 | A: fulfil | until_fulfilled")

SIM_SCRIPT(then_frees, 0, "a continuation frees the future",
           "then a | a: give_back_promise | A: fulfil")

/* ---- Refused ---- */

SIM_SCRIPT(then_refused, 1, "a continuation that a closed resource refuses is cancelled",
           "futures b; then a b; may_be_refused | A: fulfil | B: close | wait b")

SIM_VERB(may_be_refused, SIM_OK)
{
	sim_script_mark(&sim_script_marks.cancels);
	return 0;
}

/* ---- Of tasks ---- */

SIM_SCRIPT(then_task, 0, "a task's continuation on another resource, beside its submitter",
           "queued a; other 10; futures b; elsewhere b c; follow b | A: submit c | B: wait b")

SIM_SCRIPT(then_cancelled, 0, "the continuation of a task that is cancelled by two hands",
           "queued a; other 10; futures b; elsewhere b; follow b | A: cancel a | B: wait b")

/* ---- A job ---- */

static struct baton_future answer = BATON_PROMISE_INIT;
static struct baton_continuation continuation;
static struct baton_plain_job job;
static unsigned ran;
static int data;

static void run_job(struct baton_plain_job *plain)
{
	ran++;
	sim_require(data == 1);
	sim_retire(plain, sizeof(*plain));
}

static void ran_once(void)
{
	sim_require(ran == 1);
}

static void schedule_then(struct baton_future *future)
{
	sim_script_before_close(ran_once);
	baton_plain_job_init(&job, run_job, NULL);
	baton_continuation_job(&continuation, baton_manual_executor(sim_script_stage.manual),
	                       &job.job);
	baton_future_then(future, &continuation);
}

static void *set_data(void *argument)
{
	data = 1;
	return argument;
}

SIM_VERB(async_then_job, SIM_OK)
{
	struct baton_future *future;

	sim_require(baton_async(&sim_script_stage.topic.resource, set_data, NULL, &future) == 0);
	schedule_then(future);
	baton_future_unref(future);
	return 0;
}

SIM_VERB(then_job, SIM_OK)
{
	schedule_then(&answer);
	return 0;
}

SIM_VERB(give_answer, SIM_OK)
{
	data = 1;
	return baton_future_complete(&answer, 0, NULL);
}

SIM_SCRIPT(then_dropped, 0, "the continuation of a future that nobody has any more",
           "limit 0 | A: async_then_job")

SIM_SCRIPT(then_job, 0, "a job is scheduled once", "| A: then_job | B: give_answer")
