/* SPDX-License-Identifier: MIT */
/*
 * Giving a resource its extension.
 */
#include "extension.h"

#include "atomic.h"
#include "bound.h"
#include "resource.h"

_Static_assert(sizeof(struct baton_extension) == 24, "part of the ABI");
_Static_assert(sizeof(struct baton_tag) == 16, "part of the ABI");
_Static_assert(sizeof(struct baton_lane) == 48, "part of the ABI");
_Static_assert(sizeof(struct baton_lanes) == 96, "part of the ABI");
_Static_assert(sizeof(struct baton_bound) == 64, "part of the ABI");

static bool drops_oldest(const struct baton_bound *bound)
{
	return bound->_config->policy == BATON_BOUND_DROP_OLDEST ||
	       bound->_config->policy == BATON_BOUND_DROP_LOWEST;
}

BATON_EXPORT void baton_resource_extend(struct baton_resource *resource,
                                        struct baton_extension *extension,
                                        struct baton_lanes *lanes, struct baton_bound *bound)
{
	/* Relaxed: nobody else has seen it yet. */
	uintptr_t word = load_relaxed(&resource->_word);

	BATON_ASSERT(word == BATON__NORMAL || word == BATON__SPECIAL);
	BATON_ASSERT(!baton__extension(resource));
	BATON_ASSERT(!((uintptr_t)extension & BATON__EXTENDED));
	BATON_ASSERT(!lanes || (lanes->_count >= 1 && lanes->_count <= BATON_LANES_MAX));
	BATON_ASSERT(!bound || baton__bound_valid(bound->_config));
	BATON_ASSERT(!bound || lanes || !drops_oldest(bound));
	*extension = (struct baton_extension){resource->_stats, lanes, bound};
	resource->_stats = (struct baton_resource_stats *)((uintptr_t)extension | BATON__EXTENDED);
	store_relaxed(&resource->_word, BATON__SPECIAL);
}
