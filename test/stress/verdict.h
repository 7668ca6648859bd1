/* SPDX-License-Identifier: MIT */
/* What is found out about a round when it is over: the order of tasks, and that nothing is lost. */
#ifndef BATON_TEST_STRESS_VERDICT_H
#define BATON_TEST_STRESS_VERDICT_H

#include <stdint.h>

/* All threads at rest. Returns how many operations there were. */
uint64_t verdict(void);

#endif
