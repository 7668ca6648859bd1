/* SPDX-License-Identifier: MIT */
/* A thread stands back for long, before it asks for the baton in its turn. See linger.c. */
#ifndef BATON_SRC_LINGER_H
#define BATON_SRC_LINGER_H

#include "core/resource.h"
#include "wait/yield.h"

struct baton__linger {
	struct baton__yields yields;
	uint64_t until_ns; /* no look comes after that time */
	uint64_t sleep_ns; /* the next sleep */
	uint32_t pauses;   /* that were made */
	uint32_t left;     /* yields */
	uint32_t queued;   /* so many looks in a row have found entries in the inbox */
	bool often;        /* a look ends with each pause: readers at work may be joined */
};

/* Begins. `deadline_ns`: the caller's. */
void baton__linger_begin(struct baton__linger *linger, uint64_t deadline_ns);

/*
 * Gives the CPU away until the resource seems idle, or, with `often`, for one pause. True: the
 * caller tries to take the resource, and may look again. False: the caller asks for the baton in
 * its turn.
 */
bool baton__linger_look(const struct baton_resource *resource, struct baton__linger *linger);

#endif
