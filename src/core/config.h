/* SPDX-License-Identifier: MIT */
/*
 * What a resource's config says; the defaults, where a resource has no config.
 */
#ifndef BATON_SRC_CONFIG_H
#define BATON_SRC_CONFIG_H

#include <baton/resource.h>

#include "base/platform.h"
#include "core/executor.h"
#include "core/extras.h"

/* The resource's name, for messages; NULL: none. */
const char *baton__name(const struct baton_resource *resource);

/* How many tasks a capture runs; 0: none (BATON_CAPTURE_NONE). Nothing else reads capture_max. */
BATON_INLINE uint32_t baton__config_capture_max(const struct baton_resource_config *config)
{
	if (!config || !config->capture_max)
		return BATON_CAPTURE_MAX;
	return config->capture_max == BATON_CAPTURE_NONE ? 0 : config->capture_max;
}

BATON_INLINE uint32_t baton__capture_max(const struct baton_resource *resource)
{
	return baton__config_capture_max(baton__config(resource));
}

BATON_INLINE uint32_t baton__quantum(const struct baton_resource_config *config)
{
	return config && config->quantum ? config->quantum : BATON_QUANTUM;
}

/* Is the stay of a captured thread limited in time? */
BATON_INLINE bool baton__timed(const struct baton_resource *resource)
{
	const struct baton_resource_config *config = baton__config(resource);

	return config && config->capture_ns;
}

/* Are there drain hooks (batching.h)? */
BATON_INLINE bool baton__config_hooked(const struct baton_resource_config *config)
{
	return config->batch_begin || config->batch_end || config->delay_completions;
}

BATON_INLINE bool baton__hooked(const struct baton_resource *resource)
{
	const struct baton_resource_config *config = baton__config(resource);

	return config && baton__config_hooked(config);
}

BATON_INLINE struct baton_executor *baton__executor_of(const struct baton_resource *resource)
{
	const struct baton_resource_config *config = baton__config(resource);

	return config && config->executor ? config->executor : baton__default_executor.get();
}

/* The same executor. NULL: it is the default pool, which does not exist yet. */
BATON_INLINE struct baton_executor *baton__executor_if_any(const struct baton_resource *resource)
{
	const struct baton_resource_config *config = baton__config(resource);

	return config && config->executor ? config->executor : baton__default_executor.peek();
}

/* Are enter or leave to be called (run.h)? */
BATON_INLINE bool baton__config_has_context(const struct baton_resource_config *config)
{
	return config->enter || config->leave;
}

BATON_INLINE bool baton__has_context(const struct baton_resource *resource)
{
	const struct baton_resource_config *config = baton__config(resource);

	return config && baton__config_has_context(config);
}

/* Does the config ask for what the idle path, which looks at the word alone, does not do? */
BATON_INLINE bool baton__config_is_special(const struct baton_resource_config *config)
{
	return !baton__config_capture_max(config) || config->capture_ns || config->failed ||
	       baton__config_has_context(config) || baton__config_hooked(config);
}

/* Does the config let the first submitter run a single task by a short path? */
BATON_INLINE bool baton__config_is_plain(const struct baton_resource *resource)
{
	const struct baton_resource_config *config = baton__config(resource);

	/* One branch for all functions. */
	return BATON_LIKELY(!config) ||
	       (baton__config_capture_max(config) &&
	        !(config->capture_ns | (uintptr_t)config->enter | (uintptr_t)config->leave |
	          (uintptr_t)config->batch_begin | (uintptr_t)config->batch_end |
	          (uintptr_t)config->delay_completions));
}

#endif
