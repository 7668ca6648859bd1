/* SPDX-License-Identifier: MIT */
/*
 * An undo log lets a task either complete all of its operations or leave no trace. The task
 * registers a compensation for each operation. If the task fails, the compensations run in reverse
 * order, under the same baton, before the next task of the resource begins.
 *
 * Experimental: may change without a table in CHANGES until a program from a real need uses it.
 *
 *	static int transfer_run(struct baton_task *task)
 *	{
 *		struct transfer *transfer = baton_container_of(task, struct transfer, task);
 *		struct baton_undo_log log;
 *
 *		baton_undo_log_begin(&log);
 *		withdraw(transfer);
 *		baton_undo_log_push(&log, &transfer->take_back, put_money_back);
 *		return baton_undo_log_end(&log, deposit(transfer));
 *	}
 *
 * If deposit() fails, put_money_back() is called. A log may be used in a task of any sort, and in
 * the function of a baton_call().
 *
 * Thread safety: a log belongs to the task that began it. Only the thread of that task calls these
 * functions, while the baton of the task's resource is held (asserted). A nested task has a log of
 * its own.
 *
 * Source: the compensations of sagas (Garcia-Molina and Salem 1987), here within one task; SQL's
 * savepoints; ARIES' undo in reverse order.
 */
#ifndef BATON_UNDO_H
#define BATON_UNDO_H

#include <stdbool.h>
#include <stddef.h>

#include <baton/attributes.h>
#include <baton/resource.h>
#include <baton/task.h>

#ifdef __cplusplus
extern "C" {
#endif

struct baton_undo;

/*
 * A compensation's function. It finds the compensation's struct with baton_container_of(), and may
 * free that struct, since a compensation is taken out of the log before it is called. The function
 * may submit tasks; tasks for the same resource run after this task. It must not use the log
 * (asserted). Returns 0, or a status if it could not undo: the other compensations run all the
 * same, and baton_undo_log_end() tells.
 */
typedef int (*baton_undo_fn)(struct baton_undo *undo);

/* A compensation, in the caller's memory. The memory is the log's from push until the compensation
 * is called, or the log has ended. */
struct baton_undo {
	struct baton_undo *_older;
	baton_undo_fn _fn;
	void (*_forget)(struct baton_undo *undo);
};

/*
 * An undo log. Its members are private. It is the caller's memory, mostly on the stack of a task.
 */
struct baton_undo_log {
	struct baton_undo *_newest;
	struct baton_resource *_resource;
	int _failure;
	bool _undoing;
};

/* Begins a log in the caller's memory, mostly on the stack. Inside a task or call only
 * (asserted). */
void baton_undo_log_begin(struct baton_undo_log *log) BATON_NONNULL;

/*
 * Registers a compensation, after or before the operation that it undoes. It is called on the
 * runner's thread, when the log ends with a status. If it is registered
 * before, the compensation must find out whether the operation took place. Allocates nothing, and
 * cannot fail.
 *
 * Ownership: the struct is baton's until the log has ended, or it was called.
 */
void baton_undo_log_push(struct baton_undo_log *log, struct baton_undo *undo,
                         baton_undo_fn fn) BATON_NONNULL;

/*
 * Registers fn(arg), called on the runner's thread, as a compensation, in memory of the library's
 * (per-thread cache), which is given back at the latest when the log ends. Call
 * baton_undo_log_add() before the operation: if add fails, there is nothing to undo.
 *
 * Ownership: `arg` goes to fn, if the log ends with a status; else it is the caller's.
 * Errors: -ENOMEM.
 */
typedef int (*baton_undo_call_fn)(void *arg);
BATON_MUST_USE int baton_undo_log_add(struct baton_undo_log *log, baton_undo_call_fn fn, void *arg)
	BATON_NONNULL_AT(1, 2);

/*
 * Ends the log. With status 0 (done) the compensations are forgotten; else they run, newest first.
 * The log's memory is the caller's again.
 *
 * A task that ends its log last, with the status that it returns, has undone every operation before
 * its future is complete. The log does not undo what the task has submitted elsewhere: submit when
 * nothing can fail any more, or let a compensation cancel the submitted task. The log does not see
 * what fails after its end: the status of a token for which the task was detached (detach.h), and a
 * batch_end (hooks.h). For a batch_end, let the hooks undo the batch, or call baton_batch_flush()
 * before the end of the log: its status tells the task.
 *
 * Returns: the status; or -ENOTRECOVERABLE if a compensation has failed, now or in a roll back:
 * then a change is left that the program must repair in another way.
 */
BATON_MUST_USE int baton_undo_log_end(struct baton_undo_log *log, int status) BATON_NONNULL;

/*
 * The status of the first compensation that failed. May be called after the end.
 *
 * Returns: that status; 0: none has failed.
 */
int baton_undo_log_failure(const struct baton_undo_log *log) BATON_NONNULL;

/*
 * Savepoints. roll_back runs the compensations that were registered after the mark, newest first,
 * and the task goes on. A mark is valid for its own log (asserted), until the log is rolled back to
 * an earlier mark.
 *
 * Returns: roll_back: 0, or the status of the first of these compensations that has failed.
 */
struct baton_undo_mark {
	struct baton_undo *_newest;
};

struct baton_undo_mark baton_undo_log_mark(const struct baton_undo_log *log) BATON_NONNULL;
BATON_MUST_USE int baton_undo_log_roll_back(struct baton_undo_log *log,
                                            struct baton_undo_mark mark) BATON_NONNULL;

#ifdef __cplusplus
}
#endif

#endif
