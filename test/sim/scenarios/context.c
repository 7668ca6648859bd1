/* SPDX-License-Identifier: MIT */
/*
 * enter and leave of a config: in pairs, around each task, on the runner's thread. What they write
 * is protected by the baton alone, and read by waiters because of the completion alone.
 */
#include "script.h"

static struct sim_topic *const topic = &sim_script_stage.topic;
static struct sim_note *const notes = sim_script_stage.notes;

/* Protected by the baton. */
static bool inside;
static unsigned runner; /* the thread that has called enter */
static struct sim_note *entered;
static unsigned pairs;

/* By the baton, then by the note's completion. */
static bool left[SIM_SCRIPT_NOTES];

static void enter(struct baton_resource *resource)
{
	sim_require(resource == &topic->resource);
	sim_require(!inside);
	inside = true;
	runner = sim_thread();
	entered = NULL;
	sim_point();
}

static void leave(struct baton_resource *resource)
{
	sim_require(resource == &topic->resource);
	sim_require(inside && runner == sim_thread());
	inside = false;
	pairs++;
	if (entered)
		left[entered - notes] = true;
	/* Where others have their say: nobody may have been told yet. */
	sim_point();
}

static void is_inside(struct sim_note *note)
{
	if (note->topic != topic)
		return;
	sim_require(inside && runner == sim_thread());
	entered = note;
}

static void all_are_left(void)
{
	unsigned ran = 0;

	sim_require(!inside);
	for (unsigned i = 0; i < SIM_SCRIPT_NOTES; i++)
		if (notes[i].topic == topic && notes[i].body == is_inside &&
		    notes[i].fate == SIM_RAN) {
			sim_require(left[i]);
			ran++;
		}
	sim_require(pairs >= ran);
}

/* Tasks without a line look whether they are inside. */
SIM_VERB(context, SIM_OK)
{
	topic->config.enter = enter;
	topic->config.leave = leave;
	baton_resource_init(&topic->resource, &topic->config);
	for (unsigned i = 0; i < SIM_SCRIPT_NOTES; i++)
		if (!notes[i].body)
			notes[i].body = is_inside;
	sim_script_before_close(all_are_left);
	return 0;
}

/* Waits for it; it is over, and so is its pair. */
SIM_VERB(unpaired, SIM_OK)
{
	sim_require(baton_future_wait(&note->future) == 0);
	sim_require(left[note - notes] || note->fate != SIM_RAN);
	sim_script_mark(&sim_script_marks.over[note - notes]);
	sim_note_over(note);
	return 0;
}

SIM_SCRIPT(context_waiters, 1, "two submit and wait; they are told after their tasks' pairs",
           "context; futures a b | A: submit a; unpaired a | B: submit b; unpaired b")

SIM_SCRIPT(context_hand_off, 1, "limit 1: the pairs follow the baton to the executor's thread",
           "context; limit 1; quantum 1; futures a b"
           "| A: submit a; unpaired a"
           "| B: submit b c; unpaired b")

SIM_SCRIPT(context_helper, 1, "a helper's pairs, beside the executor's thread",
           "context; queued a b | A: unpaired a | B: unpaired b")

SIM_SCRIPT(context_cancelled, 1, "a cancelled task has no pair",
           "context; queued a b | A: cancel a | B: unpaired b")

SIM_SCRIPT(context_hooks, 1, "the hooks have pairs of their own",
           "context; hooks; queued a b; futures c | A: unpaired a | B: submit c; unpaired c")

SIM_SCRIPT_FROZEN(context_frozen, "a stopped runner, perhaps in enter or leave",
                  "other 10; context; futures h; elsewhere g h | A: submit a b"
                  "| B: submit e f g h; wait h")
