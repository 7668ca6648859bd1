/* SPDX-License-Identifier: MIT */
/*
 * What the files of an admission share: admission.c (the calls), admission_run.c (what is done
 * under the baton), admission_end.c (the ends of an entry and of the admission).
 *
 * An entry's `_progress`:
 *   FREE (0) -> CLAIMED      arrive, which then initialises the entry
 *   CLAIMED -> ARRIVED       arrive, which then submits `_message`
 *   ARRIVED: ASKED is added  the one withdraw that then submits `_withdrawal`
 *   ARRIVED: OVER is added   the holder, when the end is decided; a withdraw comes too late
 *   OVER -> FREE             the thread that gives the entry back
 *
 * The admission's `_users`: CLOSED; DROP (waiting entries are withdrawn, running ones told to
 * stop); and a count of users: each entry from its arrive until it is gone, each change of limits,
 * each close under way. The last user that leaves a closed admission ends it.
 *
 * Invariants:
 * admission.baton: Only the holder of the baton of `_resource` touches the rules, lists, marks and
 *    decisions. Other threads read `_until`, `_starts_by` and the statistics as hints.
 * admission.call: The rules may not be called within their callbacks. So a callback only notes its
 *    decision; `act` carries the decision out when the call of the rules has returned.
 * admission.open: `_resource` is open while there are users. So users' messages are never refused.
 * admission.message: An entry has one message under way at a time: first its arrival, later its
 *    finish. Its withdrawal may be under way beside the message, and the entry's end waits for it.
 */
#ifndef BATON_SRC_ADMISSION_H
#define BATON_SRC_ADMISSION_H

#include <baton/admission.h>

#include "base/platform.h"

#define BATON__ADMITTED_FREE 0U
#define BATON__ADMITTED_CLAIMED 1U
#define BATON__ADMITTED_ARRIVED 2U
#define BATON__ADMITTED_ASKED 4U
#define BATON__ADMITTED_OVER 8U

#define BATON__ADMISSION_CLOSED ((uint64_t)1)
#define BATON__ADMISSION_DROP ((uint64_t)2)
#define BATON__ADMISSION_USER ((uint64_t)4)

/* Marks of an entry. */
#define BATON__MARK_LISTED 1U    /* its arrival was handled */
#define BATON__MARK_WITHDRAWN 2U /* its withdrawal was handled */
#define BATON__MARK_SETTLED 4U   /* the outcome is known */
#define BATON__MARK_STOPPED 8U   /* told to stop, or could not start */
#define BATON__MARK_TIMED 16U    /* the timer was armed */
#define BATON__MARK_OWNS 32U     /* its task was given to `_own` */
#define BATON__MARK_ENDS 64U     /* its end waits for the withdrawal */

/* admission.c: a timer of the admission's wheel and resource. */
void baton__admission_timer_init(struct baton_admission *admission, struct baton_timer *timer,
                                 baton_timer_fn fn);

/* admission_run.c */
int baton__admitted_arrive(struct baton_task *message);
int baton__admitted_withdraw(struct baton_task *withdrawal);
int baton__admission_drop(struct baton_task *task);
int baton__admission_tick(struct baton_timer *tick);
extern const struct baton_rules_events baton__admission_events;
/* Under the baton. The caller has checked that the limits nest. */
void baton__admission_limit(struct baton_admission *admission, const uint32_t *limits,
                            uint32_t reserve);

/* admission_end.c */
/* Completes a promise of the entry's. */
void baton__admitted_complete(const struct baton_admitted *entry, struct baton_future *promise,
                              int status, void *value);
/* Adds a user. False: the admission is closed; with `also_closed`: is closed and has no users. */
bool baton__admission_enter(struct baton_admission *admission, bool also_closed);
void baton__admission_leave(struct baton_admission *admission);
/* Under the baton: the rules are done with the entry; gives the entry back as soon as possible. */
void baton__admitted_end(struct baton_admitted *entry);
/* Under the baton: continues the entry's end. Call when no withdrawal of the entry is under way. */
void baton__admitted_end_rest(struct baton_admitted *entry);

#endif
