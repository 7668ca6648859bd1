/* SPDX-License-Identifier: MIT */
/*
 * Tasks that threads have marked as queued, and are about to submit. A thread that stops the owner
 * of such a task waits until the task is submitted: so the tasks that the stopping thread submits
 * afterwards come later. The turn (base/sole.h) protects the marks. The caller of begin and await
 * has the turn; end takes the turn itself.
 */
#ifndef BATON_SRC_HANDING_H
#define BATON_SRC_HANDING_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What one thread is about to submit. On its stack; an owner may be gone as soon as its task is
 * submitted. */
struct baton__handing {
	struct baton__handing *next;
	pthread_t thread;
	void **owners;
	size_t count;
	size_t at; /* the owner whose task the thread submits now; later owners may become NULL */
};

struct baton__handings {
	struct baton__handing *first;
	uint32_t *turn;
	uint32_t awaiting; /* threads that wait */
	uint32_t ended;    /* futex word of these */
};

/* begin: before the thread gives up the turn in which it has made the marks. end: all tasks of the
 * list are submitted; takes the turn. */
void baton__handing_begin(struct baton__handings *handings, struct baton__handing *list);
void baton__handing_end(struct baton__handings *handings, struct baton__handing *list);

/*
 * Waits until no other thread is about to submit the owner's task; gives the turn up meanwhile.
 * True: the calling thread itself was about to submit the task, and now will not: the caller clears
 * its mark.
 */
bool baton__handing_await(struct baton__handings *handings, const void *owner);

#endif
