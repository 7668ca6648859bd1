/* SPDX-License-Identifier: MIT */
/*
 * Drain hooks do once what many tasks share (group commit). A resource whose config has batch_begin
 * and batch_end has them called around each run of consecutive tasks by one runner: one
 * transaction, one fsync, one flush of a socket for all these tasks. The hooks run on the runner's
 * thread, which after a hand-off is the executor's thread.
 *
 *	static int begin(struct baton_resource *resource)
 *	{
 *		return execute(baton_container_of(resource, struct store, resource), "BEGIN");
 *	}
 *
 *	static int end(struct baton_resource *resource)
 *	{
 *		return execute(baton_container_of(resource, struct store, resource), "COMMIT");
 *	}
 *
 *	static const struct baton_resource_config config = {
 *		.capture_max = BATON_CAPTURE_NONE, .quantum = 256,
 *		.batch_begin = begin, .batch_end = end, .delay_completions = true,
 *	};
 *
 * Hooks run under the baton, like a task: they may submit, wait for other resources' futures, block
 * as long as they must. Every batch_begin that returned 0 is followed by one batch_end before the
 * baton is given up, on the same thread. Either hook may be NULL.
 *
 * Corner cases. Extent. A batch begins before the first task that is entered. The batch ends when
 * no task is queued any more, when the batch has batch_max tasks or has lasted batch_ns (looked at
 * between tasks), when the runner's stay is over (capture_max, quantum: the resource then goes to
 * its executor), before an await's waiter or the finaliser is told, and at baton_batch_flush(). So
 * the quantum is the longest batch on an executor's thread. While a batch is being ended, the tasks
 * of the next batch queue up. A task that is queued while batch_begin runs still belongs to the
 * batch: a batch_begin that waits a little gathers more tasks.
 *
 * Completions. With delay_completions a task's future is completed after the batch_end of its
 * batch, in the order of the tasks. A thread that sees the future done (waits, polls,
 * continuations, a baton_call() without an error) knows that the batch has ended well. Until then
 * the task is running: a cancel returns -EINPROGRESS. A task that was cancelled before it was
 * entered completes immediately. A task that was detached completes when its token does. (Where
 * there is no memory to remember a completion, the batch ends with that task.) Without
 * delay_completions only the hook knows whether the batch has ended well.
 *
 * batch_end fails. Then, with delay_completions, the futures whose tasks did not fail by themselves
 * complete as failed with the status of batch_end and without a value. The statistics count these
 * tasks as failed, tasks without a future included. config->failed is not called: it reports what a
 * task's function returns.
 *
 * batch_begin fails. Then the tasks of that run, up to where the batch would have ended, are not
 * entered, and batch_end is not called. Their futures complete as failed with the status of
 * batch_begin. Tasks without a future are given to config->cancelled, timers and triggers to their
 * `dropped` and `cancelled`. The statistics count all these tasks as cancelled.
 *
 * Helping. A waiter that helps, and whose own completion is held back, runs up to a quantum of the
 * tasks behind its own: so waiters share batches. Without delay_completions the waiter's batch ends
 * with the waiter's own task.
 *
 * Deadlock. A task that waits for another resource's future, whose task waits for a held-back
 * completion of this batch, is on a cycle of waits (future.h): one of the waits gets -EDEADLK. End
 * the batch with baton_batch_flush() before such a wait. A wait for a completion of its own batch
 * returns -EDEADLK.
 *
 * Calls. A baton_try_call() that runs is a batch of its own.
 *
 * Cost. With hooks in the config, baton_call, async and post go through a task (law L11: other
 * resources pay nothing).
 */
#ifndef BATON_HOOKS_H
#define BATON_HOOKS_H

#include <baton/resource.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Ends the batch so far: calls batch_end, completes the futures that were held back, and begins a
 * new batch. The calling task is in both batches. Returns 0 where the resource has no hooks.
 *
 * Thread safety: inside a task only (asserted); concerns the innermost task of this thread.
 * Blocking: as the hooks do. Runs continuations.
 * Errors: the status of batch_end, else that of batch_begin. The task's own future will complete as
 * failed with that status (the first, if there are several), unless the task fails by itself. After
 * a failed batch_begin the task goes on outside of any batch, and the tasks behind it are not
 * entered. -EBUSY: called by a hook, or another callback, instead of a task.
 */
BATON_MUST_USE int baton_batch_flush(void);

#ifdef __cplusplus
}
#endif

#endif
