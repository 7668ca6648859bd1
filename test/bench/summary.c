/* SPDX-License-Identifier: MIT */
/*
 * Medians and quartiles. A quantile between two values is interpolated.
 */
#include "summary.h"

#include <math.h>
#include <stdlib.h>

static int compare(const void *left, const void *right)
{
	double a = *(const double *)left;
	double b = *(const double *)right;

	return (a > b) - (a < b);
}

static double quantile(const double *sorted, unsigned count, double part)
{
	double place = part * (count - 1);
	unsigned below = (unsigned)place;

	if (below + 1 >= count)
		return sorted[count - 1];
	return sorted[below] + (place - below) * (sorted[below + 1] - sorted[below]);
}

struct summary summary_of(const double *values, unsigned count)
{
	double sorted[SUMMARY_MAX];
	unsigned used = 0;

	for (unsigned i = 0; i < count && i < SUMMARY_MAX; i++)
		if (!isnan(values[i]))
			sorted[used++] = values[i];
	if (used == 0)
		return (struct summary){NAN, NAN, NAN, NAN, NAN};
	qsort(sorted, used, sizeof(*sorted), compare);
	return (struct summary){
		.median = quantile(sorted, used, 0.5),
		.least = sorted[0],
		.most = sorted[used - 1],
		.lower = quantile(sorted, used, 0.25),
		.upper = quantile(sorted, used, 0.75),
	};
}
