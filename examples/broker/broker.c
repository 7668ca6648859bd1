/* SPDX-License-Identifier: MIT */
/*
 * The broker's start and shutdown. The shutdown has a fixed order: no more connections are
 * accepted; the I/O threads close theirs and end when the last connection is freed; the remaining
 * sessions end; the pool ends when all tasks have run. From then on no thread can submit anything,
 * and the rest is freed.
 */
#include "broker.h"

#include <stdlib.h>
#include <unistd.h>

#include "common/atomic.h"
#include "common/hash.h"
#include "common/log.h"
#include "common/must.h"
#include "protocol.h"
#include "reload.h"
#include "restore.h"
#include "store/store.h"

static int start_timers(struct env *env)
{
	struct baton_timers_options timers = BATON_TIMERS_OPTIONS_INIT;

	timers.resolution_ns = BATON_SECOND;
	timers.name = "expiry";
	return baton_timers_create(&timers, &env->timers);
}

/* Starts the threads that are not loops. On an error nothing is left. */
static int start_pools(struct env *env)
{
	struct baton_pool_options pool = BATON_POOL_OPTIONS_INIT;
	int status;

	pool.workers = env->options.workers;
	pool.name = "broker";
	status = baton_pool_create(&pool, &env->pool);
	if (status != 0)
		return status;
	pool.workers = ENV_SLOW_WORKERS;
	pool.name = "slow";
	status = baton_pool_create(&pool, &env->slow_pool);
	if (status != 0)
		goto destroy_pool;
	status = start_timers(env);
	if (status == 0)
		return 0;
	must(baton_pool_destroy(env->slow_pool), "free the slow pool");
destroy_pool:
	must(baton_pool_destroy(env->pool), "free the pool");
	env->pool = NULL;
	return status;
}

static int stop_pools(struct env *env, int status)
{
	must(baton_timers_destroy(env->timers), "free the timers");
	must(baton_pool_destroy(env->slow_pool), "free the slow pool");
	must(baton_pool_destroy(env->pool), "free the pool");
	env->pool = NULL;
	return status;
}

int broker_init(struct broker *broker)
{
	struct env *env = &broker->env;
	int status;

	hash_begin();
	status = start_pools(env);
	if (status != 0) {
		log_event(LOG_LEVEL_ERROR, "start_failed", log_text("what", "pools"),
		          log_text("reason", baton_error_text(status)));
		return status;
	}
	status = env_board_start(env);
	if (status != 0)
		return stop_pools(env, status);
	log_start(env->slow_pool);
	env_reveal(env, log_resource(), NULL);
	trim_init(&env->trim, env->slow_pool, env->timers);
	env_configs_init(env);
	must(table_init(&broker->table, env), "topic table");
	must(clients_init(&broker->clients, env, &broker->table.unsubscriber), "client ids");
	passwords_init(&broker->passwords, &env->configs[ENV_PASSWORDS]);
	must(logins_init(&broker->logins, env, &broker->passwords), "logins");
	env_reveal(env, &broker->passwords.resource, NULL);
	env_reveal(env, &broker->logins.resource, NULL);
	env_reveal(env, &env->trim.resource, NULL);
	status = env->options.store != NULL ? store_open(env, &env->store) : 0;
	if (status == 0)
		status = net_init(&broker->net, env, &protocol_calls);
	if (status == 0)
		status = broker_load(broker);
	if (status == 0 && env->store != NULL)
		status = restore(broker); /* last: the log has its level */
	return status;
}

/* Everything else is freed. A stderr that takes nothing must not delay the exit. */
static void stop_slow_pool(struct env *env, int status)
{
	if (!log_stop())
		_exit(status == 0 ? 0 : 1);
	env_hide(env, log_resource());
	env_board_free(env);
	must(baton_pool_destroy(env->slow_pool), "free the slow pool");
}

void broker_deinit(struct broker *broker, int status)
{
	struct env *env = &broker->env;
	struct net *net = &broker->net;
	struct baton_pool_stats pool = {0};
	struct loop_stats loops = {0};

	if (env->pool == NULL)
		return;
	store_relaxed(&env->ending, true);
	net_stop(net);
	store_relaxed(&env->late, true);
	logins_deinit(&broker->logins);
	env_hide(env, &broker->logins.resource);
	passwords_deinit(&broker->passwords);
	env_hide(env, &broker->passwords.resource);
	store_stop(env->store);
	clients_end(&broker->clients);
	baton_pool_shutdown(env->pool);
	must(baton_pool_await(env->pool), "end of the pool");
	trim_deinit(&env->trim);
	env_hide(env, &env->trim.resource);
	must(baton_timers_destroy(env->timers), "free the timers");
	baton_pool_stats_read(env->pool, &pool);
	for (unsigned int i = 0; i < net->loops_running; i++)
		stats_add_loop(&loops, &net->loops[i].stats);
	net_deinit(net);
	clients_deinit(&broker->clients);
	table_deinit(&broker->table);
	rights_deinit(&env->rights);
	store_destroy(env->store);
	env_board_stop(env);
	must(baton_pool_destroy(env->pool), "free the pool");
	if (env->options.stats)
		stats_print(&env->stats, &loops, &pool);
	stop_slow_pool(env, status);
}
