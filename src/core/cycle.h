/* SPDX-License-Identifier: MIT */
/*
 * Cycles of waits: threads that hold batons and sleep for each other's resources.
 */
#ifndef BATON_SRC_CYCLE_H
#define BATON_SRC_CYCLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <baton/future.h>

#include "base/atomic.h"
#include "base/platform.h"
#include "thread/thread.h"

/* May the wait end with -EDEADLK? */
enum baton__abort {
	BATON__ABORT_ALWAYS,
	BATON__ABORT_UNLESS_RUNNING, /* a call: its task is cancelled in the same step */
	BATON__ABORT_NEVER,
};

/* A wait of a thread that holds batons: on its stack, known to the others while it sleeps. */
struct baton__edge {
	struct baton__edge *next; /* in the list of all */
	struct baton__thread *thread;
	const struct baton__frame *top; /* what it holds; does not change meanwhile */
	struct baton_future *const *futures;
	size_t count;
	enum baton__abort abort;
	bool all;     /* of the futures, or any of them */
	bool unbound; /* one of them had not been submitted when it went to sleep */
	bool victim;  /* it ends with -EDEADLK: it does not wait any more */
	/* Of one search. */
	bool stuck;
	struct baton__edge *from;
	struct baton__edge *queued;
	const struct baton_resource *via;
};

/*
 * The calling thread, which holds batons, has found nothing to help with and is about to sleep,
 * without a deadline: publishes its wait, and looks for a cycle, in one step. 0: sleep, then leave;
 * -EDEADLK: it would close one, and has left.
 * Blocking: a lock, held for the length of a search.
 */
int baton__cycle_enter(struct baton__edge *edge);

/* It has slept. True: meanwhile it was chosen to end a cycle. */
bool baton__cycle_leave(struct baton__edge *edge);

/* How many sleep for a future that may yet be submitted. */
extern uint32_t baton__cycle_unbound;
void baton__cycle_look_again(void);

/* A future was bound to a resource, and its task pushed: that may close a cycle. */
BATON_INLINE void baton__cycle_bound(void)
{
	/* [Y2] seq_cst: after the push; pairs with [Y2] in cycle.c, and orders like [N6] */
	if (BATON_UNLIKELY(load_seq_cst(&baton__cycle_unbound)))
		baton__cycle_look_again();
}

/* A wait without a deadline; wait.c. */
int baton__wait_for_call(struct baton_future *future, const struct timespec *deadline,
                         enum baton__abort abort);

/* Notes that this thread waits for a resource that it holds itself: -EDEADLK. NULL: for none. */
int baton__cycle_of_one(const struct baton_resource *resource);

#endif
