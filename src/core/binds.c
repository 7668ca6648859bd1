/* SPDX-License-Identifier: MIT */
/* The count of the threads that watch binds, and their function. See binds.h. */
#include "core/binds.h"

uint32_t baton__binds_watchers;
static void (*watcher)(void);

void baton__binds_watch(void (*look)(void))
{
	/* Relaxed: the count publishes `watcher`. */
	store_relaxed(&watcher, look);
	/* [binds.watch] seq_cst: before the caller's look at its futures; pairs with [binds.watch]
	 * in baton__binds_pushed. Relaxed is seldom noticed: found in 7,000 to 17,000 executions
	 * (cycle_bound_late). */
	(void)add_seq_cst(&baton__binds_watchers, 1);
}

void baton__binds_unwatch(void)
{
	(void)sub_relaxed(&baton__binds_watchers, 1); /* a count too high is harmless */
}

void baton__binds_tell(void)
{
	/* Relaxed: the caller's load of the count has acquired `watcher`. */
	load_relaxed (&watcher)();
}
