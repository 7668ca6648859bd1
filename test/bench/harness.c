/* SPDX-License-Identifier: MIT */
/*
 * Alternating runs, medians, the tables on the terminal and the JSON file.
 */
#include "harness.h"

#include "machine.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define RUNS_MAX 64
#define DISTURBED_PERCENT 5

struct bench_options bench_options = {.runs = 7};

static FILE *json;
static bool json_first = true;

struct summary {
	double median;
	double least;
	double most;
};

static int compare(const void *left, const void *right)
{
	double a = *(const double *)left;
	double b = *(const double *)right;

	return (a > b) - (a < b);
}

static struct summary summarise(const double *values, unsigned count)
{
	double sorted[RUNS_MAX];

	memcpy(sorted, values, count * sizeof(*values));
	qsort(sorted, count, sizeof(*sorted), compare);
	return (struct summary){
		count % 2 ? sorted[count / 2] : (sorted[count / 2 - 1] + sorted[count / 2]) / 2,
		sorted[0],
		sorted[count - 1],
	};
}

bool bench_wanted(const char *name)
{
	return !bench_options.only || strstr(name, bench_options.only) != NULL;
}

unsigned bench_sample_ms(unsigned normal_ms)
{
	return bench_options.quick ? (normal_ms + 3) / 4 : normal_ms;
}

static void json_figure(const char *group, const char *contender, const char *metric,
                        struct summary summary, unsigned runs)
{
	if (!json || isnan(summary.median))
		return;
	fprintf(json,
	        "%s\n    {\"group\": \"%s\", \"contender\": \"%s\", \"metric\": \"%s\", "
	        "\"median\": %.6g, \"min\": %.6g, \"max\": %.6g, \"runs\": %u}",
	        json_first ? "" : ",", group, contender, metric, summary.median, summary.least,
	        summary.most, runs);
	json_first = false;
}

void bench_figure(const char *name, const char *metric, double value)
{
	if (!bench_wanted(name))
		return;
	printf("%s: %.4g %s\n", name, value, metric);
	json_figure(name, "baton", metric, (struct summary){value, value, value}, 1);
}

static void print_head(const struct bench_group *group)
{
	printf("\n%s\n%-34s", group->name, "");
	for (size_t m = 0; group->metrics[m]; m++)
		printf(" %24s%s", group->metrics[m], m == 0 ? "   ratio" : "");
	printf("\n");
}

/* The samples of one case: [metric][run]. */
typedef double samples[BENCH_METRICS_MAX][RUNS_MAX];

static void print_case(const struct bench_group *group, size_t index, samples *all, unsigned runs)
{
	double ratios[RUNS_MAX];

	for (unsigned r = 0; r < runs; r++)
		ratios[r] = all[index][0][r] / all[group->baseline][0][r];
	printf("  %-32s", group->cases[index].contender);
	for (size_t m = 0; group->metrics[m]; m++) {
		struct summary summary = summarise(all[index][m], runs);
		char text[64] = "-";

		if (!isnan(summary.median))
			(void)snprintf(text, sizeof(text), "%.4g (%.3g..%.3g)", summary.median,
			               summary.least, summary.most);
		printf(" %24s", text);
		json_figure(group->name, group->cases[index].contender, group->metrics[m], summary,
		            runs);
		if (m == 0)
			printf(" %6.2fx", summarise(ratios, runs).median);
	}
	printf("\n");
}

void bench_group(const struct bench_group *group)
{
	unsigned runs = bench_options.runs < RUNS_MAX ? bench_options.runs : RUNS_MAX;
	double warm_up[BENCH_METRICS_MAX];
	samples *all;

	if (!bench_wanted(group->name))
		return;
	all = calloc(group->case_count, sizeof(*all));
	if (!all)
		abort();
	for (size_t i = 0; i < group->case_count; i++)
		group->cases[i].run(group->cases[i].setup, warm_up);
	for (unsigned r = 0; r < runs; r++) {
		for (size_t i = 0; i < group->case_count; i++) {
			double values[BENCH_METRICS_MAX];

			for (size_t m = 0; m < BENCH_METRICS_MAX; m++)
				values[m] = NAN;

			group->cases[i].run(group->cases[i].setup, values);
			for (size_t m = 0; group->metrics[m]; m++)
				all[i][m][r] = values[m];
		}
	}
	print_head(group);
	for (size_t i = 0; i < group->case_count; i++)
		print_case(group, i, all, runs);
	if (group->note)
		printf("  (%s)\n", group->note);
	(void)fflush(stdout);
	free(all);
}

void bench_begin(const char *program)
{
	struct machine machine;

	(void)machine_others_percent();
	machine_describe(&machine);
	printf("%s: commit %s\nmachine: %s, %u CPUs usable, %s\n", program, machine.commit,
	       machine.cpu, machine.cpus, machine.kernel);
	printf("median (min..max) of %u alternated runs; ratio: median of the runs' ratios to the "
	       "first line of each table\n",
	       bench_options.runs);
	if (!bench_options.json)
		return;
	json = fopen(bench_options.json, "w");
	if (!json) {
		perror(bench_options.json);
		exit(2);
	}
	fprintf(json,
	        "{\n  \"commit\": \"%s\", \"cpu\": \"%s\", \"cpus\": %u, \"kernel\": \"%s\",\n"
	        "  \"figures\": [",
	        machine.commit, machine.cpu, machine.cpus, machine.kernel);
}

void bench_end(const char *budget)
{
	double others = machine_others_percent();

	printf("\nother programs and guests had %.1f %% of the CPU time%s\n", others,
	       others > DISTURBED_PERCENT ? ": THE FIGURES ARE DISTURBED, run it again" : "");
	if (!json)
		return;
	fprintf(json, "\n  ],\n  \"others_percent\": %.2f,\n  \"budget\": %s\n}\n", others,
	        budget ? budget : "[]");
	(void)fclose(json);
	json = NULL;
}
