/* SPDX-License-Identifier: MIT */
/*
 * Tags and the stamps that tasks carry. A stamp is valid while its generation is the
 * tag's.
 *
 * Invariants:
 * U1 The generation only advances (counting down, modulo 2^64, so that no ABA comes within reach).
 * U2 A stamp that holds its tag is one of the tag's _held until it is let go, once, which is the
 *    last touch of the tag on its behalf.
 *
 * Linearisation points: cancel: its subtraction; a task's: the load in baton__stamp_valid.
 */
#ifndef BATON_SRC_TAG_H
#define BATON_SRC_TAG_H

#include <baton/tag.h>

#include "base/atomic.h"
#include "base/platform.h"

BATON_INLINE uint64_t baton__tag_generation(const struct baton_tag *tag)
{
	/* [U1] acquire: what the canceller did; pairs with [U1] in baton_tag_cancel */
	return load_acquire(&tag->_generation);
}

BATON_INLINE void baton__tag_hold(struct baton_tag *tag)
{
	/* Relaxed: the stamper keeps the tag there. */
	(void)add_relaxed(&tag->_held, 1);
}

BATON_INLINE void baton__tag_let_go(struct baton_tag *tag)
{
	/* [U2] release: our look at the tag; pairs with [U2] in baton_tag_held. Last touch. */
	(void)sub_acq_rel(&tag->_held, 1);
}

#endif
