/* SPDX-License-Identifier: MIT */
/*
 * Windows: completions against submits, other limits and the resource's end; window_cancel.c:
 * against cancels. An execution fails when more tasks are in flight than the limit allows; when a
 * task that was accepted never starts although there is room, and is not cancelled; when the
 * library touches the window or its resource after the finaliser.
 */
#include "script.h"

#include <baton/bound.h>
#include <baton/window.h>

#include "base/atomic.h"

#include "../../parts.h"

static struct sim_topic *const topic = &sim_script_stage.topic;
static struct sim_note *const notes = sim_script_stage.notes;
static struct baton_window window;

static struct parcel {
	struct windowed windowed;
	uint32_t told; /* 1: it is in flight; 2: it never will be */
	bool stays;    /* does not detach */
} parcels[SIM_SCRIPT_NOTES];

static unsigned in_flight_max;
static unsigned started; /* under the baton */
static uint32_t completed;

static struct parcel *parcel_of(const struct sim_note *note)
{
	return &parcels[note - notes];
}

static struct sim_note *note_of(struct baton_task *task)
{
	return &notes[baton_container_of(task, struct parcel, windowed.task) - parcels];
}

static int run(struct baton_task *task)
{
	struct sim_note *note = note_of(task);
	struct parcel *parcel = parcel_of(note);
	unsigned before = started++;

	/* All that have begun, this one included, less those known to be complete. */
	sim_require(before + 1 - load_relaxed(&completed) <= in_flight_max);
	(void)sim_note_run(note);
	if (parcel->stays) {
		(void)add_relaxed(&completed, 1);
		store_release(&parcel->told, 2);
		return 0;
	}
	sim_require(baton_detach(&parcel->windowed.part.token, 0) == 0);
	store_release(&parcel->told, 1);
	return 0;
}

static void cancelled(struct baton_task *task)
{
	sim_note_cancelled(note_of(task));
}

static void nothing_waits(void)
{
	sim_require(baton_window_waiting(&window) == 0);
}

static void give_back(void)
{
	baton_window_deinit(&window);
	sim_retire(&window, sizeof(window));
}

SIM_VERB(window, SIM_OK)
{
	baton_window_init(&window, &topic->resource, number);
	in_flight_max = number;
	sim_script_before_close(nothing_waits);
	sim_script_after_close(give_back);
	return 0;
}

static const struct baton_task_type parcel_type = {
	.run = run,
	.cancelled = cancelled,
	.future = BATON_TASK_PLACE(struct windowed, task, future),
	.stamp = BATON_TASK_PLACE(struct windowed, task, stamp),
	.window = BATON_TASK_PLACE(struct windowed, task, part),
};

/* It is submitted to the window. */
SIM_VERB(windowed, SIM_OK)
{
	struct windowed *windowed = &parcel_of(note)->windowed;

	baton_task_init_of(&windowed->task, &parcel_type);
	baton_window_part_init(&windowed->part, &window);
	windowed->future = note->own_future ? &note->future : NULL;
	note->entry = &windowed->task;
	return 0;
}

/* It gives its place back by returning. */
SIM_VERB(returns, SIM_OK)
{
	parcel_of(note)->stays = true;
	return 0;
}

/* Waits until it is in flight, completes it; or it never will be in flight. */
SIM_VERB(acknowledge, SIM_OK)
{
	struct parcel *parcel = parcel_of(note);
	uint32_t told;

	while (!(told = load_acquire(&parcel->told))) {
		if (note->own_future && baton_future_is_complete(&note->future))
			return 0;
		sim_yield();
	}
	if (told == 2)
		return 0;
	/* Before: a start that the completion allows may come before it returns. */
	(void)add_relaxed(&completed, 1);
	return baton_detached_complete(&parcel->windowed.part.token, 0, NULL);
}

SIM_VERB(room, SIM_OK)
{
	in_flight_max = number;
	return baton_window_set_limit(&window, number);
}

SIM_VERB(kept, SIM_OK)
{
	sim_require(baton_window_waiting(&window) == number);
	return 0;
}

SIM_VERB(started, SIM_OK)
{
	sim_require(started == number);
	return 0;
}

SIM_VERB(cancel_waiting, SIM_OK)
{
	sim_script_mark(&sim_script_marks.cancels);
	return baton_window_cancel(&window);
}

SIM_VERB(take_out, SIM_OK)
{
	int status = baton_window_cancel_task(&parcel_of(note)->windowed.task);

	if (!status)
		sim_note_never(note);
	return status;
}

/* As soon as it has been submitted: -EINVAL before. */
SIM_VERB(take_out_early, SIM_OK)
{
	int status;

	while ((status = baton_window_cancel_task(&parcel_of(note)->windowed.task)) == -EINVAL)
		sim_yield();
	if (!status)
		sim_note_never(note);
	return status;
}

/* Its memory is not the library's any more. */
SIM_VERB(gone, SIM_OK)
{
	sim_require(baton_future_wait(&note->future) == 0);
	sim_retire(parcel_of(note), sizeof(parcels[0]));
	return 0;
}

SIM_SCRIPT(window_submit_complete, 0, "a submitter beside a completer: none is left waiting",
           "bare; window 1; futures a; windowed a b"
           "| A: acknowledge a b"
           "| submit a b; join; started 2")

SIM_SCRIPT(window_complete_2, 2, "two completers: room for two, four tasks",
           "bare; window 2; futures a b; windowed a b c d; submit a b c d"
           "| A: acknowledge a | B: acknowledge b"
           "| acknowledge c d; join; started 4")

SIM_SCRIPT(window_stays, 2, "those that give their place back by returning make room, too",
           "bare; window 1; futures a b c d; windowed a b c d; returns b c"
           "| A: acknowledge a"
           "| submit a b c; wait c; join; started 3")

SIM_SCRIPT(window_limit, 0, "raised from 0 beside a submitter: none is left waiting",
           "bare; window 0; futures a; windowed a b"
           "| A: room 2"
           "| submit a b; acknowledge a b; join; started 2")

static struct baton_bound bound;
static struct baton_bound_config one_waits = {.tasks_max = 1, .policy = BATON_BOUND_WAIT};

SIM_VERB(bound_of_one, SIM_OK)
{
	baton_bound_init(&bound, &one_waits);
	baton_resource_set_bound(&topic->resource, &bound);
	return 0;
}

SIM_SCRIPT(window_bound_wait, 2, "woken when one of those leaves that have all the room",
           "bare; window 1; bound_of_one; windowed a b c; submit a b"
           "| A: submit c"
           "| acknowledge a b c; join; started 3")

SIM_SCRIPT(window_bound_wait_2, 1, "the same twice in a row, beside two completers",
           "bare; window 1; bound_of_one; windowed a b c d; submit a b"
           "| A: submit c d | B: acknowledge a b"
           "| acknowledge c d; join; started 4")

/* ---- The resource's end ---- */

SIM_SCRIPT(window_close_then, 2,
           "closed beside completions: all accepted ones run, then the finaliser",
           "bare; window 1; windowed a b; submit a b"
           "| A: close_then | B: acknowledge b"
           "| acknowledge a; join; started 2")

SIM_SCRIPT(window_close_then_2, 1, "closed beside two completions, with room for two",
           "bare; window 2; windowed a b c d; submit a b c d"
           "| A: close_then | B: acknowledge a | C: acknowledge b | D: acknowledge c"
           "| acknowledge d; join; started 4")

SIM_SCRIPT(window_close_await, 2, "await on the closed resource comes after all of them",
           "bare; window 1; futures a; windowed a b; submit a b"
           "| A: acknowledge a b"
           "| end; started 2")

/* ---- With an executor: hand-offs, helpers ---- */

SIM_SCRIPT(window_help, 1, "queued behind a limit of 1 task per stay, with a helper",
           "limit 1; quantum 1; window 1; futures a b c; windowed a b c"
           "| A: submit a b c; wait c | B: acknowledge a b c"
           "| drive; started 3")
