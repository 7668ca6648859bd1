/* SPDX-License-Identifier: MIT */
/*
 * The worker's loop: its own queues, the injection queue, the other workers' queues; then
 * it looks around for a while, then it sleeps.
 *
 * Invariants:
 * worker.looks: Whoever puts jobs where others can take them looks for sleepers afterwards
 *    (idle.no_work_overlooked in idle.c): one who submits, a worker that has moved jobs into its
 *    own queue, the last to end its search. The one exception: see baton__worker_schedule.
 * worker.leaves: A worker leaves its loop only with its own queues empty, and only it fills them;
 *    or within a job, and then it stays what it is, for the next thread to go on with (crew.c).
 * worker.has_nothing: A worker that sleeps in the idle set has nothing: not in its queues, not in
 *    its hands.
 */
#include "pool/worker.h"

#include "base/atomic.h"
#include "core/executor.h"
#include "base/futex.h"
#include "pool/idle.h"
#include "queue/injection.h"
#include "pool/pool.h"
#include "thread/thread.h"

/* Jobs from the LIFO slot in a row, as tokio. */
#define LIFO_MAX 3
#ifndef BATON_WORKER_SHARE_MIN /* tests make these small */
/* After at most so many jobs the injection queue comes first, as in tokio and Go; see tune. */
#define BATON_WORKER_INJECTION_TICK 61
/* Jobs fetched from the injection queue at a time. */
#define BATON_WORKER_SHARE_MIN 4
/* Others' LIFO slots are left alone for the first looks: their owners, whose caches are warm,
 * mostly come to them in that time. */
#define BATON_WORKER_LOOKS_BEFORE_LIFO 8
/* The shortest time between two evenings-out of the run queues. */
#define BATON_WORKER_EVEN_NS 20000
#endif
#define SHARE_MAX 64
/* How long a job from outside waits for a worker that has jobs of its own, about. */
#define INJECTION_NS 10000
#define LOOK_PAUSES 256
/* Queues whose lengths differ by less than this part are left alone. */
#define EVEN_PART 4

_Static_assert(BATON_RUNQUEUE_SLOTS >= 2 * BATON_WORKER_SHARE_MIN, "a share goes into a run queue");

static __thread struct baton__worker *current __attribute__((tls_model("initial-exec")));

/* Takes the job in the worker's LIFO slot; any thread. */
static struct baton_job *take_lifo(struct baton__worker *worker)
{
	/* [idle.work] seq_cst: who takes may be about to sleep, and has said so before.
	 * The swap decides. */
	if (!load_seq_cst(&worker->lifo))
		return NULL;
	/* [worker.lifo] acquire: the job; pairs with [worker.lifo] in schedule. */
	return swap_acquire(&worker->lifo, NULL);
}

/* Puts a job last in the own run queue; if full, half goes to the injection queue. For
 * worker.looks. */
static void push_back(struct baton__worker *worker, struct baton_job *job)
{
	struct baton__joblist list = BATON__JOBLIST_INIT;

	if (BATON_LIKELY(baton__runqueue_push(&worker->queue, job)))
		return;
	baton__runqueue_overflow(&worker->queue, &list);
	baton__joblist_append(&list, job);
	/* Closed, by shutdown_now: this worker runs them itself before it ends. */
	if (baton__injection_push_list(&worker->pool->injection, &list))
		baton__joblist_join(&worker->kept, &list);
}

/* There is work, and this worker is about to enter a job: wakes another, or, if all are in jobs,
 * those who sleep in waits and may help. */
static void announce(struct baton_pool *pool)
{
	if (baton__pool_notify(pool))
		baton__thread_nudge_all();
}

/*
 * Has got a job from elsewhere, and maybe put more into its own run queue (`more`). worker.looks:
 * others who searched while those were on their way have not seen them.
 */
static void got_work(struct baton__worker *worker, bool more)
{
	struct baton_pool *pool = worker->pool;

	if (worker->searching) {
		worker->searching = false;
		more = baton__idle_stop_searching(&pool->idle) && baton__pool_has_work(pool);
	}
	if (more)
		announce(pool);
}

/* Takes about `share` jobs from the injection queue: returns one, the others go last in its own. */
static struct baton_job *fetch(struct baton__worker *worker, size_t share)
{
	struct baton__joblist list = BATON__JOBLIST_INIT;
	struct baton_job *first;
	bool more;

	baton__injection_fetch(&worker->pool->injection, share, &list);
	first = baton__joblist_pop(&list);
	if (!first)
		return NULL;
	baton__worker_count(&worker->counts.injection_batches, 1);
	/* Also what the fetch itself has moved within the queue, which another may have missed. */
	more = list.count || !baton__injection_is_empty(&worker->pool->injection);
	/* Bounded by what was fetched. */
	while (list.count)
		push_back(worker, baton__joblist_pop(&list));
	got_work(worker, more);
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

/* xorshift64: whom to steal from first. */
static uint64_t next_random(struct baton__worker *worker)
{
	worker->random ^= worker->random << 13;
	worker->random ^= worker->random >> 7;
	worker->random ^= worker->random << 17;
	return worker->random;
}

/* Tries all other workers once, beginning anywhere. The worker's own queue is empty. */
static struct baton_job *steal(struct baton__worker *worker, bool lifo_too)
{
	struct baton_pool *pool = worker->pool;
	size_t start = (size_t)(next_random(worker) % pool->worker_count);

	for (size_t i = 0; i < pool->worker_count; i++) {
		struct baton__worker *victim = &pool->workers[(start + i) % pool->worker_count];
		struct baton_job *job;
		size_t stolen;

		if (victim == worker)
			continue;
		job = baton__runqueue_steal(&victim->queue, &worker->queue, &stolen);
		if (!job && lifo_too) {
			job = take_lifo(victim);
			stolen = 1;
		}
		if (job) {
			baton__worker_count(&worker->counts.stolen, stolen);
			got_work(worker, stolen > 1);
			return job;
		}
	}
	return NULL;
}

/*
 * Evens out the run queues of this worker and of any other worker. Thieves do that only when they
 * are idle: while no worker is, a worker's single job runs as often as all the jobs of another
 * worker together. A clearly longer queue gives half of the difference.
 */
static void even_out(struct baton__worker *worker)
{
	struct baton_pool *pool = worker->pool;
	struct baton__worker *other = &pool->workers[next_random(worker) % pool->worker_count];
	size_t own = baton__runqueue_length(&worker->queue);
	/* The other worker is in a job; this one has put its last job back. */
	size_t others = baton__runqueue_length(&other->queue) + 1;
	size_t moved = 0;

	worker->evened_ns = worker->tuned_ns;
	if (others <= own + 1 + own / EVEN_PART)
		return;
	for (size_t wanted = (others - own) / 2; moved < wanted; moved++) {
		struct baton_job *job = baton__runqueue_take(&other->queue);

		if (!job)
			break;
		push_back(worker, job);
	}
	baton__worker_count(&worker->counts.stolen, moved);
	/* worker.looks: a worker that looked for jobs while these were on their way has not seen
	 * them. */
	if (moved)
		announce(pool);
}

/* Searching: looks at all queues, again and again, for up to some tens of microseconds. */
static struct baton_job *look_around(struct baton__worker *worker)
{
	uint32_t looks = worker->fresh ? BATON_WORKER_LOOKS : worker->looks;

	for (uint32_t look = 0; look < looks; look++) {
		struct baton_job *job = fetch_share(worker);
		int pauses = look + 1 < looks ? LOOK_PAUSES : 0;
		uint64_t until;

		if (!job)
			job = steal(worker, look >= BATON_WORKER_LOOKS_BEFORE_LIFO);
		if (job || baton__worker_is_ending(worker->pool))
			return job;
		until = baton__now_ns() + BATON__LOOK_NS;
		for (int i = 0; i < pauses && baton__now_ns() < until; i++)
			baton__pause();
	}
	return NULL;
}

/* A job from elsewhere; NULL: the pool has ended. The worker's own queues are empty. */
static struct baton_job *find(struct baton__worker *worker)
{
	struct baton_pool *pool = worker->pool;

	/* Ended by whoever makes a job, or ends the pool. */
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
		job = take_lifo(worker);
	} else {
		worker->lifo_streak = 0;
		job = baton__runqueue_pop(&worker->queue);
		if (job)
			return job;
		job = take_lifo(worker);
	}
	if (!job) {
		worker->lifo_streak = 0;
		return baton__runqueue_pop(&worker->queue);
	}
	worker->lifo_streak++;
	baton__worker_count(&worker->counts.lifo_hits, 1);
	return job;
}

/*
 * How many jobs until the injection queue comes first again: as many as the last ones took
 * INJECTION_NS; at least every second one is the worker's own. The time asleep counts, too: then it
 * is looked at earlier. Source: tokio's self-tuned global queue interval.
 */
static void tune(struct baton__worker *worker)
{
	uint64_t now = baton__now_ns();
	uint64_t took = now - worker->tuned_ns;
	uint64_t jobs = took ? (uint64_t)worker->interval * INJECTION_NS / took : UINT64_MAX;

	if (jobs > BATON_WORKER_INJECTION_TICK)
		jobs = BATON_WORKER_INJECTION_TICK;
	worker->interval = jobs < 2 ? 2 : (uint32_t)jobs;
	worker->to_injection = worker->interval;
	worker->tuned_ns = now;
}

static struct baton_job *next_job(struct baton__worker *worker)
{
	struct baton_job *job = NULL;

	if (--worker->to_injection == 0) {
		tune(worker);
		if (worker->tuned_ns - worker->evened_ns >= BATON_WORKER_EVEN_NS)
			even_out(worker);
		job = fetch(worker, 1);
	}
	if (!job)
		job = next_own(worker);
	if (!job)
		job = find(worker);
	if (BATON_UNLIKELY(worker->unannounced)) { /* see schedule */
		worker->unannounced = false;
		if (job && !baton__runqueue_is_empty(&worker->queue))
			announce(worker->pool);
	}
	return job;
}

void baton__worker_init(struct baton__worker *worker, struct baton_pool *pool, size_t index)
{
	*worker = (struct baton__worker){
		.pool = pool,
		.index = (uint32_t)index,
		.random = UINT64_C(0x9E3779B97F4A7C15) * (index + 1),
		.to_injection = BATON_WORKER_INJECTION_TICK,
		.interval = BATON_WORKER_INJECTION_TICK,
		.looks = BATON_WORKER_LOOKS,
	};
	baton__runqueue_init(&worker->queue);
}

bool baton__worker_loop(struct baton__worker *worker)
{
	struct baton_job *job;

	current = worker;
	worker->tuned_ns = baton__now_ns();
	/* Ended by shutdown or shutdown_now, see find. */
	while ((job = next_job(worker))) {
		/* A plain job's memory may be reused while it runs. */
		worker->running = baton__job_is_resource(job) ? job : NULL;
		/* Before it runs: who sees the job done sees it counted. */
		baton__worker_count(&worker->counts.executed, 1);
		worker->fresh = false;
		baton_job_run(job);
		if (BATON_UNLIKELY(baton__self->blocking) && !baton__forked())
			BATON_MISUSE("baton_blocking_begin",
			             "a task has returned within the bracket: baton_blocking_end "
			             "before");
		if (BATON_UNLIKELY(current != worker))
			return false;
		worker->running = NULL;
	}
	current = NULL;
	return true;
}

void baton__worker_become(struct baton__worker *worker)
{
	current = worker;
}

struct baton__worker *baton__worker_current(void)
{
	return current;
}

int baton__worker_schedule(struct baton__worker *worker, struct baton_job *job)
{
	if (job == worker->running && job == baton__self->leaving) {
		/* A resource whose quantum is over: behind the others. Its runner is on its way
		 * back to our loop, where it is taken next if it is alone: nobody need be woken for
		 * it. If something comes in between, next_job and worker_blocks announce it. */
		push_back(worker, job);
		if (baton__runqueue_length(&worker->queue) == 1 && !load_relaxed(&worker->lifo)) {
			worker->unannounced = true;
			return 0;
		}
	} else {
		/* [worker.lifo] release: the job; pairs with [worker.lifo] in take_lifo.
		 * [idle.work] seq_cst: before the look for sleepers. */
		job = swap_seq_cst(&worker->lifo, job);
		if (job)
			push_back(worker, job);
	}
	return baton__pool_notify(worker->pool);
}

void baton__worker_put_back(struct baton__worker *worker, struct baton_job *job)
{
	push_back(worker, job);
}

void baton__worker_blocks(struct baton__worker *worker)
{
	if (worker->unannounced) {
		worker->unannounced = false;
		announce(worker->pool);
	}
}

void baton__worker_collect(struct baton__worker *worker, struct baton__joblist *list)
{
	struct baton_job *job;

	/* Ends: the pool is stopped, so little is put there any more. */
	while ((job = baton__runqueue_take(&worker->queue)))
		baton__joblist_append(list, job);
	job = take_lifo(worker);
	if (job)
		baton__joblist_append(list, job);
}

bool baton__worker_has_work(const struct baton__worker *worker)
{
	/* [idle.work] seq_cst: pairs with schedule. */
	return load_seq_cst(&worker->lifo) || !baton__runqueue_is_empty(&worker->queue);
}
