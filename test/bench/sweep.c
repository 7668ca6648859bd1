/* SPDX-License-Identifier: MIT */
/*
 * Sweeps: a group of cases for each value on an axis.
 */
#include "harness.h"

#include "summary.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One point: its cases in turn, after a run each that does not count. */
static void run_point(const struct bench_sweep *sweep, double x, bench_samples *all)
{
	double warm_up[BENCH_METRICS_MAX];

	bench_warming_up(true);
	for (size_t i = 0; i < sweep->series_count; i++)
		sweep->series[i].run(sweep->series[i].setup, x, warm_up);
	bench_warming_up(false);
	for (unsigned r = 0; r < bench_options.runs; r++) {
		for (size_t i = 0; i < sweep->series_count; i++) {
			double values[BENCH_METRICS_MAX];

			for (size_t m = 0; m < BENCH_METRICS_MAX; m++)
				values[m] = NAN;
			sweep->series[i].run(sweep->series[i].setup, x, values);
			for (size_t m = 0; sweep->metrics[m]; m++)
				all[i][m][r] = values[m];
		}
	}
}

static void keep_point(const struct bench_sweep *sweep, double x, bench_samples *all)
{
	for (size_t i = 0; i < sweep->series_count; i++)
		for (size_t m = 0; sweep->metrics[m]; m++)
			bench_keep(sweep->name, sweep->series[i].contender, sweep->metrics[m],
			           sweep->axis, x, all[i][m], bench_options.runs);
}

/* The median and its spread: half of what the middle half of the runs spans. */
static void print_cell(const double *samples, const double *baseline, int width)
{
	struct summary summary = summary_of(samples, bench_options.runs);
	char text[64] = "-";
	double spread = 50 * (summary.upper - summary.lower) / summary.median;

	if (isfinite(spread))
		(void)snprintf(text, sizeof(text), "%.4g +-%.0f%%", summary.median, spread);
	else if (!isnan(summary.median))
		(void)snprintf(text, sizeof(text), "%.4g", summary.median);
	printf(" %*s", width, text);
	if (baseline)
		bench_print_ratio(samples, baseline);
}

static int width(const struct bench_sweep *sweep, size_t series)
{
	int length = (int)strlen(sweep->series[series].contender);

	return length > 16 ? length : 16;
}

static void print_metric(const struct bench_sweep *sweep, bench_samples *all, size_t metric)
{
	printf("  %s\n  %12s", sweep->metrics[metric], sweep->axis);
	for (size_t i = 0; i < sweep->series_count; i++)
		printf(" %*s%s", width(sweep, i), sweep->series[i].contender,
		       metric == 0 ? "   ratio" : "");
	printf("\n");
	for (size_t p = 0; p < sweep->x_count; p++) {
		bench_samples *point = &all[p * sweep->series_count];

		printf("  %12.10g", sweep->xs[p]);
		for (size_t i = 0; i < sweep->series_count; i++)
			print_cell(point[i][metric], metric == 0 ? point[sweep->baseline][0] : NULL,
			           width(sweep, i));
		printf("\n");
	}
}

bool bench_sweep(const struct bench_sweep *sweep)
{
	bench_samples *all;

	if (!bench_wanted(sweep->name))
		return false;
	all = calloc(sweep->x_count * sweep->series_count, sizeof(*all));
	if (!all)
		abort();
	for (size_t p = 0; p < sweep->x_count; p++) {
		run_point(sweep, sweep->xs[p], &all[p * sweep->series_count]);
		keep_point(sweep, sweep->xs[p], &all[p * sweep->series_count]);
	}
	printf("\n%s\n", sweep->name);
	for (size_t m = 0; sweep->metrics[m]; m++)
		print_metric(sweep, all, m);
	if (sweep->note)
		printf("  (%s)\n", sweep->note);
	(void)fflush(stdout);
	free(all);
	bench_save();
	return true;
}
