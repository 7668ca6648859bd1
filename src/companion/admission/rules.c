/* SPDX-License-Identifier: MIT */
/*
 * The rules of admission: the calls. Each checks its arguments, changes who waits and who runs
 * (rules_state.c), lets the cycle decide (rules_cycle.c), and goes on with the plan (rules_plan.c).
 */
#include "companion/admission/rules.h"

#include "base/platform.h"
#include "base/refused.h"

#include <errno.h>

#define DEFAULT_CLASSES 3U

static const uint64_t default_durations[DEFAULT_CLASSES] = {3 * BATON_SECOND, 10 * BATON_SECOND,
                                                            30 * BATON_SECOND};

/* ---- Beginning ---- */

bool baton__rules_limits_nest(const uint32_t *limits, uint32_t classes, uint32_t reserve)
{
	for (uint32_t i = 1; i < classes; i++)
		if (limits[i] > limits[i - 1])
			return false;
	return limits[classes - 1] > 0 && reserve < limits[0];
}

static bool no_durations(const struct baton_rules_config *config)
{
	for (uint32_t i = 0; i < BATON_RULES_CLASSES_MAX; i++)
		if (config->duration_ns[i] > 0)
			return false;
	return true;
}

static bool durations_rise(const struct baton_rules_config *config)
{
	for (uint32_t i = 1; i < config->class_count; i++)
		if (config->duration_ns[i] < config->duration_ns[i - 1])
			return false;
	return config->duration_ns[0] > 0;
}

BATON_EXPORT int baton_rules_init(struct baton_rules *rules,
                                  const struct baton_rules_config *config,
                                  const struct baton_rules_events *events)
{
	struct baton_rules_config copy = *config;

	if (copy.class_count == 0)
		copy.class_count = DEFAULT_CLASSES;
	if (copy.class_count == DEFAULT_CLASSES && no_durations(config))
		for (uint32_t i = 0; i < DEFAULT_CLASSES; i++)
			copy.duration_ns[i] = default_durations[i];
	if (copy.class_count > BATON_RULES_CLASSES_MAX || !durations_rise(&copy) ||
	    !baton__rules_limits_nest(copy.limit, copy.class_count, copy.reserve))
		return -EINVAL;
	if (copy.policy > BATON_RULES_RANDOM || copy.stuck > BATON_RULES_GONE || !events->start ||
	    BATON__UNKNOWN(config))
		return -EINVAL;
	*rules = (struct baton_rules){._events = events, ._config = copy, ._random = copy.seed};
	return 0;
}

BATON_EXPORT void baton_rules_entry_init(struct baton_rules_entry *entry, uint32_t kind)
{
	*entry = (struct baton_rules_entry)BATON_RULES_ENTRY_INIT(kind);
}

static void set_now(struct baton_rules *rules, uint64_t now_ns)
{
	if (now_ns > rules->_now)
		rules->_now = now_ns;
}

/* After a change: decides, and plans. */
static void decide_and_plan(struct baton_rules *rules, enum baton__rules_event event)
{
	baton__rules_cycle(rules);
	baton__rules_plan(rules, event);
}

/* ---- Arrivals ---- */

static int check_entry(const struct baton_rules *rules, const struct baton_rules_entry *entry)
{
	if (entry->_phase != BATON__ENTRY_FREE)
		return -EALREADY;
	if (entry->_kind >= rules->_config.class_count && entry->_kind != BATON_RULES_DEFAULT &&
	    entry->_kind != BATON_RULES_INTERACTIVE)
		return -EINVAL;
	return 0;
}

static int arrive_interactive(struct baton_rules *rules, struct baton_rules_entry *entry)
{
	bool room =
		(uint64_t)rules->_busy[0] + rules->_interactive._count < rules->_config.limit[0];

	if (room)
		baton__rules_interactive(rules, entry);
	else
		baton__rules_denied(rules);
	decide_and_plan(rules, BATON__EVENT_OTHER);
	return room ? 0 : -EAGAIN;
}

BATON_EXPORT int baton_rules_arrive(struct baton_rules *rules, struct baton_rules_entry *entry,
                                    uint64_t now_ns)
{
	int error = check_entry(rules, entry);

	if (error)
		return error;
	set_now(rules, now_ns);
	entry->_number = rules->_numbers++;
	if (entry->_kind == BATON_RULES_INTERACTIVE)
		return arrive_interactive(rules, entry);
	baton__rules_wait(rules, entry);
	decide_and_plan(rules, BATON__EVENT_ARRIVAL);
	return 0;
}

BATON_EXPORT int baton_rules_arrive_at(struct baton_rules *rules, struct baton_rules_entry *entry,
                                       uint64_t number, uint64_t now_ns)
{
	int error = check_entry(rules, entry);
	const struct baton_rules_entry *other;

	if (!error && (entry->_kind == BATON_RULES_INTERACTIVE || number == UINT64_MAX))
		error = -EINVAL;
	if (error)
		return error;
	other = baton__rules_place(baton__rules_line(rules, entry), number);
	if (other && other->_number == number)
		return -EEXIST;
	set_now(rules, now_ns);
	entry->_number = number;
	if (number < rules->_numbers)
		rules->_plan = BATON__PLAN_NONE;
	else
		rules->_numbers = number + 1;
	baton__rules_wait(rules, entry);
	decide_and_plan(rules, BATON__EVENT_ARRIVAL);
	return 0;
}

BATON_EXPORT int baton_rules_restore(struct baton_rules *rules, struct baton_rules_entry *entry,
                                     const struct baton_rules_run *run, uint64_t now_ns)
{
	int error = check_entry(rules, entry);
	uint32_t assigned = run->assigned;

	if (error)
		return error;
	if (entry->_kind != BATON_RULES_DEFAULT)
		assigned = entry->_kind == BATON_RULES_INTERACTIVE ? 0 : entry->_kind;
	if (assigned >= rules->_config.class_count || run->number == UINT64_MAX ||
	    (run->started_ns > rules->_now && run->started_ns > now_ns))
		return -EINVAL;
	set_now(rules, now_ns);
	entry->_number = run->number;
	entry->_started = run->started_ns;
	if (run->number >= rules->_numbers)
		rules->_numbers = run->number + 1;
	baton__rules_run_restored(rules, entry, assigned);
	rules->_plan = BATON__PLAN_NONE;
	baton__rules_shrink(rules);
	decide_and_plan(rules, BATON__EVENT_OTHER);
	return 0;
}

/* ---- Ends ---- */

BATON_EXPORT int baton_rules_finish(struct baton_rules *rules, struct baton_rules_entry *entry,
                                    uint64_t now_ns)
{
	if (entry->_phase == BATON__ENTRY_FREE || entry->_phase == BATON__ENTRY_WAITING)
		return -EINVAL;
	set_now(rules, now_ns);
	if (entry->_phase == BATON__ENTRY_RUNNING)
		baton__rules_run_end(rules, entry);
	else
		baton__rules_stop_end(rules, entry);
	if (entry->_phase == BATON__ENTRY_LOST)
		rules->_stale = true;
	entry->_phase = BATON__ENTRY_FREE;
	decide_and_plan(rules, BATON__EVENT_OTHER);
	return 0;
}

BATON_EXPORT int baton_rules_withdraw(struct baton_rules *rules, struct baton_rules_entry *entry,
                                      uint64_t now_ns)
{
	if (entry->_phase != BATON__ENTRY_WAITING)
		return entry->_phase == BATON__ENTRY_FREE ? -EINVAL : -EINPROGRESS;
	set_now(rules, now_ns);
	baton__rules_wait_end(rules, entry);
	entry->_phase = BATON__ENTRY_FREE;
	rules->_stale = true;
	baton__rules_plan(rules, BATON__EVENT_OTHER);
	return 0;
}

/* ---- Limits and time ---- */

BATON_EXPORT int baton_rules_set_limits(struct baton_rules *rules, const uint32_t *limits,
                                        uint32_t reserve, uint64_t now_ns)
{
	if (!baton__rules_limits_nest(limits, rules->_config.class_count, reserve))
		return -EINVAL;
	set_now(rules, now_ns);
	for (uint32_t i = 0; i < rules->_config.class_count; i++)
		rules->_config.limit[i] = limits[i];
	rules->_config.reserve = reserve;
	rules->_plan = BATON__PLAN_NONE;
	baton__rules_shrink(rules);
	decide_and_plan(rules, BATON__EVENT_OTHER);
	return 0;
}

static uint64_t due(const struct baton_rules *rules, const struct baton_rules_entry *entry)
{
	return baton__rules_add(baton__rules_add(entry->_end, rules->_config.grace_ns), 1);
}

/*
 * Of `first` and the defaults assigned class i, the one that has to end first. The defaults are in
 * the order of their starts. A default has to end when the duration of its class is over, or later
 * if it was told to stop late. So the search is over at the first default whose duration is not
 * over before `first` has to end.
 */
static struct baton_rules_entry *first_default(const struct baton_rules *rules, uint32_t i,
                                               struct baton_rules_entry *first)
{
	uint64_t duration = rules->_config.duration_ns[i];

	for (struct baton_rules_entry *e = rules->_assigned[i]._first; e; e = e->_peer_next) {
		if (first && baton__rules_add(e->_started, duration) >= first->_end)
			break;
		if (!first || e->_end < first->_end)
			first = e;
	}
	return first;
}

/* Of the tasks that run or were halted, the first that has to end. */
static struct baton_rules_entry *first_due(const struct baton_rules *rules)
{
	struct baton_rules_entry *first = rules->_halted._first;

	for (uint32_t i = 0; i < rules->_config.class_count; i++) {
		const struct baton_rules_line *line = &rules->_lines[i];

		if (line->_running > 0 && (!first || line->_first->_end < first->_end))
			first = line->_first;
		first = first_default(rules, i, first);
	}
	return first;
}

static void look_for_overruns(struct baton_rules *rules)
{
	struct baton_rules_entry *entry;

	/* Ends: each round takes one task out of these lists. */
	while ((entry = first_due(rules)) && due(rules, entry) <= rules->_now) {
		baton__rules_lose(rules, entry);
		rules->_plan = BATON__PLAN_NONE;
		if (rules->_events->overrun)
			rules->_events->overrun(rules, entry);
	}
}

BATON_EXPORT uint64_t baton_rules_tick(struct baton_rules *rules, uint64_t now_ns)
{
	set_now(rules, now_ns);
	look_for_overruns(rules);
	baton__rules_shrink(rules);
	decide_and_plan(rules, BATON__EVENT_TICK);
	return baton_rules_next(rules);
}

BATON_EXPORT uint64_t baton_rules_next(const struct baton_rules *rules)
{
	const struct baton_rules_entry *entry = first_due(rules);
	uint64_t next = baton__rules_plan_next(rules);
	uint64_t overrun = entry ? due(rules, entry) : BATON_NEVER;

	return overrun < next ? overrun : next;
}

/* ---- Looking ---- */

BATON_EXPORT uint64_t baton_rules_estimate(const struct baton_rules *rules,
                                           const struct baton_rules_entry *entry)
{
	if (entry->_phase != BATON__ENTRY_WAITING)
		return 0;
	if (entry->_plan_start == BATON_NEVER || !baton__rules_valid(rules, entry))
		return BATON_NEVER;
	return entry->_plan_start > rules->_now ? entry->_plan_start - rules->_now : 0;
}

BATON_EXPORT uint64_t baton_rules_waiting(const struct baton_rules *rules)
{
	return rules->_waiting;
}

BATON_EXPORT uint32_t baton_rules_running(const struct baton_rules *rules, uint32_t class_number)
{
	if (class_number >= rules->_config.class_count)
		return 0;
	return rules->_busy[class_number] + (class_number > 0 ? 0 : rules->_interactive._count);
}
