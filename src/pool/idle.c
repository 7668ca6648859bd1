/* SPDX-License-Identifier: MIT */
/*
 * The idle set. Its state is one word:
 *
 *   bits    | what                                       | changed by
 *   0..26   | tag: grows by 1 whenever another field     | enter, notify, pop
 *           | than a count changes                       |
 *   27      | waking: the top sleeper is being woken     | set by notify; cleared by its pop
 *   28..39  | sleeping: the workers in the stack         | enter, pop: in the CAS that changes top
 *   40..51  | searching: awake workers that look for     | enter, pop, try_search,
 *           | work                                       | stop_searching
 *   52..63  | top: index + 1 of the newest sleeper; 0:   | enter, pop
 *           | none                                       |
 *
 * Transitions: enter: push, sleeping + 1, searching - 1 if the worker searched; not while waking.
 * notify: waking, only while searching is 0. Then any thread: pop, sleeping - 1, searching + 1.
 * try_search: searching + 1. stop_searching: searching - 1.
 *
 * Invariants:
 * idle.links: A sleeper's link names the sleeper below it in the stack. The worker writes its own
 *    link before the CAS that pushes the worker. The link does not change while the worker is in
 *    the stack.
 * idle.in_stack: A worker is in the stack from its CAS in enter until a CAS pops it (after wake_all
 *    the stack has no meaning). Its wake word is even from before the push until the worker is
 *    woken, and odd from then on; each sleep has another even number. baton__idle_wait does not
 *    return true before that pop.
 * idle.no_work_overlooked: No work is overlooked. A thread that publishes work does so by a seq_cst
 *    write, and then loads the word (notify). When the last searching worker stops searching
 *    (enter: LOOK; stop_searching: true), it does so by a seq_cst RMW, and then loads all queues,
 *    seq_cst. In the single order of these operations there are two cases. First: the loads of the
 *    queues come after the write; the worker finds the work, and notifies. Second: notify's load of
 *    the word comes after the RMW. If this load shows a sleeper, notify wakes that sleeper. If it
 *    shows a worker that has begun to search since, the argument begins again for that worker, and
 *    ends with the last of finitely many searching workers. If it shows neither, all workers are
 *    awake and none searches, and each worker looks at the queues before it sleeps. A notify that
 *    finds a wake-up on its way completes that wake-up: the woken worker searches after the write.
 * idle.one_wake: No worker is woken while a worker searches: a burst costs one wake-up at a time. A
 *    wake-up has three steps (waking, the wake word, the pop). Any thread can make each step, so a
 *    notifier that is stopped between two steps delays no other thread.
 *
 * ABA: a CAS that stalls after its load succeeds wrongly only if the tag has grown by a multiple of
 * 2^27 meanwhile. One sleep of a worker adds 3, and costs a system call: 2^27 take a minute or
 * more.
 */
#include "pool/idle.h"

#include "base/atomic.h"
#include "base/futex.h"
#include "base/probe.h"

#include <errno.h>
#include <limits.h>

#define FIELD UINT64_C(0xFFF)
#define TAG_MASK ((UINT64_C(1) << 27) - 1)
#define WAKING (UINT64_C(1) << 27)
#define SLEEPING_ONE (UINT64_C(1) << 28)
#define SEARCHING_ONE (UINT64_C(1) << 40)
#define TOP_SHIFT 52

static uint32_t sleeping(uint64_t word)
{
	return (uint32_t)(word / SLEEPING_ONE & FIELD);
}

static uint32_t searching(uint64_t word)
{
	return (uint32_t)(word / SEARCHING_ONE & FIELD);
}

static uint32_t top(uint64_t word)
{
	return (uint32_t)(word >> TOP_SHIFT);
}

/* The word with another top, a tag that is 1 higher, and waking cleared. */
static uint64_t with_top(uint64_t word, uint32_t index_plus_1)
{
	uint64_t counts = word & (FIELD * SLEEPING_ONE | FIELD * SEARCHING_ONE);

	return (uint64_t)index_plus_1 << TOP_SHIFT | counts | ((word + 1) & TAG_MASK);
}

void baton__idle_init(struct baton__idle *idle, struct baton__sleeper *sleepers, size_t count)
{
	BATON_ASSERT(count >= 1);
	BATON_ASSERT(count <= BATON__IDLE_WORKERS_MAX);
	idle->sleepers = sleepers;
	idle->worker_count = (uint32_t)count;
	store_relaxed(&idle->word, 0); /* no other thread knows the set yet */
	for (size_t i = 0; i < count; i++) {
		store_relaxed(&sleepers[i].wake, 1);
		store_relaxed(&sleepers[i].next, 0);
	}
}

/* Do both words show the same stack, and the same wake-up, if there is one? Counts may differ. */
static bool same_stack(uint64_t word, uint64_t other)
{
	uint64_t counts = FIELD * SLEEPING_ONE | FIELD * SEARCHING_ONE;

	return (word & ~counts) == (other & ~counts);
}

/* The last step of the wake-up that `word` shows, unless another thread has made it. */
static void pop_woken(struct baton__idle *idle, uint64_t word)
{
	struct baton__sleeper *sleeper = &idle->sleepers[top(word) - 1];
	uint64_t found = word;
	uint64_t popped;

	/* Lock-free: a CAS fails only because the CAS of another thread has succeeded. */
	do {
		if (!same_stack(found, word))
			return;
		/* Relaxed: the push has released the link ([idle.link]), which does not change
		 * while the sleeper is in the stack. The CAS confirms that the sleeper is still in
		 * the stack. */
		popped = with_top(found, load_relaxed(&sleeper->next)) - SLEEPING_ONE +
		         SEARCHING_ONE;
		/* [idle.link] acquire: the link that the next pop reads; pairs with [idle.link] in
		 * enter. Relaxed is enough: as in notify. */
	} while (!cas_seq_cst(&idle->word, &found, popped));
}

/* Makes the remaining steps of the wake-up that `word` shows. Any thread; no effect if the wake-up
 * is over. */
static void wake_top(struct baton__idle *idle, uint64_t word)
{
	struct baton__sleeper *sleeper = &idle->sleepers[top(word) - 1];
	/* [idle.number] acquire: the number of this sleep, not of an earlier one; pairs with
	 * [idle.number] in enter. Relaxed is seldom noticed: found in 30,000 executions
	 * (edge_idle_3). */
	uint32_t wake = load_acquire(&sleeper->wake);

	/* If the wake-up is still on its way, the number loaded above belongs to it. Relaxed is
	 * enough: by [idle.number] the word is not older than the pop before the number; if the
	 * number is this sleep's, the number decides. */
	if (!same_stack(load_seq_cst(&idle->word), word))
		return;
	/* [idle.woken] release: what was done before the wake-up; pairs with [idle.woken] in
	 * wait. */
	if (!(wake & 1))
		(void)cas_release(&sleeper->wake, &wake, wake + 1);
	BATON_PROBE(wake, &sleeper->wake, top(word) - 1);
	baton__futex_wake(&sleeper->wake, 1);
	pop_woken(idle, word);
}

bool baton__idle_notify(struct baton__idle *idle)
{
	/* Lock-free: a CAS fails only because the CAS of another thread has succeeded. */
	for (;;) {
		/* [idle.work] seq_cst: after the caller's write. Otherwise caller and worker could
		 * miss each other: idle.no_work_overlooked. */
		uint64_t word = load_seq_cst(&idle->word);
		uint64_t waking = with_top(word, top(word)) | WAKING;

		if (word & WAKING) {
			wake_top(idle, word);
			return true;
		}
		if (searching(word) || !sleeping(word))
			return false;
		BATON_ASSERT(top(word) != 0);
		/* [idle.link] acquire: the link; pairs with [idle.link] in enter. Relaxed is
		 * enough: the load of the word has acquired the link of the top that is woken; and
		 * for idle.one_wake a wake-up only adds a searching worker, whose own steps are
		 * ordered. */
		if (cas_seq_cst(&idle->word, &word, waking)) {
			wake_top(idle, waking);
			return true;
		}
	}
}

void baton__idle_wake_all(struct baton__idle *idle)
{
	for (uint32_t i = 0; i < idle->worker_count; i++) {
		/* [idle.ending] seq_cst: after the state that ends the pool; pairs with
		 * [idle.ending] in enter.
		 * [idle.woken] release: pairs with [idle.woken] in wait. */
		(void)or_seq_cst(&idle->sleepers[i].wake, 1);
		baton__futex_wake(&idle->sleepers[i].wake, INT_MAX);
	}
}

bool baton__idle_try_search(struct baton__idle *idle)
{
	uint64_t word = load_relaxed(&idle->word); /* validated by the CAS */

	/* Lock-free: a CAS fails only because the CAS of another thread has succeeded. */
	do {
		if (searching(word) && 2 * (searching(word) + 1) > idle->worker_count)
			return false;
		/* [idle.work] seq_cst: idle.no_work_overlooked needs this transition in the single
		 * order. Relaxed is enough: a thread that sees this worker searching relies on the
		 * step that ends the search. */
	} while (!cas_seq_cst(&idle->word, &word, word + SEARCHING_ONE));
	return true;
}

bool baton__idle_stop_searching(struct baton__idle *idle)
{
	/* [idle.work] seq_cst: before the caller's look at the queues. */
	uint64_t word = sub_seq_cst(&idle->word, SEARCHING_ONE);

	BATON_ASSERT(searching(word) != 0);
	return searching(word) == 1;
}

enum baton__idle_entered baton__idle_enter(struct baton__idle *idle, size_t worker,
                                           bool was_searching, bool alone)
{
	struct baton__sleeper *sleeper = &idle->sleepers[worker];
	uint64_t pushed;

	/* The next even number: idle.in_stack. [idle.ending] seq_cst: before the caller's last look
	 * at the state. Either the caller sees the end, or wake_all makes the number odd after this
	 * store. [idle.number] release: before the push; pairs with [idle.number] in wake_top. */
	store_seq_cst(&sleeper->wake, (load_relaxed(&sleeper->wake) | 1) + 1);
	/* Lock-free: a CAS fails only because the CAS of another thread has succeeded. */
	for (;;) {
		/* Acquire is enough: the compare-and-swap confirms the word; ALONE follows from
		 * coherence. */
		uint64_t word = load_seq_cst(&idle->word);

		if (word & WAKING) {
			wake_top(idle, word);
			continue;
		}
		if (alone && sleeping(word) == idle->worker_count - 1)
			return BATON__IDLE_ALONE;
		store_relaxed(&sleeper->next, top(word)); /* idle.links: published by the CAS */
		pushed = with_top(word, (uint32_t)worker + 1) + SLEEPING_ONE;
		if (was_searching)
			pushed -= SEARCHING_ONE;
		/* [idle.link] release: the link; pairs with [idle.link] in notify, pop_woken.
		 * [idle.work] seq_cst: before the caller's look at the queues. */
		if (cas_seq_cst(&idle->word, &word, pushed))
			return searching(pushed) ? BATON__IDLE_ENTERED : BATON__IDLE_LOOK;
	}
}

bool baton__idle_wait(struct baton__idle *idle, size_t worker, uint64_t deadline_ns)
{
	const uint32_t *wake = &idle->sleepers[worker].wake;
	struct baton__futex_watch watch = {wake, 0};
	uint64_t word;

	/* Ended by notify, wake_all or the deadline. [idle.woken] acquire: what was done before the
	 * wake-up. */
	while (!((watch.value = load_acquire(wake)) & 1))
		if (baton__futex_wait(&watch, 1, deadline_ns) == -ETIMEDOUT)
			return false;
	/* The thread that woke this worker may have been stopped before the pop. Relaxed is enough:
	 * by [idle.woken] the word is not older than the WAKING before the wake word. */
	word = load_seq_cst(&idle->word);
	if (word & WAKING && top(word) == worker + 1)
		pop_woken(idle, word);
	return true;
}

bool baton__idle_all_busy(const struct baton__idle *idle)
{
	uint64_t word = load_relaxed(&idle->word); /* a hint */

	return !searching(word) && !sleeping(word);
}

size_t baton__idle_asleep(const struct baton__idle *idle)
{
	/* Relaxed is enough: for tests and statistics. */
	return sleeping(load_seq_cst(&idle->word));
}
