/* SPDX-License-Identifier: MIT */
/*
 * What holds for all calls of the library: the calling thread's record, fork, signal handlers.
 * The other headers do not repeat it.
 *
 * Record. baton keeps a record of each thread that uses it. A thread's first call makes the record,
 * or adopts that of a thread that has ended. A function that needs the record and can return an
 * error returns -ENOMEM when there is no memory for it; the call has then done nothing, and may be
 * repeated. A thread that has called baton_thread_attach() successfully never gets -ENOMEM for that
 * reason. The record goes back when the thread ends.
 *
 * fork. If the library had a thread (of a pool, a wheel of timers, a watchdog, of the watches of
 * descriptors), a task ran, or a thread was looking at a board, then the child has none of these
 * threads, and the tasks that ran do not go on. In such a child every function that would need
 * these threads or tasks, and can return an error, returns -ECHILD and does nothing; no call hangs.
 * Functions that return no error do nothing there: baton_board_leave() and the other functions of
 * board.h, baton_watchdog_destroy(). There the stops of stop.h meet BATON_STOP_CHILD. Where a job
 * of the parent's would have to run (baton_job_run(), a manual executor) the program stops (an
 * assertion).
 *
 * Corner cases. A process that forks before its first use of baton (a daemon, say) is not
 * concerned: its child may use baton. A loop (loop.h, mainloop.h) or a board (board.h) that existed
 * at another fork is shared by parent and child: only one of the two may go on using it.
 *
 * Copies. A program and its plugins share one copy of the library: the program links libbaton.so,
 * as each plugin does. Two copies (one linked statically into the program, one that comes with a
 * plugin) do not know of each other. As long as no thread uses the same resource, future, timer or
 * executor by both, each copy works by itself. One copy does not see a task that the other copy
 * runs: baton_current() of the first copy is NULL, and a call or wait that should return -EDEADLK
 * waits, without end if it has no deadline.
 *
 * Signals. A signal handler must not call baton, save for baton_watchdog_trace(). The pool's
 * threads and the threads of timer wheels block the signals that are for the program (pool.h).
 */
#ifndef BATON_THREAD_H
#define BATON_THREAD_H

#include <stddef.h>

#include <baton/attributes.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Makes the calling thread's record, so that no later call of this thread has to: for a thread
 * that cannot deal with -ENOMEM later, such as a thread of an executor of one's own before its
 * first baton_job_run(). A thread that has a record may call it again.
 *
 * Thread safety: any thread, for itself. Blocking: never. Errors: -ENOMEM. -ECHILD.
 */
BATON_MUST_USE int baton_thread_attach(void);

/*
 * Memory for a task of the caller's own that is made for one submit, and for what goes with the
 * task: a node, as baton_post() has. Nodes come from a cache of the calling thread, and go back to
 * it, whichever thread frees them: so a thread that submits again and again allocates nothing.
 *
 * alloc: sets `*node` to memory of at least `size` bytes, aligned to 16. `size` is at most
 * BATON_NODE_MAX (asserted). free: gives the node back.
 *
 * Thread safety: any thread; free: also another one than alloc. Blocking: never.
 * Ownership: the node is the caller's; while its task is accepted, baton's, as any task.
 * Errors: *node is untouched: -ENOMEM. -ECHILD.
 */
BATON_MUST_USE int baton_node_alloc(size_t size, void **node) BATON_NONNULL;
void baton_node_free(void *node) BATON_NONNULL;

#define BATON_NODE_MAX 112

#ifdef __cplusplus
}
#endif

#endif
