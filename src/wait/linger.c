/* SPDX-License-Identifier: MIT */
/*
 * Lingering. A thread that asks for the baton in its turn is handed the baton asleep: until it has
 * woken, no other thread can use the resource. If all threads do that, each of them waits for the
 * wake-ups of all others (a convoy), and the resource is used a hundredth of the time. So a thread
 * that wants to hold lingers first: it looks again and again whether the resource is idle, and
 * gives the CPU away meanwhile, while other threads capture the resource as it becomes idle. It
 * lingers for a bounded time, after which it asks in its turn.
 *
 * A resource whose inbox is never found empty does not become idle: its runner has tasks. There a
 * thread lingers for a few looks alone.
 *
 * Progress: each look ends with a time-out; no event is waited for.
 *
 * Source: M. Blasgen et al., "The convoy phenomenon", 1979. A mutex that is handed over only to a
 * thread that has waited for a millisecond: Go's sync.Mutex.
 */
#include "wait/linger.h"

#include "base/futex.h"
#include "core/turn.h"
#include "core/word.h"

/* What one linger takes at most; a thread that holds batons keeps others waiting meanwhile. */
#define LINGER_NS 10000000U
#define LINGER_HOLDING_NS 1000000U

/* Turns of an empty loop in the first pause; each further pause is twice as long. */
#define PAUSE_FIRST 4U
#ifndef BATON_LINGER_YIELDS /* tests make these small */
#define BATON_LINGER_PAUSES 8U
#define BATON_LINGER_YIELDS 200U
#define BATON_LINGER_QUEUED 4U
#endif
#define SLEEP_MIN_NS 50000U
#define SLEEP_MAX_NS 1000000U

void baton__linger_begin(struct baton__linger *linger, uint64_t deadline_ns)
{
	const uint64_t now_ns = baton__now_ns();
	const uint64_t until_ns = baton__time_after(
		now_ns, baton__depth(baton__self) > 0 ? LINGER_HOLDING_NS : LINGER_NS);

	*linger = (struct baton__linger){
		.until_ns = deadline_ns < until_ns ? deadline_ns : until_ns,
		.sleep_ns = SLEEP_MIN_NS,
		.left = baton__yields_begin(&linger->yields) ? BATON_LINGER_YIELDS : 0,
	};
	linger->yields.begun_ns = linger->yields.last_ns = now_ns;
}

/* Waits for a moment. False: the time is over. */
static bool pause_once(struct baton__linger *linger)
{
	static uint32_t nobody; /* wakes this sleeper */
	const struct baton__futex_watch watch = {&nobody, 0};
	uint64_t now_ns;

	if (linger->pauses < BATON_LINGER_PAUSES) {
		for (uint32_t i = PAUSE_FIRST << linger->pauses; i > 0; i--)
			baton__pause();
		linger->pauses++;
		return true;
	}
	now_ns = baton__now_ns();
	if (now_ns >= linger->until_ns)
		return false;
	if (linger->left > 0) {
		linger->left--;
		if (!baton__yield(&linger->yields))
			linger->left = 0;
		return true;
	}
	(void)baton__futex_wait(&watch, 1, baton__time_after(now_ns, linger->sleep_ns));
	if (linger->sleep_ns < SLEEP_MAX_NS)
		linger->sleep_ns *= 2;
	return true;
}

bool baton__linger_look(const struct baton_resource *resource, struct baton__linger *linger)
{
	/* Ends at until_ns. */
	for (;;) {
		const uintptr_t word = baton__word(resource);

		if (!baton__word_is_busy(word))
			return !baton__word_is_closed(word) && baton__now_ns() < linger->until_ns;
		/* A resource in a queue is drained up to the caller's turn, by the caller. */
		if (baton__word_is_closed(word) || baton__word_is_resting(word) ||
		    !baton__turn_seems_held(resource))
			return false;
		linger->queued = baton__word_newest(word) ? linger->queued + 1 : 0;
		if (linger->queued > BATON_LINGER_QUEUED || !pause_once(linger))
			return false;
		if (linger->often)
			return true;
	}
}
