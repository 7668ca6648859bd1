/* SPDX-License-Identifier: MIT */
/*
 * The wait after a push whose CAS has failed.
 *
 * The word's cache line goes from CPU to CPU with each push by another thread, which takes 50 to
 * 250 ns; a thread that has the line to itself pushes many tasks in that time. How long a wait pays
 * depends on how many threads push, so each thread learns: a push that fails again doubles the
 * thread's wait, and a push that succeeds after its first wait halves it. It stays between some 0.2
 * and 1.3 microseconds: at a resource that is busy only now and then a longer wait costs more than
 * it gains.
 *
 * Source: exponential back-off: T. Anderson, "The Performance of Spin Lock Alternatives for
 * Shared-Memory Multiprocessors", 1990.
 */
#ifndef BATON_SRC_BACKOFF_H
#define BATON_SRC_BACKOFF_H

#include <stdbool.h>

/* Turns of an empty loop. */
#ifndef BATON_BACKOFF_MIN /* tests make these small */
#define BATON_BACKOFF_MIN 512U
#define BATON_BACKOFF_MAX 4096U
#endif

/* Waits. `again`: an earlier push of the same tasks had failed, too. The thread has a record. */
void baton__back_off(bool again);

/* A push has succeeded after one wait. */
void baton__backed_off(void);

#endif
