/* SPDX-License-Identifier: MIT */
/*
 * Triggers: a task that is pending at most once.
 *
 * The word `_state`:
 *   STOPPED  1 bit. Set by stop, never cleared.
 *   NODE     1 bit. `_task` is being submitted, or is queued. Set by a fire, which then submits the
 *            task. Cleared by take_fires: a run, before the function; a cancel; the refused
 *    submitter.
 *   FIRES    62 bits. The number of fires that the next run answers. 0 unless NODE is set.
 *
 *   0 -> NODE|1 fire             fire, which then submits
 *   NODE|n -> NODE|n+1           fire, coalesced
 *   NODE|n -> 0                  run (it calls the function with n), cancel, refusal
 *   any -> any|STOPPED, 0 fires  stop
 *
 * Invariants:
 * trigger.task: The thread that has set NODE touches `_task` until the submit; then the resource's
 *    runner does until it clears NODE. So the task is in at most one queue, once.
 * trigger.counted: A fire that is not refused is counted once, and taken out once: by a run, a
 *    cancel, a refused submitter, or stop. A refused submitter takes out its own fire, for which it
 *    gets the error, and the fires coalesced into it, which were accepted and count as cancelled.
 * trigger.last_touch: After the step that clears NODE only the function, `cancelled`, or the fire
 *    whose submit was refused touches the trigger. After an accepted submit the submitter touches
 *    nothing.
 *
 * Linearisation point of fire: its CAS on `_state`. ABA: each transition depends on the word alone.
 * Progress: lock-free: a CAS fails only because of another thread's fire, run or stop.
 */
#include "core/callback.h"

#include <baton/trigger.h>

#include "base/atomic.h"
#include "base/checked.h"
#include "base/refused.h"
#include "core/run.h"
#include "core/submit.h"

#include <errno.h>

#define STOPPED ((uint64_t)1)
#define NODE ((uint64_t)2)
#define FIRE ((uint64_t)4)

static struct baton_trigger *trigger_of(struct baton_task *task)
{
	return baton_container_of(task, struct baton_trigger, _task);
}

/* Clears NODE, and takes out all fires. Returns their number. */
static uint64_t take_fires(struct baton_trigger *trigger)
{
	uint64_t state = load_relaxed(&trigger->_state);

	/* Ends: as in fire.
	 * [trigger.fire] acquire: what the firing threads did; pairs with [trigger.fire] in fire.
	 * [trigger.node] release: `_task` as this thread leaves it; pairs with [trigger.node] in
	 * fire */
	do {
		BATON_ASSERT(state & NODE);
	} while (!cas_acq_rel(&trigger->_state, &state, state & STOPPED));
	return state / FIRE;
}

static int run_trigger(struct baton_task *task)
{
	struct baton_trigger *trigger = trigger_of(task);
	baton_trigger_fn fn = trigger->_fn;
	uint64_t fires = take_fires(trigger); /* last touch, if it was stopped */

	if (!fires)
		return baton__not_to_run();
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

	tell(trigger, cancelled, take_fires(trigger)); /* last touch */
}

static const struct baton_task_type trigger_type = {
	.run = run_trigger,
	.cancelled = dropped,
	.stamp = BATON_TASK_PLACE(struct baton_trigger, _task, stamp),
	.function = BATON_TASK_PLACE(struct baton_trigger, _task, _fn),
};

/* Called by a fire whose submit was refused. */
static void refused(struct baton_trigger *trigger)
{
	uint64_t fires = take_fires(trigger);
	struct baton__frame frame;

	/* One of the fires is this thread's. 0: stop has taken out all of them. */
	if (fires < 2)
		return;
	baton__callback_begin(&frame);
	tell(trigger, trigger->_cancelled, fires - 1);
	baton__callback_end(&frame);
}

BATON_EXPORT void baton_trigger_init(struct baton_trigger *trigger, struct baton_resource *resource,
                                     baton_trigger_fn fn, baton_trigger_cancelled_fn cancelled)
{
	BATON__CHECKED(trigger_init(trigger, resource, fn, __func__));
	*trigger = (struct baton_trigger)BATON_TRIGGER_INIT(resource, fn, cancelled);
}

BATON_EXPORT int baton_trigger_fire(struct baton_trigger *trigger)
{
	BATON__CHECKED(trigger_fire(trigger, __func__));

	uint64_t state;
	int error = 0;

	if (BATON_UNLIKELY(!trigger->_resource || !trigger->_fn))
		return baton__refused(
			"baton_trigger_fire: the trigger has no resource or function");
	/* Attach before the submit, so that only the resource can refuse the submit. */
	if (BATON_UNLIKELY(!baton__has_record(baton__self)))
		error = baton__thread_attach();
	if (error)
		return error;
	state = load_relaxed(&trigger->_state);
	/* Ends: each failure is another fire, a run, or a stop.
	 * [trigger.fire] release: what the caller did; pairs with [trigger.fire] in take_fires.
	 * [trigger.node] acquire: `_task` is out of use; pairs with [trigger.node] in take_fires */
	do {
		if (state & STOPPED)
			return -ECANCELED;
	} while (!cas_acq_rel(&trigger->_state, &state, (state + FIRE) | NODE));
	if (state & NODE)
		return 0; /* coalesced */
	baton__type_set(&trigger->_task, &trigger_type);
	error = baton__submit(trigger->_resource, &trigger->_task,
	                      BATON__SUBMIT_NO_WAIT); /* last touch, if accepted */
	if (error)
		refused(trigger);
	return error;
}

BATON_EXPORT bool baton_trigger_stop(struct baton_trigger *trigger)
{
	uint64_t state = load_relaxed(&trigger->_state);

	/* Ends: as in fire. Relaxed: stop publishes nothing and gives back no memory; the baton, or
	 * an await, orders that. */
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
