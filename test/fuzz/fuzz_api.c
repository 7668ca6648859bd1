/* SPDX-License-Identifier: MIT */
/*
 * Programs of public calls, and the interleavings in which they run, made of the fuzzer's bytes:
 * the random programs of test/sim/scenarios/api.c under the explorer. The first byte chooses
 * between the executors; each further one is a decision. What fails prints a replay for
 * build/sim/sim.
 */
#include <stdlib.h>
#include <string.h>

#include "explore.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct sim_scenario *by_hand;
static struct sim_scenario *with_pool;

void sim_register(struct sim_scenario *scenario)
{
	if (!strcmp(scenario->name, "api_manual"))
		by_hand = scenario;
	else if (!strcmp(scenario->name, "api_pool"))
		with_pool = scenario;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sim_run run = {.seed = 1, .weak = true};

	if (!size)
		return 0;
	run.scenario = data[0] & 1 ? with_pool : by_hand;
	if (!sim_bytes(&run, data + 1, size - 1))
		abort();
	return 0;
}
