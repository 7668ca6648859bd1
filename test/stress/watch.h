/* SPDX-License-Identifier: MIT */
/* The watch: a progress line, and an end with a report when nothing moves any more (L5). */
#ifndef BATON_TEST_STRESS_WATCH_H
#define BATON_TEST_STRESS_WATCH_H

#include <stdint.h>

void watch_start(void);
void watch_stop(void);

/* For the progress line. */
void watch_round(uint64_t round, uint64_t operations);

/* While only the round's own thread runs, there is no progress to watch. */
void watch_pause(int paused);

#endif
