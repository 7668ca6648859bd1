/* SPDX-License-Identifier: MIT */
/*
 * A trace: what the threads do, with times. While a trace is on, each thread writes its events to a
 * ring of its own, whose oldest events it overwrites. Only places that are not on the short paths
 * ask whether a trace is on: those of resources with statistics, hand-offs, waits and the pool.
 *
 * Invariants:
 * trace.ring: Only the record's thread writes a ring. A ring is never freed, since its record is
 *    not. A reader may read a ring at any time. A thread that has seen the trace on may write one
 *    more event after the end of the trace: the reader leaves out the event that this would
 *    overwrite.
 */
#ifndef BATON_SRC_TRACE_H
#define BATON_SRC_TRACE_H

#include "base/atomic.h"
#include "base/platform.h"

enum baton__event_kind {
	BATON__EVENT_RAN = 1,    /* object: a gauge; detail: the function; more: for how long */
	BATON__EVENT_PUSHED,     /* object: a gauge; detail: the task; more: tasks pushed */
	BATON__EVENT_ENTERED,    /* object: a gauge; detail: the task, which leaves the queue */
	BATON__EVENT_HANDED_OFF, /* object: a gauge */
	BATON__EVENT_WAITED, /* object: the future; detail: a resource or 0; more: for how long */
	BATON__EVENT_STOLE,  /* object: the pool; more: jobs */
	BATON__EVENT_PARKED, /* object: the pool; more: for how long */
};

struct baton__event {
	uint64_t ns; /* when, or when it began */
	uint64_t object;
	uint64_t detail;
	uint64_t kind_and_more; /* the kind in the lowest 8 bits */
};

#define BATON__EVENTS_MAX 32768U

struct baton__ring {
	uint64_t trace; /* the number of the trace that the events are of */
	uint64_t head;  /* events written in that trace */
	struct baton__event events[BATON__EVENTS_MAX];
};

/* The number of the trace that is on; 0: none. */
extern uint64_t baton__tracing;

BATON_INLINE bool baton__trace_is_on(void)
{
	/* Relaxed: a thread that sees an old value records a moment longer, or begins later. */
	return BATON_UNLIKELY(load_relaxed(&baton__tracing) != 0);
}

/* Writes an event. Without memory for a ring nothing is written. */
void baton__trace(const struct baton__event *event);

/* The fourth word of an event. `more` has 56 bits. */
BATON_INLINE uint64_t baton__event_word(enum baton__event_kind kind, uint64_t more)
{
	return more << 8 | kind;
}

#endif
