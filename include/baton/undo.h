/* SPDX-License-Identifier: MIT */
/*
 * An undo log lets a task either complete all of its operations or leave no trace: it registers a
 * compensation for each operation as it goes; if it fails they run in reverse order, under the same
 * baton, before the next task of the resource begins.
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
 * Where deposit() returns a status, put_money_back() is called. A log may be used in a task of any
 * sort, and in the function of a baton_call().
 *
 * Thread safety: a log belongs to the task, and the thread, that began it; everything here is for
 * that thread alone, with that baton held (asserted). A nested task has a log of its own.
 *
 * Source: the compensations of sagas (Garcia-Molina and Salem 1987), here within one task; SQL's
 * savepoints; ARIES' undo in reverse order.
 */
#ifndef BATON_UNDO_H
#define BATON_UNDO_H

#include <stdbool.h>
#include <stddef.h>

#include <baton/resource.h>
#include <baton/task.h>

#ifdef __cplusplus
extern "C" {
#endif

struct baton_undo;

/*
 * A compensation. It finds its struct with baton_container_of(), and may give back its memory: it
 * is out of the log when it is called. It may submit tasks, also to its own resource, where they
 * run after this task; it may not use the log that it comes from (asserted). Returns 0, or a
 * status if it could not undo: the others run all the same, and see baton_undo_log_end().
 */
typedef int (*baton_undo_fn)(struct baton_undo *undo);

/* Caller's memory, the log's from push until it is called or the log has ended. */
struct baton_undo {
	struct baton_undo *_older;
	baton_undo_fn _fn;
	void (*_forget)(struct baton_undo *undo);
};

struct baton_undo_log {
	struct baton_undo *_newest;
	struct baton_resource *_resource;
	int _failure;
	bool _undoing;
};

/* Begins a log in the caller's memory, mostly its stack, inside a task or call (asserted). */
void baton_undo_log_begin(struct baton_undo_log *log);

/*
 * Registers a compensation, after or before the operation that it undoes; in the latter case it
 * must be able to see whether that took place. No allocation, and it cannot fail.
 */
void baton_undo_log_push(struct baton_undo_log *log, struct baton_undo *undo, baton_undo_fn fn);

/*
 * The same with memory of the library's (per-thread cache), given back at the end: calls fn(arg).
 * Call it before the operation: without memory there is then nothing to undo.
 *
 * Errors: -ENOMEM.
 */
typedef int (*baton_undo_call_fn)(void *arg);
int baton_undo_log_add(struct baton_undo_log *log, baton_undo_call_fn fn, void *arg);

/*
 * Ends the log. With status 0 (done) the compensations are forgotten; else they run, newest first.
 * The log's memory is the caller's again.
 *
 * A task that ends its log last, with the status that it returns, has undone every operation before
 * its future is complete. The log does not undo what the task has submitted elsewhere: submit when
 * nothing can fail any more, or let a compensation cancel the submitted task. The log does not see
 * what fails after its end: the status of a token for which the task was detached (detach.h), and a
 * batch_end (hooks.h). There the hooks undo the batch, or a baton_batch_flush() before the end of
 * the log tells the task.
 *
 * Returns: the status; -ENOTRECOVERABLE instead if a compensation has failed, now or in a roll
 * back: something is left that somebody must mend.
 */
int baton_undo_log_end(struct baton_undo_log *log, int status);

/*
 * The status of the first compensation that failed. May be called after the end.
 *
 * Returns: that status; 0: none has failed.
 */
int baton_undo_log_failure(const struct baton_undo_log *log);

/*
 * Savepoints: what is registered after a mark can be undone by itself, newest first, and the task
 * go on; the mark stays good until one before it is rolled back to. A mark of this log (asserted).
 *
 * Returns: roll_back: 0, or what the first of these compensations to fail has returned.
 */
struct baton_undo_mark {
	struct baton_undo *_newest;
};

struct baton_undo_mark baton_undo_log_mark(const struct baton_undo_log *log);
int baton_undo_log_roll_back(struct baton_undo_log *log, struct baton_undo_mark mark);

#ifdef __cplusplus
}
#endif

#endif
