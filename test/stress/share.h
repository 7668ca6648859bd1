/* SPDX-License-Identifier: MIT */
/*
 * Futures in the hands of several threads: boxes into which one puts a reference and out of which
 * another takes it; and the promises that somebody is to fulfil.
 */
#ifndef BATON_TEST_STRESS_SHARE_H
#define BATON_TEST_STRESS_SHARE_H

#include <stdbool.h>

/* Fulfils promises now and then, whoever else does. */
void share_start(void);

/* When all is fulfilled. No more promises come. */
void share_stop(void);

/* All threads at rest. */
void share_drop_all(void);

#endif
