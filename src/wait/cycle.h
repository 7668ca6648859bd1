/* SPDX-License-Identifier: MIT */
/*
 * Cycles of waits: threads that hold batons and sleep for each other's resources. See cycle.c.
 */
#ifndef BATON_SRC_CYCLE_H
#define BATON_SRC_CYCLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <baton/future.h>

#include "base/atomic.h"
#include "base/platform.h"
#include "core/called.h"
#include "thread/thread.h"

/* May the wait end with -EDEADLK? */
enum baton__abort {
	BATON__ABORT_ALWAYS,
	BATON__ABORT_UNLESS_RUNNING, /* a call: the step that ends the wait cancels the task */
	BATON__ABORT_NEVER,
};

/* A quiesce that is under way: which resources has it suspended? The quiesce alone resumes these
 * resources, after its wait. */
struct baton__still {
	bool (*has)(const struct baton__still *still, const struct baton_resource *resource);
};

/*
 * A resource that this thread waits to hold (module/hold.c), in a wait that runs a function for
 * others; on its stack. The baton may be granted to the thread meanwhile: if the function waited
 * for the resource, it would wait for its own thread.
 */
struct baton__asking {
	const struct baton__asking *below;
	const struct baton_resource *resource; /* NULL: the wait is no hold's */
};

/* A wait of a thread that holds batons, or quiesces; on that thread's stack, and in the list while
 * it sleeps. */
struct baton__edge {
	struct baton__edge *next; /* in the list of all edges */
	struct baton__thread *thread;
	const struct baton__frame *top;   /* the held batons; constant while the edge is listed */
	const struct baton__still *still; /* NULL: the wait is no quiesce's */
	struct baton_future *const *futures;
	size_t count;
	enum baton__abort abort;
	bool all;     /* waits for all of the futures; false: for any */
	bool unbound; /* a future had no resource when the thread was about to sleep */
	bool victim;  /* chosen to end with -EDEADLK: the wait counts no more */
	/* Used by one search, under the lock. */
	bool stuck;                       /* cannot go on, as far as the search knows */
	struct baton__edge *from;         /* the edge on the way here: it waits for this one */
	struct baton__edge *queued;       /* the next edge to look at */
	const struct baton_resource *via; /* held here, and awaited by `from` */
};

/*
 * Called by a thread that holds batons, or quiesces, has found nothing to help with, and is about
 * to sleep without a deadline. Publishes the wait and looks for a cycle, in one step. 0: the thread
 * sleeps, then calls leave. -EDEADLK: the wait would close a cycle; the edge is not in the list.
 * Blocking: a lock, held for the length of a search.
 */
int baton__cycle_enter(struct baton__edge *edge);

/* Called after the sleep. True: the wait was chosen meanwhile to end a cycle. */
bool baton__cycle_leave(struct baton__edge *edge);

/*
 * Notes, for baton_deadlock_cycle(), that this thread waits for a resource that it holds itself.
 * NULL: the wait can never end for another reason. Returns -EDEADLK.
 */
int baton__cycle_of_one(const struct baton_resource *resource);

/* Is this thread inside a function that is told of an end, so that the wait which it asks for is
 * refused with -EDEADLK (callback.told)? Asked by all that waits, when it would have to wait. */
bool baton__must_not_wait(void);

/*
 * Can a wait for the resource never end, since this thread holds the resource, or is to hold it
 * further down its stack, or a sleeping caller on the chain `called` (core/called.h) holds it? Then
 * returns -EDEADLK, which is noted as by baton__cycle_of_one(). 0: none of these.
 * in_help: as baton__thread_holds_in_help, for a wait with a deadline.
 */
int baton__cycle_if_held(const struct baton__called *called, const struct baton_resource *resource,
                         bool in_help);

#endif
