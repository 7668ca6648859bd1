/* SPDX-License-Identifier: MIT */
/* Sites: their lives, and the shadow. */
#include "site.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "actor.h"
#include "cell.h"
#include "deed.h"
#include "engine.h"
#include "note.h"
#include "random.h"
#include "report.h"
#include "sabotage.h"

#define OPEN ((uint64_t)1 << 63)
#define HOT 3

struct place {
	_Atomic uint64_t pins; /* 1 for the site itself; with OPEN until it is retired */
	_Atomic(struct site *) site;
	char pad[48];
};

static struct place *places;
static uint32_t place_count;
static atomic_uint live;
static atomic_uint numbers;
static _Atomic uint64_t finalised;
static atomic_bool stopping;
static atomic_bool started;

void site_context_enter(struct baton_resource *resource)
{
	struct site *site = baton_container_of(resource, struct site, resource);

	MUST(!site->inside && baton_held(resource));
	site->inside = true;
}

void site_context_leave(struct baton_resource *resource)
{
	struct site *site = baton_container_of(resource, struct site, resource);

	MUST(site->inside && baton_held(resource));
	site->inside = false;
}

static void create(uint32_t index)
{
	struct place *place = &places[index];
	struct site *site = cell_take();
	uint64_t *random = &actor_self()->random;
	struct baton_resource_config *config;

	memset(site, 0, sizeof(*site));
	site->engine = engine_pick(random);
	config = &site->engine->configs[random_below(random, ENGINE_CONFIGS)];
	site->number = atomic_fetch_add(&numbers, 1) + 1;
	site->place = index;
	site->capture_max = config->capture_max;
	site->inside = !config->enter;
	site->counted = random_one_in(random, 2);
	baton_resource_init(&site->resource, config);
	if (site->counted)
		baton_resource_set_stats(&site->resource, &site->stats);
	atomic_fetch_add(&live, 1);
	(void)note_end(note_begin(NOTE_CREATE, site), 0);
	atomic_store_explicit(&place->site, site, memory_order_release);
	atomic_store_explicit(&place->pins, OPEN | 1, memory_order_release);
}

void sites_start(uint32_t count)
{
	atomic_store(&stopping, false);
	place_count = count;
	places = calloc(count, sizeof(*places));
	MUST(places);
	for (uint32_t i = 0; i < count; i++)
		create(i);
	atomic_store(&started, true);
}

void sites_await_start(void)
{
	while (!atomic_load(&started))
		usleep(50);
}

void sites_end(void)
{
	atomic_store(&started, false);
	free(places);
	places = NULL;
}

uint32_t sites_print(void)
{
	uint32_t number = 0;
	int lines = 0;

	for (uint32_t i = 0; i < place_count && lines < 8; i++) {
		uint64_t pins = atomic_load(&places[i].pins);
		const struct site *site = atomic_load(&places[i].site);

		if (pins == 0 || pins & OPEN)
			continue;
		number = site->number;
		lines++;
		fprintf(stderr, "resource %u is retired: %llu pins, %u tasks ran, limit %u, %s\n",
		        number, (unsigned long long)pins, site->runs, site->capture_max,
		        site->owner ? "in a task" : "in no task");
	}
	return number;
}

bool sites_stopping(void)
{
	return atomic_load_explicit(&stopping, memory_order_relaxed);
}

uint32_t sites_live(void)
{
	return atomic_load(&live);
}

uint64_t sites_finalised(void)
{
	return atomic_load(&finalised);
}

static bool pin(struct place *place)
{
	uint64_t pins = atomic_load_explicit(&place->pins, memory_order_relaxed);

	do {
		if (!(pins & OPEN))
			return false;
	} while (!atomic_compare_exchange_weak_explicit(
		&place->pins, &pins, pins + 1, memory_order_relaxed, memory_order_relaxed));
	return true;
}

struct site *site_pin(uint64_t *random)
{
	uint32_t index = random_below(random, place_count);

	if (random_one_in(random, 3))
		index %= HOT;
	if (!pin(&places[index]))
		return NULL;
	/* Not before the pin: it is the one that is there now. */
	return atomic_load_explicit(&places[index].site, memory_order_acquire);
}

void site_pin_again(struct site *site)
{
	atomic_fetch_add_explicit(&places[site->place].pins, 1, memory_order_relaxed);
}

/* Nobody uses it any more. */
static void give(struct site *site)
{
	uint32_t index = site->place;
	struct engine *engine = site->engine;
	struct baton_resource_stats copy = {0};
	struct note *note = note_begin(NOTE_ENDED, site);

	baton_resource_stats_read(&site->stats, &copy);
	note->count[0] = copy.submitted;
	note->count[1] = copy.executed;
	note->count[2] = copy.cancelled;
	note->position = site->runs;
	note->future = site->counted;
	note->unjustified = !atomic_load(&engine->cancelling) && !atomic_load(&engine->ending);
	if (site->counted && sabotage_now(BREAK_STATS))
		note->count[1]++;
	if (site->owner)
		report(note, NULL, "resource %u ends while thread %u runs a task of it",
		       site->number, site->owner - 1);
	baton_resource_deinit(&site->resource);
	(void)note_end(note, 0);
	cell_give(site);
	engine_unpin(engine);
	if (!sites_stopping())
		create(index);
	atomic_fetch_sub(&live, 1);
}

void site_unpin(struct site *site)
{
	struct place *place = &places[site->place];

	if (atomic_fetch_sub_explicit(&place->pins, 1, memory_order_release) != 1)
		return;
	/* All others' use of it is over. */
	(void)atomic_load_explicit(&place->pins, memory_order_acquire);
	give(site);
}

static int finaliser_run(struct baton_task *task)
{
	struct site *site = baton_container_of(task, struct site, finaliser);
	struct note *note = note_begin(NOTE_FINALISER, site);

	if (sabotage_now(BREAK_NOFINAL))
		return 0;
	site->finalised += sabotage_now(BREAK_FINAL) ? 2 : 1;
	if (site->finalised != 1)
		report(note, NULL, "the finaliser of resource %u is called %u times", site->number,
		       site->finalised);
	if (site->owner)
		report(note, NULL, "the finaliser of resource %u is called during a task",
		       site->number);
	if (baton_held(&site->resource))
		report(note, NULL, "the finaliser of resource %u holds its baton", site->number);
	atomic_fetch_add_explicit(&finalised, 1, memory_order_relaxed);
	actor_self()->hidden++;
	deed_nested(NULL);
	(void)note_end(note, 0);
	site_unpin(site);
	actor_self()->hidden--;
	return 0;
}

static void close_then(struct site *site)
{
	struct note *note = note_begin(NOTE_CLOSE_THEN, site);
	int error;

	baton_task_init(&site->finaliser, finaliser_run, NULL);
	error = note_end(note, baton_resource_close_then(&site->resource, &site->finaliser));
	if (error)
		report(note, NULL, "close_then: %d", error);
}

static int close_it(struct site *site)
{
	struct note *note = note_begin(NOTE_CLOSE, site);

	return note_end(note, baton_resource_close(&site->resource));
}

/* The way without a finaliser: close, await, and it is ours again. */
static void close_and_await(struct site *site)
{
	struct note *note;
	int error;

	(void)close_it(site);
	note = note_begin(NOTE_AWAIT, site);
	actor_busy("await of a closed resource", site->number);
	error = note_end(note, baton_resource_await(&site->resource));
	actor_idle();
	if (error)
		report(note, NULL, "await of a closed resource: %d", error);
	atomic_fetch_add_explicit(&finalised, 1, memory_order_relaxed);
	site_unpin(site);
}

void site_retire(struct site *site, uint64_t *random)
{
	struct place *place = &places[site->place];
	uint64_t before = atomic_fetch_and_explicit(&place->pins, ~OPEN, memory_order_relaxed);

	if (!(before & OPEN))
		return;
	if (random_one_in(random, 4) && actor_may_await(site) && !actor_holds(site->number)) {
		close_and_await(site);
		return;
	}
	if (random_one_in(random, 4))
		(void)close_it(site);
	close_then(site);
}

void sites_retire(struct engine *engine)
{
	uint64_t *random = &actor_self()->random;

	for (uint32_t i = 0; i < place_count; i++) {
		struct site *site;

		if (!pin(&places[i]))
			continue;
		site = atomic_load_explicit(&places[i].site, memory_order_acquire);
		if (!engine || site->engine == engine)
			site_retire(site, random);
		site_unpin(site);
	}
}

void sites_stop(void)
{
	atomic_store(&stopping, true);
	sites_retire(NULL);
}

void site_enter(struct site *site, struct note *note)
{
	struct actor *self = actor_self();

	if (site->owner)
		report(note, NULL,
		       "L1: two tasks of resource %u at a time: thread %u is in one, thread "
		       "%u enters another",
		       site->number, site->owner - 1, self->number);
	if (!site->inside)
		report(note, NULL, "a task runs outside of its resource's enter and leave");
	site->owner = self->number + 1U;
	if (sabotage_now(BREAK_STALE))
		site->version++;
	if (site->version != site->version_again)
		report(note, NULL, "L1: a task does not see all that the one before it did");
	site->version++;
	if (!sabotage_now(BREAK_LOSE))
		note->runs++;
	if (sabotage_now(BREAK_TWICE))
		note->runs++;
	if (note->runs > 1)
		report(note, NULL, "L3: a task runs twice");
	note->position = site->runs++;
	note->runner = self->number;
	note->ran = ticket();
	MUST(self->depth < ACTOR_HELD_MAX);
	self->held[self->depth++] = site->number;
}

void site_leave(struct site *site, struct note *note)
{
	struct actor *self = actor_self();

	self->depth--;
	if (site->owner != self->number + 1U)
		report(note, NULL, "L1: another thread's task ran during this one");
	site->version_again++;
	note->ran_end = ticket();
	if (!sabotage_now(BREAK_OVERLAP))
		site->owner = 0;
	atomic_fetch_add_explicit(&self->deeds, 1, memory_order_relaxed);
}
