/* SPDX-License-Identifier: MIT */
/*
 * The list of figures. There are some thousands at most, looked up a few times at the end.
 */
#include "figures.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static struct figure *figures;
static size_t figure_count;

static const char *copy(const char *text)
{
	const char *mine = text ? strdup(text) : NULL;

	if (text && !mine)
		abort();
	return mine;
}

void figures_add(const struct figure *figure)
{
	struct figure *added;
	size_t size = figure->runs * sizeof(double);
	double *samples;

	if (isnan(figure->summary.median))
		return;
	figures = realloc(figures, (figure_count + 1) * sizeof(*figures));
	if (!figures)
		abort();
	added = &figures[figure_count++];
	*added = *figure;
	added->group = copy(figure->group);
	added->contender = copy(figure->contender);
	added->metric = copy(figure->metric);
	added->axis = copy(figure->axis);
	samples = malloc(size);
	if (!samples)
		abort();
	memcpy(samples, figure->samples, size);
	added->samples = samples;
}

static bool same_x(double a, double b)
{
	return isnan(a) ? isnan(b) : fabs(a - b) <= 1e-9 * fabs(a);
}

const struct figure *figures_find(const char *group, const char *contender, const char *metric,
                                  double x)
{
	for (size_t i = 0; i < figure_count; i++) {
		const struct figure *figure = &figures[i];

		if (strcmp(figure->group, group) == 0 &&
		    strcmp(figure->contender, contender) == 0 &&
		    strcmp(figure->metric, metric) == 0 && same_x(figure->x, x))
			return figure;
	}
	return NULL;
}

const struct figure *figures_at(size_t index)
{
	return index < figure_count ? &figures[index] : NULL;
}

/* Is the word a unit of its own, alone ("us") or per something ("ns/task")? */
static bool is_unit(const char *word)
{
	static const char *const units[] = {"ns", "us", "ms", "s", "bytes", "KiB", "MiB"};
	size_t length = strcspn(word, "/");

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (strlen(units[i]) == length && strncmp(word, units[i], length) == 0)
			return true;
	return false;
}

const char *figures_unit(const char *metric)
{
	const char *comma = strrchr(metric, ',');
	const char *space = strrchr(metric, ' ');

	if (comma)
		return comma + 1 + strspn(comma + 1, " ");
	if (space && is_unit(space + 1))
		return space + 1;
	return metric;
}
