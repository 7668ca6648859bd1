/* SPDX-License-Identifier: MIT */
/*
 * The timing wheel's slots: place and look. Both are O(1): each level has one word with a bit for
 * each slot.
 */
#include "timer/wheel.h"

#include <stddef.h>

#define SLOT_BITS 6U
#define SLOT_MASK ((uint64_t)BATON__WHEEL_SLOTS - 1)

static void list_init(struct baton_timer_link *list)
{
	list->_next = list;
	list->_prev = list;
}

static bool list_empty(const struct baton_timer_link *list)
{
	return list->_next == list;
}

static void list_append(struct baton_timer_link *list, struct baton_timer_link *entry)
{
	BATON_ASSERT(!entry->_next); /* wheel.out */
	entry->_next = list;
	entry->_prev = list->_prev;
	list->_prev->_next = entry;
	list->_prev = entry;
}

/* Moves all entries of `from` to `to`. `from` is not empty, `to` is empty. */
static void list_move(struct baton_timer_link *to, struct baton_timer_link *from)
{
	*to = *from;
	to->_next->_prev = to;
	to->_prev->_next = to;
	list_init(from);
}

void baton__wheel_init(struct baton__wheel *wheel, uint64_t tick)
{
	wheel->tick = tick;
	list_init(&wheel->due);
	for (unsigned level = 0; level < BATON__WHEEL_LEVELS; level++) {
		wheel->occupied[level] = 0;
		for (unsigned slot = 0; slot < BATON__WHEEL_SLOTS; slot++)
			list_init(&wheel->slots[level][slot]);
	}
}

/* The first tick of a slot of this level, in the level's current round. */
static uint64_t slot_start(const struct baton__wheel *wheel, unsigned level, uint64_t slot)
{
	unsigned shift = SLOT_BITS * level;
	uint64_t above = wheel->tick >> shift >> SLOT_BITS;

	return (above << SLOT_BITS | slot) << shift;
}

uint64_t baton__wheel_place(struct baton__wheel *wheel, struct baton_timer_link *entry,
                            uint64_t tick)
{
	unsigned level;
	uint64_t slot;

	if (tick <= wheel->tick)
		tick = wheel->tick + 1;
	level = (63U - (unsigned)__builtin_clzll((tick ^ wheel->tick) | SLOT_MASK)) / SLOT_BITS;
	slot = tick >> (SLOT_BITS * level) & SLOT_MASK;
	list_append(&wheel->slots[level][slot], entry);
	wheel->occupied[level] |= (uint64_t)1 << slot;
	return slot_start(wheel, level, slot);
}

void baton__wheel_place_due(struct baton__wheel *wheel, struct baton_timer_link *entry)
{
	list_append(&wheel->due, entry);
}

/* Finds the next slot with entries: returns its level, and its number in `*slot`.
 * BATON__WHEEL_LEVELS: there is none. */
static unsigned next_slot(struct baton__wheel *wheel, uint64_t *slot)
{
	for (unsigned level = 0; level < BATON__WHEEL_LEVELS; level++) {
		/* wheel.bit: the bit of an empty slot is cleared when it is met. */
		while (wheel->occupied[level]) {
			*slot = (uint64_t)__builtin_ctzll(wheel->occupied[level]);
			if (!list_empty(&wheel->slots[level][*slot]))
				return level;
			wheel->occupied[level] &= wheel->occupied[level] - 1;
		}
	}
	return BATON__WHEEL_LEVELS;
}

uint64_t baton__wheel_next(struct baton__wheel *wheel)
{
	uint64_t slot = 0;
	unsigned level;

	if (!list_empty(&wheel->due))
		return wheel->tick;
	level = next_slot(wheel, &slot);
	return level < BATON__WHEEL_LEVELS ? slot_start(wheel, level, slot) : UINT64_MAX;
}

struct baton_timer_link *baton__wheel_look(struct baton__wheel *wheel, uint64_t tick)
{
	uint64_t slot = 0;
	uint64_t start = 0;
	unsigned level;

	if (!list_empty(&wheel->due)) {
		__builtin_prefetch(wheel->due._next->_next);
		return wheel->due._next;
	}
	level = next_slot(wheel, &slot);
	if (level < BATON__WHEEL_LEVELS)
		start = slot_start(wheel, level, slot);
	if (level == BATON__WHEEL_LEVELS || start > tick) {
		/* No occupied slot begins at or before `tick`: the wheel passes over none. */
		if (tick > wheel->tick)
			wheel->tick = tick;
		return NULL;
	}
	BATON_ASSERT(start > wheel->tick); /* wheel.slot */
	wheel->tick = start;
	list_move(&wheel->due, &wheel->slots[level][slot]);
	wheel->occupied[level] &= ~((uint64_t)1 << slot);
	return wheel->due._next;
}
