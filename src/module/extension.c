/* SPDX-License-Identifier: MIT */
/* Gives a resource its extension: lanes, a bound, or both. */
#include "module/extension.h"

#include "base/atomic.h"
#include "core/backlog.h"
#include "module/bound.h"
#include "module/lane.h"

_Static_assert(sizeof(struct baton_extension) == 32, "part of the ABI");
_Static_assert(sizeof(struct baton_tag) == 16, "part of the ABI");
_Static_assert(sizeof(struct baton_lane) == 48, "part of the ABI");
_Static_assert(sizeof(struct baton_lanes) == 128, "part of the ABI");
_Static_assert(sizeof(struct baton_bound) == 64, "part of the ABI");

#define LANES                                                                                      \
	.take = baton__lanes_take, .keep = baton__lanes_keep, .next = baton__lanes_next,           \
	.put_back = baton__lanes_put_back, .unlink = baton__lanes_unlink,                          \
	.admit = baton__lanes_admit, .cancel = baton__lanes_cancel, .has = baton__lanes_has
#define BOUND                                                                                      \
	.reserve = baton__bound_reserve, .take_back = baton__bound_take_back,                      \
	.captured = baton__bound_captured, .left = baton__bound_left, .look = baton__bound_look

static const struct baton__backlog laned = {LANES};
static const struct baton__backlog bounded = {BOUND};
static const struct baton__backlog both = {LANES, BOUND};

static bool drops_oldest(const struct baton_bound *bound)
{
	return bound->_config->policy == BATON_BOUND_DROP_OLDEST ||
	       bound->_config->policy == BATON_BOUND_DROP_LOWEST;
}

BATON_EXPORT void baton_resource_extend(struct baton_resource *resource,
                                        struct baton_extension *extension,
                                        struct baton_lanes *lanes, struct baton_bound *bound)
{
	BATON_REQUIRE_OF(baton__word_is_fresh(baton__word(resource)), resource->_name,
	                 "is in use: extend it before the first submit");
	BATON_REQUIRE_OF(!baton__backlog(resource), resource->_name,
	                 "is extended already: lanes and bound are given in one call");
	BATON_REQUIRE_OF(!lanes || (lanes->_count >= 1 && lanes->_count <= BATON_LANES_MAX),
	                 resource->_name,
	                 "was given lanes that are not initialised: baton_lanes_init before");
	BATON_REQUIRE_OF(!bound || baton__bound_valid(bound->_config), resource->_name,
	                 "was given a bound whose config contradicts itself");
	BATON_REQUIRE_OF(
		!bound || lanes || !drops_oldest(bound), resource->_name,
		"was given a bound that drops queued tasks, and no lanes: give it lanes, be "
		"it one");
	*extension = (struct baton_extension){
		{lanes ? bound ? &both : &laned : &bounded, resource->_stats}, lanes, bound};
	resource->_stats = (struct baton_resource_stats *)(void *)extension;
	baton__word_extend(resource);
}
