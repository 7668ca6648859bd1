/* SPDX-License-Identifier: MIT */
/*
 * The pool: an executor of work-stealing workers. It runs resources that were handed off to it, and
 * plain jobs. Idle workers look around for a few tens of microseconds, then sleep and cost nothing.
 *
 *                               | from
 *   submit, stats, executor     | any thread
 *   submit_wait                 | any thread; where it would wait: no thread of a pool, and not
 *                               | inside a task or a callback (-EDEADLK)
 *   shutdown, shutdown_now      | any thread, also inside jobs
 *   await                       | any thread but the pool's own (-EDEADLK)
 *   destroy, default_destroy    | one thread, not the pool's own (-EDEADLK)
 *
 * Corner cases. Spares. A worker may sleep inside a job: in a wait, after it has found nothing to
 * help with, or between baton_blocking_begin() and _end(). A spare thread then takes its place,
 * with run queue and LIFO slot, as soon as there is work for which no other worker is free (in a
 * bracket: not before the bracket has lasted for a while, see blocking.h). So at most `workers`
 * threads take jobs at any time, however many threads wait. A worker that comes back takes its
 * place again; if a spare has the place, the worker finishes its job without a place. Spares are
 * started when they are needed, by the thread that finds work: at most `spares_max` more threads
 * than workers. A spare ends when it has had nothing to do for `spare_keep_ns`. At the limit
 * `spares_max`, or where no thread can be started, jobs wait until a worker comes back, or a waiter
 * helps.
 *
 * A wait for a promise can be neither helped nor refused: baton does not know which thread will
 * fulfil the promise. If all workers wait for promises that only other jobs of the pool fulfil, and
 * no spare can be had, these waits last until their deadlines, and without deadlines for ever. So
 * give such a pool more spares than tasks that may wait at once, or give the waits deadlines. The
 * watchdog (watchdog.h) names them.
 *
 * A bound. A pool with `waiting_max` limits the plain jobs that wait, and with them the memory of
 * submitters that are faster than the workers. A plain job waits from its acceptance until a worker
 * enters it, or baton_pool_shutdown_now() has taken it out. Where waiting_max plain jobs wait,
 * baton_pool_submit() refuses a further one, and baton_pool_submit_wait() waits for room.
 *   - All plain jobs count, but not all are bounded. The pool's own threads submit without a bound,
 *     since jobs that have been accepted must be able to go on; so does baton_executor_schedule(),
 *     which continuations use. Only these jobs make the number larger than waiting_max.
 *   - Resources neither count nor are refused: a resource has one job, which is a member of the
 *     resource. To limit the tasks that wait in a resource, give it a bound (bound.h).
 * Cost: a pool with waiting_max makes two more atomic operations for each plain job. Threads that
 * wait for room are woken one by one, each by a system call of a worker that enters a job, while
 * more than an eighth of waiting_max is free: so submitters do not sleep and wake for each job.
 *
 * Many waiting jobs. A thread that is about to sleep in a wait, or in an await of a closed
 * resource, first looks whether it can run the queued resource itself. It then takes the resource's
 * job out of the pool, and for this moves all jobs that wait there: the time grows with their
 * number. So awaiting many closed resources, one after the other, behind busy workers takes time
 * that grows with the square of their number.
 *
 * Signals are for the program's own threads. Workers, and the threads of timer wheels, block all
 * signals except those that a thread causes itself (SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT,
 * SIGSYS, SIGTRAP).
 *
 * Source: run queue, LIFO slot, injection queue and searching as in tokio's multi-thread scheduler,
 * stealing half as in Go's, where also the place (P) that a blocked thread (M) leaves comes from.
 */
#ifndef BATON_POOL_H
#define BATON_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <baton/attributes.h>
#include <baton/executor.h>
#include <baton/time.h>

#ifdef __cplusplus
extern "C" {
#endif

struct baton_pool;

/* The order in which a worker takes jobs from its own queues. */
enum baton_pool_order {
	BATON_POOL_FIFO = 0,
	/*
	 * Prefers jobs that come back often. A resource comes back when its quantum is over; a
	 * plain job comes back when it submits itself while it runs. A job that has come back
	 * `hot_from` times in a row is hot: it waits in a second queue of its worker, from which
	 * thieves steal, too. A worker takes hot jobs first, but after `hot_share` hot jobs it
	 * takes a cold job. The count of a resource begins at 0 again when the resource was idle,
	 * or another thread has handed it off; that of a plain job when anything but the job itself
	 * submits it. So a resource whose next task waits for a descriptor (io.h, mainloop.h) comes
	 * back cold.
	 */
	BATON_POOL_YIELDS = 1,
};

/*
 * How a worker divides its time between its own jobs and those from outside. 0 is the default of
 * each member.
 *
 * A worker that has jobs of its own looks at the injection queue, where jobs from outside wait,
 * each time it has run as many jobs as take about `injection_ns`: injection_ns / mean jobs, at
 * least injection_min, at most injection_max, never more than tick_budget. Where that number is 2,
 * and the worker has found no job from outside, it looks again after the next job. `mean` is a mean
 * over the worker's last rounds. A longer round raises the mean at once, to its own value. A
 * shorter round lowers the mean slowly, with the weight smoothing / 256. So while jobs take as long
 * as in the last round, the oldest job from outside starts within injection_ns and the time of 2
 * jobs. A new worker begins with injection_min jobs, and from one round to the next the number
 * grows to at most twice as many and two. When jobs become longer all at once, one round goes by
 * before the worker knows: at most injection_max jobs. Therefore the default of injection_max is
 * small, and by default a shorter round counts in full (test/bench/README.md, W21).
 */
struct baton_pool_policy {
	/* About how long a job from outside waits for a busy worker; 0: ten microseconds. At most
	 * BATON_POOL_INJECTION_NS_MAX. */
	uint64_t injection_ns;
	/* Jobs from one look at the injection queue to the next; at least 2, so that every second
	 * job is the worker's own. 0: 2, and 61, as in Go and tokio. */
	uint32_t injection_min;
	uint32_t injection_max;
	/* The weight of a shorter round, in 256ths; 0, or 256: no memory. */
	uint32_t smoothing;
	/* A worker looks at the injection queue after so many jobs whatever they take; at least 2;
	 * 0: 128. */
	uint32_t tick_budget;
	/* How much of another worker's queue a thief takes, in 256ths, at most half a ring (128
	 * jobs); 0: half, as in Go. At most 256. */
	uint32_t steal_max;
	enum baton_pool_order order;
	uint32_t hot_from;  /* YIELDS; 0: 4. At most 32767 */
	uint32_t hot_share; /* YIELDS; 0: 3. At most BATON_POOL_JOBS_MAX */
	uint64_t _reserved[4];
};

#define BATON_POOL_INJECTION_NS_MAX UINT64_C(1000000000)
#define BATON_POOL_JOBS_MAX 65536 /* of injection_min, injection_max, tick_budget */

/* How a pool is made. */
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
	/* Spare threads at once; 0: BATON_POOL_SPARES; BATON_POOL_NO_SPARES: none. */
	size_t spares_max;
	/* A spare that has been idle for so long ends; 0: ten seconds. */
	uint64_t spare_keep_ns;
	/* Copied; NULL: the defaults. */
	const struct baton_pool_policy *policy;
	/* Count the jobs that the pool accepts, see `accepted`; false: they are not counted. */
	bool count_accepted;
	/* Plain jobs that may wait, see "A bound"; 0: no bound, and they are not counted. */
	uint64_t waiting_max;
	uint64_t _reserved[4];
};

#define BATON_POOL_OPTIONS_INIT                                                                    \
	{                                                                                          \
		0, NULL, 0, NULL, 0, 0, 0, NULL, false, 0,                                         \
		{                                                                                  \
			0                                                                          \
		}                                                                                  \
	}
#define BATON_POOL_WORKERS_MAX 4094
#define BATON_POOL_SPARES 64
#define BATON_POOL_SPARES_MAX 4096
#define BATON_POOL_NO_SPARES SIZE_MAX

/*
 * Creates a pool, and starts its workers. `options` may be NULL. On an error nothing is left
 * behind.
 *
 * Thread safety: any thread. Blocking: never.
 * Ownership: end the pool with baton_pool_destroy(). The policy and the options are copied.
 * Errors: -ENOMEM, -EAGAIN (no more threads), -EINVAL (too many workers or spares, stack too
 * small, no such CPU, cpus or cpu_count alone; a member of the policy out of its range, or
 * injection_min above injection_max, the defaults included). See baton_refused() in error.h.
 */
BATON_MUST_USE int baton_pool_create(const struct baton_pool_options *options,
                                     struct baton_pool **pool) BATON_NONNULL_AT(2);

/*
 * The process-wide pool, created on first use with default options; it is never torn down by
 * itself. Errors: as for create; *pool is untouched.
 */
BATON_MUST_USE int baton_pool_default(struct baton_pool **pool) BATON_NONNULL;

/*
 * Ends the default pool, if there is one: for programs whose leak checker wants everything back.
 * As baton_pool_destroy(): waits until everything accepted has run; no hand-off may be under way,
 * and no thread may wait for a task of a resource that uses the pool. A later use creates another
 * pool. A program that also ends the default wheel (timers.h) ends the wheel first: the pool drives
 * the wheel. If the wheel lives on, it gets a thread of its own.
 * Errors: -EDEADLK from a worker of this pool, or from a callback (timer.h, `dropped`) on the
 * thread that drives the default wheel; -EAGAIN, -ENOMEM: no thread for that wheel; see also
 * thread.h. Then nothing happens.
 */
BATON_MUST_USE int baton_pool_default_destroy(void);

/*
 * executor: the pool as the executor of resources, for their config; it ends with the pool.
 * workers: the number of the pool's workers, without spares.
 *
 * Thread safety: any thread. Blocking: never.
 */
struct baton_executor *baton_pool_executor(struct baton_pool *pool) BATON_NONNULL;
size_t baton_pool_workers(const struct baton_pool *pool) BATON_NONNULL;

/*
 * Runs a plain job on the executor's thread: on some worker. If the caller is a worker of this
 * pool, that worker mostly runs the newest job first.
 *
 * Thread safety: any thread. Blocking: never.
 * Ownership: the job is the pool's until it is entered or cancelled; after an error it is the
 * caller's.
 * Errors: the job is untouched: -ESHUTDOWN: after shutdown; -EAGAIN: at once, where waiting_max
 * plain jobs wait, unless the caller is one of the pool's own threads.
 */
BATON_MUST_USE int baton_pool_submit(struct baton_pool *pool,
                                     struct baton_plain_job *job) BATON_NONNULL;

/*
 * As baton_pool_submit(), but where waiting_max plain jobs wait, the caller waits for room, at most
 * until `deadline_ns` (time.h). The order of submitters that wait is not specified.
 *
 * Blocking: until workers have entered so many jobs that more than an eighth of waiting_max is
 * free, and no other submitter has taken the room. Never in a pool without waiting_max, and never
 * on the pool's own threads.
 * Errors: -ETIMEDOUT: the deadline has passed, and there is no room; -ESHUTDOWN after shutdown,
 * also if the shutdown comes during the wait; -EDEADLK, at once, where there is no room, and the
 * caller is inside a task or a callback, or is a thread of another pool: a job of this pool may
 * wait for the caller. The job is untouched.
 */
BATON_MUST_USE int baton_pool_submit_wait(struct baton_pool *pool,
                                          struct baton_plain_job *job) BATON_NONNULL;
BATON_MUST_USE int baton_pool_submit_wait_until(struct baton_pool *pool,
                                                struct baton_plain_job *job,
                                                uint64_t deadline_ns) BATON_NONNULL;

/*
 * Refuses further plain jobs. Hand-offs are accepted until all accepted jobs have run; then the
 * workers end. Does not wait for the jobs. Errors: -EALREADY; of the default pool also those of
 * baton_pool_default_destroy(), and nothing has happened.
 */
int baton_pool_shutdown(struct baton_pool *pool) BATON_NONNULL;

/*
 * Refuses further plain jobs and hand-offs. Puts the list of jobs that no worker had taken into
 * `*jobs` (NULL: none); give each of them to baton_job_run() or baton_job_cancel(). Jobs that a
 * worker had taken are run.
 *
 * Blocking: like a short mutex: waits while other threads take jobs out of the pool's queue, not
 * for jobs. Returns: 0; -EALREADY: shutdown_now was called before, and *jobs is untouched; of the
 * default pool also the errors of baton_pool_default_destroy().
 */
BATON_MUST_USE int baton_pool_shutdown_now(struct baton_pool *pool,
                                           struct baton_job **jobs) BATON_NONNULL;

/*
 * Waits, after baton_pool_shutdown() or baton_pool_shutdown_now(), until all workers have ended, or
 * until `deadline_ns` (time.h).
 * Errors: -EDEADLK: from a worker of this pool. -ETIMEDOUT: the deadline has passed. -EINVAL: no
 * shutdown was asked for.
 */
BATON_MUST_USE int baton_pool_await(struct baton_pool *pool) BATON_NONNULL;
BATON_MUST_USE int baton_pool_await_until(struct baton_pool *pool,
                                          uint64_t deadline_ns) BATON_NONNULL;

/*
 * Shuts down if need be, waits until everything accepted has run, and frees the pool. No hand-off
 * may reach the pool afterwards: the resources that use it must be idle, or closed and awaited.
 * Errors: -EDEADLK from a worker of this pool; -EPERM: it is the default pool. Then
 * nothing happens.
 */
BATON_MUST_USE int baton_pool_destroy(struct baton_pool *pool) BATON_NONNULL;

/* What workers did since the pool was created. */
struct baton_pool_stats {
	uint64_t executed; /* jobs run */
	uint64_t stolen;   /* jobs taken from other workers */
	uint64_t steals;   /* times a worker took jobs from another one */
	/* Accepted jobs, also those that a helper runs; 0 unless the options ask for this count,
	 * which costs one atomic operation for each job from outside. Of one worker: the jobs that
	 * its own jobs submitted. */
	uint64_t accepted;
	/* jobs between two looks at the injection queue, now; of the pool: the greatest */
	uint64_t interval;
	uint64_t hot;       /* times a job was put into a hot queue, see BATON_POOL_YIELDS */
	uint64_t awake_ns;  /* time in jobs, or looking around for them: not asleep */
	uint64_t parked;    /* times a worker went to sleep */
	uint64_t woken;     /* times a worker was woken */
	uint64_t lifo_hits; /* jobs from the LIFO slot */
	uint64_t injection_batches; /* times jobs were fetched from the injection queue */
	/* Of the whole pool; 0 in the counters of one worker: */
	uint64_t spares;         /* threads beyond the number of workers, now */
	uint64_t spares_started; /* spare threads started */
	uint64_t spares_retired; /* spare threads that ended because they were idle */
	uint64_t spares_refused; /* times no spare was started because of spares_max */
	uint64_t spares_failed;  /* times a spare could not be started */
	uint64_t waiting;        /* plain jobs that wait, now; 0 without waiting_max */
	uint64_t _reserved[3];
};

/*
 * worker_stats_read: the counters of one worker's place, whichever thread has held it. stats_read:
 * the sums of these, and the pool's own counters.
 *
 * Thread safety: any thread. Errors: -EINVAL: no such worker.
 */
BATON_MUST_USE int baton_pool_worker_stats_read(const struct baton_pool *pool, size_t worker,
                                                struct baton_pool_stats *copy) BATON_NONNULL;
void baton_pool_stats_read(const struct baton_pool *pool,
                           struct baton_pool_stats *copy) BATON_NONNULL;

#ifdef __cplusplus
}
#endif

#endif
