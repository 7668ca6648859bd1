/* SPDX-License-Identifier: MIT */
/*
 * W8: memory, as processes of this same program report it that do nothing else (w8_probe.c).
 */
#include "w8.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

struct kind {
	const char *probe;
	double unit; /* bytes */
	bool whole;  /* of all together, not per piece */
};

static void run(const void *setup, double x, double *values)
{
	const struct kind *kind = setup;
	char path[4096];
	char command[sizeof(path) + 64];
	ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);
	double bytes;
	FILE *process;

	values[0] = NAN;
	if (length <= 0)
		return;
	path[length] = '\0';
	(void)snprintf(command, sizeof(command), "'%s' --probe %s %.0f", path, kind->probe, x);
	process = popen(command, "r");
	if (!process)
		return;
	if (fscanf(process, "%lf", &bytes) == 1)
		values[0] = bytes / kind->unit / (kind->whole ? 1 : x);
	if (pclose(process)) {
		fprintf(stderr, "W8: %s failed\n", command);
		abort();
	}
}

/* There is next to nothing that varies: three runs tell. */
static bool run_sweep(const struct bench_sweep *sweep)
{
	unsigned runs = bench_options.runs;
	bool done;

	bench_options.runs = runs < 3 ? runs : 3;
	done = bench_sweep(sweep);
	bench_options.runs = runs;
	return done;
}

static void waiting(const double *sizes, size_t count)
{
	static const char *const metrics[] = {"bytes/task", NULL};
	static const struct kind submitted = {"waiting-submitted", 1, false};
	static const struct kind posted = {"waiting-posted", 1, false};
	static const struct bench_series series[] = {
		{"baton submit", run, &submitted},
		{"baton post", run, &posted},
	};
	struct bench_sweep sweep = {
		.name = "W8: memory of tasks that wait",
		.axis = "tasks",
		.xs = sizes,
		.x_count = count,
		.metrics = metrics,
		.series = series,
		.series_count = 2,
		.note = "submit: the caller's task, 24 bytes; post: a node of the library's",
	};

	if (run_sweep(&sweep))
		w8_exponents(&sweep, "memory");
}

static void left(const double *sizes, size_t count)
{
	static const char *const metrics[] = {"KiB", NULL};
	static const struct kind streamed = {"streamed", 1024, true};
	static const struct kind drained = {"drained", 1024, true};
	static const struct bench_series series[] = {
		{"posts, 256 under way", run, &streamed},
		{"posts, all under way", run, &drained},
	};
	struct bench_sweep sweep = {
		.name = "W8: memory kept when all tasks have run",
		.axis = "tasks",
		.xs = sizes,
		.x_count = count,
		.metrics = metrics,
		.series = series,
		.series_count = 2,
		.note = "of all together; it must not grow; what malloc keeps is in it",
	};

	(void)run_sweep(&sweep);
}

static void idle(const double *sizes, size_t count)
{
	static const char *const metrics[] = {"bytes/resource", NULL};
	static const struct kind mutexes = {"mutexes", 1, false};
	static const struct kind resources = {"resources", 1, false};
	static const struct bench_series series[] = {
		{"pthread_mutex", run, &mutexes},
		{"baton", run, &resources},
	};
	struct bench_sweep sweep = {
		.name = "W8: memory of idle resources",
		.axis = "resources",
		.xs = sizes,
		.x_count = count,
		.metrics = metrics,
		.series = series,
		.series_count = 2,
		.note = "each was used once; without any state of the user's",
	};

	if (run_sweep(&sweep))
		w8_exponents(&sweep, "memory");
}

static void threads(void)
{
	static const char *const metrics[] = {"KiB/thread", NULL};
	static const double counts[] = {1, 2, 4, 8, 16, 32, 64};
	static const struct kind lock = {"threads-lock", 1024, false};
	static const struct kind submit = {"threads-submit", 1024, false};
	static const struct kind post = {"threads-post", 1024, false};
	static const struct bench_series series[] = {
		{"pthread_mutex", run, &lock},
		{"baton submit", run, &submit},
		{"baton post, 1000 at once", run, &post},
	};
	struct bench_sweep sweep = {
		.name = "W8: memory of threads",
		.axis = "threads",
		.xs = counts,
		.x_count = sizeof(counts) / sizeof(counts[0]),
		.metrics = metrics,
		.series = series,
		.series_count = 3,
		.note = "their stacks are in it; the nodes of the posts stay in the thread's cache",
	};

	if (run_sweep(&sweep))
		w8_exponents(&sweep, "memory");
}

void bench_w8_memory(void)
{
	double sizes[8];
	size_t count = w8_powers(sizes, 3, bench_options.deep ? 7 : bench_options.quick ? 5 : 6);

	waiting(sizes, count);
	left(sizes, count);
	idle(sizes, count);
	threads();
}
