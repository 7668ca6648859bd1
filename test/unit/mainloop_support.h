/* SPDX-License-Identifier: MIT */
/*
 * What the tests of the main loop share: a loop, and sources that write their letter into a log. A
 * source may have an `act`, which its function calls. Each test is a process of its own.
 */
#ifndef BATON_TEST_UNIT_MAINLOOP_SUPPORT_H
#define BATON_TEST_UNIT_MAINLOOP_SUPPORT_H

#include "support.h"

#include <baton/mainloop.h>

#include <poll.h>

struct lettered {
	struct baton_source source;
	char letter;
	int (*act)(struct lettered *lettered); /* what the function returns; NULL: 0 */
	int runs;
};

static struct baton_mainloop loop;
static char log_text[1024];
static size_t log_length;

static inline void log_letter(char letter)
{
	MUST(log_length < sizeof(log_text) - 1);
	log_text[log_length++] = letter;
}

static inline int lettered_run(struct baton_source *source)
{
	struct lettered *lettered = baton_container_of(source, struct lettered, source);

	baton_assert_held(baton_mainloop_resource(&loop));
	lettered->runs++;
	log_letter(lettered->letter);
	return lettered->act ? lettered->act(lettered) : 0;
}

/* The sources of the log so far, which begins anew. */
static inline const char *log_take(void)
{
	static char taken[sizeof(log_text)];

	log_text[log_length] = '\0';
	strcpy(taken, log_text);
	log_length = 0;
	return taken;
}

/* Stops the source, and ends its dependencies. */
static inline enum baton_stop forget(struct baton_source *source)
{
	const enum baton_stop met = baton_source_stop(source).met;

	MUST(baton_source_undepend_all(source) == 0);
	return met;
}

static const struct baton_source_config idle = {.fn = lettered_run, .level = 7};
static const struct baton_source_config idle_again = {
	.fn = lettered_run, .level = 7, .again = true};
static const struct baton_source_config tick = {
	.fn = lettered_run, .kind = BATON_SOURCE_TIMER, .level = 2, .period_ns = 10};
static const struct baton_source_config tick_again = {
	.fn = lettered_run, .kind = BATON_SOURCE_TIMER, .level = 2, .period_ns = 10, .again = true};

#define LETTERED(config, letter)                                                                   \
	{                                                                                          \
		BATON_SOURCE_INIT(&loop, &(config), #letter), #letter[0], NULL, 0                  \
	}

/* A loop on a virtual clock. */
static inline void virtual_loop(uint32_t aging)
{
	struct baton_mainloop_options options = {.deterministic = true, .aging = aging};

	cr_assert_eq(baton_mainloop_init(&loop, &options), 0);
}

static inline void real_loop(void)
{
	cr_assert_eq(baton_mainloop_init(&loop, NULL), 0);
}

/* Ends the loop, of whose sources so many are still active. */
static inline void loop_end(int64_t active)
{
	cr_assert_eq(baton_mainloop_deinit(&loop), active);
}

static inline bool loop_readable(int timeout_ms)
{
	struct pollfd entry = {baton_mainloop_fd(&loop), POLLIN, 0};
	int ready = poll(&entry, 1, timeout_ms);

	MUST(ready >= 0);
	return ready == 1;
}

#endif
