/* SPDX-License-Identifier: MIT */
/* baton-top's options. */
#include "top/top.h"

#include <baton/version.h>

#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char usage[] =
	"Usage: baton-top [OPTION]... PID|FILE\n"
	"       baton-top --trace SECONDS TRACE PID|FILE\n"
	"Shows what the resources of a program do. The program has made a board\n"
	"(baton_board_create): in memory, found by the process id, or in a file, which may be\n"
	"looked at after the program has died.\n"
	"\n"
	"  -1, --once            prints one look as text, over --delay seconds\n"
	"  -j, --json            prints one look as JSON\n"
	"  -d, --delay SECONDS   between two looks (default 1)\n"
	"  -n, --lines N         with --once: at most N resources\n"
	"  -s, --sort KEY        busy (the default; what is held up first), tasks, waiting,\n"
	"                        oldest, wait, run, failed, handoffs, refused, name; equal ones\n"
	"                        by tasks\n"
	"  -m, --match TEXT      only resources with TEXT in their names\n"
	"  -r, --resource NAME   the page of one resource\n"
	"  -t, --threads         prints who runs what, what is held up and why, who waits for\n"
	"                        whom, and pools\n"
	"  -T, --trace SECONDS   has the program write a trace to the file TRACE, for Perfetto;\n"
	"                        the program has a watchdog (baton_watchdog_create)\n"
	"  -h, --help            this text\n"
	"  -V, --version         the version\n"
	"\n"
	"Exit status: 0; 1: there is no board, or no such resource; 2: wrong usage.\n";

struct options {
	struct top_view view;
	size_t lines;
	double trace_s; /* 0: no trace */
	bool once, json, threads;
};

static void wrong(const char *what, const char *value)
{
	(void)fprintf(stderr, "baton-top: %s '%s'; baton-top --help tells more\n", what, value);
	exit(2);
}

static enum top_sort read_sort(const char *word)
{
	for (int sort = 0; sort < TOP_SORTS; sort++)
		if (!strcmp(word, top_sort_names[sort]))
			return (enum top_sort)sort;
	wrong("there is no sort key", word);
	return TOP_BY_BUSY;
}

static double read_number(const char *word, double least, double most)
{
	char *end, what[64];
	double number = strtod(word, &end);

	if (end == word || *end || !(number >= least && number <= most)) {
		(void)snprintf(what, sizeof(what), "this is no number from %.10g to %.10g:", least,
		               most);
		wrong(what, word);
	}
	return number;
}

static void read_options(struct options *options, int argc, char **argv)
{
	static const struct option names[] = {
		{"once", no_argument, NULL, '1'},           {"json", no_argument, NULL, 'j'},
		{"delay", required_argument, NULL, 'd'},    {"lines", required_argument, NULL, 'n'},
		{"sort", required_argument, NULL, 's'},     {"match", required_argument, NULL, 'm'},
		{"resource", required_argument, NULL, 'r'}, {"threads", no_argument, NULL, 't'},
		{"trace", required_argument, NULL, 'T'},    {"help", no_argument, NULL, 'h'},
		{"version", no_argument, NULL, 'V'},        {NULL, 0, NULL, 0},
	};
	int option;

	while ((option = getopt_long(argc, argv, "1jd:n:s:m:r:tT:hV", names, NULL)) != -1) {
		switch (option) {
		case '1':
			options->once = true;
			break;
		case 'j':
			options->json = true;
			break;
		case 'd':
			options->view.delay_s = read_number(optarg, 0.05, 3600);
			break;
		case 'n':
			options->lines = (size_t)read_number(optarg, 1, 1e9);
			break;
		case 's':
			options->view.sort = read_sort(optarg);
			break;
		case 'm':
			options->view.match = top_printable(optarg);
			break;
		case 'r':
			options->view.resource = top_printable(optarg);
			break;
		case 't':
			options->threads = true;
			break;
		case 'T':
			options->trace_s = read_number(optarg, 0.001, 3600);
			break;
		case 'h':
			(void)fputs(usage, stdout);
			exit(0);
		case 'V':
			(void)printf("baton-top %s\n", baton_version());
			exit(0);
		default:
			(void)fputs("baton-top --help tells more\n", stderr);
			exit(2);
		}
	}
	if (optind + 1 + (options->trace_s > 0) != argc) {
		(void)fputs(usage, stderr);
		exit(2);
	}
}

/* Rates need two looks. A program that does not run any more has no rates. */
static void look_twice(struct top_board *board, struct top_rows *rows,
                       const struct options *options)
{
	const double delay = options->view.delay_s / TOP_SAMPLES;
	const struct timespec pause = {(time_t)delay,
	                               (long)((delay - (double)(time_t)delay) * 1e9)};

	top_read(board, rows, options->view.sort);
	if (!board->running)
		return;
	for (int i = 0; i < TOP_SAMPLES; i++) {
		(void)nanosleep(&pause, NULL);
		top_sample(board, rows);
	}
	top_look(board);
	top_read(board, rows, options->view.sort);
}

static int print_once(struct top_board *board, const struct options *options)
{
	const struct top_part part = {options->view.sort, 0, options->lines};
	struct top_rows rows = {.match = options->view.match};
	const struct top_row *row;
	int status = 0;

	look_twice(board, &rows, options);
	if (options->json) {
		top_print_json(stdout, board, &rows);
	} else if (options->view.resource) {
		row = top_find(&rows, options->view.resource);
		if (row)
			top_print_resource(stdout, board, row);
		else
			status = 1;
		if (!row)
			(void)fprintf(stderr, "baton-top: there is no resource '%s'\n",
			              options->view.resource);
	} else if (options->threads) {
		top_print_threads(stdout, board, &rows);
		top_print_pools(stdout, board);
	} else {
		top_print_head(stdout, board, &rows, options->view.sort);
		top_print_rows(stdout, board, &rows, &part);
	}
	top_free(&rows);
	return fflush(stdout) ? 1 : status;
}

int main(int argc, char **argv)
{
	struct options options = {.view = {.delay_s = 1}};
	struct top_board board;
	int status;

	read_options(&options, argc, argv);
	if (options.trace_s > 0)
		return top_trace(argv[optind + 1], options.trace_s, argv[optind]);
	if (!top_attach(&board, argv[optind]))
		return 1;
	if (options.once || options.json || options.threads || !isatty(STDOUT_FILENO))
		status = print_once(&board, &options);
	else
		status = top_screen(&board, &options.view);
	top_detach(&board);
	return status;
}
