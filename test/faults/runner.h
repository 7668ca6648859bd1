/* SPDX-License-Identifier: MIT */
/*
 * Runs a scenario: first without any fault, which tells how many calls there are; then under one
 * kind of fault, once for each n and mode. Each time in a new process that has not used baton.
 */
#ifndef BATON_TEST_FAULTS_RUNNER_H
#define BATON_TEST_FAULTS_RUNNER_H

#include "fault.h"
#include "scenario.h"

#include <stddef.h>

/* Calls of one cycle. */
struct baseline {
	uint32_t counts[FAULT_POINTS];
};

struct result {
	unsigned cases;    /* runs with a fault */
	unsigned injected; /* calls that failed in them */
	unsigned failures;
};

/* Before all else. */
void runner_init(void);

/* False: it fails, without any fault. */
bool runner_measure(const struct scenario *scenario, struct baseline *baseline);

/* nth: that one alone; 0: all. */
struct result runner_run(const struct scenario *scenario, const struct baseline *baseline,
                         enum fault_kind kind, uint32_t nth);

#endif
