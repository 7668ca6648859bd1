/* SPDX-License-Identifier: MIT */
/*
 * The injection queue.
 *
 * The queue has three parts, one behind the other. A push goes to the near ring. A job that finds
 * no room there goes to the far ring, and a job that finds no room there either goes to the spill,
 * a Treiber stack. While a part holds jobs, every push goes to that part or one behind it. A
 * consumer takes jobs from the near ring alone. As soon as half of the near ring is free the
 * consumer moves one batch from the far ring into the near ring; when the far ring is empty, it
 * moves the spill into the far ring.
 *
 * A ring consists of slots, one word each. Positions count up for ever; position p lies in slot
 * p % SLOTS. The word of a slot is a small Treiber stack: one CAS links a job and publishes it, so
 * a producer that stops before or after that CAS delays no other thread. A consumer claims whole
 * slots, in order, and reverses the stacks privately. The rings differ in the size of a batch only:
 * BATCH jobs near, BATCH * PORTION jobs far. Hence a consumer moves a bounded number of jobs at a
 * time, however many wait.
 *
 * The word of the slot of position p:
 *   CLOSED(p - SLOTS)  the batch of the round before was taken; the slot may be opened
 *   EMPTY(p)           open, no job; set by any producer (advance), or by close_if_empty
 *   batch              address of the newest job | weight - 1; bit 63 clear
 *   CLOSED(p)          the batch was taken; set by the claimant alone
 *   SHUT               final; follows EMPTY(p) only; set by close_if_empty
 * The transitions have this order; a push replaces a batch by a larger batch.
 * The weight, 1 to BATCH, says how full the slot is. In the near ring: the number of jobs. In the
 * far ring: grows by 1 with each push that takes `beyond` over a multiple of PORTION.
 * The word `beyond`: the number of jobs in the far ring and the spill, of jobs on their way there,
 * and of jobs that a consumer moves now.
 * The word `spill`: NULL, the newest job of a stack, or SPILL_SHUT (final; follows NULL only).
 *
 * Invariants:
 * injection.opened: Position p + 1 is opened only when p is full, claimed or closed. So EMPTY(p)
 *    implies tail <= p.
 * injection.tail: tail goes from p to p + 1 only after p + 1 was opened.
 * injection.claimed: head goes from p to p + 1 only while p <= tail and slot p holds the batch of
 *    p. The thread that moves head has claimed p, and it alone takes the batch. So head <= tail +
 *    1.
 * injection.shut: If position p is SHUT, then head == p, and the ring holds no job and never will.
 * injection.closed: If the spill is SPILL_SHUT, then both rings are shut, and the spill holds no
 *    job and never will: the queue is closed.
 * injection.beyond: A push adds its jobs to `beyond` before a consumer can see the jobs. A consumer
 *    subtracts jobs after it has claimed them. So `beyond` is at least the number of jobs that can
 *    be claimed. A consumer that finds 0 overlooks only a push that is under way.
 * injection.moves: A job is pushed once, and moved at most twice: from the spill into the far ring,
 *    from there into the near ring. Until the far ring is full (SLOTS batches) a job is moved once.
 *    Exception: a ring that was shut a moment ago, or has no room for what many consumers move at
 *    once. The consumer then gets more jobs than it wanted.
 * injection.batch: A far batch has at most BATCH * PORTION jobs. While the batch is the newest,
 *    each batch that is moved and each thread that pushes may add PORTION jobs. Reason: between two
 *    subtractions from `beyond`, every PORTION pushed jobs pass a multiple of PORTION.
 *
 * ABA: head and tail only grow. EMPTY and CLOSED carry the whole position. A claim is a CAS on
 * head, so a consumer with an old view cannot take the batch of a later round. (A CAS on the slot
 * could: a single hot job goes through all slots and makes the same word again.) A push onto a
 * batch reads the slot's word in one round, and its CAS may find the same word in a later round, if
 * the newest job is the same. The CAS then succeeds, and puts the job into the later round's batch.
 * The order is still right: everything behind that batch was pushed after this push had begun. The
 * spill is only ever taken whole.
 *
 * Linearisation: push: the CAS on slot or spill. A push that joins a claimed batch had begun before
 * the claim, and counts as just before the claim. Fetch: the CAS on head. The order is FIFO, with
 * two exceptions: between a push to one part and a push to the next part while the latter begins to
 * fill or is emptied; and between batches that several consumers move at once.
 */
#include "queue/injection.h"

#include <errno.h>

#include "base/atomic.h"

#define SLOTS ((uint64_t)BATON_INJECTION_SLOTS)
#define BATCH ((size_t)BATON_INJECTION_BATCH)
#define PORTION ((size_t)BATON_INJECTION_PORTION)
/* The jobs that a consumer moves into one near slot: so a far batch needs few near slots. */
#define PIECE ((size_t)BATON_INJECTION_PIECE)

#define WORD_SPECIAL (UINT64_C(1) << 63)
#define WORD_SHUT (WORD_SPECIAL | 2)
#define SPILL_SHUT UINT64_C(1)
#define WEIGHT_MASK UINT64_C(7)

static uint64_t word_empty(uint64_t position)
{
	return WORD_SPECIAL | position << 2;
}

static uint64_t word_closed(uint64_t position)
{
	return WORD_SPECIAL | position << 2 | 1;
}

static uint64_t word_batch(const struct baton_job *newest, size_t weight)
{
	uint64_t address = (uint64_t)(uintptr_t)newest;

	BATON_ASSERT((address & (WORD_SPECIAL | WEIGHT_MASK)) == 0);
	if (weight == 0)
		weight = 1;
	return address | ((weight < BATCH ? weight : BATCH) - 1);
}

static bool is_batch(uint64_t word)
{
	return !(word & WORD_SPECIAL);
}

static struct baton_job *batch_newest(uint64_t word)
{
	return (struct baton_job *)(uintptr_t)(word & ~WEIGHT_MASK);
}

static size_t batch_weight(uint64_t word)
{
	return (size_t)(word & WEIGHT_MASK) + 1;
}

static uint64_t *ring_slot(struct baton__injection_ring *ring, uint64_t position)
{
	return &ring->slots[position % SLOTS];
}

/* Lock-free: a CAS fails only because the CAS of another thread has succeeded. */
static int spill_put(struct baton__injection *queue, struct baton_job *newest,
                     struct baton_job *oldest)
{
	uint64_t top = load_relaxed(&queue->spill); /* validated by the CAS */

	do {
		if (top == SPILL_SHUT)
			return -ESHUTDOWN;
		oldest->_next = (struct baton_job *)(uintptr_t)top;
		/* [injection.spill] release: publishes the jobs; pairs with [injection.spill] in
		 * unspill.
		 * [injection.sleepers] seq_cst, as in ring_put. */
	} while (!cas_seq_cst(&queue->spill, &top, (uint64_t)(uintptr_t)newest));
	return 0;
}

/* Opens the position after `tail` for pushes; position `tail` is full, claimed or closed. Several
 * threads may try, one succeeds. False: the ring has no room. True: the caller looks again. */
static bool advance(struct baton__injection_ring *ring, uint64_t tail)
{
	uint64_t *slot = ring_slot(ring, tail + 1);
	/* [injection.reuse] acquire: the batch of the round before was read; pairs with
	 * [injection.reuse] in claim_batch.
	 * [injection.open] acquire: a thread that sees our tail sees the open slot, too; pairs
	 * with [injection.open] below. Relaxed is enough: no plain memory goes with the word. */
	uint64_t word = load_acquire(slot);

	if (word == word_closed(tail + 1 - SLOTS)) {
		/* [injection.open] release: the slot is open. A failed CAS reads relaxed, so load
		 * again. Relaxed is enough: as the load. */
		if (cas_acq_rel(slot, &word, word_empty(tail + 1)))
			word = word_empty(tail + 1);
		/* Relaxed is seldom noticed: edge_injection_close_2, a million executions. */
		else
			word = load_acquire(slot);
	}
	if (word == word_empty(tail + 1)) {
		/* [injection.sleepers] seq_cst: a thread that sees a push sees the tail at the
		 * push's position, too. The CAS fails if another thread was first. Release is
		 * enough: Dekker is with the slot. */
		(void)cas_seq_cst(&ring->tail, &tail, tail + 1);
		return true;
	}
	/* Relaxed is enough: an old tail says "no room", and the job goes to the spill. */
	return load_seq_cst(&ring->tail) != tail;
}

/* Pushes a chain of jobs, linked from the newest to the oldest. False: no room, or shut. */
static bool ring_put(struct baton__injection_ring *ring, struct baton_job *newest,
                     struct baton_job *oldest, size_t weight)
{
	/* Lock-free: a round is repeated only when another thread has moved a slot or the tail. */
	for (;;) {
		/* [injection.sleepers]. Acquire is enough: Dekker is with the slot. */
		uint64_t tail = load_seq_cst(&ring->tail);
		uint64_t *slot = ring_slot(ring, tail);
		/* validated by the CAS; [injection.reuse]. Relaxed is enough: as in advance. */
		uint64_t word = load_acquire(slot);
		size_t sum = weight;

		if (word == word_empty(tail)) {
			oldest->_next = NULL;
			/* Join only a batch that was not claimed a moment ago: the consumer of a
			 * claimed batch may have been stopped, and would delay the job. Relaxed is
			 * enough: a consumer may claim the batch after the load, too. */
		} else if (is_batch(word) && batch_weight(word) < BATCH &&
		           load_acquire(&ring->head) <= tail) {
			oldest->_next = batch_newest(word);
			sum += batch_weight(word);
		} else if (word != WORD_SHUT && advance(ring, tail)) {
			continue;
		} else {
			return false;
		}
		/* [injection.batch] release: publishes the jobs; pairs with [injection.batch] in
		 * claim_batch.
		 * [injection.sleepers] seq_cst: the caller looks for sleepers next. A parking
		 * worker becomes a sleeper and then looks at this word. If the store were delayed,
		 * neither would see the other. */
		if (cas_seq_cst(slot, &word, word_batch(newest, sum)))
			return true;
	}
}

/* As put_batch, to the far ring or the spill. */
static BATON_NOINLINE int put_beyond(struct baton__injection *queue, struct baton_job *newest,
                                     struct baton_job *oldest, size_t count)
{
	/* injection.beyond. Relaxed: the CAS that publishes the jobs comes after this, and the
	 * consumer's subtraction comes after its look at the jobs. */
	size_t before = add_relaxed(&queue->beyond, count);
	size_t weight = (before + count) / PORTION - before / PORTION;
	int error;

	/* Relaxed: only chooses the way; spill_put looks again with its CAS. */
	if (!load_relaxed(&queue->spill) && ring_put(&queue->far, newest, oldest, weight))
		return 0;
	error = spill_put(queue, newest, oldest);
	if (error)
		(void)sub_relaxed(&queue->beyond, count); /* closed: no thread reads `beyond` now */
	return error;
}

/* Pushes a chain of `count` jobs, linked from the newest to the oldest. */
static int put_batch(struct baton__injection *queue, struct baton_job *newest,
                     struct baton_job *oldest, size_t count)
{
	/* Relaxed: only chooses the way. */
	if (BATON_LIKELY(!load_relaxed(&queue->beyond)) &&
	    BATON_LIKELY(ring_put(&queue->near, newest, oldest, count)))
		return 0;
	return put_beyond(queue, newest, oldest, count);
}

/* Turns the first `count` jobs of the list into a chain from the newest to the oldest. */
static struct baton__joblist cut_chain(struct baton__joblist *list, size_t count)
{
	struct baton__joblist part =
		baton__joblist_split(list, count < list->count ? count : list->count);

	(void)baton__joblist_reversed(part.first);
	return part;
}

/* Undoes cut_chain, for a chain that was not taken. */
static void uncut_chain(struct baton__joblist *list, struct baton__joblist *chain)
{
	struct baton__joblist part;

	chain->first->_next = NULL; /* a failed push has linked it */
	part = baton__joblist_reversed(chain->last);
	baton__joblist_join(&part, list);
	*list = part;
}

/* Claims the oldest batch and appends it to the list. False: the ring is empty. */
static bool claim_batch(struct baton__injection_ring *ring, struct baton__joblist *list)
{
	/* Lock-free: a round is repeated only when another consumer has moved the head. */
	for (;;) {
		/* [injection.sleepers], three loads. Relaxed is enough below: `head` says whose
		 * turn it is, by its modification order; the exchange brings the jobs. */
		uint64_t head = load_seq_cst(&ring->head);

		/* Acquire is enough: a claimant looks again, by is_empty, before it sleeps. */
		if (head > load_seq_cst(&ring->tail))
			return false;

		uint64_t *slot = ring_slot(ring, head);
		uint64_t word = load_seq_cst(slot);

		if (word == word_empty(head) || word == WORD_SHUT)
			return false;
		if (!is_batch(word) || !cas_acq_rel(&ring->head, &head, head + 1))
			continue;
		/* [injection.batch] acquire: the jobs. [injection.reuse] release: the slot may be
		 * used again. Acquire is enough: as in advance. */
		word = swap_acq_rel(slot, word_closed(head));

		struct baton__joblist batch = baton__joblist_reversed(batch_newest(word));

		baton__joblist_join(list, &batch);
		return true;
	}
}

static bool half_is_free(const struct baton__injection_ring *ring)
{
	uint64_t head = load_relaxed(&ring->head); /* a hint */
	uint64_t tail = load_relaxed(&ring->tail);

	return tail + 1 <= head + SLOTS / 2;
}

/* Moves the list into the ring, of which half was free. One slot gets at least `size` jobs, or
 * more, so that a quarter of the ring takes the list. Jobs that find no room stay in the list. */
static void refill_ring(struct baton__injection_ring *ring, size_t size,
                        struct baton__joblist *list)
{
	size_t enough = list->count / ((size_t)(SLOTS + 3) / 4) + 1;

	if (size < enough)
		size = enough;
	while (list->count) {
		struct baton__joblist chain = cut_chain(list, size);

		if (!ring_put(ring, chain.last, chain.first, BATCH)) {
			uncut_chain(list, &chain);
			return;
		}
	}
}

/* Moves the spill into the far ring, or, without room, to the list. False: it was empty. */
static bool unspill(struct baton__injection *queue, struct baton__joblist *list)
{
	/* Relaxed is seldom noticed: only where a waiter withdraws while all workers wait. */
	uint64_t top = load_seq_cst(&queue->spill); /* validated by the CAS; [injection.sleepers] */
	struct baton__joblist all;

	do {
		if (!top || top == SPILL_SHUT)
			return false;
		/* [injection.spill] acquire: the jobs. */
	} while (!cas_acquire(&queue->spill, &top, 0));
	all = baton__joblist_reversed((struct baton_job *)(uintptr_t)top);
	refill_ring(&queue->far, BATCH * PORTION, &all);
	(void)sub_relaxed(&queue->beyond, all.count); /* injection.beyond */
	baton__joblist_join(list, &all);
	return true;
}

/* Moves the oldest batch from beyond into the near ring, up to `share_max` of its jobs into the
 * list. The list also gets jobs that find no room. False: no batch was there. */
static BATON_NOINLINE bool approach(struct baton__injection *queue, size_t share_max,
                                    struct baton__joblist *list)
{
	struct baton__joblist all = BATON__JOBLIST_INIT;
	struct baton__joblist share;
	size_t count;

	if (!claim_batch(&queue->far, &all))
		return unspill(queue, list);
	count = all.count;
	share = baton__joblist_split(&all, count < share_max ? count : share_max);
	baton__joblist_join(list, &share);
	refill_ring(&queue->near, PIECE, &all);
	baton__joblist_join(list, &all);
	(void)sub_relaxed(&queue->beyond, count); /* injection.beyond */
	return true;
}

static void ring_init(struct baton__injection_ring *ring)
{
	/* Not shared yet. Positions begin at SLOTS: each has a predecessor one round before. */
	store_relaxed(&ring->head, SLOTS);
	store_relaxed(&ring->tail, SLOTS);
	store_relaxed(&ring->slots[0], word_empty(SLOTS));
	for (uint64_t i = 1; i < SLOTS; i++)
		store_relaxed(&ring->slots[i], word_closed(i));
}

void baton__injection_init(struct baton__injection *queue)
{
	ring_init(&queue->near);
	ring_init(&queue->far);
	store_relaxed(&queue->beyond, 0);
	store_relaxed(&queue->spill, 0);
}

int baton__injection_push(struct baton__injection *queue, struct baton_job *job)
{
	return put_batch(queue, job, job, 1);
}

int baton__injection_push_list(struct baton__injection *queue, struct baton__joblist *list)
{
	while (list->count) {
		struct baton__joblist chain = cut_chain(list, BATCH);
		int error = put_batch(queue, chain.last, chain.first, chain.count);

		if (error) {
			uncut_chain(list, &chain);
			return error;
		}
	}
	return 0;
}

void baton__injection_fetch(struct baton__injection *queue, size_t share_max,
                            struct baton__joblist *list)
{
	size_t wanted = share_max < SIZE_MAX - list->count ? list->count + share_max : SIZE_MAX;

	/* Bounded by the share: each round adds jobs to the list, or has moved a batch nearer. */
	while (list->count < wanted) {
		bool claimed = claim_batch(&queue->near, list);
		bool moved = false;

		/* Relaxed: a hint. A thread that would sleep looks at is_empty, which looks at the
		 * parts themselves. If the near ring still had jobs, take none from beyond: the
		 * jobs in the near ring are older. */
		if (BATON_UNLIKELY(load_relaxed(&queue->beyond)) &&
		    (!claimed || half_is_free(&queue->near)))
			moved = approach(queue, claimed ? 0 : wanted - list->count, list);
		if (!claimed && !moved)
			return;
	}
}

/* Shuts the ring, if it is empty. True: it is shut. */
static bool ring_shut(struct baton__injection_ring *ring)
{
	/* Lock-free: a round is repeated only when another thread has moved head, tail or slot.
	 * Relaxed is enough below: the CAS decides, since the slot's word has its position in it.
	 * An old value says "not empty", after which every caller looks again. */
	for (;;) {
		uint64_t head = load_seq_cst(&ring->head);
		uint64_t tail = load_seq_cst(&ring->tail);

		if (head > tail) { /* all are claimed: open the next position, then shut it */
			if (!advance(ring, tail))
				return false;
			continue;
		}

		uint64_t *slot = ring_slot(ring, head);
		uint64_t word = load_seq_cst(slot);

		if (word == WORD_SHUT)
			return true;
		if (word != word_empty(head)) {
			if (load_seq_cst(&ring->head) == head)
				return false;
			continue;
		}
		/* injection.shut: EMPTY(head), so head == tail (injection.opened) */
		if (cas_seq_cst(slot, &word, WORD_SHUT))
			return true;
	}
}

static bool ring_is_empty(const struct baton__injection_ring *ring)
{
	/* [injection.sleepers] seq_cst, all three loads. A push that comes before them in the
	 * single total order put its batch into the position that was the tail then. Either head
	 * has passed that position, and its claimant is awake, or the slot at head is not empty.
	 * Relaxed is enough: an old head finds a slot that is full or closed: "not empty". */
	uint64_t head = load_seq_cst(&ring->head);

	if (head > load_seq_cst(&ring->tail))
		return true;

	uint64_t word = load_seq_cst(&ring->slots[head % SLOTS]);

	/* Any other word means that head is moving now: say that there is work. */
	return word == word_empty(head) || word == WORD_SHUT;
}

static bool beyond_is_empty(const struct baton__injection *queue)
{
	uint64_t spill = load_seq_cst(&queue->spill); /* [injection.sleepers] */

	return (!spill || spill == SPILL_SHUT) && ring_is_empty(&queue->far);
}

bool baton__injection_close_if_empty(struct baton__injection *queue)
{
	uint64_t top = 0;

	/* A hint comes first: a shut near ring takes no jobs that a consumer moves nearer. */
	if (!beyond_is_empty(queue) || !ring_shut(&queue->near) || !ring_shut(&queue->far))
		return false;
	/* Linearisation point of closing. Relaxed is enough: as in ring_shut. */
	return cas_seq_cst(&queue->spill, &top, SPILL_SHUT) || top == SPILL_SHUT;
}

bool baton__injection_is_empty(const struct baton__injection *queue)
{
	/* A consumer that moves jobs meanwhile has them in its hands, and looks here afterwards. */
	return beyond_is_empty(queue) && ring_is_empty(&queue->near);
}

size_t baton__injection_length(const struct baton__injection *queue)
{
	uint64_t head = load_relaxed(&queue->near.head); /* a hint */
	uint64_t tail = load_relaxed(&queue->near.tail);
	uint64_t word = load_relaxed(&queue->near.slots[tail % SLOTS]);
	size_t length = load_relaxed(&queue->beyond);

	if (head <= tail) {
		length += (size_t)(tail - head) * BATCH;
		if (is_batch(word))
			length += batch_weight(word);
	}
	return length;
}
