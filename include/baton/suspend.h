/* SPDX-License-Identifier: MIT */
/*
 * After a suspend, the resource's running task finishes, and no further task runs, not even a task
 * that was queued before; submitted tasks wait until the resource is resumed. Quiescing suspends
 * several resources: none of them runs a task while the caller looks at (or changes) their state,
 * consistently over all of them.
 *
 *                               | may run beside                       | from
 *   suspend, suspend_lower,     | everything but the resource's init,  | any thread, also inside
 *   resume                      | deinit; nothing on this suspension   | tasks
 *   is_effective, wait          | the same                             | any thread
 *   quiesce, quiesce_end        | the same                             | any thread; see -EDEADLK
 *
 * A suspension that has taken effect has the resource to itself, as a task would, though no thread
 * holds the baton (baton_held() is false). The next suspension waits until the resource is resumed,
 * and takes effect then, before any task. So several suspensions may be asked for at once, and the
 * resource runs when all have been resumed.
 *
 * Corner cases. Waits. A thread that has suspended a resource, also by a quiesce, must not wait for
 * a second suspension of that resource, nor hold, call or await the resource: the thread would wait
 * for itself, for ever, and would not get -EDEADLK. Nor does a cycle of waits through a suspension
 * get -EDEADLK (baton_deadlock_cycle() has a table), since any thread may resume the resource. A
 * quiesce that is under way is the exception: only its caller may end its suspensions.
 *
 * While a resource is suspended, await and call wait (an await with a deadline times out). close,
 * close_then and cancel_pending are accepted, and obeyed when the resource is resumed. A future
 * that is cancelled is decided immediately, and complete when a runner comes to its task. A
 * shutdown of the resource's executor does not reach the tasks: the thread that resumes the
 * resource runs them.
 *
 * The watchdog's reports, dumps, baton-top and gdb name the suspender of a resource whose tasks
 * wait: the thread that has called suspend. If that thread was in a task, they name the task's
 * resource, too, and the task's function, if that resource is on a board. Of a suspended resource
 * that is on no board gdb names the thread alone; it names nobody if the suspension took effect
 * while the resource was in its executor's queue. Nobody is named for lower lanes when one of
 * several suspensions has been resumed.
 *
 * Progress: suspend is lock-free (as far as malloc is, when the thread's cache is empty and the
 * resource busy).
 * Cost: two atomic operations to suspend an idle resource, two to resume it.
 * Source: libdispatch's dispatch_suspend and dispatch_resume; the call that tells when the
 * suspension has taken effect is what Linux's blk_mq_quiesce_queue adds. Locking several in one
 * order: E. W. Dijkstra's hierarchical ordering (E. G. Coffman et al., "System Deadlocks", 1971).
 */
#ifndef BATON_SUSPEND_H
#define BATON_SUSPEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <baton/attributes.h>
#include <baton/future.h>
#include <baton/resource.h>
#include <baton/time.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One suspension of one resource. The caller's memory, at all times; not to be copied in use. */
struct baton_suspension {
	struct baton_resource *_resource; /* NULL: not in use */
	struct baton_future *_future;     /* NULL: has taken effect at once */
	struct baton_task *_kick;         /* NULL: of the whole resource */
};

#define BATON_SUSPENSION_INIT                                                                      \
	{                                                                                          \
		NULL, NULL, NULL                                                                   \
	}

/*
 * Suspends the resource. The suspension takes effect immediately on an idle resource; else after
 * the task that runs now, and after all earlier suspensions of the resource have been resumed: the
 * suspensions take effect in the order of their calls. Inside a task of the resource: after this
 * task. A task may suspend its resource also when that is closed: the tasks that still wait, the
 * end of an await and the finaliser come after the resume.
 *
 * Thread safety: any thread. Blocking: never. The runner finds the suspension at its next look
 * between two tasks. The time of the look grows with the number of tasks submitted since the
 * previous look.
 * Ownership: the resource must live until it is resumed. A closed resource is given back (await,
 * finaliser) only after the resume.
 * Ordering: all that the resource's tasks did is visible to a thread that has seen, by is_effective
 * or wait, that the suspension has taken effect, also if it took effect within this call.
 * Errors: nothing happens: -EPIPE: the resource is closed, and this thread is in no task of it.
 * -EALREADY: the suspension is in use. -ENOMEM.
 */
BATON_MUST_USE int baton_resource_suspend(struct baton_resource *resource,
                                          struct baton_suspension *suspension) BATON_NONNULL;

/*
 * Suspends all lanes of the resource but lane 0 (lane.h): the tasks of lane 0, and tasks without a
 * label, run as always, while the tasks of the other lanes wait. So a topic stands still for its
 * messages, and still takes subscriptions and pings. Takes effect, is waited for, and is resumed
 * like baton_resource_suspend(), and the two may be mixed. The tasks of the other lanes run again
 * when each suspension that was asked for has been resumed.
 *
 * While such a suspension is in effect, the resource is never idle. An await waits for the tasks of
 * all lanes that were accepted before the await; cancel_pending cancels them. A baton_call()
 * without a label is a task of lane 0. Tasks that wait fill the resource's bound: exempt lane 0
 * (bound.h) where its tasks must not be refused.
 *
 * Thread safety, Blocking, Ownership: as for baton_resource_suspend(). If the resource was idle,
 * tasks of lane 0 that come meanwhile may run here, and in a resume the tasks that may run again,
 * up to the capture limit.
 * Ordering: what the other lanes' tasks did is visible to a thread that has seen that the
 * suspension has taken effect. That thread does not hold the baton: tasks of lane 0 run beside it.
 * Errors: as for baton_resource_suspend(). Asserts that the resource has lanes.
 */
BATON_MUST_USE int baton_resource_suspend_lower(struct baton_resource *resource,
                                                struct baton_suspension *suspension) BATON_NONNULL;

/* Has the suspension taken effect? Any thread, not beside its resume. Blocking: never. */
bool baton_suspension_is_effective(const struct baton_suspension *suspension) BATON_NONNULL;

/*
 * Waits until the suspension has taken effect, or until `deadline_ns` (time.h), as
 * baton_future_wait() does; but if the resource is queued, the waiting thread suspends it, and
 * enters none of its tasks.
 *
 * Errors: the suspension is still under way, and may take effect later: -ETIMEDOUT. -EDEADLK: this
 * thread holds the resource, or as for baton_future_wait(). -EINVAL: the suspension is not in use.
 */
BATON_MUST_USE int baton_suspension_wait(struct baton_suspension *suspension) BATON_NONNULL;
BATON_MUST_USE int baton_suspension_wait_until(struct baton_suspension *suspension,
                                               uint64_t deadline_ns) BATON_NONNULL;

/*
 * Resumes the resource, or withdraws a suspension that has not taken effect yet. The suspension may
 * then be used anew.
 *
 * resume: the tasks that have queued up run here, as after a submit to an idle resource: up to the
 * capture limit, then on the executor. They all run on the executor if the call is made inside a
 * task, or if more than BATON_QUANTUM tasks wait. resume_later: they always run on the executor.
 * Use resume_later on a thread that has suspended other resources, too: a task that ran here might
 * wait for one of those.
 *
 * Thread safety: any thread, not necessarily the one that has suspended.
 * Blocking: never (apart from what the tasks that run here do).
 * Ordering: what the caller did before is visible to the resource's next task.
 * Errors: the resource remains suspended: -EINVAL: the suspension is not in use.
 */
BATON_MUST_USE int baton_resource_resume(struct baton_suspension *suspension) BATON_NONNULL;
BATON_MUST_USE int baton_resource_resume_later(struct baton_suspension *suspension) BATON_NONNULL;

/*
 * quiesce: suspends `count` resources and waits until none of them runs a task; quiesce_until: at
 * most until `deadline_ns` (time.h). `suspensions`: an array of `count` suspensions, initialised
 * here. quiesce_end: resumes all of them. Tasks that have queued up run on the executor's thread;
 * tasks that no executor takes, on this thread, when all resources are resumed.
 *
 * Thread safety: any thread. Blocking: quiesce: yes.
 * Ownership: both arrays and the resources must live until quiesce_end has returned.
 * Errors: quiesce: all suspensions are undone. quiesce_end: see thread.h.
 *   -ETIMEDOUT  the deadline has passed.
 *   -EDEADLK    this thread holds one of them, or the wait would close a cycle of waits, or as for
 *               baton_future_wait().
 *   -EPIPE      one is closed.
 *   -ENOMEM     no memory.
 *
 * Corner cases. The i-th suspension need not belong to the i-th resource. The same resource may be
 * named several times. The resources are suspended one after the other, in the order of their
 * addresses, so that overlapping sets do not lock each other out. The resources suspended first
 * stand still until all are suspended.
 *
 * Tasks that wait for each other's resources (nested calls, say) go well with a quiesce if a task
 * waits only for resources at higher addresses than its own. Otherwise the task may wait for a
 * resource that is suspended already, and the quiesce for the task: one of the two waits gets
 * -EDEADLK; with a deadline, the quiesce gets -ETIMEDOUT. When quiesce has returned, the thread
 * must not hold these resources, nor wait for their tasks, nor for a thread that does: the wait
 * would last for ever.
 */
BATON_MUST_USE int baton_quiesce(struct baton_resource *const *resources, size_t count,
                                 struct baton_suspension *suspensions);
BATON_MUST_USE int baton_quiesce_until(struct baton_resource *const *resources, size_t count,
                                       struct baton_suspension *suspensions, uint64_t deadline_ns);
int baton_quiesce_end(struct baton_suspension *suspensions, size_t count);

#ifdef __cplusplus
}
#endif

#endif
