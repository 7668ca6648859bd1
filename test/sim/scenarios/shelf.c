/* SPDX-License-Identifier: MIT */
/*
 * The shelf: a task leaves its resource to nobody, and another thread goes on with it, perhaps
 * before the runner has left. What that thread writes before the unshelving only tasks write else:
 * an edge that is missing is a race.
 */
#include "support.h"

#include "base/atomic.h"
#include "module/shelf.h"

static struct sim_stage stage;
static struct sim_note *const notes = stage.notes;
static struct sim_topic *const topic = &stage.topic;

static void unshelve(void *argument)
{
	/* This thread's first call: it needs a record. */
	sim_require(baton__thread_attach() == 0);
	/* Between the task that has shelved it, and has nothing more to do, and the next one. */
	topic->changes++;
	baton__unshelve(&topic->resource, false);
}

static void shelves(struct sim_note *note)
{
	baton__shelve(&note->topic->resource);
	sim_start(unshelve, NULL);
}

static void run_shelf(bool with_future)
{
	sim_stage_init(&stage, 10, 64, 0);
	sim_note_init(&notes[0], topic, with_future);
	sim_note_init(&notes[1], topic, false);
	notes[0].body = shelves;
	sim_start(sim_does_submit, &notes[0]);
	sim_start(sim_does_submit, &notes[1]);
	sim_drive(stage.manual);
	/* The short paths are open again. */
	sim_require(load_relaxed(&topic->resource._word) == BATON__NORMAL);
	if (with_future)
		sim_note_over(&notes[0]);
	sim_stage_end(&stage);
}

SIM_SCENARIO(shelf_leave, "unshelving beside the runner that leaves", .bound = 2)
{
	run_shelf(false);
}

SIM_SCENARIO(shelf_leave_future, "the same, of a task with a future", .bound = 2)
{
	run_shelf(true);
}

SIM_SCENARIO(shelf_queued, "the same, by the executor's thread or by a helper", .bound = 1)
{
	sim_stage_init(&stage, 10, 64, 2);
	notes[0].body = shelves;
	sim_start(sim_does_wait, &notes[0]);
	sim_start(sim_does_wait, &notes[1]);
	sim_drive(stage.manual);
	sim_stage_end(&stage);
}

SIM_SCENARIO(shelf_queued_cancel, "the same, beside a canceller, who takes the inbox", .bound = 2)
{
	sim_stage_init(&stage, 10, 64, 3);
	notes[0].body = shelves;
	sim_start(sim_does_wait, &notes[0]);
	sim_start(sim_does_cancel, &notes[1]);
	sim_drive(stage.manual);
	sim_note_over(&notes[1]);
	sim_note_over(&notes[2]);
	sim_stage_end(&stage);
}

static void call(void *note)
{
	sim_require(sim_note_call(note) == 0);
}

SIM_SCENARIO(shelf_call, "a call waits for the unsheller", .bound = 1)
{
	sim_stage_init(&stage, 10, 64, 0);
	sim_note_init(&notes[0], topic, false);
	sim_note_init(&notes[1], topic, false);
	notes[0].body = shelves;
	sim_start(call, &notes[0]);
	sim_start(call, &notes[1]);
	sim_drive(stage.manual);
	sim_stage_end(&stage);
}

static int final_in;

static int count_final(struct baton_task *task)
{
	final_in = topic->changes;
	return 0;
}

static void close_then(void *argument)
{
	baton_task_init(argument, count_final, NULL);
	sim_require(baton_resource_close_then(&topic->resource, argument) == 0);
}

static struct baton_task finaliser;

SIM_SCENARIO(shelf_final, "a finaliser waits for the unsheller", .bound = 1)
{
	sim_stage_init(&stage, 10, 64, 2);
	notes[0].body = shelves;
	sim_start(close_then, &finaliser);
	sim_start(sim_does_wait, &notes[1]);
	sim_drive(stage.manual);
	sim_require(final_in == 3 && baton_resource_close(&topic->resource) == -EALREADY);
	sim_note_over(&notes[0]);
	baton_manual_destroy(stage.manual);
	sim_settled(topic);
}
