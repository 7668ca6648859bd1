/* SPDX-License-Identifier: MIT */
/*
 * Runs of a scenario. Each function returns false if an execution has failed. The failure has been
 * reported then, unless the scenario is a self-test.
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
	bool traced;     /* print every step of a failed execution */
	bool brief;      /* print one line about a failed execution */
	const char *way; /* the name of this way of searching */
	bool skipped;    /* this way was not asked for */
	double seconds;
	unsigned long executions_max;
	unsigned frozen_point; /* the thread is frozen before this point, from 1; 0: never */
	/* Results. */
	unsigned long executions;
	bool complete; /* the exhaustive search has ended */
	unsigned frozen_points;
	unsigned long looks; /* calls of `frozen` */
};

bool sim_exhaust(struct sim_run *run);
bool sim_walk(struct sim_run *run);
bool sim_freeze(struct sim_run *run);
bool sim_replay(struct sim_run *run, const struct sim_deviation *deviations, size_t count);

/* Runs one execution, decided by a fuzzer's bytes. */
bool sim_bytes(struct sim_run *run, const uint8_t *bytes, size_t size);

#endif
