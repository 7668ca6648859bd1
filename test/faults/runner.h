/* SPDX-License-Identifier: MIT */
/*
 * Runs a scenario: first without faults, to count its calls; then under one kind of fault, once for
 * each n and mode. Each run is a new process that has not used baton.
 */
#ifndef BATON_TEST_FAULTS_RUNNER_H
#define BATON_TEST_FAULTS_RUNNER_H

#include "fault.h"
#include "scenario.h"

#include <stddef.h>

/* The number of calls in one cycle. */
struct baseline {
	uint32_t counts[FAULT_POINTS];
};

struct result {
	unsigned cases;    /* runs with a fault */
	unsigned injected; /* calls that failed in them */
	unsigned failures;
};

/* Called before all other functions. */
void runner_init(void);

/* False: the scenario fails without a fault. */
bool runner_measure(const struct scenario *scenario, struct baseline *baseline);

/* `nth`: only the n-th call fails. 0: each call in turn. */
struct result runner_run(const struct scenario *scenario, const struct baseline *baseline,
                         enum fault_kind kind, uint32_t nth);

#endif
