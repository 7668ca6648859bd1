/* SPDX-License-Identifier: MIT */
/*
 * The alarm: the next deadline of the default wheel of timers, kept by the workers of the default
 * pool. One worker sleeps until the deadline at the latest; any worker that finds the deadline
 * passed takes the wheel's job, which runs the wheel. While all workers are inside jobs a thread of
 * its own watches the deadline: the sentry (sentry.h). Other pools have no alarm.
 *
 *                       | called by
 *   open, bar           | the thread that makes, or ends, the default pool
 *   attach, lent        | the wheel; between the two that thread drives the wheel
 *   set                 | the holder of an attached wheel
 *   announce            | the same, when it has released the wheel
 *   detach              | the thread that closes the wheel
 *   is_open, claim,     | a worker of the pool; is_open: any thread
 *   give_up, take       |
 *   take, notify        | the sentry
 *   done                | the wheel's job
 */
#ifndef BATON_SRC_ALARM_H
#define BATON_SRC_ALARM_H

#include "base/atomic.h"
#include "base/platform.h"
#include "pool/sentry.h"

#include <stdbool.h>
#include <stdint.h>

struct baton_executor;
struct baton_job;
struct baton__thread;

/* The bits of the word; see alarm.c. The deadline, in nanoseconds, is above them. 0: none. */
#define BATON__ALARM_BARRED UINT64_C(1)
#define BATON__ALARM_ATTACHED UINT64_C(2)
#define BATON__ALARM_TAKEN UINT64_C(4)
#define BATON__ALARM_CLAIMED UINT64_C(8)
#define BATON__ALARM_AWAITED UINT64_C(16)
#define BATON__ALARM_BITS 5U

/* What the wheel gives to the alarm. */
struct baton__alarm_wheel {
	/* Runs the wheel, sets the next deadline, and calls baton__alarm_done. */
	struct baton_job *job;
	/*
	 * The pool drives the wheel no longer. The wheel starts a thread of its own, and does not
	 * touch the alarm any more. An error: no thread could be started; the wheel is as before.
	 */
	int (*orphaned)(struct baton_job *job);
};

struct baton__alarm {
	uint64_t word BATON_CACHE_ALIGNED;
	struct baton__alarm_wheel wheel; /* published by ATTACHED */
	struct baton_executor *executor; /* the pool; published by the clearing of BARRED */
	uint32_t done;                   /* futex word of threads that have set AWAITED */
	struct baton__thread *taker;     /* the thread that has set TAKEN; others see it late */
	struct baton__sentry sentry;
};

/* The alarm of the default pool. */
extern struct baton__alarm baton__default_alarm;

/* The pool keeps the deadline from now on. */
void baton__alarm_open(struct baton__alarm *alarm, struct baton_executor *executor);

/* The pool keeps no deadlines any more: the wheel gets a thread of its own. The calling thread has
 * a record. An error: nothing has changed: the thread could not be started; -EDEADLK: the calling
 * thread has taken the alarm. */
int baton__alarm_bar(struct baton__alarm *alarm);

/* True: the pool keeps the wheel's deadline. The caller drives the wheel until it calls lent; until
 * then the pool does not end. */
bool baton__alarm_attach(struct baton__alarm *alarm, const struct baton__alarm_wheel *wheel);

/* The pool forgets the wheel, if it is attached. Waits until no worker runs the wheel's job. */
void baton__alarm_detach(struct baton__alarm *alarm);

/*
 * Changes the deadline. The holder of the wheel. A thread that has not taken the alarm calls `set`
 * first, then releases the wheel, and then calls `announce`: between the two calls the pool does
 * not end.
 */
void baton__alarm_set(struct baton__alarm *alarm, uint64_t deadline_ns);
void baton__alarm_announce(struct baton__alarm *alarm);

/* The caller drives the wheel no longer. Last touch of the wheel. lent: after attach. done: at the
 * end of the wheel's job; the thread that has run the job announces the deadline. */
void baton__alarm_lent(struct baton__alarm *alarm);
void baton__alarm_done(struct baton__alarm *alarm);

/* Is there a deadline for which no worker sleeps, and which no thread has taken? Sequentially
 * consistent. `alarm` may be NULL. */
BATON_INLINE bool baton__alarm_is_open(const struct baton__alarm *alarm)
{
	uint64_t word;

	if (BATON_LIKELY(!alarm))
		return false;
	/* [idle.work] seq_cst: after the caller has changed the idle set; pairs with [idle.work] in
	 * set, give_up, done */
	word = load_seq_cst(&alarm->word);
	return word >> BATON__ALARM_BITS && !(word & (BATON__ALARM_TAKEN | BATON__ALARM_CLAIMED));
}

/*
 * claim: the worker, which is in the idle set, is to sleep until the deadline at the latest.
 * Returns the deadline; 0: no worker need do so. give_up: the worker's claim for this deadline
 * ends. True: the deadline is open again, and there is work (idle.no_work_overlooked).
 */
uint64_t baton__alarm_claim(struct baton__alarm *alarm);
bool baton__alarm_give_up(struct baton__alarm *alarm, uint64_t deadline_ns);

/* Takes the wheel's job if the deadline has passed; NULL otherwise. `now_ns` 0: reads the clock, if
 * there is a deadline. */
struct baton_job *baton__alarm_take(struct baton__alarm *alarm, uint64_t now_ns);

/* A deadline may be open: does what the pool's operation `returned` does. The pool cannot end. */
void baton__alarm_notify(const struct baton__alarm *alarm);

#endif
