/* SPDX-License-Identifier: MIT */
/*
 * A trigger is a task that is pending at most once, however often it is fired: flush what is dirty,
 * start the resending, write the retained message. If a trigger is fired while its function runs,
 * the function runs exactly once more afterwards.
 *
 *	static void flush(struct baton_trigger *trigger, uint64_t fires)
 *	{
 *		struct session *session = baton_container_of(trigger, struct session, flush);
 *		...
 *	}
 *	baton_trigger_init(&session->flush, &session->resource, flush, NULL);
 *	baton_trigger_fire(&session->flush);	(from any thread, a thousand times)
 *
 *                | may run beside         | from
 *   fire         | fire, stop             | any thread, also inside tasks
 *   stop         | fire, stop             | any thread, also inside tasks
 *   is_pending   | fire, stop             | any thread, also inside tasks
 *   init         | nothing                | the owner
 *
 * Source: Linux's tasklets and work items (one pending bit, cleared before the function runs); the
 * count that the function gets is eventfd's.
 */
#ifndef BATON_TRIGGER_H
#define BATON_TRIGGER_H

#include <stdbool.h>
#include <stdint.h>

#include <baton/attributes.h>
#include <baton/future.h>
#include <baton/label.h>
#include <baton/resource.h>
#include <baton/task.h>

#ifdef __cplusplus
extern "C" {
#endif

struct baton_trigger;

/*
 * A trigger's function; runs under the resource's baton. `fires`: how many fires this run answers,
 * 1 or more. What the firing threads did before is visible. A fire that comes from now on leads to
 * another run. The function may stop the trigger, and free its memory if no other thread fires it
 * any more.
 */
typedef void (*baton_trigger_fn)(struct baton_trigger *trigger, uint64_t fires);

/*
 * Called when `fires` accepted fires are answered by no run. Either the pending task was cancelled
 * (cancel_pending, shutdown_now, a bound that drops the oldest, a failing batch_begin): called
 * under the baton. Or the fires had coalesced into a fire whose submit was refused in the end, or
 * dropped by a bound: called on that submitter's thread, without the baton. Before the call the
 * trigger is reset, so that a later fire submits again. Not called for a run that
 * baton_trigger_stop() takes away.
 */
typedef void (*baton_trigger_cancelled_fn)(struct baton_trigger *trigger, uint64_t fires);

struct baton_trigger {
	struct baton_task _task;
	uint64_t _state;
	struct baton_resource *_resource;
	baton_trigger_fn _fn;
	baton_trigger_cancelled_fn _cancelled;
	struct baton_stamp stamp; /* the label of its runs, see label.h; yours to set */
};

/* A trigger that runs `fn` on `resource`, which must outlive it; `cancelled` may be NULL. */
#define BATON_TRIGGER_INIT(resource, fn, cancelled)                                                \
	{                                                                                          \
		{NULL, NULL, NULL}, 0, (resource), (fn), (cancelled), BATON_STAMP_INIT             \
	}

/* The same at run time; also to start a stopped trigger again, when its memory is the caller's. */
void baton_trigger_init(struct baton_trigger *trigger, struct baton_resource *resource,
                        baton_trigger_fn fn, baton_trigger_cancelled_fn cancelled)
	BATON_NONNULL_AT(1, 2, 3);

/*
 * Makes the function run once more. If the resource is idle, the function runs inside this call, as
 * a submitted task would (baton_submit() says which other tasks may run inside the call).
 *
 * Returns 0: a run will answer this fire, or has answered it already. If a run is pending, that run
 * answers this fire too; the function's `fires` says how many fires were coalesced.
 * Thread safety: any thread. Blocking: never. Progress: lock-free; a coalesced fire costs one
 * atomic operation; a fire that runs inline costs two more than baton_submit. (A thread that the
 * system stops inside a fire, before its submit, delays the run that others have coalesced into.)
 * Ownership: the trigger's memory is baton's while the task is pending: see stop.
 * Ordering: what the caller did before is visible to the run that answers the fire. In the
 * resource's order the run has the place of the first fire that it answers.
 * Errors: this fire will not be answered: -ECANCELED: the trigger is stopped. -EINVAL: the trigger
 * has no function or no resource. -EPIPE, -ESHUTDOWN, -EAGAIN as for baton_submit; a later fire
 * tries again. (The trigger's lane is that of its `stamp`, by default 0; a bound can exempt that
 * lane.)
 */
int baton_trigger_fire(struct baton_trigger *trigger) BATON_NONNULL;

/*
 * Stops the trigger: later fires are refused, and the pending run, if there is one, does not take
 * place. The task of that run stays in the queue and does nothing when its turn comes.
 *
 * Returns true if the trigger's task is in the resource's queue: a pending run, which now does not
 * take place, or a task that an earlier stop has left there. Returns false if no task of the
 * trigger is queued; outside of the resource's tasks, the function may be running at that moment.
 *
 * Thread safety: any thread. Blocking: never.
 * Ownership: the trigger's memory is the caller's again when no fire is under way any more, and the
 * task that was queued at the stop is over. That task is over after a baton_resource_await(), in a
 * task of the same resource and lane that was submitted after the stop, and, where stop returns
 * false inside a task of the resource, immediately.
 */
bool baton_trigger_stop(struct baton_trigger *trigger) BATON_NONNULL;

/* Is a run pending? A hint, unless no other thread fires. Any thread. Blocking: never. */
bool baton_trigger_is_pending(const struct baton_trigger *trigger) BATON_NONNULL;

/*
 * Makes a continuation, for baton_future_then() and baton_group_notify(), that fires the trigger.
 * If the fire is refused, `cancelled` is called. The trigger must live until then.
 */
void baton_continuation_trigger(struct baton_continuation *continuation,
                                struct baton_trigger *trigger) BATON_NONNULL;

#ifdef __cplusplus
}
#endif

#endif
