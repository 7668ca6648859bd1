/* SPDX-License-Identifier: MIT */
/*
 * Drain hooks: what many tasks share is done once (group commit). A resource whose config has
 * batch_begin and batch_end has them called around each run of consecutive tasks by one runner: one
 * transaction, one fsync, one flush of a socket for all of them.
 *
 *	static int begin(struct baton_resource *resource)
 *	{
 *		return execute(baton_resource_user(resource), "BEGIN");
 *	}
 *
 *	static int end(struct baton_resource *resource)
 *	{
 *		return execute(baton_resource_user(resource), "COMMIT");
 *	}
 *
 *	static const struct baton_resource_config config = {
 *		.capture_limit = 0, .quantum = 256,
 *		.batch_begin = begin, .batch_end = end, .hold_completions = true,
 *	};
 *
 * Extent: a batch begins before the first task that is entered, and ends when nothing is queued any
 * more, when it has batch_max tasks or has lasted batch_ns (looked at between tasks), when the
 * runner's stay is over (capture_limit, quantum: then the resource goes to its executor), before an
 * await's waiter or the finaliser is told, and at baton_batch_flush(). A waiter that helps, and
 * whose own completion is held back, runs up to a quantum of the tasks behind its own: so waiters
 * share batches. Without hold_completions the waiter's batch ends with its own task. So the quantum
 * is the longest batch on an executor's thread; while a batch is being ended, the tasks of the next
 * batch queue up. A task that is queued while batch_begin runs still belongs to the batch: a
 * batch_begin that waits a little gathers more tasks.
 *
 * Hooks run under the baton and are called like a task: they may submit, wait for other resources'
 * futures, block as long as they have to. Every batch_begin that returned 0 is followed by one
 * batch_end before the baton is given up, on the same thread. Either may be NULL.
 *
 * Completions: with hold_completions a task's future is completed after the batch_end of its batch,
 * in the order of the tasks: a thread that sees it complete (waits, polls, continuations, the
 * return of baton_call) knows that the batch has ended well. Until then it is running: a cancel
 * returns -EINPROGRESS. If batch_end fails with a status, futures whose tasks did not fail by
 * themselves complete as failed with that status and without a value, and the statistics count
 * their tasks as failed, tasks without a future included (config->failed is not called: it reports
 * what a task's function returns). Without hold_completions only the hook knows. A task that was
 * cancelled before it was entered completes at once; so does one whose completion was detached,
 * when it is made. (No memory to remember a completion: the batch ends with that task.)
 *
 * If batch_begin fails with a status the tasks of that run, up to where the batch would have ended,
 * are not entered: their futures complete as failed with that status, those without a future are
 * given to config->cancelled, timers and triggers to their `dropped` and `cancelled`. (Statistics:
 * cancelled.) There is no batch_end then.
 *
 * Deadlock: a task that waits for another resource's future, whose task waits for a held-back
 * completion of this batch, is on a cycle of waits (future.h): one of them gets -EDEADLK. End the
 * batch with baton_batch_flush() first. A wait for a completion of its own batch returns -EDEADLK.
 *
 * A config with hooks makes baton_call, async and post go through a task (law L11: other resources
 * pay nothing). So a baton_try_call waits after all, if somebody suspends the resource after it was
 * found idle, and before that task is entered.
 */
#ifndef BATON_HOOKS_H
#define BATON_HOOKS_H

#include <baton/resource.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Inside a task: ends the batch so far (batch_end), makes the completions that it held back, and
 * begins anew; the task itself is in both. 0 where the resource has no hooks.
 *
 * Thread safety: inside a task only (asserted); it concerns the innermost task of this thread.
 * Blocking: as the hooks do. Runs continuations.
 * Errors: batch_end's status, else batch_begin's: the task's own future will complete as failed
 * with it (the first one, if there are several), unless the task fails by itself. If it was
 * batch_begin the task goes on outside of any batch, and those behind it are not entered.
 * -EBUSY: called by a hook, or another callback, instead of a task.
 */
int baton_batch_flush(void);

#ifdef __cplusplus
}
#endif

#endif
