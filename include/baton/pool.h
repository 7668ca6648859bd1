/* SPDX-License-Identifier: MIT */
/*
 * The pool: an executor of work-stealing workers. It runs resources that were handed off to it, and
 * plain jobs. Idle workers look around for a few tens of microseconds, then sleep and cost nothing.
 *
 *                               | from
 *   submit, stats, executor     | any thread
 *   shutdown, shutdown_now      | any thread, also inside jobs
 *   await_termination           | any thread but the pool's own (-EDEADLK)
 *   destroy                     | one thread, not the pool's own (-EDEADLK)
 *
 * Workers block all signals, which are for the program's own threads.
 *
 * fork: in the child of a process in which a pool existed or a task ran at that moment, every call
 * that would need them returns -ECHILD; nothing hangs. A process that forks before its first use of
 * baton (daemonising) is not concerned.
 *
 * Source: run queue, LIFO slot, injection queue and searching as in tokio's multi-thread scheduler,
 * stealing half as in Go's.
 */
#ifndef BATON_POOL_H
#define BATON_POOL_H

#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <baton/executor.h>

#ifdef __cplusplus
extern "C" {
#endif

struct baton_pool;

struct baton_pool_options {
	/* Threads; 0: the CPUs that this process may use (affinity, cgroup quota), at least 1. */
	size_t workers;
	/* Threads are named "<name>-<n>"; NULL: "baton". At most 10 characters are used. */
	const char *name;
	/* Bytes per thread's stack; 0: the system's default. */
	size_t stack_size;
	/* Worker i runs on cpus[i % cpu_count] alone; NULL: where the system likes. */
	const int *cpus;
	size_t cpu_count;
};

#define BATON_POOL_OPTIONS_INIT                                                                    \
	{                                                                                          \
		0, NULL, 0, NULL, 0                                                                \
	}
#define BATON_POOL_WORKERS_MAX 4094

/*
 * `options` may be NULL. On an error nothing is left behind.
 * Errors: -ENOMEM, -EAGAIN (no more threads), -EINVAL (too many workers, stack too small, no such
 * CPU), -ECHILD.
 */
int baton_pool_create(const struct baton_pool_options *options, struct baton_pool **pool);

/*
 * The process-wide pool, created on first use with default options; it is never torn down by
 * itself. Errors: as for create; *pool is untouched.
 */
int baton_pool_default(struct baton_pool **pool);

struct baton_executor *baton_pool_executor(struct baton_pool *pool);
size_t baton_pool_workers(const struct baton_pool *pool);

/*
 * Runs a plain job on some worker. On a worker of this pool: the newest first.
 * Errors: the job is untouched: -ESHUTDOWN: after shutdown. -ECHILD. -ENOMEM: this thread's first
 * call, and no memory for its record.
 */
int baton_pool_submit(struct baton_pool *pool, struct baton_plain_job *job);

/*
 * No more jobs by baton_pool_submit; hand-offs are accepted until everything accepted has run; then
 * the workers end. Returns at once. 0; -EALREADY; -ECHILD, or -ENOMEM (as submit): not shut down.
 */
int baton_pool_shutdown(struct baton_pool *pool);

/*
 * No more jobs, no more hand-offs. Puts the list of jobs that no worker had taken into `*jobs`
 * (NULL if none); give each to baton_job_run or baton_job_cancel. What a worker had taken is run.
 * Returns at once. 0; -EALREADY if shutdown_now was called before; -ECHILD, -ENOMEM as shutdown
 * (then *jobs is untouched).
 */
int baton_pool_shutdown_now(struct baton_pool *pool, struct baton_job **jobs);

/*
 * Waits, after one of the two above, until all workers have ended. `deadline` absolute,
 * CLOCK_MONOTONIC, NULL: none. Errors: -EDEADLK from a worker of this pool, -ETIMEDOUT, -EINVAL
 * (malformed deadline, or no shutdown was asked for), -ECHILD.
 */
int baton_pool_await_termination(struct baton_pool *pool, const struct timespec *deadline);

/*
 * Shuts down if need be, waits until everything accepted has run, and frees the pool. No hand-off
 * may reach it afterwards: the resources that use it must be idle or closed and awaited.
 * Errors: -EDEADLK from a worker of this pool; -ECHILD. Then nothing happens.
 */
int baton_pool_destroy(struct baton_pool *pool);

/* What workers did since the pool was created. */
struct baton_pool_stats {
	uint64_t executed;          /* jobs run */
	uint64_t stolen;            /* jobs taken from other workers */
	uint64_t parked;            /* times a worker went to sleep */
	uint64_t woken;             /* times it was woken */
	uint64_t lifo_hits;         /* jobs from the LIFO slot */
	uint64_t injection_batches; /* times jobs were fetched from the injection queue */
};

/* One worker's counters; all workers' together. Any thread. -EINVAL: no such worker. */
int baton_pool_worker_stats(const struct baton_pool *pool, size_t worker,
                            struct baton_pool_stats *stats);
void baton_pool_stats(const struct baton_pool *pool, struct baton_pool_stats *stats);

#ifdef __cplusplus
}
#endif

#endif
