/* SPDX-License-Identifier: MIT */
/*
 * For tasks that must block: a read(), an fsync(), a lock of another library. Between begin and end
 * a pool's thread takes no part in the pool. Other workers take the jobs out of its run queue and
 * LIFO slot. If there is work and no worker is free, a spare thread takes its place (pool.h).
 *
 *	baton_blocking_begin();
 *	n = read(fd, buffer, sizeof(buffer));
 *	baton_blocking_end();
 *
 * The task still holds its resource: tasks submitted to that resource wait. baton's own waits
 * bracket themselves.
 *
 * A spare takes the place when the bracket has lasted for 50 microseconds, or at once if one of the
 * pool's last brackets has lasted so long. So short brackets cost no hand-over, and a first long
 * bracket costs some 100 microseconds.
 *
 * Source: tokio's block_in_place, Go's entersyscall and exitsyscall, ManagedBlocker of Java's
 * ForkJoinPool.
 */
#ifndef BATON_BLOCKING_H
#define BATON_BLOCKING_H

#ifdef __cplusplus
extern "C" {
#endif

/*
 * begin: the calling thread may be about to block. end: it goes on. Pairs nest; the outermost pair
 * counts. Any function may be called in between, baton's own too. On a thread that belongs to no
 * pool (a captured submitter, an event loop) both do nothing.
 *
 * A pair belongs to one task. An end() without its begin(), an end() in another task than the
 * outermost begin(), and a job that ends inside a bracket are programming errors, and stop at an
 * assertion (when the job ends, at the latest).
 *
 * Thread safety: any thread, for itself. Blocking: never (begin may start a thread).
 * Errors: none: without a spare thread the jobs wait. In a fork's child (thread.h) both do nothing.
 * Cost: begin some tens of nanoseconds and a look at each worker's queues; end two atomics.
 */
void baton_blocking_begin(void);
void baton_blocking_end(void);

#ifdef __cplusplus
}
#endif

#endif
