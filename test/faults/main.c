/* SPDX-License-Identifier: MIT */
/*
 * Fault injection: each scenario (a use of public functions) under each kind of fault; the n-th
 * call fails, or all from the n-th on, for every n. Two scenarios at a time.
 *
 *	faults [--filter PATTERN] [--nth N] [--until-failure] [--list]
 *
 * PATTERN: as for fnmatch, on "scenario kind".
 *
 * A test is a scenario under all kinds of faults; it has many cases.
 */
#include "contract.h"
#include "fault.h"
#include "runner.h"
#include "scenario.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define AT_ONCE 2

/* Shared with the processes that run the scenarios. */
struct totals {
	atomic_uint passed;
	atomic_uint failed;
	atomic_uint cases[FAULT_KINDS];
	atomic_uint injected[FAULT_KINDS];
};

static struct totals *totals;
static const char *pattern;
static uint32_t only_nth;
static bool until_failure;

static bool wanted(const struct scenario *scenario, enum fault_kind kind)
{
	char name[128];

	(void)snprintf(name, sizeof(name), "%s %s", scenario->name, fault_kinds[kind].name);
	return !pattern || fnmatch(pattern, name, 0) == 0;
}

static bool wanted_at_all(const struct scenario *scenario)
{
	for (int kind = 0; kind < FAULT_KINDS; kind++)
		if (wanted(scenario, (enum fault_kind)kind))
			return true;
	return false;
}

static bool is_enough(bool passed)
{
	return until_failure && (!passed || atomic_load(&totals->failed));
}

/* In a process of its own. */
static void run_scenario(const struct scenario *scenario)
{
	struct baseline baseline;
	bool passed;

	runner_init();
	passed = runner_measure(scenario, &baseline);
	/* Without a fault it passes, or there is nothing to try. */
	for (int i = 0; passed && i < FAULT_KINDS; i++) {
		enum fault_kind kind = (enum fault_kind)i;
		struct result result;

		if (is_enough(passed) || !wanted(scenario, kind) ||
		    !baseline.counts[fault_kinds[kind].point])
			continue;
		result = runner_run(scenario, &baseline, kind, only_nth);
		passed = passed && !result.failures;
		atomic_fetch_add(&totals->cases[kind], result.cases);
		atomic_fetch_add(&totals->injected[kind], result.injected);
	}
	atomic_fetch_add(passed ? &totals->passed : &totals->failed, 1);
}

static bool reap(void)
{
	int status = 0;
	bool found = wait(&status) > 0;

	if (found && (!WIFEXITED(status) || WEXITSTATUS(status) != EXIT_SUCCESS))
		atomic_fetch_add(&totals->failed, 1);
	return found;
}

static void run_all(void)
{
	int running = 0;

	for (struct scenario *scenario = scenario_first(); scenario; scenario = scenario->next) {
		pid_t child;

		if (is_enough(true) || !wanted_at_all(scenario))
			continue;
		if (running == AT_ONCE && reap())
			running--;
		(void)fflush(NULL);
		child = fork();
		if (child == 0) {
			run_scenario(scenario);
			_exit(EXIT_SUCCESS);
		}
		if (child < 0)
			atomic_fetch_add(&totals->failed, 1);
		else
			running++;
	}
	while (reap())
		continue;
}

static void list_all(void)
{
	for (struct scenario *scenario = scenario_first(); scenario; scenario = scenario->next)
		if (wanted_at_all(scenario))
			(void)printf("%s\n", scenario->name);
}

static void print_cases(void)
{
	unsigned cases = 0;

	for (int kind = 0; kind < FAULT_KINDS; kind++) {
		(void)fprintf(stderr, "[----] %-14s %6u cases, %8u calls failed\n",
		              fault_kinds[kind].name, atomic_load(&totals->cases[kind]),
		              atomic_load(&totals->injected[kind]));
		cases += atomic_load(&totals->cases[kind]);
	}
	(void)fprintf(stderr, "[----] %-14s %6u cases\n", "all", cases);
}

int main(int argument_count, char **arguments)
{
	bool list = false;

	for (int i = 1; i < argument_count; i++) {
		if (strcmp(arguments[i], "--filter") == 0 && i + 1 < argument_count)
			pattern = arguments[++i];
		else if (strcmp(arguments[i], "--nth") == 0 && i + 1 < argument_count)
			only_nth = (uint32_t)strtoul(arguments[++i], NULL, 10);
		else if (strcmp(arguments[i], "--until-failure") == 0)
			until_failure = true;
		else if (strcmp(arguments[i], "--list") == 0)
			list = true;
	}
	if (list) {
		list_all();
		return EXIT_SUCCESS;
	}
	totals = mmap(NULL, sizeof(*totals), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
	              0);
	if (totals == MAP_FAILED)
		return EXIT_FAILURE;
	contract_init();
	run_all();
	print_cases();
	/* Every public function has been called while something failed: one more test. */
	if (!pattern)
		atomic_fetch_add(contract_uncovered() ? &totals->failed : &totals->passed, 1);
	(void)fprintf(stderr, "[====] Synthesis: Tested: %u | Passing: %u | Failing: %u\n",
	              atomic_load(&totals->passed) + atomic_load(&totals->failed),
	              atomic_load(&totals->passed), atomic_load(&totals->failed));
	return atomic_load(&totals->failed) ? EXIT_FAILURE : EXIT_SUCCESS;
}
