/* SPDX-License-Identifier: MIT */
/* The tag itself: its generation, and the number of stamps that hold it. Wait-free. */
#include "core/tag.h"

#include "base/atomic.h"

BATON_EXPORT void baton_tag_init(struct baton_tag *tag)
{
	*tag = (struct baton_tag)BATON_TAG_INIT;
}

BATON_EXPORT void baton_tag_cancel(struct baton_tag *tag)
{
	/* [tag.generation] release: what the canceller did; pairs with [tag.generation] in
	 * baton__tag_generation. Linearisation point. Release is enough: the caller learns nothing
	 * by it. */
	(void)sub_acq_rel(&tag->_generation, 1);
}

BATON_EXPORT uint64_t baton_tag_held(const struct baton_tag *tag)
{
	/* [tag.held] acquire: the looks of the stamps that have let go; pairs with [tag.held] in
	 * baton__tag_let_go */
	return load_acquire(&tag->_held);
}
