/* SPDX-License-Identifier: MIT */
/*
 * Alternating runs, and the tables on the terminal.
 */
#include "harness.h"

#include "distance.h"
#include "figures.h"
#include "goals.h"
#include "machine.h"
#include "record.h"
#include "summary.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DISTURBED_PERCENT 5
#define NAME_WIDTH 32
#define BENCH_CASES_MAX SUMMARY_MAX

/* Metrics with which a table shows all ranges; ranges that one with more of them shows. */
#define FULL_METRICS 4
#define RANGED_METRICS 2

struct bench_options bench_options;

static struct machine machine;
static bool warming_up;

/* Cuts the next text off a list: "W1;W2s". Titles have commas, and no semicolon. */
static char *next_text(char **rest)
{
	char *text = *rest;
	char *end = text ? strchr(text, ';') : NULL;

	if (end)
		*end++ = '\0';
	*rest = end;
	return text;
}

bool bench_wanted(const char *name)
{
	char texts[256];
	char *rest = texts;
	const char *text;

	if (!bench_options.only)
		return true;
	(void)snprintf(texts, sizeof(texts), "%s", bench_options.only);
	while ((text = next_text(&rest)))
		if (strstr(name, text))
			return true;
	return false;
}

void bench_warming_up(bool on)
{
	warming_up = on;
}

unsigned bench_sample_ms(unsigned normal_ms)
{
	return bench_options.quick || warming_up ? (normal_ms + 3) / 4 : normal_ms;
}

void bench_keep(const char *group, const char *contender, const char *metric, const char *axis,
                double x, const double *samples, unsigned runs)
{
	figures_add(&(struct figure){
		.group = group,
		.contender = contender,
		.metric = metric,
		.axis = axis,
		.x = x,
		.summary = summary_of(samples, runs),
		.runs = runs,
		.samples = samples,
	});
}

double bench_ratio(const double *samples, const double *baseline)
{
	double ratios[BENCH_RUNS_MAX];

	for (unsigned r = 0; r < bench_options.runs; r++)
		ratios[r] = samples[r] / baseline[r];
	return summary_of(ratios, bench_options.runs).median;
}

void bench_print_ratio(const double *samples, const double *baseline)
{
	double ratio = bench_ratio(samples, baseline);

	if (isfinite(ratio))
		printf(" %6.2fx", ratio);
	else
		printf("      - ");
}

void bench_save(void)
{
	record_write(&machine, &(struct record_end){.others_percent = machine_others_percent()});
}

void bench_figure_of(const char *name, const char *contender, const char *metric, double value)
{
	if (!bench_wanted(name))
		return;
	printf("%s: %.4g %s\n", name, value, metric);
	bench_keep(name, contender, metric, NULL, NAN, &value, 1);
}

void bench_figure(const char *name, const char *metric, double value)
{
	bench_figure_of(name, "baton", metric, value);
}

/* A table of many metrics shows the range of the first ones only, so that it stays readable. */
static bool shows_range(const struct bench_group *group, size_t metric)
{
	size_t count = 0;

	while (group->metrics[count])
		count++;
	return count <= FULL_METRICS || metric < RANGED_METRICS;
}

static int width(const struct bench_group *group, size_t metric)
{
	int length = (int)strlen(group->metrics[metric]);

	if (shows_range(group, metric))
		return 24;
	return length > 9 ? length : 9;
}

/* Of the column of names. */
static int name_width(const struct bench_group *group)
{
	size_t longest = NAME_WIDTH;

	for (size_t i = 0; i < group->case_count; i++)
		if (strlen(group->cases[i].contender) > longest)
			longest = strlen(group->cases[i].contender);
	return (int)longest;
}

static void print_head(const struct bench_group *group)
{
	printf("\n%s\n  %-*s", group->name, name_width(group), "");
	for (size_t m = 0; group->metrics[m]; m++)
		printf(" %*s%s", width(group, m), group->metrics[m], m == 0 ? "   ratio" : "");
	printf("\n");
}

/* A contender whose name is indented continues the one above it: "mutex", "  with x". */
static void full_name(const struct bench_group *group, size_t index, char *name, size_t size)
{
	size_t above = index;

	while (above > 0 && group->cases[above].contender[0] == ' ')
		above--;
	if (above == index)
		(void)snprintf(name, size, "%s", group->cases[index].contender);
	else
		(void)snprintf(name, size, "%s, %s", group->cases[above].contender,
		               group->cases[index].contender +
		                       strspn(group->cases[index].contender, " "));
}

static void print_case(const struct bench_group *group, size_t index, bench_samples *all)
{
	char name[128];

	full_name(group, index, name, sizeof(name));
	printf("  %-*s", name_width(group), group->cases[index].contender);
	for (size_t m = 0; group->metrics[m]; m++) {
		struct summary summary = summary_of(all[index][m], bench_options.runs);
		char text[64] = "-";

		if (!isnan(summary.median) && shows_range(group, m))
			(void)snprintf(text, sizeof(text), "%.4g (%.3g..%.3g)", summary.median,
			               summary.least, summary.most);
		else if (!isnan(summary.median))
			(void)snprintf(text, sizeof(text), "%.4g", summary.median);
		printf(" %*s", width(group, m), text);
		bench_keep(group->name, name, group->metrics[m], NULL, NAN, all[index][m],
		           bench_options.runs);
		if (m == 0)
			bench_print_ratio(all[index][0], all[group->baseline][0]);
	}
	printf("\n");
}

/* How far apart the CPUs were before each run: [case][run]. */
typedef double distances[BENCH_RUNS_MAX];

static bool in_state(double distance, bool far)
{
	return !isnan(distance) && (distance >= DISTANCE_FAR_NS) == far;
}

/* The median of the case's first metric over its runs in this state; NAN: there were none. */
static double median_in(const double *samples, const double *apart, bool far)
{
	double picked[BENCH_RUNS_MAX];
	unsigned count = 0;

	for (unsigned r = 0; r < bench_options.runs; r++)
		if (in_state(apart[r], far))
			picked[count++] = samples[r];
	return count ? summary_of(picked, count).median : NAN;
}

static double median_distance(const struct bench_group *group, distances *apart, bool far,
                              unsigned *count)
{
	double medians[BENCH_CASES_MAX];
	unsigned cases = 0;

	*count = 0;
	for (size_t i = 0; i < group->case_count; i++) {
		double median = median_in(apart[i], apart[i], far);

		for (unsigned r = 0; r < bench_options.runs; r++)
			*count += in_state(apart[i][r], far);
		if (!isnan(median) && cases < BENCH_CASES_MAX)
			medians[cases++] = median;
	}
	return cases ? summary_of(medians, cases).median : NAN;
}

/* How far apart the CPUs were; and the figures of each state, if the baseline was run in both. */
static void print_states(const struct bench_group *group, bench_samples *all, distances *apart)
{
	static const char *const names[] = {"near", "far"};
	unsigned counts[2];
	double ns[2];

	for (int far = 0; far < 2; far++)
		ns[far] = median_distance(group, apart, far, &counts[far]);
	if (!counts[0] && !counts[1])
		return;
	printf("  CPU to CPU and back:");
	for (int far = 0; far < 2; far++)
		if (counts[far])
			printf("%s %.0f ns in %u samples (%s)", far && counts[0] ? "," : "",
			       ns[far], counts[far], names[far]);
	printf("\n");
	if (isnan(median_in(apart[group->baseline], apart[group->baseline], false)) ||
	    isnan(median_in(apart[group->baseline], apart[group->baseline], true)))
		return;
	printf("  %-*s %16s    ratio %16s    ratio\n", name_width(group), group->metrics[0],
	       names[0], names[1]);
	for (size_t i = 0; i < group->case_count; i++) {
		printf("  %-*s", name_width(group), group->cases[i].contender);
		for (int far = 0; far < 2; far++) {
			size_t base = group->baseline;
			double median = median_in(all[i][0], apart[i], far);
			double ratio = median / median_in(all[base][0], apart[base], far);

			if (isnan(ratio))
				printf(" %16s        -", "-");
			else
				printf(" %16.4g %7.2fx", median, ratio);
		}
		printf("\n");
	}
}

void bench_group(const struct bench_group *group)
{
	double warm_up[BENCH_METRICS_MAX];
	bench_samples *all;
	distances *apart;

	if (!bench_wanted(group->name))
		return;
	all = calloc(group->case_count, sizeof(*all));
	apart = calloc(group->case_count, sizeof(*apart));
	if (!all || !apart)
		abort();
	bench_warming_up(true);
	for (size_t i = 0; i < group->case_count; i++)
		group->cases[i].run(group->cases[i].setup, warm_up);
	bench_warming_up(false);
	for (unsigned r = 0; r < bench_options.runs; r++) {
		for (size_t i = 0; i < group->case_count; i++) {
			double values[BENCH_METRICS_MAX];

			for (size_t m = 0; m < BENCH_METRICS_MAX; m++)
				values[m] = NAN;
			apart[i][r] = distance_ns();
			group->cases[i].run(group->cases[i].setup, values);
			for (size_t m = 0; group->metrics[m]; m++)
				all[i][m][r] = values[m];
		}
	}
	print_head(group);
	for (size_t i = 0; i < group->case_count; i++)
		print_case(group, i, all);
	if (group->note)
		printf("  (%s)\n", group->note);
	print_states(group, all, apart);
	(void)fflush(stdout);
	free(apart);
	free(all);
	bench_save();
}

void bench_begin(const char *program)
{
	(void)machine_others_percent();
	machine_describe(&machine);
	printf("%s: commit %s, %s\nmachine: %s, %u CPUs usable, %s, %s\n", program, machine.commit,
	       machine.date, machine.cpu, machine.cpus, machine.kernel, machine.compiler);
	printf("median (min..max) of %u alternated runs, or median +- half of the middle half; "
	       "ratio: "
	       "median of the runs' ratios to each table's first contender\n",
	       bench_options.runs);
	bench_save();
}

void bench_end(const char *budget)
{
	struct record_end end = {
		.complete = true,
		.others_percent = machine_others_percent(),
		.budget = budget,
	};

	goals_print();
	record_write(&machine, &end);
	printf("\nother programs and guests had %.1f %% of the CPU time%s\n", end.others_percent,
	       end.others_percent > DISTURBED_PERCENT ? ": THE FIGURES ARE DISTURBED, run it again"
	                                              : "");
}
