/* SPDX-License-Identifier: MIT */
/*
 * The run queue.
 *
 * Positions count up for ever; position p lives in slot p % SLOTS. The jobs are in [head, tail).
 *
 * Invariants:
 * runqueue.bounds: head <= tail <= head + SLOTS; tail is the owner's, head only grows.
 * runqueue.claim: A job belongs to the thread whose CAS moved head past it. A thief copies slots
 *    before its CAS, and drops the copies if the CAS fails. The CAS succeeds only if head has not
 *    moved since the thief read it. While head does not move, the owner does not overwrite the
 *    slots from head on.
 *
 * ABA: positions are 64 bits and never come back.
 * Linearisation: push: the store to tail; pop, take, steal, overflow: the CAS on head. Stolen jobs
 * are in no queue from the thief's CAS until the thief's store to its own tail.
 */
#include "queue/runqueue.h"

#include "base/atomic.h"

#define SLOTS ((uint64_t)BATON_RUNQUEUE_SLOTS)
#define STEAL_ATTEMPTS 4

static struct baton_job **slot_of(struct baton__runqueue *queue, uint64_t position)
{
	return &queue->slots[position % SLOTS];
}

static struct baton_job *take_oldest(struct baton__runqueue *queue)
{
	/* Lock-free: a round is repeated only when another thread has moved the head. */
	for (;;) {
		/* Relaxed is enough: an old head makes the compare-and-swap fail; `tail`
		 * decides. */
		uint64_t head = load_seq_cst(&queue->head); /* before tail, runqueue.bounds */
		/* [runqueue.job] acquire: the slot and the job; pairs with [runqueue.job] in push
		 * and steal.
		 * [runqueue.sleepers] seq_cst, both loads: the calling thread may be about to
		 * sleep; it has announced its sleep before these loads. Acquire is seldom noticed:
		 * found in 17,000 to 100,000 executions (withdraw_await). */
		uint64_t tail = load_seq_cst(&queue->tail);

		if (head >= tail)
			return NULL;

		struct baton_job *job = load_relaxed(slot_of(queue, head)); /* runqueue.claim */

		/* [runqueue.slot] release: the slot was read; pairs with [runqueue.slot] in
		 * push. Release is enough: what the slots hold was acquired with `tail`. Relaxed
		 * goes unnoticed: the explorer has no load buffering, by which the slot's read
		 * could return the owner's next store. */
		if (cas_acq_rel(&queue->head, &head, head + 1))
			return job;
	}
}

void baton__runqueue_init(struct baton__runqueue *queue)
{
	store_relaxed(&queue->head, 0);
	store_relaxed(&queue->tail, 0);
	for (uint64_t i = 0; i < SLOTS; i++)
		store_relaxed(&queue->slots[i], NULL);
}

bool baton__runqueue_push(struct baton__runqueue *queue, struct baton_job *job)
{
	uint64_t tail = load_relaxed(&queue->tail); /* this thread's own */
	/* [runqueue.slot] acquire: the thread that took the slot's last job has read the slot.
	 * Relaxed goes unnoticed: as in take_oldest. */
	uint64_t head = load_acquire(&queue->head);

	if (tail - head >= SLOTS)
		return false;
	store_relaxed(slot_of(queue, tail), job); /* published by tail */
	/*
	 * [runqueue.job] release: the slot and the job; pairs with [runqueue.job] in take_oldest
	 * and steal.
	 * [runqueue.sleepers] seq_cst: the caller looks for sleepers next. A parking worker becomes
	 * a sleeper and then looks at tail. If the store were delayed, neither would see the other.
	 * Pairs with [runqueue.sleepers] in is_empty.
	 */
	store_seq_cst(&queue->tail, tail + 1);
	return true;
}

struct baton_job *baton__runqueue_pop(struct baton__runqueue *queue)
{
	return take_oldest(queue);
}

struct baton_job *baton__runqueue_take(struct baton__runqueue *queue)
{
	return take_oldest(queue);
}

void baton__runqueue_overflow(struct baton__runqueue *queue, struct baton__joblist *list)
{
	/* Relaxed is enough: the compare-and-swap confirms this head. */
	uint64_t head = load_acquire(&queue->head);
	uint64_t tail = load_relaxed(&queue->tail); /* this thread's own */

	if (tail - head < SLOTS)
		return;
	/* Only the owner, which is this thread, overwrites slots. So the slots may be read after
	 * the CAS. Relaxed is enough: [runqueue.slot] is for the owner, which reads here itself. */
	if (!cas_acq_rel(&queue->head, &head, head + SLOTS / 2))
		return; /* thieves made room */
	for (uint64_t i = 0; i < SLOTS / 2; i++)
		baton__joblist_append(list, load_relaxed(slot_of(queue, head + i)));
}

struct baton_job *baton__runqueue_steal(struct baton__runqueue *from, struct baton__runqueue *into,
                                        uint32_t share, size_t *count)
{
	uint64_t own = load_relaxed(&into->tail); /* this thread's own */

	/* [runqueue.slot] acquire: the threads that took jobs from the free slots have read
	 * them. Relaxed goes unnoticed: as in take_oldest. */
	BATON_ASSERT(own - load_acquire(&into->head) <= SLOTS / 2);
	*count = 0;
	for (int attempt = 0; attempt < STEAL_ATTEMPTS; attempt++) {
		/* Relaxed is enough: the compare-and-swap confirms this head, and a head beyond
		 * `tail` says "empty" only. */
		uint64_t head = load_acquire(&from->head); /* before tail, runqueue.bounds */
		/* [runqueue.job] acquire: slots and jobs */
		uint64_t tail = load_acquire(&from->tail);
		uint64_t length = tail - head;
		uint64_t part = (length * share + BATON__WHOLE - 1) / BATON__WHOLE;

		if (head >= tail)
			return NULL;
		/* If head was out of date when tail was read, the CAS fails. */
		if (part > SLOTS / 2)
			part = SLOTS / 2;

		struct baton_job *oldest = load_relaxed(slot_of(from, head)); /* runqueue.claim */

		for (uint64_t i = 1; i < part; i++)
			store_relaxed(slot_of(into, own + i - 1),
			              load_relaxed(slot_of(from, head + i)));
		/* [runqueue.slot] release: the slots were read; pairs with [runqueue.slot] in
		 * push. Relaxed goes unnoticed: as in take_oldest. */
		if (!cas_acq_rel(&from->head, &head, head + part))
			continue;
		/* [runqueue.job] release, [runqueue.sleepers] seq_cst: as in push. */
		if (part > 1)
			store_seq_cst(&into->tail, own + part - 1);
		*count = (size_t)part;
		return oldest;
	}
	return NULL;
}

bool baton__runqueue_is_empty(const struct baton__runqueue *queue)
{
	/* [runqueue.sleepers] seq_cst: as in push. head is read first, so the value read can only
	 * be too small: a wrong answer can only be "not empty". Relaxed is enough: Dekker is
	 * between `tail` and the sleepers; an old head says "not empty". */
	uint64_t head = load_seq_cst(&queue->head);

	return head >= load_seq_cst(&queue->tail);
}

size_t baton__runqueue_length(const struct baton__runqueue *queue)
{
	uint64_t head = load_relaxed(&queue->head); /* a hint to all but the owner */
	uint64_t tail = load_relaxed(&queue->tail);

	return head < tail ? (size_t)(tail - head) : 0;
}
