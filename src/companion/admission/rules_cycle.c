/* SPDX-License-Identifier: MIT */
/*
 * The decisions: who starts, which default is brought down, which interactive task is halted. The
 * steps' numbers are those of <baton/rules.h>.
 */
#include "companion/admission/rules.h"

#include "base/platform.h"

/* Steele, Lea and Flood 2014: splitmix64. */
static uint64_t random_next(struct baton_rules *rules)
{
	uint64_t z = rules->_random += 0x9e3779b97f4a7c15U;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
	return z ^ (z >> 31);
}

static struct baton_rules_entry *pick_peer(struct baton_rules *rules,
                                           const struct baton_rules_peers *peers)
{
	struct baton_rules_entry *picked = peers->_first;

	if (rules->_config.policy == BATON_RULES_RANDOM) {
		for (uint64_t n = random_next(rules) % peers->_count; n > 0; n--)
			picked = picked->_peer_next;
	} else if (rules->_config.policy == BATON_RULES_OLDEST) {
		for (struct baton_rules_entry *e = picked; e; e = e->_peer_next)
			if (e->_number < picked->_number)
				picked = e;
	}
	return picked;
}

/* ---- Defaults ---- */

static void bring_down(struct baton_rules *rules, struct baton_rules_entry *entry,
                       uint32_t assigned)
{
	uint64_t end = baton__rules_add(entry->_started, rules->_config.duration_ns[assigned]);

	if (end < rules->_now)
		end = rules->_now;
	baton__rules_reassign(rules, entry, assigned);
	if (end > entry->_end)
		end = entry->_end;
	/* If a default has run longer than class 0 allows, its grace begins only now, and the plan
	 * expects its end too early. */
	if (assigned == 0 && entry->_pass == rules->_pass &&
	    baton__rules_add(end, rules->_config.grace_ns) > entry->_plan_end)
		rules->_plan = BATON__PLAN_NONE;
	if (end == entry->_end)
		return;
	entry->_end = end;
	if (rules->_events->shorten)
		rules->_events->shorten(rules, entry, end - rules->_now);
}

/* Brings down one default of the slowest assigned class, if that is class i or slower. */
static bool lower_one(struct baton_rules *rules, uint32_t i)
{
	uint32_t slowest = rules->_config.class_count - 1;
	uint32_t from = slowest;
	uint32_t to = 0;

	while (from >= i && !rules->_assigned[from]._first)
		from--;
	if (from < i)
		return false;
	if (i == slowest)
		for (uint32_t j = slowest - 1; j > 0 && to == 0; j--)
			if (rules->_busy[j] < rules->_config.limit[j])
				to = j;
	bring_down(rules, pick_peer(rules, &rules->_assigned[from]), to);
	return true;
}

static void lower_all(struct baton_rules *rules)
{
	for (uint32_t i = 1; i < rules->_config.class_count; i++)
		while (rules->_assigned[i]._first)
			bring_down(rules, rules->_assigned[i]._first, 0);
}

/* ---- Interactive tasks ---- */

static void halt_one(struct baton_rules *rules)
{
	struct baton_rules_entry *entry = pick_peer(rules, &rules->_interactive);

	baton__rules_halt(rules, entry);
	if (rules->_events->halt)
		rules->_events->halt(rules, entry);
}

void baton__rules_interactive(struct baton_rules *rules, struct baton_rules_entry *entry)
{
	baton__rules_run(rules, entry, 0);
	rules->_events->start(rules, entry, BATON_NEVER);
}

/* An interactive task was denied: brings one default of the slowest assigned class down one. */
void baton__rules_denied(struct baton_rules *rules)
{
	for (uint32_t i = rules->_config.class_count - 1; i > 0; i--)
		if (rules->_assigned[i]._first) {
			bring_down(rules, pick_peer(rules, &rules->_assigned[i]), i - 1);
			return;
		}
}

/* ---- The cycle ---- */

/* How many backends are taken, or reserved. */
static uint64_t backends_taken(const struct baton_rules *rules)
{
	uint64_t interactive = rules->_interactive._count;

	if (interactive < rules->_config.reserve)
		interactive = rules->_config.reserve;
	return rules->_busy[0] + interactive;
}

/* Is no backend free for a task that is not interactive? */
static bool no_backend_is_free(const struct baton_rules *rules)
{
	return backends_taken(rules) >= rules->_config.limit[0];
}

static void start_entry(struct baton_rules *rules, struct baton_rules_entry *entry)
{
	uint32_t assigned = baton__rules_class(entry);

	if (entry->_kind == BATON_RULES_DEFAULT)
		while (assigned + 1 < rules->_config.class_count &&
		       rules->_busy[assigned + 1] < rules->_config.limit[assigned + 1])
			assigned++;
	if (entry->_plan_start != rules->_now)
		rules->_stale = true;
	if (entry->_plan_start < rules->_now)
		rules->_late = true;
	baton__rules_run(rules, entry, assigned);
	rules->_events->start(rules, entry,
	                      entry->_end == BATON_NEVER ? BATON_NEVER : entry->_end - rules->_now);
}

/* One round of the cycle. True: a task was started, and the cycle begins again. */
static bool cycle_once(struct baton_rules *rules)
{
	uint32_t ignored = rules->_config.class_count;
	struct baton_rules_entry *first = baton__rules_first(rules, ignored);

	/* 1 */
	for (uint32_t i = ignored - 1; i > 0 && first; i--) {
		if (baton__rules_class(first) < i || rules->_busy[i] < rules->_config.limit[i])
			continue;
		(void)lower_one(rules, i);
		if (rules->_busy[i] < rules->_config.limit[i])
			continue;
		ignored = i;
		first = baton__rules_first(rules, ignored);
	}
	if (!first)
		return false;
	/* 2 */
	if (no_backend_is_free(rules)) {
		lower_all(rules);
		if (rules->_interactive._count <= rules->_config.reserve)
			return false;
		halt_one(rules);
	}
	/* 3: limits that have shrunk may leave no backend. */
	if (no_backend_is_free(rules))
		return false;
	start_entry(rules, first);
	return true;
}

void baton__rules_cycle(struct baton_rules *rules)
{
	/* Ends: each round takes one task from those that wait. */
	while (cycle_once(rules))
		;
}

/*
 * More tasks may run than the limits allow, since limits have shrunk, or a halted task counts
 * again: brings defaults down and halts tasks as far as that helps.
 */
void baton__rules_shrink(struct baton_rules *rules)
{
	const uint32_t *limit = rules->_config.limit;

	for (uint32_t i = rules->_config.class_count - 1; i > 0; i--)
		/* Ends: each round brings one default down to a class before i. */
		while (rules->_busy[i] > limit[i] && lower_one(rules, i))
			;
	if (backends_taken(rules) <= limit[0])
		return;
	lower_all(rules);
	while (rules->_interactive._count > 0 &&
	       (uint64_t)rules->_busy[0] + rules->_interactive._count > limit[0])
		halt_one(rules);
}
