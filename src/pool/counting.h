/* SPDX-License-Identifier: MIT */
/*
 * Pools that count jobs: those that they accept (count_accepted), and the plain jobs that wait
 * (waiting_max). Other pools never come here.
 */
#ifndef BATON_SRC_COUNTING_H
#define BATON_SRC_COUNTING_H

#include "base/platform.h"

#include <stdint.h>

struct baton_job;
struct baton_pool;

/* The plain jobs of a pool that has waiting_max, and the threads that wait for room. */
struct baton__room {
	uint64_t waiting;  /* plain jobs accepted, and not yet entered or cancelled */
	uint32_t sleepers; /* threads in await_room */
	uint32_t changes;  /* a futex word: room.changes */
};

/* What becomes of a plain job from outside for which there is no room. */
struct baton__when_full {
	enum { BATON__FULL_ACCEPT, BATON__FULL_REFUSE, BATON__FULL_WAIT } then;
	uint64_t deadline_ns; /* of WAIT; BATON_FOREVER: none */
};

/* Schedules and counts the job. `refusing`: as for schedule_unless, pool.c. Returns what schedule,
 * baton_pool_submit or baton_pool_submit_wait returns. */
int baton__counting_schedule(struct baton_pool *pool, struct baton_job *job, uint32_t refusing,
                             const struct baton__when_full *full);

/* A plain job of a pool with waiting_max waits no longer. Called by a thread of the pool, or a
 * thread inside the pool (pool.outside). */
void baton__room_leave(struct baton_pool *pool);

/* Any pool: the same for each plain job in the list. */
void baton__room_leave_list(struct baton_pool *pool, const struct baton_job *first);

/* The pool refuses plain jobs from now on: wakes the threads that wait for room. After the state
 * was set. */
void baton__room_close(struct baton_pool *pool);

#endif
