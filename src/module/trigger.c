/* SPDX-License-Identifier: MIT */
/*
 * Triggers: a task that is pending at most once.
 *
 * The word `_state`:
 *   STOPPED  1 bit. Set by stop, never cleared.
 *   NODE     1 bit. `_task` is being submitted, or is queued. Set by a fire, which then submits the
 *            task. Cleared by take_fires: a run, before the function; a cancel; the refused
 *            submitter.
 *   TOLD     1 bit, beside STOPPED. stop_then has been called, and its function has not. Set by
 *            stop_then. Cleared by the thread that then calls the function.
 *   FIRES    61 bits. The number of fires that the next run answers. 0 unless NODE is set.
 *
 *   0 -> NODE|1 fire             fire, which then submits
 *   NODE|n -> NODE|n+1           fire, coalesced
 *   NODE|n -> 0                  run (it calls the function with n), cancel, refusal
 *   any -> any|STOPPED, 0 fires  stop
 *   any -> any|STOPPED|TOLD, 0   stop_then
 *   STOPPED|TOLD -> STOPPED      the function of stop_then is called next
 *
 * `_running` is 1 while the function runs. Only the runner writes it, by plain stores: before its
 * step that clears NODE, and when the function has returned. TELLS, in place of the 1: the function
 * has called stop_then.
 *
 * Invariants:
 * trigger.task: The thread that has set NODE touches `_task` until the submit; then the resource's
 *    runner does until it clears NODE. So the task is in at most one queue, once. While TOLD is set
 *    and NODE is clear, `_task` is the mark of stop_then: STOPPED keeps fires from setting NODE.
 * trigger.counted: A fire that is not refused is counted once, and taken out once: by a run, a
 *    cancel, a refused submitter, or stop. A refused submitter takes out its own fire, for which it
 *    gets the error, and the fires coalesced into it, which were accepted and count as dropped.
 * trigger.running: A stop that finds NODE clear comes after the run's step, and so sees the 1 that
 *    the runner has stored before that step, or the 0 of its end. So a stop that finds NODE and
 *    `_running` clear, and no other thread in `dropped` (timer.dropped, dropping.h), has the
 *    trigger's memory to itself.
 * trigger.told: One thread calls the function of stop_then. If stop_then has found NODE, it is the
 *    thread that clears NODE; else it is the thread in stop_then. If the function of the trigger is
 *    still running then, that thread pushes the mark; the runner meets it when the function has
 *    returned. So the end of a run needs no look at TOLD, which would cost an atomic operation.
 *    Inside the function stop_then pushes no mark: if the function suspends its resource, the mark
 *    would wait for the resume. The runner calls the function of stop_then at the end of the run.
 * trigger.last_touch: After the step that clears NODE only the function, `dropped`, the store of 0
 *    to `_running`, the thread of trigger.told, or the fire whose submit was refused touches the
 *    trigger. After an accepted submit the submitter touches nothing.
 *
 * Linearisation point of fire and stop: the CAS on `_state`. ABA: each transition depends on the
 * word alone. Progress: lock-free: a CAS fails only because of another thread's fire, run or stop.
 */
#include "core/callback.h"

#include <baton/trigger.h>

#include "base/atomic.h"
#include "core/label.h"
#include "base/checked.h"
#include "base/refused.h"
#include "core/run.h"
#include "core/submit.h"
#include "timer/dropping.h"
#include "timer/stop.h"

#include <errno.h>

#define STOPPED ((uint64_t)1)
#define NODE ((uint64_t)2)
#define TOLD ((uint64_t)4)
#define FIRE ((uint64_t)8)

#define TELLS 2U /* in _running */

static struct baton_trigger *trigger_of(struct baton_task *task)
{
	return baton_container_of(task, struct baton_trigger, _task);
}

/* Calls the function of stop_then. */
static int tell_owner(struct baton_task *task)
{
	struct baton_trigger *trigger = trigger_of(task);
	const struct baton_stopping stopping = trigger->_stopping;

	/* Relaxed: the function tells the owner, and no thread fires a stopped trigger. */
	(void)sub_relaxed(&trigger->_state, TOLD); /* last touch */
	stopping._fn(stopping._arg);
	return 0;
}

/* TOLD is set, and NODE is clear: tells at once, or when the function has returned. Returns what
 * the stop has met. */
static enum baton_stop give_back(struct baton_trigger *trigger)
{
	/* [trigger.ran] acquire: what the function did; pairs with [trigger.ran] in run_trigger */
	if (!load_acquire(&trigger->_running)) {
		baton__stop_tell(&trigger->_task, tell_owner);
		return BATON_STOP_NOTHING;
	}
	if (baton__thread_holds(baton__self, trigger->_resource)) {
		store_relaxed(&trigger->_running, TELLS);
		return BATON_STOP_RUNNING;
	}
	baton__stop_tell_after(trigger->_resource, &trigger->_task, tell_owner);
	return BATON_STOP_RUNNING;
}

/*
 * Clears NODE, and takes out all fires. Returns their number. `dropping`: NULL: the caller is the
 * runner, and calls the function. Otherwise all fires but the first `own` are to be told to
 * `dropped`, and `dropping` is begun for that.
 */
static uint64_t take_fires(struct baton_trigger *trigger, struct baton__dropping *dropping,
                           uint64_t own)
{
	uint64_t state = load_relaxed(&trigger->_state);

	/* Ends: as in fire. */
	do {
		BATON_ASSERT(state & NODE);
		/* Relaxed: the CAS publishes it (trigger.running). */
		if (!dropping)
			store_relaxed(&trigger->_running, state >= FIRE);
		else if (state / FIRE > own && trigger->_dropped && !dropping->object)
			baton__dropping_begin(dropping, trigger);
		/* [trigger.fire] acquire: what the firing threads did; pairs with [trigger.fire] in
		 * fire. And the function of stop_then, if TOLD is set.
		 * [trigger.node] release: `_task` as this thread leaves it, and `_running`; pairs
		 * with [trigger.node] in fire and stop_trigger */
	} while (!cas_acq_rel(&trigger->_state, &state, state & (STOPPED | TOLD)));
	if (state & TOLD)
		(void)give_back(trigger);
	return state / FIRE;
}

static int run_trigger(struct baton_task *task)
{
	struct baton_trigger *trigger = trigger_of(task);
	baton_trigger_fn fn = trigger->_fn;
	uint64_t fires = take_fires(trigger, NULL, 0); /* last touch, if it was stopped */
	bool tells;

	if (!fires)
		return baton__not_to_run();
	if (fn(trigger, fires) == BATON_GONE)
		return 0;
	/* Relaxed: this thread has stored it. */
	tells = load_relaxed(&trigger->_running) == TELLS;
	/* [trigger.ran] release: what the function did; pairs with [trigger.ran] in give_back and
	 * baton_trigger_stop */
	store_release(&trigger->_running, 0); /* last touch, unless it tells */
	if (BATON_UNLIKELY(tells))
		baton__stop_tell(&trigger->_task, tell_owner);
	return 0;
}

static void drop_fires(struct baton_trigger *trigger, int error, uint64_t own)
{
	const baton_trigger_dropped_fn told = trigger->_dropped;
	struct baton__dropping dropping = {.object = NULL};
	uint64_t fires = take_fires(trigger, &dropping, own);

	if (fires > own && told)
		told(trigger, error, fires - own);
	baton__dropping_end(&dropping);
}

static void run_dropped(struct baton_task *task)
{
	drop_fires(trigger_of(task), -ECANCELED, 0);
}

static const struct baton_task_type trigger_type = {
	.run = run_trigger,
	.cancelled = run_dropped,
	.stamp = BATON_TASK_PLACE(struct baton_trigger, _task, stamp),
	.function = BATON_TASK_PLACE(struct baton_trigger, _task, _fn),
};

/* Called by a fire whose submit was refused. One of the fires is this thread's, unless a stop has
 * taken out all of them. */
static void refused(struct baton_trigger *trigger, int error)
{
	struct baton__frame frame;

	baton__callback_begin(&frame);
	drop_fires(trigger, error, 1);
	baton__callback_end(&frame);
}

BATON_EXPORT void baton_trigger_init(struct baton_trigger *trigger, struct baton_resource *resource,
                                     baton_trigger_fn fn)
{
	BATON__CHECKED(trigger_init(trigger, resource, fn, __func__));
	*trigger = (struct baton_trigger)BATON_TRIGGER_INIT(resource, fn);
}

BATON_EXPORT void baton_trigger_set_dropped(struct baton_trigger *trigger,
                                            baton_trigger_dropped_fn dropped)
{
	BATON__NEED(trigger, "the trigger is NULL");
	trigger->_dropped = dropped;
}

BATON_EXPORT int baton_trigger_fire(struct baton_trigger *trigger)
{
	BATON__CHECKED(trigger_fire(trigger, __func__));

	uint64_t state;
	int error = 0;

	if (BATON_UNLIKELY(!trigger->_resource || !trigger->_fn))
		return BATON__ANSWER(
			trigger->_resource,
			baton__refused(
				"baton_trigger_fire: the trigger has no resource or function"));
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
			return BATON__ANSWER(trigger->_resource, -ECANCELED);
	} while (!cas_acq_rel(&trigger->_state, &state, (state + FIRE) | NODE));
	if (state & NODE)
		return 0; /* coalesced */
	baton__type_set(&trigger->_task, &trigger_type);
	baton__stamp_carry(&trigger->_task);
	error = baton__submit(trigger->_resource, &trigger->_task,
	                      BATON__SUBMIT_NO_WAIT); /* last touch, if accepted */
	if (error)
		refused(trigger, error);
	return BATON__ANSWER(trigger->_resource, error);
}

/* Stops the trigger. `told`: TOLD or 0. Returns the state as it was. */
static uint64_t stop_trigger(struct baton_trigger *trigger, uint64_t told)
{
	uint64_t state = load_relaxed(&trigger->_state);

	/* Ends: as in fire. [trigger.node] acquire: what the thread that has cleared NODE did, and
	 * `_running`; pairs with [trigger.node] in take_fires. [trigger.fire]
	 * release: the function of stop_then; pairs with [trigger.fire] in take_fires */
	while (!cas_acq_rel(&trigger->_state, &state, STOPPED | (state & (NODE | TOLD)) | told))
		;
	return state;
}

static enum baton_stop stop_pending(void *object)
{
	struct baton_trigger *trigger = (struct baton_trigger *)object;
	const uint64_t state = stop_trigger(trigger, 0);
	bool running;

	(void)baton__dropping_await(trigger);
	/* [trigger.ran] acquire: what the function did; pairs with [trigger.ran] in run_trigger */
	running = load_acquire(&trigger->_running);
	if (state & NODE || (state & TOLD && !running))
		return BATON_STOP_QUEUED;
	return running ? BATON_STOP_RUNNING : BATON_STOP_NOTHING;
}

BATON_EXPORT struct baton_stopped baton_trigger_stop(struct baton_trigger *trigger)
{
	BATON__NEED(trigger, "the trigger is NULL");

	if (BATON_UNLIKELY(baton__forked()))
		return baton__stopped(BATON_STOP_CHILD);
	return baton__stopped(stop_pending(trigger));
}

BATON_EXPORT int baton_trigger_stop_wait(struct baton_trigger *trigger)
{
	BATON__NEED(trigger, "the trigger is NULL");
	return baton__stop_wait(trigger, stop_pending, trigger->_resource, BATON_FOREVER);
}

BATON_EXPORT int baton_trigger_stop_wait_until(struct baton_trigger *trigger, uint64_t deadline_ns)
{
	BATON__NEED(trigger, "the trigger is NULL");
	return baton__stop_wait(trigger, stop_pending, trigger->_resource, deadline_ns);
}

BATON_EXPORT struct baton_stopped baton_trigger_stop_then(struct baton_trigger *trigger,
                                                          baton_stopped_fn stopped, void *arg)
{
	BATON__NEED(trigger, "the trigger is NULL");
	BATON__NEED(stopped, "the function is NULL");

	if (BATON_UNLIKELY(baton__forked()))
		return baton__stopped(BATON_STOP_CHILD);
	/* Relaxed: only another stop_then sets TOLD. */
	BATON_REQUIRE(!(load_relaxed(&trigger->_state) & TOLD),
	              "stop_then was called for this trigger already: one at a time");
	trigger->_stopping = (struct baton_stopping){stopped, arg};
	if (stop_trigger(trigger, TOLD) & NODE)
		return baton__stopped(BATON_STOP_QUEUED); /* last touch: trigger.told */
	(void)baton__dropping_await(trigger);
	return baton__stopped(give_back(trigger));
}

BATON_EXPORT bool baton_trigger_is_pending(const struct baton_trigger *trigger)
{
	/* A hint. */
	return load_relaxed(&trigger->_state) >= FIRE;
}

static void tell_of_one(struct baton_continuation *continuation)
{
	struct baton_trigger *trigger = (struct baton_trigger *)continuation->_target;
	const int error = (int)(intptr_t)continuation->_subject;

	if (trigger->_dropped)
		trigger->_dropped(trigger, error, 1); /* last touch */
}

static void fire_trigger(struct baton_continuation *continuation)
{
	struct baton_trigger *trigger = (struct baton_trigger *)continuation->_target;
	int error = baton_trigger_fire(trigger); /* last touch of both, if accepted */

	if (!error)
		return;
	continuation->_subject = (void *)(intptr_t)error;
	baton__call_out(continuation, tell_of_one);
}

BATON_EXPORT void baton_continuation_trigger(struct baton_continuation *continuation,
                                             struct baton_trigger *trigger)
{
	*continuation = (struct baton_continuation){NULL, fire_trigger, trigger, NULL};
}
