/* SPDX-License-Identifier: MIT */
/*
 * The lists of waiting and of running tasks, and the counts of running tasks for each limit
 * (rules.line, rules.busy in rules.h). A running default is in two lists: the line of the defaults,
 * by its start, and the list of its assigned class. Interactive tasks and halted tasks have a list
 * each; lost tasks are only counted.
 */
#include "companion/admission/rules.h"

#include "base/platform.h"

/* ---- A line ---- */

static void line_insert(struct baton_rules_line *line, struct baton_rules_entry *next,
                        struct baton_rules_entry *entry)
{
	struct baton_rules_entry *prev = next ? next->_prev : line->_last;

	entry->_next = next;
	entry->_prev = prev;
	*(prev ? &prev->_next : &line->_first) = entry;
	*(next ? &next->_prev : &line->_last) = entry;
}

static void line_remove(struct baton_rules *rules, struct baton_rules_entry *entry)
{
	struct baton_rules_line *line = baton__rules_line(rules, entry);

	baton__rules_forget(rules, entry);
	if (line->_waiting == entry)
		line->_waiting = entry->_next;
	*(entry->_prev ? &entry->_prev->_next : &line->_first) = entry->_next;
	*(entry->_next ? &entry->_next->_prev : &line->_last) = entry->_prev;
}

/* ---- A list of peers, by their start ---- */

static bool started_before(const struct baton_rules_entry *a, const struct baton_rules_entry *b)
{
	return a->_started < b->_started || (a->_started == b->_started && a->_number < b->_number);
}

/* Walks back from the end: peers come mostly in the order of their starts. */
static void peers_insert(struct baton_rules_peers *peers, struct baton_rules_entry *entry)
{
	struct baton_rules_entry *prev = peers->_last;

	while (prev && started_before(entry, prev))
		prev = prev->_peer_prev;
	entry->_peer_prev = prev;
	entry->_peer_next = prev ? prev->_peer_next : peers->_first;
	*(prev ? &prev->_peer_next : &peers->_first) = entry;
	*(entry->_peer_next ? &entry->_peer_next->_peer_prev : &peers->_last) = entry;
	peers->_count++;
}

static void peers_append(struct baton_rules_peers *peers, struct baton_rules_entry *entry)
{
	entry->_peer_prev = peers->_last;
	entry->_peer_next = NULL;
	*(peers->_last ? &peers->_last->_peer_next : &peers->_first) = entry;
	peers->_last = entry;
	peers->_count++;
}

static void peers_remove(struct baton_rules_peers *peers, struct baton_rules_entry *entry)
{
	struct baton_rules_entry *prev = entry->_peer_prev;
	struct baton_rules_entry *next = entry->_peer_next;

	*(prev ? &prev->_peer_next : &peers->_first) = next;
	*(next ? &next->_peer_prev : &peers->_last) = prev;
	peers->_count--;
}

/* ---- Waiting ---- */

/*
 * Looks from both ends at once: a task that comes back to its old place belongs near the front, and
 * each task of a machine that is rebuilt belongs at the end.
 */
struct baton_rules_entry *baton__rules_place(const struct baton_rules_line *line, uint64_t number)
{
	struct baton_rules_entry *first = line->_waiting;
	struct baton_rules_entry *last = line->_last;

	if (!first || last->_number < number)
		return NULL;
	/* The place is between the two. Ends: they come closer with each round. */
	while (first->_number < number && last->_prev->_number >= number) {
		first = first->_next;
		last = last->_prev;
	}
	return first->_number >= number ? first : last;
}

void baton__rules_wait(struct baton_rules *rules, struct baton_rules_entry *entry)
{
	struct baton_rules_line *line = baton__rules_line(rules, entry);
	struct baton_rules_entry *next = baton__rules_place(line, entry->_number);

	line_insert(line, next, entry);
	if (next == line->_waiting)
		line->_waiting = entry;
	entry->_phase = BATON__ENTRY_WAITING;
	entry->_told_at = BATON_NEVER;
	entry->_plan_start = BATON_NEVER;
	entry->_pass = rules->_pass - 1;
	rules->_waiting++;
}

void baton__rules_wait_end(struct baton_rules *rules, struct baton_rules_entry *entry)
{
	line_remove(rules, entry);
	rules->_waiting--;
}

/* The first waiting task of the classes before `ignored`. Defaults wait as class 0. */
struct baton_rules_entry *baton__rules_first(const struct baton_rules *rules, uint32_t ignored)
{
	struct baton_rules_entry *first =
		ignored > 0 ? rules->_lines[rules->_config.class_count]._waiting : NULL;

	for (uint32_t i = 0; i < ignored; i++) {
		struct baton_rules_entry *entry = rules->_lines[i]._waiting;

		if (entry && (!first || entry->_number < first->_number))
			first = entry;
	}
	return first;
}

/* ---- Running ---- */

static void count_busy(uint32_t *busy, uint32_t assigned, uint32_t by)
{
	for (uint32_t i = 0; i <= assigned; i++)
		busy[i] += by;
}

static void join(struct baton_rules *rules, struct baton_rules_entry *entry, uint32_t assigned)
{
	entry->_phase = BATON__ENTRY_RUNNING;
	entry->_assigned = (uint8_t)assigned;
	if (entry->_kind == BATON_RULES_INTERACTIVE) {
		entry->_end = BATON_NEVER;
		peers_insert(&rules->_interactive, entry);
		return;
	}
	entry->_end = baton__rules_add(entry->_started, rules->_config.duration_ns[assigned]);
	baton__rules_line(rules, entry)->_running++;
	count_busy(rules->_busy, assigned, 1);
	if (entry->_kind == BATON_RULES_DEFAULT)
		peers_insert(&rules->_assigned[assigned], entry);
}

/* Starts a task: the first waiting one of its line, or an interactive one. */
void baton__rules_run(struct baton_rules *rules, struct baton_rules_entry *entry, uint32_t assigned)
{
	if (entry->_kind != BATON_RULES_INTERACTIVE) {
		baton__rules_line(rules, entry)->_waiting = entry->_next;
		rules->_waiting--;
	}
	entry->_started = rules->_now;
	join(rules, entry, assigned);
}

void baton__rules_run_restored(struct baton_rules *rules, struct baton_rules_entry *entry,
                               uint32_t assigned)
{
	if (entry->_kind != BATON_RULES_INTERACTIVE) {
		struct baton_rules_line *line = baton__rules_line(rules, entry);
		struct baton_rules_entry *next = line->_waiting;
		struct baton_rules_entry *prev = next ? next->_prev : line->_last;

		while (prev && started_before(entry, prev)) {
			next = prev;
			prev = prev->_prev;
		}
		line_insert(line, next, entry);
	}
	join(rules, entry, assigned);
}

void baton__rules_run_end(struct baton_rules *rules, struct baton_rules_entry *entry)
{
	if (entry->_kind == BATON_RULES_INTERACTIVE) {
		peers_remove(&rules->_interactive, entry);
		return;
	}
	baton__rules_line(rules, entry)->_running--;
	line_remove(rules, entry);
	count_busy(rules->_busy, entry->_assigned, (uint32_t)-1);
	if (entry->_kind == BATON_RULES_DEFAULT)
		peers_remove(&rules->_assigned[entry->_assigned], entry);
}

/* A default that runs is assigned another class. */
void baton__rules_reassign(struct baton_rules *rules, struct baton_rules_entry *entry,
                           uint32_t assigned)
{
	peers_remove(&rules->_assigned[entry->_assigned], entry);
	count_busy(rules->_busy, entry->_assigned, (uint32_t)-1);
	entry->_assigned = (uint8_t)assigned;
	count_busy(rules->_busy, assigned, 1);
	peers_insert(&rules->_assigned[assigned], entry);
}

/* ---- Stopped, and not yet finished ---- */

void baton__rules_halt(struct baton_rules *rules, struct baton_rules_entry *entry)
{
	peers_remove(&rules->_interactive, entry);
	entry->_phase = BATON__ENTRY_HALTED;
	entry->_end = rules->_now;
	peers_append(&rules->_halted, entry);
}

/* A task that runs, or was halted, overruns. */
void baton__rules_lose(struct baton_rules *rules, struct baton_rules_entry *entry)
{
	if (entry->_phase == BATON__ENTRY_HALTED)
		peers_remove(&rules->_halted, entry);
	else
		baton__rules_run_end(rules, entry);
	if (rules->_config.stuck == BATON_RULES_GONE) {
		entry->_phase = BATON__ENTRY_GONE;
		return;
	}
	entry->_phase = BATON__ENTRY_LOST;
	if (entry->_kind >= BATON_RULES_DEFAULT)
		entry->_assigned = 0;
	count_busy(rules->_busy, entry->_assigned, 1);
	count_busy(rules->_lost_busy, entry->_assigned, 1);
}

/* A halted, lost or gone task has finished. */
void baton__rules_stop_end(struct baton_rules *rules, struct baton_rules_entry *entry)
{
	if (entry->_phase == BATON__ENTRY_HALTED)
		peers_remove(&rules->_halted, entry);
	if (entry->_phase != BATON__ENTRY_LOST)
		return;
	count_busy(rules->_busy, entry->_assigned, (uint32_t)-1);
	count_busy(rules->_lost_busy, entry->_assigned, (uint32_t)-1);
}
