/* SPDX-License-Identifier: MIT */
/*
 * The broker's end-to-end tests are stories: raw clients say packets and expect packets, both in
 * words (packet.h), on sockets of their own.
 *
 *	STORY(a_retained_message_waits)
 *	{
 *		struct client *publisher = join("publisher clean");
 *		struct client *late;
 *
 *		say(publisher, "PUBLISH retain q0 state on");
 *		late = join("late clean");
 *		subscribe(late, "state:0");
 *		expect(late, "PUBLISH retain q0 state on");
 *	}
 *
 * Each runs in a process of its own, many at a time, most of them against one broker: topics and
 * client ids get the story's name in front, so that none meets another's. A story ends at its first
 * failure, with one line.
 */
#ifndef BROKER_STORY_H
#define BROKER_STORY_H

#include <stdbool.h>
#include <stddef.h>

struct story {
	const char *name;
	void (*run)(void);
	struct story *next;
	/* Seconds, 10 if not said. */
	unsigned int timeout;
	/* What mosquitto does instead, where it and the issue differ: not told to mosquitto. */
	const char *mosquitto;
	/* Why it is of MQTT 3.1.1 alone, where it is: not told by clients of MQTT 5 (--five). */
	const char *five;
};

void story_register(struct story *story);

/* STORY(name) or STORY(name, .timeout = 20): the rest is in braces behind it. */
#define STORY(...) STORY_WITH(__VA_ARGS__, .next = NULL)
#define STORY_WITH(name_, ...)                                                                     \
	static void story_##name_(void);                                                           \
	__attribute__((constructor)) static void story_##name_##_register(void)                    \
	{                                                                                          \
		static struct story story = {.name = #name_, .run = story_##name_, __VA_ARGS__};   \
		story_register(&story);                                                            \
	}                                                                                          \
	static void story_##name_(void)

/* The name of the story that this process tells. */
const char *story_name(void);

/* Where the story is: for the line that says how it failed. */
void story_here(const char *file, int line);

_Noreturn __attribute__((format(printf, 1, 2))) void story_fail(const char *format, ...);
_Noreturn __attribute__((format(printf, 1, 2))) void story_skip(const char *format, ...);

#define fail(...) (story_here(__FILE__, __LINE__), story_fail(__VA_ARGS__))
#define check(condition, ...)                                                                      \
	((condition) ? (void)0 : (story_here(__FILE__, __LINE__), story_fail(__VA_ARGS__)))

/* Milliseconds, since some time. */
long long story_clock(void);
void story_sleep(long long milliseconds);

/* A time, longer where the broker is slowed down by instrumentation (E2E_SCALE). */
long long story_scaled(long long milliseconds);

/* How long to wait, on a busy machine, for what takes at most so long on an idle one. */
long long story_limit(long long milliseconds);

#endif
