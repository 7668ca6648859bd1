/* SPDX-License-Identifier: MIT */
/* A round: about a second under one configuration, which follows from the seed and its number. */
#ifndef BATON_TEST_STRESS_ROUND_H
#define BATON_TEST_STRESS_ROUND_H

#include <stdint.h>

/* At most so many operations, for at most so long. Returns how many there were. */
uint64_t round_run(uint64_t number, uint64_t operations_max, uint64_t duration_ns);

#endif
