/* SPDX-License-Identifier: MIT */
/*
 * A tag's own part: the generation, and how many stamps hold it. Wait-free.
 */
#include "core/tag.h"

#include "base/atomic.h"

BATON_EXPORT void baton_tag_init(struct baton_tag *tag)
{
	*tag = (struct baton_tag)BATON_TAG_INIT;
}

BATON_EXPORT void baton_tag_cancel(struct baton_tag *tag)
{
	/* [U1] release: what the canceller did; pairs with [U1] in baton__tag_generation.
	 * Linearisation point. */
	(void)sub_acq_rel(&tag->_generation, 1);
}

BATON_EXPORT uint64_t baton_tag_held(const struct baton_tag *tag)
{
	/* [U2] acquire: the looks of those that have let go; pairs with [U2] in
	 * baton__tag_let_go */
	return load_acquire(&tag->_held);
}
