/* SPDX-License-Identifier: MIT */
/*
 * A trigger is a task that is pending at most once, however often it is fired: flush what is dirty,
 * start the resending, write the retained message. If a trigger is fired while its function runs,
 * the function runs exactly once more afterwards. The first fire submits: the function runs on this
 * thread, if the resource is idle, else on the runner's thread, or on the executor's thread.
 *
 *	static int flush(struct baton_trigger *trigger, uint64_t fires)
 *	{
 *		struct session *session = baton_container_of(trigger, struct session, flush);
 *		...
 *		return 0;
 *	}
 *	baton_trigger_init(&session->flush, &session->resource, flush);
 *	error = baton_trigger_fire(&session->flush);	(from any thread, a thousand times)
 *
 *                     | may run beside         | from
 *   fire, stop,       | everything but init    | any thread, also inside tasks
 *   is_pending        |                        |
 *   stop_then         | the same, once         | the same
 *   init, set_dropped | nothing                | the owner
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
#include <baton/stop.h>
#include <baton/task.h>

#ifdef __cplusplus
extern "C" {
#endif

struct baton_trigger;

/*
 * A trigger's function: runs as a task of the trigger's resource. `fires`: how many fires this run
 * answers, 1 or more. What the firing threads did before is visible. A fire that comes from now on
 * leads to another run. Returns 0, or BATON_GONE: the function has freed the trigger (stop.h).
 */
typedef int (*baton_trigger_fn)(struct baton_trigger *trigger, uint64_t fires);

/*
 * Called when `fires` accepted fires are answered by no run, although no thread has stopped the
 * trigger. `error`:
 *   -ECANCELED   The run was cancelled in the resource's queue (cancel_pending, shutdown_now, a
 *                bound that drops the oldest, a failing batch_begin): called under the baton, save
 *                where a bound drops the newest task.
 *   another one  The fires had coalesced into a fire whose submit was refused, with this error of
 *                baton_submit(): called on that submitter's thread, without the baton.
 * Before the call the trigger is reset, so that a later fire submits again. The trigger's memory
 * belongs to the called function if no other thread uses the trigger. A stop of the trigger on
 * another thread waits until the called function has returned. So the function must not wait for a
 * thread or a task that may stop the trigger.
 */
typedef void (*baton_trigger_dropped_fn)(struct baton_trigger *trigger, int error, uint64_t fires);

/* A trigger; a member of what it is for. Ownership: stop.h has the rule of memory. */
struct baton_trigger {
	struct baton_task _task;
	uint64_t _state;
	struct baton_resource *_resource;
	baton_trigger_fn _fn;
	baton_trigger_dropped_fn _dropped;
	struct baton_stopping _stopping;
	uint32_t _running;
	struct baton_stamp stamp; /* the label of its runs, see label.h; yours to set */
};

/* A trigger that runs `fn` on `resource`, which must outlive it. */
#define BATON_TRIGGER_INIT(resource, fn)                                                           \
	{                                                                                          \
		{NULL, NULL, NULL}, 0, (resource), (fn), NULL, {NULL, NULL}, 0, BATON_STAMP_INIT   \
	}

/*
 * Makes a trigger, as BATON_TRIGGER_INIT does; also to start a stopped trigger again, when its
 * memory is the caller's. `fn` runs as a task of the resource: on this thread, which fires, if the
 * resource is idle; else on the runner's thread, or on the executor's thread.
 *
 * Thread safety: the owner.
 */
void baton_trigger_init(struct baton_trigger *trigger, struct baton_resource *resource,
                        baton_trigger_fn fn) BATON_NONNULL;

/*
 * Sets the function that is told of fires that no run answers; NULL: none. It is called on the
 * runner's thread, or on the thread to which the resource refuses the run.
 *
 * Thread safety: the owner, before the first fire.
 */
void baton_trigger_set_dropped(struct baton_trigger *trigger, baton_trigger_dropped_fn dropped)
	BATON_NONNULL_AT(1);

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
BATON_MUST_USE int baton_trigger_fire(struct baton_trigger *trigger) BATON_NONNULL;

/*
 * Stops the trigger: later fires are refused until the trigger is initialised anew, and a run that
 * is pending does not take place. What the stop met, and when the memory is the caller's: stop.h.
 * The function of stop_then is called on this thread, or on the runner's thread.
 *
 * Thread safety: any thread.
 * Blocking: stop_wait: yes. The others: never, save while another thread calls the trigger's
 * `dropped`.
 * Ownership: stop.h has the rule of memory. A fire that is under way uses the trigger: wait for its
 * return before you free.
 * Errors: stop_wait: -EDEADLK, -ECHILD: stop.h. -ETIMEDOUT: the deadline has passed.
 *
 * Corner cases. A pending run of a trigger is QUEUED, so a stop meets NOTHING, QUEUED or RUNNING.
 */
BATON_MUST_USE struct baton_stopped baton_trigger_stop(struct baton_trigger *trigger) BATON_NONNULL;
struct baton_stopped baton_trigger_stop_then(struct baton_trigger *trigger,
                                             baton_stopped_fn stopped, void *arg)
	BATON_NONNULL_AT(1, 2);
BATON_MUST_USE int baton_trigger_stop_wait(struct baton_trigger *trigger) BATON_NONNULL;
BATON_MUST_USE int baton_trigger_stop_wait_until(struct baton_trigger *trigger,
                                                 uint64_t deadline_ns) BATON_NONNULL;

/* Is a run pending? A hint, unless no other thread fires. Any thread. Blocking: never. */
bool baton_trigger_is_pending(const struct baton_trigger *trigger) BATON_NONNULL;

/*
 * Makes a continuation, for baton_future_then() and baton_group_then(), that fires the trigger.
 * If the fire is refused, `dropped` is called. The trigger must live until then.
 */
void baton_continuation_trigger(struct baton_continuation *continuation,
                                struct baton_trigger *trigger) BATON_NONNULL;

#ifdef __cplusplus
}
#endif

#endif
