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

	if (BATON_LIKELY(ring != NULL) || !baton__has_record(baton__self))
		return ring;
	ring = calloc(1, sizeof(*ring));
	/* Release: zeroed memory, for collect (inspect/trace_file.c). Relaxed goes unnoticed: as in
	 * collect_ring (trace_file.c). */
	if (ring)
		store_release(&baton__self->ring, ring);
	return ring;
}

static void write_event(struct baton__ring *ring, const struct baton__event *event)
{
	const uint64_t head = load_relaxed(&ring->head);
	struct baton__event *next = &ring->events[head % BATON__EVENTS_MAX];

	if (head >= BATON__EVENTS_MAX &&
	    BATON_UNLIKELY((next->kind_and_more & 255) == BATON__EVENT_THREAD))
		store_relaxed(&ring->oldest_thread, (uint32_t)next->detail);
	/* Relaxed: a reader leaves out the event that may be overwritten (trace.ring). */
	store_relaxed(&next->ns, event->ns);
	store_relaxed(&next->object, event->object);
	store_relaxed(&next->detail, event->detail);
	store_relaxed(&next->kind_and_more, event->kind_and_more);
	/* Release: the event, for collect_ring (inspect/trace_file.c). Relaxed goes unnoticed: as
	 * in collect_ring (trace_file.c). */
	store_release(&ring->head, head + 1);
}

void baton__trace(const struct baton__event *event)
{
	const uint64_t trace = load_relaxed(&baton__tracing);
	const uint32_t thread = baton__self->tid;
	struct baton__ring *ring = own_ring();

	if (!ring || !trace)
		return;
	if (load_relaxed(&ring->trace) != trace) {
		store_relaxed(&ring->head, 0);
		store_relaxed(&ring->oldest_thread, thread);
		store_relaxed(&ring->trace, trace);
		ring->thread = thread;
		ring->shorts = ring->skip = 0;
	}
	if (BATON_UNLIKELY(ring->thread != thread)) {
		ring->thread = thread;
		write_event(ring,
		            &(struct baton__event){event->ns, 0, thread,
		                                   baton__event_word(BATON__EVENT_THREAD, 0)});
	}
	write_event(ring, event);
}

bool baton__trace_run_begins(void)
{
	struct baton__ring *ring = baton__self->ring;

	if (!ring || !ring->skip)
		return true;
	ring->skip--;
	return false;
}

void baton__trace_run(const struct baton__event *event, uint64_t ns)
{
	struct baton__ring *ring;

	baton__trace(event);
	ring = baton__self->ring;
	if (!ring)
		return;
	if (ns >= BATON__SHORT_NS)
		ring->shorts = 0;
	else if (++ring->shorts >= BATON__SHORT_ALL)
		ring->skip = BATON__SHORT_EVERY - 1;
}
