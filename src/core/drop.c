/* SPDX-License-Identifier: MIT */
/*
 * Cancels a task that will not be entered. The task's type, or else the resource's config, names
 * the function to call.
 */
#include "core/drop.h"

#include "base/atomic.h"
#include "base/probe.h"
#include "core/guard.h"
#include "core/label.h"
#include "core/stats.h"

#include <errno.h>

baton_task_cancelled_fn baton__cancelled_of(const struct baton_resource *resource,
                                            const struct baton_task *task)
{
	const struct baton_resource_config *config = baton__config(resource);

	if (baton__of_kind(task) && baton__type(task)->cancelled)
		return baton__type(task)->cancelled;
	return config ? config->cancelled : NULL;
}

void baton__call_cancelled(struct baton_task *task, baton_task_cancelled_fn cancelled)
{
	const uintptr_t top = baton__self->top;

	if (cancelled && baton__of_kind(task))
		baton__cancelled_of_kind(task, cancelled);
	else if (cancelled)
		cancelled(task);
	baton__guard_returned(top);
}

void baton__tell_cancelled(struct baton_resource *resource, struct baton_task *task)
{
	baton__call_cancelled(task, baton__cancelled_of(resource, task));
}

bool baton__cancel_untold(struct baton_resource *resource, struct baton_task *task)
{
	struct baton_resource_stats *stats = baton__stats(resource);
	struct baton_future *future = baton__task_future(task);
	const bool tells = baton__tells(task);

	BATON_PROBE(cancel, resource, task);
	/* Relaxed: only counted. Tasks may be cancelled beside each other. */
	if (stats)
		(void)add_relaxed(&stats->cancelled, 1);
	baton__entry_dropped(task);
	if (future)
		baton__future_finish(future, BATON__FUTURE_CANCELLED, -ECANCELED, NULL,
		                     baton__turn_visits(resource));
	return tells;
}

void baton__cancel_entered(struct baton_resource *resource, struct baton_task *task)
{
	if (baton__cancel_untold(resource, task))
		baton__tell_cancelled(resource, task);
}
