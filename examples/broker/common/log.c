/* SPDX-License-Identifier: MIT */
/* The log; see log.h. */
#include "common/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <baton/bound.h>
#include <baton/pool.h>
#include <baton/resource.h>

#include "common/atomic.h"
#include "common/printable.h"

#define LOG_LINE_SIZE 512
#define LOG_STOP_S 2

static const char *const level_names[] = {"error", "warning", "info", "debug"};

static struct {
	struct baton_resource resource;
	struct baton_resource_config config;
	struct baton_bound bound; /* on the lines that wait */
	bool started;
	int level;       /* atomic */
	size_t lost;     /* atomic: lines lost since the last one that was written */
	time_t second;   /* atomic: the second in which `warnings` are counted */
	size_t warnings; /* atomic */
} log_state = {.level = LOG_LEVEL_WARNING};

struct line {
	struct baton_task task;
	size_t size;
	char text[LOG_LINE_SIZE];
};

void log_level_set(const char *word)
{
	int level = 0;

	while (level < LOG_LEVEL_DEBUG && strcmp(word, level_names[level]) != 0)
		level++;
	store_relaxed(&log_state.level, level); /* orders nothing */
}

bool log_wants(enum log_level level)
{
	return (int)level <= load_relaxed(&log_state.level);
}

static void log_write(const char *text, size_t size)
{
	while (size > 0) { /* ends: each turn writes something, or gives up */
		const ssize_t written = write(STDERR_FILENO, text, size);

		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0)
			return; /* there is no other place to log it */
		text += written;
		size -= (size_t)written;
	}
}

static size_t line_begin(char *text, size_t size, enum log_level level)
{
	struct timespec now;
	struct tm parts;
	size_t used;

	clock_gettime(CLOCK_REALTIME, &now);
	gmtime_r(&now.tv_sec, &parts);
	used = strftime(text, size, "%Y-%m-%dT%H:%M:%S", &parts);
	return used + (size_t)snprintf(text + used, size - used, ".%03ldZ %s ",
	                               now.tv_nsec / 1000000, level_names[level]);
}

/* Ends the line. Makes it one printable line: a client id may hold almost any character. */
static size_t line_end(char *text, size_t size, size_t used)
{
	if (used > size - 2)
		used = size - 2;
	printable(text, used);
	text[used++] = '\n';
	return used;
}

static int log_run(struct baton_task *task)
{
	struct line *line = baton_container_of(task, struct line, task);
	const size_t lost = swap_relaxed(&log_state.lost, 0);
	char text[LOG_LINE_SIZE];
	size_t used;

	if (lost > 0) {
		used = line_begin(text, sizeof(text), LOG_LEVEL_WARNING);
		used += (size_t)snprintf(text + used, sizeof(text) - used,
		                         "%zu lines of the log were lost here", lost);
		log_write(text, line_end(text, sizeof(text), used));
	}
	log_write(line->text, line->size);
	free(line);
	return 0;
}

/* The bound has dropped the line. Any thread. */
static void log_lose(struct baton_task *task)
{
	add_relaxed(&log_state.lost, 1); /* a count; orders nothing */
	free(baton_container_of(task, struct line, task));
}

static void log_submit(struct line *line)
{
	if (!log_state.started) {
		log_write(line->text, line->size);
		free(line);
		return;
	}
	baton_task_init(&line->task, log_run, NULL);
	if (baton_submit(&log_state.resource, &line->task) != 0)
		log_run(&line->task);
}

/* Relaxed: at the end of a second a thread may count its warning in the second before. */
static bool log_too_many(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	if (swap_relaxed(&log_state.second, now.tv_sec) != now.tv_sec)
		store_relaxed(&log_state.warnings, 0);
	return add_relaxed(&log_state.warnings, 1) >= LOG_WARNINGS_MAX;
}

void log_line(enum log_level level, struct slice client, const char *format, ...)
{
	struct line *line;
	size_t used;
	va_list arguments;
	int added;

	if (!log_wants(level))
		return;
	line = level != LOG_LEVEL_WARNING || !log_too_many() ? malloc(sizeof(*line)) : NULL;
	if (line == NULL) {
		add_relaxed(&log_state.lost, 1);
		return;
	}
	used = line_begin(line->text, sizeof(line->text), level);
	if (client.size > 0)
		used += (size_t)snprintf(line->text + used, sizeof(line->text) - used,
		                         "client \"%.*s\": ",
		                         client.size < 128 ? (int)client.size : 128, client.bytes);
	va_start(arguments, format);
	added = vsnprintf(line->text + used, sizeof(line->text) - used, format, arguments);
	va_end(arguments);
	line->size =
		line_end(line->text, sizeof(line->text), used + (added > 0 ? (size_t)added : 0));
	log_submit(line);
}

void log_start(struct baton_pool *slow_pool)
{
	static const struct baton_bound_config bound = {.tasks_max = LOG_LINES_MAX,
	                                                .policy = BATON_BOUND_DROP_NEWEST};
	const struct baton_resource_config defaults = BATON_RESOURCE_CONFIG_INIT;

	log_state.config = defaults;
	log_state.config.capture_max = BATON_CAPTURE_NONE; /* never on the thread that logs */
	log_state.config.executor = baton_pool_executor(slow_pool);
	log_state.config.cancelled = log_lose;
	log_state.config.name = "log";
	baton_resource_init(&log_state.resource, &log_state.config);
	baton_bound_init(&log_state.bound, &bound);
	baton_resource_set_bound(&log_state.resource, &log_state.bound);
	log_state.started = true;
}

struct baton_resource *log_resource(void)
{
	return &log_state.resource;
}

bool log_stop(void)
{
	if (!log_state.started)
		return true;
	log_state.started = false;
	baton_resource_close(&log_state.resource);
	return baton_resource_await_until(&log_state.resource,
	                                  baton_after(LOG_STOP_S * BATON_SECOND)) == 0;
}
