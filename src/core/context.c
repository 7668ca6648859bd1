/* SPDX-License-Identifier: MIT */
/* Calls a config's enter and leave. */
#include "core/context.h"

#include "core/guard.h"

BATON_NOINLINE void baton__context_enter(struct baton_resource *resource)
{
	const struct baton_resource_config *config = baton__config(resource);

	if (config->enter) {
		BATON_GUARD(guard);
		config->enter(resource);
		guard = false;
	}
}

BATON_NOINLINE void baton__context_leave(struct baton_resource *resource)
{
	const struct baton_resource_config *config = baton__config(resource);

	if (config->leave) {
		BATON_GUARD(guard);
		config->leave(resource);
		guard = false;
	}
}
