/* SPDX-License-Identifier: MIT */
/*
 * The explorer's command line: which scenarios, how long, how deep; one line of figures for each.
 */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "explore.h"

#define DEVIATIONS_MAX 4096
#define HANG_SECONDS 30
#define SELF_TEST_SECONDS 12 /* less than HANG_SECONDS / 2 */

struct options {
	const char *only; /* parts of names, NULL: all */
	const char *replay;
	const char *way; /* of searching; NULL: all */
	uint64_t seed;
	double seconds; /* per scenario and mode */
	unsigned long executions;
	unsigned bound;
	unsigned freeze;
	bool sc; /* no old values */
	bool trace;
	bool quiet;
	unsigned part; /* of `parts`, from 0 */
	unsigned parts;
	bool brief; /* one line of the first failure, and that is all */
	bool sites;
};

struct totals {
	unsigned passed;
	unsigned failed;
	unsigned long executions;
};

static struct sim_scenario *scenarios;
static const char *trying = "no scenario";

void sim_register(struct sim_scenario *scenario)
{
	struct sim_scenario **end = &scenarios;

	while (*end && strcmp((*end)->name, scenario->name) < 0)
		end = &(*end)->next;
	scenario->next = *end;
	*end = scenario;
}

static void usage(FILE *file)
{
	(void)fputs(
		"Runs the library under a scheduler that decides every interleaving.\n\n"
		"  --scenario TEXT    those whose name contains it, or one of several: TEXT,TEXT;\n"
		"                     =TEXT: that one\n"
		"  --way NAME         only: search (exhaustively), walk (at random), freeze\n"
		"  --part K/N         of these every N-th, from the K-th: to run N parts at once\n"
		"  --seconds N        per scenario and way of searching (default 1)\n"
		"  --executions N     at most (default 100000000); when freezing: per point\n"
		"  --bound N          exhaustive search: preemptions, old values, wakes for no\n"
		"                     reason and early timeouts, together (default 2)\n"
		"  --seed N           of the random walks (default: the time)\n"
		"  --sc               sequentially consistent memory: no old values\n"
		"  --replay LIST      one execution, as a failure has printed it\n"
		"  --freeze N         with --replay: the point at which the thread is frozen\n"
		"  --trace            print the steps of what fails\n"
		"  --quiet            print failures and the last line only\n"
		"  --brief            end with the first failure, and do not shorten it\n"
		"  --sites            print the places that each scenario has come to\n"
		"  --list             the scenarios\n\n"
		"  sim --scenario capture --seconds 10\n"
		"  sim --scenario hand_off --replay '31:1,44:2' --trace\n",
		file);
}

static uint64_t number(const char *text)
{
	char *end;
	unsigned long long value;

	errno = 0;
	value = strtoull(text, &end, 0);
	if (errno || end == text || *end) {
		(void)fprintf(stderr, "sim: not a number: %s\n", text);
		exit(2);
	}
	return value;
}

static size_t deviations_of(const char *text, struct sim_deviation *list)
{
	size_t count = 0;

	while (*text && count < DEVIATIONS_MAX) {
		int used = 0;

		if (sscanf(text, "%u:%u%n", &list[count].step, &list[count].chosen, &used) < 2) {
			(void)fprintf(stderr, "sim: not a list of STEP:CHOICE: %s\n", text);
			exit(2);
		}
		count++;
		text += used;
		if (*text == ',')
			text++;
	}
	return count;
}

static void list_scenarios(void)
{
	for (const struct sim_scenario *one = scenarios; one; one = one->next)
		(void)printf("%-28s %s\n", one->name, one->claim);
}

static bool set_option(struct options *options, int option)
{
	switch (option) {
	case 's':
		options->only = optarg;
		break;
	case 't':
		options->seconds = strtod(optarg, NULL);
		break;
	case 'n':
		options->executions = number(optarg);
		break;
	case 'b':
		options->bound = (unsigned)number(optarg);
		break;
	case 'S':
		options->seed = number(optarg);
		break;
	case 'c':
		options->sc = true;
		break;
	case 'r':
		options->replay = optarg;
		break;
	case 'f':
		options->freeze = (unsigned)number(optarg);
		break;
	case 'T':
		options->trace = true;
		break;
	case 'q':
		options->quiet = true;
		break;
	case 'P':
		if (sscanf(optarg, "%u/%u", &options->part, &options->parts) < 2 ||
		    options->part < 1 || options->part > options->parts)
			return false;
		options->part--;
		break;
	case 'w':
		options->way = optarg;
		break;
	case 'B':
		options->brief = true;
		break;
	case 'p':
		options->sites = true;
		break;
	default:
		return false;
	}
	return true;
}

static struct options parse(int argc, char **argv)
{
	static const struct option table[] = {
		{"scenario", required_argument, NULL, 's'},
		{"part", required_argument, NULL, 'P'},
		{"seconds", required_argument, NULL, 't'},
		{"executions", required_argument, NULL, 'n'},
		{"bound", required_argument, NULL, 'b'},
		{"seed", required_argument, NULL, 'S'},
		{"sc", no_argument, NULL, 'c'},
		{"replay", required_argument, NULL, 'r'},
		{"freeze", required_argument, NULL, 'f'},
		{"trace", no_argument, NULL, 'T'},
		{"quiet", no_argument, NULL, 'q'},
		{"way", required_argument, NULL, 'w'},
		{"brief", no_argument, NULL, 'B'},
		{"sites", no_argument, NULL, 'p'},
		{"list", no_argument, NULL, 'l'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	struct options options = {
		.seconds = 1,
		.executions = 100000000,
		.seed = (uint64_t)time(NULL),
		.parts = 1,
	};
	int option;

	while ((option = getopt_long(argc, argv, "", table, NULL)) != -1) {
		if (option == 'l') {
			list_scenarios();
			exit(0);
		}
		if (!set_option(&options, option)) {
			usage(option == 'h' ? stdout : stderr);
			exit(option == 'h' ? 0 : 2);
		}
	}
	if (optind != argc) {
		usage(stderr);
		exit(2);
	}
	return options;
}

static void print_figures(const struct sim_scenario *scenario, const struct sim_run *exhausted,
                          const struct sim_run *walked, const struct sim_run *frozen)
{
	(void)printf("%-28s %8lu %s bound %u, %8lu random", scenario->name, exhausted->executions,
	             exhausted->complete ? "(all)" : "     ", exhausted->bound, walked->executions);
	if (frozen->executions)
		(void)printf(", frozen at %u points: %lu, %lu looks", frozen->frozen_points,
		             frozen->executions, frozen->looks);
	(void)putchar('\n');
}

static void set_way(struct sim_run *run, const char *way, const struct options *options)
{
	run->way = way;
	run->skipped = options->way && strcmp(options->way, way);
}

/* What no scheduling point has stopped: says where, and ends. */
static void died(int signal)
{
	char text[200];
	int length = snprintf(text, sizeof(text), "%s died 0: signal %d\n", trying, signal);

	(void)!write(STDOUT_FILENO, text, (size_t)length);
	_exit(1);
}

static void watch_signals(void)
{
	static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGVTALRM};
	static unsigned char stack[65536];
	struct sigaction action = {.sa_handler = died, .sa_flags = SA_ONSTACK};

	(void)sigaltstack(&(stack_t){.ss_sp = stack, .ss_size = sizeof(stack)}, NULL);
	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		(void)sigaction(signals[i], &action, NULL);
}

/* A self-test: the explorer must find the failure. */
static bool finds_failure(struct sim_run *exhausted, struct sim_run *walked, struct sim_run *frozen)
{
	if (frozen->scenario->freeze)
		return sim_exhaust(exhausted) && sim_walk(walked) && !sim_freeze(frozen);

	bool by_search = !sim_exhaust(exhausted);
	bool by_walk = !sim_walk(walked);

	return by_search && by_walk;
}

static bool try_scenario(const struct sim_scenario *scenario, const struct options *options,
                         struct totals *totals)
{
	struct sim_run exhausted = {
		.scenario = scenario,
		.seed = options->seed,
		.bound = scenario->bound && !options->bound ? scenario->bound
	                 : options->bound                   ? options->bound
	                                                    : 2,
		.weak = !options->sc,
		.traced = options->trace,
		.brief = options->brief,
		.seconds = options->seconds,
		.executions_max = options->executions,
	};
	struct sim_run walked = exhausted;
	struct sim_run frozen = exhausted;
	/* Of the processor's time: a scenario that takes longer hangs between two points. */
	struct itimerval limit = {.it_value.tv_sec = (time_t)(3 * options->seconds) + HANG_SECONDS};
	bool good;

	set_way(&exhausted, "search", options);
	set_way(&walked, "walk", options);
	set_way(&frozen, "freeze", options);
	trying = scenario->name;
	(void)setitimer(ITIMER_VIRTUAL, &limit, NULL);

	if (options->sc && scenario->fails && scenario->weak_only)
		return true;
	frozen.executions_max = (unsigned long)(options->seconds * 60) + 1;
	if (scenario->fails) {
		/* Whatever the seed: a few walks may miss it. */
		frozen.executions_max += 100;
		/* Nor may a slow machine miss it. A search ends when it has found the failure. */
		if (!scenario->freeze && options->seconds < SELF_TEST_SECONDS)
			exhausted.seconds = walked.seconds = SELF_TEST_SECONDS;
		good = finds_failure(&exhausted, &walked, &frozen);
		if (!good)
			(void)fprintf(stderr, "%s: the explorer has not found its failure\n",
			              scenario->name);
	} else {
		good = (scenario->walk_only || sim_exhaust(&exhausted)) && sim_walk(&walked) &&
		       (!scenario->freeze || sim_freeze(&frozen));
		if (good && scenario->frozen && !frozen.looks) {
			(void)fprintf(stderr, "%s: nobody was frozen\n", scenario->name);
			good = false;
		}
	}
	totals->executions += exhausted.executions + walked.executions + frozen.executions;
	if (!options->quiet)
		print_figures(scenario, &exhausted, &walked, &frozen);
	return good;
}

static int replay(const struct options *options)
{
	static struct sim_deviation list[DEVIATIONS_MAX];
	struct sim_run run = {.traced = options->trace, .frozen_point = options->freeze};

	for (run.scenario = scenarios; run.scenario; run.scenario = run.scenario->next)
		if (options->only && !strcmp(run.scenario->name, options->only))
			break;
	if (!run.scenario) {
		(void)fprintf(stderr, "sim: --replay needs the --scenario's whole name\n");
		return 2;
	}
	if (!sim_replay(&run, list, deviations_of(options->replay, list))) {
		(void)printf("%s: does not fail\n", run.scenario->name);
		return 0;
	}
	return 1;
}

/* Does the name contain one of the texts, which commas part? */
static bool is_wanted(const char *name, const char *texts)
{
	while (texts) {
		const char *comma = strchr(texts, ',');
		size_t length = comma ? (size_t)(comma - texts) : strlen(texts);

		if (*texts == '=' && strlen(name) == length - 1 &&
		    !memcmp(name, texts + 1, length - 1))
			return true;
		if (memmem(name, strlen(name), texts, length))
			return true;
		texts = comma ? comma + 1 : NULL;
	}
	return false;
}

int main(int argc, char **argv)
{
	struct options options = parse(argc, argv);
	struct totals totals = {0, 0, 0};
	unsigned number = 0;

	watch_signals();
	if (options.replay)
		return replay(&options);
	for (const struct sim_scenario *one = scenarios; one; one = one->next) {
		if (options.only && !is_wanted(one->name, options.only))
			continue;
		if (options.brief && (totals.failed || one->fails))
			continue;
		if (number++ % options.parts != options.part)
			continue;
		if (try_scenario(one, &options, &totals))
			totals.passed++;
		else
			totals.failed++;
		if (options.sites)
			sim_print_sites(one->name);
		(void)fflush(stdout);
	}
	(void)printf("%lu interleavings, seed %lu\n", totals.executions,
	             (unsigned long)options.seed);
	/* As Criterion closes, for test/run.sh. */
	(void)printf("[====] Synthesis: Tested: %u | Passing: %u | Failing: %u\n",
	             totals.passed + totals.failed, totals.passed, totals.failed);
	return totals.failed || !totals.passed;
}
