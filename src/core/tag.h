/* SPDX-License-Identifier: MIT */
/*
 * Tags, and the stamps that tasks carry. A stamp is valid while its generation is the tag's.
 *
 * Invariants:
 * tag.advances: The generation only advances. It counts down, modulo 2^64, so that no ABA comes
 *    within reach.
 * tag.stamp: A stamp that holds its tag is counted in the tag's _held until the stamp lets go,
 *    once. Letting go is the last touch of the tag for that stamp.
 *
 * Linearisation points: of a cancel, its subtraction; of a task's look, the load in
 * baton__tag_generation.
 */
#ifndef BATON_SRC_TAG_H
#define BATON_SRC_TAG_H

#include <baton/tag.h>

#include "base/atomic.h"
#include "base/platform.h"

BATON_INLINE uint64_t baton__tag_generation(const struct baton_tag *tag)
{
	/* [tag.generation] acquire: what the canceller did; pairs with [tag.generation] in
	 * baton_tag_cancel */
	return load_acquire(&tag->_generation);
}

BATON_INLINE void baton__tag_hold(struct baton_tag *tag)
{
	/* Relaxed: the caller keeps the tag. */
	(void)add_relaxed(&tag->_held, 1);
}

BATON_INLINE void baton__tag_let_go(struct baton_tag *tag)
{
	/* [tag.held] release: the look at the tag; pairs with [tag.held] in baton_tag_held. Last
	 * touch. Release is enough: the caller learns nothing by it. */
	(void)sub_acq_rel(&tag->_held, 1);
}

#endif
