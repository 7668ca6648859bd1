/* SPDX-License-Identifier: MIT */
/* Writes events to the calling thread's ring. See trace.h. */
#include "thread/trace.h"

#include "thread/thread.h"

#include <stdlib.h>

uint64_t baton__tracing;

/* The ring of the calling thread; NULL: there is no memory for it. */
static struct baton__ring *own_ring(void)
{
	struct baton__ring *ring = baton__self->ring;

	if (BATON_LIKELY(ring != NULL) || baton__self->depth >= BATON__DEPTH_NONE)
		return ring;
	ring = calloc(1, sizeof(*ring));
	/* Release: zeroed memory, for collect (inspect/trace_file.c). */
	if (ring)
		store_release(&baton__self->ring, ring);
	return ring;
}

void baton__trace(const struct baton__event *event)
{
	const uint64_t trace = load_relaxed(&baton__tracing);
	struct baton__ring *ring = own_ring();
	struct baton__event *next;
	uint64_t head;

	if (!ring || !trace)
		return;
	if (load_relaxed(&ring->trace) != trace) {
		store_relaxed(&ring->head, 0);
		store_relaxed(&ring->trace, trace);
	}
	head = load_relaxed(&ring->head);
	next = &ring->events[head % BATON__EVENTS_MAX];
	/* Relaxed: a reader leaves out the event that may be overwritten (trace.ring). */
	store_relaxed(&next->ns, event->ns);
	store_relaxed(&next->object, event->object);
	store_relaxed(&next->detail, event->detail);
	store_relaxed(&next->kind_and_more, event->kind_and_more);
	/* Release: the event, for collect_ring (inspect/trace_file.c). */
	store_release(&ring->head, head + 1);
}
