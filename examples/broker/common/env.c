/* SPDX-License-Identifier: MIT */
/* The statistics of resources, on a board if the options ask for one. See env.h. */
#include "common/env.h"

#include <stdio.h>
#include <string.h>

#include <baton/error.h>
#include <baton/stats.h>

#include "common/log.h"
#include "common/must.h"

/* A resource beyond these has its statistics all the same, but is not shown. */
#define SHOWN_MAX 65536

/* Seconds after which a task or a thread is reported as stuck. */
#define STUCK_AFTER 5

void env_configs_init(struct env *env)
{
	static const char *const names[ENV_KINDS] = {
		[ENV_TOPIC] = "topic",
		[ENV_TOPICS] = "topics",
		[ENV_TREE] = "subscription tree",
		[ENV_SESSION] = "session",
		[ENV_CLIENT_IDS] = "client ids",
		[ENV_LOGINS] = "logins",
		[ENV_PASSWORDS] = "passwords",
	};

	for (int kind = 0; kind < ENV_KINDS; kind++) {
		const struct baton_resource_config config =
			BATON_RESOURCE_CONFIG_NAMED(names[kind]);

		env->configs[kind] = config;
		env->configs[kind].executor = baton_pool_executor(env->pool);
	}
	/* A loop's thread that makes a topic runs no pass over all topics that waits behind it. */
	env->configs[ENV_TOPICS].capture_max = 1;
}

struct baton_resource_stats *env_show(const struct env *env, struct baton_resource *resource,
                                      struct slice name, struct baton_resource_stats *own)
{
	struct baton_resource_stats *stats;
	char shown[BATON_BOARD_NAME_MAX + 1];

	if (env->board != NULL) {
		snprintf(shown, sizeof(shown), "%s%s%.*s", baton_resource_name(resource),
		         name.size > 0 ? " " : "",
		         name.size < sizeof(shown) ? (int)name.size : (int)sizeof(shown),
		         name.bytes);
		if (baton_board_join(env->board, resource, shown, &stats) == 0)
			return stats;
	}
	baton_resource_set_stats(resource, own);
	return own;
}

struct baton_resource_stats *env_count(const struct env *env, struct baton_resource *resource,
                                       struct slice name, struct baton_resource_stats *own)
{
	return env->options.stats || env->board != NULL ? env_show(env, resource, name, own) : own;
}

void env_reveal(const struct env *env, struct baton_resource *resource, const char *name)
{
	/* A board without room: as for env_show(). */
	if (env->board != NULL)
		BATON_IGNORE(baton_board_join(env->board, resource, name, NULL));
}

void env_hide(const struct env *env, struct baton_resource *resource)
{
	if (env->board != NULL)
		baton_board_leave(env->board, resource);
}

/* A log that takes nothing must not stop the watchdog: a task of the log's resource writes. */
static void report_stuck(const struct baton_stuck *stuck, void *arg)
{
	(void)arg;
	log_event(LOG_LEVEL_WARNING, "stuck", log_text("what", stuck->message));
}

int env_board_start(struct env *env)
{
	struct baton_watchdog_options watchdog = {.limit_ns = STUCK_AFTER * BATON_SECOND};
	struct baton_board_options options = {.path = env->options.board, .resources = SHOWN_MAX};
	int status;

	if (env->options.board == NULL)
		return 0;
	if (strcmp(env->options.board, "-") == 0)
		options.path = NULL;
	status = baton_board_create(&options, &env->board);
	if (status != 0) {
		log_event(LOG_LEVEL_ERROR, "start_failed", log_text("what", "--board"),
		          log_text("file", env->options.board),
		          log_text("reason", baton_error_text(status)));
		return status;
	}
	must(baton_board_pool_join(env->board, env->pool, "broker"), "show the pool");
	must(baton_board_pool_join(env->board, env->slow_pool, "slow"), "show the slow pool");
	watchdog.board = env->board;
	watchdog.report = report_stuck;
	must(baton_watchdog_create(&watchdog, &env->watchdog), "start the watchdog");
	return 0;
}

void env_board_stop(struct env *env)
{
	if (env->board == NULL)
		return;
	baton_watchdog_destroy(env->watchdog);
	baton_board_pool_leave(env->board, env->pool);
	baton_board_pool_leave(env->board, env->slow_pool);
}

void env_board_free(struct env *env)
{
	if (env->board != NULL)
		baton_board_destroy(env->board);
	env->board = NULL;
}
