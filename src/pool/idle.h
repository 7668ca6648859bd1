/* SPDX-License-Identifier: MIT */
/*
 * The idle set: which workers sleep, and how many search for jobs. It knows no queues.
 *
 *                                      | from
 *   notify, wake_all, asleep, all_busy | any thread, beside each other and all below
 *   try_search, stop_searching,        | a worker, for itself
 *   enter, wait                        |
 *   init                               | before all others
 */
#ifndef BATON_SRC_IDLE_H
#define BATON_SRC_IDLE_H

#include "base/platform.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#define BATON__IDLE_WORKERS_MAX 4094

/* One worker's part of the idle set. */
struct baton__sleeper {
	/* futex word: even until woken, then odd */
	uint32_t wake BATON_CACHE_ALIGNED;
	uint32_t next; /* the sleeper below in the stack: index + 1; 0: none */
};

struct baton__idle {
	uint64_t word BATON_CACHE_ALIGNED; /* stack and counts, see idle.c */
	struct baton__sleeper *sleepers;   /* one per worker; immutable, as the count is */
	uint32_t worker_count;
};

enum baton__idle_entered {
	/* in the stack; a searching worker will look at the queues */
	BATON__IDLE_ENTERED,
	BATON__IDLE_LOOK, /* in the stack; no worker searches: look at all queues before wait */
	BATON__IDLE_ALONE /* not in the stack, but all other workers are */
};

void baton__idle_init(struct baton__idle *idle, struct baton__sleeper *sleepers, size_t count);

/*
 * There may be work: wakes one worker, which then searches, unless a worker searches already. True:
 * a worker was woken.
 * Ordering: call this after the work was published by a sequentially consistent write.
 * Progress: lock-free; at most one wake-up is on its way.
 */
bool baton__idle_notify(struct baton__idle *idle);

/* Wakes all workers without changing the counts: the pool ends. The caller has set the state that
 * says so before, seq_cst. */
void baton__idle_wake_all(struct baton__idle *idle);

/* The worker begins to search; one worker always may. False: more than half of the workers would
 * search then. */
bool baton__idle_try_search(struct baton__idle *idle);

/*
 * The worker stops searching: it has found work. True: no other worker searches; the caller must
 * look at the queues, and notify if they hold more.
 */
bool baton__idle_stop_searching(struct baton__idle *idle);

/*
 * Puts the worker into the stack of sleepers, and ends its search if it was `searching`. `alone`:
 * if all other workers are in the stack, change nothing and return ALONE. For a searching worker
 * this answer holds until the worker stops searching, since no worker is woken meanwhile.
 */
enum baton__idle_entered baton__idle_enter(struct baton__idle *idle, size_t worker, bool searching,
                                           bool alone);

/*
 * Sleeps until the worker is woken: true. A worker that notify has woken is searching. False: the
 * deadline has passed (absolute, CLOCK_MONOTONIC; NULL: none), and the worker is in the stack as
 * before; it calls wait again.
 */
bool baton__idle_wait(struct baton__idle *idle, size_t worker, uint64_t deadline_ns);

/* Does no worker sleep or search? Then each is in a job, or about to look at its queues. A hint. */
bool baton__idle_all_busy(const struct baton__idle *idle);

/* The number of sleepers at some moment. */
size_t baton__idle_asleep(const struct baton__idle *idle);

#endif
