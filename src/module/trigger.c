/* SPDX-License-Identifier: MIT */
/*
 * Triggers: a task that is pending at most once.
 *
 * _state:
 *   STOPPED  1 bit   set by stop, for good
 *   NODE     1 bit   _task is being submitted, or queued. Set by the fire that then submits it;
 *                    cleared by the run before the function, by a cancel, by the refused submitter
 *   FIRES    62 bits fires that the next run answers; only while NODE; 0 when stopped
 *
 *   0 -> NODE|1 fire             fire, which then submits
 *   NODE|n -> NODE|n+1           fire, coalesced
 *   NODE|n -> 0                  run (the function is called with n), cancel, refusal
 *   any -> any|STOPPED, 0 fires  stop
 *
 * Invariants:
 * TR1 _task is touched by whoever has set NODE, from there to the submit, and by the resource's
 *     runner from there until it clears NODE. So it is in one queue at most once.
 * TR2 Every fire that is not refused is counted once, and taken out once: by a run, by a cancel, by
 *     the refused submitter, or by stop. (Refused, a submitter takes out its own too: it gets the
 *     error; who has coalesced into it meanwhile was told otherwise, and is cancelled.)
 * TR3 After the step that clears NODE the runner touches of the trigger only what the function
 *     does. After an accepted submit the submitter touches nothing.
 *
 * Linearisation point of fire: its CAS on _state. No ABA: the counts are all that matters.
 * Progress: lock-free: each failed CAS is another's fire, run, or stop.
 */
#include "core/place.h"

#include <baton/trigger.h>

#include "base/atomic.h"
#include "core/submit.h"

#include <errno.h>

#define STOPPED ((uint64_t)1)
#define NODE ((uint64_t)2)
#define FIRE ((uint64_t)4)

static struct baton_trigger *trigger_of(struct baton_task *task)
{
	return baton_container_of(task, struct baton_trigger, _task);
}

/* Takes the node out of use, and all fires with it: how many. */
static uint64_t take(struct baton_trigger *trigger)
{
	uint64_t state = load_relaxed(&trigger->_state);

	/* Ends: as fire's loop. [TR1] acquire: what the firers did; pairs with [TR1] in fire.
	 * [TR2] release: the node is as we left it; pairs with [TR2] in fire */
	do {
		BATON_ASSERT(state & NODE);
	} while (!cas_acq_rel(&trigger->_state, &state, state & STOPPED));
	return state / FIRE;
}

static int run(struct baton_task *task)
{
	struct baton_trigger *trigger = trigger_of(task);
	baton_trigger_fn fn = trigger->_fn;
	uint64_t fires = take(trigger); /* last touch, if it was stopped */

	if (fires)
		fn(trigger, fires); /* last touch */
	return 0;
}

static void tell(struct baton_trigger *trigger, baton_trigger_cancelled_fn cancelled,
                 uint64_t fires)
{
	if (fires && cancelled)
		cancelled(trigger, fires);
}

static void dropped(struct baton_task *task)
{
	struct baton_trigger *trigger = trigger_of(task);
	baton_trigger_cancelled_fn cancelled = trigger->_cancelled;

	tell(trigger, cancelled, take(trigger)); /* last touch */
}

static const struct baton_task_type trigger_type = {
	.run = run,
	.cancelled = dropped,
	.stamp = BATON_TASK_PLACE(struct baton_trigger, _task, stamp),
};

/* The submit of our node was refused. */
static void refused(struct baton_trigger *trigger)
{
	uint64_t fires = take(trigger);
	struct baton__frame frame;

	/* Our own fire is among them, unless stop has taken them all. */
	if (fires < 2)
		return;
	baton__callback_begin(&frame);
	tell(trigger, trigger->_cancelled, fires - 1);
	baton__callback_end(&frame);
}

BATON_EXPORT void baton_trigger_init(struct baton_trigger *trigger, struct baton_resource *resource,
                                     baton_trigger_fn fn, baton_trigger_cancelled_fn cancelled)
{
	*trigger = (struct baton_trigger)BATON_TRIGGER_INIT(resource, fn, cancelled);
}

BATON_EXPORT int baton_trigger_fire(struct baton_trigger *trigger)
{
	uint64_t state;
	int error = 0;

	if (BATON_UNLIKELY(!trigger->_resource || !trigger->_fn))
		return -EINVAL;
	/* First, so that what then refuses the submit is the resource alone. */
	if (BATON_UNLIKELY(baton__self->depth >= BATON__DEPTH_NONE))
		error = baton__thread_attach();
	if (error)
		return error;
	state = load_relaxed(&trigger->_state);
	/* Ends: each failure is another fire, a run, or a stop.
	 * [TR1] release: what the caller did; pairs with [TR1] in take.
	 * [TR2] acquire: the node is out of use; pairs with [TR2] in take */
	do {
		if (state & STOPPED)
			return -ECANCELED;
	} while (!cas_acq_rel(&trigger->_state, &state, (state + FIRE) | NODE));
	if (state & NODE)
		return 0; /* coalesced */
	baton_task_init_typed(&trigger->_task, &trigger_type);
	error = baton__submit(trigger->_resource, &trigger->_task,
	                      BATON__SUBMIT_NO_WAIT); /* last touch, if accepted */
	if (error)
		refused(trigger);
	return error;
}

BATON_EXPORT bool baton_trigger_stop(struct baton_trigger *trigger)
{
	uint64_t state = load_relaxed(&trigger->_state);

	/* Ends: as fire's loop. Relaxed: it gives nothing back; that is for the baton, or an await,
	 * to show. */
	while (!cas_relaxed(&trigger->_state, &state, STOPPED | (state & NODE)))
		;
	return state & NODE;
}

BATON_EXPORT bool baton_trigger_is_pending(const struct baton_trigger *trigger)
{
	/* A hint. */
	return load_relaxed(&trigger->_state) >= FIRE;
}

static void tell_of_one(struct baton_continuation *continuation)
{
	struct baton_trigger *trigger = (struct baton_trigger *)continuation->_target;

	tell(trigger, trigger->_cancelled, 1); /* last touch */
}

static void fire_trigger(struct baton_continuation *continuation)
{
	struct baton_trigger *trigger = (struct baton_trigger *)continuation->_target;

	if (baton_trigger_fire(trigger)) /* last touch of both, if accepted */
		baton__call_out(continuation, tell_of_one);
}

BATON_EXPORT void baton_continuation_trigger(struct baton_continuation *continuation,
                                             struct baton_trigger *trigger)
{
	*continuation = (struct baton_continuation){NULL, fire_trigger, trigger, NULL};
}
