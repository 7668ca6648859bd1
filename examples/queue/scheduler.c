/* SPDX-License-Identifier: MIT */
/*
 * A scheduler of a queue: decides which jobs may start. Several may run; one leads, and another
 * takes over when it is lost.
 */
#include "common.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
	"Usage: scheduler [OPTION...]\n"
	"Decides which jobs of a queue may start, and how long each may run.\n\n"
	"  --limits N,N,...        how many run at once: of all classes, of the second and slower\n"
	"                          ones, ...; with %: of the backends (100%,50%,25%)\n"
	"  --durations S,S,...     how long a job of each class may run, in seconds (3,10,30)\n"
	"  --reserve N             backends that interactive jobs may always use (0)\n"
	"  --policy NAME           which job is shortened or halted: overrun, oldest, random\n"
	"  --lease S               another one leads so long after this one is lost (3)\n"
	"  --effects N             what jobs came to is kept for readers: so many, about (10000);\n"
	"                          0: all, until each reader has acknowledged it\n"
	"  --queue-max N           how many jobs may wait; submitters of more wait for room\n"
	"                          (--room), or are refused (0: no limit)\n"
	"  --queue-bytes N         the same of the bytes of commands and files of all jobs\n"
	"  --verbose               print each decision\n" CONNECTION_HELP
	"Exit status: 0: SIGINT or SIGTERM; 64: an option is wrong; 69: no Redis, or it refuses;\n"
	"70: no memory, or no signals.\n";

#define DURATIONS 3 /* of baton_rules_init() */

static uint32_t parse_limits(struct baton_redis_scheduler_options *options, char *text)
{
	uint32_t count = 0;

	for (char *word = strtok(text, ","); word; word = strtok(NULL, ",")) {
		char *end;
		unsigned long limit = strtoul(word, &end, 10);

		if (end == word || (*end && strcmp(end, "%") != 0) ||
		    count == BATON_RULES_CLASSES_MAX || limit > UINT32_MAX)
			die(EXIT_USAGE, "not a limit: %s", word);
		if (count > 0 && options->percent != (*end == '%'))
			die(EXIT_USAGE, "%s: all limits are percentages, or none", word);
		options->percent = *end == '%';
		options->rules.limit[count++] = (uint32_t)limit;
	}
	return count;
}

static uint32_t parse_durations(struct baton_redis_scheduler_options *options, char *text)
{
	uint32_t count = 0;

	for (char *word = strtok(text, ","); word; word = strtok(NULL, ",")) {
		if (count == BATON_RULES_CLASSES_MAX)
			die(EXIT_USAGE, "more than %d classes", BATON_RULES_CLASSES_MAX);
		options->rules.duration_ns[count++] = parse_seconds(word);
	}
	return count;
}

static enum baton_rules_policy parse_policy(const char *text)
{
	static const char *const names[] = {"overrun", "oldest", "random"};

	for (int i = 0; i < 3; i++)
		if (strcmp(text, names[i]) == 0)
			return (enum baton_rules_policy)i;
	die(EXIT_USAGE, "not a policy: %s", text);
}

static void decided(void *arg, const struct baton_redis_decision *decision)
{
	char name[16];

	(void)arg;
	printf("%s %s %s", decision->what, decision->id, class_name(decision->kind, name));
	if (decision->ns == BATON_NEVER)
		printf(" unlimited");
	else if (decision->ns > 0)
		printf(" %.3f s", (double)decision->ns / (double)BATON_SECOND);
	printf("\n");
	fflush(stdout);
}

static void parse(int argc, char **argv, struct baton_redis_options *connection,
                  struct baton_redis_scheduler_options *options)
{
	static const struct option known[] = {
		{"limits", required_argument, NULL, 'l'},
		{"durations", required_argument, NULL, 'd'},
		{"reserve", required_argument, NULL, 'r'},
		{"policy", required_argument, NULL, 'p'},
		{"lease", required_argument, NULL, 'e'},
		{"effects", required_argument, NULL, 'f'},
		{"queue-max", required_argument, NULL, 'q'},
		{"queue-bytes", required_argument, NULL, 'b'},
		{"verbose", no_argument, NULL, 'v'},
		CONNECTION_OPTIONS,
	};
	char all[] = "100%,50%,25%";
	uint32_t limits = 0;
	uint32_t durations = 0;
	int option;

	while ((option = getopt_long(argc, argv, "", known, NULL)) != -1) {
		if (option == 'l')
			limits = parse_limits(options, optarg);
		else if (option == 'd')
			durations = parse_durations(options, optarg);
		else if (option == 'r')
			options->rules.reserve = (uint32_t)parse_number(optarg, UINT32_MAX);
		else if (option == 'p')
			options->rules.policy = parse_policy(optarg);
		else if (option == 'e')
			options->lease_ns = parse_seconds(optarg);
		else if (option == 'f')
			options->effects_max = parse_number(optarg, UINT64_MAX);
		else if (option == 'q')
			options->queue_max = parse_number(optarg, UINT64_MAX);
		else if (option == 'b')
			options->queue_bytes_max = parse_number(optarg, UINT64_MAX);
		else if (option == 'v')
			options->decided = decided;
		else
			connection_option(connection, option, help);
	}
	if (optind < argc)
		connection_option(connection, '?', help);
	if (limits == 0)
		limits = parse_limits(options, all);
	if (durations == 0)
		durations = DURATIONS; /* the default */
	if (durations != limits)
		die(EXIT_USAGE, "%u limits, but %u durations: a class has one of each", limits,
		    durations);
	options->rules.class_count = limits;
}

int main(int argc, char **argv)
{
	static const int signals[] = {SIGINT, SIGTERM, 0};
	struct baton_redis_options connection = {0};
	struct baton_redis_scheduler_options options = {.effects_max = 10000};
	struct baton_redis_scheduler *scheduler;
	struct baton_redis *redis;
	uint64_t epoch = 0;
	bool failing = false;
	int signal_fd;

	program = "scheduler";
	parse(argc, argv, &connection, &options);
	redis = connect_or_die(&connection);
	if (baton_redis_scheduler_create(redis, &options, &scheduler))
		die(EXIT_USAGE, "%s", baton_redis_error(redis));
	signal_fd = signal_descriptor(signals);
	while (next_signal(signal_fd) == 0) {
		int error = baton_redis_scheduler_run(scheduler, BATON_SECOND / 2);

		if (error && !failing)
			complain("%s; trying again", baton_redis_error(redis));
		if (error)
			poll(&(struct pollfd){.fd = signal_fd, .events = POLLIN}, 1, 500);
		else if (failing)
			complain("going on");
		failing = error != 0;
		if (baton_redis_scheduler_epoch(scheduler) != epoch) {
			epoch = baton_redis_scheduler_epoch(scheduler);
			printf(epoch ? "leads, epoch %" PRIu64 "\n" : "leads no more\n", epoch);
			fflush(stdout);
		}
	}
	baton_redis_scheduler_destroy(scheduler);
	baton_redis_destroy(redis);
	return 0;
}
