/* SPDX-License-Identifier: MIT */
/*
 * Jobs from the queues of other workers.
 */
#include "base/atomic.h"
#include "base/count.h"
#include "base/futex.h"
#include "base/probe.h"
#include "pool/order.h"
#include "pool/pool.h"
#include "pool/slot.h"
#include "pool/worker.h"
#include "thread/trace.h"

/* even_out leaves queues alone if the longer one is longer by at most one part in EVEN_PART. */
#define EVEN_PART 4

/* xorshift64: chooses the worker to steal from first. */
static uint64_t next_random(struct baton__worker *worker)
{
	worker->random ^= worker->random << 13;
	worker->random ^= worker->random >> 7;
	worker->random ^= worker->random << 17;
	return worker->random;
}

/* Takes all that the victim has fetched; the thief has nothing. Returns the oldest job. */
static struct baton_job *steal_fetched(struct baton__worker *worker, struct baton__worker *victim,
                                       size_t *stolen)
{
	struct baton_job *first = baton__slot_take(&victim->fetched);

	*stolen = 0;
	/* Bounded by what one fetch gets. */
	for (const struct baton_job *job = first; job; job = job->_next)
		++*stolen;
	/* [worker.slot] release, [idle.work] seq_cst: as in fetch. */
	if (*stolen > 1)
		store_seq_cst(&worker->fetched, first->_next);
	return first;
}

struct baton_job *baton__worker_steal(struct baton__worker *worker, bool lifo_too)
{
	struct baton_pool *pool = worker->pool;
	size_t start = (size_t)(next_random(worker) % pool->worker_count);

	for (size_t i = 0; i < pool->worker_count; i++) {
		struct baton__worker *victim = &pool->workers[(start + i) % pool->worker_count];
		struct baton_job *job;
		size_t stolen;

		if (victim == worker)
			continue;
		job = baton__order_steal(&worker->order, &victim->order, &stolen);
		if (!job)
			job = steal_fetched(worker, victim, &stolen);
		if (!job && lifo_too) {
			job = baton__slot_take(&victim->lifo);
			stolen = 1;
		}
		if (job) {
			baton__count(&worker->counts.stolen, stolen);
			baton__count(&worker->counts.steals, 1);
			BATON_PROBE(steal, pool, stolen);
			if (baton__trace_is_on())
				baton__trace(&(struct baton__event){
					baton__now_ns(), (uintptr_t)pool, 0,
					baton__event_word(BATON__EVENT_STOLE, stolen)});
			baton__worker_got_work(worker, stolen > 1);
			return job;
		}
	}
	return NULL;
}

void baton__worker_even_out(struct baton__worker *worker)
{
	struct baton_pool *pool = worker->pool;
	struct baton__worker *other = &pool->workers[next_random(worker) % pool->worker_count];
	size_t own = baton__order_length(&worker->order);
	/* + 1: the job that the other worker runs. This worker has put its last job back. */
	size_t others = baton__order_length(&other->order) + 1;
	size_t moved = 0;

	worker->evened_ns = worker->tuned_ns;
	if (others <= own + 1 + own / EVEN_PART)
		return;
	for (size_t wanted = (others - own) / 2; moved < wanted; moved++) {
		struct baton_job *job = baton__order_take(&other->order);

		if (!job)
			break;
		baton__worker_put_back(worker, job);
	}
	baton__count(&worker->counts.stolen, moved);
	baton__count(&worker->counts.steals, moved > 0);
	/* worker.looks: workers that searched meanwhile have missed these jobs. */
	if (moved)
		baton__worker_announce(pool);
}
