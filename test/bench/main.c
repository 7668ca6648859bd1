/* SPDX-License-Identifier: MIT */
/*
 * The benchmark: options, the workloads in turn, and at the end the counts (build/bench/counts, a
 * program of its own, since counting would slow the figures down).
 */
#include "harness.h"
#include "team.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void usage(FILE *to)
{
	fputs("usage: bench [--quick] [--runs N] [--only TEXT] [--json FILE] [--help]\n"
	      "  --quick      shorter samples: under 40 seconds in all\n"
	      "  --runs N     runs of each case (7; at most 64)\n"
	      "  --only TEXT  only the tables with TEXT in their title (W1, W2: ...)\n"
	      "  --json FILE  the figures as JSON, too\n",
	      to);
}

static void parse(int argc, char **argv)
{
	static const struct option options[] = {
		{"quick", no_argument, NULL, 'q'},      {"json", required_argument, NULL, 'j'},
		{"only", required_argument, NULL, 'o'}, {"runs", required_argument, NULL, 'r'},
		{"help", no_argument, NULL, 'h'},       {NULL, 0, NULL, 0},
	};
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 'q') {
			bench_options.quick = true;
		} else if (option == 'j') {
			bench_options.json = optarg;
		} else if (option == 'o') {
			bench_options.only = optarg;
		} else if (option == 'r') {
			bench_options.runs = (unsigned)strtoul(optarg, NULL, 10);
		} else {
			usage(option == 'h' ? stdout : stderr);
			exit(option == 'h' ? 0 : 2);
		}
	}
	if (optind < argc || bench_options.runs < 1 || bench_options.runs > 64) {
		usage(stderr);
		exit(2);
	}
}

/* Runs `counts`, which lies beside this program; its JSON, or NULL. To be freed. */
static char *run_counts(void)
{
	char path[4096 + 16];
	char json[] = "/tmp/baton-counts-XXXXXX";
	char command[sizeof(path) + 64];
	char *text = NULL;
	size_t size = 0;
	ssize_t length = readlink("/proc/self/exe", path, 4096);
	char *name;
	int fd;

	if (length <= 0)
		return NULL;
	path[length] = '\0';
	name = strrchr(path, '/');
	(void)snprintf(name + 1, 16, "counts");
	if (access(path, X_OK)) {
		printf("\n(no %s: the counts are left out)\n", path);
		return NULL;
	}
	fd = mkstemp(json);
	if (fd < 0)
		return NULL;
	printf("\n");
	(void)fflush(stdout);
	(void)snprintf(command, sizeof(command), "'%s' --json %s", path, json);
	(void)!system(command); /* its verdicts are in its output */
	text = calloc(1, 1 << 16);
	while (text && size < (1 << 16) - 1) {
		ssize_t more = read(fd, text + size, (1 << 16) - 1 - size);

		if (more <= 0)
			break;
		size += (size_t)more;
	}
	(void)close(fd);
	(void)unlink(json);
	return text;
}

int main(int argc, char **argv)
{
	char *budget = NULL;

	parse(argc, argv);
	team_be_multithreaded();
	bench_begin("baton bench");
	bench_w1_uncontended();
	bench_w2_async();
	bench_w2_sync();
	bench_w3_many();
	bench_w4_pool();
	bench_w5_wake();
	if (bench_wanted("counts"))
		budget = run_counts();
	bench_end(budget && budget[0] ? budget : NULL);
	free(budget);
	return 0;
}
