/* SPDX-License-Identifier: MIT */
/*
 * What baton is to reach, as ratios between figures of one run, and whether it has.
 */
#ifndef BATON_BENCH_GOALS_H
#define BATON_BENCH_GOALS_H

#include <stdbool.h>
#include <stddef.h>

#define GOAL_NUMBERS_MAX 4
#define GOAL_AGAINST_MAX 6

/*
 * A goal's figure must be at least (at most) `factor` times the best one of those of `against`, or,
 * if that is empty, `factor` itself.
 */
struct goal {
	/* For people; in this and in the groups a # stands for each of the numbers in turn. */
	const char *text;
	const char *group, *contender, *metric;
	const char *against[GOAL_AGAINST_MAX]; /* contenders; patterns, as of fnmatch(3) */
	const char *against_group;             /* NULL: the same group */
	double factor;
	bool at_most;
	bool stretch; /* more than is asked for */
	unsigned numbers[GOAL_NUMBERS_MAX];
};

/* All of them; ends with one without a text. */
extern const struct goal goals[];

struct goal_result {
	char text[128];
	char against[96];    /* whose figure was the best; "" if there is none to compare with */
	double measured;     /* the ratio, or the figure; NAN: not measured */
	double lower, upper; /* its quartiles over the runs, where the runs are pairs; else NAN */
	double target;
	bool at_most, stretch;
	bool ratio; /* to somebody else's figure */
};

/* The `index`-th goal's result, from the figures of this run; false if there are not as many. */
bool goals_at(size_t index, struct goal_result *result);

/* "met", "MISSED", "not measured" */
const char *goals_verdict(const struct goal_result *result);

/* A table of those that were measured, at least in part; and how many were not. */
void goals_print(void);

#endif
