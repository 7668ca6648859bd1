/* SPDX-License-Identifier: MIT */
/*
 * The extension of a resource: its lanes, its bound, or both. The extension is the resource's
 * backlog (core/backlog.h). Its memory lies in the lanes or in the bound, whichever the resource
 * was given first. The extension is constant once the resource is shared. Call the functions below
 * only for resources that have an extension.
 */
#ifndef BATON_SRC_EXTENSION_H
#define BATON_SRC_EXTENSION_H

#include <baton/bound.h>
#include <baton/lane.h>

#include "base/platform.h"
#include "core/extras.h"

BATON_INLINE struct baton__extension *baton__extension(const struct baton_resource *resource)
{
	return (struct baton__extension *)(void *)baton__extension_head(resource);
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
