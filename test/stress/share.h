/* SPDX-License-Identifier: MIT */
/*
 * Futures shared by several threads. One thread puts a reference to a future into a box, and
 * another thread takes the reference out. The promises of the round are here, too: any thread may
 * fulfil one.
 */
#ifndef BATON_TEST_STRESS_SHARE_H
#define BATON_TEST_STRESS_SHARE_H

#include <stdbool.h>

/* Starts a thread that fulfils promises now and then, besides the threads that do so as a deed. */
void share_start(void);

/* Returns when all promises are fulfilled. No new promises come. */
void share_stop(void);

/* Call it while all threads are at rest. */
void share_drop_all(void);

#endif
