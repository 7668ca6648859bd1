/* SPDX-License-Identifier: MIT */
/* Gives a resource lanes, a bound, or both. */
#include "module/extension.h"

#include "base/atomic.h"
#include "base/checked.h"
#include "core/backlog.h"
#include "module/bound.h"
#include "module/lane.h"
#include "module/lend.h"

_Static_assert(sizeof(struct baton__extension) == 40, "part of the ABI");
_Static_assert(sizeof(struct baton_tag) == 16, "part of the ABI");
_Static_assert(sizeof(struct baton_lane) == 48, "part of the ABI");
_Static_assert(sizeof(struct baton_lanes) == 184, "part of the ABI");
_Static_assert(sizeof(struct baton_bound) == 104, "part of the ABI");

#define LANES                                                                                      \
	.take = baton__lanes_take, .keep = baton__lanes_keep, .next = baton__lanes_next,           \
	.put_back = baton__lanes_put_back, .unlink = baton__lanes_unlink,                          \
	.admit = baton__lanes_admit, .cancel = baton__lanes_cancel, .has = baton__lanes_has,       \
	.rests = baton__lanes_rest
#define BOUND                                                                                      \
	.reserve = baton__bound_reserve, .unreserve = baton__bound_unreserve,                      \
	.captured = baton__bound_captured, .left = baton__bound_left,                              \
	.set_aside = baton__bound_set_aside, .look = baton__bound_look

static _Noreturn void lanes_are_missing(const struct baton_resource *resource)
{
	BATON_MISUSE_OF("baton_submit", baton__name(resource),
	                "has a bound that drops queued tasks, and no lanes: "
	                "baton_resource_set_lanes before, be it one");
}

static int reserve_unlaned(struct baton_resource *resource, struct baton_task *first,
                           uint32_t count, unsigned how)
{
	(void)first;
	(void)count;
	(void)how;
	lanes_are_missing(resource);
}

static bool lend_unlaned(struct baton_resource *resource)
{
	lanes_are_missing(resource);
}

static const struct baton__backlog laned = {LANES};
static const struct baton__backlog bounded = {BOUND};
static const struct baton__backlog both = {LANES, BOUND};
static const struct baton__backlog dropping = {LANES, BOUND, .lend = baton__lend_open,
                                               .regain = baton__lend_regain};
/* The table of a bound that drops queued tasks, as long as the resource has no lanes: the first
 * submit or call stops at an assertion, where it queues a task or is about to run one. */
static const struct baton__backlog unlaned = {.reserve = reserve_unlaned, .lend = lend_unlaned};

static const struct baton__backlog *table_of(const struct baton__extension *extension)
{
	const struct baton_bound *bound = extension->_bound;

	if (!bound)
		return &laned;
	if (extension->_lanes)
		return baton__bound_drops_oldest(bound->_config) ? &dropping : &both;
	return baton__bound_drops_oldest(bound->_config) ? &unlaned : &bounded;
}

/* The extension of the resource. `own`: where the extension begins, if there is none yet. */
static struct baton__extension *extended(struct baton_resource *resource,
                                         struct baton__extension *own)
{
	if (!baton__extension_head(resource)) {
		*own = (struct baton__extension){{NULL, NULL, NULL}, NULL, NULL};
		baton__set_extension(resource, &own->_head);
		baton__word_extend(resource);
	}
	return baton__extension(resource);
}

BATON_EXPORT void baton_resource_set_lanes(struct baton_resource *resource,
                                           struct baton_lanes *lanes)
{
	BATON__CHECKED(set_lanes(resource, lanes, __func__));

	static const struct baton_lanes_config no_aging = BATON_LANES_CONFIG_INIT;
	struct baton__extension *extension;

	BATON_REQUIRE_OF(baton__word_is_fresh(baton__word(resource)), baton__name(resource),
	                 "is in use: give it lanes before the first submit");
	BATON_REQUIRE_OF(lanes->_count >= 1 && lanes->_count <= BATON_LANES_MAX,
	                 baton__name(resource),
	                 "was given lanes that are not initialised: baton_lanes_init before");
	if (!lanes->_config)
		lanes->_config = &no_aging;
	extension = extended(resource, &lanes->_extension);
	BATON_REQUIRE_OF(!extension->_lanes, baton__name(resource), "has lanes already");
	extension->_lanes = lanes;
	extension->_head._table = table_of(extension);
	baton__lanes_show(resource);
}

BATON_EXPORT void baton_resource_set_bound(struct baton_resource *resource,
                                           struct baton_bound *bound)
{
	BATON__CHECKED(set_bound(resource, bound, __func__));

	struct baton__extension *extension;

	BATON_REQUIRE_OF(baton__word_is_fresh(baton__word(resource)), baton__name(resource),
	                 "is in use: give it a bound before the first submit");
	BATON_REQUIRE_OF(baton__bound_valid(bound->_config), baton__name(resource),
	                 "was given a bound whose config contradicts itself");
	extension = extended(resource, &bound->_extension);
	BATON_REQUIRE_OF(!extension->_bound, baton__name(resource), "has a bound already");
	extension->_bound = bound;
	extension->_head._table = table_of(extension);
}
