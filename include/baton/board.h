/* SPDX-License-Identifier: MIT */
/*
 * A board shows a program's resources to somebody outside: baton-top reads it, live, from another
 * process; also while the program is stopped, and, where the board is a file, after the program has
 * died. Each resource that has joined the board keeps its statistics there, with what it runs now,
 * and how long its tasks wait and run.
 *
 *	struct baton_board *board;
 *
 *	status = baton_board_create(NULL, &board);
 *	...
 *	status = baton_board_join(board, &topic->resource, NULL, NULL);
 *
 *	$ baton-top $(pidof broker)
 *
 * A resource of a registry joins in the registry's init, and leaves in its deinit.
 *
 *                               | may run beside                 | from
 *   join                        | everything but destroy         | the resource's owner
 *   leave                       | everything but destroy         | the resource's owner
 *   show                        | everything but leave, destroy  | a task of the resource
 *   pool_join, pool_leave,      | everything but destroy         | any thread
 *   refresh, dump, trace_*      |                                |
 *   create, destroy             | nothing                        | the owner
 *
 * Corner cases. Times: of the tasks that wait one at a time is measured, from its submit to its
 * entry; of a resource with lanes one in each lane. The fourth lane and all lower ones count as one
 * lane. For moments it is not known how long a lane's oldest task has waited; see also `oldest_ns`
 * of the statistics (resource.h).
 *
 * Cost: that of statistics, and a few plain stores for each task; the clock is read for one task in
 * 64, and for one waiting task at a time. A resource that has not joined pays nothing.
 *
 * Source: a scoreboard in shared memory, as Apache's and HAProxy's; histograms as HdrHistogram's:
 * a shown time differs from the measured one by at most a sixteenth.
 */
#ifndef BATON_BOARD_H
#define BATON_BOARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <baton/attributes.h>
#include <baton/pool.h>
#include <baton/resource.h>

#ifdef __cplusplus
extern "C" {
#endif

struct baton_board;

/* Read during the call. See "Growth" in resource.h. */
struct baton_board_options {
	/*
	 * The file. A file of that name is replaced. The file stays when the program dies, and is
	 * removed by baton_board_destroy(). NULL: memory that ends with the program, which
	 * baton-top finds by the program's pid.
	 */
	const char *path;
	/*
	 * The most resources at a time; 0: 1,024. Each takes some 5 KiB from when it joins on,
	 * with lanes some 15 KiB.
	 */
	uint32_t resources;
	uint64_t _reserved[4];
};

/* The most bytes of a name on a board, and the most pools. */
#define BATON_BOARD_NAME_MAX 63
#define BATON_BOARD_POOLS_MAX 16

/*
 * Creates a board, as a file or in memory. `options`: NULL: the defaults.
 *
 * Thread safety: any thread. Blocking: on the file system.
 * Ownership: end the board with baton_board_destroy().
 * Errors: there is no board: those of open(2), ftruncate(2) and mmap(2), such as -EACCES, -ENOENT,
 * -ENOSPC. -EINVAL: more than 2^20 resources. -ENOMEM. -ECHILD: see thread.h.
 */
BATON_MUST_USE int baton_board_create(const struct baton_board_options *options,
                                      struct baton_board **board) BATON_NONNULL_AT(2);

/* Frees the board, and removes its file. Every resource and pool has left (asserted). */
void baton_board_destroy(struct baton_board *board) BATON_NONNULL;

/*
 * Gives the resource statistics that lie on the board, in place of baton_resource_set_stats(). The
 * board copies BATON_BOARD_NAME_MAX bytes of `name`; NULL: of the resource's name.
 * `*stats`: the statistics, for baton_resource_stats_read(). `stats` may be NULL.
 *
 * Thread safety: the resource's owner, before the first submit. Blocking: never.
 * Errors: the resource is as before: -ENOSPC: the board is full. -ECHILD: see thread.h. Asserts
 * that the resource has no statistics yet.
 */
BATON_MUST_USE int baton_board_join(struct baton_board *board, struct baton_resource *resource,
                                    const char *name, struct baton_resource_stats **stats)
	BATON_NONNULL_AT(1, 2);

/*
 * Takes the resource from the board. To be called when the resource has ended: after an await on
 * the closed resource, in its finaliser, or in a registry's deinit. A resource that is on no board
 * is left alone.
 *
 * Thread safety: the resource's owner. Blocking: for the time of a look of the watchdog or of a
 * dump (microseconds).
 */
void baton_board_leave(struct baton_board *board, struct baton_resource *resource) BATON_NONNULL;

/*
 * Shows `function` as what the resource runs on this thread, in place of the running task's own
 * function, until the task returns or shows another one. For a task that calls one of many
 * functions: of an event loop, of an interpreter. Returns what was shown before; NULL where the
 * resource is on no board.
 *
 * Thread safety: a task of the resource, on its own thread. Blocking: never.
 */
typedef void (*baton_shown_fn)(void);
baton_shown_fn baton_board_show(struct baton_resource *resource, baton_shown_fn function)
	BATON_NONNULL_AT(1);

/*
 * Shows a pool under that name. The board copies the pool's counters when baton_board_refresh() is
 * called, which a watchdog (watchdog.h) does for the board that it watches.
 *
 * Ownership: the pool is the caller's, and must live until it is removed, or has ended.
 * Blocking: as leave. Errors: -ENOSPC: BATON_BOARD_POOLS_MAX pools are there. -ECHILD: see
 * thread.h.
 */
BATON_MUST_USE int baton_board_pool_join(struct baton_board *board, const struct baton_pool *pool,
                                         const char *name) BATON_NONNULL_AT(1, 2);

/* To be called before the pool is destroyed. Blocking: as leave. */
void baton_board_pool_leave(struct baton_board *board, const struct baton_pool *pool) BATON_NONNULL;

/*
 * Copies to the board what is not there anyway: the pools' counters, which threads wait for which
 * resources, and the names of threads (from /proc). A watchdog does that for the board
 * that it watches.
 *
 * Thread safety: any thread. Blocking: as leave.
 */
void baton_board_refresh(struct baton_board *board) BATON_NONNULL;

/*
 * Traces. From start to stop each thread keeps its last 32,768 events of the board's resources, of
 * waits and of the pools: what ran, when and for how long, what was pushed and when it was entered,
 * hand-offs, steals, parks. stop writes them as JSON for Perfetto (ui.perfetto.dev) or
 * chrome://tracing. One trace at a time in a process.
 *
 * Thread safety: any thread. Blocking: as leave; stop also on the file.
 * Ownership: the memory of the events is kept for the next trace.
 * Errors: start: -EBUSY: a trace is on. stop: -EALREADY: none is on. Those of open(2) and write(2),
 * such as -EMFILE; -ENOMEM: the trace is over, and not or not wholly written. Both: -ECHILD: see
 * thread.h.
 *
 * Corner cases. The file has a track for each thread, an arrow from each submit to its run, and the
 * length of each queue. A resource that leaves the board during the trace has its name there, too;
 * if more than 65,536 leave, the later ones have an address. Of tasks that one thread runs one
 * after the other, each in less than a microsecond, the first 64 are in the trace, then one in 16.
 * A program with a watchdog can be traced from outside: `baton-top --trace SECONDS FILE PID`.
 *
 * Cost: while a trace is on, the clock is read for each task that is in the trace, and 1 MiB of
 * memory for each thread, which is kept for the next trace; some 90 bytes for each resource that
 * leaves, until stop.
 */
BATON_MUST_USE int baton_board_trace_start(struct baton_board *board) BATON_NONNULL;
BATON_MUST_USE int baton_board_trace_stop(struct baton_board *board,
                                          const char *path) BATON_NONNULL;

/*
 * Writes what the board shows as text, a line for each resource that runs or has tasks that wait,
 * and a line for each thread that waits. Allocates no memory.
 *
 * Thread safety: any thread. Blocking: as leave, and on the descriptor.
 * Errors: those of write(2), such as -EBADF and -EAGAIN; a part may have been written. -ECHILD: see
 * thread.h.
 */
BATON_MUST_USE int baton_board_dump(struct baton_board *board, int fd) BATON_NONNULL;

#ifdef __cplusplus
}
#endif

#endif
