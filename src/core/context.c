/* SPDX-License-Identifier: MIT */
/* Calls a config's enter and leave. */
#include "core/context.h"

#include "core/guard.h"

BATON_NOINLINE void baton__context_enter(struct baton_resource *resource)
{
	const struct baton_resource_config *config = baton__config(resource);

	if (config->enter) {
		const uintptr_t top = baton__self->top;

		BATON_GUARD(guard);
		config->enter(resource);
		guard = false;
		baton__guard_returned(top);
	}
}

BATON_NOINLINE void baton__context_leave(struct baton_resource *resource)
{
	const struct baton_resource_config *config = baton__config(resource);

	if (config->leave) {
		const uintptr_t top = baton__self->top;

		BATON_GUARD(guard);
		config->leave(resource);
		guard = false;
		baton__guard_returned(top);
	}
}

int baton__context_hook(struct baton_resource *resource,
                        int (*hook)(struct baton_resource *resource))
{
	const uintptr_t top = baton__self->top;
	int status;

	if (!hook)
		return 0;
	baton__context_begin(resource);
	status = hook(resource);
	baton__guard_returned(top);
	baton__context_end(resource);
	return status;
}
