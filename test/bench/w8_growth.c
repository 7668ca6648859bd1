/* SPDX-License-Identifier: MIT */
/* W8: how fast a cost grows: the exponent of a power, fitted by least squares. */
#include "w8.h"

#include "figures.h"

#include <math.h>

/* What is lost to measuring, of an exponent. */
#define TOLERANCE 0.05

size_t w8_powers(double *sizes, unsigned first, unsigned last)
{
	size_t count = 0;

	for (unsigned power = first; power <= last; power++)
		sizes[count++] = pow(10, power);
	return count;
}

/* Small sizes have costs of their own that do not grow: the larger half counts, at least three. */
static size_t first_of(const struct bench_sweep *sweep)
{
	return sweep->x_count / 2 + 3 > sweep->x_count ? sweep->x_count - 3 : sweep->x_count / 2;
}

static double exponent(const struct bench_sweep *sweep, const char *contender)
{
	double n = 0;
	double sum_x = 0;
	double sum_y = 0;
	double sum_xx = 0;
	double sum_xy = 0;

	for (size_t i = first_of(sweep); i < sweep->x_count; i++) {
		const struct figure *figure =
			figures_find(sweep->name, contender, sweep->metrics[0], sweep->xs[i]);
		double x = log10(sweep->xs[i]);
		double y;

		if (!figure || figure->summary.median <= 0)
			continue;
		y = log10(figure->summary.median) + x;
		n += 1;
		sum_x += x;
		sum_y += y;
		sum_xx += x * x;
		sum_xy += x * y;
	}
	return n < 2 ? NAN : (n * sum_xy - sum_x * sum_y) / (n * sum_xx - sum_x * sum_x);
}

static const char *verdict(double exponent, double baseline)
{
	if (isnan(exponent))
		return "not measured";
	if (exponent <= 1 + TOLERANCE)
		return "linear or better";
	if (exponent <= baseline + TOLERANCE)
		return "no worse than the first one's";
	return "GROWS FASTER THAN LINEAR";
}

void w8_exponents(const struct bench_sweep *sweep, const char *what)
{
	double baseline = exponent(sweep, sweep->series[sweep->baseline].contender);
	char name[128];

	(void)snprintf(name, sizeof(name), "%s, exponent", sweep->name);
	printf("  exponent of the %s, from %.0f to %.0f %s (1: linear)\n", what,
	       sweep->xs[first_of(sweep)], sweep->xs[sweep->x_count - 1], sweep->axis);
	for (size_t i = 0; i < sweep->series_count; i++) {
		const char *contender = sweep->series[i].contender;
		double mine = exponent(sweep, contender);

		printf("    %-34s %6.3f  %s\n", contender, mine, verdict(mine, baseline));
		bench_keep(name, contender, what, NULL, NAN, &mine, 1);
	}
}
