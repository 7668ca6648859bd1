/* SPDX-License-Identifier: MIT */
/*
 * An actor is what the test knows about one thread: its own, and every worker on which a task has
 * run. Signals and stops are aimed at actors, the watch looks at what they are doing.
 */
#ifndef BATON_TEST_STRESS_ACTOR_H
#define BATON_TEST_STRESS_ACTOR_H

#include <baton.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "cell.h"
#include "note.h"

struct engine;
struct errand;

#define ACTOR_OPEN_MAX 24
#define ACTOR_HELD_MAX 256
#define ACTOR_STRAY_MAX 64
#define ACTOR_OUTER_MAX 64

/* A future that a thread will see to the end. */
struct open {
	struct baton_future *future;
	struct note *note;
	struct errand *errand; /* NULL: the future is baton_async's */
};

struct actor {
	uint16_t number;
	uint32_t stream; /* in a round of the modules: whose order it is; 0: none yet */
	atomic_int tid;  /* 0: the thread has ended */
	bool client;     /* one of the test's own threads */
	struct engine *drives;
	uint64_t random;
	/* The resources whose tasks this thread is in, outermost first. */
	uint32_t held[ACTOR_HELD_MAX];
	uint32_t depth;
	/* In a continuation, a finaliser, a job on somebody's stack: what else is held is unknown,
	 * or nothing may be waited for. */
	uint32_t hidden;
	struct open opens[ACTOR_OPEN_MAX];
	uint32_t open_count;
	uint32_t reserved;
	/* Pinned: a timed out await has left something in them. */
	struct site *strays[ACTOR_STRAY_MAX];
	uint32_t stray_count;
	struct note_chunk *notes;
	struct cell_cache cells;
	/* Calls that may last, and within which others did. */
	const char *outer_doing[ACTOR_OUTER_MAX];
	uint32_t outer_resource[ACTOR_OUTER_MAX];
	uint32_t outer_count;
	/* For the watch. */
	_Atomic uint64_t deeds;
	_Atomic(const char *) doing;
	_Atomic uint32_t doing_resource;
	_Atomic uint64_t since_ns; /* 0: nothing that can last */
};

/* The calling thread's; a worker's first call registers it and lets signals through. */
struct actor *actor_self(void);

uint32_t actor_count(void);
struct actor *actor_at(uint32_t index);

/* Whoever is alive and drawn; or NULL. */
struct actor *actor_random(uint64_t *random);

/* All threads at rest: those of ended threads may be used again. */
void actor_recycle(void);

/* Something that may last begins; ends: then what it was in begins anew. */
void actor_busy(const char *doing, uint32_t resource);
void actor_idle(void);

/* May this thread wait without a deadline for the task; for an await, a call on the site? */
bool actor_may_wait(const struct note *note);
bool actor_may_await(const struct site *site);
bool actor_may_call(const struct site *site);
bool actor_holds(uint32_t resource);
uint32_t actor_highest(void);

uint64_t now_ns(void);

#endif
