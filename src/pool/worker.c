/* SPDX-License-Identifier: MIT */
/*
 * The worker's loop. A worker takes jobs from its own queues, then from the injection queue, then
 * from the queues of other workers. A worker that finds no job looks around for a while, then
 * sleeps.
 *
 * Invariants:
 * worker.looks: A thread that puts jobs where other threads can take them looks for sleepers
 *    afterwards (idle.no_work_overlooked, idle.c): a submitter, a worker that has moved jobs into
 *    its own queue, the last worker that stops searching. The one exception is in put_behind.
 * worker.leaves: A worker leaves its loop only when its own queues are empty; no other thread fills
 *    them. Exception: a thread that blocks inside a job leaves the queues with the place, for the
 *    next holder of the place (crew.c).
 * worker.has_nothing: A worker that sleeps in the idle set holds no job, and its queues are empty.
 * worker.moves: Jobs go back to the injection queue only when the worker's run queue is full
 *    (push_over). Fetched jobs fill at most half of the run queue. So for each job that goes back,
 *    the worker has queued a job of its own. Jobs from outside do not go round and round.
 */
#include "pool/worker.h"

#include "base/atomic.h"
#include "base/probe.h"
#include "base/futex.h"
#include "thread/thread.h"
#include "thread/trace.h"
#include "queue/injection.h"
#include "core/executor.h"
#include "wait/yield.h"
#include "pool/alarm.h"
#include "pool/awake.h"
#include "pool/idle.h"
#include "pool/order.h"
#include "pool/policy.h"
#include "pool/pool.h"
#include "pool/slot.h"

/* At most so many jobs in a row come from the LIFO slot, as in tokio. */
#define LIFO_MAX 3
#ifndef BATON_WORKER_SHARE_MIN /* tests make these small */
/* At least so many jobs are fetched from the injection queue at a time. */
#define BATON_WORKER_SHARE_MIN 4
/* Thieves leave the LIFO slots alone for their first looks: the owners, whose caches are warm,
 * mostly take these jobs within that time. */
#define BATON_WORKER_LOOKS_BEFORE_LIFO 8
/* The shortest time between two calls of even_out. */
#define BATON_WORKER_EVEN_NS 20000
#endif
#define SHARE_MAX 64
#define LOOK_PAUSES 256

_Static_assert(BATON_RUNQUEUE_SLOTS >= 2 * BATON_WORKER_SHARE_MIN, "a share goes into a run queue");

static __thread struct baton__worker *current_worker __attribute__((tls_model("initial-exec")));

/* The queue is full: its older half and the job go to the injection queue. */
static BATON_NOINLINE void push_over(struct baton__worker *worker, struct baton__runqueue *queue,
                                     struct baton_job *job)
{
	struct baton__joblist list = BATON__JOBLIST_INIT;

	baton__runqueue_overflow(queue, &list);
	baton__joblist_append(&list, job);
	/* shutdown_now has closed the queue: this worker runs the jobs before it ends. */
	if (baton__injection_push_list(&worker->pool->injection, &list))
		baton__joblist_join(&worker->kept, &list);
}

void baton__worker_put_back(struct baton__worker *worker, struct baton_job *job)
{
	struct baton__runqueue *queue = baton__order_queue(&worker->order, job);

	if (BATON_UNLIKELY(queue == worker->order.hot))
		baton__count(&worker->counts.hot, 1);
	if (BATON_UNLIKELY(!baton__runqueue_push(queue, job)))
		push_over(worker, queue, job);
}

void baton__worker_announce(struct baton_pool *pool)
{
	if (baton__pool_notify(pool))
		baton__thread_nudge_all();
	baton__pool_sentry(pool);
}

void baton__worker_got_work(struct baton__worker *worker, bool more)
{
	struct baton_pool *pool = worker->pool;

	if (worker->searching) {
		worker->searching = false;
		more = baton__idle_stop_searching(&pool->idle) && baton__pool_has_work(pool);
	}
	if (more)
		baton__worker_announce(pool);
}

/*
 * Takes the oldest job that this worker has fetched. If there is none, fetches about `share` jobs
 * from the injection queue. The other jobs fill the run queue up to its half; the rest stays in
 * `fetched`, for this worker and for thieves.
 */
static struct baton_job *fetch(struct baton__worker *worker, size_t share)
{
	struct baton_job *first = baton__slot_take(&worker->fetched);
	struct baton_job *rest;
	bool more = false;

	if (BATON_LIKELY(!first)) {
		struct baton__joblist list = BATON__JOBLIST_INIT;

		baton__injection_fetch(&worker->pool->injection, share, &list);
		first = list.first;
		if (!first)
			return NULL;
		baton__count(&worker->counts.injection_batches, 1);
		/* The fetch may also have moved jobs within the queue, which other workers have
		 * missed. */
		more = !baton__injection_is_empty(&worker->pool->injection);
	}
	rest = first->_next;
	more = more || rest;
	/* worker.moves. Bounded by the size of the run queue. */
	while (rest && baton__order_length(&worker->order) < BATON_RUNQUEUE_SLOTS / 2) {
		struct baton_job *job = rest;

		rest = job->_next;
		baton__worker_put_back(worker, job);
	}
	/* [worker.slot] release: the jobs; pairs with [worker.slot] in slot.h. [idle.work] seq_cst:
	 * before the look for sleepers. */
	if (BATON_UNLIKELY(rest != NULL))
		store_seq_cst(&worker->fetched, rest);
	baton__worker_got_work(worker, more);
	return first;
}

static struct baton_job *fetch_share(struct baton__worker *worker)
{
	struct baton_pool *pool = worker->pool;
	size_t share = baton__injection_length(&pool->injection) / pool->worker_count + 1;

	if (share < BATON_WORKER_SHARE_MIN)
		share = BATON_WORKER_SHARE_MIN;
	return fetch(worker, share < SHARE_MAX ? share : SHARE_MAX);
}

/* Takes the job of the wheel of timers, if its deadline has passed. `now_ns`: as for
 * baton__alarm_take. */
static struct baton_job *take_alarm(struct baton__worker *worker, uint64_t now_ns)
{
	struct baton_job *job = baton__alarm_take(worker->pool->alarm, now_ns);

	if (BATON_UNLIKELY(job != NULL)) {
		baton__worker_got_work(worker, false);
		/* The job sets the next deadline. If this worker then finds no other job, it claims
		 * this deadline; otherwise it announces this deadline. */
		worker->unannounced = BATON__WHEEL_UNANNOUNCED;
	}
	return job;
}

/* Searching: looks at all queues, again and again, for up to some tens of microseconds. Yields
 * between the looks: the thread with the next job may want this CPU. */
static struct baton_job *look_around(struct baton__worker *worker)
{
	uint32_t looks = worker->fresh ? BATON_WORKER_LOOKS : worker->looks;
	struct baton__yields yields;
	bool may_yield = baton__yields_begin(&yields);

	for (uint32_t look = 0; look < looks; look++) {
		struct baton_job *job = fetch_share(worker);
		int pauses = look + 1 < looks ? LOOK_PAUSES : 0;
		uint64_t until;

		if (!job)
			job = baton__worker_steal(worker, look >= BATON_WORKER_LOOKS_BEFORE_LIFO);
		if (!job)
			job = take_alarm(worker, 0);
		if (job || baton__worker_is_ending(worker->pool))
			return job;
		until = baton__now_ns() + BATON__LOOK_NS;
		for (int i = 0; i < pauses && baton__now_ns() < until; i++)
			baton__pause();
		may_yield = may_yield && pauses && baton__yield(&yields);
	}
	return NULL;
}

/* Waits for a job from elsewhere. NULL: the pool has ended. The worker's own queues are empty. */
static struct baton_job *find(struct baton__worker *worker)
{
	struct baton_pool *pool = worker->pool;

	/* Ended by a thread that publishes a job, or ends the pool. */
	while (!baton__worker_is_ending(pool)) {
		struct baton_job *job = fetch_share(worker);

		if (job)
			return job;
		if (!worker->searching)
			worker->searching = baton__idle_try_search(&pool->idle);
		if (worker->searching)
			job = look_around(worker);
		if (job)
			return job;
		baton__worker_park(worker);
	}
	return NULL;
}

static struct baton_job *next_own(struct baton__worker *worker)
{
	struct baton_job *job = baton__joblist_pop(&worker->kept);

	if (BATON_UNLIKELY(job != NULL))
		return job;
	if (worker->lifo_streak < LIFO_MAX) {
		job = baton__slot_take(&worker->lifo);
	} else {
		worker->lifo_streak = 0;
		job = baton__order_pop(&worker->order);
		if (job)
			return job;
		job = baton__slot_take(&worker->lifo);
	}
	if (!job) {
		worker->lifo_streak = 0;
		job = baton__order_pop(&worker->order);
		/* Relaxed: fetch looks again. */
		if (!job && BATON_UNLIKELY(load_relaxed(&worker->fetched)))
			job = fetch(worker, 0);
		return job;
	}
	worker->lifo_streak++;
	baton__count(&worker->counts.lifo_hits, 1);
	return job;
}

/*
 * Sets the number of jobs until the next look at the injection queue, by the time that the last
 * jobs took. Time asleep counts, too, and makes the number smaller. The number begins with its
 * minimum, and at most doubles: a worker that knows nothing of its jobs yet measures its first two.
 */
static void tune(struct baton__worker *worker)
{
	const struct baton_pool_policy *policy = &worker->pool->policy;
	uint64_t now = baton__now_ns();
	uint64_t last = baton__policy_per_job(now - worker->tuned_ns, worker->interval);
	uint32_t most = 2 * (worker->interval + 1); /* + 1: see look_again_soon */
	uint32_t interval;

	worker->mean = baton__policy_mean(policy, worker->mean, last);
	interval = baton__policy_interval(policy, worker->mean);
	worker->interval = interval < most ? interval : most;
	worker->to_injection = worker->interval;
	store_relaxed(&worker->counts.interval, worker->interval); /* for readers */
	worker->tuned_ns = now;
}

/*
 * The worker has looked at the injection queue, and found nothing there. If the jobs are so long
 * that the policy demands a look after each second job, the worker looks again after its next job.
 * Of each two jobs one is still the worker's own, and a job from outside waits for half as long.
 */
static void look_again_soon(struct baton__worker *worker)
{
	if (worker->interval == BATON__POLICY_JOBS_MIN)
		worker->interval = worker->to_injection = 1;
}

static struct baton_job *next_job(struct baton__worker *worker)
{
	struct baton_job *job = NULL;

	if (--worker->to_injection == 0) {
		tune(worker);
		if (worker->tuned_ns - worker->evened_ns >= BATON_WORKER_EVEN_NS)
			baton__worker_even_out(worker);
		job = take_alarm(worker, worker->tuned_ns);
		if (!job)
			job = fetch(worker, 1);
		if (!job)
			look_again_soon(worker);
	}
	if (!job)
		job = next_own(worker);
	if (!job)
		job = find(worker);
	if (BATON_UNLIKELY(worker->unannounced)) { /* see put_behind */
		worker->unannounced = worker->unannounced == BATON__WHEEL_UNANNOUNCED
		                              ? BATON__WORK_UNANNOUNCED
		                              : BATON__NOTHING_UNANNOUNCED;
		if (job && (!baton__order_is_empty(&worker->order) ||
		            baton__alarm_is_open(worker->pool->alarm)))
			baton__worker_announce(worker->pool);
	}
	return job;
}

void baton__worker_init(struct baton__worker *worker, struct baton_pool *pool, size_t index,
                        struct baton__runqueue *hot)
{
	*worker = (struct baton__worker){
		.pool = pool,
		.index = (uint32_t)index,
		.random = UINT64_C(0x9E3779B97F4A7C15) * (index + 1),
		.to_injection = baton__policy_interval(&pool->policy, UINT64_MAX),
		.interval = baton__policy_interval(&pool->policy, UINT64_MAX),
		.looks = BATON_WORKER_LOOKS,
		.order = {.policy = &pool->policy, .hot = hot},
	};
	baton__runqueue_init(&worker->order.queue);
	if (hot)
		baton__runqueue_init(hot);
}

bool baton__worker_loop(struct baton__worker *worker)
{
	struct baton_job *job;

	current_worker = worker;
	worker->tuned_ns = baton__now_ns();
	baton__awake_begin(&worker->counts.awake, worker->tuned_ns);
	/* Ended by shutdown or shutdown_now: see find. */
	while ((job = next_job(worker))) {
		/* `running` is no plain job: the memory of a plain job may be reused while the job
		 * runs. */
		worker->running = baton__job_is_resource(job) ? job : NULL;
		if (!worker->running && BATON_UNLIKELY(worker->pool->waiting_max))
			baton__room_leave(worker->pool);
		worker->entered = job;
		/* Before the run: a thread that sees the job done sees it counted. */
		baton__count(&worker->counts.executed, 1);
		worker->fresh = false;
		baton_job_run(job);
		if (BATON_UNLIKELY(baton__self->blocking) && !baton__forked())
			BATON_MISUSE("baton_blocking_begin",
			             "a task has returned within the bracket: baton_blocking_end "
			             "before");
		if (BATON_UNLIKELY(current_worker != worker))
			return false;
		worker->running = NULL;
	}
	baton__awake_end(&worker->counts.awake, baton__now_ns());
	current_worker = NULL;
	return true;
}

void baton__worker_become(struct baton__worker *worker)
{
	current_worker = worker;
}

struct baton__worker *baton__worker_current(void)
{
	return current_worker;
}

/*
 * YIELDS: does the job come back? A job comes back if it is that of a resource whose quantum is
 * over (`leaves`), or the plain job that runs. Counts the return. (The running job may have been
 * freed. A new plain job at its address is taken for it: the count of the new job is then 1.)
 */
static BATON_NOINLINE bool came_back(const struct baton__worker *worker, struct baton_job *job,
                                     bool leaves)
{
	if (leaves || (job == worker->entered && !worker->running)) {
		baton__returns_count(job);
		return true;
	}
	baton__returns_reset(job);
	return false;
}

/* The job comes back, and goes behind the other jobs of the worker. Returns as schedule. */
static BATON_NOINLINE int put_behind(struct baton__worker *worker, struct baton_job *job,
                                     bool leaves)
{
	baton__worker_put_back(worker, job);
	/* The runner of a resource whose quantum is over returns to this worker's loop, and takes
	 * the resource next if it is the only job: no worker need be woken for it. If another job
	 * comes in between, next_job or worker_blocks announces it. */
	if (leaves && baton__order_length(&worker->order) == 1 && !load_relaxed(&worker->lifo)) {
		worker->unannounced = BATON__WORK_UNANNOUNCED;
		return 0;
	}
	return baton__pool_notify(worker->pool);
}

int baton__worker_schedule(struct baton__worker *worker, struct baton_job *job)
{
	if (BATON_UNLIKELY(job == worker->running) || BATON_UNLIKELY(worker->order.hot != NULL)) {
		bool leaves = job == worker->running && job == baton__self->leaving;

		if (worker->order.hot ? came_back(worker, job, leaves) : leaves)
			return put_behind(worker, job, leaves);
	}
	/* [worker.slot] release: the job; pairs with [worker.slot] in slot.h. [idle.work]
	 * seq_cst: before the look for sleepers. Release is seldom noticed: found in 93,000
	 * executions (pool_steal_lifo_park). */
	job = swap_seq_cst(&worker->lifo, job);
	if (job)
		baton__worker_put_back(worker, job);
	return baton__pool_notify(worker->pool);
}

void baton__worker_blocks(struct baton__worker *worker)
{
	if (worker->unannounced) {
		worker->unannounced = BATON__NOTHING_UNANNOUNCED;
		baton__worker_announce(worker->pool);
	}
}

void baton__worker_collect(struct baton__worker *worker, struct baton__joblist *list)
{
	struct baton_job *job;
	struct baton_job *next;

	/* Ends: once the pool is stopped, the worker queues few jobs. */
	while ((job = baton__order_take(&worker->order)))
		baton__joblist_append(list, job);
	for (job = baton__slot_take(&worker->fetched); job; job = next) {
		next = job->_next;
		baton__joblist_append(list, job);
	}
	job = baton__slot_take(&worker->lifo);
	if (job)
		baton__joblist_append(list, job);
}

bool baton__worker_has_work(const struct baton__worker *worker)
{
	/* [idle.work] seq_cst: pairs with [idle.work] in baton__worker_schedule. Relaxed is seldom
	 * noticed: as in schedule. */
	return load_seq_cst(&worker->lifo) || load_seq_cst(&worker->fetched) ||
	       !baton__order_is_empty(&worker->order);
}

bool baton__worker_holds_jobs(const struct baton__worker *worker)
{
	/* Relaxed: thieves take jobs meanwhile. */
	return load_relaxed(&worker->lifo) || load_relaxed(&worker->fetched) ||
	       baton__order_length(&worker->order) > 0;
}
