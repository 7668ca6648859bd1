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
 * trace.thread: A later thread may adopt the record of a thread that has ended, and its ring. Then
 *    it writes a THREAD event before its first event. `oldest_thread` has written the oldest event
 *    that is still in the ring.
 */
#ifndef BATON_SRC_TRACE_H
#define BATON_SRC_TRACE_H

#include "base/atomic.h"
#include "base/platform.h"

enum baton__event_kind {
	BATON__EVENT_RAN = 1,    /* object: a gauge; detail: the function; more: for how long */
	BATON__EVENT_PUSHED,     /* object: a gauge; detail: the task; more: tasks wait then */
	BATON__EVENT_ENTERED,    /* object: a gauge; detail: the task; more: tasks wait then */
	BATON__EVENT_HANDED_OFF, /* object: a gauge */
	BATON__EVENT_WAITED, /* object: the future; detail: a resource or 0; more: for how long */
	BATON__EVENT_STOLE,  /* object: the pool; more: jobs */
	BATON__EVENT_PARKED, /* object: the pool; more: for how long */
	BATON__EVENT_THREAD, /* detail: the kernel's id of the thread that writes from here on */
};

struct baton__event {
	uint64_t ns; /* when, or when it began */
	uint64_t object;
	uint64_t detail;
	uint64_t kind_and_more; /* the kind in the lowest 8 bits */
};

#define BATON__EVENTS_MAX 32768U

/*
 * A thread that runs short tasks, one after the other, writes the first BATON__SHORT_ALL runs, and
 * then one in BATON__SHORT_EVERY: reading the clock would cost more than the tasks, and their
 * events would drive all other events out of the ring.
 */
#define BATON__SHORT_NS 1000U
#define BATON__SHORT_ALL 64U
#define BATON__SHORT_EVERY 16U

struct baton__ring {
	uint64_t trace;  /* the number of the trace that the events are of */
	uint64_t head;   /* events written in that trace */
	uint32_t thread; /* the kernel's id of the thread that has written the last event */
	uint32_t oldest_thread;
	uint32_t shorts; /* short runs since the last long one */
	uint32_t skip;   /* the number of next runs to leave out */
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

/* Must this run be written? Called when a run begins, once for each run, while a trace is on. */
bool baton__trace_run_begins(void);

/* Writes a run (BATON__EVENT_RAN) that has lasted for `ns`. */
void baton__trace_run(const struct baton__event *event, uint64_t ns);

/* The fourth word of an event. `more` has 56 bits. */
BATON_INLINE uint64_t baton__event_word(enum baton__event_kind kind, uint64_t more)
{
	return more << 8 | kind;
}

#endif
