/* SPDX-License-Identifier: MIT */
/*
 * What the files of the rules of admission share: rules.c (the calls), rules_state.c (who waits and
 * who runs), rules_cycle.c (decisions), rules_plan.c (estimates).
 *
 * Invariants:
 * rules.line: A line holds the tasks of one kind: first those that run, by their start, then those
 *    that wait, by number. Waiting tasks of a line start in this order, so a start moves the line's
 *    boundary (_waiting) and no task.
 * rules.busy: _busy[i] counts the tasks that run, or are lost, and are of class i or slower, or
 *    assigned such a class. _busy[0] leaves interactive tasks out, unless they are lost.
 */
#ifndef BATON_SRC_RULES_H
#define BATON_SRC_RULES_H

#include <baton/rules.h>

enum baton__rules_state {
	BATON__ENTRY_FREE = 0,
	BATON__ENTRY_WAITING = 1,
	BATON__ENTRY_RUNNING = 2,
	BATON__ENTRY_HALTED = 3, /* interactive: told to stop, its backend was given on */
	BATON__ENTRY_LOST = 4,   /* overran, and counts until it finishes */
	BATON__ENTRY_GONE = 5,   /* overran, and does not count */
};

enum baton__rules_plan {
	BATON__PLAN_NONE = 0,
	BATON__PLAN_BEGUN = 1,
	BATON__PLAN_DONE = 2,
};

/* Why the plan goes on. */
enum baton__rules_event {
	BATON__EVENT_ARRIVAL,
	BATON__EVENT_TICK,
	BATON__EVENT_OTHER,
};

static inline uint64_t baton__rules_add(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* Does the entry's planned start still hold? It does not if the plan was thrown away since. */
static inline bool baton__rules_valid(const struct baton_rules *rules,
                                      const struct baton_rules_entry *entry)
{
	return rules->_plan != BATON__PLAN_NONE &&
	       (int32_t)(entry->_pass - rules->_valid_from) >= 0;
}

/* The slowest class whose limit the waiting task counts towards. */
static inline uint32_t baton__rules_class(const struct baton_rules_entry *entry)
{
	return entry->_kind == BATON_RULES_DEFAULT ? 0 : entry->_kind;
}

/* The line of the defaults comes after those of the classes. */
static inline struct baton_rules_line *baton__rules_line(struct baton_rules *rules,
                                                         const struct baton_rules_entry *entry)
{
	uint32_t classes = rules->_config.class_count;

	return &rules->_lines[entry->_kind == BATON_RULES_DEFAULT ? classes : entry->_kind];
}

/* rules.c */
bool baton__rules_limits_nest(const uint32_t *limits, uint32_t classes, uint32_t reserve);

/* rules_state.c */
/* The line's first waiting task with this number, or a higher one; NULL: none. */
struct baton_rules_entry *baton__rules_place(const struct baton_rules_line *line, uint64_t number);
void baton__rules_wait(struct baton_rules *rules, struct baton_rules_entry *entry);
void baton__rules_wait_end(struct baton_rules *rules, struct baton_rules_entry *entry);
void baton__rules_run(struct baton_rules *rules, struct baton_rules_entry *entry,
                      uint32_t assigned);
void baton__rules_run_restored(struct baton_rules *rules, struct baton_rules_entry *entry,
                               uint32_t assigned);
void baton__rules_run_end(struct baton_rules *rules, struct baton_rules_entry *entry);
void baton__rules_reassign(struct baton_rules *rules, struct baton_rules_entry *entry,
                           uint32_t assigned);
void baton__rules_halt(struct baton_rules *rules, struct baton_rules_entry *entry);
void baton__rules_lose(struct baton_rules *rules, struct baton_rules_entry *entry);
void baton__rules_stop_end(struct baton_rules *rules, struct baton_rules_entry *entry);
struct baton_rules_entry *baton__rules_first(const struct baton_rules *rules, uint32_t ignored);

/* rules_cycle.c */
void baton__rules_cycle(struct baton_rules *rules);
void baton__rules_interactive(struct baton_rules *rules, struct baton_rules_entry *entry);
void baton__rules_denied(struct baton_rules *rules);
void baton__rules_shrink(struct baton_rules *rules);

/* rules_plan.c */
void baton__rules_plan(struct baton_rules *rules, enum baton__rules_event event);
void baton__rules_forget(struct baton_rules *rules, struct baton_rules_entry *entry);
uint64_t baton__rules_plan_next(const struct baton_rules *rules);

#endif
