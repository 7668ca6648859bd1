/* SPDX-License-Identifier: MIT */
/*
 * Which machine and which source the figures belong to; its clock, calibrated work.
 */
#include "machine.h"

#include "team.h"

#include <math.h>
#include <stdio.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S 1000000000U

#if defined(__clang__)
#define COMPILER "clang"
#else
#define COMPILER "gcc"
#endif

static void first_line(char *line, size_t size, const char *text)
{
	(void)snprintf(line, size, "%s", text);
	line[strcspn(line, "\n")] = '\0';
}

static void describe_cpu(struct machine *machine)
{
	char line[256];
	FILE *info = fopen("/proc/cpuinfo", "r");

	first_line(machine->cpu, sizeof(machine->cpu), "unknown CPU");
	while (info && fgets(line, sizeof(line), info)) {
		char *name = strchr(line, ':');

		if (strncmp(line, "model name", 10) == 0 && name) {
			first_line(machine->cpu, sizeof(machine->cpu), name + 2);
			break;
		}
	}
	if (info)
		(void)fclose(info);
}

static void describe_commit(struct machine *machine)
{
	char line[64] = "";
	const char *given = getenv("BATON_COMMIT");
	FILE *git;

	if (given) {
		first_line(machine->commit, sizeof(machine->commit), given);
		return;
	}
	git = popen("git describe --always --dirty 2>/dev/null", "r");
	if (git) {
		(void)!fgets(line, sizeof(line), git);
		(void)pclose(git);
	}
	first_line(machine->commit, sizeof(machine->commit), line[0] ? line : "unknown");
}

static void describe_date(struct machine *machine)
{
	time_t now = time(NULL);
	struct tm utc;

	if (!gmtime_r(&now, &utc) ||
	    strftime(machine->date, sizeof(machine->date), "%Y-%m-%dT%H:%M:%SZ", &utc) == 0)
		machine->date[0] = '\0';
}

void machine_describe(struct machine *machine)
{
	struct utsname name;
	char kernel[sizeof(name.sysname) + sizeof(name.release) + sizeof(name.machine) + 3] = "?";

	if (uname(&name) == 0)
		(void)snprintf(kernel, sizeof(kernel), "%s %s %s", name.sysname, name.release,
		               name.machine);
	first_line(machine->kernel, sizeof(machine->kernel), kernel);
	describe_cpu(machine);
	describe_commit(machine);
	describe_date(machine);
	(void)snprintf(machine->compiler, sizeof(machine->compiler), "%s %s", COMPILER,
	               __VERSION__);
	machine->cpus = team_cpus();
	machine->memory_mib =
		(double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE) / 1048576;
}

static double own_seconds(int who)
{
	struct rusage usage;

	(void)getrusage(who, &usage);
	return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
	       (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

/* Of all CPUs together: in all, and not idle. */
static bool all_seconds(double *total, double *busy)
{
	double ticks[8] = {0}; /* user nice system idle iowait irq softirq steal */
	FILE *stat = fopen("/proc/stat", "r");
	int count = 0;

	if (stat) {
		count = fscanf(stat, "cpu %lf %lf %lf %lf %lf %lf %lf %lf", &ticks[0], &ticks[1],
		               &ticks[2], &ticks[3], &ticks[4], &ticks[5], &ticks[6], &ticks[7]);
		(void)fclose(stat);
	}
	*total = 0;
	for (int i = 0; i < 8; i++)
		*total += ticks[i] / (double)sysconf(_SC_CLK_TCK);
	*busy = *total - (ticks[3] + ticks[4]) / (double)sysconf(_SC_CLK_TCK);
	return count == 8;
}

double machine_others_percent(void)
{
	static double first_total;
	static double first_others;
	double total;
	double others;

	if (!all_seconds(&total, &others))
		return NAN;
	others -= own_seconds(RUSAGE_SELF) + own_seconds(RUSAGE_CHILDREN);
	if (first_total == 0) {
		first_total = total;
		first_others = others;
		return 0;
	}
	/* Not below 0: the kernel counts the two by different clocks. */
	return fmax(0, 100 * (others - first_others) / (total - first_total));
}

uint64_t machine_now_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

void machine_sleep_ns(uint64_t ns)
{
	struct timespec span = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};

	while (nanosleep(&span, &span))
		;
}

/* From smaps_rollup: the counters in /proc/self/statm are not exact. */
double machine_memory_bytes(void)
{
	FILE *file = fopen("/proc/self/smaps_rollup", "r");
	char line[128];
	double kib = NAN;

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "Anonymous: %lf", &kib) == 1)
			break;
	if (file)
		(void)fclose(file);
	return kib * 1024;
}

double machine_ticks_per_ns(void)
{
	static double ticks_per_ns;

	if (ticks_per_ns == 0) {
		uint64_t start_ns = machine_now_ns();
		uint64_t start = machine_ticks();
		uint64_t ns;

		do {
			ns = machine_now_ns() - start_ns;
		} while (ns < 20000000);
		ticks_per_ns = (double)(machine_ticks() - start) / (double)ns;
	}
	return ticks_per_ns;
}

struct machine_work machine_work_of(double ns)
{
	static double rounds_per_ns;

	/* The fastest of some tries: the others were interrupted. */
	for (int i = 0; i < 20 && (rounds_per_ns == 0 || i > 0); i++) {
		struct machine_work work = {200000};
		uint64_t start = machine_now_ns();
		double rate;

		machine_work(work);
		rate = (double)work.rounds / (double)(machine_now_ns() - start);
		if (rate > rounds_per_ns)
			rounds_per_ns = rate;
	}
	return (struct machine_work){(uint64_t)(ns * rounds_per_ns)};
}
