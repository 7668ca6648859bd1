/* SPDX-License-Identifier: MIT */
/* The watch: a progress line, and an end with a report when nothing moves any more (L5). */
#ifndef BATON_TEST_STRESS_WATCH_H
#define BATON_TEST_STRESS_WATCH_H

#include <stdint.h>

void watch_start(void);
void watch_stop(void);

/* For the progress line. */
void watch_round(uint64_t round, uint64_t operations);

/* While the round's thread is alone nothing else moves. */
void watch_pause(int paused);

#endif
