/* SPDX-License-Identifier: MIT */
/*
 * Looks up the figures that a goal names, and compares them.
 *
 * The best of several contenders is the one with the best median. The ratio to it is the median of
 * the runs' ratios if both are in one table, where runs alternate; else the medians' ratio.
 */
#include "goals.h"

#include "figures.h"
#include "harness.h"
#include "summary.h"

#include <fnmatch.h>
#include <math.h>
#include <string.h>

/* Copies `pattern`, a # in it replaced by the number. */
static void fill_in(char *text, size_t size, const char *pattern, unsigned number)
{
	size_t before = strcspn(pattern, "#");

	if (pattern[before])
		(void)snprintf(text, size, "%.*s%u%s", (int)before, pattern, number,
		               pattern + before + 1);
	else
		(void)snprintf(text, size, "%s", pattern);
}

static bool matches(const struct goal *goal, const char *contender)
{
	for (size_t i = 0; i < GOAL_AGAINST_MAX && goal->against[i]; i++)
		if (fnmatch(goal->against[i], contender, 0) == 0)
			return true;
	return false;
}

static const struct figure *best(const struct goal *goal, const char *group,
                                 const struct figure *mine)
{
	const struct figure *chosen = NULL;
	const struct figure *figure;

	for (size_t i = 0; (figure = figures_at(i)); i++) {
		if (figure == mine || figure->axis || strcmp(figure->group, group) != 0 ||
		    strcmp(figure->metric, mine->metric) != 0 || !matches(goal, figure->contender))
			continue;
		if (!chosen || (goal->at_most ? figure->summary.median < chosen->summary.median
		                              : figure->summary.median > chosen->summary.median))
			chosen = figure;
	}
	return chosen;
}

static void compare(struct goal_result *result, const struct figure *mine,
                    const struct figure *other)
{
	double ratios[SUMMARY_MAX];
	struct summary summary;

	(void)snprintf(result->against, sizeof(result->against), "%s", other->contender);
	result->measured = mine->summary.median / other->summary.median;
	if (strcmp(mine->group, other->group) != 0 || mine->runs != other->runs)
		return;
	for (unsigned r = 0; r < mine->runs; r++)
		ratios[r] = mine->samples[r] / other->samples[r];
	summary = summary_of(ratios, mine->runs);
	result->measured = summary.median;
	result->lower = summary.lower;
	result->upper = summary.upper;
}

static void evaluate(const struct goal *goal, unsigned number, struct goal_result *result)
{
	const struct figure *mine;
	const struct figure *other;
	char group[128];

	*result = (struct goal_result){
		.measured = NAN,
		.lower = NAN,
		.upper = NAN,
		.target = goal->factor,
		.at_most = goal->at_most,
		.stretch = goal->stretch,
		.ratio = goal->against[0] != NULL,
	};
	fill_in(result->text, sizeof(result->text), goal->text, number);
	fill_in(group, sizeof(group), goal->group, number);
	mine = figures_find(group, goal->contender, goal->metric, NAN);
	if (!mine)
		return;
	if (!goal->against[0]) {
		result->measured = mine->summary.median;
		result->lower = mine->summary.lower;
		result->upper = mine->summary.upper;
		return;
	}
	if (goal->against_group)
		fill_in(group, sizeof(group), goal->against_group, number);
	other = best(goal, group, mine);
	if (other)
		compare(result, mine, other);
}

bool goals_at(size_t index, struct goal_result *result)
{
	for (const struct goal *goal = goals; goal->text; goal++) {
		size_t count = 1;

		while (count < GOAL_NUMBERS_MAX && goal->numbers[count])
			count++;
		if (index < count) {
			evaluate(goal, goal->numbers[index], result);
			return true;
		}
		index -= count;
	}
	return false;
}

const char *goals_verdict(const struct goal_result *result)
{
	if (isnan(result->measured))
		return "not measured";
	if (result->at_most ? result->measured <= result->target
	                    : result->measured >= result->target)
		return "met";
	return "MISSED";
}

static void print_result(const struct goal_result *result)
{
	const char *times = result->ratio ? "x" : "";
	char measured[64] = "-";
	char target[64];

	(void)snprintf(target, sizeof(target), "%s %.4g%s",
	               result->at_most ? "<=" : ">=", result->target, times);
	if (!isnan(result->lower))
		(void)snprintf(measured, sizeof(measured), "%.3g%s (%.3g..%.3g)", result->measured,
		               times, result->lower, result->upper);
	else if (!isnan(result->measured))
		(void)snprintf(measured, sizeof(measured), "%.3g%s", result->measured, times);
	printf("  %-60s %-9s %-24s %-12s %s\n", result->text, target, measured,
	       goals_verdict(result), result->against);
}

void goals_print(void)
{
	struct goal_result result;
	unsigned met = 0;
	unsigned missed = 0;
	unsigned unknown = 0;

	printf("\nGoals, from the figures above (the ratio's middle half; against whom)\n");
	for (size_t i = 0; goals_at(i, &result); i++) {
		bool is_met = goals_verdict(&result)[0] == 'm';

		/* With --only most are not even looked at. */
		if (isnan(result.measured) && bench_options.only) {
			unknown++;
			continue;
		}
		print_result(&result);
		if (isnan(result.measured))
			unknown++;
		else if (!result.stretch)
			*(is_met ? &met : &missed) += 1;
	}
	printf("  %u met, %u missed (besides what is marked as stretch), %u not measured\n", met,
	       missed, unknown);
}
