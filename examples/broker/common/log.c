/* SPDX-License-Identifier: MIT */
/* The log; see log.h. */
#include "common/log.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <baton/bound.h>
#include <baton/pool.h>
#include <baton/resource.h>

#include "common/atomic.h"
#include "common/log_target.h"
#include "common/logfmt.h"

#define LOG_LINE_SIZE 1024
#define LOG_TIME_SIZE 24 /* 2031-05-04T12:30:00.123Z */
#define LOG_STOP_S 2

static const char *const level_names[] = {"error", "warning", "notice", "info", "debug"};

static struct {
	struct baton_resource resource;
	struct baton_resource_config config;
	struct baton_bound bound; /* on the lines that wait */
	bool started;
	unsigned int levels;       /* atomic */
	size_t lost;               /* atomic: lines lost since the last one that was written */
	time_t second;             /* atomic: the second in which `warnings` are counted */
	size_t warnings;           /* atomic */
	struct log_target *target; /* the writer's; NULL: stderr */
	struct log_target *next;   /* atomic: what the writer takes before its next line */
} log_state = {.levels = LOG_LEVELS_TO(LOG_LEVEL_WARNING)};

struct line {
	struct baton_task task;
	enum log_level level;
	size_t size; /* 0: only brings a new target */
	char text[LOG_LINE_SIZE];
};

unsigned int log_levels_to(const char *word)
{
	for (int level = 0; level <= LOG_LEVEL_DEBUG; level++)
		if (strcmp(word, level_names[level]) == 0)
			return LOG_LEVELS_TO(level);
	return 0;
}

void log_levels_set(unsigned int levels)
{
	store_relaxed(&log_state.levels, levels); /* orders nothing */
}

bool log_wants(enum log_level level)
{
	return (load_relaxed(&log_state.levels) & LOG_LEVEL_BIT(level)) != 0;
}

/* "time=... level=... event=...". */
static void line_begin(struct logfmt *line, enum log_level level, const char *event)
{
	struct timespec now;
	struct tm parts;
	char text[64];
	size_t used;

	clock_gettime(CLOCK_REALTIME, &now);
	gmtime_r(&now.tv_sec, &parts);
	used = strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &parts);
	snprintf(text + used, sizeof(text) - used, ".%03ldZ", now.tv_nsec / 1000000);
	logfmt_add(line, "time", (struct slice){text, LOG_TIME_SIZE});
	logfmt_add(line, "level", log_text("", level_names[level]).text);
	logfmt_add(line, "event", log_text("", event).text);
}

static void line_add_number(struct logfmt *line, const char *key, uint64_t number)
{
	char text[32];

	snprintf(text, sizeof(text), "%" PRIu64, number);
	logfmt_add(line, key, log_text("", text).text);
}

static void line_fill(struct line *line, enum log_level level, const char *event,
                      const struct log_pair *pairs)
{
	struct logfmt text = {line->text, sizeof(line->text), 0};

	line->level = level;
	line_begin(&text, level, event);
	for (; pairs->key != NULL; pairs++) {
		if (pairs->text.bytes == NULL)
			line_add_number(&text, pairs->key, pairs->number);
		else if (pairs->text.size > 0)
			logfmt_add(&text, pairs->key, pairs->text);
	}
	text.text[text.used++] = '\n'; /* logfmt_add() leaves room */
	line->size = text.used;
}

/* ---- The writer: the log's resource, and the main thread when that does not run ---- */

static void log_adopt(void)
{
	struct log_target *next;

	if (load_relaxed(&log_state.next) == NULL)
		return;
	/* [log.target] acquire: the target's members. */
	next = swap_acq_rel(&log_state.next, NULL);
	if (next == NULL)
		return; /* the main thread has taken it back for a newer one */
	log_target_close(log_state.target);
	log_state.target = next;
}

/* Writes a line that stands for so many; if it is lost, so are these. */
static void log_write(const struct line *line, size_t count)
{
	const size_t head = strlen("time=") + LOG_TIME_SIZE + 1;

	if (line->size > 0 &&
	    !log_target_write(log_state.target, line->level, line->text, line->size, head))
		add_relaxed(&log_state.lost, count);
}

static int log_run(struct baton_task *task)
{
	struct line *line = baton_container_of(task, struct line, task);
	size_t lost;

	log_adopt();
	lost = line->size > 0 ? swap_relaxed(&log_state.lost, 0) : 0;
	if (lost > 0) {
		const struct log_pair pairs[] = {log_number("lines", lost), {NULL, {NULL, 0}, 0}};
		struct line more;

		line_fill(&more, LOG_LEVEL_WARNING, "lines_lost", pairs);
		log_write(&more, lost);
	}
	log_write(line, 1);
	free(line);
	return 0;
}

/* The bound has dropped the line. Any thread. */
static void log_lose(struct baton_task *task)
{
	struct line *line = baton_container_of(task, struct line, task);

	if (line->size > 0)
		add_relaxed(&log_state.lost, 1); /* a count; orders nothing */
	free(line);
}

static void log_submit(struct line *line)
{
	baton_task_init(&line->task, log_run, NULL);
	if (!log_state.started || baton_submit(&log_state.resource, &line->task) != 0)
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

void log_pairs(enum log_level level, const char *event, const struct log_pair *pairs)
{
	struct line *line;

	if (!log_wants(level))
		return;
	line = level != LOG_LEVEL_WARNING || !log_too_many() ? malloc(sizeof(*line)) : NULL;
	if (line == NULL) {
		add_relaxed(&log_state.lost, 1);
		return;
	}
	line_fill(line, level, event, pairs);
	log_submit(line);
}

void log_use(struct log_target *target)
{
	struct line *line = malloc(sizeof(*line));

	/* [log.target] release: the target's members; pairs with log_adopt(). One that the writer
	 * has not taken comes back. */
	log_target_close(swap_acq_rel(&log_state.next, target));
	/* So that the old file is closed now. Where the bound drops it, lines that wait do that. */
	if (line == NULL)
		return;
	line->size = 0;
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
