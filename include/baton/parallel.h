/* SPDX-License-Identifier: MIT */
/*
 * A parallel loop: one function for all indices of a range, in chunks, on this thread and on
 * workers of a pool.
 *
 * Experimental: may change without a table in CHANGES until a program from a real need uses it.
 *
 *	static int scale(void *arg, size_t begin, size_t end)
 *	{
 *		double *samples = arg;
 *
 *		for (size_t i = begin; i < end; i++)
 *			samples[i] *= 0.5;
 *		return 0;
 *	}
 *
 *	int error = baton_parallel_for(NULL, count, 0, scale, samples);
 *
 * Source: guided self-scheduling (Polychronopoulos and Kuck 1987). Here a chunk is limited in time,
 * too.
 */
#ifndef BATON_PARALLEL_H
#define BATON_PARALLEL_H

#include <stddef.h>

#include <baton/attributes.h>

#ifdef __cplusplus
extern "C" {
#endif

struct baton_pool;

/* Works on the indices from `begin` to `end` - 1. Returns 0, or a status, with which the loop
 * fails. */
typedef int (*baton_parallel_fn)(void *arg, size_t begin, size_t end);

/*
 * Runs `fn` on this thread and on the pool's workers, in chunks of a range of indices. The chunks
 * cover each index from 0 to `count` - 1 exactly once, in no specified order. Returns when all
 * chunks have ended. `pool` NULL: the default pool, created if need be.
 *
 * Thread safety: any thread, also inside a task, a pool's job, or a chunk.
 * Blocking: until the chunks that other threads have begun have ended.
 * Ownership: once the call has returned, no thread touches `arg`, or calls `fn`.
 * Ordering: the chunks see all that this thread did before the call, and this thread sees all that
 * the chunks did.
 * Errors: the first status other than 0, in time, that a chunk returned. Chunks that had not begun
 * by then do not run; those that had begun run to their end. -ECHILD: a chunk has forked, and this
 * is the child: the chunks that other threads had begun are lost here. Nothing else fails.
 *
 * Corner cases. `grain` is the least number of indices in a chunk; only the last chunk may be
 * smaller. 0 is the same as 1. Chunks are mostly larger. They grow until a chunk takes some 50
 * microseconds, and become smaller towards the end of the range. So a grain is needed only for
 * short loops: a loop of at most `grain` indices runs here, as one chunk, and asks for no worker.
 *
 * At most as many threads as the pool has workers run chunks at the same time, this thread
 * included. This thread runs every chunk that no other thread has begun, and nothing but chunks of
 * this loop. So the call ends whatever the pool's workers do, also with one worker, and nested in
 * chunks. It starts no spare thread.
 *
 * This thread runs all chunks where no worker can help: the pool has one worker, is shut down or
 * full (waiting_max), has no worker free; there is no default pool, or no memory; in a fork's
 * child, and in a function that is told of an end (future.h), which must not wait.
 *
 * A chunk on a worker is inside no task and no hold, even if the call is: baton_held() is false
 * there. Where the call is inside a task or a hold, a chunk must not wait for that resource, nor
 * for another one that this thread holds: this thread waits for the chunk, and no call sees this
 * cycle (no -EDEADLK).
 *
 * A worker that helps looks at its pool between two chunks, and leaves the loop for jobs that wait
 * there; it comes back after them. While a pool has no worker free, each loop leaves some 130 bytes
 * there, which the next free worker gives back; of one thread at most 64 loops do so.
 */
BATON_MUST_USE int baton_parallel_for(struct baton_pool *pool, size_t count, size_t grain,
                                      baton_parallel_fn fn, void *arg) BATON_NONNULL_AT(4);

#ifdef __cplusplus
}
#endif

#endif
