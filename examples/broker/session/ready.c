/* SPDX-License-Identifier: MIT */
/* The members of a group that have room; see ready.h. */
#include "session/ready.h"

#include <stdbool.h>
#include <stdlib.h>

#include "common/must.h"

#define READY_CAPACITY_FIRST 4

static bool ready_before(const struct ready_place *a, const struct ready_place *b)
{
	return a->under_way != b->under_way ? a->under_way < b->under_way : a->turn < b->turn;
}

static void ready_set(struct ready *ready, size_t at, struct ready_place *place)
{
	ready->places[at] = place;
	place->at = at + 1;
}

/* Moves the place at this index up and down to where it belongs. */
static void ready_settle(struct ready *ready, size_t at)
{
	struct ready_place *place = ready->places[at];

	while (at > 0 && ready_before(place, ready->places[(at - 1) / 2])) {
		ready_set(ready, at, ready->places[(at - 1) / 2]);
		at = (at - 1) / 2;
	}
	for (size_t below; (below = 2 * at + 1) < ready->count; at = below) {
		if (below + 1 < ready->count &&
		    ready_before(ready->places[below + 1], ready->places[below]))
			below++;
		if (!ready_before(ready->places[below], place))
			break;
		ready_set(ready, at, ready->places[below]);
	}
	ready_set(ready, at, place);
}

static void ready_grow(struct ready *ready)
{
	const size_t capacity = ready->capacity == 0 ? READY_CAPACITY_FIRST : 2 * ready->capacity;
	struct ready_place **places = must_alloc(capacity * sizeof(struct ready_place *));

	for (size_t i = 0; i < ready->count; i++)
		places[i] = ready->places[i];
	free(ready->places);
	ready->places = places;
	ready->capacity = capacity;
}

void ready_put(struct ready *ready, struct ready_place *place)
{
	if (place->at == 0) {
		if (ready->count == ready->capacity)
			ready_grow(ready);
		ready_set(ready, ready->count++, place);
	}
	ready_settle(ready, place->at - 1);
}

void ready_take(struct ready *ready, struct ready_place *place)
{
	const size_t at = place->at - 1;

	if (place->at == 0)
		return;
	place->at = 0;
	if (at == --ready->count)
		return;
	ready_set(ready, at, ready->places[ready->count]);
	ready_settle(ready, at);
}

struct ready_place *ready_first(const struct ready *ready)
{
	return ready->count > 0 ? ready->places[0] : NULL;
}

void ready_free(struct ready *ready)
{
	free(ready->places);
	*ready = (struct ready){0};
}
