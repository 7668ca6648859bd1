/* SPDX-License-Identifier: MIT */
/*
 * The idle set, in one word.
 *
 *   bits    | what                                    | law
 *   0..26   | tag                                     | bumped whenever what follows but the counts
 *           |                                         | changes
 *   27      | waking: the top is being woken          | set by notify; cleared by the pop of it
 *   28..39  | sleeping: workers in the stack          | with top, in the same CAS
 *   40..51  | searching: awake workers without work   | as below
 *   52..63  | top: index + 1 of the last to fall asleep, 0: none
 *
 * Transitions: enter: push, sleeping + 1, searching - 1 if it was; not while waking. notify: only
 * while searching is 0: waking; then, by anybody: pop, sleeping - 1, searching + 1.
 * try_search, stop_searching: searching +- 1.
 *
 * Invariants:
 * idle.links: The stack's links are in the sleepers; a link is written by its worker before the CAS
 *    that pushes it, and does not change while it is in the stack.
 * idle.in_stack: A worker is in the stack from its CAS in enter until a CAS pops it (or wake_all,
 *    after which nobody counts). Its wake word is even, another number each time, from before until
 *    it is woken; odd from then on. It does not leave wait before it is popped.
 * idle.no_work_overlooked: No work is overlooked. Whoever makes work visible does so by a seq_cst
 *    write and then loads the word (notify). A worker that leaves the searching with nobody else
 *    searching (enter: LOOK; stop_searching: true) does so by a seq_cst CAS and then loads all
 *    queues, seq_cst. In the one order of these, either its loads come after the write, and it
 *    finds the work and notifies; or the load of the word comes after its CAS, and notify sees a
 *    sleeper or, again, a searching worker: with which it begins anew, and ends with the last to
 *    search, as their number is finite. A worker that is awake and not searching looks at the
 *    queues before it sleeps. Who finds a wake-up on its way completes it: the woken one is popped,
 *    and searches, later.
 * idle.one_wake: While somebody searches nobody is woken: a burst costs one wake-up at a time. A
 *    wake-up has three steps (waking, the wake word, the pop), each of which anybody can make: a
 *    notifier that is stopped between them delays nobody.
 *
 * ABA: a CAS that stalls after its load would have to miss exactly 2^27 changes of the stack, each
 * with a system call; minutes.
 */
#include "pool/idle.h"

#include <limits.h>

#include "base/atomic.h"
#include "base/futex.h"

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

/* The word with another top, and the tag bumped. */
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
	store_relaxed(&idle->word, 0); /* before any other thread knows it */
	for (size_t i = 0; i < count; i++) {
		store_relaxed(&sleepers[i].wake, 1);
		store_relaxed(&sleepers[i].next, 0);
	}
}

/* Is it still the same wake-up, or the same stack? The counts may have changed. */
static bool same_stack(uint64_t word, uint64_t other)
{
	uint64_t counts = FIELD * SLEEPING_ONE | FIELD * SEARCHING_ONE;

	return (word & ~counts) == (other & ~counts);
}

/* The last step of the wake-up that `word` shows, unless it has been made. */
static void pop_woken(struct baton__idle *idle, uint64_t word)
{
	struct baton__sleeper *sleeper = &idle->sleepers[top(word) - 1];
	uint64_t found = word;
	uint64_t popped;

	/* Lock-free: a CAS fails only because another thread's has succeeded. */
	do {
		if (!same_stack(found, word))
			return;
		/* Relaxed: while it is in the stack the link does not change, and its push released
		 * it ([idle.link]); the CAS confirms that it is. */
		popped = with_top(found, load_relaxed(&sleeper->next)) - SLEEPING_ONE +
		         SEARCHING_ONE;
		/* [idle.link] acquire: the link of the next pop, see enter */
	} while (!cas_seq_cst(&idle->word, &found, popped));
}

/* The steps of the wake-up that `word` shows. Any thread; harmless if it is over. */
static void wake_top(struct baton__idle *idle, uint64_t word)
{
	struct baton__sleeper *sleeper = &idle->sleepers[top(word) - 1];
	/* [idle.number] acquire: the number of this sleep, not of one before; pairs with
	 * [idle.number] in enter. */
	uint32_t wake = load_acquire(&sleeper->wake);

	/* The number belongs to this wake-up if that is still on its way. */
	if (!same_stack(load_seq_cst(&idle->word), word))
		return;
	/* [idle.woken] release: what was done before the wake-up; pairs with [idle.woken] in
	 * wait. */
	if (!(wake & 1))
		(void)cas_release(&sleeper->wake, &wake, wake + 1);
	baton__futex_wake(&sleeper->wake, 1);
	pop_woken(idle, word);
}

bool baton__idle_notify(struct baton__idle *idle)
{
	/* Lock-free: a CAS fails only because another thread's has succeeded. */
	for (;;) {
		/* [idle.work] seq_cst: after the caller's write; else both sides could see
		 * nothing. */
		uint64_t word = load_seq_cst(&idle->word);
		uint64_t waking = with_top(word, top(word)) | WAKING;

		if (word & WAKING) {
			wake_top(idle, word);
			return true;
		}
		if (searching(word) || !sleeping(word))
			return false;
		BATON_ASSERT(top(word) != 0);
		/* [idle.link] acquire: the link; pairs with [idle.link] in enter */
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

	/* Lock-free: a CAS fails only because another thread's has succeeded. */
	do {
		if (searching(word) && 2 * (searching(word) + 1) > idle->worker_count)
			return false;
		/* [idle.work] seq_cst: one of the transitions that idle.no_work_overlooked
		 * counts. */
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

	/* Another even number: see idle.in_stack. [idle.ending] seq_cst: before the caller's last
	 * look at the state: either it sees the end, or wake_all's 1 comes after this.
	 * [idle.number] release: before the push; pairs with [idle.number] in wake_top. */
	store_seq_cst(&sleeper->wake, (load_relaxed(&sleeper->wake) | 1) + 1);
	/* Lock-free: a CAS fails only because another thread's has succeeded. */
	for (;;) {
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

void baton__idle_wait(struct baton__idle *idle, size_t worker)
{
	const uint32_t *wake = &idle->sleepers[worker].wake;
	struct baton__futex_watch watch = {wake, 0};
	uint64_t word;

	/* Ended by notify or wake_all. [idle.woken] acquire: what was done before the wake-up. */
	while (!((watch.value = load_acquire(wake)) & 1))
		(void)baton__futex_wait(&watch, 1, NULL);
	/* Whoever woke us may have been stopped before the pop. */
	word = load_seq_cst(&idle->word);
	if (word & WAKING && top(word) == worker + 1)
		pop_woken(idle, word);
}

bool baton__idle_all_busy(const struct baton__idle *idle)
{
	uint64_t word = load_relaxed(&idle->word); /* a hint */

	return !searching(word) && !sleeping(word);
}

size_t baton__idle_asleep(const struct baton__idle *idle)
{
	return sleeping(load_seq_cst(&idle->word));
}
