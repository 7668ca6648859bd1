/* SPDX-License-Identifier: MIT */
/*
 * The loop executor: for a thread that lives in an event loop (libuv, libevent, epoll). Its file
 * descriptor, an eventfd, becomes readable when there are jobs; the loop then calls
 * baton_loop_run(). A resource with BATON_CAPTURE_NONE and this executor is run by that thread
 * alone.
 *
 * Thread safety: jobs are scheduled from any thread; run and destroy belong to one thread, which
 * becomes the owner by its first call of baton_loop_run(), or by baton_loop_adopt().
 */
#ifndef BATON_LOOP_H
#define BATON_LOOP_H

#include <stdbool.h>
#include <stddef.h>

#include <baton/attributes.h>
#include <baton/executor.h>

#ifdef __cplusplus
extern "C" {
#endif

struct baton_loop;

/*
 * Creates a loop, whose owner is this thread.
 *
 * Thread safety: any thread. Blocking: never.
 * Ownership: end it with baton_loop_destroy(). Executor and descriptor live as long as the loop.
 * Errors: -ENOMEM, -EMFILE, -ENFILE.
 */
BATON_MUST_USE int baton_loop_create(struct baton_loop **loop) BATON_NONNULL;
struct baton_executor *baton_loop_executor(struct baton_loop *loop) BATON_NONNULL;
int baton_loop_fd(const struct baton_loop *loop) BATON_NONNULL;

/*
 * adopt: from now on the calling thread drives the loop. disown: from now on no thread does, until
 * the next adopt or run. A thread that schedules jobs of the loop while another one may adopt it
 * disowns it before.
 *
 * Thread safety: one thread at a time; disown: the owner. Blocking: never.
 * Errors: of adopt: see thread.h.
 */
BATON_MUST_USE int baton_loop_adopt(struct baton_loop *loop) BATON_NONNULL;
void baton_loop_disown(struct baton_loop *loop) BATON_NONNULL;

/* Is the calling thread the owner? Thread safety: any thread. Blocking: never. */
bool baton_loop_is_owner(const struct baton_loop *loop) BATON_NONNULL;

/*
 * Makes the descriptor readable, so that the owner comes and calls baton_loop_run(), although no
 * job waits: for work of the program's own that the owner has to do.
 *
 * Thread safety: any thread. Blocking: never. In a fork's child it does nothing.
 */
void baton_loop_wake(struct baton_loop *loop) BATON_NONNULL;

/*
 * Sets a function that says whether the owner has other work to do: input, say.
 * baton_should_yield() asks it on the owner's thread, in a task or job of this executor, when
 * nothing else says yes. The function must be short, and must not wait. NULL: no such function.
 *
 * Thread safety: the owner, or before there is one.
 */
void baton_loop_set_should_yield(struct baton_loop *loop, bool (*should_yield)(void *arg),
                                 void *arg) BATON_NONNULL_AT(1);

/*
 * Sets a function that is called in place of making the descriptor readable, on the thread that
 * schedules a job, in the midst of the submit. So a program can tell the owner in a cheaper way, or
 * make another thread the owner. Each call asks for one baton_loop_run() from then on, by whoever
 * is the owner then. The function may call baton_loop_wake(). It must be short, and must not wait,
 * submit, or destroy the loop. NULL: no such function.
 *
 * Thread safety: before the first job.
 */
void baton_loop_set_signal(struct baton_loop *loop, void (*signal)(void *arg),
                           void *arg) BATON_NONNULL_AT(1);

/*
 * Clears the descriptor and runs at most `jobs_max` jobs (0: those that were there at the start);
 * returns how many. If jobs are left, the descriptor becomes readable again. Where calls have
 * nested BATON_CALLING_MAX deep (resource.h), no job is run, here and in run_gathered.
 */
size_t baton_loop_run(struct baton_loop *loop, size_t jobs_max) BATON_NONNULL;

/*
 * Jobs that the loop's own callbacks schedule need no signal. Call gather before the callbacks are
 * called, or before the loop sleeps in its poll, and run_gathered after the callbacks. Between
 * these two calls a job that the owner's thread schedules costs neither an atomic operation nor a
 * system call, and the descriptor does not announce the job. run_gathered runs these jobs, and jobs
 * that a baton_loop_run() has left. Jobs of other threads signal as always, and are run by
 * baton_loop_run(), which ends the gathering and also runs the gathered jobs. A job that is
 * scheduled by one of these jobs is for the next turn, and signals.
 *
 * Thread safety: the owner's thread. Between the two calls this thread must not sleep, except in
 * the loop's poll, before anything is gathered. In a wait of baton's for a gathered task the thread
 * runs the gathered tasks.
 */
void baton_loop_gather(struct baton_loop *loop) BATON_NONNULL;
size_t baton_loop_run_gathered(struct baton_loop *loop) BATON_NONNULL;

/*
 * Refuses further jobs (-ESHUTDOWN), runs the queued jobs, closes the descriptor, and frees the
 * executor. Other threads as for baton_manual_destroy().
 */
void baton_loop_destroy(struct baton_loop *loop) BATON_NONNULL;

#ifdef __cplusplus
}
#endif

#endif
