/* SPDX-License-Identifier: MIT */
/*
 * The log: one line for each event, to stderr, with the time, the level and, where there is one,
 * the client:
 *
 *	2031-05-04T12:30:00.123Z warning client "ann": stuck for 60 s, closed
 *
 * A thread that logs never waits. A line is a task of a resource whose executor is the pool for
 * slow things, so a stderr that takes nothing (a full pipe) holds up only one thread of that pool.
 * At most LOG_LINES_MAX lines wait, by a bound of that resource. At most LOG_WARNINGS_MAX warnings
 * a second are taken, since clients can cause them. Lines that are lost are counted; a line with
 * the count stands before the next line.
 */
#ifndef BROKER_LOG_H
#define BROKER_LOG_H

#include <stdbool.h>

#include "mqtt/names.h"

struct baton_pool;

enum log_level {
	LOG_LEVEL_ERROR,
	LOG_LEVEL_WARNING,
	LOG_LEVEL_INFO,
	LOG_LEVEL_DEBUG,
};

#define LOG_LINES_MAX 1000
#define LOG_WARNINGS_MAX 100

/* Takes the level's name. */
void log_level_set(const char *word);

/* Any thread. Would a line of that level be written? */
bool log_wants(enum log_level level);

/* Any thread. Logs one line; replaces unprintable characters. `client` may be empty. */
void log_line(enum log_level level, struct slice client, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#define LOG_NOBODY ((struct slice){"", 0})

/* Before start, and after stop, lines are written at once. stop: no other thread logs any more. */
void log_start(struct baton_pool *slow_pool);

/* From the start on. */
struct baton_resource *log_resource(void);

/* False: stderr does not take the remaining lines, and a thread of the pool is stuck in it. */
bool log_stop(void);

#endif
