/* SPDX-License-Identifier: MIT */
/*
 * The timing wheel's slots. Times are ticks here, entries are links; nothing is atomic:
 * the holder of the wheel (timers.h) alone touches it.
 *
 * A level has 64 slots; one of level n is 64^n ticks wide. An entry lies on the level of the
 * highest six bits in which its tick differs from the wheel's: so the levels never wrap around, the
 * first slot of the lowest level that has any is the next one, and eleven levels hold every tick of
 * 64 bits.
 *
 * Invariants:
 * wheel.slot: Every entry of a slot is to be looked at when the wheel comes to the slot's first
 *    tick, which is after the wheel's tick, and not after the entry's.
 * wheel.bit: An occupied slot's bit is set; a set bit's slot may be empty.
 * wheel.out: An entry that lies in no slot has _next NULL.
 * wheel.tick: The wheel's tick moves on only while `due` is empty: ticks are looked at in order.
 *
 * Source: Varghese and Lauck, "Hashed and Hierarchical Timing Wheels", 1987; the level by the
 * highest bit that differs, as in tokio.
 */
#ifndef BATON_SRC_WHEEL_H
#define BATON_SRC_WHEEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <baton/timer.h>

#include "base/platform.h"

#define BATON__WHEEL_LEVELS 11
#define BATON__WHEEL_SLOTS 64

struct baton__wheel {
	uint64_t tick;
	uint64_t occupied[BATON__WHEEL_LEVELS];
	struct baton_timer_link due; /* to be looked at now */
	struct baton_timer_link slots[BATON__WHEEL_LEVELS][BATON__WHEEL_SLOTS];
};

void baton__wheel_init(struct baton__wheel *wheel, uint64_t tick);

/* Puts the entry where it is looked at no later than at `tick`, but after now; returns when. */
uint64_t baton__wheel_place(struct baton__wheel *wheel, struct baton_timer_link *entry,
                            uint64_t tick);

/* Puts the entry where the next look finds it, without another tick. */
void baton__wheel_place_due(struct baton__wheel *wheel, struct baton_timer_link *entry);

BATON_INLINE void baton__wheel_unlink(struct baton_timer_link *entry)
{
	entry->_prev->_next = entry->_next;
	entry->_next->_prev = entry->_prev;
	entry->_next = NULL;
}

/* The tick of the next look, maybe of an empty slot that was not empty; UINT64_MAX: none. */
uint64_t baton__wheel_next(struct baton__wheel *wheel);

/*
 * Moves on to the next slot that is not empty, or to `tick` if that comes first. An entry to be
 * looked at, linked still, or NULL: there is none until then.
 */
struct baton_timer_link *baton__wheel_look(struct baton__wheel *wheel, uint64_t tick);

#endif
