/* SPDX-License-Identifier: MIT */
/*
 * The timing wheel's slots. Times are ticks, entries are links. Nothing is atomic: only the holder
 * of the wheel (timer.h) touches it.
 *
 * A level has 64 slots; a slot of level n is 64^n ticks wide. An entry lies on the level of the
 * highest group of six bits in which the entry's tick differs from the wheel's tick. So a level
 * never wraps around, and eleven levels hold every tick of 64 bits. The next slot to be looked at
 * is the first occupied slot of the lowest level that has an occupied slot.
 *
 * Invariants:
 * wheel.slot: The entries of a slot are looked at when the wheel comes to the slot's first tick.
 *    That tick is after the wheel's tick, and not after the tick of any entry of the slot.
 * wheel.bit: The bit of an occupied slot is set. A slot whose bit is set may be empty.
 * wheel.out: An entry that lies in no slot has _next NULL.
 * wheel.tick: The wheel's tick moves on only while `due` is empty: ticks are looked at in order.
 *
 * Source: Varghese and Lauck, "Hashed and Hierarchical Timing Wheels", 1987; the level by the
 * highest bit that differs, as in tokio.
 */
#ifndef BATON_SRC_WHEEL_H
#define BATON_SRC_WHEEL_H

#include <baton/timer.h>

#include "base/platform.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BATON__WHEEL_LEVELS 11
#define BATON__WHEEL_SLOTS 64

struct baton__wheel {
	uint64_t tick;
	uint64_t occupied[BATON__WHEEL_LEVELS];
	struct baton_timer_link due; /* to be looked at now */
	struct baton_timer_link slots[BATON__WHEEL_LEVELS][BATON__WHEEL_SLOTS];
};

void baton__wheel_init(struct baton__wheel *wheel, uint64_t tick);

/* Puts the entry into a slot that is looked at after the wheel's tick, and no later than `tick`
 * (or, if that has passed, at the next tick). Returns the tick of that look. */
uint64_t baton__wheel_place(struct baton__wheel *wheel, struct baton_timer_link *entry,
                            uint64_t tick);

/* Puts the entry into `due`: the next look finds it, at the wheel's tick. */
void baton__wheel_place_due(struct baton__wheel *wheel, struct baton_timer_link *entry);

BATON_INLINE void baton__wheel_unlink(struct baton_timer_link *entry)
{
	entry->_prev->_next = entry->_next;
	entry->_next->_prev = entry->_prev;
	entry->_next = NULL;
}

/* The tick of the next look, maybe at a slot that has become empty; UINT64_MAX: no entries. */
uint64_t baton__wheel_next(struct baton__wheel *wheel);

/*
 * Moves the wheel's tick on to the next slot with entries, or to `tick` if that comes first.
 * Returns an entry to be looked at, which is still linked; NULL: none by `tick`.
 */
struct baton_timer_link *baton__wheel_look(struct baton__wheel *wheel, uint64_t tick);

#endif
