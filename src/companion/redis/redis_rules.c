/* SPDX-License-Identifier: MIT */
/*
 * The rules of admission (rules.h) in a scheduler: what the rules are told, and what they decide.
 * The rules know a copy of the server's q:queue and q:run, which is made anew at each change of
 * leader. Their decisions are gathered as moves, which redis_scheduler.c sends.
 */
#include "companion/redis/redis_scheduler.h"

#include <baton/task.h>
#include <baton/timer.h>

#include <hiredis/hiredis.h>

#include <errno.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint64_t baton__scheduler_now(const struct baton_redis_scheduler *scheduler)
{
	return baton__redis_clock() + scheduler->offset_ns;
}

/* ---- Items ---- */

static int compare_ids(const void *a, const void *b)
{
	return strcmp(((const struct baton__redis_item *)a)->id,
	              ((const struct baton__redis_item *)b)->id);
}

struct baton__redis_item *baton__scheduler_find(const struct baton_redis_scheduler *scheduler,
                                                const char *id)
{
	struct baton__redis_item key;
	struct baton__redis_item **found;

	snprintf(key.id, sizeof(key.id), "%s", id);
	found = tfind(&key, &scheduler->items, compare_ids);
	return found ? *found : NULL;
}

static struct baton__redis_item *add_item(struct baton_redis_scheduler *scheduler, const char *id,
                                          uint64_t number, uint32_t kind)
{
	struct baton__redis_item *item = calloc(1, sizeof(*item));

	if (item) {
		snprintf(item->id, sizeof(item->id), "%s", id);
		item->number = number;
		item->kind = kind;
		for (int i = 0; i < 2; i++) {
			item->slots[i].item = item;
			baton_rules_entry_init(&item->slots[i].entry, kind);
		}
		if (tsearch(item, &scheduler->items, compare_ids))
			return item;
		free(item);
	}
	scheduler->broken = true;
	return NULL;
}

static struct baton_rules_entry *rules_entry_of(struct baton__redis_item *item)
{
	return &item->slots[item->current].entry;
}

static void drop_item(struct baton_redis_scheduler *scheduler, struct baton__redis_item *item)
{
	tdelete(item, &scheduler->items, compare_ids);
	free(item);
}

/* The task waits no more, or runs no more. */
void baton__scheduler_end(struct baton_redis_scheduler *scheduler, struct baton__redis_item *item)
{
	uint64_t now = baton__scheduler_now(scheduler);

	if (baton_rules_withdraw(&scheduler->rules, rules_entry_of(item), now) == -EINPROGRESS)
		BATON_IGNORE(baton_rules_finish(&scheduler->rules, rules_entry_of(item),
		                                now)); /* runs */
	drop_item(scheduler, item);
}

/* ---- What the rules decide ---- */

static void report_decision(const struct baton_redis_scheduler *scheduler, const char *what,
                            const struct baton__redis_item *item, uint64_t ns)
{
	struct baton_redis_decision decision = {
		.what = what, .id = item->id, .kind = item->kind, .ns = ns};

	if (scheduler->options.decided)
		scheduler->options.decided(scheduler->options.arg, &decision);
}

static void add_ns(struct baton__redis_call *call, uint64_t ns)
{
	if (ns == BATON_NEVER)
		baton__redis_add_text(call, "-1");
	else
		baton__redis_add_number(call, ns / BATON__REDIS_US);
}

static void move(struct baton_redis_scheduler *scheduler, const char *what,
                 const struct baton__redis_item *item, uint64_t ns)
{
	struct baton__redis_call *moves = &scheduler->moves;

	baton__redis_add_text(moves, what);
	baton__redis_add_text(moves, item->id);
	if (strcmp(what, "deny") == 0) {
		baton__redis_add_text(moves, item->kind == BATON_RULES_INTERACTIVE
		                                     ? "no backend is free"
		                                     : "there is no such class");
		baton__redis_add_text(moves, "");
	} else if (strcmp(what, "estimate") == 0) {
		add_ns(moves, ns);
		baton__redis_add_text(moves, "");
	} else {
		baton__redis_add_number(moves, item->slots[item->current].entry._assigned);
		add_ns(moves, ns);
	}
	baton__redis_add_number(moves, baton__scheduler_now(scheduler) / BATON__REDIS_US);
	report_decision(scheduler, what, item, ns);
}

static struct baton_redis_scheduler *scheduler_of(struct baton_rules *rules)
{
	return baton_container_of(rules, struct baton_redis_scheduler, rules);
}

static const struct baton__redis_item *item_of(struct baton_rules_entry *entry)
{
	return baton_container_of(entry, struct baton__redis_slot, entry)->item;
}

static void start_item(struct baton_rules *rules, struct baton_rules_entry *entry, uint64_t may_run)
{
	move(scheduler_of(rules), "start", item_of(entry), may_run);
}

static void shorten_item(struct baton_rules *rules, struct baton_rules_entry *entry,
                         uint64_t may_run)
{
	move(scheduler_of(rules), "shorten", item_of(entry), may_run);
}

static void halt_item(struct baton_rules *rules, struct baton_rules_entry *entry)
{
	move(scheduler_of(rules), "halt", item_of(entry), 0);
}

static void estimate_item(struct baton_rules *rules, struct baton_rules_entry *entry,
                          uint64_t at_most)
{
	move(scheduler_of(rules), "estimate", item_of(entry), at_most);
}

static void report_overrun(struct baton_rules *rules, struct baton_rules_entry *entry)
{
	report_decision(scheduler_of(rules), "overrun", item_of(entry), 0);
}

const struct baton_rules_events baton__scheduler_events = {
	.start = start_item,
	.shorten = shorten_item,
	.halt = halt_item,
	.estimate = estimate_item,
	.overrun = report_overrun,
};

/* ---- What the rules are told ---- */

/* Returns: false: the task is denied, and the caller drops it. */
static bool arrive(struct baton_redis_scheduler *scheduler, struct baton__redis_item *item)
{
	uint64_t now = baton__scheduler_now(scheduler);
	int error;

	if (item->kind == BATON_RULES_INTERACTIVE)
		error = baton_rules_arrive(&scheduler->rules, rules_entry_of(item), now);
	else
		error = baton_rules_arrive_at(&scheduler->rules, rules_entry_of(item), item->number,
		                              now);
	if (error)
		move(scheduler, "deny", item, 0);
	return !error;
}

void baton__scheduler_arrived(struct baton_redis_scheduler *scheduler, const char *id,
                              uint64_t number, uint32_t kind)
{
	struct baton__redis_item *item = baton__scheduler_find(scheduler, id);

	if (item && item->number == number)
		return;
	if (item)
		baton__scheduler_end(scheduler, item);
	item = add_item(scheduler, id, number, kind);
	if (item && !arrive(scheduler, item))
		drop_item(scheduler, item);
}

/*
 * The task's backend is lost. The task waits again in one slot before its run ends in the other, so
 * that no later task takes the place. An interactive task cannot wait: its run ends first.
 */
static void wait_again(struct baton_redis_scheduler *scheduler, struct baton__redis_item *item)
{
	struct baton_rules_entry *old = rules_entry_of(item);
	bool waits;

	report_decision(scheduler, "lost", item, 0);
	/* Neither finish can fail: the entry runs. */
	if (item->kind == BATON_RULES_INTERACTIVE) {
		BATON_IGNORE(baton_rules_finish(&scheduler->rules, old,
		                                baton__scheduler_now(scheduler)));
		waits = arrive(scheduler, item);
	} else {
		item->current ^= 1;
		waits = arrive(scheduler, item);
		BATON_IGNORE(baton_rules_finish(&scheduler->rules, old,
		                                baton__scheduler_now(scheduler)));
	}
	if (!waits)
		drop_item(scheduler, item);
}

void baton__scheduler_ended(struct baton_redis_scheduler *scheduler, const redisReply *entry)
{
	struct baton__redis_item *item =
		baton__scheduler_find(scheduler, baton__redis_field(entry, "id"));

	if (!item || item->number != strtoull(baton__redis_field(entry, "number"), NULL, 10))
		return;
	if (strcmp(baton__redis_field(entry, "what"), "lost") == 0)
		wait_again(scheduler, item);
	else
		baton__scheduler_end(scheduler, item);
}

/*
 * A task of q:run: id, number, kind, assigned, started. The scheduler that started the task may
 * have had more classes: the task keeps its backend, and counts as one of the slowest class. If its
 * backend is lost, the task waits again under its own kind, or is denied.
 */
void baton__scheduler_restore(struct baton_redis_scheduler *scheduler, const redisReply *runs,
                              size_t at)
{
	uint64_t now = baton__scheduler_now(scheduler);
	uint32_t slowest = scheduler->options.rules.class_count - 1;
	struct baton_rules_run run = {
		.number = baton__redis_number(baton__redis_at(runs, at + 1)),
		.assigned = (uint32_t)baton__redis_number(baton__redis_at(runs, at + 3)),
		.started_ns = baton__redis_number(baton__redis_at(runs, at + 4)) * BATON__REDIS_US,
	};
	struct baton__redis_item *item =
		add_item(scheduler, baton__redis_text(baton__redis_at(runs, at)), run.number,
	                 (uint32_t)baton__redis_number(baton__redis_at(runs, at + 2)));

	if (run.started_ns > now)
		run.started_ns = now;
	if (run.assigned > slowest)
		run.assigned = slowest;
	if (item && item->kind > slowest && item->kind < BATON_RULES_CLASSES_MAX)
		baton_rules_entry_init(rules_entry_of(item), slowest);
	if (item && baton_rules_restore(&scheduler->rules, rules_entry_of(item), &run, now))
		drop_item(scheduler, item); /* a record that no scheduler wrote */
}

void baton__scheduler_drop_all(struct baton_redis_scheduler *scheduler)
{
	tdestroy(scheduler->items, free);
	scheduler->items = NULL;
}
