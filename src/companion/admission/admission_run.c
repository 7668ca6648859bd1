/* SPDX-License-Identifier: MIT */
/*
 * What an admission does under its baton: its messages and timers call the rules, and `act` obeys
 * what the rules have decided (admission.call).
 */
#include "companion/admission/admission.h"

#include <baton/blocking.h>
#include <baton/board.h>
#include <baton/bound.h>
#include <baton/timers.h>

#include "base/atomic.h"
#include "companion/admission/rules.h"

#include <errno.h>

#define START 1U
#define SHORTEN 2U
#define HALT 4U
#define OVERRUN 8U

static int finish_entry(struct baton_task *message);

/* ---- What the rules have decided ---- */

static struct baton_admission *admission_of(struct baton_rules *rules)
{
	return baton_container_of(rules, struct baton_admission, _rules);
}

static void decided(struct baton_rules *rules, struct baton_rules_entry *rules_entry,
                    uint16_t decision)
{
	struct baton_admission *admission = admission_of(rules);
	struct baton_admitted *entry =
		baton_container_of(rules_entry, struct baton_admitted, _rules);

	if (!entry->_decision) {
		entry->_decided = NULL;
		*admission->_decided_last = entry;
		admission->_decided_last = &entry->_decided;
	}
	entry->_decision |= decision;
}

/* Relaxed: a hint for other threads. */
static void set_time_left(struct baton_rules *rules, struct baton_rules_entry *rules_entry,
                          uint64_t may_run_ns)
{
	struct baton_admitted *entry =
		baton_container_of(rules_entry, struct baton_admitted, _rules);

	store_relaxed(&entry->_until, baton__rules_add(admission_of(rules)->_now, may_run_ns));
}

static void on_start(struct baton_rules *rules, struct baton_rules_entry *entry,
                     uint64_t may_run_ns)
{
	set_time_left(rules, entry, may_run_ns);
	decided(rules, entry, START);
}

static void on_shorten(struct baton_rules *rules, struct baton_rules_entry *entry,
                       uint64_t may_run_ns)
{
	set_time_left(rules, entry, may_run_ns);
	decided(rules, entry, SHORTEN);
}

static void on_halt(struct baton_rules *rules, struct baton_rules_entry *entry)
{
	decided(rules, entry, HALT);
}

static void on_overrun(struct baton_rules *rules, struct baton_rules_entry *entry)
{
	decided(rules, entry, OVERRUN);
}

static void on_estimate(struct baton_rules *rules, struct baton_rules_entry *rules_entry,
                        uint64_t at_most_ns)
{
	struct baton_admission *admission = admission_of(rules);
	struct baton_admitted *entry =
		baton_container_of(rules_entry, struct baton_admitted, _rules);

	/* Relaxed: a hint for other threads. */
	store_relaxed(&entry->_starts_by, baton__rules_add(admission->_now, at_most_ns));
	if (admission->_config.estimate)
		admission->_config.estimate(admission, entry, at_most_ns);
}

const struct baton_rules_events baton__admission_events = {
	.start = on_start,
	.shorten = on_shorten,
	.halt = on_halt,
	.estimate = on_estimate,
	.overrun = on_overrun,
};

/* ---- Obeying ---- */

static void count_one(uint64_t *counter)
{
	store_relaxed(counter, *counter + 1);
}

static uint64_t look_at_clock(struct baton_admission *admission)
{
	admission->_now = baton_timers_now(admission->_timers);
	return admission->_now;
}

/* Completes the outcome; of several calls the first one counts. */
static void settle_outcome(struct baton_admitted *entry, int status, void *value)
{
	if (entry->_marks & BATON__MARK_SETTLED)
		return;
	entry->_marks |= BATON__MARK_SETTLED;
	if (entry->outcome)
		baton__admitted_complete(entry, entry->outcome, status, value);
}

/* Tells the task to stop. */
static void stop_task(struct baton_admitted *entry, int status)
{
	struct baton_admission *admission = entry->_admission;
	int error;

	if (entry->_marks & BATON__MARK_STOPPED)
		return;
	error = baton_future_cancel(&entry->_ran);
	if (error == -EALREADY)
		return; /* the task has returned, and its message is under way */
	entry->_marks |= BATON__MARK_STOPPED;
	store_relaxed(&entry->_until, 0);
	count_one(&admission->_stats.stopped);
	settle_outcome(entry, status, NULL);
	if (error && admission->_config.stop)
		admission->_config.stop(admission, entry, status);
}

static int time_over(struct baton_timer *timer)
{
	stop_task(baton_container_of(timer, struct baton_admitted, _timer), -ETIMEDOUT);
	return 0;
}

static int arm_timer(struct baton_admitted *entry)
{
	if (entry->_until == BATON_NEVER)
		return 0;
	entry->_marks |= BATON__MARK_TIMED;
	return baton_timer_arm_at(&entry->_timer, entry->_until);
}

/*
 * The function holds a backend, for as long as the rules say. It must not hold the worker that the
 * admission's own resource needs to tell the function to stop.
 */
static int run_blocking(struct baton_task *task)
{
	const baton_task_fn fn = baton_container_of(task, struct baton_admitted, task)->_fn;
	int status;

	(void)baton_board_show(baton_current(), (baton_shown_fn)fn);
	baton_blocking_begin();
	status = fn(task);
	baton_blocking_end(); /* a detached entry may be gone */
	return status;
}

/* Gives the entry's task to its resource. */
static int submit_task(struct baton_admitted *entry)
{
	struct baton_admission *admission = entry->_admission;
	struct baton_resource *resource = entry->resource;
	int error;

	baton__admission_timer_init(admission, &entry->_timer, time_over);
	error = arm_timer(entry);
	if (error)
		return error;
	if (!resource) {
		resource = &entry->_own;
		baton_resource_init(resource, &admission->_resource_config);
		entry->_marks |= BATON__MARK_OWNS;
	}
	baton_future_init(&entry->_ran);
	baton_task_init(&entry->task, run_blocking, &entry->_ran);
	baton_task_init(&entry->_message, finish_entry, NULL);
	baton_continuation_task(&entry->_when_ran, &admission->_resource, &entry->_message);
	baton_future_then(&entry->_ran, &entry->_when_ran);
	return baton_try_submit_later(resource, &entry->task);
}

static void start_task(struct baton_admitted *entry)
{
	struct baton_admission *admission = entry->_admission;
	int error;

	count_one(&admission->_stats.started);
	store_relaxed(&entry->_starts_by, 0);
	error = submit_task(entry);
	if (!error)
		return;
	/* A refused entry finishes by a message, like any other. If it finished here, the next
	 * entry would start within this call, and might be refused, too. */
	entry->_marks |= BATON__MARK_STOPPED;
	store_relaxed(&entry->_until, 0);
	settle_outcome(entry, error, NULL);
	baton_task_init(&entry->_message, finish_entry, NULL);
	error = baton_submit(&admission->_resource, &entry->_message);
	BATON_ASSERT(!error); /* admission.open */
}

static void obey_decision(struct baton_admitted *entry, unsigned decision)
{
	struct baton_admission *admission = entry->_admission;

	if (decision & START)
		start_task(entry);
	if (decision & SHORTEN && !(entry->_marks & BATON__MARK_STOPPED)) {
		if (entry->_until <= admission->_now)
			stop_task(entry, -ETIMEDOUT);
		else
			(void)arm_timer(entry); /* a closed wheel refuses: it stops no task */
	}
	if (decision & HALT)
		stop_task(entry, -EINTR);
	if (decision & OVERRUN) {
		/* The timer may come later than the tick. */
		stop_task(entry, -ETIMEDOUT);
		count_one(&admission->_stats.overran);
		if (admission->_config.overrun)
			admission->_config.overrun(admission, entry);
	}
}

/* Carries out what a call of the rules has decided. */
static void act(struct baton_admission *admission)
{
	struct baton_admitted *entry;
	uint64_t next;

	/* Ends: nothing is decided meanwhile, since the rules are not called. */
	while ((entry = admission->_decided)) {
		unsigned decision = entry->_decision;

		admission->_decided = entry->_decided;
		if (!admission->_decided)
			admission->_decided_last = &admission->_decided;
		entry->_decision = 0;
		obey_decision(entry, decision);
	}
	store_relaxed(&admission->_stats.waiting, baton_rules_waiting(&admission->_rules));
	next = baton_rules_next(&admission->_rules);
	if (next == admission->_next_tick)
		return;
	admission->_next_tick = next;
	if (next == BATON_NEVER)
		baton_timer_disarm(&admission->_tick);
	else
		BATON_IGNORE(baton_timer_arm_at(&admission->_tick, next)); /* as in obey_decision */
}

/* ---- Messages and the tick ---- */

static void link_entry(struct baton_admission *admission, struct baton_admitted *entry)
{
	entry->_prev = NULL;
	entry->_next = admission->_first;
	if (entry->_next)
		entry->_next->_prev = entry;
	admission->_first = entry;
}

int baton__admitted_arrive(struct baton_task *message)
{
	struct baton_admitted *entry = baton_container_of(message, struct baton_admitted, _message);
	struct baton_admission *admission = entry->_admission;
	int error;

	entry->_marks |= BATON__MARK_LISTED;
	link_entry(admission, entry);
	count_one(&admission->_stats.arrived);
	if (entry->_marks & BATON__MARK_WITHDRAWN || admission->_dropping) {
		count_one(&admission->_stats.withdrawn);
		error = -ECANCELED;
	} else {
		error = baton_rules_arrive(&admission->_rules, &entry->_rules,
		                           look_at_clock(admission));
		act(admission);
		if (!error)
			return 0; /* from here on a finish may give the entry back */
		count_one(&admission->_stats.denied);
	}
	store_relaxed(&entry->_starts_by, 0);
	settle_outcome(entry, error, NULL);
	baton__admitted_end(entry);
	return 0;
}

/* The task has returned (its token is complete), was cancelled, or was refused. */
static int finish_entry(struct baton_task *message)
{
	struct baton_admitted *entry = baton_container_of(message, struct baton_admitted, _message);
	struct baton_admission *admission = entry->_admission;
	int error;

	store_relaxed(&entry->_until, 0);
	settle_outcome(entry, baton_future_status(&entry->_ran), baton_future_value(&entry->_ran));
	count_one(&admission->_stats.finished);
	error = baton_rules_finish(&admission->_rules, &entry->_rules, look_at_clock(admission));
	BATON_ASSERT(!error);
	act(admission);
	baton__admitted_end(entry);
	return 0;
}

/* True: the entry waited, and is given back. */
static bool withdraw_entry(struct baton_admission *admission, struct baton_admitted *entry)
{
	if (baton_rules_withdraw(&admission->_rules, &entry->_rules, look_at_clock(admission)))
		return false;
	count_one(&admission->_stats.withdrawn);
	store_relaxed(&entry->_starts_by, 0);
	settle_outcome(entry, -ECANCELED, NULL);
	baton__admitted_end(entry);
	return true;
}

int baton__admitted_withdraw(struct baton_task *withdrawal)
{
	struct baton_admitted *entry =
		baton_container_of(withdrawal, struct baton_admitted, _withdrawal);
	struct baton_admission *admission = entry->_admission;

	entry->_marks |= BATON__MARK_WITHDRAWN;
	if (entry->_marks & BATON__MARK_ENDS)
		baton__admitted_end_rest(entry);
	else if (entry->_marks & BATON__MARK_LISTED) {
		if (withdraw_entry(admission, entry))
			act(admission);
		else
			stop_task(entry, -ECANCELED);
	}
	return 0;
}

int baton__admission_drop(struct baton_task *task)
{
	struct baton_admission *admission = baton_container_of(task, struct baton_admission, _drop);
	struct baton_admitted *next;

	admission->_dropping = true;
	for (struct baton_admitted *entry = admission->_first; entry; entry = next) {
		next = entry->_next;
		(void)withdraw_entry(admission, entry);
	}
	/* All entries that are left are running. An entry leaves the list only in a later task of
	 * this resource, so the list does not change during the loop. */
	for (struct baton_admitted *entry = admission->_first; entry; entry = entry->_next)
		stop_task(entry, -ECANCELED);
	act(admission);
	baton__admission_leave(admission);
	return 0;
}

void baton__admission_limit(struct baton_admission *admission, const uint32_t *limits,
                            uint32_t reserve)
{
	int error = baton_rules_set_limits(&admission->_rules, limits, reserve,
	                                   look_at_clock(admission));

	BATON_ASSERT(!error);
	act(admission);
}

int baton__admission_tick(struct baton_timer *tick)
{
	struct baton_admission *admission = baton_container_of(tick, struct baton_admission, _tick);

	admission->_next_tick = BATON_NEVER;
	(void)baton_rules_tick(&admission->_rules, look_at_clock(admission));
	act(admission);
	return 0;
}
