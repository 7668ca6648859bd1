/* SPDX-License-Identifier: MIT */
/* What is found out about a round when it is over: the order of tasks, and that nothing is lost. */
#ifndef BATON_TEST_STRESS_VERDICT_H
#define BATON_TEST_STRESS_VERDICT_H

#include <stdint.h>

/* Call it while all threads are at rest. Returns the number of operations. */
uint64_t verdict(void);

#endif
