/* SPDX-License-Identifier: MIT */
/*
 * Counts jobs where they are accepted, and waits for room.
 *
 * Invariants:
 * room.counted: Each plain job of a pool with waiting_max is counted before it is published. The
 *    count ends when a worker is about to enter the job, shutdown_now has taken the job out, or the
 *    push was refused. Plain jobs leave the pool's queues in no other way: helpers withdraw only
 *    resources' jobs. (The job of the wheel, which workers run without a queue, is the default
 *    pool's, which has no waiting_max.)
 * room.bound: A job that may be refused is counted by a CAS from a number below waiting_max. So
 *    these jobs never make the number larger than waiting_max.
 * room.sleep: A thread that waits for room counts itself in `sleepers`, then looks whether there is
 *    room. A thread that makes room counts the job off, then looks at `sleepers`. Both are seq_cst
 *    ([room.sleepers]): one of the two sees the other.
 * room.changes: A thread that waits reads `changes` before it looks for room and at the state. A
 *    thread that makes room, or sets the state, changes `changes` afterwards. So the wait for a
 *    change ends at once, or the look sees what was done before the change.
 * room.low: A job that leaves wakes one sleeper if fewer jobs than `low` still wait, an eighth
 *    below waiting_max: so submitters that outrun the workers do not sleep and wake for each job.
 *    No sleeper is forgotten. Each sleeper has seen waiting_max jobs, and `low` is at least 1.
 *    After the last moment at which `low` jobs waited, each leave wakes a sleeper, and each woken
 *    thread finds room and enters a job. Suppose that a thread still slept when no job waits. Then
 *    since that moment at least as many jobs have entered as left; but `low` more have left than
 *    entered.
 * pool.outside (pool.c) holds here from the first touch of the pool's words to the last one, the
 * wait included: destroy waits for the threads that its shutdown has woken.
 */
#include "pool/counting.h"

#include "base/atomic.h"
#include "base/checked.h"
#include "base/count.h"
#include "base/futex.h"
#include "thread/thread.h"
#include "core/executor.h"
#include "pool/pool.h"

#include <errno.h>
#include <limits.h>

#define NO_FUNCTION "the job has no function: initialise it by BATON_PLAIN_JOB_INIT"

static void count_accepted(struct baton_pool *pool, struct baton__worker *worker, uint64_t more)
{
	if (!pool->counts_accepted)
		return;
	/* Relaxed: counters order nothing. */
	if (worker)
		baton__count(&worker->counts.accepted, more);
	else
		(void)add_relaxed(&pool->accepted, more);
}

/* Takes room for one job, if there is room. Lock-free: a CAS fails only because another job has
 * been counted or has left. */
static bool take_room(struct baton_pool *pool)
{
	/* [room.sleepers] seq_cst: after the caller was counted; pairs with [room.sleepers] in
	 * baton__room_leave */
	uint64_t waiting = load_seq_cst(&pool->room.waiting);

	do {
		if (waiting >= pool->waiting_max)
			return false;
	} while (!cas_relaxed(&pool->room.waiting, &waiting, waiting + 1)); /* room.bound */
	return true;
}

/* Ended by a worker that enters a job, by a shutdown, or by the deadline. */
static int await_room(struct baton_pool *pool, uint32_t refusing, uint64_t deadline_ns)
{
	struct baton__futex_watch watch = {&pool->room.changes, 0};
	int status = 0;

	/* [room.sleepers] seq_cst: counted before the look for room; pairs with [room.sleepers] in
	 * baton__room_leave */
	(void)add_seq_cst(&pool->room.sleepers, 1);
	for (;;) {
		/* [room.changes] acquire: the room, the state; pairs with [room.changes] in
		 * room_change */
		watch.value = load_acquire(&pool->room.changes);
		/* Relaxed: [room.changes] orders it. */
		if (load_relaxed(&pool->state) & refusing) {
			status = -ESHUTDOWN;
			break;
		}
		if (take_room(pool)) {
			status = 0;
			break;
		}
		if (status) /* This look came after the deadline, too: a wake may have come. */
			break;
		status = baton__futex_wait(&watch, 1, deadline_ns); /* room.changes */
	}
	/* Relaxed: a thread that makes room may still see this sleeper, and wakes nobody. */
	(void)sub_relaxed(&pool->room.sleepers, 1);
	return status;
}

/* Counts a plain job, or says why not. */
static int reserve_room(struct baton_pool *pool, uint32_t refusing,
                        const struct baton__when_full *full)
{
	const struct baton__mate *mate = baton__mate_current();

	if (full->then == BATON__FULL_ACCEPT || (mate && mate->pool == pool)) {
		(void)add_relaxed(&pool->room.waiting, 1);
		return 0;
	}
	if (take_room(pool))
		return 0;
	/* Relaxed: nothing is read because of the state. */
	if (load_relaxed(&pool->state) & refusing)
		return -ESHUTDOWN;
	if (full->then == BATON__FULL_REFUSE)
		return -EAGAIN;
	if (mate || baton__depth(baton__self))
		return -EDEADLK;
	return await_room(pool, refusing, full->deadline_ns);
}

static int publish_job(struct baton_pool *pool, struct baton__worker *worker, struct baton_job *job,
                       uint32_t refusing)
{
	/* [pool.state] acquire: as in schedule_unless, pool.c. Relaxed is enough: as in
	 * schedule_unless. */
	if (load_acquire(&pool->state) & refusing)
		return -ESHUTDOWN;
	return worker ? baton__worker_schedule(worker, job) : baton__pool_push(pool, job);
}

/* The job is counted first, so that a thread that sees the job done sees it counted. If the pool
 * refuses the job, the count is taken back. */
static int schedule_inside(struct baton_pool *pool, struct baton_job *job, uint32_t refusing,
                           const struct baton__when_full *full)
{
	struct baton__worker *worker = baton__pool_worker(pool);
	const bool bounded = pool->waiting_max && !baton__job_is_resource(job);
	int status = bounded ? reserve_room(pool, refusing, full) : 0;

	if (status)
		return status;
	count_accepted(pool, worker, 1);
	status = publish_job(pool, worker, job, refusing);
	if (status >= 0)
		return status;
	count_accepted(pool, worker, UINT64_MAX);
	if (bounded)
		baton__room_leave(pool);
	return status;
}

int baton__counting_schedule(struct baton_pool *pool, struct baton_job *job, uint32_t refusing,
                             const struct baton__when_full *full)
{
	int status = baton__forked() ? -ECHILD : baton__thread_attach();

	if (status)
		return status;
	baton__thread_enter(pool);
	status = schedule_inside(pool, job, refusing, full);
	baton__thread_leave();
	return status;
}

/* Wakes up to `count` threads that wait for room. */
static void room_change(struct baton_pool *pool, int count)
{
	/* [room.changes] release: the room, or the state; pairs with [room.changes] in await_room.
	 * Release is enough: atomic.h has no addition with that order alone. */
	(void)add_seq_cst(&pool->room.changes, 1);
	baton__futex_wake(&pool->room.changes, count);
}

void baton__room_leave(struct baton_pool *pool)
{
	const uint64_t low = pool->waiting_max - pool->waiting_max / 8;

	/* [room.sleepers] seq_cst: before the look for sleepers; pairs with [room.sleepers] in
	 * take_room and await_room */
	if (sub_seq_cst(&pool->room.waiting, 1) > low) /* room.low; the number before */
		return;
	if (load_seq_cst(&pool->room.sleepers)) /* room.sleep */
		room_change(pool, 1);
}

void baton__room_leave_list(struct baton_pool *pool, const struct baton_job *first)
{
	if (!pool->waiting_max)
		return;
	for (const struct baton_job *job = first; job; job = job->_next)
		if (!baton__job_is_resource(job))
			baton__room_leave(pool);
}

void baton__room_close(struct baton_pool *pool)
{
	if (pool->waiting_max)
		room_change(pool, INT_MAX);
}

BATON_EXPORT int baton_pool_submit_wait(struct baton_pool *pool, struct baton_plain_job *job)
{
	BATON__CHECKED(owned(pool, __func__));
	BATON__NEED(job && job->_run, NO_FUNCTION);
	return baton__pool_submit(pool, job,
	                          &(struct baton__when_full){BATON__FULL_WAIT, BATON_FOREVER});
}

BATON_EXPORT int baton_pool_submit_wait_until(struct baton_pool *pool, struct baton_plain_job *job,
                                              uint64_t deadline_ns)
{
	BATON__CHECKED(owned(pool, __func__));
	BATON__NEED(job && job->_run, NO_FUNCTION);
	return baton__pool_submit(pool, job,
	                          &(struct baton__when_full){BATON__FULL_WAIT, deadline_ns});
}
