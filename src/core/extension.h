/* SPDX-License-Identifier: MIT */
/*
 * What hangs on a resource beyond its cache line. A resource's _stats is a pointer to its
 * statistics, or, with the lowest bit set, to an extension, which then has that pointer. Constant
 * once the resource is shared; anything but NULL makes the resource SPECIAL.
 */
#ifndef BATON_SRC_EXTENSION_H
#define BATON_SRC_EXTENSION_H

#include <baton/extension.h>

#include "base/platform.h"

#define BATON__EXTENDED ((uintptr_t)1)

BATON_INLINE struct baton_extension *baton__extension(const struct baton_resource *resource)
{
	uintptr_t stats = (uintptr_t)resource->_stats;

	return stats & BATON__EXTENDED ? (struct baton_extension *)(stats - BATON__EXTENDED) : NULL;
}

/* Not for the hot paths: they look whether _stats is NULL first. */
BATON_INLINE struct baton_resource_stats *baton__stats(const struct baton_resource *resource)
{
	const struct baton_extension *extension = baton__extension(resource);

	return extension ? extension->_stats : resource->_stats;
}

BATON_INLINE struct baton_lanes *baton__lanes(const struct baton_resource *resource)
{
	const struct baton_extension *extension = baton__extension(resource);

	return extension ? extension->_lanes : NULL;
}

BATON_INLINE struct baton_bound *baton__bound(const struct baton_resource *resource)
{
	const struct baton_extension *extension = baton__extension(resource);

	return extension ? extension->_bound : NULL;
}

#endif
