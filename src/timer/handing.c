/* SPDX-License-Identifier: MIT */
/* What threads are about to do with owners. See handing.h. */
#include "timer/handing.h"

#include "base/atomic.h"
#include "base/futex.h"
#include "pool/sole.h"

#include <limits.h>

void baton__handing_begin(struct baton__handings *handings, struct baton__handing *list)
{
	list->thread = pthread_self();
	list->next = handings->first;
	handings->first = list;
}

void baton__handing_end(struct baton__handings *handings, struct baton__handing *list)
{
	struct baton__handing **place = &handings->first;
	bool awaited;

	baton__sole_begin(handings->lock);
	/* Bounded by the threads that have a list at this time. */
	while (*place != list)
		place = &(*place)->next;
	*place = list->next;
	awaited = handings->awaiting > 0;
	/* Relaxed: the lock orders it. */
	if (awaited)
		(void)add_relaxed(&handings->ended, 1);
	baton__sole_end(handings->lock);
	if (awaited)
		baton__futex_wake(&handings->ended, INT_MAX);
}

/* Is the owner in another thread's list? If the owner is in the calling thread's list, and its turn
 * is still to come, replaces the owner by NULL, and sets `*withdrawn`. */
static bool is_handed(struct baton__handings *handings, const void *owner, bool *withdrawn)
{
	/* Bounded by the threads that have a list at this time. */
	for (struct baton__handing *list = handings->first; list; list = list->next)
		for (size_t i = 0; i < list->count; i++) {
			if (list->owners[i] != owner)
				continue;
			if (!pthread_equal(list->thread, pthread_self()))
				return true;
			if (i <= list->at)
				continue;
			list->owners[i] = NULL;
			*withdrawn = true;
		}
	return false;
}

bool baton__handing_await(struct baton__handings *handings, const void *owner, bool *withdrawn)
{
	bool waited = false;

	handings->awaiting++;
	/* Ended by the thread whose list it is. */
	while (is_handed(handings, owner, withdrawn)) {
		/* Relaxed: the lock orders it. */
		struct baton__futex_watch watch = {&handings->ended,
		                                   load_relaxed(&handings->ended)};

		baton__sole_end(handings->lock);
		(void)baton__futex_wait(&watch, 1, BATON_FOREVER);
		baton__sole_begin(handings->lock);
		waited = true;
	}
	handings->awaiting--;
	return waited;
}
