/* SPDX-License-Identifier: MIT */
/*
 * The injection queue.
 *
 * The queue is a ring of slots, one word each. Positions count up for ever; position p lies in slot
 * p % SLOTS. The word of a slot is a small Treiber stack: one CAS links a job and publishes it, so
 * a producer that stops before or after that CAS delays no other thread. A consumer claims whole
 * slots, in order, and reverses the stacks privately. A job that finds no free slot goes to
 * `spill`, another Treiber stack. While the spill holds a job, every push goes to the spill. A
 * consumer moves the spill into the ring as soon as half of the ring is free.
 *
 * The word of the slot of position p:
 *   CLOSED(p - SLOTS)  the batch of the round before was taken; the slot may be opened
 *   EMPTY(p)           open, no job; set by any producer (advance), or by close_if_empty
 *   batch              address of the newest job | number of jobs - 1 (7: or more); bit 63 clear
 *   CLOSED(p)          the batch was taken; set by the claimant alone
 *   SHUT               final; follows EMPTY(p) only; set by close_if_empty
 * The transitions have this order; a push replaces a batch by a larger batch.
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
 * injection.closed: If the spill is SPILL_SHUT, then the ring is shut, and the spill holds no job
 *    and never will: the queue is closed.
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
 * the claim, and counts as just before the claim. Fetch: the CAS on head. The order is FIFO, except
 * between pushes to the ring and pushes to the spill while the spill begins to fill or is emptied.
 */
#include "queue/injection.h"

#include <errno.h>

#include "base/atomic.h"

#define SLOTS ((uint64_t)BATON_INJECTION_SLOTS)
#define BATCH ((size_t)BATON_INJECTION_BATCH)

#define WORD_SPECIAL (UINT64_C(1) << 63)
#define WORD_SHUT (WORD_SPECIAL | 2)
#define SPILL_SHUT UINT64_C(1)
#define COUNT_MASK UINT64_C(7)

static uint64_t word_empty(uint64_t position)
{
	return WORD_SPECIAL | position << 2;
}

static uint64_t word_closed(uint64_t position)
{
	return WORD_SPECIAL | position << 2 | 1;
}

static uint64_t word_batch(const struct baton_job *newest, size_t count)
{
	uint64_t address = (uint64_t)(uintptr_t)newest;

	BATON_ASSERT((address & (WORD_SPECIAL | COUNT_MASK)) == 0);
	return address | ((count < BATCH ? count : BATCH) - 1);
}

static bool is_batch(uint64_t word)
{
	return !(word & WORD_SPECIAL);
}

static struct baton_job *batch_newest(uint64_t word)
{
	return (struct baton_job *)(uintptr_t)(word & ~COUNT_MASK);
}

static size_t batch_count(uint64_t word)
{
	return (size_t)(word & COUNT_MASK) + 1;
}

static uint64_t *slot_of(struct baton__injection *queue, uint64_t position)
{
	return &queue->slots[position % SLOTS];
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
		 * refill.
		 * [injection.sleepers] seq_cst, as in put. */
	} while (!cas_seq_cst(&queue->spill, &top, (uint64_t)(uintptr_t)newest));
	return 0;
}

/*
 * Opens the position after `tail` for pushes; position `tail` is full, claimed or closed. Several
 * threads may try, one succeeds. False: the ring has no room. True: the caller looks again.
 */
static bool advance(struct baton__injection *queue, uint64_t tail)
{
	uint64_t *slot = slot_of(queue, tail + 1);
	/* [injection.reuse] acquire: the batch of the round before was read; pairs with
	 * [injection.reuse] in claim.
	 * [injection.open] acquire: a thread that sees our tail sees the open slot, too; pairs
	 * with [injection.open] below. */
	uint64_t word = load_acquire(slot);

	if (word == word_closed(tail + 1 - SLOTS)) {
		/* [injection.open] release: the slot is open. A failed CAS reads relaxed, so load
		 * again. */
		if (cas_acq_rel(slot, &word, word_empty(tail + 1)))
			word = word_empty(tail + 1);
		else
			word = load_acquire(slot);
	}
	if (word == word_empty(tail + 1)) {
		/* [injection.sleepers] seq_cst: a thread that sees a push sees the tail at the
		 * push's position, too. The CAS fails if another thread was first. */
		(void)cas_seq_cst(&queue->tail, &tail, tail + 1);
		return true;
	}
	return load_seq_cst(&queue->tail) != tail;
}

/* Pushes a chain of `count` jobs, linked from the newest to the oldest. */
static int put(struct baton__injection *queue, struct baton_job *newest, struct baton_job *oldest,
               size_t count)
{
	/* Lock-free: a round is repeated only when another thread has moved a slot or the tail. */
	for (;;) {
		/* Relaxed: only chooses the way; spill_put looks again with its CAS. */
		if (load_relaxed(&queue->spill))
			return spill_put(queue, newest, oldest);

		uint64_t tail = load_seq_cst(&queue->tail); /* [injection.sleepers] */
		uint64_t *slot = slot_of(queue, tail);
		/* validated by the CAS; [injection.reuse] as in advance */
		uint64_t word = load_acquire(slot);
		size_t sum = count;

		if (word == word_empty(tail)) {
			oldest->_next = NULL;
		} else if (is_batch(word) && batch_count(word) < BATCH &&
		           load_acquire(&queue->head) <= tail) {
			/* Join only a batch that was not claimed a moment ago: the consumer of a
			 * claimed batch may have been stopped, and would delay the job. */
			oldest->_next = batch_newest(word);
			sum += batch_count(word);
		} else if (word == WORD_SHUT) {
			return spill_put(queue, newest, oldest);
		} else if (advance(queue, tail)) {
			continue;
		} else {
			return spill_put(queue, newest, oldest);
		}
		/*
		 * [injection.batch] release: publishes the jobs; pairs with [injection.batch] in
		 * claim.
		 * [injection.sleepers] seq_cst: the caller looks for sleepers next. A parking
		 * worker becomes a sleeper and then looks at this word. If the store were delayed,
		 * neither would see the other.
		 */
		if (cas_seq_cst(slot, &word, word_batch(newest, sum)))
			return 0;
	}
}

/* Pushes the first `count` jobs of the list as one batch; on an error the list is as before. */
static int put_part(struct baton__injection *queue, struct baton__joblist *list, size_t count)
{
	struct baton__joblist part = baton__joblist_split(list, count);
	struct baton_job *oldest = part.first;
	struct baton_job *newest = part.last;

	(void)baton__joblist_reversed(oldest); /* as a chain from the newest to the oldest */
	int error = put(queue, newest, oldest, count);

	if (error) {
		oldest->_next = NULL;
		part = baton__joblist_reversed(newest);
		baton__joblist_join(&part, list);
		*list = part;
	}
	return error;
}

/* Claims the oldest batch and appends it to the list. False: the ring is empty. */
static bool claim(struct baton__injection *queue, struct baton__joblist *list)
{
	/* Lock-free: a round is repeated only when another consumer has moved the head. */
	for (;;) {
		uint64_t head = load_seq_cst(&queue->head); /* [injection.sleepers] */

		if (head > load_seq_cst(&queue->tail)) /* [injection.sleepers] */
			return false;

		uint64_t *slot = slot_of(queue, head);
		uint64_t word = load_seq_cst(slot); /* [injection.sleepers] */

		if (word == word_empty(head) || word == WORD_SHUT)
			return false;
		if (!is_batch(word) || !cas_acq_rel(&queue->head, &head, head + 1))
			continue;
		/* [injection.batch] acquire: the jobs. [injection.reuse] release: the slot may be
		 * used again. */
		word = swap_acq_rel(slot, word_closed(head));

		struct baton__joblist batch = baton__joblist_reversed(batch_newest(word));

		baton__joblist_join(list, &batch);
		return true;
	}
}

static bool half_is_free(const struct baton__injection *queue)
{
	uint64_t head = load_relaxed(&queue->head); /* a hint */
	uint64_t tail = load_relaxed(&queue->tail);

	return tail + 1 <= head + SLOTS / 2;
}

/* Takes the spill: the caller gets a share, and the rest goes into the ring in pieces. */
static void refill(struct baton__injection *queue, size_t share_max, struct baton__joblist *list)
{
	uint64_t top = load_seq_cst(&queue->spill); /* validated by the CAS; [injection.sleepers] */

	do {
		if (!top || top == SPILL_SHUT)
			return;
		/* [injection.spill] acquire: the jobs. */
	} while (!cas_acquire(&queue->spill, &top, 0));

	struct baton__joblist all = baton__joblist_reversed((struct baton_job *)(uintptr_t)top);
	struct baton__joblist share =
		baton__joblist_split(&all, all.count < share_max ? all.count : share_max);
	/* Half of the ring was free. Choose the size of the pieces so that all jobs fit into a
	 * quarter of the ring. */
	size_t piece = all.count / ((size_t)(SLOTS + 3) / 4) + 1;

	if (piece < BATCH)
		piece = BATCH;
	baton__joblist_join(list, &share);
	while (all.count)
		if (put_part(queue, &all, all.count < piece ? all.count : piece))
			break;
	/* If the ring was closed meanwhile, the caller gets the jobs that could not be put back. */
	baton__joblist_join(list, &all);
}

void baton__injection_init(struct baton__injection *queue)
{
	/* No other thread knows the queue yet. Positions begin at SLOTS, so that each has a
	 * predecessor one round before. */
	store_relaxed(&queue->head, SLOTS);
	store_relaxed(&queue->tail, SLOTS);
	store_relaxed(&queue->spill, 0);
	store_relaxed(&queue->slots[0], word_empty(SLOTS));
	for (uint64_t i = 1; i < SLOTS; i++)
		store_relaxed(&queue->slots[i], word_closed(i));
}

int baton__injection_push(struct baton__injection *queue, struct baton_job *job)
{
	return put(queue, job, job, 1);
}

int baton__injection_push_list(struct baton__injection *queue, struct baton__joblist *list)
{
	int error = 0;

	while (list->count && !error)
		error = put_part(queue, list, list->count < BATCH ? list->count : BATCH);
	return error;
}

void baton__injection_fetch(struct baton__injection *queue, size_t share_max,
                            struct baton__joblist *list)
{
	size_t wanted = share_max < SIZE_MAX - list->count ? list->count + share_max : SIZE_MAX;

	/* Bounded by the share. A round that adds nothing has lost the spill to another
	 * consumer. */
	while (list->count < wanted) {
		bool claimed = claim(queue, list);

		/* The CAS in refill decides. [injection.sleepers] seq_cst: as in is_empty. */
		if (BATON_UNLIKELY(load_seq_cst(&queue->spill) & ~SPILL_SHUT) &&
		    (!claimed || half_is_free(queue)))
			/* If the ring still had jobs, take none from the spill: the jobs in the
			 * ring are older. */
			refill(queue, claimed ? 0 : wanted - list->count, list);
		else if (!claimed)
			return;
	}
}

bool baton__injection_close_if_empty(struct baton__injection *queue)
{
	/* Lock-free: a round is repeated only when another thread has moved head, tail or slot. */
	for (;;) {
		uint64_t head = load_seq_cst(&queue->head);
		uint64_t tail = load_seq_cst(&queue->tail);

		if (head > tail) { /* all are claimed: open the next position, then shut it */
			if (!advance(queue, tail))
				return false;
			continue;
		}

		uint64_t *slot = slot_of(queue, head);
		uint64_t word = load_seq_cst(slot);

		if (word == WORD_SHUT)
			break;
		if (word != word_empty(head)) {
			if (load_seq_cst(&queue->head) == head)
				return false;
			continue;
		}
		/* injection.shut: EMPTY(head), so head == tail (injection.opened) */
		if (cas_seq_cst(slot, &word, WORD_SHUT))
			break;
	}

	uint64_t top = 0;

	/* Linearisation point of closing. */
	return cas_seq_cst(&queue->spill, &top, SPILL_SHUT) || top == SPILL_SHUT;
}

bool baton__injection_is_empty(const struct baton__injection *queue)
{
	uint64_t spill = load_seq_cst(&queue->spill); /* [injection.sleepers] */

	if (spill && spill != SPILL_SHUT)
		return false;
	/*
	 * [injection.sleepers] seq_cst, all three loads. A push that comes before them in the
	 * single total order put its batch into the position that was the tail then. Either head
	 * has passed that position, and its claimant is awake, or the slot at head is not empty.
	 */
	uint64_t head = load_seq_cst(&queue->head);

	if (head > load_seq_cst(&queue->tail))
		return true;

	uint64_t word = load_seq_cst(&queue->slots[head % SLOTS]);

	/* Any other word means that head is moving now. Say that there is work: the caller
	 * looks. */
	return word == word_empty(head) || word == WORD_SHUT;
}

size_t baton__injection_length(const struct baton__injection *queue)
{
	uint64_t head = load_relaxed(&queue->head); /* a hint */
	uint64_t tail = load_relaxed(&queue->tail);
	uint64_t word = load_relaxed(&queue->slots[tail % SLOTS]);
	size_t length = 0;

	if (head <= tail) {
		length = (size_t)(tail - head) * BATCH;
		if (is_batch(word))
			length += batch_count(word);
	}
	if (load_relaxed(&queue->spill) & ~SPILL_SHUT)
		length += SLOTS * BATCH;
	return length;
}
