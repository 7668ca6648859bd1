/* SPDX-License-Identifier: MIT */
/*
 * A timer's word, and its wheel: who may change what.
 *
 * timer->_word: the deadline, 55 bits, and below it flags. The 55 bits are nanoseconds up to 2^54
 * (208 days); beyond that they are 2^54 plus units of 1,024 ns, rounded up, and all ones for ever.
 * So a later deadline is a greater number. The flags:
 *   ARMED    a run is wanted at the deadline. Set by arm; cleared by stop, and by the holder of the
 *            wheel when the deadline has passed (then DUE), or the wheel ends
 *   DUE      it has expired, and its function is yet to be entered. Cleared then, or by
 *            stop or arm: then the run that is queued is passed without effect
 *   POSTED   in the wheel's inbox, or about to be pushed there by who has set it; cleared by the
 *            holder. The holder does then what the word says, so nobody posts it twice
 *   PLACED   linked in a slot; set and cleared by the holder alone
 *   TASK     its task is with the resource, or about to be submitted; set by the holder (the
 *            driver, or a run that another run follows at once), cleared by the run, or when it
 *            was refused or cancelled
 *   RUNNING  the function is running, or what follows it is under way
 *   REPEAT   armed again after the run, as _repeat says; cleared by stop and by a plain arm
 *   GONE     stop_then waits for the last of TASK and RUNNING; arm is refused
 *   DONE     it has run since it was last armed
 * Whoever finds none of POSTED, PLACED, TASK and RUNNING has the timer's memory for himself.
 *
 * Invariants:
 * timer.deadline: A placed timer's slot is looked at no later than the deadline in the word says,
 *    or it is POSTED: so a deadline that does not come nearer needs nothing but the word.
 * timer.links: Links are changed by the wheel's holder, and before the CAS that clears PLACED or
 *    POSTED, which is its last touch of a timer without TASK.
 * timer.one_task: At most one task of a timer is queued: TASK is set before the submit, and while
 *    it is set an expiry only makes the queued run valid (again).
 * timer.running: RUNNING is kept until a repeated timer has been posted, and, if stopped meanwhile,
 *    removed: who finds it cleared finds no thread of ours at the timer.
 * timer.handed: `handing` names the timer from before TASK is visible until its resource has
 *    accepted the task; or, when it has refused or dropped it, until the driver is past the timer,
 *    save for telling the user. It is set by the driver, at most one thread.
 *
 * timers->word: the wheel's holder and its inbox, like a resource's:
 *   HELD     somebody changes the wheel; nobody runs anything of the user's meanwhile
 *   CLOSED   no more arms; set by the holder, for good
 *   INBOX    the last timer pushed, linked by _posted; only while HELD
 *
 * Linearisation points: arm: its CAS on the timer's word (refused: the failed push). stop, disarm:
 * their CAS on the timer's word. Close: the release that sets CLOSED. Expiry: the CAS ARMED -> DUE.
 * Progress: arm and disarm are lock-free; who wants to hold the wheel waits for its holder.
 * ABA: on the timer's word a recurring value has the same meaning (timer.deadline); the inbox is
 * taken whole.
 */
#ifndef BATON_SRC_TIMER_H
#define BATON_SRC_TIMER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include <baton/task_type.h>
#include <baton/timer.h>

#include "base/atomic.h"
#include "base/platform.h"
#include "timer/wheel.h"

#define BATON__TIMER_ARMED ((uint64_t)1)
#define BATON__TIMER_DUE ((uint64_t)2)
#define BATON__TIMER_POSTED ((uint64_t)4)
#define BATON__TIMER_PLACED ((uint64_t)8)
#define BATON__TIMER_TASK ((uint64_t)0x10)
#define BATON__TIMER_RUNNING ((uint64_t)0x20)
#define BATON__TIMER_REPEAT ((uint64_t)0x40)
#define BATON__TIMER_GONE ((uint64_t)0x80)
#define BATON__TIMER_DONE ((uint64_t)0x100)
#define BATON__TIMER_FLAGS ((uint64_t)0x1ff)
#define BATON__TIMER_FLAG_BITS 9U
#define BATON__TIMER_FOR_EVER (~(uint64_t)0 >> BATON__TIMER_FLAG_BITS)
#define BATON__TIMER_EXACT ((uint64_t)1 << 54) /* from here on in units of 1,024 ns */
#define BATON__TIMER_UNIT_BITS 10U
#define BATON__TIMER_LINKED (BATON__TIMER_POSTED | BATON__TIMER_PLACED)
#define BATON__TIMER_BUSY (BATON__TIMER_TASK | BATON__TIMER_RUNNING)

/* timer->_repeat: how, and above that the period. */
#define BATON__REPEAT_SKIP 0U
#define BATON__REPEAT_CATCH_UP 1U
#define BATON__REPEAT_DELAY 2U
#define BATON__REPEAT_HOW 3U
#define BATON__REPEAT_SHIFT 2U

#define BATON__TIMERS_HELD ((uintptr_t)1)
#define BATON__TIMERS_CLOSED ((uintptr_t)2)
#define BATON__TIMERS_INBOX (~(uintptr_t)7)

struct baton__thread;

struct baton_timers {
	/* What arms touch. */
	uintptr_t word BATON_CACHE_ALIGNED;
	uint32_t released; /* a futex word: bumped for those who sleep until they may hold */
	uint32_t sleepers; /* how many */
	/* From here on the holder's. */
	uint64_t sleep_until
		BATON_CACHE_ALIGNED; /* tick: an earlier one is worth an alarm; 0: none */
	bool alarming;               /* to be woken after the release */
	uint32_t alarm;              /* futex word of the thread; bumped by the holder */
	unsigned shift;              /* a tick is 2^shift ns; constant */
	struct baton_timers_stats stats;
	struct baton__wheel wheel;
	/* The driver's. */
	struct baton__thread *driver BATON_CACHE_ALIGNED; /* by CAS from NULL, by itself to NULL */
	struct baton_timer *handing;                      /* timer.handed */
	uint64_t virtual_now;
	pthread_t thread;
	/* Constant, and the count of those who need all this: the owner, and each TASK. */
	struct baton_timers_options config BATON_CACHE_ALIGNED;
	bool is_default; /* timers_thread.c's: baton_timers_destroy refuses it */
	uint32_t references;
};

/* ---- The holder: timers.c ---- */

/* Waits until the calling thread holds the wheel. hold_at_once: if nobody does, and it is open. */
void baton__timers_hold(struct baton_timers *timers);
bool baton__timers_hold_at_once(struct baton_timers *timers);

/* Does what the inbox asks for, and lets go; wakes who is to be woken. `flags`: CLOSED or 0. */
void baton__timers_release(struct baton_timers *timers, uintptr_t flags);

/* Pushes the timer, which its caller has made POSTED. False: the wheel is closed. */
bool baton__timers_post(struct baton_timers *timers, struct baton_timer *timer);

/* Places the timer, which is not linked, for this deadline. The holder. */
void baton__timers_place(struct baton_timers *timers, struct baton_timer *timer, uint64_t deadline);

void baton__timers_unref(struct baton_timers *timers);

/* Closes the wheel, if it is not closed, and gives up the owner's reference. */
int baton__timers_end(struct baton_timers *timers);

/* The wheel of the timer; NULL and *error, if the default one could not be created. */
struct baton_timers *baton__timers_of(const struct baton_timer *timer, int *error);

/* The default one; NULL while there is none. */
struct baton_timers *baton__timers_default_peek(void);

/* The deadline as the word holds it, without flags. */
BATON_INLINE uint64_t baton__timer_deadline_bits(uint64_t deadline)
{
	const uint64_t unit = ((uint64_t)1 << BATON__TIMER_UNIT_BITS) - 1;
	uint64_t bits = deadline;

	if (deadline > UINT64_MAX - unit)
		bits = BATON__TIMER_FOR_EVER;
	else if (deadline >= BATON__TIMER_EXACT)
		bits = BATON__TIMER_EXACT +
		       ((deadline - BATON__TIMER_EXACT + unit) >> BATON__TIMER_UNIT_BITS);
	return bits << BATON__TIMER_FLAG_BITS;
}

/* The deadline that the word holds, in nanoseconds. */
BATON_INLINE uint64_t baton__timer_deadline(uint64_t word)
{
	uint64_t bits = word >> BATON__TIMER_FLAG_BITS;

	if (bits < BATON__TIMER_EXACT)
		return bits;
	if (bits == BATON__TIMER_FOR_EVER)
		return UINT64_MAX;
	return BATON__TIMER_EXACT + ((bits - BATON__TIMER_EXACT) << BATON__TIMER_UNIT_BITS);
}

/* A counter that the holder writes. */
BATON_INLINE void baton__timers_count(uint64_t *counter, uint64_t more)
{
	/* Handed on with the wheel; readers see some recent value. */
	store_relaxed(counter, load_relaxed(counter) + more);
}

/* ---- The driver: timers_drive.c ---- */

/* Becomes the driver: 0, -EDEADLK: it is, -EBUSY: another one is; -ENOMEM, -ECHILD. And no more. */
int baton__timers_drive_begin(struct baton_timers *timers);
void baton__timers_drive_end(struct baton_timers *timers);

/* Submits what has expired by `now`; how many. The driver. */
int64_t baton__timers_fire(struct baton_timers *timers, uint64_t now);

/*
 * Expires the timer once more, whose function has just returned on this thread, and submits its
 * run: behind what waits in the resource, which this thread holds. 0; -ESHUTDOWN: the wheel is
 * closed; -EBUSY: not now, arm the timer instead; or what else has refused the run, for good.
 */
int baton__timers_run_again(struct baton_timers *timers, struct baton_timer *timer,
                            uint64_t deadline);

/* Empties the closed wheel. The driver. */
void baton__timers_sweep(struct baton_timers *timers, enum baton_timers_pending pending);

/* The thread's life: timers_thread.c */
int baton__timers_thread_start(struct baton_timers *timers);
void baton__timers_thread_stop(struct baton_timers *timers);

/* ---- The timer: timer.c ---- */

/* Why and how a timer is armed: bits of its word. */
struct baton__arming {
	uint64_t deadline;
	uint64_t set;
	uint64_t clear;
	uint64_t needed; /* not done, -EBUSY, unless all of these are there */
	uint64_t barred; /* nor if one of these is */
};

int baton__timer_arm(struct baton_timers *timers, struct baton_timer *timer,
                     const struct baton__arming *arming);

/*
 * Links the timer as its word says: armed: for its deadline, else not at all. `posted`: POSTED, for
 * one out of the inbox; or 0: one that is POSTED is left to that. The holder; its last touch.
 */
void baton__timer_apply(struct baton_timers *timers, struct baton_timer *timer, uint64_t posted);

/* The same for a timer that is stopped, by who does not hold the wheel: he does then, for a
 * moment. */
void baton__timer_remove(struct baton_timers *timers, struct baton_timer *timer);

/* The type of the task; what becomes of one that is cancelled instead of run, or refused. */
extern const struct baton_task_type baton__timer_type;
void baton__timer_cancelled(struct baton_task *task);
void baton__timer_refused(struct baton_timers *timers, struct baton_timer *timer, int error);

#endif
