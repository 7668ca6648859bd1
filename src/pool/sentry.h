/* SPDX-License-Identifier: MIT */
/*
 * The sentry of an alarm: a thread that runs the wheel's job when a deadline has passed, and no
 * worker comes for it since all workers are inside long jobs. The thread is started when all
 * workers are first found in jobs beside an open deadline; a pool whose workers keep the deadlines
 * themselves has no such thread. See sentry.c.
 *
 *           | called by
 *   open    | the thread that makes the default pool
 *   call    | any thread that finds all workers in jobs; the pool cannot end meanwhile
 *   stop    | the thread that has barred the alarm
 *   look    | the sentry, and tests
 */
#ifndef BATON_SRC_SENTRY_H
#define BATON_SRC_SENTRY_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct baton__alarm;

/* The sentry takes the wheel's job this long after both moments: the open deadline has passed, and
 * the sentry has first seen the deadline open. */
#define BATON__SENTRY_NS 1000000U

/* What `state` is. */
#define BATON__SENTRY_NONE 0U   /* there is no thread; a call starts it */
#define BATON__SENTRY_STARTS 1U /* a thread that has called is starting the sentry */
#define BATON__SENTRY_RUNS 2U
#define BATON__SENTRY_ENDS 3U /* the alarm is barred */

struct baton__sentry {
	uint64_t watched; /* the deadline for which the sentry sleeps; UINT64_MAX: none */
	uint64_t refused; /* the deadline for which no sentry could be started */
	uint32_t calls;   /* futex word of the sentry: bumped by each call */
	uint32_t state;   /* futex word of stop */
	pthread_t thread; /* published by RUNS */
};

/* One deadline that the sentry has seen open; begins as {0}. */
struct baton__sentry_watch {
	uint64_t deadline_ns; /* 0: none */
	uint64_t until_ns;    /* when the deadline has been open for too long */
};

/*
 * What the sentry does when it looks at the time `now_ns`. `deadline_ns`: the open deadline; 0: no
 * deadline is open. True: the deadline has been open for too long. False: the sentry looks again at
 * watch->until_ns. A pure function.
 */
bool baton__sentry_look(struct baton__sentry_watch *watch, uint64_t deadline_ns, uint64_t now_ns);

void baton__sentry_open(struct baton__sentry *sentry);

/* All workers are in jobs: the sentry watches the deadline, if it is open. Starts the sentry if
 * need be; if no thread can be started, the deadline waits for a worker. */
void baton__sentry_call(struct baton__alarm *alarm);

/* The alarm is barred: waits until the sentry's thread has ended. */
void baton__sentry_stop(struct baton__sentry *sentry);

#endif
