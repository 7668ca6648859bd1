/* SPDX-License-Identifier: MIT */
/*
 * The broker's beginning and end. The end is in the only order that works: no more connections
 * come; the I/O threads close theirs and end when the last one is freed; the sessions that are left
 * end; the pool ends when all tasks have run; only then is nobody left who could submit anything,
 * and the rest is freed.
 */
#include "broker.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/atomic.h"
#include "common/hash.h"
#include "common/log.h"
#include "common/must.h"
#include "net/loop.h"

static int load_tls(struct broker *broker)
{
	struct ssl_ctx_st *tls;
	int status = tls_load(broker->options.tls_cert, broker->options.tls_key, &tls);

	if (status != 0)
		return status;
	for (unsigned int i = 0; i < broker->loops_running; i++)
		loop_use_tls(&broker->loops[i], tls);
	tls_release(tls);
	return 0;
}

int broker_load(struct broker *broker)
{
	const struct broker_options *options = &broker->options;
	int status = log_level_set(options->log_level), next;

	if (status != 0)
		log_line(LOG_LEVEL_ERROR, LOG_NOBODY, "%s: %s", options->log_level,
		         status == -EINVAL ? "no log level in it" : strerror(-status));
	next = options->password_file != NULL
	               ? passwords_load(&broker->passwords, options->password_file)
	               : 0;
	status = status != 0 ? status : next;
	next = options->tls_cert != NULL ? load_tls(broker) : 0;
	return status != 0 ? status : next;
}

static int start_timers(struct broker *broker)
{
	struct baton_timers_config timers = BATON_TIMERS_CONFIG_INIT;

	timers.resolution_ns = BATON_SECOND;
	timers.name = "expiry";
	return baton_timers_create(&broker->timers, &timers);
}

/* The threads that are not loops. On an error nothing is left. */
static int start_pools(struct broker *broker)
{
	struct baton_pool_options pool = BATON_POOL_OPTIONS_INIT;
	int status;

	pool.workers = broker->options.workers;
	pool.name = "broker";
	status = baton_pool_create(&pool, &broker->pool);
	if (status != 0)
		return status;
	pool.workers = BROKER_SLOW_WORKERS;
	pool.name = "slow";
	status = baton_pool_create(&pool, &broker->slow_pool);
	if (status != 0)
		goto destroy_pool;
	status = start_timers(broker);
	if (status == 0)
		return 0;
	must(baton_pool_destroy(broker->slow_pool), "free the slow pool");
destroy_pool:
	must(baton_pool_destroy(broker->pool), "free the pool");
	broker->pool = NULL;
	return status;
}

int broker_init(struct broker *broker)
{
	const struct baton_resource_config defaults = BATON_RESOURCE_CONFIG_INIT;
	int status;

	hash_begin();
	status = start_pools(broker);
	if (status != 0) {
		log_line(LOG_LEVEL_ERROR, LOG_NOBODY, "pools: %s", strerror(-status));
		return status;
	}
	log_start(broker->slow_pool);
	trim_init(&broker->trim, broker);
	broker->config = defaults;
	broker->config.executor = baton_pool_executor(broker->pool);
	broker->loops = must_alloc(broker->options.threads * sizeof(*broker->loops));
	must(table_init(&broker->table, broker), "topic table");
	must(matcher_init(&broker->matcher, broker), "subscription tree");
	must(clients_init(&broker->clients, broker), "client ids");
	passwords_init(&broker->passwords, &broker->config);
	must(logins_init(&broker->logins, broker), "logins");
	for (unsigned int i = 0; i < broker->options.threads && status == 0; i++) {
		status = loop_start(&broker->loops[i], broker);
		if (status == 0)
			broker->loops_running++;
	}
	if (status != 0) {
		log_line(LOG_LEVEL_ERROR, LOG_NOBODY, "I/O thread: %s", strerror(-status));
		return status;
	}
	return broker_load(broker);
}

/* All the rest is done. Who holds stderr up must not hold us up. */
static void stop_slow_pool(struct broker *broker, int status)
{
	if (!log_stop())
		_exit(status == 0 ? 0 : 1);
	must(baton_pool_destroy(broker->slow_pool), "free the slow pool");
}

void broker_deinit(struct broker *broker, int status)
{
	struct baton_pool_stats pool = {0};
	struct loop_stats loops = {0};

	if (broker->pool == NULL)
		return;
	store_relaxed(&broker->ending, true); /* a hint */
	for (unsigned int i = 0; i < broker->loops_running; i++)
		loop_stop(&broker->loops[i]);
	for (unsigned int i = 0; i < broker->loops_running; i++)
		loop_join(&broker->loops[i]);
	store_relaxed(&broker->late, true); /* likewise */
	logins_deinit(&broker->logins);
	passwords_deinit(&broker->passwords);
	clients_end(&broker->clients);
	baton_pool_shutdown(broker->pool);
	must(baton_pool_await_termination(broker->pool, NULL), "end of the pool");
	trim_deinit(&broker->trim);
	must(baton_timers_destroy(broker->timers), "free the timers");
	baton_pool_stats(broker->pool, &pool);
	for (unsigned int i = 0; i < broker->loops_running; i++)
		stats_add_loop(&loops, &broker->loops[i].stats);
	for (unsigned int i = 0; i < broker->loops_running; i++)
		loop_deinit(&broker->loops[i]);
	clients_deinit(&broker->clients);
	matcher_deinit(&broker->matcher);
	table_deinit(&broker->table);
	must(baton_pool_destroy(broker->pool), "free the pool");
	free(broker->loops);
	if (broker->options.stats)
		stats_print(&broker->stats, &loops, &pool);
	stop_slow_pool(broker, status);
}
