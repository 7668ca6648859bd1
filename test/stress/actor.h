/* SPDX-License-Identifier: MIT */
/*
 * An actor is what the test knows about one thread. The test's own threads have actors, and each
 * worker on which a task has run. Disturbances are aimed at actors; the watch looks at what actors
 * do.
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

/* A thread in a call, on its stack. It holds what it held when it called: it does not return before
 * the function has. */
struct caller {
	struct note *note;
	const struct actor *actor;
	const struct caller *outer;
	uint32_t depth;
	uint32_t hidden;
};

struct actor {
	uint16_t number;
	/* in a round of the modules: the number of the thread's order of tasks; 0: none yet */
	uint32_t stream;
	atomic_int tid; /* 0: the thread has ended */
	bool client;    /* one of the test's own threads */
	struct engine *drives;
	uint64_t random;
	/* The resources whose tasks this thread is in, outermost first. */
	uint32_t held[ACTOR_HELD_MAX];
	_Atomic uint32_t depth;
	/* The depth of continuations, finalisers and jobs that run on this stack. In these it is
	 * unknown what else this thread holds, or a wait is not allowed. */
	uint32_t hidden;
	/* Of the innermost function on this stack that runs for a call. NULL: none. */
	const struct caller *caller;
	struct open opens[ACTOR_OPEN_MAX];
	_Atomic uint32_t open_count;
	uint32_t reserved;
	/* Sites that this thread keeps pinned, because an await of it that timed out has left a
	 * mark in them. */
	struct site *strays[ACTOR_STRAY_MAX];
	_Atomic uint32_t stray_count;
	struct note_chunk *notes;
	struct cell_cache cells;
	/* Calls of this thread that may take long, outermost first: such calls nest. */
	const char *outer_doing[ACTOR_OUTER_MAX];
	uint32_t outer_resource[ACTOR_OUTER_MAX];
	uint32_t outer_count;
	/* For the watch. */
	_Atomic uint64_t deeds;
	_Atomic(const char *) doing;
	_Atomic uint32_t doing_resource;
	_Atomic uint64_t since_ns; /* 0: in no call that may take long */
};

/* The calling thread's actor. A worker's first call makes one, and unblocks signals on the
 * worker. */
struct actor *actor_self(void);

uint32_t actor_count(void);
struct actor *actor_at(uint32_t index);

/* A random actor whose thread lives. NULL: several draws found none. */
struct actor *actor_random(uint64_t *random);

/* Makes the actors of ended threads available again. Call it while all threads are at rest. */
void actor_recycle(void);

/* busy: a call that may take long begins. idle: the call ends, and the clock of the call around it
 * starts again. */
void actor_busy(const char *doing, uint32_t resource);
void actor_idle(void);

/* May this thread wait without a deadline: for this task; for an await of the site; for a call on
 * the site? */
bool actor_may_wait(const struct note *note);
bool actor_may_await(const struct site *site);
bool actor_may_call(const struct site *site);
bool actor_holds(uint32_t resource);

/* Does a thread that waits for a function on this stack hold the resource, as far as is known? */
bool actor_callers_hold(uint32_t resource);
uint32_t actor_highest(void);

uint64_t now_ns(void);

#endif
