/* SPDX-License-Identifier: MIT */
/*
 * A resource's extras are what few resources have besides a config: statistics, or an extension
 * that a module has attached (backlog.h). One pointer of the resource, `_extras`, leads to the
 * config, the statistics or the extension; its lowest bits say to which. Statistics and extension
 * in turn have the config.
 *
 *   no bit                the config, or NULL
 *   BATON__HAS_STATS      the statistics
 *   BATON__HAS_EXTENSION  the extension, which may have statistics, too
 *
 * Only the owner changes the pointer, before the resource is shared.
 */
#ifndef BATON_SRC_EXTRAS_H
#define BATON_SRC_EXTRAS_H

#include <baton/resource.h>
#include <baton/stats.h>

#include "base/platform.h"

#define BATON__HAS_STATS ((uintptr_t)1)
#define BATON__HAS_EXTENSION ((uintptr_t)2)

/* Has the resource extras? Hot paths ask this before all else. */
BATON_INLINE bool baton__has_extras(const struct baton_resource *resource)
{
	return resource->_extras & (BATON__HAS_STATS | BATON__HAS_EXTENSION);
}

/* Where the extension begins; NULL: the resource has none. */
BATON_INLINE struct baton__extension_head *baton__extension_head(
	const struct baton_resource *resource)
{
	if (BATON_LIKELY(!(resource->_extras & BATON__HAS_EXTENSION)))
		return NULL;
	return (struct baton__extension_head *)(resource->_extras - BATON__HAS_EXTENSION);
}

/* The resource's statistics, or NULL. */
BATON_INLINE struct baton_resource_stats *baton__stats(const struct baton_resource *resource)
{
	if (BATON_LIKELY(!baton__has_extras(resource)))
		return NULL;
	if (resource->_extras & BATON__HAS_STATS)
		return (struct baton_resource_stats *)(resource->_extras - BATON__HAS_STATS);
	return baton__extension_head(resource)->_stats;
}

/* The resource's config. NULL: the defaults. */
BATON_INLINE const struct baton_resource_config *baton__config(
	const struct baton_resource *resource)
{
	if (BATON_LIKELY(!baton__has_extras(resource)))
		return resource->_config;
	if (resource->_extras & BATON__HAS_STATS)
		return baton__stats(resource)->_config;
	return baton__extension_head(resource)->_config;
}

/* Gives statistics to a resource that has none. Called by the owner. */
BATON_INLINE void baton__set_stats(struct baton_resource *resource,
                                   struct baton_resource_stats *stats)
{
	struct baton__extension_head *head = baton__extension_head(resource);

	BATON_ASSERT(!baton__stats(resource));
	if (head) {
		head->_stats = stats;
	} else {
		stats->_config = resource->_config;
		resource->_extras = (uintptr_t)stats | BATON__HAS_STATS;
	}
}

/* Gives an extension to a resource that has none. Called by the owner. */
BATON_INLINE void baton__set_extension(struct baton_resource *resource,
                                       struct baton__extension_head *head)
{
	BATON_ASSERT(!baton__extension_head(resource));
	head->_stats = baton__stats(resource);
	head->_config = baton__config(resource);
	resource->_extras = (uintptr_t)head | BATON__HAS_EXTENSION;
}

#endif
