/* SPDX-License-Identifier: MIT */
/* Lanes: the holder sorts the tasks beside pushers, awaits, cancels, helpers and the end. */
#include "script.h"

#include "../../parts.h"

static struct sim_topic *const topic = &sim_script_stage.topic;
static struct baton_lane array[2];
static struct baton_lanes lanes;
static struct stamped labels[SIM_SCRIPT_NOTES];
static int lower_changes; /* by tasks of lane 1 */

static struct sim_note *note_of(struct baton_task *task)
{
	struct stamped *label = baton_container_of(task, struct stamped, task);

	return &sim_script_stage.notes[label - labels];
}

static int run_stamped(struct baton_task *task)
{
	struct sim_note *note = note_of(task);

	(void)sim_note_run(note);
	if (note->lane == 1)
		lower_changes++;
	return 0;
}

static void cancel_stamped(struct baton_task *task)
{
	sim_note_cancelled(note_of(task));
}

static const struct baton_task_type laned_type = {
	.run = run_stamped,
	.cancelled = cancel_stamped,
	.future = BATON_TASK_PLACE(struct stamped, task, future),
	.stamp = BATON_TASK_PLACE(struct stamped, task, stamp),
};

static int set_lane(struct sim_note *note, unsigned lane)
{
	struct stamped *label = &labels[note - sim_script_stage.notes];

	baton_task_init_of(&label->task, &laned_type);
	label->future = note->own_future ? &note->future : NULL;
	baton_stamp_set_lane(&label->stamp, lane);
	note->entry = &label->task;
	note->lane = lane;
	return 0;
}

SIM_VERB(upper, SIM_OK)
{
	return set_lane(note, 0);
}

SIM_VERB(lower, SIM_OK)
{
	return set_lane(note, 1);
}

SIM_UNSEEN static void lanes_are_empty(void)
{
	if (lanes._busy || lanes._older || lanes._marks)
		sim_fail("something is left in the lanes");
}

SIM_VERB(lanes, SIM_OK)
{
	baton_lanes_init(&lanes, array, 2, NULL);
	baton_resource_set_lanes(&topic->resource, &lanes);
	sim_script_after_close(lanes_are_empty);
	return 0;
}

/* Nobody but the suspender touches what the tasks of lane 1 write. */
SIM_VERB(lower_alone, SIM_OK)
{
	int before = ++lower_changes;

	sim_point();
	sim_require(lower_changes == before);
	return 0;
}

SIM_SCRIPT(lanes_push, 0, "two who push into two lanes: all run, each lane in order",
           "lanes; quantum 1; lower a c e; upper b d; later a b c | A: submit d | B: submit e")

SIM_SCRIPT(lanes_await, 0, "await waits for all lanes, beside a pusher and its runner",
           "lanes; quantum 1; lower a c; upper b d; later a b c | A: await | B: submit d")

SIM_SCRIPT(lanes_await_two, 1, "two awaits, each for what it has submitted",
           "lanes; quantum 1; lower a c d; upper b; later a b c"
           "| A: await | B: await | C: submit d")

SIM_SCRIPT(lanes_helper, 0, "who waits for a low one helps with the higher ones",
           "lanes; quantum 1; futures a b c d; lower a c d; upper b e; later a b c"
           "| A: submit d; wait d | B: submit e")

/* Tasks that are older than d do not run after it. */
SIM_SCRIPT(lanes_cancel_pending, 0, "what is older is cancelled or has run; what comes later runs",
           "lanes; quantum 1; lower a c e; upper b d; later a b c"
           "| a: unwritten | b: unwritten | c: unwritten | d: write"
           "| A: cancel_all; submit d | B: submit e"
           "| drive; ran d")

SIM_SCRIPT(lanes_everything, 1, "pushers, an await, cancel_pending and a helper",
           "lanes; quantum 1; futures a b c e; lower a c d e; upper b; later a b c"
           "| A: cancel_all; submit d | B: submit e; wait e | C: await")

SIM_SCRIPT(lanes_cancel_one, 0, "one is taken out of the middle of its lane",
           "lanes; quantum 1; futures a b c; lower a c; upper b; later a b c"
           "| A: cancel a; wait a | B: cancel c; wait c")

SIM_SCRIPT(lanes_cancel_await, 1, "a cancel in a lane that an await counts",
           "lanes; quantum 1; futures a b c; lower a c d; upper b; later a b c"
           "| A: await | B: cancel c; wait c | C: submit d")

SIM_SCRIPT(lanes_cancel_neighbours, 1, "two tasks side by side are cancelled one after the other",
           "lanes; quantum 1; futures a b c; lower a c; upper b; later a b c"
           "| A: cancel a; wait a; cancel c; wait c")

SIM_SCRIPT(lanes_cancel_behind_await, 1, "a cancel in a lane that an await does not count",
           "lanes; quantum 1; futures a b c d; lower a c d; upper b; later a b c"
           "| A: await | B: submit d; cancel d; wait d")

SIM_SCRIPT(lanes_finaliser, 1, "the finaliser comes after every lane",
           "lanes; quantum 1; futures a b c; lower a c d; upper b; later a b c; stays"
           "| A: close_then | B: submit d = ok closed | C: cancel c; wait c")

/* A batch of both lanes, captured, whose rest is handed off. */
SIM_SCRIPT(lanes_batch, 0, "a batch captured beside a pusher",
           "lanes; limit 1; quantum 1; lower a c e; upper b d"
           "| A: submit d | B: submit e | batch_to c")
