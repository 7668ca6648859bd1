/* SPDX-License-Identifier: MIT */
/*
 * Runs of a scenario. Each function returns false if an execution has failed; it has been reported,
 * unless the scenario is a self-test.
 */
#ifndef BATON_SIM_EXPLORE_H
#define BATON_SIM_EXPLORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine.h"

struct sim_run {
	const struct sim_scenario *scenario;
	uint64_t seed;
	unsigned bound;
	bool weak;
	bool traced;     /* print every step of what fails */
	bool brief;      /* print one line of what fails */
	const char *way; /* its name */
	bool skipped;    /* not asked for */
	double seconds;
	unsigned long executions_max;
	unsigned frozen_point; /* 0: nobody is frozen; else before which point of its, from 1 */
	/* Results. */
	unsigned long executions;
	bool complete; /* the exhaustive search has come to its end */
	unsigned frozen_points;
	unsigned long looks; /* of `frozen` */
};

bool sim_exhaust(struct sim_run *run);
bool sim_walk(struct sim_run *run);
bool sim_freeze(struct sim_run *run);
bool sim_replay(struct sim_run *run, const struct sim_deviation *deviations, size_t count);

/* One execution, decided by bytes (a fuzzer's). */
bool sim_bytes(struct sim_run *run, const uint8_t *bytes, size_t size);

#endif
