/* SPDX-License-Identifier: MIT */
/*
 * The idle set: which workers sleep, how many search. Knows no queues.
 *
 *                                      | from
 *   notify, wake_all, asleep           | any thread, beside everything
 *   try_search, stop_searching,        | a worker, for itself
 *   enter, wait                        |
 *   init                               | before all others
 */
#ifndef BATON_SRC_IDLE_H
#define BATON_SRC_IDLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/platform.h"

#define BATON__IDLE_WORKERS_MAX 4094

/* One worker's place. */
struct baton__sleeper {
	uint32_t wake BATON_CACHE_ALIGNED; /* futex word: even until it is woken */
	uint32_t next;                     /* below it in the stack: index + 1, 0: none */
};

struct baton__idle {
	uint64_t word BATON_CACHE_ALIGNED; /* see idle.c */
	struct baton__sleeper *sleepers;   /* one per worker; immutable, like the count */
	uint32_t worker_count;
};

enum baton__idle_entered {
	BATON__IDLE_ENTERED, /* asleep; somebody searches, and will look at the queues */
	BATON__IDLE_LOOK,    /* asleep, and nobody searches: look at all queues before wait */
	BATON__IDLE_ALONE    /* not asleep: all the others are */
};

void baton__idle_init(struct baton__idle *idle, struct baton__sleeper *sleepers, size_t count);

/*
 * There may be work: wakes one worker, as a searching one, unless one is searching already. True if
 * it has woken one.
 * Ordering: call it after the work was published by a sequentially consistent write.
 * Progress: lock-free; at most one wake-up is on its way.
 */
bool baton__idle_notify(struct baton__idle *idle);

/* Wakes everybody, without counting: the end. State that says so must be set before, seq_cst. */
void baton__idle_wake_all(struct baton__idle *idle);

/* Begins to search, if fewer than half of the workers (at least one) do. */
bool baton__idle_try_search(struct baton__idle *idle);

/*
 * Ends to search, having found work. True: it was the last to search, and must now look at the
 * queues and notify if there is more.
 */
bool baton__idle_stop_searching(struct baton__idle *idle);

/*
 * Puts the worker among the sleeping, and ends its search if it was searching. `alone`: do not if
 * all the others sleep, but say so; to one that is searching this holds until it stops, since
 * nobody is woken meanwhile.
 */
enum baton__idle_entered baton__idle_enter(struct baton__idle *idle, size_t worker, bool searching,
                                           bool alone);

/* Sleeps until woken; if by notify, the worker is searching then. No time-outs. */
void baton__idle_wait(struct baton__idle *idle, size_t worker);

/* Does nobody sleep or search: is every worker in a job, or about to look at its queues? */
bool baton__idle_all_busy(const struct baton__idle *idle);

/* How many sleep, at some moment. */
size_t baton__idle_asleep(const struct baton__idle *idle);

#endif
