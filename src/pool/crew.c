/* SPDX-License-Identifier: MIT */
/*
 * Places and threads. A place is what a worker's number stands for: a run queue, a LIFO slot. A
 * thread that sleeps inside a job leaves its place vacant, with its queues. When there is work and
 * no free thread, a spare thread takes the place.
 *
 * pool->staff holds four numbers in one word, so that they change, and are read, together:
 *   VACANT places that no thread holds. The number may be too high for a moment (it grows before a
 *            place becomes vacant, and falls after a place was taken), but is never too low
 *   AWAY     threads inside a job without a place
 *   COMING   spares that were called or started, and have not looked for a place yet
 *   RESTING  spares that sleep and have not been called
 *
 * Invariants:
 * crew.holding: The queues of a place belong to its holder; thieves may take jobs. The place passes
 *    from one holder to the next by `holder`: the leaver stores 0, the taker's CAS replaces 0
 *    ([crew.place]).
 * crew.spare: If there is work, no free thread and a vacant place, then a spare is COMING, unless
 *    no further thread can be had. A publisher of work that finds no idle worker looks at `staff`.
 *    A leaver looks for work after its place has become vacant. A spare that found no place looks
 *    again for places and work after it has stopped COMING, and once more when its thread ends,
 *    since another spare may not have been started because of this thread (threads_max). All of
 *    these are seq_cst ([crew.coming]). So of publisher and leaver, one sees the other. If a
 *    publisher or a leaver relies on a COMING spare, that spare's second look sees the work and the
 *    place. If the second look comes too early to see the place, the leaver finds the spare
 *    RESTING, and calls it. The seq_cst steps of the queues and of idle.c, which all of these
 *    pass, order most of this, too: so a weaker order here is seldom noticed.
 * crew.not_ending: A shutdown does not end the pool while a thread is AWAY. A worker that could be
 *    the last one looks at AWAY before it enters the idle set, and again afterwards. A thread that
 *    stops being AWAY holds a place from then on, or looks for sleepers afterwards. Both are
 *    seq_cst ([crew.away]).
 * crew.calls: `calls` is the number of spares that were called and are not up yet. RESTING plus
 *    `calls` is the number of threads in rest_until_called(). A spare that retires takes itself out
 *    of RESTING; if it cannot, a call for it is on its way.
 * crew.comes_back: The last holder of a vacant place comes back to the place, unless another thread
 *    takes the place first. So no job is left in the place's queues when the pool ends. After
 *    shutdown_now, too, a spare comes to a place with jobs in its queues, empties the queues, and
 *    ends.
 *
 * Progress: a thread that is stopped anywhere in here keeps one place, or one call, from the others
 * for that long; other calls and places are not concerned.
 */
#include "pool/crew.h"

#include "base/atomic.h"
#include "base/futex.h"
#include "thread/thread.h"
#include "pool/idle.h"
#include "pool/pool.h"
#include "pool/spawn.h"
#include "pool/vacancy.h"
#include "pool/worker.h"

#include <errno.h>
#include <limits.h>

/* In pool->calls: the pool has ended. */
#define CALLS_END 0x80000000U

static __thread struct baton__mate *current_mate __attribute__((tls_model("initial-exec")));

struct baton__mate *baton__mate_current(void)
{
	return current_mate;
}

static uint32_t staff_count(const struct baton_pool *pool, uint64_t unit)
{
	return baton__staff(load_seq_cst(&pool->staff), unit);
}

bool baton__pool_may_end(const struct baton_pool *pool)
{
	/* [crew.away] seq_cst: pairs with [crew.away] in come_home. [pool.last] seq_cst: pairs with
	 * set_state. Relaxed is seldom noticed: an old value costs the second look, which comes
	 * after the entry into the idle set. */
	return load_seq_cst(&pool->state) & BATON__POOL_SHUTDOWN &&
	       staff_count(pool, BATON__STAFF_AWAY) == 0;
}

/* `before`: `staff` before the caller came home. If the last thread that was AWAY has come home,
 * and the pool shuts down, a worker must be woken to see that. */
static void come_home(struct baton_pool *pool, uint64_t before)
{
	/* [crew.away] seq_cst: after the caller has changed `staff` */
	if (baton__staff(before, BATON__STAFF_AWAY) == 1 &&
	    load_seq_cst(&pool->state) & BATON__POOL_SHUTDOWN)
		(void)baton__idle_notify(&pool->idle);
}

static bool take_worker(struct baton__mate *mate, struct baton__worker *worker)
{
	uint32_t nobody = 0;

	/* [crew.place] acquire: the queues, as the last holder left them; pairs with [crew.place]
	 * in blocks.
	 * [crew.coming] seq_cst: the first look. Relaxed is seldom noticed: the load of the same 0,
	 * or `staff`, has acquired the queues. */
	return cas_seq_cst(&worker->holder, &nobody, mate->index + 1);
}

/* Takes a place that has been vacant for long enough. */
static struct baton__worker *take_any(struct baton__mate *mate)
{
	struct baton_pool *pool = mate->pool;
	uint64_t now_ns = baton__now_ns();

	for (size_t i = 0; i < pool->worker_count; i++) {
		struct baton__worker *worker = &pool->workers[i];

		/* [crew.coming] seq_cst: the first look. Relaxed is seldom noticed: the second look
		 * finds an old holder. */
		if (!load_seq_cst(&worker->holder) && baton__vacancy_lasts(worker, now_ns) &&
		    take_worker(mate, worker))
			return worker;
	}
	return NULL;
}

static bool any_vacant(const struct baton_pool *pool)
{
	for (size_t i = 0; i < pool->worker_count; i++)
		/* [crew.coming] seq_cst: the second look. Relaxed is seldom noticed: see
		 * crew.spare. */
		if (!load_seq_cst(&pool->workers[i].holder))
			return true;
	return false;
}

/* ---- Calling ---- */

/* Counts one more thread. False: the pool has as many as it may have. */
static bool reserve_thread(struct baton_pool *pool)
{
	/* [crew.coming] seq_cst, after our look at RESTING; an RMW, which reads the newest value. A
	 * spare that retires leaves RESTING, then `threads`, then looks for work. Relaxed is seldom
	 * noticed below: see crew.spare. */
	uint32_t threads = add_seq_cst(&pool->threads, 0);

	/* Ends: each failed CAS is another thread that begins or ends. */
	do
		if (threads >= pool->threads_max)
			return false;
	while (!cas_seq_cst(&pool->threads, &threads, threads + 1));
	return true;
}

static void unreserve_thread(struct baton_pool *pool)
{
	/* Relaxed is seldom noticed: see crew.spare. */
	(void)sub_seq_cst(&pool->threads, 1); /* [crew.coming] as in reserve_thread */
}

static void post_call(struct baton_pool *pool)
{
	/* [crew.call] release: what was done before the call; pairs with [crew.call] in
	 * rest_until_called. Relaxed is seldom noticed: `staff` publishes what is read after a
	 * call. */
	(void)add_seq_cst(&pool->calls, 1);
	baton__futex_wake(&pool->calls, 1);
}

enum called { CALLED, NEEDLESS, MISSING };

/*
 * Calls a spare that rests, or starts a spare if `reserved`, which is then used up. CALLED: one
 * more spare is coming, or there was one coming for each vacant place. NEEDLESS: no place is
 * vacant. MISSING: no spare rests, and the caller has reserved none, or it could not be started.
 */
static enum called call_or_start(struct baton_pool *pool, bool *reserved)
{
	/* [crew.coming] seq_cst: after the caller has published work, or a vacant place. Relaxed is
	 * seldom noticed below: see crew.spare. */
	uint64_t staff = load_seq_cst(&pool->staff);
	uint64_t next;
	bool resting;

	/* Lock-free: a CAS fails only because another thread's CAS has succeeded. */
	do {
		if (baton__staff(staff, BATON__STAFF_VACANT) == 0)
			return NEEDLESS;
		if (baton__staff(staff, BATON__STAFF_COMING) >=
		    baton__staff(staff, BATON__STAFF_VACANT))
			return CALLED;
		resting = baton__staff(staff, BATON__STAFF_RESTING);
		if (!resting && !*reserved)
			return MISSING;
		next = staff + BATON__STAFF_COMING - (resting ? BATON__STAFF_RESTING : 0);
	} while (!cas_seq_cst(&pool->staff, &staff, next));
	if (resting) {
		post_call(pool);
		return CALLED;
	}
	*reserved = false;
	return baton__spawn_spare(pool) ? MISSING : CALLED;
}

/* A spare that was COMING could not be started: the threads that relied on it must be told. */
void baton__crew_missing(struct baton_pool *pool)
{
	bool reserved = false;

	baton__crew_add(&pool->crew_counts.failed);
	unreserve_thread(pool);
	/* crew.spare: before the look at RESTING. Relaxed is seldom noticed: see crew.spare. */
	(void)sub_seq_cst(&pool->staff, BATON__STAFF_COMING);
	if (call_or_start(pool, &reserved) == MISSING)
		baton__thread_nudge_all(); /* those that sleep in waits may help */
}

static enum called call_spare(struct baton_pool *pool)
{
	/* Ends: a round is repeated only if other threads called or came while this one was
	 * reserved. */
	for (;;) {
		bool reserved = false;
		enum called called = call_or_start(pool, &reserved);

		if (called != MISSING)
			return called;
		if (!reserve_thread(pool)) {
			baton__crew_add(&pool->crew_counts.refused);
			return MISSING;
		}
		reserved = true;
		called = call_or_start(pool, &reserved);
		if (!reserved) {
			if (called == MISSING)
				baton__crew_missing(pool);
			return called;
		}
		/* Another caller may have found no room because of our reservation: crew.spare, so
		 * look again. */
		unreserve_thread(pool);
	}
}

int baton__crew_call(struct baton_pool *pool, bool busy)
{
	if (busy && call_spare(pool) == CALLED)
		return 0;
	/* [pool.vacant] seq_cst: as in baton__pool_notify */
	if (staff_count(pool, BATON__STAFF_VACANT) >= pool->worker_count)
		baton__thread_nudge_all(); /* those that sleep in waits may help */
	return busy;
}

bool baton__crew_stuck(struct baton_executor *executor)
{
	struct baton_pool *pool = (struct baton_pool *)executor; /* its first member */

	/* [pool.vacant] seq_cst: as in baton__pool_notify */
	return staff_count(pool, BATON__STAFF_VACANT) >= pool->worker_count &&
	       call_spare(pool) == MISSING;
}

/* ---- Leaving a place, and coming back ---- */

void baton__crew_blocks(struct baton__mate *mate, bool lasts)
{
	struct baton__worker *worker;
	struct baton_pool *pool = mate->pool;

	if (mate->blocked++)
		return;
	worker = baton__worker_current();
	mate->left = worker;
	if (!worker)
		return;
	baton__worker_blocks(worker);
	mate->running = worker->running;
	baton__worker_become(NULL);
	mate->lasts = lasts;
	baton__vacancy_begin(worker, lasts);
	(void)add_seq_cst(&pool->staff, BATON__STAFF_VACANT + BATON__STAFF_AWAY);
	/* [crew.place] release: the queues; pairs with [crew.place] in take_worker. [crew.coming],
	 * [pool.vacant] seq_cst: before the look for work */
	store_seq_cst(&worker->holder, 0);
	if (baton__pool_has_work(pool))
		(void)baton__pool_notify(pool);
}

void baton__crew_unblocks(struct baton__mate *mate)
{
	struct baton__worker *worker = mate->left;

	BATON_ASSERT(mate->blocked > 0);
	if (--mate->blocked || !worker || !take_worker(mate, worker))
		return;
	if (!mate->lasts)
		baton__vacancy_short(mate->pool);
	/* A spare that is COMING for this place will find none. Relaxed is seldom noticed: see
	 * crew.spare. */
	(void)sub_seq_cst(&mate->pool->staff, BATON__STAFF_VACANT + BATON__STAFF_AWAY);
	worker->running = mate->running;
	baton__worker_become(worker);
}

/* ---- Spares ---- */

/* crew.spare: a publisher may have relied on this thread, or found no room because of it. */
static void notify_of_work(struct baton_pool *pool)
{
	if (any_vacant(pool) && baton__pool_has_work(pool))
		(void)baton__pool_notify(pool);
}

/* Takes this mate, which rests, out of RESTING. False: there is a call for it. */
static bool stop_resting(struct baton_pool *pool)
{
	uint64_t staff = load_relaxed(&pool->staff); /* validated by the CAS */

	/* Lock-free: a CAS fails only because another thread's CAS has succeeded. */
	do
		if (!baton__staff(staff, BATON__STAFF_RESTING))
			return false;
	/* Relaxed is seldom noticed: as in post_call. */
	while (!cas_seq_cst(&pool->staff, &staff, staff - BATON__STAFF_RESTING));
	return true;
}

/*
 * The calling thread ends. It is joined by the next thread that retires, or by destroy. So at most
 * one thread that is no longer counted still occupies a mate.
 */
static void retire(struct baton__mate *mate)
{
	struct baton_pool *pool = mate->pool;
	/* [crew.holder] release: our `thread`; acquire: the `thread` of the mate before us. Relaxed
	 * is seldom noticed: pthread_join orders what is read of a retired thread. */
	uint32_t before = swap_acq_rel(&pool->retired, mate->index + 1);

	if (before)
		baton__join_mate(&pool->mates[before - 1]);
	baton__crew_add(&pool->crew_counts.retired);
}

/* Sleeps until there is a call: true. False: this mate has retired, or the pool has ended. */
static bool rest_until_called(struct baton__mate *mate)
{
	struct baton_pool *pool = mate->pool;
	uint64_t deadline_ns = baton__time_after(baton__now_ns(), pool->spare_keep_ns);
	struct baton__futex_watch watch = {.word = &pool->calls};

	/* Ended by a call, the end of the pool, or the deadline. */
	for (;;) {
		/* Relaxed is seldom noticed below: as in post_call. */
		uint32_t calls = load_acquire(&pool->calls);

		watch.value = calls;
		if (calls & ~CALLS_END) {
			/* [crew.call] acquire: what was done before the call; pairs with
			 * [crew.call] in post_call */
			if (cas_acquire(&pool->calls, &calls, calls - 1))
				return true;
			continue;
		}
		/* crew.calls: if this mate cannot stop resting, a call is on its way. */
		if (calls & CALLS_END && stop_resting(pool))
			return false;
		if (baton__futex_wait(&watch, 1, deadline_ns) != -ETIMEDOUT)
			continue;
		deadline_ns = BATON_FOREVER;
		if (stop_resting(pool)) {
			retire(mate);
			return false;
		}
	}
}

/* Finds a place. NULL: the pool has ended, or this mate has retired. `as`: the number that counts
 * the mate now, COMING or AWAY. */
static struct baton__worker *find_place(struct baton__mate *mate, uint64_t as)
{
	struct baton_pool *pool = mate->pool;
	struct baton__watch watch = {0};

	/* Ended by places, retirement, or the end of the pool. */
	for (;;) {
		struct baton__worker *worker = take_any(mate);
		uint64_t staff;

		if (worker) {
			/* Relaxed is seldom noticed: see crew.spare. */
			(void)sub_seq_cst(&pool->staff, BATON__STAFF_VACANT + as);
			(void)baton__pin(worker); /* a thread that cannot be pinned works as well */
			return worker;
		}
		if (as == BATON__STAFF_COMING && baton__vacancy_watch(pool, &watch))
			continue;
		/* [crew.coming], [crew.away] seq_cst: this mate stops being COMING or AWAY, then
		 * looks again */
		staff = add_seq_cst(&pool->staff, BATON__STAFF_RESTING - as);
		if (as == BATON__STAFF_AWAY)
			come_home(pool, staff);
		notify_of_work(pool);
		if (!rest_until_called(mate))
			return NULL;
		as = BATON__STAFF_COMING;
		watch = (struct baton__watch){0};
	}
}

void baton__crew_serve(struct baton__mate *mate)
{
	struct baton__worker *worker = mate->first;

	current_mate = mate;
	if (!worker)
		worker = find_place(mate, BATON__STAFF_COMING);
	while (worker && !baton__worker_loop(worker))
		worker = find_place(mate, BATON__STAFF_AWAY);
	current_mate = NULL;
	unreserve_thread(mate->pool);
	notify_of_work(mate->pool);
}

void baton__crew_wake_all(struct baton_pool *pool)
{
	/* [crew.call] release: pairs with [crew.call] in rest_until_called. CALLS_END is final.
	 * Relaxed is seldom noticed: as in post_call. */
	(void)or_seq_cst(&pool->calls, CALLS_END);
	baton__futex_wake(&pool->calls, INT_MAX);
	baton__futex_wake(&pool->state, INT_MAX); /* mates that watch vacancies */
}
