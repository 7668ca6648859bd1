/* SPDX-License-Identifier: MIT */
/*
 * The places of a loop's sources.
 */
#include "companion/mainloop/places.h"
#include "companion/mainloop/descriptor.h"
#include "companion/mainloop/heap.h"

/* The pause before a source whose descriptor found no memory tries again. */
#define RETRY_NS (10 * BATON_MILLISECOND)

/* ---- Lists ---- */

static void links_init(struct baton_source_link *list)
{
	list->_next = list;
	list->_prev = list;
}

static void links_append(struct baton_source_link *list, struct baton_source *source)
{
	struct baton_source_link *link = &source->_link;

	link->_next = list;
	link->_prev = list->_prev;
	list->_prev->_next = link;
	list->_prev = link;
}

static void links_remove(struct baton_source *source)
{
	struct baton_source_link *link = &source->_link;

	link->_prev->_next = link->_next;
	link->_next->_prev = link->_prev;
}

void baton__places_init(struct baton__mainloop *loop)
{
	for (unsigned level = 0; level < BATON_PRIORITIES; level++)
		links_init(&loop->ready[level]);
	links_init(&loop->asking);
	links_init(&loop->waiting);
}

/* Takes the source out of its place. A `_watched` source stays `_watched`. */
static void leave_place(struct baton__mainloop *loop, struct baton_source *source)
{
	switch (source->_place) {
	case BATON__NOWHERE:
		return;
	case BATON__HEAP:
		baton__heap_remove(&loop->heap, source);
		break;
	default:
		links_remove(source);
		break;
	}
	if (source->_place == BATON__READY && baton__links_empty(&loop->ready[source->_level]))
		loop->mask &= ~((uint32_t)1 << source->_level);
	if (source->_place == BATON__ASKING && baton__links_empty(&loop->asking))
		loop->ask_soon = false;
	source->_place = BATON__NOWHERE;
}

void baton__source_unlink(struct baton__mainloop *loop, struct baton_source *source)
{
	leave_place(loop, source);
	if (source->_watched)
		baton__descriptor_leave(loop, source);
}

static void put_in(struct baton__mainloop *loop, struct baton_source *source, uint8_t place)
{
	baton__source_unlink(loop, source);
	links_append(place == BATON__ASKING ? &loop->asking : &loop->waiting, source);
	source->_place = place;
}

/* ---- Places ---- */

static uint8_t level_of(const struct baton_source *source)
{
	/* Relaxed: a number. A thread that changes it posts the source afterwards. */
	uint32_t level = load_relaxed(&source->_set_level);

	if (!level)
		level = source->_config->level ? source->_config->level : BATON_PRIORITY_DEFAULT;
	return (uint8_t)(level - 1);
}

/* The source is ready: it goes to the end of its priority, or keeps its place there. */
static void put_ready(struct baton__mainloop *loop, struct baton_source *source)
{
	const uint8_t level = level_of(source);

	if (source->_place == BATON__READY && source->_level == level)
		return;
	leave_place(loop, source);
	links_append(&loop->ready[level], source);
	loop->mask |= (uint32_t)1 << level;
	source->_level = level;
	source->_order = loop->order++;
	source->_place = BATON__READY;
}

static void put_heap(struct baton__mainloop *loop, struct baton_source *source, uint64_t due)
{
	if (source->_place == BATON__HEAP && source->_due == due)
		return;
	baton__source_unlink(loop, source);
	source->_due = due;
	source->_order = loop->order++;
	baton__heap_insert(&loop->heap, source);
	source->_place = BATON__HEAP;
}

/* The source goes to its descriptor, or stays there. `fresh`: it has been started since its last
 * run. On a virtual clock no descriptor is ever ready. */
static void put_watched(struct baton__mainloop *loop, struct baton_source *source, bool fresh)
{
	if (loop->options.deterministic) {
		put_in(loop, source, BATON__WAITING);
		return;
	}
	if (source->_watched && !baton__descriptor_same(source))
		baton__source_unlink(loop, source);
	if (source->_place == BATON__READY) {
		put_ready(loop, source);
		return;
	}
	if (source->_place != BATON__WATCHED) {
		struct baton__descriptor *record;

		baton__source_unlink(loop, source);
		record = baton__descriptor_watch(loop, source);
		if (!record) {
			baton__places_retry(loop, source);
			return;
		}
		links_append(&record->watching, source);
		source->_place = BATON__WATCHED;
	}
	if (fresh)
		baton__descriptor_verify(loop, source);
}

/* The source's time has come. */
static void put_due(struct baton__mainloop *loop, struct baton_source *source, bool fresh)
{
	switch (source->_config->kind) {
	case BATON_SOURCE_READABLE:
	case BATON_SOURCE_WRITABLE:
		put_watched(loop, source, fresh);
		return;
	case BATON_SOURCE_CUSTOM:
		if (source->_place == BATON__READY)
			break;
		put_in(loop, source, BATON__ASKING);
		loop->ask_soon = true;
		return;
	default:
		break;
	}
	put_ready(loop, source);
}

void baton__places_ready(struct baton__mainloop *loop, struct baton_source *source)
{
	put_ready(loop, source);
}

void baton__places_retry(struct baton__mainloop *loop, struct baton_source *source)
{
	put_heap(loop, source, loop->now + RETRY_NS);
}

void baton__source_place(struct baton__mainloop *loop, struct baton_source *source, uint64_t word)
{
	const uint64_t due = baton__source_due(word);

	if (!(word & BATON__SOURCE_ACTIVE) || word & BATON__SOURCE_RUNNING) {
		baton__source_unlink(loop, source);
		if (!(word & BATON__SOURCE_ACTIVE))
			baton__descriptor_left(loop, source);
	} else if (due == BATON_NEVER || baton__dependent_held(source->_dependent)) {
		put_in(loop, source, BATON__WAITING);
	} else if (due > loop->now) {
		put_heap(loop, source, due);
	} else {
		put_due(loop, source, word & BATON__SOURCE_FRESH);
	}
}

void baton__places_expire(struct baton__mainloop *loop, uint64_t now)
{
	if (now > loop->now)
		loop->now = now;
	/* Ends: only a retry puts a source into the heap meanwhile, and its deadline is later. */
	while (loop->heap && baton__source_of(loop->heap)->_due <= loop->now)
		put_due(loop, baton__source_of(loop->heap), true);
}

uint64_t baton__places_next(const struct baton__mainloop *loop)
{
	return loop->heap ? baton__source_of(loop->heap)->_due : BATON_NEVER;
}

/* Of the oldest sources of these priorities, the one that became ready first. */
static struct baton_source *oldest_ready(const struct baton__mainloop *loop, uint32_t mask)
{
	struct baton_source *found = NULL;

	/* Bounded by the priorities. */
	for (; mask; mask &= mask - 1) {
		struct baton_source *source =
			baton__source_of(loop->ready[__builtin_ctz(mask)]._next);

		if (!found || source->_order < found->_order)
			found = source;
	}
	return found;
}

struct baton_source *baton__places_pick(struct baton__mainloop *loop, uint32_t levels)
{
	const uint32_t mask = loop->mask & levels;
	struct baton_source *first;

	if (!mask)
		return NULL;
	first = baton__source_of(loop->ready[__builtin_ctz(mask)]._next);
	if (loop->options.aging && loop->picks >= loop->options.aging - 1)
		return oldest_ready(loop, mask);
	return first;
}

/* Asks one CUSTOM, which has just been put back into `asking`. */
static void ask_custom(struct baton__mainloop *loop, struct baton_source *source)
{
	uint64_t wait;

	loop->asks = true;
	wait = source->_config->ready(source, loop->now);
	loop->asks = false;
	if (source->_place != BATON__ASKING)
		return; /* `ready` has stopped the source, or put it off */
	if (!wait)
		put_ready(loop, source);
	else if (wait != BATON_NEVER)
		put_heap(loop, source,
		         wait < BATON_MAINLOOP_TIME_MAX - loop->now ? loop->now + wait
		                                                    : BATON_NEVER);
}

void baton__places_ask(struct baton__mainloop *loop)
{
	struct baton_source_link round;

	loop->ask_soon = false;
	if (baton__links_empty(&loop->asking))
		return;
	round = loop->asking;
	round._next->_prev = &round;
	round._prev->_next = &round;
	links_init(&loop->asking);
	/* Ends: a source that is asked, or started meanwhile, goes to `asking`, not to `round`. */
	while (!baton__links_empty(&round)) {
		struct baton_source *source = baton__source_of(round._next);

		put_in(loop, source, BATON__ASKING);
		ask_custom(loop, source);
	}
}

struct baton_source *baton__places_any(struct baton__mainloop *loop)
{
	if (loop->mask)
		return baton__source_of(loop->ready[__builtin_ctz(loop->mask)]._next);
	if (loop->heap)
		return baton__source_of(loop->heap);
	if (!baton__links_empty(&loop->asking))
		return baton__source_of(loop->asking._next);
	if (!baton__links_empty(&loop->waiting))
		return baton__source_of(loop->waiting._next);
	return baton__descriptors_any(loop);
}
