/* SPDX-License-Identifier: MIT */
/*
 * The parallel loop. The indices that no thread has begun are those from `next` on: a thread takes
 * the first of them, as a chunk, by a compare-and-swap.
 *
 * The caller invites workers by a plain job. A worker that runs the job takes a seat, hands the job
 * on while there are more seats, and takes chunks until none is left. A worker that leaves for
 * other jobs gives its seat back. The job may still lie in the pool when the loop is over: so the
 * loop is a node of its own, and the last thread or job that refers to the node frees it.
 *
 * The word `crew` counts those that refer to the node:
 *   CALLER   the caller is in the call
 *   WAITING  the caller sleeps, or is about to: set by the caller, never cleared
 *   SEAT     one open seat. While at least one seat is open, the job is in the pool, or in the
 *            hands of the thread that has opened the first seat, or has taken one of several
 *   HELPER   one worker that takes chunks
 *
 * Invariants:
 * parallel.over: `next` only grows, by read-modify-writes, up to `count`. A helper is counted
 *    before it takes its first chunk, and off after its last one. A thread that sees `next` at
 *    `count` therefore sees the helper of each chunk that has begun, or what the helper has
 *    published when it left ([parallel.begun]).
 * parallel.node: A helper touches `fn` and `arg` for a chunk only, so not after the caller has seen
 *    no helper beside a `next` at `count`. The node lives while `crew` is not 0.
 * parallel.late: A node outlives its call while its job waits in a pool that has no worker free. At
 *    most LOOPS_MAX nodes of a thread live: further loops of the thread run alone. The thread's
 *    record, which is never freed, counts them.
 *
 * Progress: the caller waits for chunks that other threads have begun, and for nothing else. Say
 * that such a chunk waits in turn for a loop that the chunk has called. That loop is younger than
 * the chunk, and the chunk is younger than the caller's loop. So waits for loops form no cycle.
 * This holds because a caller that waits runs no other chunk meanwhile.
 */
#include <baton/parallel.h>

#include <baton/pool.h>

#include "base/atomic.h"
#include "base/checked.h"
#include "base/futex.h"
#include "thread/carried.h"
#include "thread/node.h"
#include "thread/thread.h"
#include "core/callback.h"
#include "core/guard.h"
#include "wait/yield.h"
#include "pool/pool.h"

#include <errno.h>

#ifndef BATON_PARALLEL_PAUSES /* tests make these small */
#define BATON_PARALLEL_PAUSES 100
#define BATON_PARALLEL_YIELDS 200
#endif

/* Chunks grow until they take about so long: a hundred times what a chunk costs where CPUs are far
 * from each other. */
#define CHUNK_NS 50000U
/* One chunk is at most so many times as long, in indices, as the chunk before. */
#define GROWTH_MAX 8U
/* A chunk is at most this part of what each thread would get of the rest. */
#define REST_PARTS 4U
#define WANT_MAX (UINT64_C(1) << 32)
#define LOOPS_MAX 64 /* parallel.late */

#define CALLER 1U
#define WAITING 2U
#define SEAT 4U
#define HELPER 0x10000U
#define SEATS (HELPER - SEAT)
#define HELPERS (0U - HELPER)

_Static_assert(BATON_POOL_WORKERS_MAX < HELPER / SEAT, "a seat for each worker");
_Static_assert(BATON_POOL_WORKERS_MAX <= HELPERS / HELPER, "each worker is a helper");

struct parallel_loop {
	struct baton_plain_job job;
	struct baton__thread *caller; /* its record; for parallel.late alone */
	struct baton_pool *pool;
	baton_parallel_fn fn;
	void *arg;
	void *carried; /* by the caller (carried.h) */
	size_t count;
	size_t grain;
	size_t next;    /* parallel.over */
	uint32_t crew;  /* a futex word */
	int32_t status; /* of the chunk that failed first; 0: none */
	uint32_t threads;
};

_Static_assert(sizeof(struct parallel_loop) <= BATON__NODE_BODY_SIZE, "a loop is a node");

/* ---- Chunks ---- */

static bool loop_is_over(const struct parallel_loop *loop)
{
	/* Relaxed: a hint. take_chunk decides. */
	return load_relaxed(&loop->next) >= loop->count;
}

/* Takes the first indices that no thread has begun, about `want`. Returns how many; 0: none is
 * left. Lock-free: a CAS fails only because another thread has taken a chunk, or a chunk failed. */
static size_t take_chunk(struct parallel_loop *loop, uint64_t want, size_t *begin)
{
	size_t next = load_relaxed(&loop->next); /* validated by the CAS */
	size_t size;

	do {
		const size_t left = loop->count - next;
		const size_t most = left / (REST_PARTS * loop->threads);

		if (!left)
			return 0;
		size = want < most ? (size_t)want : most;
		if (size < loop->grain)
			size = loop->grain;
		if (size > left)
			size = left;
		/* [parallel.begun] release: this thread is counted as a helper; pairs with
		 * [parallel.begun] in wait_for_helpers */
	} while (!cas_release(&loop->next, &next, next + size));
	*begin = next;
	return size;
}

/* A chunk has failed: the chunks that have not begun do not run. */
static void fail_loop(struct parallel_loop *loop, int status)
{
	int32_t none = 0;

	/* Relaxed: crew publishes the status to the caller. */
	if (cas_relaxed(&loop->status, &none, status))
		/* Relaxed is enough: an exchange carries the edge parallel.begun on from the chunks
		 * before. atomic.h has no exchange with that order. */
		(void)swap_acq_rel(&loop->next, loop->count);
}

static uint64_t want_next(size_t size, uint64_t took_ns)
{
	const uint64_t least_ns = CHUNK_NS / GROWTH_MAX;

	return (size < WANT_MAX ? size : WANT_MAX) * CHUNK_NS /
	       (took_ns > least_ns ? took_ns : least_ns);
}

/* Runs chunks until none is left, or, if `may_leave`, other jobs wait in the pool. */
static void run_chunks(struct parallel_loop *loop, bool may_leave)
{
	struct baton_executor *executor = may_leave ? &loop->pool->executor : NULL;
	uint64_t want = loop->grain;
	uint64_t began_ns = baton__now_ns();
	size_t begin;
	size_t size;

	/* Ends: each round takes a chunk of what is left. */
	while ((size = take_chunk(loop, want, &begin))) {
		const uintptr_t top = baton__self->top;
		const int status = loop->fn(loop->arg, begin, begin + size);
		const uint64_t now_ns = baton__now_ns();

		baton__guard_returned(top);
		if (BATON_UNLIKELY(status))
			fail_loop(loop, status);
		if (executor && executor->_ops->should_yield(executor))
			return;
		want = want_next(size, now_ns - began_ns);
		began_ns = now_ns;
	}
}

/* ---- Helpers ---- */

/* Wakes the caller if the last helper has left. The node may be gone. */
static void wake_caller(struct parallel_loop *loop, uint32_t before, uint32_t after)
{
	if (before & WAITING && before & HELPERS && !(after & HELPERS))
		baton__futex_wake(&loop->crew, 1);
}

/* `crew`: what is left of it. Last touch of the loop. */
static void free_if_last(struct parallel_loop *loop, uint32_t crew)
{
	if (crew & ~WAITING)
		return;
	/* Relaxed: the number orders nothing. */
	(void)sub_relaxed(&loop->caller->loops, 1);
	baton__node_free(loop);
}

/* The calling thread leaves the crew. Last touch of the loop. */
static void leave_loop(struct parallel_loop *loop, uint32_t unit)
{
	/* [parallel.ended] release: the chunks, the status; acquire: the last one frees the node;
	 * pairs with [parallel.ended] in wait_for_helpers and below */
	const uint32_t before = sub_acq_rel(&loop->crew, unit);

	wake_caller(loop, before, before - unit);
	free_if_last(loop, before - unit);
}

/* The job goes to no worker any more: closes the seats. Called by the thread that has the job. */
static void close_seats(struct parallel_loop *loop)
{
	uint32_t crew = load_relaxed(&loop->crew); /* validated by the CAS */

	/* Lock-free: a CAS fails only because another thread has changed the crew.
	 * [parallel.ended] as in leave_loop */
	while (!cas_acq_rel(&loop->crew, &crew, crew & ~SEATS))
		;
	free_if_last(loop, crew & ~SEATS);
}

static void invite_worker(struct parallel_loop *loop)
{
	struct baton_executor *executor = &loop->pool->executor;

	if (executor->_ops->offer(executor, &loop->job) < 0)
		close_seats(loop);
}

/* Takes a seat for the calling thread, which has the job. Returns the seats that were open; 0: the
 * loop is over, and its seats are closed. */
static uint32_t take_seat(struct parallel_loop *loop)
{
	if (loop_is_over(loop)) {
		close_seats(loop);
		return 0;
	}
	return (add_relaxed(&loop->crew, HELPER - SEAT) & SEATS) / SEAT;
}

static void run_helper(struct baton_plain_job *job)
{
	struct parallel_loop *loop = baton_container_of(job, struct parallel_loop, job);
	const uint32_t seats = take_seat(loop);
	struct baton__carried carried;
	uint32_t before;

	if (!seats)
		return;
	if (seats > 1)
		invite_worker(loop);
	if (loop->carried)
		baton__carry_begin(&carried, loop->carried);
	run_chunks(loop, true);
	if (loop->carried)
		baton__carry_end(&carried);
	if (loop_is_over(loop)) {
		leave_loop(loop, HELPER);
		return;
	}
	/* [parallel.ended] release: as in leave_loop. Release is enough: atomic.h has no such
	 * subtraction. */
	before = sub_acq_rel(&loop->crew, HELPER - SEAT);
	wake_caller(loop, before, before - HELPER + SEAT);
	if (!(before & SEATS))
		invite_worker(loop);
}

static void cancel_helper(struct baton_plain_job *job)
{
	close_seats(baton_container_of(job, struct parallel_loop, job));
}

/* ---- The caller ---- */

static void spin_for_helpers(const struct parallel_loop *loop)
{
	struct baton__yields yields;

	/* Relaxed: wait_for_helpers looks again. */
	for (int i = 0; i < BATON_PARALLEL_PAUSES && load_relaxed(&loop->crew) & HELPERS; i++)
		baton__pause();
	if (!baton__yields_begin(&yields))
		return;
	for (int i = 0; i < BATON_PARALLEL_YIELDS && load_relaxed(&loop->crew) & HELPERS; i++)
		if (!baton__yield(&yields))
			return;
}

/* Waits until the chunks that other threads have begun have ended. -ECHILD: they never will. */
static int wait_for_helpers(struct parallel_loop *loop)
{
	struct baton__futex_watch watch = {.word = &loop->crew};

	/* [parallel.begun] acquire: the helpers of all chunks; pairs with [parallel.begun] in
	 * take_chunk. take_chunk has seen the end of the range, so this load sees it, too. */
	(void)load_acquire(&loop->next);
	spin_for_helpers(loop);
	/* Ended by the helpers. Relaxed: the acquire below, on the last look. */
	for (;;) {
		/* [parallel.ended] acquire: the chunks, the status; pairs with [parallel.ended] in
		 * leave_loop and run_helper */
		watch.value = load_acquire(&loop->crew);
		if (!(watch.value & HELPERS))
			return 0;
		if (BATON_UNLIKELY(baton__forked()))
			return -ECHILD;
		/* Relaxed: a helper that leaves finds WAITING, or has changed the value. */
		if (!(watch.value & WAITING) &&
		    !cas_relaxed(&loop->crew, &watch.value, watch.value | WAITING))
			continue;
		watch.value |= WAITING;
		(void)baton__futex_wait(&watch, 1, BATON_FOREVER);
	}
}

/* Makes a node of the loop, and invites workers. NULL: no worker can help. */
static struct parallel_loop *share_loop(const struct parallel_loop *alone)
{
	struct baton_pool *pool = alone->pool;
	const size_t chunks = (alone->count - 1) / alone->grain + 1;
	struct parallel_loop *loop;
	size_t threads;

	/* A function that is told of an end must not wait (callback.told). */
	if (chunks < 2 || baton__forked() || baton__is_told(baton__self) ||
	    (!pool && baton_pool_default(&pool)))
		return NULL;
	threads = chunks < pool->worker_count ? chunks : pool->worker_count;
	/* Relaxed: this thread alone makes the number larger. */
	if (threads < 2 || baton__thread_attach() || load_relaxed(&baton__self->loops) >= LOOPS_MAX)
		return NULL;
	loop = baton__node_alloc(sizeof(*loop));
	if (!loop)
		return NULL;
	*loop = *alone;
	loop->carried = baton__carried();
	(void)add_relaxed(&baton__self->loops, 1);
	loop->caller = baton__self;
	baton_plain_job_init(&loop->job, run_helper, cancel_helper);
	loop->pool = pool;
	loop->threads = (uint32_t)threads;
	/* Relaxed: the offer publishes it. */
	store_relaxed(&loop->crew, CALLER + (uint32_t)(threads - 1) * SEAT);
	invite_worker(loop);
	return loop;
}

BATON_EXPORT int baton_parallel_for(struct baton_pool *pool, size_t count, size_t grain,
                                    baton_parallel_fn fn, void *arg)
{
	BATON__NEED(fn, "the loop has no function");

	struct parallel_loop alone = {
		.pool = pool,
		.fn = fn,
		.arg = arg,
		.count = count,
		.grain = grain ? grain : 1,
		.threads = 1,
	};
	struct parallel_loop *loop = count ? share_loop(&alone) : NULL;
	int status;
	int error;

	if (!loop) {
		run_chunks(&alone, false);
		return load_relaxed(&alone.status);
	}
	run_chunks(loop, false);
	error = wait_for_helpers(loop);
	status = load_relaxed(&loop->status); /* parallel.ended */
	leave_loop(loop, CALLER);
	return error ? error : status;
}
