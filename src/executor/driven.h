/* SPDX-License-Identifier: MIT */
/*
 * What the manual and the loop executor share: a queue of jobs (mpsc), filled by any thread. The
 * thread that owns the queue runs the jobs. The owner takes the inbox whole, and puts it in order
 * privately.
 */
#ifndef BATON_SRC_DRIVEN_H
#define BATON_SRC_DRIVEN_H

#include <baton/executor.h>

#include "thread/thread.h"

#include <stdbool.h>
#include <stddef.h>

/* The message for a call by a thread other than the owner. */
#define BATON__NOT_OWNER "another thread owns this executor: call it on the thread that drives it"

struct baton__driven {
	struct baton_executor executor; /* driven_of leads from here to the whole */
	/* called when the inbox is no longer empty; may be NULL */
	void (*signal)(struct baton__driven *driven);
	/* has the owner other work, to which the running job should yield? May be NULL */
	bool (*yields)(struct baton__driven *driven);
	uintptr_t inbox;        /* the newest job, CLOSED, or 0 */
	struct baton_job *list; /* the oldest job; this and the next two members are the owner's */
	struct baton_job **end; /* of the list */
	bool gathering; /* jobs that the owner schedules go to the list, see baton_loop_gather() */
	struct baton__thread *owner;
	uint64_t session; /* the owner's `session`, see thread.h */
};

/* An empty queue without an owner. */
void baton__driven_init(struct baton__driven *driven, void (*signal)(struct baton__driven *driven));

/* pop: takes the oldest job out of list and inbox; NULL: there is none. pop_listed: only out of the
 * list. The owner. */
struct baton_job *baton__driven_pop(struct baton__driven *driven);
struct baton_job *baton__driven_pop_listed(struct baton__driven *driven);

/* Runs a job in a call of the user's. */
void baton__driven_run(struct baton_job *job);

/* The newest job in the list; NULL: the list is empty. The owner. */
const struct baton_job *baton__driven_last(const struct baton__driven *driven);

/* Appends the jobs of the inbox to the list. The owner. */
void baton__driven_take(struct baton__driven *driven);

/* adopt: the calling thread becomes the owner; -ENOMEM, -ECHILD: thread.h. disown: there is none.
 * owned: is the calling thread the owner? */
int baton__driven_adopt(struct baton__driven *driven);
void baton__driven_disown(struct baton__driven *driven);
bool baton__driven_owned(const struct baton__driven *driven);

/* Refuses jobs from now on; the queued jobs remain to be popped. The owner. */
void baton__driven_close(struct baton__driven *driven);

#endif
