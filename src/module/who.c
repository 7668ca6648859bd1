/* SPDX-License-Identifier: MIT */
/* The thread that has suspended a resource. See who.h. */
#include "module/who.h"

#include "core/resource.h"
#include "core/stats.h"
#include "core/turn.h"
#include "core/word.h"

struct baton__who baton__who_now(void)
{
	const struct baton__frame *frame = baton__top(baton__self);
	const struct baton_resource *resource = frame ? frame->resource : NULL;

	return (struct baton__who){
		.thread = baton__self->tid,
		.function = resource ? baton__stats_shown(resource) : 0,
		.resource = resource,
	};
}

/* Relaxed: hints. A reader may once find the members of two structs mixed. */
static void show(struct baton__who *shown, const struct baton__who *who)
{
	store_relaxed(&shown->thread, who->thread);
	store_relaxed(&shown->why, who->why);
	store_relaxed(&shown->function, who->function);
	store_relaxed(&shown->resource, who->resource);
}

/*
 * who.guest: While the baton is on the shelf and no helper has borrowed it, the job is in no queue,
 *    and no thread queues it (turn.h). The job's `_next` then tells src/gdb/baton-gdb.py who has
 *    shelved. Bit 0 is 1, as in no pointer; bits 1 and 2 say why; the thread's id is above. The
 *    library does not read this value.
 */
static void tell_debugger(struct baton_resource *resource, const struct baton__who *who)
{
	const uintptr_t told = (uintptr_t)who->thread << 3 | who->why << 1 | 1;

	BATON_ASSERT(baton__word_is_busy(baton__word(resource)));
	/* This hint is exact: only the holder ends HELD, or makes another phase HELD. */
	if (baton__turn_seems_held(resource))
		store_relaxed(&resource->_job._next, (struct baton_job *)told);
}

static struct baton__gauge *gauge_of(const struct baton_resource *resource)
{
	const struct baton_resource_stats *stats = baton__stats(resource);

	return stats ? stats->_gauge : NULL;
}

void baton__who_shelved(struct baton_resource *resource, const struct baton__who *who)
{
	struct baton__gauge *gauge = gauge_of(resource);

	if (gauge)
		show(&gauge->shelved, who);
	tell_debugger(resource, who);
}

void baton__who_paused(struct baton_resource *resource, const struct baton__who *who)
{
	static const struct baton__who unknown;
	struct baton__gauge *gauge = gauge_of(resource);

	if (gauge)
		show(&gauge->paused, who ? who : &unknown);
}
