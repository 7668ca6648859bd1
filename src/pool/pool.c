/* SPDX-License-Identifier: MIT */
/*
 * The pool: creation, the executor's operations, shutting down.
 *
 * Invariants:
 * pool.create: baton_pool_create returns after every thread has said how it started.
 * pool.stuck: If the threads of all workers sleep inside jobs, and there is a job, then a spare is
 *    coming (crew.c, crew.spare), or the sleeping threads have been nudged since and look whether
 *    they can help. A thread that leaves a worker's place vacant looks for jobs afterwards. A
 *    thread that publishes a job looks for vacant places afterwards. Both are seq_cst
 *    ([pool.vacant]): one of the two sees the other.
 * pool.taken: A job that schedule has taken is either run by a worker, or put into the list of
 *    shutdown_now, or withdrawn, exactly once.
 * pool.outside: A thread from outside says that it is inside (thread.h, thread.touch) during a call
 *    of the pool. Before that thread has looked for sleepers, its job may have run, and another
 *    thread may destroy the pool: destroy waits for the threads inside.
 * pool.in_hands: The injection queue is not closed while a thread from outside holds jobs that it
 *    will put back there. That thread counts itself in `hands`, then looks at the state. A thread
 *    that closes the queue sets ENDING or STOP, then looks at `hands`. Both are seq_cst
 *    ([pool.hands]): the first touches no queue, or the second waits or gives up.
 */
#include "pool/pool.h"

#include "base/atomic.h"
#include "base/checked.h"
#include "base/futex.h"
#include "base/probe.h"
#include "base/refused.h"
#include "thread/thread.h"
#include "wait/cpus.h"
#include "wait/cycle.h"
#include "pool/order.h"
#include "pool/spawn.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(BATON_POOL_WORKERS_MAX <= BATON__IDLE_WORKERS_MAX, "fields of the idle word");

#define SPARE_KEEP_NS (UINT64_C(10) * 1000000000U)

static struct baton_pool *pool_of(struct baton_executor *executor)
{
	return (struct baton_pool *)executor; /* its first member */
}

/* The mate of this pool that the calling thread is; NULL: none. A mate inside a job may have lost
 * its place, and is then no worker. */
static struct baton__mate *own_mate(const struct baton_pool *pool)
{
	struct baton__mate *mate = baton__mate_current();

	return mate && mate->pool == pool ? mate : NULL;
}

int baton__pool_push(struct baton_pool *pool, struct baton_job *job)
{
	int status;

	BATON_PROBE(schedule, pool, job);
	if (pool->policy.order == BATON_POOL_YIELDS)
		baton__returns_reset(job);
	status = baton__injection_push(&pool->injection, job);
	if (!status)
		status = baton__pool_notify(pool);
	return status;
}

static int schedule_from_outside(struct baton_pool *pool, struct baton_job *job)
{
	int status = baton__thread_attach();

	if (status)
		return status;
	baton__thread_enter(pool);
	status = baton__pool_push(pool, job);
	baton__thread_leave();
	return status;
}

/* The executor's schedule. `refusing`: the states in which the pool refuses the job. */
static int schedule_unless(struct baton_pool *pool, struct baton_job *job, uint32_t refusing)
{
	struct baton__worker *worker;

	if (BATON_UNLIKELY(baton__forked()))
		return -ECHILD;
	/* [pool.state] acquire: pairs with [pool.state] in set_state. A push may just miss a change
	 * of the state. Then the thread that makes the change takes care of the job: shutdown_now
	 * closes the injection queue, and workers run the jobs in their own queues. Relaxed is
	 * enough: the thread that ends the pool finds a push that misses the end. */
	if (load_acquire(&pool->state) & refusing)
		return -ESHUTDOWN;
	worker = baton__pool_worker(pool);
	if (!worker)
		return schedule_from_outside(pool, job);
	return baton__worker_schedule(worker, job);
}

static int schedule_job(struct baton_executor *executor, struct baton_job *job)
{
	return schedule_unless(pool_of(executor), job, BATON__POOL_STOP | BATON__POOL_ENDED);
}

/* The schedule of a pool that counts jobs. A resource's job is never refused for want of room. */
static int schedule_and_count(struct baton_executor *executor, struct baton_job *job)
{
	static const struct baton__when_full full = {BATON__FULL_ACCEPT, BATON_FOREVER};

	return baton__counting_schedule(pool_of(executor), job,
	                                BATON__POOL_STOP | BATON__POOL_ENDED, &full);
}

static int notify_returned(struct baton_executor *executor)
{
	struct baton_pool *pool = pool_of(executor);
	int status = baton__pool_notify(pool);

	baton__pool_sentry(pool);
	return status;
}

static bool withdraw_job(struct baton_executor *executor, struct baton_job *job)
{
	struct baton_pool *pool = pool_of(executor);

	return baton__pool_withdraw(pool, baton__pool_worker(pool), job);
}

static bool recall(struct baton_executor *executor, struct baton_job *job)
{
	struct baton_pool *pool = pool_of(executor);

	return baton__pool_recall(pool, baton__pool_worker(pool), job);
}

static void blocked(struct baton_executor *executor, bool is_blocked)
{
	struct baton__mate *mate = own_mate(pool_of(executor));

	if (!mate)
		return;
	if (is_blocked)
		baton__crew_blocks(mate, !baton__self->blocking);
	else
		baton__crew_unblocks(mate);
}

static bool worker_should_yield(struct baton_executor *executor)
{
	const struct baton_pool *pool = pool_of(executor);
	const struct baton__worker *worker = baton__pool_worker(pool);

	/* A sleeping or searching worker comes for the jobs. */
	return worker && baton__idle_all_busy(&pool->idle) &&
	       (baton__worker_holds_jobs(worker) || baton__injection_length(&pool->injection) > 0);
}

/* A worker's goes into the run queue, not the LIFO slot, from which others steal less soon. */
static int offer_job(struct baton_executor *executor, struct baton_plain_job *job)
{
	struct baton_pool *pool = pool_of(executor);
	struct baton__worker *worker = pool->counts ? NULL : baton__pool_worker(pool);

	/* Relaxed: a worker runs what is in its own queues before it ends, whatever the state. */
	if (!worker || load_relaxed(&pool->state))
		return baton_pool_submit(pool, job);
	baton__worker_put_back(worker, &job->job);
	return baton__pool_notify(pool);
}
static const struct baton_executor_ops operations = {
	.schedule = schedule_job,
	.returned = notify_returned,
	.withdraw = withdraw_job,
	.recall = recall,
	.offer = offer_job,
	.blocked = blocked,
	.alone = baton__crew_stuck,
	.should_yield = worker_should_yield,
};

/* The operations of a pool that counts jobs. Other pools pay nothing for this. */
static const struct baton_executor_ops counting_operations = {
	.schedule = schedule_and_count,
	.returned = notify_returned,
	.withdraw = withdraw_job,
	.recall = recall,
	.offer = offer_job,
	.blocked = blocked,
	.alone = baton__crew_stuck,
	.should_yield = worker_should_yield,
};

bool baton__pool_has_work(const struct baton_pool *pool)
{
	if (!baton__injection_is_empty(&pool->injection))
		return true;
	for (size_t i = 0; i < pool->worker_count; i++)
		if (baton__worker_has_work(&pool->workers[i]))
			return true;
	return baton__alarm_is_open(pool->alarm);
}

int baton__pool_notify(struct baton_pool *pool)
{
	bool busy = !baton__idle_notify(&pool->idle) && baton__idle_all_busy(&pool->idle);

	/* [pool.vacant], [crew.coming] seq_cst: after the job was published, which is seq_cst,
	 * too. Relaxed goes unnoticed: the nudge of the hand-off (nudge_for) and announce find
	 * what this look misses; nobody has shown that they always do. */
	if (BATON_UNLIKELY(baton__staff(load_seq_cst(&pool->staff), BATON__STAFF_VACANT)))
		return baton__crew_call(pool, busy);
	return busy;
}

bool baton__pool_set_state(struct baton_pool *pool, uint32_t bits)
{
	uint32_t state = load_relaxed(&pool->state); /* validated by the CAS */

	/* Lock-free: a CAS fails only because another thread has changed the state. */
	do {
		if ((state & bits) == bits)
			return false;
		/* [pool.state] release: pairs with [pool.state] where the state is read.
		 * [idle.ending], [pool.last] seq_cst: before the look for sleepers. [pool.hands]
		 * seq_cst: before the look at `hands`. */
	} while (!cas_seq_cst(&pool->state, &state, state | bits));
	return true;
}

/* Waits until *word is 0. Ended by the threads that count the word down, or by the deadline. */
static int await_zero(const uint32_t *word, uint64_t deadline_ns)
{
	struct baton__futex_watch watch = {word, 0};

	/* [pool.started], [pool.ended] acquire: what the threads did; pair with [pool.started] in
	 * prepare_mate and [pool.ended] in leave_pool, spawn.c. */
	while ((watch.value = load_acquire(word)) != 0)
		if (baton__futex_wait(&watch, 1, deadline_ns) == -ETIMEDOUT)
			return load_acquire(word) ? -ETIMEDOUT : 0;
	return 0;
}

/* ---- Creation ---- */

static size_t spares_of(const struct baton_pool_options *options)
{
	if (options->spares_max == BATON_POOL_NO_SPARES)
		return 0;
	return options->spares_max ? options->spares_max : BATON_POOL_SPARES;
}

/* Copies the options that concern threads, which may start later. */
static void keep_options(struct baton_pool *pool, const struct baton_pool_options *options)
{
	const char *name = options->name ? options->name : "baton";

	memcpy(pool->name, name, strnlen(name, BATON__POOL_NAME_MAX));
	pool->spare_keep_ns = options->spare_keep_ns ? options->spare_keep_ns : SPARE_KEEP_NS;
	pool->stack_size = options->stack_size;
	if (options->cpus) {
		pool->cpu_count = options->cpu_count;
		memcpy(pool->cpus, options->cpus, options->cpu_count * sizeof(int));
	} else {
		pool->cpus = NULL;
	}
}

/* Allocates one block: the pool, its workers, sleepers, mates, and CPU numbers. */
static struct baton_pool *allocate_pool(const struct baton_pool_options *options, size_t count,
                                        const struct baton_pool_policy *policy)
{
	size_t spares = spares_of(options);
	/* A retired thread keeps its mate until the next thread retires: one more. */
	size_t mates = count + spares + (spares > 0);
	size_t workers_at = sizeof(struct baton_pool);
	size_t hots_at = workers_at + count * sizeof(struct baton__worker);
	size_t hots = policy->order == BATON_POOL_YIELDS ? count : 0;
	size_t sleepers_at = hots_at + hots * sizeof(struct baton__runqueue);
	size_t mates_at = sleepers_at + count * sizeof(struct baton__sleeper);
	size_t cpus_at = mates_at + mates * sizeof(struct baton__mate);
	size_t size = cpus_at + (options->cpus ? options->cpu_count * sizeof(int) : 0);
	char *block;
	struct baton_pool *pool;

	size = (size + BATON_CACHE_LINE - 1) / BATON_CACHE_LINE * BATON_CACHE_LINE;
	block = aligned_alloc(BATON_CACHE_LINE, size);
	if (!block)
		return NULL;
	pool = (struct baton_pool *)(void *)block;
	memset(block, 0, size);
	pool->counts = options->count_accepted || options->waiting_max;
	pool->counts_accepted = options->count_accepted;
	pool->waiting_max = options->waiting_max;
	baton_executor_init(&pool->executor, pool->counts ? &counting_operations : &operations);
	pool->worker_count = count;
	pool->workers = (struct baton__worker *)(void *)(block + workers_at);
	pool->mate_count = mates;
	pool->mates = (struct baton__mate *)(void *)(block + mates_at);
	pool->threads_max = (uint32_t)(count + spares);
	pool->cpus = (int *)(void *)(block + cpus_at);
	keep_options(pool, options);
	store_relaxed(&pool->starting, (uint32_t)count); /* no other thread yet */
	baton__idle_init(&pool->idle, (struct baton__sleeper *)(void *)(block + sleepers_at),
	                 count);
	baton__injection_init(&pool->injection);
	pool->policy = *policy;
	for (size_t i = 0; i < count; i++)
		baton__worker_init(&pool->workers[i], pool, i,
		                   hots ? (struct baton__runqueue *)(void *)(block + hots_at) + i
		                        : NULL);
	return pool;
}

int baton__pool_create(const struct baton_pool_options *options, struct baton__alarm *alarm,
                       struct baton_pool **pool_out)
{
	static const struct baton_pool_options defaults = BATON_POOL_OPTIONS_INIT;
	struct baton_pool_policy policy;
	struct baton_pool *pool;
	size_t count;
	int error = baton__thread_attach();

	if (error)
		return error;
	if (!options)
		options = &defaults;
	error = baton__pool_options_refused(options);
	if (!error)
		error = baton__policy_fill(&policy, options->policy);
	if (error)
		return error;
	count = options->workers ? options->workers : baton__cpus_available("");
	if (count > BATON_POOL_WORKERS_MAX)
		count = BATON_POOL_WORKERS_MAX;
	pool = allocate_pool(options, count, &policy);
	if (!pool)
		return -ENOMEM;
	BATON__CHECKED(made(pool, &pool->executor, "baton_pool_create"));
	pool->alarm = alarm;
	baton__fork_losses_add(1);
	error = baton__spawn(pool);
	if (error)
		goto stop;
	(void)await_zero(&pool->starting, BATON_FOREVER); /* pool.create */
	error = load_relaxed(&pool->start_error);
	if (error)
		goto stop;
	*pool_out = pool;
	return 0;
stop:
	(void)baton__pool_set_state(pool, BATON__POOL_STOP);
	baton__idle_wake_all(&pool->idle);
	(void)await_zero(&pool->live, BATON_FOREVER);
	baton__join(pool);
	baton__fork_losses_add(-1);
	free(pool);
	return error;
}

BATON_EXPORT int baton_pool_create(const struct baton_pool_options *options,
                                   struct baton_pool **pool)
{
	BATON__NEED(pool, "there is no place for the pool");
	return BATON__ANSWER_INVALID(NULL, baton__pool_create(options, NULL, pool));
}

int baton__pool_submit(struct baton_pool *pool, struct baton_plain_job *job,
                       const struct baton__when_full *full)
{
	const uint32_t refusing = BATON__POOL_SHUTDOWN | BATON__POOL_STOP | BATON__POOL_ENDED;
	int status = BATON_UNLIKELY(pool->counts)
	                     ? baton__counting_schedule(pool, &job->job, refusing, full)
	                     : schedule_unless(pool, &job->job, refusing);

	return status < 0 ? status : 0;
}

BATON_EXPORT int baton_pool_submit(struct baton_pool *pool, struct baton_plain_job *job)
{
	BATON__CHECKED(owned(pool, __func__));
	BATON__NEED(job && job->_run,
	            "the job has no function: initialise it by BATON_PLAIN_JOB_INIT");
	static const struct baton__when_full full = {BATON__FULL_REFUSE, BATON_FOREVER};

	return baton__pool_submit(pool, job, &full);
}

/* ---- Shutting down ---- */

static bool begin_shutdown(struct baton_pool *pool)
{
	bool first = baton__pool_set_state(pool, BATON__POOL_SHUTDOWN);

	/* [pool.last] If all workers sleep, one of them must find out that the pool ends. */
	if (first) {
		(void)baton__idle_notify(&pool->idle);
		baton__room_close(pool);
	}
	return first;
}

BATON_EXPORT int baton_pool_shutdown(struct baton_pool *pool)
{
	BATON__CHECKED(owned(pool, __func__));
	bool first;
	int error = baton__thread_attach(); /* pool.outside needs a record */

	if (!error && pool->alarm)
		error = baton__alarm_bar(pool->alarm);
	if (error)
		return error;
	baton__thread_enter(pool);
	first = begin_shutdown(pool);
	baton__thread_leave();
	return first ? 0 : -EALREADY;
}

BATON_EXPORT int baton_pool_shutdown_now(struct baton_pool *pool, struct baton_job **jobs)
{
	BATON__CHECKED(owned(pool, __func__));
	struct baton__joblist list = BATON__JOBLIST_INIT;
	int error = baton__thread_attach(); /* pool.outside needs a record */

	if (!error && pool->alarm)
		error = baton__alarm_bar(pool->alarm);
	if (error)
		return error;
	baton__thread_enter(pool);
	(void)baton__pool_set_state(pool, BATON__POOL_SHUTDOWN);
	if (!baton__pool_set_state(pool, BATON__POOL_STOP)) {
		baton__thread_leave();
		return -EALREADY;
	}
	baton__idle_wake_all(&pool->idle);
	baton__crew_wake_all(pool);
	baton__room_close(pool);
	/* Ends: a push that began before STOP finishes; a consumer clears the slot that it has
	 * claimed; a thread that withdraws puts back the jobs that it holds (pool.in_hands). */
	while (baton__pool_in_hands(pool) || !baton__injection_close_if_empty(&pool->injection)) {
		size_t before = list.count;

		baton__injection_fetch(&pool->injection, SIZE_MAX, &list);
		if (list.count == before)
			(void)sched_yield();
	}
	for (size_t i = 0; i < pool->worker_count; i++)
		baton__worker_collect(&pool->workers[i], &list);
	baton__room_leave_list(pool, list.first);
	*jobs = list.first;
	baton__thread_leave();
	return 0;
}

BATON_EXPORT int baton_pool_await_until(struct baton_pool *pool, uint64_t deadline_ns)
{
	BATON__CHECKED(owned(pool, __func__));
	if (baton__forked())
		return -ECHILD;
	if (own_mate(pool) || baton__must_not_wait())
		return -EDEADLK;
	/* Relaxed is enough: nothing is read after it. */
	if (load_acquire(&pool->state))
		return await_zero(&pool->live, deadline_ns);
	return BATON__ANSWER(NULL, baton__refused("baton_pool_await*: the pool is not shut down"));
}

BATON_EXPORT int baton_pool_await(struct baton_pool *pool)
{
	BATON__CHECKED(owned(pool, __func__));
	return baton_pool_await_until(pool, BATON_FOREVER);
}

void baton__pool_end(struct baton_pool *pool)
{
	/* Do not call thread_enter here (pool.outside): this thread would wait for itself. */
	(void)begin_shutdown(pool);
	(void)await_zero(&pool->live, BATON_FOREVER);
	baton__thread_await_outside(pool); /* pool.outside; it may have started a spare: */
	(void)await_zero(&pool->live, BATON_FOREVER);
	baton__join(pool);
	baton__fork_losses_add(-1);
}

BATON_EXPORT int baton_pool_destroy(struct baton_pool *pool)
{
	BATON__CHECKED(owned(pool, __func__));
	if (baton__forked())
		return -ECHILD;
	if (pool->is_default)
		return -EPERM;
	if (own_mate(pool) || baton__must_not_wait())
		return -EDEADLK;
	baton__pool_end(pool);
	BATON__CHECKED(ended(pool, &pool->executor, __func__));
	free(pool);
	return 0;
}
