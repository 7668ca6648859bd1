/* SPDX-License-Identifier: MIT */
/*
 * The log: one line for each event, to stderr, with the time, the level and, where there is one,
 * the client:
 *
 *	2031-05-04T12:30:00.123Z warning client "ann": stuck for 60 s, closed
 *
 * Whoever logs waits for nobody. A line is a task of a resource whose executor is the pool for slow
 * things, so a stderr that takes nothing (a pipe that nobody reads) holds up one thread that has
 * nothing else to do. At most LOG_LINES_MAX lines wait, by a bound of that resource, and at most
 * LOG_WARNINGS_MAX warnings a second are taken: clients can cause them. The rest are counted; the
 * next line has the count before it.
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

/* -1: there is no such level. */
int log_level_parse(const char *word);

/* Takes the level from an option: a word or, with a '/' in it, a file. 0, or a negative errno. */
int log_level_set(const char *option);

/* Any thread. Is it worth gathering what a line of that level would say? */
bool log_wants(enum log_level level);

/* Any thread. One line; what is not printable in it is replaced. `client` may be empty. */
void log_line(enum log_level level, struct slice client, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#define LOG_NOBODY ((struct slice){"", 0})

/* Before that, and after stop, lines are written at once. stop: nobody else logs any more. */
void log_start(struct baton_pool *slow_pool);

/* False: stderr does not take what is left, and a thread of the pool is stuck in it. */
bool log_stop(void);

#endif
