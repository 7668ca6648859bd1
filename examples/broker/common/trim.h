/* SPDX-License-Identifier: MIT */
/*
 * Memory that a burst has taken goes back to the system. malloc keeps blocks that are freed in the
 * middle of its heap, so the process stays as large as a burst has made it. malloc_trim() gives
 * that memory back, but walks the whole heap and holds up threads that allocate meanwhile. So
 * malloc_trim() is called when the broker is quiet and there is memory to give back.
 *
 * Code that may have caused a burst calls trim_note(). The call arms a timer, if it is not armed.
 * The timer looks each TRIM_PERIOD how much CPU time the process has had; when that was little, the
 * timer's task trims and does not arm the timer again. A broker that has nothing to do has no
 * timer.
 */
#ifndef BROKER_TRIM_H
#define BROKER_TRIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <baton/resource.h>
#include <baton/timer.h>

#define TRIM_PERIOD (2 * BATON_SECOND)

/* A thread that has moved so many bytes calls trim_note(). */
#define TRIM_BYTES ((uint64_t)1 << 20)

struct baton_pool;

struct trim {
	struct baton_resource resource;
	struct baton_resource_config config;
	struct baton_timer timer;
	bool armed; /* atomic */

	/* Of the timer's task. */
	uint64_t cpu;    /* CPU time of the process at the last look */
	size_t resident; /* bytes at the last trim; `unused`: free bytes of the heap then */
	size_t unused;
};

void trim_init(struct trim *trim, struct baton_pool *slow_pool, struct baton_timers *timers);

/* Bytes of memory that the process has; 0: unknown. Any thread. */
size_t trim_resident(void);

/* No thread calls trim_note() any more. Before the timers and the slow pool end. */
void trim_deinit(struct trim *trim);

/* Any thread. */
void trim_note(struct trim *trim);

#endif
