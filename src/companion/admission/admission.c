/* SPDX-License-Identifier: MIT */
/*
 * Admission: the calls. Each call checks its arguments, and submits a message to `_resource`.
 */
#include "companion/admission/admission.h"

#include <baton/thread.h>
#include <baton/timers.h>

#include "base/atomic.h"
#include "base/refused.h"
#include "companion/admission/rules.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- Beginning and end ---- */

/* A closed wheel drops its timers: the admission looks at the clock all the same. */
static void drop_timer(struct baton_timer *timer, int error)
{
	(void)timer;
	(void)error;
}

void baton__admission_timer_init(struct baton_admission *admission, struct baton_timer *timer,
                                 baton_timer_fn fn)
{
	baton_timer_init(timer, admission->_timers, &admission->_resource, fn);
	baton_timer_set_dropped(timer, drop_timer);
}

BATON_EXPORT int baton_admission_init(struct baton_admission *admission,
                                      const struct baton_admission_config *config)
{
	struct baton_rules_config rules = config->rules;
	struct baton_timers *timers = config->timers;
	int error;

	if (rules.grace_ns == 0)
		rules.grace_ns = BATON_ADMISSION_GRACE;
	memset(admission, 0, sizeof(*admission));
	error = BATON__UNKNOWN(config)
	                ? -EINVAL
	                : baton_rules_init(&admission->_rules, &rules, &baton__admission_events);
	if (!error && !timers)
		error = baton_timers_default(&timers);
	if (error)
		return error;
	admission->_config = *config;
	admission->_timers = timers;
	admission->_resource_config = (struct baton_resource_config)BATON_RESOURCE_CONFIG_INIT;
	admission->_resource_config.executor = config->executor;
	admission->_resource_config.name = config->name;
	baton_resource_init(&admission->_resource, &admission->_resource_config);
	baton__admission_timer_init(admission, &admission->_tick, baton__admission_tick);
	baton_promise_init(&admission->_ended);
	admission->_decided_last = &admission->_decided;
	admission->_next_tick = BATON_NEVER;
	return 0;
}

BATON_EXPORT int baton_admission_close(struct baton_admission *admission,
                                       enum baton_admission_rest rest)
{
	uint64_t flags = BATON__ADMISSION_CLOSED |
	                 (rest == BATON_ADMISSION_DROP ? BATON__ADMISSION_DROP : 0);
	uint64_t word = load_relaxed(&admission->_users);
	int error = baton_thread_attach();

	if (error)
		return error;
	/* The closing thread is a user. For the end of the loop, and for relaxed, see
	 * baton__admission_enter. */
	do {
		if ((word & flags) == flags ||
		    (word & BATON__ADMISSION_CLOSED && word < BATON__ADMISSION_USER))
			return -EALREADY;
	} while (!cas_relaxed(&admission->_users, &word, (word | flags) + BATON__ADMISSION_USER));
	if (rest != BATON_ADMISSION_DROP) {
		baton__admission_leave(admission);
		return 0;
	}
	baton_task_init(&admission->_drop, baton__admission_drop, NULL);
	error = baton_submit(&admission->_resource, &admission->_drop);
	BATON_ASSERT(!error); /* admission.open */
	return 0;
}

BATON_EXPORT int baton_admission_await_until(struct baton_admission *admission,
                                             uint64_t deadline_ns)
{
	int error;

	/* Relaxed: the promise orders what follows. */
	if (!(load_relaxed(&admission->_users) & BATON__ADMISSION_CLOSED))
		return -EINVAL;
	error = baton_future_wait_until(&admission->_ended, deadline_ns);
	/* The thread that has completed the promise may still hold the baton. */
	return error ? error : baton_resource_await_until(&admission->_resource, deadline_ns);
}

BATON_EXPORT int baton_admission_await(struct baton_admission *admission)
{
	return baton_admission_await_until(admission, BATON_FOREVER);
}

BATON_EXPORT void baton_admission_deinit(struct baton_admission *admission)
{
	BATON_REQUIRE_OF(baton_future_is_complete(&admission->_ended), admission->_config.name,
	                 "is not closed, or has entries: close and await it first");
	baton_resource_deinit(&admission->_resource);
}

/* ---- Entries ---- */

BATON_EXPORT void baton_admitted_init(struct baton_admitted *admitted, uint32_t kind,
                                      baton_task_fn run)
{
	memset(admitted, 0, sizeof(*admitted));
	baton_rules_entry_init(&admitted->_rules, kind);
	admitted->_fn = run;
}

static bool sound(const struct baton_admission *admission, const struct baton_admitted *admitted)
{
	uint32_t kind = admitted->_rules._kind;

	/* class_count does not change. */
	return admitted->_fn &&
	       (kind < admission->_rules._config.class_count || kind == BATON_RULES_DEFAULT ||
	        kind == BATON_RULES_INTERACTIVE) &&
	       (!admitted->outcome || !baton_future_is_complete(admitted->outcome)) &&
	       (!admitted->gone || !baton_future_is_complete(admitted->gone));
}

BATON_EXPORT int baton_admission_arrive(struct baton_admission *admission,
                                        struct baton_admitted *admitted)
{
	uint32_t word = BATON__ADMITTED_FREE;
	int error = baton_thread_attach();

	if (error)
		return error;
	/* Relaxed: the entry is the caller's, or the call is refused. */
	if (!cas_relaxed(&admitted->_progress, &word, BATON__ADMITTED_CLAIMED))
		return -EALREADY;
	error = sound(admission, admitted) ? 0 : -EINVAL;
	if (!error && !baton__admission_enter(admission, false))
		error = -EPIPE;
	if (error) {
		store_relaxed(&admitted->_progress, BATON__ADMITTED_FREE);
		return error;
	}
	admitted->_admission = admission;
	admitted->_decision = 0;
	admitted->_marks = 0;
	store_relaxed(&admitted->_until, 0);
	store_relaxed(&admitted->_starts_by, BATON_NEVER);
	baton_task_init(&admitted->_message, baton__admitted_arrive, NULL);
	/* [admission.arrived] release: `_admission`; pairs with [admission.arrived] in
	 * withdraw_entry */
	store_release(&admitted->_progress, BATON__ADMITTED_ARRIVED);
	error = baton_submit(&admission->_resource, &admitted->_message); /* last touch */
	BATON_ASSERT(!error);                                             /* admission.open */
	return 0;
}

BATON_EXPORT int baton_admitted_withdraw(struct baton_admitted *admitted)
{
	uint32_t word;
	int error = baton_thread_attach();

	if (error)
		return error;
	/* [admission.arrived] acquire: `_admission`; pairs with [admission.arrived] in arrive */
	word = load_acquire(&admitted->_progress);
	/* Ends: a CAS fails only because of another withdraw, or of the entry's end. */
	do {
		if (!(word & BATON__ADMITTED_ARRIVED))
			return -EINVAL;
		if (word & (BATON__ADMITTED_ASKED | BATON__ADMITTED_OVER))
			return -EALREADY;
	} while (!cas_relaxed(&admitted->_progress, &word, word | BATON__ADMITTED_ASKED));
	baton_task_init(&admitted->_withdrawal, baton__admitted_withdraw, NULL);
	error = baton_submit(&admitted->_admission->_resource, &admitted->_withdrawal);
	BATON_ASSERT(!error); /* admission.open */
	return 0;
}

/* How long it is until `time`. 0 and BATON_NEVER are returned as they are. */
static uint64_t left_until(const struct baton_admitted *admitted, uint64_t time)
{
	uint64_t now;

	if (time == 0 || time == BATON_NEVER)
		return time;
	now = baton_timers_now(admitted->_admission->_timers);
	return time > now ? time - now : 0;
}

BATON_EXPORT uint64_t baton_admitted_estimate(const struct baton_admitted *admitted)
{
	return left_until(admitted, load_relaxed(&admitted->_starts_by));
}

BATON_EXPORT uint64_t baton_admitted_time_left(const struct baton_admitted *admitted)
{
	return left_until(admitted, load_relaxed(&admitted->_until));
}

/* ---- Limits, counters ---- */

struct change {
	struct baton_task task;
	struct baton_admission *admission;
	uint32_t limits[BATON_RULES_CLASSES_MAX];
	uint32_t reserve;
};

static int change_run(struct baton_task *task)
{
	struct change *change = baton_container_of(task, struct change, task);
	struct baton_admission *admission = change->admission;

	baton__admission_limit(admission, change->limits, change->reserve);
	free(change);
	baton__admission_leave(admission);
	return 0;
}

BATON_EXPORT int baton_admission_set_limits(struct baton_admission *admission,
                                            const uint32_t *limits, uint32_t reserve)
{
	uint32_t classes = admission->_rules._config.class_count;
	struct change *change;
	int error = baton_thread_attach();

	if (error)
		return error;
	if (!baton__rules_limits_nest(limits, classes, reserve))
		return -EINVAL;
	change = malloc(sizeof(*change));
	if (!change)
		return -ENOMEM;
	if (!baton__admission_enter(admission, true)) {
		free(change);
		return -EPIPE;
	}
	baton_task_init(&change->task, change_run, NULL);
	change->admission = admission;
	change->reserve = reserve;
	memcpy(change->limits, limits, classes * sizeof(*limits));
	error = baton_submit(&admission->_resource, &change->task);
	BATON_ASSERT(!error); /* admission.open */
	return 0;
}

BATON_EXPORT void baton_admission_stats_read(const struct baton_admission *admission,
                                             struct baton_admission_stats *copy)
{
	const struct baton_admission_stats *stats = &admission->_stats;

	/* Relaxed: hints, not of one moment. */
	copy->finished = load_relaxed(&stats->finished);
	copy->started = load_relaxed(&stats->started);
	copy->arrived = load_relaxed(&stats->arrived);
	copy->denied = load_relaxed(&stats->denied);
	copy->withdrawn = load_relaxed(&stats->withdrawn);
	copy->stopped = load_relaxed(&stats->stopped);
	copy->overran = load_relaxed(&stats->overran);
	copy->waiting = load_relaxed(&stats->waiting);
	copy->running = copy->started > copy->finished ? copy->started - copy->finished : 0;
}
