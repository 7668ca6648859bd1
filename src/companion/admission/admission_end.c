/* SPDX-License-Identifier: MIT */
/*
 * The ends. An entry that the rules are done with is given back when nothing of it is under way any
 * more, in these steps: the withdrawal was handled; the timer is gone; the entry's own resource is
 * released for the last time. No thread waits: each step begins in the function that is called at
 * the end of the step before.
 */
#include "companion/admission/admission.h"

#include "base/atomic.h"

#include <errno.h>

/* ---- The admission ---- */

static void end_after_tick(void *arg)
{
	struct baton_admission *admission = arg;

	(void)baton_resource_close(&admission->_resource);
	(void)baton_future_complete(&admission->_ended, 0, NULL); /* last touch */
}

/* Stops the tick. The admission has no users, and gets none any more. */
static void end_tick(struct baton_admission *admission)
{
	(void)baton_timer_stop_then(&admission->_tick, end_after_tick, admission); /* last touch */
}

bool baton__admission_enter(struct baton_admission *admission, bool also_closed)
{
	uint64_t word = load_relaxed(&admission->_users);

	/* Ends: a CAS fails only because another thread enters, leaves or closes. Relaxed: the
	 * caller knows that the admission exists, and the caller's message orders what follows. */
	do {
		if (word & BATON__ADMISSION_CLOSED &&
		    (!also_closed || word < BATON__ADMISSION_USER))
			return false;
	} while (!cas_relaxed(&admission->_users, &word, word + BATON__ADMISSION_USER));
	return true;
}

void baton__admission_leave(struct baton_admission *admission)
{
	/* [admission.left] release: this user's touches of the admission; pairs with
	 * [admission.left] in leave, of the last user */
	uint64_t word = sub_acq_rel(&admission->_users, BATON__ADMISSION_USER);

	/* [admission.left] acquire: the touches of all other users; pairs with [admission.left] in
	 * leave, of each of them */
	if (word & BATON__ADMISSION_CLOSED && word < 2 * BATON__ADMISSION_USER)
		end_tick(admission);
}

/* ---- An entry ---- */

void baton__admitted_complete(const struct baton_admitted *entry, struct baton_future *promise,
                              int status, void *value)
{
	const char *name = entry->_admission->_config.name;

	if (baton_future_complete(promise, status, value) == -EINVAL)
		BATON_MISUSE_OF("baton_admission_arrive", name,
		                "was given an entry whose `outcome` or `gone` is no promise: use "
		                "BATON_PROMISE_INIT");
}

static void return_entry(struct baton_admitted *entry)
{
	struct baton_admission *admission = entry->_admission;
	struct baton_future *gone = entry->gone;

	/* Relaxed: promise or callback tells the owner. */
	store_relaxed(&entry->_progress, BATON__ADMITTED_FREE);
	if (gone)
		baton__admitted_complete(entry, gone, 0, entry); /* last touch */
	else if (admission->_config.gone)
		admission->_config.gone(admission, entry); /* last touch */
	baton__admission_leave(admission);
}

static int released(struct baton_task *last)
{
	return_entry(baton_container_of(last, struct baton_admitted, _last));
	return 0;
}

static void end_own(struct baton_admitted *entry)
{
	if (!(entry->_marks & BATON__MARK_OWNS)) {
		return_entry(entry);
		return;
	}
	baton_task_init(&entry->_last, released, NULL);
	/* Cannot fail: the thread has a record, and the resource is closed once. */
	BATON_IGNORE(baton_resource_close_then(&entry->_own, &entry->_last));
}

static void entry_timer_gone(void *entry)
{
	end_own(entry);
}

void baton__admitted_end_rest(struct baton_admitted *entry)
{
	if (!(entry->_marks & BATON__MARK_TIMED)) {
		end_own(entry);
		return;
	}
	(void)baton_timer_stop_then(&entry->_timer, entry_timer_gone, entry); /* last touch */
}

void baton__admitted_end(struct baton_admitted *entry)
{
	struct baton_admission *admission = entry->_admission;
	uint32_t word = load_relaxed(&entry->_progress);

	*(entry->_prev ? &entry->_prev->_next : &admission->_first) = entry->_next;
	if (entry->_next)
		entry->_next->_prev = entry->_prev;
	/* Ends: a CAS fails only because of the one withdraw. Relaxed: the withdraw publishes
	 * nothing by this word. */
	while (!cas_relaxed(&entry->_progress, &word, word | BATON__ADMITTED_OVER))
		;
	if (word & BATON__ADMITTED_ASKED && !(entry->_marks & BATON__MARK_WITHDRAWN))
		entry->_marks |= BATON__MARK_ENDS;
	else
		baton__admitted_end_rest(entry);
}
