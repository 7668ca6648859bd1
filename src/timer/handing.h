/* SPDX-License-Identifier: MIT */
/*
 * Owners (of tasks) for which threads are about to do something: submit the owner's task, or call
 * the owner's `dropped`. A thread that stops the owner waits until that is done. So the tasks that
 * the stopping thread submits afterwards come later, and the owner's memory may be given back. A
 * lock (pool/sole.h) protects the lists. The caller of begin and await has the lock; end takes the
 * lock itself.
 */
#ifndef BATON_SRC_HANDING_H
#define BATON_SRC_HANDING_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What one thread is about to do. Lies on that thread's stack. An owner may be gone as soon as the
 * thread is done with it. */
struct baton__handing {
	struct baton__handing *next;
	pthread_t thread;
	void **owners;
	size_t count;
	size_t at; /* the owner that is next; later owners may become NULL */
};

struct baton__handings {
	struct baton__handing *first;
	uint32_t *lock;
	uint32_t awaiting; /* threads that wait */
	uint32_t ended;    /* futex word of these */
};

/* begin: the thread has decided what it will do, and has not released the lock since. end: that is
 * done for all owners of the list; takes the lock. */
void baton__handing_begin(struct baton__handings *handings, struct baton__handing *list);
void baton__handing_end(struct baton__handings *handings, struct baton__handing *list);

/*
 * Waits until the owner is in no other thread's list; releases the lock meanwhile. True: the caller
 * has waited. `*withdrawn` becomes true if the owner's turn in the calling thread's own list was
 * still to come, and is cancelled.
 */
bool baton__handing_await(struct baton__handings *handings, const void *owner, bool *withdrawn);

#endif
