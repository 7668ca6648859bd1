/* SPDX-License-Identifier: MIT */
/*
 * A timer's word, and the wheel's: their bits, and which thread may change them.
 *
 * timer->_word: the deadline in 55 bits, and flags below. Deadlines up to 2^54 ns (208 days) are
 * nanoseconds. Later deadlines are 2^54 plus units of 1,024 ns, rounded up; all ones are for ever.
 * So a later deadline is a greater number. The flags:
 *   ARMED    A run is wanted at the deadline. Set by arm. Cleared by stop; by the wheel's holder,
 *            when the deadline has passed (then DUE is set) or the wheel is closed.
 *   DUE      The timer has expired, and its function has not been entered. Cleared when it is
 *            entered. Cleared by stop and arm: then the run that is queued has no effect.
 *   POSTED   The timer is in the wheel's inbox, or the thread that has set POSTED is about to push
 *            it there. Cleared by the holder, which then does what the word says: so no thread
 *            posts a timer twice. If the wheel is closed, the thread that could not push clears
 *            POSTED, ARMED and REPEAT.
 *   PLACED   The timer is linked in a slot. Set and cleared by the holder alone.
 *   TASK     The timer's task is with the resource, or about to be submitted. Set by the holder
 *            (the driver, or a run that another run follows at once). Cleared by the run, or when
 *            the task was refused or cancelled.
 *   RUNNING  The function runs, or the end of the run is under way.
 *   REPEAT   The timer is armed again after the run, as _repeat says. Cleared by stop, by an arm
 *            without repetition, and when the wheel is closed, or the resource refuses the run for
 *            good.
 *   GONE     stop_then has been called, and its function has not; arm is refused. Set by stop_then.
 *            Cleared by the thread that then calls the function (timer.told).
 *   DONE     The timer has run since it was last armed. Set by leave_run, in the step that clears
 *            RUNNING, unless ARMED or DUE is set. Cleared by arm. So while ARMED, DUE or RUNNING is
 *            set, DONE is clear.
 * A thread that finds POSTED, PLACED, TASK, RUNNING and GONE clear has the timer's memory to
 * itself.
 *
 * Invariants:
 * timer.deadline: The slot of a PLACED timer is looked at no later than the deadline in the word,
 *    or the timer is POSTED. So an arm for the same or a later deadline changes only the word.
 * timer.links: Only the wheel's holder changes links, and only before the CAS that sets PLACED, or
 *    clears PLACED or POSTED. If the timer does not have TASK, that CAS is the holder's last touch.
 * timer.one_task: At most one task of a timer is queued. TASK is set before the submit; while TASK
 *    is set, an expiry only sets DUE, so that the queued run is valid.
 * timer.running: The run clears RUNNING last: after it has armed a repeated timer again, and, if
 *    the timer was stopped meanwhile, has removed the timer from the wheel. So when RUNNING is
 *    clear, no run touches the timer.
 * timer.told: While GONE is set, neither TASK nor RUNNING is set anew. The thread whose step makes
 *    the word one with GONE and without TASK and RUNNING calls the function of stop_then. It has
 *    the timer's memory to itself until it clears GONE, which is its last touch.
 * timer.handed: `handing` names the timer from before TASK is visible until the resource has
 *    accepted the task. If the resource refuses or drops the task, `handing` names the timer until
 *    the driver touches the timer no more, except to call `dropped` (timer.dropped, dropping.h).
 *    Only the driver sets `handing`.
 *
 * timers->word: the wheel's holder and the wheel's inbox, like a resource's word:
 *   HELD     A thread changes the wheel. It runs no function of the user meanwhile.
 *   CLOSED   Arms are refused. Set by the holder, for good.
 *   INBOX    The timer pushed last; timers are linked by _posted. NULL unless HELD.
 *
 * Linearisation points: arm: its CAS on the timer's word (refused by a closed wheel: the failed
 * push). stop, disarm: their CAS on the timer's word. Close: the release that sets CLOSED. Expiry:
 * the CAS that turns ARMED into DUE.
 * Progress: arm and disarm are lock-free. A thread in baton__timers_hold waits for the holder.
 * ABA: a value of the timer's word that comes back has the same meaning (timer.deadline). The inbox
 * is taken whole.
 */
#ifndef BATON_SRC_TIMER_H
#define BATON_SRC_TIMER_H

#include <baton/executor.h>
#include <baton/timer.h>
#include <baton/timers.h>

#include "base/atomic.h"
#include "base/count.h"
#include "base/platform.h"
#include "timer/stop.h"
#include "timer/wheel.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

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

/* timer->_repeat: one of these, and above it the period. */
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
	/* Touched by arms. */
	uintptr_t word BATON_CACHE_ALIGNED;
	uint32_t released; /* futex word: bumped for threads that sleep in hold */
	uint32_t sleepers; /* the number of these threads */
	/* The members from here on belong to the holder. */
	/* Tick of the driver's next look. A timer placed for an earlier tick needs an alarm. */
	uint64_t sleep_until BATON_CACHE_ALIGNED;
	bool alarming;  /* the driver is to be woken after the release */
	bool lent;      /* the default pool drives the wheel: pool/alarm.h */
	uint32_t alarm; /* futex word of the wheel's thread; bumped by the holder */
	unsigned shift; /* a tick is 2^shift ns; constant */
	struct baton_timers_stats stats;
	struct baton__wheel wheel;
	/* The driver's: set by CAS from NULL, and cleared, by the driver itself. */
	struct baton__thread *driver BATON_CACHE_ALIGNED;
	struct baton_timer *handing; /* timer.handed */
	uint64_t virtual_now;
	pthread_t thread;
	/* The next two belong to the creator, then to the thread that has TAKEN the alarm. */
	bool threaded; /* `thread` has started, and is not joined */
	bool stays;    /* the wheel is not lent again */
	struct baton_plain_job job;
	/* Constant, except `references`: one for the owner, and one for each timer with TASK. */
	struct baton_timers_options config BATON_CACHE_ALIGNED;
	bool is_default; /* baton_timers_destroy refuses it */
	uint32_t references;
};

/* As baton_timers_create. `is_default`: the default pool may drive the wheel. */
int baton__timers_create(const struct baton_timers_options *options, bool is_default,
                         struct baton_timers **timers);

/* ---- The holder: timers.c ---- */

/* hold: waits until the calling thread holds the wheel. hold_at_once: true if no thread held the
 * open wheel, and the calling thread holds it now. */
void baton__timers_hold(struct baton_timers *timers);
bool baton__timers_hold_at_once(struct baton_timers *timers);

/* Applies the timers in the inbox, and releases the wheel; wakes the driver, and a thread that
 * sleeps in hold, if need be. `flags`: CLOSED or 0. The holder. */
void baton__timers_release(struct baton_timers *timers, uintptr_t flags);

/* Pushes the timer, which the caller has made POSTED, or applies it at once. False: the wheel is
 * closed. */
bool baton__timers_post(struct baton_timers *timers, struct baton_timer *timer);

/* Places the timer, which is not linked, for this deadline. The holder. */
void baton__timers_place(struct baton_timers *timers, struct baton_timer *timer, uint64_t deadline);

void baton__timers_unref(struct baton_timers *timers);

/* Closes the wheel, if it is not closed, and gives up the owner's reference. */
int baton__timers_end(struct baton_timers *timers);

/* The wheel of the timer; NULL and *error: the default wheel could not be created. */
struct baton_timers *baton__timers_of(const struct baton_timer *timer, int *error);

/* The default wheel; NULL: there is none. */
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

/* ---- The driver: timers_drive.c ---- */

/* begin: the calling thread becomes the driver. -EDEADLK: it is the driver already. -EBUSY: another
 * thread is. -ENOMEM, -ECHILD: thread.h. end: it is the driver no more. */
int baton__timers_drive_begin(struct baton_timers *timers);
void baton__timers_drive_end(struct baton_timers *timers);

/* Submits the runs of the timers that have expired by `now`; returns how many. The driver. */
int64_t baton__timers_fire(struct baton_timers *timers, uint64_t now);

/*
 * Expires once more a timer whose function has just returned on this thread, and submits its run.
 * The thread holds the resource, so the run is queued behind the tasks that wait there. 0;
 * -ESHUTDOWN: the wheel is closed; -EBUSY: not possible now, arm the timer instead; another error:
 * the resource has refused the run for good.
 */
int baton__timers_run_again(struct baton_timers *timers, struct baton_timer *timer,
                            uint64_t deadline);

/* Empties the closed wheel. The driver. */
void baton__timers_sweep(struct baton_timers *timers, enum baton_timers_pending pending);

/*
 * Who drives the wheel: timers_thread.c. start: the default pool, if the wheel is the default wheel
 * and there is a pool; otherwise the wheel's thread. stop: the wheel is closed; when the call
 * returns, neither of them drives the wheel.
 */
int baton__timers_drivers_start(struct baton_timers *timers);
void baton__timers_drivers_stop(struct baton_timers *timers);

/* The pool's alarm gets the tick of the driver's next look. The holder of a wheel that is lent. */
void baton__timers_alarm(struct baton_timers *timers);

/* ---- The timer: timer.c ---- */

/* As baton_timer_init, for a timer of the library's. A wheel's `dropped` is not called for such a
 * timer: that function finds the program's structs by their timers. */
void baton__timer_init(struct baton_timer *timer, struct baton_timers *timers,
                       struct baton_resource *resource, baton_timer_fn fn);

/* How a timer is armed, and under which conditions: bits of its word. */
struct baton__arming {
	uint64_t deadline;
	uint64_t repeat; /* the new value of _repeat; 0: _repeat stays as it is */
	uint64_t set;
	uint64_t clear;
	uint64_t needed; /* the arm is refused, -EBUSY, unless all of these are set */
	uint64_t barred; /* and unless all of these are clear */
	bool carries;    /* the run carries `carried`; false: what it carried before */
	void *carried;
};

int baton__timer_arm(struct baton_timers *timers, struct baton_timer *timer,
                     const struct baton__arming *arming);

/*
 * Links the timer for its deadline if its word says ARMED, and unlinks it otherwise. `posted`:
 * POSTED, for a timer out of the inbox; 0: a timer that is POSTED is left to the inbox. The holder;
 * last touch of the timer.
 */
void baton__timer_apply(struct baton_timers *timers, struct baton_timer *timer, uint64_t posted);

/* Removes a stopped timer from the wheel: holds the wheel for a moment. Not for the holder. */
void baton__timer_remove(struct baton_timers *timers, struct baton_timer *timer);

/* Is it time to call the function of stop_then (timer.told)? `word`: as the caller's step has made
 * it. tell: calls the function, here or later; last touch. */
BATON_INLINE bool baton__timer_owner_waits(uint64_t word)
{
	return (word & (BATON__TIMER_GONE | BATON__TIMER_BUSY)) == BATON__TIMER_GONE;
}
void baton__timer_tell(struct baton_timer *timer);

/* The type of a timer's task; what becomes of a task that is cancelled, or refused, instead of
 * run. */
extern const struct baton_task_type baton__timer_type;
void baton__timer_cancelled(struct baton_task *task);
void baton__timer_refused(struct baton_timers *timers, struct baton_timer *timer, int error);

#endif
