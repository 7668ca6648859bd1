/* SPDX-License-Identifier: MIT */
/*
 * Threads that wait for a future whose task is not submitted yet. Such a thread may have to look
 * again when some future has been bound and its task pushed: the push may complete a cycle of
 * waits.
 */
#ifndef BATON_SRC_BINDS_H
#define BATON_SRC_BINDS_H

#include "base/atomic.h"
#include "base/platform.h"

extern uint32_t baton__binds_watchers;

/*
 * watch: counts a watcher, which then looks at its futures. `look` is called after each bind from
 * now on; all watchers give the same function. unwatch: the watcher is gone.
 */
void baton__binds_watch(void (*look)(void));
void baton__binds_unwatch(void);

/* Calls the watchers' function. */
void baton__binds_tell(void);

/* Called after a future was bound and its task pushed. */
BATON_INLINE void baton__binds_pushed(void)
{
	/* [binds.watch] seq_cst: after the push; pairs with [binds.watch] in watch. The order is
	 * that of wait.last_look (wait_help.c). Relaxed is seldom noticed: as in watch. */
	if (BATON_UNLIKELY(load_seq_cst(&baton__binds_watchers)))
		baton__binds_tell();
}

#endif
