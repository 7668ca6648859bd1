/* SPDX-License-Identifier: MIT */
/*
 * Timers and triggers whose `dropped` is about to be called, or runs. The function may free its
 * object, or arm or fire it anew, so the object's word cannot say so. The lists lie on the stacks
 * of the calling threads.
 *
 * Invariant timer.dropped: A thread lists the object before the CAS after which no flag of the
 * object's word says that the object is busy, and takes it from the list when the function has
 * returned. So a stop that finds the object idle also finds it in the list.
 */
#ifndef BATON_SRC_DROPPING_H
#define BATON_SRC_DROPPING_H

#include "timer/handing.h"

#include <stdbool.h>

struct baton__dropping {
	struct baton__handing list;
	void *object; /* NULL: not listed */
};

/* begin: before the CAS of timer.dropped. end: the function has returned, or is not called after
 * all; nothing happens if there was no begin. */
void baton__dropping_begin(struct baton__dropping *dropping, void *object);
void baton__dropping_end(struct baton__dropping *dropping);

/* Waits while another thread calls this object's `dropped`. True: the caller has waited: the
 * function may have armed the timer. */
bool baton__dropping_await(const void *object);

#endif
