/* SPDX-License-Identifier: MIT */
/*
 * What a resource may have beyond its one cache line: lanes, a bound. The memory is the caller's;
 * a resource without an extension pays nothing for there being such things.
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
 * Gives the resource lanes, a bound, or both (NULL: not that). Once, between the initialiser and
 * the first submit. From then on the resource takes the longer way through submit that one with
 * statistics takes: the same atomic operations, some more loads and branches.
 *
 * Thread safety: the owner, before anybody else sees the resource. Ownership: extension, lanes and
 * bound must live as long as the resource. Errors: none; asserts that the resource is open and
 * idle and has no extension, that the numbers are in their ranges, that a bound which drops the
 * oldest has lanes.
 */
void baton_resource_extend(struct baton_resource *resource, struct baton_extension *extension,
                           struct baton_lanes *lanes, struct baton_bound *bound);

#ifdef __cplusplus
}
#endif

#endif
