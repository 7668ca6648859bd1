/* SPDX-License-Identifier: MIT */
/*
 * Disturbances: signals to random threads, with and without SA_RESTART, and stops. A stop is a
 * signal whose handler sleeps for a while, so that the thread stands still wherever it is. Workers
 * are disturbed, too, from their first task on.
 */
#ifndef BATON_TEST_STRESS_DISTURBER_H
#define BATON_TEST_STRESS_DISTURBER_H

#include <stdint.h>

/* Once per process. */
void disturber_install(void);

void disturber_start(uint64_t *random);
void disturber_stop(void);

uint64_t disturber_signals(void);
uint64_t disturber_stops(void);

#endif
