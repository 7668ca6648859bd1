/* SPDX-License-Identifier: MIT */
/*
 * The public functions of libbaton-checked for timers and triggers. A timer's record says that a
 * call has armed it. The record goes when the timer is stopped, or its function entered. A timer
 * that was dropped keeps its record; so baton_timer_state() decides whether a timer is armed.
 */
#include "checked/plain.h"

#include "checked/objects.h"
#include "checked/owned.h"

static bool unchanged(const struct baton__record *record, const struct baton_timer *timer)
{
	return record->resource == timer->_resource &&
	       record->run == (const void *)(uintptr_t)timer->_fn;
}

static void forget_timer(const struct baton_timer *timer)
{
	struct baton__record *record;

	baton__records_lock(timer, BATON__RECORD_TIMER);
	record = baton__records_find(timer, BATON__RECORD_TIMER);
	if (record)
		baton__records_forget(record);
	baton__records_unlock(timer, BATON__RECORD_TIMER);
}

/* Checks that the timer can be armed, and notes that it is. Before the arm, which may run it. */
static void arms(struct baton_timer *timer, const char *call)
{
	struct baton__record *record;

	if (!timer)
		BATON_MISUSE(call, "the timer is NULL");
	if (!timer->_resource)
		BATON_MISUSE(call, "the timer has no resource: initialise it by baton_timer_init");
	if (!timer->_fn)
		BATON_MISUSE_OF(call, baton__name(timer->_resource),
		                "has a timer without a function: initialise the timer by "
		                "baton_timer_init");
	baton__checked_resource(timer->_resource, call);
	if (timer->_timers)
		baton__checked_owned(timer->_timers, call);
	baton__records_lock(timer, BATON__RECORD_TIMER);
	record = baton__records_get(timer, BATON__RECORD_TIMER);
	if (record) {
		record->resource = timer->_resource;
		record->run = (const void *)(uintptr_t)timer->_fn;
		baton__records_note(record, call);
	}
	baton__records_unlock(timer, BATON__RECORD_TIMER);
}

BATON_EXPORT void baton_timer_init(struct baton_timer *timer, struct baton_timers *timers,
                                   struct baton_resource *resource, baton_timer_fn fn)
{
	struct baton__mistake mistake = {.text = ""};
	const struct baton__record *record;

	BATON__NEED(timer, "the timer is NULL");
	BATON__NEED(resource, "the resource is NULL: a timer runs as a task of a resource");
	if (!fn)
		BATON_MISUSE_OF(__func__, baton__name(resource),
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
	baton__mistake_end(&mistake, __func__);
	forget_timer(timer);
	baton__plain_timer_init(timer, timers, resource, fn);
}

BATON_EXPORT int baton_timer_arm_after(struct baton_timer *timer, uint64_t delay_ns)
{
	arms(timer, __func__);
	return baton__plain_timer_arm_after(timer, delay_ns);
}

BATON_EXPORT int baton_timer_arm_at(struct baton_timer *timer, uint64_t deadline_ns)
{
	arms(timer, __func__);
	return baton__plain_timer_arm_at(timer, deadline_ns);
}

BATON_EXPORT int baton_timer_arm_every(struct baton_timer *timer, uint64_t first_ns,
                                       uint64_t period_ns, enum baton_timer_policy policy)
{
	arms(timer, __func__);
	return baton__plain_timer_arm_every(timer, first_ns, period_ns, policy);
}

BATON_EXPORT int baton_timer_arm_again_after(struct baton_timer *timer, uint64_t delay_ns)
{
	arms(timer, __func__);
	return baton__plain_timer_arm_again_after(timer, delay_ns);
}

BATON_EXPORT enum baton_timer_state baton_timer_stop(struct baton_timer *timer)
{
	BATON__NEED(timer, "the timer is NULL");
	forget_timer(timer);
	return baton__plain_timer_stop(timer);
}

BATON_EXPORT enum baton_timer_state baton_timer_stop_then(struct baton_timer *timer,
                                                          struct baton_future *gone)
{
	BATON__NEED(timer, "the timer is NULL");
	BATON__NEED(gone, "the promise is NULL");
	forget_timer(timer);
	return baton__plain_timer_stop_then(timer, gone);
}

BATON_EXPORT int baton_timer_stop_wait(struct baton_timer *timer, const struct timespec *deadline)
{
	BATON__NEED(timer, "the timer is NULL");
	forget_timer(timer);
	return baton__plain_timer_stop_wait(timer, deadline);
}

BATON_EXPORT void baton_trigger_init(struct baton_trigger *trigger, struct baton_resource *resource,
                                     baton_trigger_fn fn, baton_trigger_cancelled_fn cancelled)
{
	BATON__NEED(trigger, "the trigger is NULL");
	BATON__NEED(resource, "the resource is NULL: a trigger runs as a task of a resource");
	if (!fn)
		BATON_MISUSE_OF(__func__, baton__name(resource),
		                "was given a trigger without a function");
	baton__plain_trigger_init(trigger, resource, fn, cancelled);
}

BATON_EXPORT int baton_trigger_fire(struct baton_trigger *trigger)
{
	BATON__NEED(trigger, "the trigger is NULL");
	BATON__NEED(trigger->_resource,
	            "the trigger has no resource: initialise it by baton_trigger_init");
	if (!trigger->_fn)
		BATON_MISUSE_OF(__func__, baton__name(trigger->_resource),
		                "has a trigger without a function: initialise the trigger by "
		                "baton_trigger_init");
	baton__checked_resource(trigger->_resource, __func__);
	return baton__plain_trigger_fire(trigger);
}
