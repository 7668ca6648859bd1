/* SPDX-License-Identifier: MIT */
/* Deeds of the actors: waiting for futures and cancelling them. */
#include "deed.h"

#include <errno.h>
#include <time.h>

#include "actor.h"
#include "engine.h"
#include "errand.h"
#include "random.h"
#include "report.h"
#include "site.h"

#define TOGETHER 8

uint64_t deed_deadline(void)
{
	static const uint32_t bounds_us[] = {1, 20, 200, 2000};
	uint64_t *random = &actor_self()->random;

	/* Now and then it has passed already. */
	return now_ns() + (uint64_t)random_below(random, bounds_us[random_below(random, 4)]) * 1000;
}

bool deed_deadlock_ok(const struct note *note)
{
	const struct actor *self = actor_self();

	return actor_holds(note->resource) || self->hidden || actor_callers_hold(note->resource) ||
	       self->depth + self->hidden >= BATON_NESTING_MAX;
}

static void check_wait(const struct note *wait, bool deadline)
{
	if (wait->result == 0 || (deadline && wait->result == -ETIMEDOUT))
		return;
	if (wait->result == -EDEADLK && deed_deadlock_ok(wait->about))
		return;
	report(wait->about, wait, "a wait returns %d", wait->result);
}

bool deed_wait_for(struct baton_future *future, struct note *note, uint64_t deadline)
{
	struct note *wait = note_begin(NOTE_WAIT, NULL);
	int error;

	wait->about = note;
	actor_busy(deadline != BATON_FOREVER ? "wait with a deadline" : "wait", note->resource);
	if (deadline != BATON_FOREVER)
		error = baton_future_wait_until(future, deadline);
	else
		error = baton_future_wait(future);
	actor_idle();
	note_end(wait, error);
	check_wait(wait, deadline != BATON_FOREVER);
	if (error)
		return false;
	errand_check(future, note);
	return true;
}

static void put_back(const struct open *open)
{
	if (baton_future_is_complete(open->future)) {
		struct open copy = *open;

		deed_release();
		errand_finish(&copy);
	} else {
		deed_open(open->future, open->note, open->errand);
	}
}

void deed_wait(void)
{
	uint64_t deadline = deed_deadline();
	struct open open;
	bool for_ever;

	if (!deed_take(&open))
		return;
	for_ever = random_one_in(&actor_self()->random, 2) && actor_may_wait(open.note);
	(void)deed_wait_for(open.future, open.note, for_ever ? BATON_FOREVER : deadline);
	put_back(&open);
}

/*
 * Inside a task a wait for any leaves the tasks of a driven executor to the thread that drives it,
 * and that thread may wait for the resource that this one holds.
 */
static bool may_wait_for_any(const struct note *note)
{
	const struct engine *engine = note->engine;

	return actor_self()->depth == 0 ||
	       (engine && engine->kind != ENGINE_MANUAL && engine->kind != ENGINE_LOOP);
}

/* Several of our own at once; returns how many. Without a deadline only if each of them may. */
static size_t take_some(struct open *opens, struct baton_future **futures, bool all, bool *for_ever)
{
	uint64_t *random = &actor_self()->random;
	size_t count = 1 + random_below(random, TOGETHER);
	size_t got = 0;

	*for_ever = random_one_in(random, 2);
	while (got < count && deed_take(&opens[got])) {
		futures[got] = opens[got].future;
		*for_ever = *for_ever && actor_may_wait(opens[got].note) &&
		            (all || may_wait_for_any(opens[got].note));
		got++;
	}
	return got;
}

static bool any_deadlock_ok(const struct open *opens, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (deed_deadlock_ok(opens[i].note))
			return true;
	return false;
}

static void wait_together(bool all)
{
	struct baton_future *futures[TOGETHER];
	struct open opens[TOGETHER];
	uint64_t deadline = deed_deadline();
	bool for_ever;
	size_t count = take_some(opens, futures, all, &for_ever);
	const uint64_t until = for_ever ? BATON_FOREVER : deadline;
	size_t index = TOGETHER;
	struct note *wait;
	int error;

	if (count == 0)
		return;
	wait = note_begin(NOTE_WAIT, NULL);
	wait->about = opens[0].note;
	actor_busy(all ? "wait_all" : "wait_any", opens[0].note->resource);
	error = all ? baton_future_wait_all_until(futures, count, until)
	            : baton_future_wait_any_until(futures, count, until, &index);
	actor_idle();
	note_end(wait, error);
	if (error != -EDEADLK || !any_deadlock_ok(opens, count))
		if (error != 0 && (error != -ETIMEDOUT || for_ever))
			report(opens[0].note, wait, "a wait for %zu returns %d", count, error);
	if (error == 0 && all)
		for (size_t i = 0; i < count; i++)
			errand_check(futures[i], opens[i].note);
	if (error == 0 && !all) {
		if (index >= count)
			report(opens[0].note, wait, "wait_any: index %zu of %zu", index, count);
		errand_check(futures[index], opens[index].note);
	}
	for (size_t i = 0; i < count; i++)
		put_back(&opens[i]);
}

void deed_wait_any(void)
{
	wait_together(false);
}

void deed_wait_all(void)
{
	wait_together(true);
}

void deed_cancel_it(struct baton_future *future, struct note *note)
{
	struct note *cancel = note_begin(NOTE_CANCEL, NULL);
	uint32_t before = atomic_fetch_add(&note->tried, 1);
	int error;

	cancel->about = note;
	error = note_end(cancel, baton_future_cancel(future));
	switch (error) {
	case 0:
		atomic_fetch_add(&note->won, 1);
		break;
	case -EINPROGRESS:
		atomic_fetch_add(&note->told, 1);
		break;
	case -EALREADY:
		/* A promise may be just about to be complete. */
		if (note_is_task(note) && before == 0 && atomic_load(&note->tried) == 1 &&
		    !baton_future_is_complete(future))
			report(note, cancel, "the first cancel of an incomplete future: -EALREADY");
		break;
	case -EINVAL:
		if (note->kind == NOTE_THEN || note->early)
			break;
		/* fall through */
	default:
		report(note, cancel, "cancel: %d", error);
	}
}

void deed_cancel(void)
{
	struct open open;

	if (!deed_take(&open))
		return;
	deed_cancel_it(open.future, open.note);
	put_back(&open);
}

void deed_cancel_pending(struct site *site)
{
	struct note *note = note_begin(NOTE_CANCEL_PENDING, site);

	if (note_end(note, baton_resource_cancel_pending(&site->resource)))
		report(note, NULL, "cancel_pending: %d", note->result);
}

void deed_await(struct site *site)
{
	struct actor *self = actor_self();
	uint64_t deadline = deed_deadline();
	bool held = actor_holds(site->number);
	bool for_ever = random_one_in(&self->random, 2) && (held || actor_may_await(site));
	struct note *note;
	int error;

	/* What a timed out one leaves behind must be seen to the end. */
	if (!for_ever && (!self->client || self->stray_count >= ACTOR_STRAY_MAX / 2))
		return;
	note = note_begin(NOTE_AWAIT, site);
	actor_busy("await", site->number);
	error = note_end(note, baton_resource_await_until(&site->resource,
	                                                  for_ever ? BATON_FOREVER : deadline));
	actor_idle();
	/* With a deadline, what a helper holds below the task that it has entered is not seen. */
	if (held && error != -EDEADLK && (for_ever || error != -ETIMEDOUT))
		report(note, NULL, "await from inside: %d", error);
	if (error == 0 || (error == -EDEADLK && deed_deadlock_ok(note) && held))
		return;
	if (error == -EDEADLK ? !deed_deadlock_ok(note) : error != -ETIMEDOUT || for_ever)
		report(note, NULL, "await: %d", error);
	site_pin_again(site);
	MUST(self->stray_count < ACTOR_STRAY_MAX);
	self->strays[self->stray_count++] = site;
}

void deed_stats(struct site *site)
{
	struct baton_resource_stats copy;

	baton_resource_stats_read(&site->stats, &copy);
}
