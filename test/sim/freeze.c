/* SPDX-License-Identifier: MIT */
/*
 * Freezing: one thread is stopped at one of its scheduling points, as the system might stop it;
 * when the others can do nothing more, the scenario looks at what they have reached.
 */
#include "engine.h"

/* So long after a thread was frozen the others are where they can come to, or spin for it. */
#define FROZEN_STEPS_MAX 3000U

static unsigned thread_number; /* 0: none */
static uint32_t point;
static bool came;
static uint32_t since;
static unsigned long looks;

unsigned sim_frozen(void)
{
	return came && thread_number && sim_threads[thread_number].frozen ? thread_number : 0;
}

void sim_freeze_at(unsigned thread, uint32_t at)
{
	thread_number = thread;
	point = at;
	came = false;
}

bool sim_freeze_came(void)
{
	return came;
}

unsigned long sim_freeze_looks(void)
{
	return looks;
}

bool sim_freeze_now(void)
{
	if (!thread_number || sim_self != thread_number || came || sim_choices.calm ||
	    sim_me()->points++ != point)
		return false;
	came = true;
	since = sim_choices.step;
	sim_me()->frozen = true;
	return true;
}

bool sim_freeze_lasts(void)
{
	return sim_frozen() && sim_choices.step - since <= FROZEN_STEPS_MAX;
}

void sim_thaw(const struct sim_scenario *scenario)
{
	looks++;
	if (scenario->frozen)
		scenario->frozen();
	sim_trace("-- thread %u goes on", thread_number);
	sim_threads[thread_number].frozen = false;
}
