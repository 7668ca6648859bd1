/* SPDX-License-Identifier: MIT */
/*
 * The shelf: a task leaves its resource to nobody, and another thread goes on with it, perhaps
 * before the runner has left. What that thread writes before the unshelving only tasks write else:
 * an edge that is missing is a race.
 */
#include "script.h"

#include "base/atomic.h"
#include "module/shelf.h"

static struct sim_topic *const topic = &sim_script_stage.topic;

SIM_VERB(shelve, SIM_OK)
{
	baton__shelve(&topic->resource, BATON__DETACHED_TASK);
	return 0;
}

/* Between the task that has shelved it, and has nothing more to do, and the next one. */
SIM_VERB(unshelve, SIM_OK)
{
	topic->changes++;
	baton__unshelve(&topic->resource, false);
	return 0;
}

/* The short paths are open again. */
SIM_VERB(is_normal, SIM_OK)
{
	sim_require(load_relaxed(&topic->resource._word) == BATON__NORMAL);
	return 0;
}

SIM_VERB(changes, SIM_OK)
{
	sim_require(topic->changes == (int)number);
	return 0;
}

SIM_SCRIPT(shelf_leave, 2, "unshelving beside the runner that leaves",
           "| a: shelve; start C | C: attach; unshelve"
           "| A: submit a | B: submit b | drive; is_normal")

SIM_SCRIPT(shelf_leave_future, 2, "the same, of a task with a future",
           "futures a | a: shelve; start C | C: attach; unshelve"
           "| A: submit a | B: submit b | drive; is_normal")

SIM_SCRIPT(shelf_queued, 1, "the same, by the executor's thread or by a helper",
           "queued a b | a: shelve; start C | C: attach; unshelve | A: wait a | B: wait b")

SIM_SCRIPT(shelf_queued_cancel, 2, "the same, beside a canceller, who takes the inbox",
           "queued a b c | a: shelve; start C | C: attach; unshelve | A: wait a | B: cancel b")

SIM_SCRIPT(shelf_call, 1, "a call waits for the unsheller",
           "| a: shelve; start C | C: attach; unshelve | A: call a | B: call b")

/* The two tasks, the unsheller and the finaliser. */
SIM_SCRIPT(shelf_final, 1, "a finaliser waits for the unsheller",
           "queued a b; stays | a: shelve; start C | C: attach; unshelve"
           "| A: close_then | B: wait b | drive; changes 4; close = already")
