/* SPDX-License-Identifier: MIT */
/*
 * Fetches entries of a long chain ahead.
 *
 * A walk over a chain that other threads have pushed waits for one cache line after the other: each
 * entry alone tells where the next one lies. Entries of an array or a ring lie at equal steps.
 * Where BATON__AHEAD_FROM steps in a row were equal, the line of a later entry is fetched early. A
 * guess beyond the end of the chain takes a line from a thread that may be about to use that line:
 * so short chains are not guessed about, and the guess goes further as the chain gets longer.
 */
#ifndef BATON_SRC_AHEAD_H
#define BATON_SRC_AHEAD_H

#include <stdint.h>

#include <baton/task.h>

#include "base/platform.h"

#define BATON__AHEAD_FROM 12U
#define BATON__AHEAD_MAX 8U

/* Of a walk; all 0 at its beginning. */
struct baton__ahead {
	uintptr_t step; /* the last one, modulo 2^64 */
	uint32_t equal; /* so many steps before it were equal */
};

/* The walk goes from `task` to `next`, which may be NULL. */
BATON_INLINE void baton__fetch_ahead(struct baton__ahead *ahead, const struct baton_task *task,
                                     const struct baton_task *next)
{
	const uintptr_t step = (uintptr_t)next - (uintptr_t)task;
	uint32_t count;

	ahead->equal = step == ahead->step ? ahead->equal + 1 : 0;
	ahead->step = step;
	if (BATON_LIKELY(ahead->equal < BATON__AHEAD_FROM))
		return;
	count = ahead->equal / 4 < BATON__AHEAD_MAX ? ahead->equal / 4 : BATON__AHEAD_MAX;
	__builtin_prefetch((const void *)((uintptr_t)next + count * step), 1);
}

#endif
