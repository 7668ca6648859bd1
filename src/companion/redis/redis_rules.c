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

/* ---- Estimates that are to be told ---- */

static void begin_telling(struct baton_redis_scheduler *scheduler, struct baton__redis_item *item)
{
	item->tells = true;
	item->tell_next = NULL;
	item->tell_link = scheduler->tell_end;
	*scheduler->tell_end = item;
	scheduler->tell_end = &item->tell_next;
}

static void end_telling(struct baton_redis_scheduler *scheduler, struct baton__redis_item *item)
{
	if (!item->tells)
		return;
	item->tells = false;
	*item->tell_link = item->tell_next;
	if (item->tell_next)
		item->tell_next->tell_link = item->tell_link;
	else
		scheduler->tell_end = item->tell_link;
}

/* Is the estimate new, or has it moved by more than a tenth of the wait? */
static bool is_news(const struct baton__redis_item *item, uint64_t now_us)
{
	uint64_t starts = item->starts_us;
	uint64_t told = item->told_us;
	uint64_t moved = starts > told ? starts - told : told - starts;

	if (told == 0 || starts == BATON_NEVER || told == BATON_NEVER)
		return starts != told;
	return starts > now_us ? moved > (starts - now_us) / 10 : moved > 0;
}

static void drop_item(struct baton_redis_scheduler *scheduler, struct baton__redis_item *item)
{
	end_telling(scheduler, item);
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

/* The call that the next move goes into; NULL: no memory. */
static struct baton__redis_moves *open_moves(struct baton_redis_scheduler *scheduler)
{
	struct baton__redis_moves *last =
		scheduler->moves
			? baton_container_of(scheduler->moves_end, struct baton__redis_moves, next)
			: NULL;

	if (last && last->count < BATON__REDIS_MOVES_MAX)
		return last;
	last = calloc(1, sizeof(*last));
	if (!last) {
		scheduler->broken = true;
		return NULL;
	}
	baton__redis_call_init(&last->call, NULL);
	if (!scheduler->moves)
		scheduler->moves_end = &scheduler->moves;
	*scheduler->moves_end = last;
	scheduler->moves_end = &last->next;
	return last;
}

static void move(struct baton_redis_scheduler *scheduler, const char *what,
                 const struct baton__redis_item *item, uint64_t ns)
{
	struct baton__redis_moves *moves = open_moves(scheduler);
	struct baton__redis_call *call = &moves->call;

	report_decision(scheduler, what, item, ns);
	if (!moves)
		return;
	moves->count++;
	baton__redis_add_text(call, what);
	baton__redis_add_text(call, item->id);
	if (strcmp(what, "deny") == 0) {
		baton__redis_add_text(call, item->kind == BATON_RULES_INTERACTIVE
		                                    ? "no backend is free"
		                                    : "there is no such class");
		baton__redis_add_text(call, "");
	} else {
		baton__redis_add_number(call, item->slots[item->current].entry._assigned);
		add_ns(call, ns);
	}
	baton__redis_add_number(call, baton__scheduler_now(scheduler) / BATON__REDIS_US);
	/* A decision that found no memory is made anew, from what the server knows. */
	scheduler->broken |= call->error != 0;
}

void baton__scheduler_drop_moves(struct baton_redis_scheduler *scheduler)
{
	while (scheduler->moves) {
		struct baton__redis_moves *moves = scheduler->moves;

		scheduler->moves = moves->next;
		free(moves->call.text);
		free(moves);
	}
}

uint32_t baton__scheduler_add_estimates(struct baton_redis_scheduler *scheduler,
                                        struct baton__redis_call *call)
{
	uint64_t now_us = baton__scheduler_now(scheduler) / BATON__REDIS_US;
	uint32_t count = 0;

	while (scheduler->tell && count < BATON__REDIS_MOVES_MAX) {
		struct baton__redis_item *item = scheduler->tell;
		uint64_t left = item->starts_us > now_us ? item->starts_us - now_us : 0;

		end_telling(scheduler, item);
		/* It may have moved back since. */
		if (item->runs || !is_news(item, now_us))
			continue;
		item->told_us = item->starts_us;
		baton__redis_add_text(call, "estimate");
		baton__redis_add_text(call, item->id);
		add_ns(call, item->starts_us == BATON_NEVER ? BATON_NEVER : left * BATON__REDIS_US);
		baton__redis_add_text(call, "");
		baton__redis_add_number(call, now_us);
		count++;
	}
	return count;
}

static struct baton_redis_scheduler *scheduler_of(struct baton_rules *rules)
{
	return baton_container_of(rules, struct baton_redis_scheduler, rules);
}

static struct baton__redis_item *item_of(struct baton_rules_entry *entry)
{
	return baton_container_of(entry, struct baton__redis_slot, entry)->item;
}

static void start_item(struct baton_rules *rules, struct baton_rules_entry *entry, uint64_t may_run)
{
	item_of(entry)->runs = true;
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
	struct baton_redis_scheduler *scheduler = scheduler_of(rules);
	struct baton__redis_item *item = item_of(entry);
	uint64_t now_us = baton__scheduler_now(scheduler) / BATON__REDIS_US;

	item->starts_us = at_most == BATON_NEVER ? BATON_NEVER : now_us + at_most / BATON__REDIS_US;
	if (!item->tells && is_news(item, now_us)) {
		begin_telling(scheduler, item);
		report_decision(scheduler, "estimate", item, at_most);
	}
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

static void come(struct baton_redis_scheduler *scheduler, const char *id, uint64_t number,
                 uint32_t kind, uint64_t told_us)
{
	struct baton__redis_item *item = baton__scheduler_find(scheduler, id);

	if (item && item->number == number)
		return;
	if (item)
		baton__scheduler_end(scheduler, item);
	item = add_item(scheduler, id, number, kind);
	if (item)
		item->told_us = told_us;
	if (item && !arrive(scheduler, item))
		drop_item(scheduler, item);
}

void baton__scheduler_arrived(struct baton_redis_scheduler *scheduler, const char *id,
                              uint64_t number, uint32_t kind)
{
	come(scheduler, id, number, kind, 0);
}

void baton__scheduler_waits(struct baton_redis_scheduler *scheduler, const redisReply *page,
                            size_t at)
{
	const char *told = baton__redis_text(baton__redis_at(page, at + 3));

	come(scheduler, baton__redis_text(baton__redis_at(page, at)),
	     baton__redis_number(baton__redis_at(page, at + 1)),
	     (uint32_t)baton__redis_number(baton__redis_at(page, at + 2)),
	     told[0] == '-' ? BATON_NEVER : strtoull(told, NULL, 10));
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
	item->runs = false;
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

	uint64_t number = strtoull(baton__redis_field(entry, "number"), NULL, 10);
	bool lost = strcmp(baton__redis_field(entry, "what"), "lost") == 0;

	/* A new leader may have passed the task's place in q:queue before the backend was lost. */
	if (!item && lost)
		come(scheduler, baton__redis_field(entry, "id"), number,
		     (uint32_t)strtoul(baton__redis_field(entry, "kind"), NULL, 10), 0);
	if (!item || item->number != number)
		return;
	/* Or it has read that the task waits again, before it reads why. */
	if (lost && item->runs)
		wait_again(scheduler, item);
	else if (!lost)
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
	const char *id = baton__redis_text(baton__redis_at(runs, at));
	struct baton__redis_item *item;

	if (baton__scheduler_find(scheduler, id))
		return; /* read twice */
	item = add_item(scheduler, id, run.number,
	                (uint32_t)baton__redis_number(baton__redis_at(runs, at + 2)));
	if (item)
		item->runs = true;
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
	scheduler->tell = NULL;
	scheduler->tell_end = &scheduler->tell;
}
