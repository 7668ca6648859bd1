/* SPDX-License-Identifier: MIT */
/*
 * What the functions of this thread's stack carry (baton/carried.h): a list, innermost first. An
 * entry belongs to one function, which `of` names: 0: the thread outside of all functions; a
 * resource with BATON_INLINE_BARE: the function of the outermost baton; else the function's frame.
 * A function that has no entry carries nothing.
 *
 * Only the record's thread uses the list. While it has an entry, `wary` has BATON_INLINE_CARRIES:
 * so a call by the short path costs nothing, and goes the longer way while the thread carries.
 *
 * Invariants:
 * carried.dead: The entries above that of the running function are of functions that have returned.
 *    A search for the running function's entry takes them out.
 */
#ifndef BATON_SRC_CARRIED_H
#define BATON_SRC_CARRIED_H

#include "thread/thread.h"

/* What one function carries. */
struct baton__carried {
	void *value;
	uintptr_t of;                 /* the function */
	struct baton__carried *outer; /* the entry of a function further down */
	bool node;                    /* the entry is a node of the library's */
};

BATON_INLINE bool baton__carries(const struct baton__thread *self)
{
	return self->wary & BATON_INLINE_CARRIES;
}

/* The value of the running function of a thread that carries. */
void *baton__carried_find(struct baton__thread *self);

/* The value that the running function carries; NULL: none. */
BATON_INLINE void *baton__carried(void)
{
	struct baton__thread *self = baton__self;

	return BATON_LIKELY(!baton__carries(self)) ? NULL : baton__carried_find(self);
}

/* The function that runs next on this thread, in the frame that is the thread's now, carries
 * `value`; until end, which the caller calls when the function has returned. Not on a thread
 * without a record. */
void baton__carry_begin(struct baton__carried *carried, void *value);
void baton__carry_end(struct baton__carried *carried);

/* The thread ends: it carries nothing any more. */
void baton__carry_nothing(struct baton__thread *self);

#endif
