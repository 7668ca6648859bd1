/* SPDX-License-Identifier: MIT */
/*
 * The library's tasks and futures: post, async, call; their nodes, which go home.
 */
#include "script.h"

static struct sim_topic *const topic = &sim_script_stage.topic;
static struct baton_future *handles[SIM_SCRIPT_NOTES]; /* of async */

SIM_SCRIPT(post_2, 0, "two threads post; each frees nodes of the other's",
           "| A: post a b | B: post c d")

SIM_SCRIPT(post_later, 0, "limit 0: nodes go home from the executor's thread",
           "limit 0 | A: post a b | B: post c d")

SIM_SCRIPT(post_alloc, 0, "a node comes back while its owner allocates the next",
           "limit 0 | A: post a b c d")

SIM_VERB(run_soon, SIM_OK)
{
	while (!baton_manual_run(sim_script_stage.manual, 1))
		sim_yield();
	return 0;
}

SIM_SCRIPT(post_adopted, 0, "a record is adopted while nodes still come home to it",
           "limit 0 | A: post a b | B: post d | run_soon; join 1 | C: post c")

static void *count_up(void *argument)
{
	++*(unsigned *)argument;
	return NULL;
}

/* Nobody is told that it is cancelled. */
SIM_VERB(post_counted, SIM_OK)
{
	static unsigned count;

	return baton_post(&topic->resource, count_up, &count);
}

SIM_SCRIPT(post_cancelled, 1, "a cancelled post frees its node",
           "limit 0 | A: post_counted | B: post_counted | C: cancel_all = ok memory")

/* ---- async ---- */

SIM_VERB(async, SIM_OK)
{
	struct baton_future **handle = &handles[note - sim_script_stage.notes];

	sim_note_begin(note);
	return sim_note_end(note, baton_async(&topic->resource, sim_note_run, note, handle));
}

static struct baton_future *handle_of(const struct sim_note *note)
{
	return handles[note - sim_script_stage.notes];
}

SIM_VERB(ref, SIM_OK)
{
	(void)baton_future_ref(handle_of(note));
	return 0;
}

SIM_VERB(unref, SIM_OK)
{
	baton_future_unref(handle_of(note));
	return 0;
}

SIM_VERB(until_async, SIM_OK)
{
	int status = baton_future_wait(handle_of(note));

	sim_require(baton_future_value(handle_of(note)) == note);
	return status;
}

SIM_VERB(cancel_async, SIM_OK | SIM_ALREADY | SIM_RUNNING)
{
	int status = baton_future_cancel(handle_of(note));

	if (!status)
		sim_note_never(note);
	return status;
}

SIM_SCRIPT(async_2, 1, "two threads wait for futures of the library's",
           "limit 1 | A: async a; until_async a; unref a | B: async b; until_async b; unref b")

/* Task b is queued first, so that a does not run at once. */
SIM_SCRIPT(async_dropped, 0, "the last reference goes beside the completion: freed once",
           "later b; async a | A: unref a")

SIM_SCRIPT(async_ref, 1, "a waiter's reference and another's, beside the completion",
           "later b; async a; ref a | A: unref a | B: until_async a; unref a")

SIM_SCRIPT(async_cancel, 0, "cancelled and dropped, beside a reference that goes",
           "later b; async a; ref a | A: cancel_async a; unref a | B: unref a")

/* ---- call ---- */

SIM_SCRIPT(call_2, 1, "two callers, each has its value", "limit 1 | A: call a | B: call b")

SIM_SCRIPT(call_try, 0, "try_call runs its function at once, or not at all",
           "| A: try_call a = ok again | B: try_call b = ok again | C: submit c")

SIM_SCRIPT(call_cancelled, 1, "a waiting call that cancel_pending meets",
           "limit 1 | A: call a = ok cancelled | B: submit b | C: cancel_all = ok memory")

SIM_SCRIPT(call_close, 1, "a call beside a close",
           "limit 1 | A: call a = ok closed | B: call b = ok closed | C: close")

/* ---- No memory ---- */

SIM_VERB(post_without_memory, SIM_OK)
{
	int status;

	sim_fail_allocation(1 + sim_pick(3));
	status = sim_note_post(note);
	sim_fail_allocation(0);
	return status;
}

SIM_VERB(wait_without_memory, SIM_OK)
{
	int status;

	sim_fail_allocation(1);
	status = baton_future_wait(&note->future);
	sim_fail_allocation(0);
	return status;
}

SIM_SCRIPT(post_no_memory, 1, "an allocation fails: the function has not run",
           "limit 0 | A: post_without_memory a = ok memory | B: post_without_memory b = ok memory")

SIM_SCRIPT(wait_no_memory, 1, "a waiter without memory for its record delays nobody",
           "queued a | A: wait_without_memory a = ok memory")
