/* SPDX-License-Identifier: MIT */
/*
 * The rules of admission against their model, for long: all sequences of events (sequences.h), then
 * random ones (random.h).
 *
 *	admission [--length N] [--random SECONDS] [--seed N]
 */
#include "random.h"
#include "sequences.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static uint32_t passed;
static struct tally before;
static struct timespec begun;

static double elapsed(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)(now.tv_sec - begun.tv_sec) + (double)(now.tv_nsec - begun.tv_nsec) / 1e9;
}

static void begin(void)
{
	before = tally;
	clock_gettime(CLOCK_MONOTONIC, &begun);
}

static void report(void)
{
	printf("%llu events; %llu estimates compared (%llu exact), %llu told, %llu starts in time, "
	       "%llu choices; %.1f s\n",
	       (unsigned long long)(tally.events - before.events),
	       (unsigned long long)(tally.waits - before.waits),
	       (unsigned long long)(tally.exact - before.exact),
	       (unsigned long long)(tally.told - before.told),
	       (unsigned long long)(tally.starts - before.starts),
	       (unsigned long long)(tally.choices - before.choices), elapsed());
	passed++;
}

static void all(const char *name, struct sequences search, uint32_t length)
{
	begin();
	sequences_all(&search, length);
	printf("%s: %llu sequences of %u, %llu states, ", name, (unsigned long long)search.count,
	       length, (unsigned long long)search.states);
	report();
}

static void random_runs(uint64_t seed, double seconds, uint32_t events, uint32_t waiting_max)
{
	uint64_t runs = 0;

	begin();
	do {
		struct source source = {.random = (seed + runs) * 0x9e3779b97f4a7c15U | 1};

		world_seed = seed + runs++;
		random_run(&source, events, waiting_max);
	} while (elapsed() < seconds);
	printf("random, up to %u waiting, seeds %llu to %llu: ", waiting_max,
	       (unsigned long long)seed, (unsigned long long)(seed + runs - 1));
	report();
}

int main(int argc, char **argv)
{
	uint32_t length = 5;
	double seconds = 1;
	uint64_t seed = (uint64_t)time(NULL);

	for (int i = 1; i + 1 < argc; i += 2)
		if (strcmp(argv[i], "--length") == 0)
			length = (uint32_t)atoi(argv[i + 1]);
		else if (strcmp(argv[i], "--random") == 0)
			seconds = atof(argv[i + 1]);
		else if (strcmp(argv[i], "--seed") == 0)
			seed = (uint64_t)atoll(argv[i + 1]);
	all("tasks end in time", (struct sequences){0}, length);
	all("tasks overrun and count", (struct sequences){.overrun = true}, length - 1);
	all("tasks overrun and are gone",
	    (struct sequences){.overrun = true, .config.stuck = BATON_RULES_GONE}, length - 1);
	all("the oldest", (struct sequences){.config.policy = BATON_RULES_OLDEST}, length - 1);
	all("any", (struct sequences){.config.policy = BATON_RULES_RANDOM}, length - 1);
	all("a reserve", (struct sequences){.config.reserve = 1}, length - 1);
	/* A default that should have ended already was planned as if it came down now. */
	random_runs(1795535046U, 0, 300, 20);
	random_runs(seed, seconds, 300, 20);
	random_runs(seed, seconds, 1000, 400);
	printf("[====] Synthesis: Tested: %u | Passing: %u | Failing: 0 | Crashing: 0 \n", passed,
	       passed);
	return 0;
}
