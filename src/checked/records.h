/* SPDX-License-Identifier: MIT */
/*
 * What libbaton-checked knows of a program's objects: a record for each, found by the object's
 * address, in tables of its own. No object has a member for its record, so that structs, sizes and
 * initialisers are those of the ordinary library, and a program needs no new compilation.
 *
 * Invariants:
 * records.order: A thread that holds the lock of a task's record may take the lock of a resource's
 *    record, and no other second lock.
 * records.queue: The queue of a resource's record has the records of the tasks that a program has
 *    submitted, and that are neither entered nor dropped. The lock of the resource's record guards
 *    the links, `accepted` and `looked_at`.
 * records.accepted: A resource in whose queue is an `accepted` record is busy: an accepted task
 *    keeps its resource busy until the task is entered or dropped, and its record leaves the queue
 *    before the resource can become idle.
 */
#ifndef BATON_SRC_CHECKED_RECORDS_H
#define BATON_SRC_CHECKED_RECORDS_H

#include <baton/resource.h>

#include "base/platform.h"

#include <stdarg.h>
#include <sys/types.h>

#define BATON__RECORD_NAME_MAX 40

enum baton__record_kind {
	BATON__RECORD_TASK,
	BATON__RECORD_RESOURCE,
	BATON__RECORD_TIMER,
	BATON__RECORD_LANES,
	BATON__RECORD_OWNED,      /* a pool, an executor or a wheel, which the library allocates */
	BATON__RECORD_SUSPENSION, /* object: the suspension; `resource`: its resource */
};

struct baton__record {
	struct baton__record *next; /* in its shard */
	const void *object;
	enum baton__record_kind kind;
	/* The call that has made the object what it is, and its thread. */
	const char *call;
	pid_t thread;
	uint64_t serial; /* of that call, in the order of all calls */
	bool gone;       /* the call has ended the object's life */
	bool left;       /* a resource that has left its board, which had its statistics */
	char name[BATON__RECORD_NAME_MAX]; /* a copy: the object's own may be gone */
	/* A task's, as they were at the submit; a timer's and suspension's resource. */
	struct baton_resource *resource;
	const void *run;
	const void *future;
	bool accepted;
	bool looked_at;              /* since it was accepted: the next walk ends here */
	struct baton__record *older; /* in the queue of the resource's record */
	struct baton__record *newer;
	/* A resource's. */
	uintptr_t extras; /* its pointer to config, statistics or extension */
	const struct baton_resource_config *config;
	uint64_t config_sum;
	const void *executor;
	struct baton__record *newest;
	size_t tasks;
	size_t suspended;
	bool used; /* by more than its set-up: from now on name and config are constant */
};

/* A mistake that a look has found. It is reported when no lock is held. */
struct baton__mistake {
	char name[BATON__RECORD_NAME_MAX];
	char text[400];
};

/* lock, unlock: the shard of the object's records. find: NULL: no record. */
void baton__records_lock(const void *object, enum baton__record_kind kind);
void baton__records_unlock(const void *object, enum baton__record_kind kind);
struct baton__record *baton__records_find(const void *object, enum baton__record_kind kind);

/* The object's record; makes one. NULL: there is no memory, and the object is not checked. */
struct baton__record *baton__records_get(const void *object, enum baton__record_kind kind);

/* Has there been no memory for a record? Then an object without a record may be in order. */
bool baton__records_lost(void);

/* Forgets the object: frees its record. */
void baton__records_forget(struct baton__record *record);

/* Writes down who has called what just now. */
void baton__records_note(struct baton__record *record, const char *call);

/* Calls `visit` for each record of that kind, under its lock. */
void baton__records_each(enum baton__record_kind kind,
                         void (*visit)(struct baton__record *record, void *arg), void *arg);

/* Writes a mistake down. `name` may be NULL. */
__attribute__((format(printf, 3, 4))) void baton__mistake(struct baton__mistake *mistake,
                                                          const char *name, const char *format,
                                                          ...);

/* Reports the mistake by baton__misuse, if text[0] says that there is one. Call without a lock. */
void baton__mistake_end(const struct baton__mistake *mistake, const char *call);

#endif
