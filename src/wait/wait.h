/* SPDX-License-Identifier: MIT */
/* One wait, on its thread's stack, and the help that it gives to its futures. */
#ifndef BATON_SRC_WAIT_H
#define BATON_SRC_WAIT_H

#include "base/futex.h"
#include "core/resource.h"
#include "core/stay.h"
#include "wait/cycle.h"

/* The stack that a wait and the help in it take, in levels of a call: some 1,600 bytes. So a thread
 * that helps at a depth of BATON_HELPING_MAX leaves nothing for calls. */
#define BATON__HELP_LEVELS (BATON_CALLING_MAX / BATON_HELPING_MAX)

struct baton__wait {
	struct baton_future *const *futures;
	size_t count;
	uint64_t deadline_ns;               /* BATON_FOREVER: none */
	const struct baton__called *called; /* the waiter's chain (core/called.h) */
	bool all;                           /* for all futures; false: for any */
	bool mark;                          /* the future is a mark's, not a task's */
	bool marks_alone;                   /* enters no task of the resource */
	bool elsewhere;                     /* enters no task that another thread would run */
	const struct baton__still *still;   /* of a quiesce; or NULL */
	bool last_look;                     /* the waiter is about to sleep */
	enum baton__abort abort;            /* may the wait end with -EDEADLK? (cycle.h) */
	/* the value of `nudge` at the last help, or when the wait began to sleep */
	uint32_t answered;
	/* any: of a complete future; all: the futures before it are complete */
	size_t index;
	struct baton__asking asking;
};

BATON_INLINE bool baton__wait_has_deadline(const struct baton__wait *wait)
{
	return wait->deadline_ns != BATON_FOREVER;
}

/*
 * Helps the resources of the futures that are not complete, or drives their executors. 1: something
 * was done; 0: there was nothing to do; -EDEADLK: the wait can never end. Does not look at the
 * deadline before it begins.
 */
int baton__wait_help(struct baton__wait *wait);

/* Called before and after the wait runs a function for others, on no resource that it waits for. */
BATON_INLINE void baton__wait_for_others(const struct baton__wait *wait, bool begins)
{
	baton__self->asking = begins ? &wait->asking : wait->asking.below;
}

/*
 * The calling thread waits: does what it alone will do, since the wait may be for that. Calls the
 * functions that it has put off (callback.late), or else fires one continuation that a loop further
 * down its stack has still to fire (firing.h). 1: something was done; 0: there was nothing to do;
 * -EDEADLK: the stack is too deep to do it. (A wait with a deadline gets 0 then.)
 */
int baton__wait_put_off(uint64_t deadline_ns);

/*
 * Helps a queued resource, which the caller visits: borrows the baton, and drains within the limits
 * that the caller has set, up to the end of the caller's wait. True: something was done.
 * `last_look`: the caller is about to sleep.
 */
bool baton__help(struct baton_resource *resource, struct baton__stay *stay, bool last_look);

/* Waits for one future. `abort`: may the wait end with -EDEADLK? `elsewhere`: the waiter enters no
 * task that another thread would run. */
int baton__wait_for_call(struct baton_future *future, uint64_t deadline_ns, enum baton__abort abort,
                         bool elsewhere);

/*
 * Waits for a mark of the library's, of an await or a suspension. `marks_alone`: the waiter
 * enters no task of the resource.
 */
int baton__wait_for_mark(struct baton_future *future, uint64_t deadline_ns, bool marks_alone);

/* Waits for the mark of a quiesce's next suspension. `still`: the suspensions before. */
int baton__wait_for_quiet(struct baton_future *future, uint64_t deadline_ns,
                          const struct baton__still *still);

#endif
