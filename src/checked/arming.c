/* SPDX-License-Identifier: MIT */
/*
 * The checks of timers. A timer's record says that a call has armed it. The record goes when the
 * timer is stopped, or when its function is entered. A timer that was dropped keeps its record; so
 * baton_timer_state() decides whether a timer is armed.
 */
#include "checked/objects.h"

#include "checked/owned.h"
#include "core/config.h"

#include <baton/timer.h>

static bool unchanged(const struct baton__record *record, const struct baton_timer *timer)
{
	return record->resource == timer->_resource &&
	       record->run == (const void *)(uintptr_t)timer->_fn;
}

static void forget_timer(const void *timer)
{
	struct baton__record *record;

	baton__records_lock(timer, BATON__RECORD_TIMER);
	record = baton__records_find(timer, BATON__RECORD_TIMER);
	if (record)
		baton__records_forget(record);
	baton__records_unlock(timer, BATON__RECORD_TIMER);
}

void baton__check_timer_entered(const struct baton_task *task)
{
	forget_timer(task);
}

void baton__check_timer_stop(const struct baton_timer *timer, const char *call)
{
	if (!timer)
		BATON_MISUSE(call, "the timer is NULL");
	forget_timer(timer);
}

/* Checks that the timer can be armed, and notes that it is. Before the arm, which may run it. */
void baton__check_timer_arm(struct baton_timer *timer, const char *call)
{
	struct baton__record *record;

	if (!timer)
		BATON_MISUSE(call, "the timer is NULL");
	if (!timer->_resource || !timer->_fn)
		return; /* the call is refused */
	baton__check_resource(timer->_resource, call);
	if (timer->_timers)
		baton__check_owned(timer->_timers, call);
	baton__records_lock(timer, BATON__RECORD_TIMER);
	record = baton__records_get(timer, BATON__RECORD_TIMER);
	if (record) {
		record->resource = timer->_resource;
		record->run = (const void *)(uintptr_t)timer->_fn;
		baton__records_note(record, call);
	}
	baton__records_unlock(timer, BATON__RECORD_TIMER);
}

void baton__check_timer_init(struct baton_timer *timer, struct baton_resource *resource, bool given,
                             const char *call)
{
	struct baton__mistake mistake = {.text = ""};
	const struct baton__record *record;

	if (!timer)
		BATON_MISUSE(call, "the timer is NULL");
	if (!resource)
		BATON_MISUSE(call, "the resource is NULL: a timer runs as a task of a resource");
	if (!given)
		BATON_MISUSE_OF(call, baton__name(resource),
		                "was given a timer without a function");
	baton__records_lock(timer, BATON__RECORD_TIMER);
	record = baton__records_find(timer, BATON__RECORD_TIMER);
	if (record && unchanged(record, timer) &&
	    (baton_timer_state(timer) == BATON_TIMER_PENDING ||
	     baton_timer_state(timer) == BATON_TIMER_QUEUED))
		baton__mistake(&mistake, baton__name(resource),
		               "has a timer that is armed, by %s (thread %d): stop a timer before "
		               "it is initialised anew",
		               record->call, (int)record->thread);
	baton__records_unlock(timer, BATON__RECORD_TIMER);
	baton__mistake_end(&mistake, call);
	forget_timer(timer);
}
