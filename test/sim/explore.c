/* SPDX-License-Identifier: MIT */
/*
 * Executions of a scenario, one after the other, each from the same state. An execution that fails
 * is tried without one deviation after the other, until none can be left out; the rest is printed.
 */
#include "explore.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "engine.h"

#define SHRINK_MAX 3000 /* executions */

struct sim_outcome sim_outcome;
bool sim_tracing;

extern unsigned char sim_globals_begin[];
extern unsigned char sim_globals_end[];

static unsigned char *first_globals;

static void restore_globals(void)
{
	size_t size = (size_t)(sim_globals_end - sim_globals_begin);

	if (!first_globals) {
		first_globals = malloc(size);
		memcpy(first_globals, sim_globals_begin, size);
	}
	memcpy(sim_globals_begin, first_globals, size);
}

static void assertion_failed(const char *what, const char *file, int line)
{
	sim_fail("%s:%d: %s", file, line, what);
}

void sim_fail(const char *format, ...)
{
	va_list list;

	va_start(list, format);
	(void)vsnprintf(sim_outcome.message, sizeof(sim_outcome.message), format, list);
	va_end(list);
	if (!sim_outcome.running) {
		(void)fprintf(stderr, "%s\n", sim_outcome.message);
		abort();
	}
	sim_outcome.failed = true;
	sim_trace("FAILS");
	sim_outcome.running = false;
	sim_execution_ends();
}

void sim_trace(const char *format, ...)
{
	va_list list;

	if (!sim_tracing)
		return;
	(void)fprintf(stderr, "%5u %*sT%u ", sim_choices.step, (int)sim_self * 4, "", sim_self);
	va_start(list, format);
	(void)vfprintf(stderr, format, list);
	va_end(list);
	(void)fputc('\n', stderr);
}

/* A plain access is known by its address; addr2line knows the line. */
void sim_print_place(const void *where)
{
	extern unsigned char __start_sim_kept[];
	extern unsigned char __stop_sim_kept[];
	const unsigned char *byte = where;
	char command[300];

	if (byte > __start_sim_kept && byte < __stop_sim_kept) {
		const struct sim_site *site = (const void *)(byte - 1);

		(void)fprintf(stderr, "    at %s:%d %s\n", site->file, site->line, site->what);
		return;
	}
	(void)fflush(stderr);
	(void)snprintf(command, sizeof(command),
	               "addr2line -p -s -f -e /proc/%d/exe %#lx | sed 's/^/    at /' >&2",
	               (int)getpid(), (unsigned long)((uintptr_t)where - 1));
	if (system(command))
		(void)fprintf(stderr, "    at %p\n", where);
}

void sim_print_calls(const struct sim_thread *thread)
{
	for (unsigned i = thread->call_count; i-- > 0 && i < SIM_CALLS_MAX;)
		sim_print_place(thread->calls[i]);
}

static void run_once(const struct sim_scenario *scenario)
{
	extern void (*baton_assert_hook)(const char *, const char *, int);

	restore_globals();
	baton_assert_hook = assertion_failed;
	sim_kernel_begin();
	sim_memory_begin();
	sim_races_begin();
	sim_outcome.failed = false;
	sim_outcome.message[0] = 0;
	sim_outcome.running = true;
	sim_choices.ordered = scenario->ordered;
	sim_threads_run(scenario);
	sim_outcome.running = false;
}

/* Of the processor's time, so that a busy machine finds as much. */
static double seconds(void)
{
	struct timespec time;

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void freeze_for(const struct sim_run *run)
{
	if (run->frozen_point)
		sim_freeze_at(run->scenario->freeze, run->frozen_point - 1);
	else
		sim_freeze_at(0, 0);
}

static bool replay(const struct sim_run *run, const struct sim_deviation *list, size_t count)
{
	sim_choices_begin(SIM_REPLAY, 0, 0);
	sim_choices.weak = !run->frozen_point;
	sim_choices_replay(list, count);
	freeze_for(run);
	run_once(run->scenario);
	return sim_outcome.failed;
}

/* Leaves out what can be left out: first halves, then quarters, at last one by one. */
static size_t shrink(const struct sim_run *run, struct sim_deviation *list, size_t count)
{
	struct sim_deviation *shorter = malloc((count + 1) * sizeof(*shorter));
	size_t part = count / 2 ? count / 2 : 1;
	unsigned tried = 0;
	bool again = true;

	while (part && again && tried < SHRINK_MAX) {
		again = part > 1;
		for (size_t at = 0; at < count && tried < SHRINK_MAX;) {
			size_t cut = at + part < count ? part : count - at;

			memcpy(shorter, list, at * sizeof(*list));
			memcpy(shorter + at, list + at + cut, (count - at - cut) * sizeof(*list));
			tried++;
			if (replay(run, shorter, count - cut)) {
				count -= cut;
				memcpy(list, shorter, count * sizeof(*list));
				again = true;
			} else {
				at += cut;
			}
		}
		part = part > 1 ? part / 2 : 1;
	}
	free(shorter);
	return count;
}

static void print_replay(const struct sim_run *run, const struct sim_deviation *list, size_t count)
{
	(void)fprintf(stderr, "  replay: --scenario %s", run->scenario->name);
	if (run->frozen_point)
		(void)fprintf(stderr, " --freeze %u", run->frozen_point);
	(void)fprintf(stderr, " --replay '");
	for (size_t i = 0; i < count; i++)
		(void)fprintf(stderr, "%s%u:%u", i ? "," : "", list[i].step, list[i].chosen);
	(void)fprintf(stderr, "'\n");
}

static void print_failure(const struct sim_run *run)
{
	(void)fprintf(stderr, "%s: %s\n", run->scenario->name, sim_outcome.message);
	sim_print_race();
	(void)fprintf(stderr, "  thread %u:\n", sim_self);
	sim_print_calls(sim_me());
}

/* "SCENARIO WAY EXECUTION: ", for programs to read. */
static void report_briefly(const struct sim_run *run)
{
	const char *end = strchr(sim_outcome.message, '\n');
	int length = end ? (int)(end - sim_outcome.message) : (int)strlen(sim_outcome.message);

	(void)printf("%s %s %lu: %.*s\n", run->scenario->name, run->way, run->executions, length,
	             sim_outcome.message);
}

static void report(struct sim_run *run)
{
	const struct sim_deviation *made;
	size_t count = sim_choices_made(&made);
	struct sim_deviation *list = malloc((count + 1) * sizeof(*list));

	memcpy(list, made, count * sizeof(*list));
	(void)fprintf(stderr, "%s: fails in execution %lu (seed %lu): %s\n", run->scenario->name,
	              run->executions, (unsigned long)run->seed, sim_outcome.message);
	if (replay(run, list, count)) {
		count = shrink(run, list, count);
		sim_tracing = run->traced;
		(void)replay(run, list, count);
		sim_tracing = false;
		print_failure(run);
	} else {
		(void)fprintf(stderr, "%s: explorer: the replay does not fail\n",
		              run->scenario->name);
	}
	print_replay(run, list, count);
	free(list);
}

bool sim_replay(struct sim_run *run, const struct sim_deviation *list, size_t count)
{
	bool failed;

	sim_tracing = run->traced;
	failed = replay(run, list, count);
	sim_tracing = false;
	if (failed)
		print_failure(run);
	return failed;
}

static bool over(const struct sim_run *run, double until)
{
	return run->executions >= run->executions_max ||
	       (run->executions % 64 == 0 && seconds() > until);
}

static bool fails(struct sim_run *run)
{
	run->executions++;
	freeze_for(run);
	run_once(run->scenario);
	if (!sim_outcome.failed)
		return false;
	if (run->brief)
		report_briefly(run);
	else if (!run->scenario->fails)
		report(run);
	return true;
}

/* Until no execution is left within the bound: complete. A place newly found to be shared begins it
 * anew. */
bool sim_exhaust(struct sim_run *run)
{
	double until = seconds() + run->seconds;

	run->complete = false;
	if (run->skipped)
		return true;
	sim_choices_restart();
	do {
		sim_choices_begin(SIM_EXHAUSTIVE, 1, run->bound);
		sim_choices.weak = run->weak;
		if (fails(run))
			return false;
		if (sim_memory_shared_more())
			sim_choices_restart();
		else if (!sim_choices_next()) {
			run->complete = true;
			return true;
		}
	} while (!over(run, until));
	return true;
}

/*
 * Walks at random and by priorities, with and without old values, in turn. The first walk is
 * undisturbed: a loop in which a thread neither sleeps nor yields fails in each run, not by chance.
 */
bool sim_walk(struct sim_run *run)
{
	double until = seconds() + run->seconds;

	if (run->skipped)
		return true;
	do {
		uint64_t number = run->executions;

		sim_choices_begin(!number           ? SIM_REPLAY
		                  : number % 3 == 2 ? SIM_PCT
		                                    : SIM_RANDOM,
		                  run->seed ^ number << 20, 0);
		sim_choices_replay(NULL, 0);
		sim_choices.weak = run->weak && number % 2;
		if (fails(run))
			return false;
	} while (!over(run, until));
	return true;
}

/* Freezes the thread at its first, second, ... point, a number of walks each. */
bool sim_freeze(struct sim_run *run)
{
	unsigned long each = run->executions_max;
	unsigned long looks = sim_freeze_looks();
	bool came = true;

	for (run->frozen_point = 1; came && !run->skipped; run->frozen_point++) {
		came = false;
		for (unsigned long i = 0; i < each; i++) {
			uint64_t number = run->executions;

			sim_choices_begin(i % 3 == 2 ? SIM_PCT : SIM_RANDOM,
			                  run->seed ^ number << 20, 0);
			/* What it has stored long ago is seen by now. */
			sim_choices.weak = false;
			if (fails(run))
				return false;
			came |= sim_freeze_came();
		}
	}
	run->frozen_points = run->frozen_point - 2;
	run->looks = sim_freeze_looks() - looks;
	run->frozen_point = 0;
	return true;
}

bool sim_bytes(struct sim_run *run, const uint8_t *bytes, size_t size)
{
	sim_choices_begin(SIM_BYTES, 1, 0);
	sim_choices.weak = run->weak;
	sim_choices_bytes(bytes, size);
	return !fails(run);
}
