/* SPDX-License-Identifier: MIT */
/* The command line of the stress program. */
#include "options.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sabotage.h"

struct options options = {.seconds = 10, .round = -1, .patience = 20};

static const struct option known[] = {
	{"seconds", required_argument, NULL, 's'},
	{"threads", required_argument, NULL, 't'},
	{"seed", required_argument, NULL, 'S'},
	{"resources", required_argument, NULL, 'r'},
	{"tasks", required_argument, NULL, 'n'},
	{"round", required_argument, NULL, 'R'},
	{"patience", required_argument, NULL, 'p'},
	{"break", required_argument, NULL, 'b'},
	{"list-breaks", no_argument, NULL, 'l'},
	{"quiet", no_argument, NULL, 'q'},
	{"only", required_argument, NULL, 'm'},
	{"hold", no_argument, NULL, 'o'},
	{"calm", no_argument, NULL, 'c'},
	{"help", no_argument, NULL, 'h'},
	{NULL, 0, NULL, 0},
};

static const char usage[] =
	"usage: stress [options]\n"
	"  --seconds N    how long (10)\n"
	"  --tasks N      so many operations instead\n"
	"  --threads N    in each round (2 to 64, by the seed)\n"
	"  --resources N  at a time (4 to 2000, by the seed)\n"
	"  --seed N       everything random but the schedule follows from it (the clock)\n"
	"  --round N      this round alone, until the time is over\n"
	"  --patience N   seconds without progress that count as hanging (20)\n"
	"  --only WHAT    core or modules (rounds of both, in turns)\n"
	"  --calm         no signals and no stopped threads\n"
	"  --hold         stays after a violation, for a debugger\n"
	"  --quiet        no progress\n"
	"  --break NAME   spoils the checker's own records once: it must complain\n"
	"  --list-breaks  the names\n";

static uint64_t number_of(const char *text)
{
	char *end;
	uint64_t number = strtoull(text, &end, 0);

	if (*text != '\0' && *end == '\0')
		return number;
	fprintf(stderr, "stress: not a number: %s\n", text);
	exit(2);
}

static void take_option(int option)
{
	switch (option) {
	case 's':
		options.seconds = (double)number_of(optarg);
		break;
	case 't':
		options.threads = (uint32_t)number_of(optarg);
		break;
	case 'S':
		options.seed = number_of(optarg);
		break;
	case 'r':
		options.places = (uint32_t)number_of(optarg);
		break;
	case 'n':
		options.tasks = number_of(optarg);
		break;
	case 'R':
		options.round = (int64_t)number_of(optarg);
		break;
	case 'p':
		options.patience = (uint32_t)number_of(optarg);
		break;
	case 'b':
		options.sabotage = optarg;
		break;
	case 'm':
		options.core_only = strcmp(optarg, "core") == 0;
		options.modules_only = strcmp(optarg, "modules") == 0;
		if (!options.core_only && !options.modules_only) {
			fputs(usage, stderr);
			exit(2);
		}
		break;
	case 'q':
		options.quiet = true;
		break;
	case 'c':
		options.calm = true;
		break;
	case 'o':
		options.hold = true;
		break;
	case 'l':
		sabotage_list();
		exit(0);
	case 'h':
		fputs(usage, stdout);
		exit(0);
	default:
		fputs(usage, stderr);
		exit(2);
	}
}

void options_parse(int argc, char **argv)
{
	struct timespec now;
	int option;

	clock_gettime(CLOCK_REALTIME, &now);
	options.seed = ((uint64_t)now.tv_sec * 1000000007U + (uint64_t)now.tv_nsec) % 1000000000U;
	while ((option = getopt_long(argc, argv, "", known, NULL)) != -1)
		take_option(option);
	if (optind < argc || options.threads > 256 || options.places > 1000000) {
		fputs(usage, stderr);
		exit(2);
	}
	if (options.sabotage && !sabotage_choose(options.sabotage)) {
		fprintf(stderr, "stress: no such break: %s\n", options.sabotage);
		exit(2);
	}
}

void options_print_rerun(uint64_t round)
{
	fprintf(stderr, "again: stress --seed %" PRIu64 " --round %" PRIu64, options.seed, round);
	if (options.threads)
		fprintf(stderr, " --threads %" PRIu32, options.threads);
	if (options.places)
		fprintf(stderr, " --resources %" PRIu32, options.places);
	if (options.core_only || options.modules_only)
		fprintf(stderr, " --only %s", options.core_only ? "core" : "modules");
	if (options.calm)
		fprintf(stderr, " --calm");
	if (options.sabotage)
		fprintf(stderr, " --break %s", options.sabotage);
	fputc('\n', stderr);
}
