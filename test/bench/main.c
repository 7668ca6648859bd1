/* SPDX-License-Identifier: MIT */
/*
 * The benchmark: options, the workloads in turn, and at the end the counts (build/bench/counts, a
 * program of its own, since counting would slow the figures down).
 */
#include "harness.h"
#include "peers/peer.h"
#include "team.h"
#include "w8.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RUNS 7
#define RUNS_QUICK 5

/* In this order. A workload looks itself whether any of its groups is wanted. */
static void (*const workloads[])(void) = {
	bench_w1_uncontended, bench_w2_async,     bench_w2_sync,      bench_w3_many,
	bench_w4_pool,        bench_w5_wake,      bench_w6_broker,    bench_w6_seen,
	bench_w6_mix,         bench_w7_length,    bench_w8_tasks,     bench_w8_resources,
	bench_w8_threads,     bench_w8_memory,    bench_w9_lanes,     bench_w10_timers,
	bench_w11_waits,      bench_w12_tags,     bench_w13_trigger,  bench_w14_detach,
	bench_w15_fan_out,    bench_w16_bounds,   bench_w17_suspend,  bench_w18_hooks,
	bench_w19_undo,       bench_w20_registry, bench_w21_policies, bench_w22_readers,
	bench_w22_holds,
	bench_w23_overload,   bench_w23_modules,  bench_w24_load,     bench_w25_rules,
	bench_w25_admission,  bench_w26_mainloop, bench_w27_parallel, bench_w28_switch,
};

static void usage(FILE *to)
{
	fputs("usage: bench [--quick] [--deep] [--runs N] [--only TEXT] [--json FILE] "
	      "[--data DIR]\n"
	      "  --quick      shorter samples, and 5 runs\n"
	      "  --deep       W8 up to 10^8 tasks, too: some minutes, 4 GB of memory\n"
	      "  --runs N     runs of each case (7; at most 64)\n"
	      "  --only TEXT  only the tables with TEXT, or one of 'TEXT;TEXT', in their title\n"
	      "  --json FILE  the figures as JSON, too\n"
	      "  --data DIR   the figures as tables for the plots, too\n",
	      to);
}

static void parse(int argc, char **argv)
{
	static const struct option options[] = {
		{"quick", no_argument, NULL, 'q'},      {"deep", no_argument, NULL, 'd'},
		{"json", required_argument, NULL, 'j'}, {"data", required_argument, NULL, 't'},
		{"only", required_argument, NULL, 'o'}, {"runs", required_argument, NULL, 'r'},
		{"help", no_argument, NULL, 'h'},       {NULL, 0, NULL, 0},
	};
	unsigned runs = 0;
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 'q') {
			bench_options.quick = true;
		} else if (option == 'd') {
			bench_options.deep = true;
		} else if (option == 'j') {
			bench_options.json = optarg;
		} else if (option == 't') {
			bench_options.data = optarg;
		} else if (option == 'o') {
			bench_options.only = optarg;
		} else if (option == 'r') {
			runs = (unsigned)strtoul(optarg, NULL, 10);
		} else {
			usage(option == 'h' ? stdout : stderr);
			exit(option == 'h' ? 0 : 2);
		}
	}
	bench_options.runs = runs ? runs : bench_options.quick ? RUNS_QUICK : RUNS;
	if (optind < argc || bench_options.runs > BENCH_RUNS_MAX) {
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

	/* A process that measures its memory and says it to the one that started it. */
	if (argc == 4 && strcmp(argv[1], "--probe") == 0)
		return w8_probe(argv[2], strtoul(argv[3], NULL, 10));
	parse(argc, argv);
	team_be_multithreaded();
	bench_begin("baton bench");
	if (peers_missing())
		printf("left out, since they are not installed: %s\n", peers_missing());
	for (size_t i = 0; i < sizeof(workloads) / sizeof(workloads[0]); i++)
		workloads[i]();
	if (bench_wanted("counts"))
		budget = run_counts();
	bench_end(budget && budget[0] ? budget : NULL);
	free(budget);
	return 0;
}
