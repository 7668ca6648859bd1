/* SPDX-License-Identifier: MIT */
/*
 * The log: one line for each event, in logfmt, with the time, the level, the event and what belongs
 * to it. README.md has the list of the events.
 *
 *	time=2031-05-04T12:30:00.123Z level=warning event=closed client=ann
 *	address=127.0.0.1:4711 reason="no CONNECT within --connect-timeout seconds"
 *
 * A thread that logs never waits. A line is a task of a resource whose executor is the pool for
 * slow things, so a stderr that takes nothing (a full pipe) holds up only one thread of that pool.
 * At most LOG_LINES_MAX lines wait, by a bound of that resource. At most LOG_WARNINGS_MAX warnings
 * a second are taken, since clients can cause them. Lines that are lost, also because a file cannot
 * be written, are counted; a line with the count stands before the next line.
 */
#ifndef BROKER_LOG_H
#define BROKER_LOG_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "mqtt/names.h"

struct baton_pool;

enum log_level {
	LOG_LEVEL_ERROR,
	LOG_LEVEL_WARNING,
	LOG_LEVEL_NOTICE,
	LOG_LEVEL_INFO,
	LOG_LEVEL_DEBUG,
};

#define LOG_LINES_MAX 1000
#define LOG_WARNINGS_MAX 100

/* Which levels are logged: a bit for each. */
#define LOG_LEVEL_BIT(level) (1U << (level))
#define LOG_LEVELS_TO(level) ((2U << (level)) - 1)
#define LOG_LEVELS_ALL LOG_LEVELS_TO(LOG_LEVEL_DEBUG)

/* The level's bit, and those of all levels above it; 0: there is no such level. */
unsigned int log_levels_to(const char *word);
void log_levels_set(unsigned int levels);

/* Any thread. Would a line of that level be written? */
bool log_wants(enum log_level level);

/* A pair behind the event. One without a text, or with an empty one, is left out. */
struct log_pair {
	const char *key; /* NULL: the end */
	struct slice text;
	uint64_t number; /* in the place of a text whose bytes are NULL */
};

static inline struct log_pair log_slice(const char *key, struct slice text)
{
	const struct log_pair pair = {key, text.bytes != NULL ? text : (struct slice){"", 0}, 0};

	return pair;
}

static inline struct log_pair log_text(const char *key, const char *text)
{
	return log_slice(key, (struct slice){text, text != NULL ? strlen(text) : 0});
}

static inline struct log_pair log_number(const char *key, uint64_t number)
{
	const struct log_pair pair = {key, {NULL, 0}, number};

	return pair;
}

/*
 * Any thread. Logs one line: log_event(LOG_LEVEL_INFO, "restored", log_number("sessions", 5)), with
 * one pair or more.
 */
#define log_event(level, event, ...)                                                               \
	log_pairs((level), (event), (const struct log_pair[]){__VA_ARGS__, {NULL, {NULL, 0}, 0}})

#define LOG_NOBODY ((struct slice){"", 0}) /* no client's id */

void log_pairs(enum log_level level, const char *event, const struct log_pair *pairs);

struct log_target;

/* The main thread: lines from now on go there (log_target.h). Takes the target. */
void log_use(struct log_target *target);

/* Before start, and after stop, lines are written at once. stop: no other thread logs any more. */
void log_start(struct baton_pool *slow_pool);

/* From the start on. */
struct baton_resource *log_resource(void);

/* False: some place does not take the remaining lines, and a thread of the pool is stuck in it. */
bool log_stop(void);

#endif
