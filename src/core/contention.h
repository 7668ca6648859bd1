/* SPDX-License-Identifier: MIT */
/*
 * Contention: what a thread does where other threads use the same resource, and what it learns from
 * that. Each remedy is here, with its constants; what a thread has learnt is in its record
 * (struct baton__contention, learnt.h). No remedy is needed for correctness.
 *
 * WARY: a CAS on the word of a busy resource takes the cache line away from the runner. After a
 *    capture that has failed, the next captures look at the word first (baton/inline.h).
 * STAND_BACK: a pushed task moves to the runner's CPU and back. A submitter looks for a moment
 *    whether the resource becomes idle, before it pushes.
 * STAND_BACK_CALL: where callers push, their runner never releases. A caller looks for longer.
 * BACK_OFF: pushes to one word fail beside each other. A thread waits after each failure.
 * HOT: where one resource is all that a thread works on, STAND_BACK, STAND_BACK_CALL and BACK_OFF
 *    wait long.
 * LOAN: a queue grows faster than its executor drains it. A submitter runs a part of it (loan.h).
 *    Without loans the queues of an overload grow without end (W23).
 * DEBT: the submitters are in tasks, where no loan is possible. The loan comes later (loan.h).
 * RECALL: an empty resource waits in the queue for a thread of the executor. A borrower takes the
 *    resource out of the queue (visit.h).
 * AHEAD: a walk over a long inbox waits for each line. The walk fetches later entries' lines early.
 * Beside these: after a yield that took long, a thread waits without yields for a time (yield.c).
 *
 * `make bench-ablate` switches off one after the other (BATON_ABLATE), and prints what it is worth.
 */
#ifndef BATON_SRC_CONTENTION_H
#define BATON_SRC_CONTENTION_H

#include "core/resource.h"

/* ---- Constants: tests and the explorer make them small ---- */

/* A thread waits long where its last STREAK_LONG events were all at one resource. */
#define BATON__STREAK_LONG 8U

/* Turns of an empty loop after a failed push: from about 20 ns to 1 us, after the maximum the
 * minimum again. HOT: about 2.5 us at first, then 5 us. */
#ifndef BATON_BACKOFF_MIN
#define BATON_BACKOFF_MIN 64U
#define BATON_BACKOFF_MAX 4096U
#define BATON_BACKOFF_HOT_MIN 8192U
#define BATON_BACKOFF_HOT_MAX 16384U
#endif

/* FIRST: rounds of an empty loop in the first pause, some 10 ns. In each further pause a submitter
 * makes twice as many, a caller four times as many, up to CALL_LAST. HOT_FIRST: at a hot resource,
 * some 2.5 us. SKIP: so many tasks are pushed without a look after a failure. CALL_SKIP_MAX: so
 * many calls in a row, at most, do not stand back (a power of 2). */
#ifndef BATON_STAND_BACK_FIRST
#define BATON_STAND_BACK_FIRST 32U
#define BATON_STAND_BACK_LOOKS 8
#define BATON_STAND_BACK_HOT_FIRST 8192U
#define BATON_STAND_BACK_HOT_LOOKS 2
#define BATON_STAND_BACK_CALL_LOOKS 9U
#define BATON_STAND_BACK_CALL_HOT_LOOKS 5U
#define BATON_STAND_BACK_CALL_LAST 8192U
#endif
#define BATON__STAND_BACK_SKIP_MIN 16U
#define BATON__STAND_BACK_SKIP_MAX 4096U
#define BATON__STAND_BACK_CALL_SKIP_MAX 64U

/* SKIP: how many pushes to queued resources put the next loan off. EAGER: after a loan that has
 * left tasks, how many loans that leave no tasks put nothing off (loan.h). */
#ifndef BATON_LOAN_SKIP_MIN
#define BATON_LOAN_SKIP_MIN BATON__LOAN_SKIP_FIRST
#define BATON_LOAN_SKIP_MAX 512U
#define BATON_LOAN_EAGER 64U
#endif

/* FROM: a walk fetches ahead after so many equal steps. MAX: so many entries ahead, at most. */
#define BATON__AHEAD_FROM 12U
#define BATON__AHEAD_MAX 8U

/* ---- Ablation: which remedies this build lacks ---- */

#ifndef BATON_ABLATE
#define BATON_ABLATE 0U
#endif
#define BATON__STAND_BACK 1U
#define BATON__STAND_BACK_CALL 2U
#define BATON__BACK_OFF 4U
#define BATON__HOT 8U
#define BATON__LOAN 16U
#define BATON__DEBT 32U
#define BATON__RECALL 64U
#define BATON__AHEAD 128U
#define BATON__LACKS(remedy) ((BATON_ABLATE & (remedy)) != 0)

/* ---- Hot or not ---- */

/*
 * Does a thread meet with contention at one resource only? A thread that waits for a moment before
 * it touches a contended cache line again should wait long where this line is all that it works on,
 * and for a short time where it has other resources to submit to.
 *
 * Counts one event at the resource. True: BATON__STREAK_LONG events before it, or more, were all at
 * this resource.
 */
bool baton__streak(struct baton__streak *streak, const struct baton_resource *resource);

/* ---- After a push whose CAS has failed ---- */

/*
 * Waits. `*rounds`: 0 before the first wait of a submit. The thread has a record.
 *
 * The word's cache line goes from CPU to CPU with each push by another thread, which takes 50 to
 * 250 ns; a thread that has the line to itself pushes many tasks in that time. So threads that all
 * push to one resource should each wait for some microseconds. For a thread that has other
 * resources to submit to, such a wait costs more than it gains.
 *
 * Source: exponential back-off: T. Anderson, "The Performance of Spin Lock Alternatives for
 * Shared-Memory Multiprocessors", 1990.
 */
void baton__back_off(const struct baton_resource *resource, uint32_t *rounds);

/* ---- Before a push: standing back (contention.c) ---- */

/* Should this thread stand back before it pushes `count` tasks to a busy resource? */
BATON_INLINE bool baton__stand_back_due(struct baton__thread *self, uint32_t count)
{
	/* A thread that holds another resource would make the submitters of that resource wait,
	 * too. A thread without a record does not stand back either: its depth is above 0. */
	if (BATON__LACKS(BATON__STAND_BACK) || baton__depth(self) > 0)
		return false;
	if (self->learnt.stand_back_skip < count)
		return true;
	self->learnt.stand_back_skip = (uint16_t)(self->learnt.stand_back_skip - count);
	return false;
}

/* Stands back from a busy resource for a moment. True: the resource is idle and open now. */
bool baton__stand_back(const struct baton_resource *resource);

/* A caller stands back: what is left of its looks. */
struct baton__stand_back_call {
	uint32_t left;
	uint32_t pause; /* before the next look: rounds of an empty loop */
};

/*
 * A caller stands back from a busy resource. begin: false: the caller should not stand back. look:
 * true: the resource is idle now, and the caller tries to capture it; if the capture fails, the
 * caller looks again. False: no look is left, or no look helps.
 */
bool baton__stand_back_call_begin(const struct baton_resource *resource,
                                  struct baton__stand_back_call *looks);
bool baton__stand_back_call_look(const struct baton_resource *resource,
                                 struct baton__stand_back_call *looks);

/* Learns for the thread's next calls. `late`: the caller has waited, and has given the CPU away
 * meanwhile. False: the caller has captured the resource. */
BATON_INLINE void baton__stand_back_call_learn(struct baton__thread *self, bool late)
{
	if (!late)
		self->learnt.call_next = 0;
	else if (self->learnt.call_next < BATON__STAND_BACK_CALL_SKIP_MAX)
		self->learnt.call_next = self->learnt.call_next ? 2U * self->learnt.call_next : 1;
	self->learnt.call_skip = self->learnt.call_next;
}

/* Stands back, if that is due, before `count` tasks are submitted. (A submit to a plainly busy
 * resource does these steps itself: submit.c.) */
BATON_INLINE void baton__stand_back_if_due(const struct baton_resource *resource, uint32_t count)
{
	uintptr_t word = baton__word(resource); /* a hint */

	/* On a resource with BATON_CAPTURE_NONE this thread may run nothing. */
	if (baton__word_is_busy(word) && !baton__word_is_closed(word) &&
	    baton__stand_back_due(baton__self, count) && baton__capture_max(resource))
		(void)baton__stand_back(resource);
}

/* ---- Loans ---- */

/* Is the next loan put off? Counts one push to a queued resource. */
BATON_INLINE bool baton__loan_put_off(struct baton__thread *self)
{
	if (BATON__LACKS(BATON__LOAN))
		return true;
	if (self->learnt.loan_skip == 0)
		return false;
	self->learnt.loan_skip--;
	return true;
}

/* Learns for the thread's next loans. `left`: the stay ended before the queue was empty.
 * `recalled`: the loan has taken the job out of its queue. */
void baton__loan_learn(struct baton__thread *self, bool left, bool recalled);

/* ---- Walks over long inboxes ---- */

/*
 * A walk over a chain that other threads have pushed waits for one cache line after the other: each
 * entry alone tells where the next one lies. Entries of an array or a ring lie at equal steps.
 * Where BATON__AHEAD_FROM steps in a row were equal, the line of a later entry is fetched early. A
 * guess beyond the end of the chain takes a line from a thread that may be about to use that line:
 * so a walk over a short chain guesses nothing, and a guess goes further as the chain gets longer.
 */
/* The state of a walk; all 0 when the walk begins. */
struct baton__ahead {
	uintptr_t step; /* the last one, modulo 2^64 */
	uint32_t equal; /* so many steps before the last were equal to it */
};

/* The walk goes from `task` to `next`, which may be NULL. */
BATON_INLINE void baton__fetch_ahead(struct baton__ahead *ahead, const struct baton_task *task,
                                     const struct baton_task *next)
{
	const uintptr_t step = (uintptr_t)next - (uintptr_t)task;
	uint32_t count;

	ahead->equal = step == ahead->step ? ahead->equal + 1 : 0;
	ahead->step = step;
	if (BATON__LACKS(BATON__AHEAD) || BATON_LIKELY(ahead->equal < BATON__AHEAD_FROM))
		return;
	count = ahead->equal / 4 < BATON__AHEAD_MAX ? ahead->equal / 4 : BATON__AHEAD_MAX;
	__builtin_prefetch((const void *)((uintptr_t)next + count * step), 1);
}

#endif
