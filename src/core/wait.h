/* SPDX-License-Identifier: MIT */
/*
 * One wait, on its thread's stack, and its help for the futures that it waits for.
 */
#ifndef BATON_SRC_WAIT_H
#define BATON_SRC_WAIT_H

#include "core/cycle.h"
#include "core/resource.h"

struct baton__wait {
	struct baton_future *const *futures;
	size_t count;
	const struct timespec *deadline;
	uint64_t deadline_ns;    /* 0: none */
	bool all;                /* for all futures; false: for any */
	bool mark;               /* the future is a mark's, not a task's */
	bool last_look;          /* before the sleep */
	enum baton__abort abort; /* if this wait closes a cycle */
	uint32_t answered;       /* the nudges until then: helped since, or not for this wait */
	size_t index;            /* any: of a complete one; all: those before it are complete */
};

/*
 * Tries to bring the futures that are left nearer. 1: something was done; 0: nothing to do;
 * -EDEADLK: the wait can never end. Looks at no deadline before it begins.
 */
int baton__wait_help(struct baton__wait *wait);

/* Waits for a mark of the library's: an await's, a suspension's. The deadline is valid. */
int baton__wait_for_mark(struct baton_future *future, const struct timespec *deadline);

#endif
