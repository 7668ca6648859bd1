/* SPDX-License-Identifier: MIT */
/*
 * The executor interface: how a resource asks to be drained later, on another thread. baton has
 * three executors: the work-stealing pool (pool.h), the loop executor for a thread that runs an
 * event loop (loop.h), and the manual executor for tests (manual.h). For an executor of your own
 * see struct baton_executor_ops.
 */
#ifndef BATON_EXECUTOR_H
#define BATON_EXECUTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <baton/attributes.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * What an executor runs: a resource's job, which is a member of the resource, or a plain job, which
 * has a function. From schedule() until the executor calls baton_job_run() or baton_job_cancel(),
 * _next is the executor's, to link jobs. An executor does not touch the other members.
 */
struct baton_job {
	struct baton_job *_next;
	uint32_t _kind;
	uint32_t _turn;
};

struct baton_plain_job;

/* A plain job's function. The job's memory is the function's. */
typedef void (*baton_job_fn)(struct baton_plain_job *job);

/*
 * A job without a resource: a function for an executor.
 *
 * Ownership: the caller's memory; baton's from the submit until `run` (or `cancel`) is entered.
 */
struct baton_plain_job {
	struct baton_job job;
	baton_job_fn _run;
	baton_job_fn _cancel;
};

/* `cancel` may be NULL: then nobody is told when the job is cancelled. */
#define BATON_PLAIN_JOB_INIT(run, cancel)                                                          \
	{                                                                                          \
		{NULL, 1, 0}, (run), (cancel)                                                      \
	}

/*
 * Makes a plain job. `run` is called on the executor's thread; so is `cancel`, or on the thread
 * that has got the job from baton_pool_shutdown_now().
 *
 * Thread safety: the job's owner, while the job waits nowhere.
 */
static inline void baton_plain_job_init(struct baton_plain_job *job, baton_job_fn run,
                                        baton_job_fn cancel)
{
	job->job._next = NULL;
	job->job._kind = 1;
	job->job._turn = 0;
	job->_run = run;
	job->_cancel = cancel;
}

/*
 * For executors, and for a thread that got jobs from baton_pool_shutdown_now(). run: runs the job
 * on this thread; a resource's job runs the resource's tasks, one quantum of them. cancel: cancels
 * the job, on this thread; the pending tasks of a resource complete as cancelled, and the resource
 * stays usable. next: the next job in a list of jobs; read it before the job is run.
 *
 * Thread safety: any thread that has the job.
 * Ownership: each job is run or cancelled, exactly once; the executor does not touch it afterwards.
 *
 * Corner cases. If the executor refuses the rest of a resource's tasks, run runs the rest, too.
 *
 * A resource's job needs a record of the thread (thread.h). If there is no memory for one, or in a
 * fork's child, the process ends (an assertion): so a thread of your own executor first calls
 * baton_thread_attach(), which returns an error instead.
 */
void baton_job_run(struct baton_job *job) BATON_NONNULL;
void baton_job_cancel(struct baton_job *job) BATON_NONNULL;
struct baton_job *baton_job_next(const struct baton_job *job) BATON_NONNULL;

/*
 * Should the running task, or the running job, make room? A long task or job calls this at places
 * where it can stop. If the answer is true, it submits the rest of its work again, to its resource
 * or its pool, and returns. True:
 *   - another task of the running task's resource waits;
 *   - the resource has a time limit (quantum_ns, capture_ns), and it has passed;
 *   - a job waits in the executor of this thread, and no other thread of that executor is free;
 *   - the thread owns a loop executor, whose function says so (baton_loop_set_should_yield()).
 *
 * Thread safety: any thread, about itself; outside tasks and jobs false. Blocking: never.
 *
 * Corner cases. More than 64 awaits of the resource count as a task that waits (those that have
 * timed out are counted until the resource's runner comes to them). The time of a stay is counted
 * from the second task of the stay, or from the first call of this function during the stay. On a
 * thread that belongs to no executor, and drives none, only the first two count.
 *
 * Cost: no atomic read-modify-write; a clock reading where there is a time limit.
 */
bool baton_should_yield(void);

struct baton_executor;

/* What an executor does. `schedule` is required; each other operation may be NULL. */
struct baton_executor_ops {
	/*
	 * Takes the job and runs it later, never inside this call. Returns 0; or 1: taken, but no
	 * thread is free for it at the moment (a sleeping waiter, if there is one, is then woken to
	 * help); or a negative errno: not taken (-ESHUTDOWN: the executor has ended). Any thread;
	 * must not block.
	 */
	int (*schedule)(struct baton_executor *executor, struct baton_job *job);
	/*
	 * Optional. Called by a thread that is about to wait for a task that this executor runs
	 * (not for a task of another executor, even if that task waits for this executor). On the
	 * thread that drives the executor: runs one job and returns 1; 0: there is no job;
	 * -EDEADLK: calls have nested too deep. On any other thread: -EPERM.
	 */
	int (*drive)(struct baton_executor *executor);
	/*
	 * Optional. A waiter took the baton of a resource whose job is in this executor's queue and
	 * has given it back. The job is still in the queue: the executor makes sure that some
	 * thread will come to it. Returns 0, or 1 as schedule does.
	 */
	int (*returned)(struct baton_executor *executor);
	/*
	 * Optional. If the job is in a queue that the calling thread can reach, takes the job out,
	 * so that it will not be run, and returns true. The calling thread need not belong to this
	 * executor. Must run nothing.
	 */
	bool (*withdraw)(struct baton_executor *executor, struct baton_job *job);
	/*
	 * Optional. A thread that belongs to this executor is about to sleep inside a job
	 * (`blocked`), or goes on after the sleep. Only the threads of baton's pools belong to an
	 * executor: for an executor of your own the operation is not called.
	 */
	void (*blocked)(struct baton_executor *executor, bool blocked);
	/*
	 * Optional. True if, as far as can be seen, only the calling thread would run a queued job.
	 * That is so if the calling thread drives this executor, or if all threads of the executor
	 * sleep inside jobs and no other thread can be had (to find out, the operation may start a
	 * thread). A waiter then runs tasks that it would otherwise leave to the executor, see
	 * baton_future_wait(). Any thread; must not block.
	 */
	bool (*alone)(struct baton_executor *executor);
	/*
	 * Optional. For baton_should_yield(), on any thread. Does other work wait, for which no
	 * other thread is free? False unless the calling thread runs a job of this executor. A
	 * cheap look: plain loads.
	 */
	bool (*should_yield)(struct baton_executor *executor);
	/*
	 * Optional. A submitter or a waiter took the baton of a resource whose job is in this
	 * executor's queue, and ran all of the resource's tasks. As withdraw, but cheap: false if
	 * the job is not found by looking at few jobs. A recalled job costs its resource nothing
	 * more: the resource becomes idle at once.
	 */
	bool (*recall)(struct baton_executor *executor, struct baton_job *job);
	/*
	 * Optional, for an executor of several threads. As schedule, for a plain job by which the
	 * calling thread asks another thread for help: if the calling thread belongs to this
	 * executor, the job goes where the other threads look first. Readers run side by side
	 * (reader.h) only if the executor has this operation.
	 */
	int (*offer)(struct baton_executor *executor, struct baton_plain_job *job);
	void (*_reserved[4])(void);
};

/*
 * An executor: a table of operations, and what a struct that contains this one adds.
 *
 * Ownership: an executor must outlive the resources that use it, and every call of its operations
 * by other threads: waiters too call drive, returned, withdraw, recall and alone while they wait
 * for a task of such a resource, and submitters call returned and recall.
 */
struct baton_executor {
	const struct baton_executor_ops *_ops;
};

/*
 * An executor of one's own: a struct that begins with, or contains, a struct baton_executor. `ops`
 * must outlive it. `schedule` is required; an optional operation may be NULL.
 *
 *	static const struct baton_executor_ops ops = {.schedule = schedule};
 *	static struct my_executor mine = {.executor = BATON_EXECUTOR_INIT(&ops)};
 */
#define BATON_EXECUTOR_INIT(ops)                                                                   \
	{                                                                                          \
		(ops)                                                                              \
	}

/* The same at run time. Thread safety: the owner, before any other call has the executor. */
static inline void baton_executor_init(struct baton_executor *executor,
                                       const struct baton_executor_ops *ops)
{
	executor->_ops = ops;
}

/*
 * Hands a job to an executor, which runs it later on a thread of its own.
 *
 * Thread safety: any thread. Blocking: never.
 * Ownership: the job is the executor's until it is entered; after an error, the caller's.
 * Returns: 0, or the executor's refusal: the job is untouched. -ESHUTDOWN: the executor has ended.
 */
static inline BATON_MUST_USE int baton_executor_schedule(struct baton_executor *executor,
                                                         struct baton_job *job)
{
	int status = executor->_ops->schedule(executor, job);

	return status < 0 ? status : 0;
}

#ifdef __cplusplus
}
#endif

#endif
