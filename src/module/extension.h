/* SPDX-License-Identifier: MIT */
/*
 * The extension of a resource: lanes, a bound, or both. It is attached as the resource's backlog
 * (core/backlog.h), and constant once the resource is shared. Call the functions below only for
 * resources that have an extension.
 */
#ifndef BATON_SRC_EXTENSION_H
#define BATON_SRC_EXTENSION_H

#include <baton/extension.h>

#include "base/platform.h"

BATON_INLINE struct baton_extension *baton__extension(const struct baton_resource *resource)
{
	return (struct baton_extension *)(void *)resource->_stats;
}

BATON_INLINE struct baton_lanes *baton__lanes(const struct baton_resource *resource)
{
	return baton__extension(resource)->_lanes;
}

BATON_INLINE struct baton_bound *baton__bound(const struct baton_resource *resource)
{
	return baton__extension(resource)->_bound;
}

#endif
