/* SPDX-License-Identifier: MIT */
/*
 * Disturbances: signals at random threads, with and without SA_RESTART, and stops: a signal whose
 * handler sleeps for a while, wherever the thread just is. Workers too, from the first task that
 * they run.
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
