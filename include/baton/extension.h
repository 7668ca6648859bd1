/* SPDX-License-Identifier: MIT */
/*
 * An extension gives a resource lanes (baton/lane.h), a bound (baton/bound.h), or both. The memory
 * is the caller's. A resource without an extension pays nothing.
 */
#ifndef BATON_EXTENSION_H
#define BATON_EXTENSION_H

#include <baton/bound.h>
#include <baton/lane.h>
#include <baton/resource.h>

#ifdef __cplusplus
extern "C" {
#endif

struct baton_extension {
	struct baton_backlog _backlog;
	struct baton_lanes *_lanes;
	struct baton_bound *_bound;
};

/*
 * Gives the resource lanes, a bound, or both (NULL: none). To be called once, between the
 * resource's initialiser and its first submit.
 *
 * A resource with an extension takes the same longer way through submit as a resource with
 * statistics: the same atomic operations, some more loads and branches. A bound adds its own cost,
 * see there.
 *
 * Thread safety: the owner, before any other thread sees the resource.
 * Ownership: extension, lanes and bound must live as long as the resource.
 * Errors: none. Asserts that the resource is open and idle and has no extension, that the members
 * of lanes and bound are within their ranges, and that a resource whose bound drops queued tasks
 * has lanes.
 */
void baton_resource_extend(struct baton_resource *resource, struct baton_extension *extension,
                           struct baton_lanes *lanes, struct baton_bound *bound);

#ifdef __cplusplus
}
#endif

#endif
