/* SPDX-License-Identifier: MIT */
/*
 * W23: the tables, one for each disturbance and number of producers.
 */
#include "harness.h"
#include "peers/peer.h"
#include "w23.h"

#include <stdio.h>

#define RUNS_MAX 3U
#define CASES_MAX 12

static struct w23_case *add(struct w23_case *cases, size_t *count, const struct w23_case *like,
                            const char *name, const struct w23_way *way)
{
	struct w23_case *made = &cases[(*count)++];

	*made = *like;
	made->contender = name;
	made->way = way;
	return made;
}

static size_t all_cases(struct w23_case *cases, const struct w23_case *like)
{
	static char names[CASES_MAX][64];
	size_t count = 0;

	(void)add(cases, &count, like, "pthread_mutex", &w23_mutex);
	(void)add(cases, &count, like, "baton submit", &w23_submit);
	(void)add(cases, &count, like, "baton post", &w23_post);
	for (size_t i = 0; peers[i]; i++) {
		const bool paused = like->disturbance == W23_PAUSE;

		if (!peers[i]->present || !peers[i]->queue_is_light ||
		    (paused && !peers[i]->job_submit))
			continue;
		for (int ring = 0; ring < 2 && count < CASES_MAX; ring++) {
			struct w23_case *made = add(cases, &count, like, peers[i]->name, &w23_peer);

			made->peer = peers[i];
			made->ring = ring;
			if (ring) {
				(void)snprintf(names[count - 1], sizeof(names[0]),
				               "%s, %u under way", peers[i]->name, W23_RING);
				made->contender = names[count - 1];
			}
		}
	}
	return count;
}

static void say_who_grew(const struct w23_case *cases, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (cases[i].grew)
			printf("  %s GROWS WITHOUT END: %u of %u runs were stopped at %u tasks\n",
			       cases[i].contender, cases[i].grew, bench_options.runs + 1,
			       W23_WAITING_MAX);
	(void)fflush(stdout);
}

/* The mutex, and a row for each set of modules. */
static size_t module_cases(struct w23_case *cases, const struct w23_case *like)
{
	static const struct w23_modules modules[] = {
		{.name = "baton post, nothing besides"},
		{.name = "  statistics", .stats = true},
		{.name = "  drain hooks", .hooks = true},
		{.name = "  tags", .tags = true},
		{.name = "  lanes", .lanes = true},
		{.name = "  bound, refuse", .bounded = true, .policy = BATON_BOUND_REFUSE},
		{.name = "  bound, drop the newest",
	         .bounded = true,
	         .policy = BATON_BOUND_DROP_NEWEST},
		{.name = "  bound, wait", .bounded = true, .policy = BATON_BOUND_WAIT},
		{.name = "  lanes, bound, drop the oldest",
	         .lanes = true,
	         .bounded = true,
	         .policy = BATON_BOUND_DROP_OLDEST},
		{.name = "  lanes, bound, drop the lowest",
	         .lanes = true,
	         .bounded = true,
	         .policy = BATON_BOUND_DROP_LOWEST},
		{.name = "  all of them",
	         .lanes = true,
	         .stats = true,
	         .hooks = true,
	         .tags = true,
	         .bounded = true,
	         .policy = BATON_BOUND_DROP_LOWEST},
	};
	size_t count = 0;

	_Static_assert(1 + sizeof(modules) / sizeof(modules[0]) <= CASES_MAX, "all fit");
	(void)add(cases, &count, like, "pthread_mutex", &w23_mutex);
	for (size_t i = 0; i < sizeof(modules) / sizeof(modules[0]); i++)
		add(cases, &count, like, modules[i].name, &w23_modules)->modules = &modules[i];
	return count;
}

static void run_group(const struct w23_case *like, const char *disturbance, bool modules)
{
	struct w23_case all[CASES_MAX];
	struct w23_case *setups[CASES_MAX];
	struct bench_case cases[CASES_MAX];
	char name[128];
	struct bench_group group = {
		.name = name,
		.metrics = w23_metrics,
		.cases = cases,
		.note = "tasks that have run, from when the disturbance was over; back: until 100 "
			"ms are at 0.8 of before; disturbance: how long its thread was at it",
	};

	(void)snprintf(name, sizeof(name), "W23%s: overload, %u producers, %s%s",
	               modules ? " modules" : "", like->producers, disturbance,
	               like->stages ? ", two stages" : "");
	if (!bench_wanted(name))
		return;
	group.case_count = modules ? module_cases(all, like) : all_cases(all, like);
	for (size_t i = 0; i < group.case_count; i++) {
		setups[i] = &all[i];
		cases[i] = (struct bench_case){all[i].contender, w23_run_case, &setups[i]};
	}
	bench_group(&group);
	say_who_grew(all, group.case_count);
}

void bench_w23_overload(void)
{
	static const unsigned producers[] = {2, 16, 64};
	static const struct {
		enum w23_disturbance disturbance;
		bool stages;
		const char *name;
	} disturbances[] = {
		{W23_PAUSE, false, "all paused for 20 ms"},
		{W23_BURSTS, false, "10 tasks of 30 us each"},
		{W23_SLOW_TASKS, false, "a task of 20 ms in 10"},
		{W23_PAUSE, true, "all paused for 20 ms"},
	};
	const unsigned runs = bench_options.runs;
	/* All of it takes a quarter of an hour. */
	const bool all = bench_options.deep || bench_options.only;

	bench_options.runs = runs < RUNS_MAX ? runs : RUNS_MAX;
	for (unsigned d = 0; d < sizeof(disturbances) / sizeof(disturbances[0]); d++)
		for (unsigned i = 0; i < sizeof(producers) / sizeof(producers[0]); i++)
			if (all || producers[i] == 16)
				run_group(&(struct w23_case){.producers = producers[i],
				                             .disturbance =
				                                     disturbances[d].disturbance,
				                             .stages = disturbances[d].stages},
				          disturbances[d].name, false);
	bench_options.runs = runs;
}

/* With modules: the same disturbances, 4 producers. */
void bench_w23_modules(void)
{
	static const struct {
		enum w23_disturbance disturbance;
		const char *name;
	} disturbances[] = {
		{W23_PAUSE, "all paused for 20 ms"},
		{W23_BURSTS, "10 tasks of 30 us each"},
		{W23_SLOW_TASKS, "a task of 20 ms in 10"},
	};
	const unsigned runs = bench_options.runs;
	/* All of it takes five minutes. */
	const size_t count = bench_options.deep || bench_options.only
	                             ? sizeof(disturbances) / sizeof(disturbances[0])
	                             : 1;

	bench_options.runs = runs < RUNS_MAX ? runs : RUNS_MAX;
	for (size_t d = 0; d < count; d++)
		run_group(&(struct w23_case){.producers = 4,
		                             .disturbance = disturbances[d].disturbance},
		          disturbances[d].name, true);
	bench_options.runs = runs;
}
