/* SPDX-License-Identifier: MIT */
/*
 * Estimates. The plan assumes that every task uses all the time it may. A waiting task's estimate
 * is its start in the plan. One pass in the order of arrival makes the whole plan, since no task
 * changes the start of a task before it:
 *
 * plan.levels: For each limit i, `_at` is the first time from which on limit i has room, after all
 *    planned tasks (`_busy` tasks of class i or slower run at that time). A task of class c is
 *    planned at the latest `_at` of the limits 0 to c. Room at limit i is of no use while limit
 *    i - 1 has none, so limit i moves on to the first time at which limit i - 1 has room. A fast
 *    task may start before slower tasks that arrived earlier and wait for the limit of their class.
 *    The fast task does not delay them: they wait for the end of a task of their class, and that
 *    end frees a place at all limits of faster classes, too.
 * plan.defaults: No task waits for room that a default could make: the cycle brings the default
 *    down first. So in the plan a default counts at limit 0 alone, and runs as long as class 0
 *    allows.
 * plan.order: Starts and ends of the tasks of a line are in the line's order, so a level moves
 *    forward through the lines, by two cursors for each line: the last task whose start, and the
 *    last whose end, is at or before `_at`. No task behind a cursor starts, or ends, by then. (With
 *    a grace, a default that was stopped late may end after one that started later: then the plan
 *    lets both end at the later end.) A pass is O(classes) for each task and limit.
 *
 * A pass plans 256 tasks in each tick, one tick each millisecond, and 64 in each other call. So a
 * call costs a few microseconds while a pass over 100,000 tasks is under way.
 *
 * A task that finishes early, or is withdrawn, makes the plan stale: the plan's estimates are then
 * too large, and no wait is longer than its estimate. The plan keeps the place of the task that has
 * left, as a ghost, until the task's planned end. So the estimates of new arrivals are not too
 * small either. Two passes begin at least 100 ms apart, and at least 50 us for each task that
 * waits: so all passes together plan at most 20,000 tasks a second, however many wait. (An estimate
 * is told again when it has moved by 5 % of the wait: in a longer queue that takes longer.) For an
 * arrival a new pass begins sooner while at most 64 tasks wait.
 *
 * Some events can make waits longer than planned: a change of limits, a task that comes back to an
 * old place, a restored task, an overrun, a default that stops later than planned. These events
 * throw the plan away (BATON__PLAN_NONE). If a task runs longer, or starts later, than planned, the
 * next pass makes all earlier estimates invalid (_late).
 */
#include "companion/admission/rules.h"

#include "base/platform.h"

#define TOLD_EVERY_NS ((uint64_t)100000000)
#define SLICE 64U       /* estimates that a call makes, unless it is a tick */
#define TICK_SLICE 256U /* estimates that a tick makes */
#define TICK_EVERY_NS ((uint64_t)1000000)
#define RENEWAL_NS ((uint64_t)50000) /* between two passes, for each task that waits */
#define FEW 64U /* at most SLICE: an arrival's whole plan is made within the call */

static uint64_t min(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t max(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* The line's task after the cursor; a NULL cursor is before the first task. */
static struct baton_rules_entry *after(const struct baton_rules_line *line,
                                       const struct baton_rules_entry *cursor)
{
	return cursor ? cursor->_next : line->_first;
}

/* Limit i counts the lines i to last_line(i): the defaults' line is the last. */
static uint32_t last_line(const struct baton_rules *rules, uint32_t i)
{
	return i > 0 ? rules->_config.class_count - 1 : rules->_config.class_count;
}

static uint32_t capacity(const struct baton_rules *rules, uint32_t i)
{
	return i > 0 ? rules->_config.limit[i] : rules->_config.limit[0] - rules->_config.reserve;
}

/* ---- A level ---- */

static struct baton_rules_entry *next_start(const struct baton_rules *rules, uint32_t i, uint32_t l)
{
	struct baton_rules_entry *entry = after(&rules->_lines[l], rules->_levels[i]._started[l]);

	return entry && entry->_pass == rules->_pass ? entry : NULL;
}

static struct baton_rules_entry *next_end(const struct baton_rules *rules, uint32_t i, uint32_t l)
{
	const struct baton_rules_level *level = &rules->_levels[i];

	if (level->_ended[l] == level->_started[l])
		return NULL;
	return after(&rules->_lines[l], level->_ended[l]);
}

static uint64_t next_event(const struct baton_rules *rules, uint32_t i)
{
	const struct baton_rules_level *level = &rules->_levels[i];
	uint64_t at = level->_ghosts > 0 ? level->_ghosts_end : BATON_NEVER;

	for (uint32_t l = i; l <= last_line(rules, i); l++) {
		const struct baton_rules_entry *start = next_start(rules, i, l);
		const struct baton_rules_entry *end = next_end(rules, i, l);

		if (start)
			at = min(at, start->_plan_start);
		if (end)
			at = min(at, end->_plan_end);
	}
	return at;
}

static void move_to(struct baton_rules *rules, uint32_t i, uint64_t at)
{
	struct baton_rules_level *level = &rules->_levels[i];

	for (uint32_t l = i; l <= last_line(rules, i); l++) {
		struct baton_rules_entry *entry;

		while ((entry = next_start(rules, i, l)) && entry->_plan_start <= at) {
			level->_started[l] = entry;
			level->_busy++;
		}
		while ((entry = next_end(rules, i, l)) && entry->_plan_end <= at) {
			level->_ended[l] = entry;
			level->_busy--;
		}
	}
	if (level->_ghosts > 0 && level->_ghosts_end <= at) {
		level->_busy -= level->_ghosts;
		level->_ghosts = 0;
	}
	level->_at = max(level->_at, at);
}

/* plan.levels: moves the level to the first time with room. */
static void settle_level(struct baton_rules *rules, uint32_t i)
{
	struct baton_rules_level *level = &rules->_levels[i];

	/* Ends: each round passes one event, and after the last event _at is BATON_NEVER. */
	while (level->_busy >= capacity(rules, i) && level->_at < BATON_NEVER)
		move_to(rules, i, next_event(rules, i));
}

/* ---- A pass ---- */

/* The latest end of a running task, for the plan. */
static uint64_t latest_end(const struct baton_rules *rules, const struct baton_rules_entry *entry)
{
	uint64_t end = entry->_end;
	uint64_t lowered;

	if (entry->_kind == BATON_RULES_DEFAULT && entry->_assigned > 0) {
		lowered = max(rules->_now,
		              baton__rules_add(entry->_started, rules->_config.duration_ns[0]));
		/* A default that should have ended already gets no new time when brought down. */
		if (lowered < end)
			end = lowered;
	}
	return max(rules->_now, baton__rules_add(end, rules->_config.grace_ns));
}

static void begin_pass(struct baton_rules *rules)
{
	uint32_t classes = rules->_config.class_count;

	rules->_pass++;
	if (rules->_plan == BATON__PLAN_NONE || rules->_late)
		rules->_valid_from = rules->_pass;
	rules->_late = false;
	rules->_planned_at = rules->_now;
	rules->_stale = false;
	for (uint32_t l = 0; l <= classes; l++) {
		struct baton_rules_line *line = &rules->_lines[l];
		uint64_t end = 0;

		line->_planned = line->_waiting ? line->_waiting->_prev : line->_last;
		for (struct baton_rules_entry *e = line->_first; e != line->_waiting;
		     e = e->_next) {
			e->_pass = rules->_pass;
			e->_plan_start = e->_started;
			if (baton__rules_add(e->_end, rules->_config.grace_ns) < rules->_now)
				rules->_late = true;
			end = max(end, latest_end(rules, e)); /* plan.order */
			e->_plan_end = end;
		}
	}
	for (uint32_t i = 0; i < classes; i++) {
		struct baton_rules_level *level = &rules->_levels[i];

		level->_at = rules->_now;
		level->_busy = rules->_lost_busy[i];
		level->_ghosts = 0;
		level->_ghosts_end = 0;
		for (uint32_t l = i; l <= last_line(rules, i); l++) {
			level->_busy += rules->_lines[l]._running;
			level->_started[l] = rules->_lines[l]._planned;
			level->_ended[l] = NULL;
		}
		move_to(rules, i, rules->_now);
	}
}

static void plan_one(struct baton_rules *rules, struct baton_rules_entry *entry)
{
	uint32_t class = baton__rules_class(entry);
	uint64_t length =
		baton__rules_add(rules->_config.duration_ns[class], rules->_config.grace_ns);
	uint64_t start = rules->_now;

	for (uint32_t i = 0; i <= class; i++) {
		if (rules->_levels[i]._at < start)
			move_to(rules, i, start);
		settle_level(rules, i);
		start = max(start, rules->_levels[i]._at);
	}
	/* The start that an earlier pass planned is also an upper bound, and may be the smaller
	 * one: ghosts make this pass plan too late. */
	if (baton__rules_valid(rules, entry))
		start = max(rules->_now, min(start, entry->_plan_start));
	entry->_plan_start = start;
	entry->_plan_end = baton__rules_add(start, length);
	entry->_pass = rules->_pass;
	baton__rules_line(rules, entry)->_planned = entry;
	for (uint32_t i = 0; i <= class; i++)
		move_to(rules, i, rules->_levels[i]._at);
}

/* The pass's next task. A task that has started since the pass began is running. */
static struct baton_rules_entry *next_unplanned(const struct baton_rules *rules)
{
	struct baton_rules_entry *next = NULL;

	for (uint32_t l = 0; l <= rules->_config.class_count; l++) {
		struct baton_rules_entry *entry =
			after(&rules->_lines[l], rules->_lines[l]._planned);

		if (entry && (!next || entry->_number < next->_number))
			next = entry;
	}
	return next;
}

static void tell_estimate(struct baton_rules *rules, struct baton_rules_entry *entry)
{
	uint64_t start = entry->_plan_start;
	uint64_t now = rules->_now;

	if (entry->_phase != BATON__ENTRY_WAITING || !rules->_events->estimate)
		return;
	if (entry->_told_at != BATON_NEVER) {
		uint64_t moved = max(start, entry->_told) - min(start, entry->_told);
		uint64_t wait = max(entry->_told, now) - now;

		if (moved <= wait / 20)
			return;
		if (now - entry->_told_at < TOLD_EVERY_NS) {
			rules->_stale = true; /* told by a later pass */
			return;
		}
	}
	entry->_told = start;
	entry->_told_at = now;
	rules->_events->estimate(rules, entry, start == BATON_NEVER ? start : start - now);
}

/* The time from which on a stale plan is made anew. */
static uint64_t renewed_at(const struct baton_rules *rules)
{
	uint64_t every = max(TOLD_EVERY_NS, rules->_waiting * RENEWAL_NS);

	return baton__rules_add(rules->_planned_at, every);
}

/* Goes on with the plan. */
void baton__rules_plan(struct baton_rules *rules, enum baton__rules_event event)
{
	const uint32_t slice = event == BATON__EVENT_TICK ? TICK_SLICE : SLICE;
	struct baton_rules_entry *entry;

	if (rules->_waiting == 0) {
		rules->_plan = BATON__PLAN_NONE;
		return;
	}
	if (rules->_plan == BATON__PLAN_NONE ||
	    (rules->_plan == BATON__PLAN_DONE && rules->_stale &&
	     (rules->_now >= renewed_at(rules) ||
	      (event == BATON__EVENT_ARRIVAL && rules->_waiting <= FEW))))
		begin_pass(rules);
	for (uint32_t n = 0; (entry = next_unplanned(rules)); n++) {
		if (n == slice) {
			rules->_plan = BATON__PLAN_BEGUN;
			return;
		}
		plan_one(rules, entry);
		tell_estimate(rules, entry);
	}
	rules->_plan = BATON__PLAN_DONE;
}

/* A task leaves its line. A ghost keeps the planned place taken. */
void baton__rules_forget(struct baton_rules *rules, struct baton_rules_entry *entry)
{
	struct baton_rules_line *line = baton__rules_line(rules, entry);
	uint32_t l = (uint32_t)(line - rules->_lines);

	if (rules->_plan == BATON__PLAN_NONE)
		return;
	if (line->_planned == entry)
		line->_planned = entry->_prev;
	if (entry->_pass != rules->_pass)
		return;
	if (entry->_plan_end != rules->_now)
		rules->_stale = true;
	if (entry->_plan_end < rules->_now && entry->_phase == BATON__ENTRY_RUNNING)
		rules->_late = true;
	for (uint32_t i = 0; i <= baton__rules_class(entry); i++) {
		struct baton_rules_level *level = &rules->_levels[i];

		if (entry->_plan_end > level->_at) {
			if (entry->_plan_start > level->_at)
				level->_busy++;
			level->_ghosts++;
			level->_ghosts_end = max(level->_ghosts_end, entry->_plan_end);
		}
		if (level->_started[l] == entry)
			level->_started[l] = entry->_prev;
		if (level->_ended[l] == entry)
			level->_ended[l] = entry->_prev;
	}
}

/* When the plan wants to go on. */
uint64_t baton__rules_plan_next(const struct baton_rules *rules)
{
	if (rules->_waiting == 0)
		return BATON_NEVER;
	if (rules->_plan != BATON__PLAN_DONE)
		return baton__rules_add(rules->_now, TICK_EVERY_NS);
	return rules->_stale ? renewed_at(rules) : BATON_NEVER;
}
