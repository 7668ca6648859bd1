/* SPDX-License-Identifier: MIT */
/*
 * What the manual and the loop executor share: a queue of jobs, fed by any thread, run by
 * the one that owns it. Mpsc: the inbox is taken whole and put in order privately.
 */
#ifndef BATON_SRC_DRIVEN_H
#define BATON_SRC_DRIVEN_H

#include <stdbool.h>
#include <stddef.h>

#include <baton/executor.h>

#include "thread/thread.h"

/* The message for a call by another thread than the owner. */
#define BATON__NOT_OWNER "another thread owns this executor: call it on the thread that drives it"

struct baton__driven {
	struct baton_executor executor;               /* first: found from it */
	void (*signal)(struct baton__driven *driven); /* the inbox is no longer empty; or NULL */
	uintptr_t inbox;                              /* newest job, or CLOSED */
	struct baton_job *list; /* oldest job; this and the next two: the owner's */
	struct baton_job **end; /* of the list */
	bool gathering; /* jobs of the owner's own go to the list, see baton_loop_gather() */
	struct baton__thread *owner;
	uint64_t session; /* the owner's, see thread.h */
};

/* Empty, without an owner. */
void baton__driven_init(struct baton__driven *driven, void (*signal)(struct baton__driven *driven));

/* The oldest job, or NULL; listed: only of those that are in the list. The owner. */
struct baton_job *baton__driven_pop(struct baton__driven *driven);
struct baton_job *baton__driven_pop_listed(struct baton__driven *driven);

/* The newest one in the list, or NULL. The owner. */
const struct baton_job *baton__driven_last(const struct baton__driven *driven);

/* Puts the inbox behind the list. The owner. */
void baton__driven_take(struct baton__driven *driven);

/* The calling thread becomes the owner: 0, -ENOMEM, -ECHILD. And is it the owner? */
int baton__driven_adopt(struct baton__driven *driven);
bool baton__driven_owned(const struct baton__driven *driven);

/* Refuses jobs from now on; those queued are still to be popped. The owner. */
void baton__driven_close(struct baton__driven *driven);

#endif
