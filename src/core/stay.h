/* SPDX-License-Identifier: MIT */
/*
 * A stay: one thread's time with one resource's baton. The stay has the frame by which the thread
 * holds the baton, the limits, and the marks that wait for the release. A stay lies on the thread's
 * stack. With drain hooks, `frame.batch` is the batch of the drain that is under way.
 */
#ifndef BATON_SRC_STAY_H
#define BATON_SRC_STAY_H

#include "core/frame.h"
#include "core/resource.h"

struct baton__stay {
	struct baton__frame frame;
	struct baton_task *after;         /* fired after the release: awaits, the finaliser */
	struct baton_task *after_last;    /* the last of these, if there are any */
	const struct baton_future *until; /* NULL, or: stop when complete or not bound here */
	uint64_t limit_ns;                /* 0: none */
	uint64_t until_ns;                /* 0: the clock has not been read yet */
	uint32_t tasks;                   /* left to run */
	bool ran;                         /* false: the first entry needs no look at the clock */
	bool borrowed;                    /* a helper's: stop when empty, never release */
	bool deferred;                    /* a helper's: helps only while no executor has the job */
};

/* The limits of a captured thread: tasks, and time. */
BATON_INLINE void baton__stay_limit(struct baton__stay *stay)
{
	const struct baton_resource_config *config = baton__config(stay->frame.resource);

	stay->tasks = baton__config_capture_max(config);
	stay->limit_ns = config ? config->capture_ns : 0;
}

/*
 * Sets all of a stay but its frame, so that a drain with this stay enters no task and no kick. The
 * holder then hands off the tasks that wait.
 */
BATON_INLINE void baton__stay_spent(struct baton__stay *stay)
{
	*stay = (struct baton__stay){.frame = stay->frame, .ran = true};
}

#endif
