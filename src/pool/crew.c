/* SPDX-License-Identifier: MIT */
/*
 * Who is which worker. A thread that sleeps inside a job leaves its place, queues and all,
 * vacant; when there is work that nobody is free for, a spare thread takes the place.
 *
 * pool->staff, four numbers in one word, so that they change, and are read, together:
 *   VACANT   places that nobody holds. Too high for a moment (added before a place becomes vacant,
 *            taken away after it was taken), never too low
 *   AWAY     threads inside a job without a place
 *   COMING   spares that have been called, or started, and have not looked for a place yet
 *   RESTING  spares that sleep, without those for whom there is a call
 *
 * Invariants:
 * crew.holding: A place's queues, but for what thieves may do, are its holder's. Holding goes from
 *    one to the next by `holder`: a store of 0 by who leaves, a CAS from 0 by who takes
 *    ([crew.place]).
 * crew.spare: Work for which nobody is free while a place is vacant has a spare coming, unless none
 *    can be had. Who publishes work, and finds nobody idle, then looks at `staff`; who leaves a
 *    place looks for work after it has become vacant; who has looked for a place in vain looks for
 *    places, and work, again after it is not COMING any more; and again when it ends, since it may
 *    have been the one thread too many. All seq_cst ([crew.coming]): of a publisher and one who
 *    leaves, one sees the other; a publisher that relies on a spare that is COMING is seen by it,
 *    or the place by its second look, or the spare, now resting, by who leaves.
 * crew.not_ending: The pool does not end by shutdown while somebody is AWAY: a worker that could be
 *    the last looks at AWAY before it enters the idle set, and again afterwards; who is AWAY no
 *    more looks for sleepers afterwards. Both seq_cst ([crew.away]).
 * crew.calls: `calls` is the number of spares called and not yet up; RESTING plus that is the
 *    number of those in rest(). Who retires takes itself out of RESTING; if it cannot, its call is
 *    on its way.
 * crew.comes_back: A place that is vacant has a thread that comes back to it, the last one that
 *    held it, unless another takes it first: nothing in its queues is left over at the end. After
 *    shutdown_now, too, a spare comes to a place with jobs in its queues, empties them, and ends.
 *
 * Progress: a thread stopped anywhere here keeps a place, or a call, from the others for that long;
 * the others' calls and places are their own.
 */
#include "pool/crew.h"

#include <errno.h>
#include <limits.h>

#include "base/atomic.h"
#include "base/futex.h"
#include "pool/idle.h"
#include "pool/pool.h"
#include "pool/spawn.h"
#include "thread/thread.h"
#include "pool/vacancy.h"
#include "pool/worker.h"

/* In pool->calls: the pool has ended. */
#define CALLS_END 0x80000000U

static __thread struct baton__mate *current __attribute__((tls_model("initial-exec")));

struct baton__mate *baton__mate_current(void)
{
	return current;
}

static uint32_t field(const struct baton_pool *pool, uint64_t unit)
{
	return baton__staff(load_seq_cst(&pool->staff), unit);
}

bool baton__pool_may_end(const struct baton_pool *pool)
{
	/* [crew.away] seq_cst: pairs with [crew.away] in come_home. [pool.last] seq_cst: pairs with
	 * set_state. */
	return load_seq_cst(&pool->state) & BATON__POOL_SHUTDOWN &&
	       field(pool, BATON__STAFF_AWAY) == 0;
}

/* Was that `staff`, with one more away than there are now, and does somebody wait for it? */
static void come_home(struct baton_pool *pool, uint64_t before)
{
	/* [crew.away] seq_cst: after the caller's change of `staff` */
	if (baton__staff(before, BATON__STAFF_AWAY) == 1 &&
	    load_seq_cst(&pool->state) & BATON__POOL_SHUTDOWN)
		(void)baton__idle_notify(&pool->idle);
}

static bool take(struct baton__mate *mate, struct baton__worker *worker)
{
	uint32_t nobody = 0;

	/* [crew.place] acquire: the queues, as the last holder left them; pairs with [crew.place]
	 * in blocks.
	 * [crew.coming] seq_cst: the first look */
	return cas_seq_cst(&worker->holder, &nobody, mate->index + 1);
}

/* Takes a place that has been vacant for long enough. */
static struct baton__worker *take_any(struct baton__mate *mate)
{
	struct baton_pool *pool = mate->pool;
	uint64_t now_ns = baton__now_ns();

	for (size_t i = 0; i < pool->worker_count; i++) {
		struct baton__worker *worker = &pool->workers[i];

		/* [crew.coming] seq_cst: the first look */
		if (!load_seq_cst(&worker->holder) && baton__vacancy_lasts(worker, now_ns) &&
		    take(mate, worker))
			return worker;
	}
	return NULL;
}

static bool any_vacant(const struct baton_pool *pool)
{
	for (size_t i = 0; i < pool->worker_count; i++)
		/* [crew.coming] seq_cst: the second look */
		if (!load_seq_cst(&pool->workers[i].holder))
			return true;
	return false;
}

/* ---- Calling ---- */

/* Counts one more thread, if there may be one. */
static bool reserve_thread(struct baton_pool *pool)
{
	/* [crew.coming] seq_cst, and an RMW, which finds no old value: after our look who rests.
	 * Who retires rests no more, is counted no more, then looks for work. */
	uint32_t threads = add_seq_cst(&pool->threads, 0);

	/* Ends: each failure is another thread that begins or ends. */
	do
		if (threads >= pool->threads_max)
			return false;
	while (!cas_seq_cst(&pool->threads, &threads, threads + 1));
	return true;
}

static void unreserve_thread(struct baton_pool *pool)
{
	(void)sub_seq_cst(&pool->threads, 1); /* [crew.coming] as in reserve_thread */
}

static void post_call(struct baton_pool *pool)
{
	/* [crew.call] release: what was done before the call; pairs with [crew.call] in rest */
	(void)add_seq_cst(&pool->calls, 1);
	baton__futex_wake(&pool->calls, 1);
}

enum called { CALLED, NEEDLESS, MISSING };

/*
 * Calls a spare that rests, or starts a spare if `reserved`, which is then used up. CALLED: a spare
 * is coming for each vacant place.
 */
static enum called call(struct baton_pool *pool, bool *reserved)
{
	/* [crew.coming] seq_cst: after the caller's publication of work, or the place */
	uint64_t staff = load_seq_cst(&pool->staff);
	uint64_t next;
	bool resting;

	/* Lock-free: a CAS fails only because another thread's has succeeded. */
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

/* A spare that was COMING does not: those that relied on it must know. */
void baton__crew_missing(struct baton_pool *pool)
{
	bool reserved = false;

	baton__crew_add(&pool->crew_counts.failed);
	unreserve_thread(pool);
	/* crew.spare: before we look who rests */
	(void)sub_seq_cst(&pool->staff, BATON__STAFF_COMING);
	if (call(pool, &reserved) == MISSING)
		baton__thread_nudge_all();
}

static enum called call_spare(struct baton_pool *pool)
{
	/* Ends: we have had to give a reserved thread back because others called, or came. */
	for (;;) {
		bool reserved = false;
		enum called called = call(pool, &reserved);

		if (called != MISSING)
			return called;
		if (!reserve_thread(pool)) {
			baton__crew_add(&pool->crew_counts.refused);
			return MISSING;
		}
		reserved = true;
		called = call(pool, &reserved);
		if (!reserved) {
			if (called == MISSING)
				baton__crew_missing(pool);
			return called;
		}
		/* Others may have found no room beside it: crew.spare, we look again. */
		unreserve_thread(pool);
	}
}

int baton__crew_call(struct baton_pool *pool, bool busy)
{
	if (busy && call_spare(pool) == CALLED)
		return 0;
	/* [pool.vacant] seq_cst: as in baton__pool_notify */
	if (field(pool, BATON__STAFF_VACANT) >= pool->worker_count)
		baton__thread_nudge_all();
	return busy;
}

bool baton__crew_stuck(struct baton_executor *executor)
{
	struct baton_pool *pool = (struct baton_pool *)executor; /* its first member */

	/* [pool.vacant] seq_cst: as in baton__pool_notify */
	return field(pool, BATON__STAFF_VACANT) >= pool->worker_count &&
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
	/* [crew.place] release: the queues; pairs with [crew.place] in take. [crew.coming],
	 * [pool.vacant] seq_cst: before the look for work */
	store_seq_cst(&worker->holder, 0);
	if (baton__pool_has_work(pool))
		(void)baton__pool_notify(pool);
}

void baton__crew_unblocks(struct baton__mate *mate)
{
	struct baton__worker *worker = mate->left;

	BATON_ASSERT(mate->blocked > 0);
	if (--mate->blocked || !worker || !take(mate, worker))
		return;
	if (!mate->lasts)
		baton__vacancy_short(mate->pool);
	/* A spare that is coming for it finds none. */
	(void)sub_seq_cst(&mate->pool->staff, BATON__STAFF_VACANT + BATON__STAFF_AWAY);
	worker->running = mate->running;
	baton__worker_become(worker);
}

/* ---- Spares ---- */

/* crew.spare: who relied on us, or found no room beside us? */
static void look_again(struct baton_pool *pool)
{
	if (any_vacant(pool) && baton__pool_has_work(pool))
		(void)baton__pool_notify(pool);
}

/* Takes this mate, which rests, out of RESTING: true; false: there is a call for it. */
static bool stop_resting(struct baton_pool *pool)
{
	uint64_t staff = load_relaxed(&pool->staff); /* validated by the CAS */

	/* Lock-free: a CAS fails only because another thread's has succeeded. */
	do
		if (!baton__staff(staff, BATON__STAFF_RESTING))
			return false;
	while (!cas_seq_cst(&pool->staff, &staff, staff - BATON__STAFF_RESTING));
	return true;
}

/*
 * The calling thread ends. Who is still to be joined is joined by the next one that retires, or by
 * destroy: so of those that are not counted any more at most one has a mate's place.
 */
static void retire(struct baton__mate *mate)
{
	struct baton_pool *pool = mate->pool;
	/* [crew.holder] release: our `thread`; acquire: that of the one before us */
	uint32_t before = swap_acq_rel(&pool->retired, mate->index + 1);

	if (before)
		baton__join_mate(&pool->mates[before - 1]);
	baton__crew_add(&pool->crew_counts.retired);
}

/* Sleeps until there is a call: true; false: it has retired, or the pool has ended. */
static bool rest(struct baton__mate *mate)
{
	struct baton_pool *pool = mate->pool;
	struct timespec until =
		baton__timespec(baton__time_after(baton__now_ns(), pool->spare_keep_ns));
	const struct timespec *deadline = &until;
	struct baton__futex_watch watch = {.word = &pool->calls};

	/* Ended by a call, the end of the pool, or the deadline. */
	for (;;) {
		uint32_t calls = load_acquire(&pool->calls);

		watch.value = calls;
		if (calls & ~CALLS_END) {
			/* [crew.call] acquire: what was done before the call; pairs with
			 * [crew.call] in post_call */
			if (cas_acquire(&pool->calls, &calls, calls - 1))
				return true;
			continue;
		}
		/* crew.calls: if we cannot stop, a call is on its way. */
		if (calls & CALLS_END && stop_resting(pool))
			return false;
		if (baton__futex_wait(&watch, 1, deadline) != -ETIMEDOUT)
			continue;
		deadline = NULL;
		if (stop_resting(pool)) {
			retire(mate);
			return false;
		}
	}
}

/* A place; NULL: the pool has ended, or this mate has retired. `as`: what it is counted as. */
static struct baton__worker *find_place(struct baton__mate *mate, uint64_t as)
{
	struct baton_pool *pool = mate->pool;
	struct baton__watch watch = {0};

	/* Ended by places, retirement, or the end of the pool. */
	for (;;) {
		struct baton__worker *worker = take_any(mate);
		uint64_t staff;

		if (worker) {
			(void)sub_seq_cst(&pool->staff, BATON__STAFF_VACANT + as);
			(void)baton__pin(worker); /* elsewhere it works as well */
			return worker;
		}
		if (as == BATON__STAFF_COMING && baton__vacancy_watch(pool, &watch))
			continue;
		/* [crew.coming], [crew.away] seq_cst: we do not come any more, are not away any
		 * more; then we look again */
		staff = add_seq_cst(&pool->staff, BATON__STAFF_RESTING - as);
		if (as == BATON__STAFF_AWAY)
			come_home(pool, staff);
		look_again(pool);
		if (!rest(mate))
			return NULL;
		as = BATON__STAFF_COMING;
		watch = (struct baton__watch){0};
	}
}

void baton__crew_serve(struct baton__mate *mate)
{
	struct baton__worker *worker = mate->first;

	current = mate;
	if (!worker)
		worker = find_place(mate, BATON__STAFF_COMING);
	while (worker && !baton__worker_loop(worker))
		worker = find_place(mate, BATON__STAFF_AWAY);
	current = NULL;
	unreserve_thread(mate->pool);
	look_again(mate->pool);
}

void baton__crew_wake_all(struct baton_pool *pool)
{
	/* [crew.call] release: pairs with [crew.call] in rest; for good */
	(void)or_seq_cst(&pool->calls, CALLS_END);
	baton__futex_wake(&pool->calls, INT_MAX);
	baton__futex_wake(&pool->state, INT_MAX); /* who watches */
}
