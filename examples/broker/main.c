/* SPDX-License-Identifier: MIT */
/*
 * The broker's beginning and end. The end, on SIGINT or SIGTERM, in the only order that works: no
 * more connections come; the I/O threads close theirs and end when the last one is freed, by when
 * all sessions are; the pool ends when all tasks have run; only then is nobody left who could
 * submit anything, and the rest is freed.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "broker.h"
#include "listener.h"
#include "loop.h"
#include "must.h"
#include "options.h"

struct signals {
	uv_signal_t interrupt;
	uv_signal_t terminate;
	struct listener listener;
};

static void signals_came(uv_signal_t *handle, int number)
{
	struct signals *signals = handle->data;

	(void)number;
	if (uv_is_closing((uv_handle_t *)&signals->listener.poll))
		return;
	listener_stop(&signals->listener);
	uv_stop(handle->loop);
}

/* Serves until a signal comes. A second one does nothing: the end is on its way. */
static int serve(struct broker *broker, uv_loop_t *uv, struct signals *signals)
{
	int status = listener_start(&signals->listener, uv, broker);

	if (status != 0)
		return status;
	signals->interrupt.data = signals;
	signals->terminate.data = signals;
	uv_signal_start(&signals->interrupt, signals_came, SIGINT);
	uv_signal_start(&signals->terminate, signals_came, SIGTERM);
	uv_run(uv, UV_RUN_DEFAULT);
	return 0;
}

static void sum_loops(const struct broker *broker, struct loop_stats *sum)
{
	for (unsigned int i = 0; i < broker->loops_running; i++) {
		const struct loop_stats *stats = &broker->loops[i].stats;

		sum->connections += stats->connections;
		sum->messages_in += stats->messages_in;
		sum->messages_out += stats->messages_out;
		sum->pauses += stats->pauses;
		sum->writes += stats->writes;
		sum->malformed += stats->malformed;
	}
}

static int broker_init(struct broker *broker)
{
	const struct baton_resource_config defaults = BATON_RESOURCE_CONFIG_INIT;
	struct baton_pool_options pool = BATON_POOL_OPTIONS_INIT;
	int status;

	pool.workers = broker->options.workers;
	pool.name = "broker";
	status = baton_pool_create(&pool, &broker->pool);
	if (status != 0)
		return status;
	broker->config = defaults;
	broker->config.executor = baton_pool_executor(broker->pool);
	broker->loops = must_alloc(broker->options.threads * sizeof(*broker->loops));
	must(table_init(&broker->table, broker), "topic table");
	must(matcher_init(&broker->matcher, broker), "subscription tree");
	must(clients_init(&broker->clients, broker), "client ids");
	for (unsigned int i = 0; i < broker->options.threads && status == 0; i++) {
		status = loop_start(&broker->loops[i], broker);
		if (status == 0)
			broker->loops_running++;
	}
	return status;
}

static void broker_deinit(struct broker *broker)
{
	struct baton_pool_stats pool = {0};
	struct loop_stats loops = {0};

	for (unsigned int i = 0; i < broker->loops_running; i++)
		loop_stop(&broker->loops[i]);
	for (unsigned int i = 0; i < broker->loops_running; i++)
		loop_join(&broker->loops[i]);
	if (broker->pool == NULL)
		return;
	baton_pool_shutdown(broker->pool);
	must(baton_pool_await_termination(broker->pool, NULL), "end of the pool");
	baton_pool_stats(broker->pool, &pool);
	sum_loops(broker, &loops);
	for (unsigned int i = 0; i < broker->loops_running; i++)
		loop_deinit(&broker->loops[i]);
	clients_deinit(&broker->clients);
	matcher_deinit(&broker->matcher);
	table_deinit(&broker->table);
	must(baton_pool_destroy(broker->pool), "free the pool");
	free(broker->loops);
	if (broker->options.stats)
		stats_print(&broker->stats, &loops, &pool);
}

int main(int argc, char **argv)
{
	static struct broker broker;
	struct signals signals = {0};
	uv_loop_t uv;
	int status = options_parse(&broker.options, argc, argv);

	if (status >= 0)
		return status;
	signal(SIGPIPE, SIG_IGN);
	must(uv_loop_init(&uv), "loop");
	uv_signal_init(&uv, &signals.interrupt);
	uv_signal_init(&uv, &signals.terminate);
	status = broker_init(&broker);
	if (status != 0)
		fprintf(stderr, "broker: start: %s\n", strerror(-status));
	else
		status = serve(&broker, &uv, &signals);
	broker_deinit(&broker);
	uv_close((uv_handle_t *)&signals.interrupt, NULL);
	uv_close((uv_handle_t *)&signals.terminate, NULL);
	uv_run(&uv, UV_RUN_DEFAULT);
	must(uv_loop_close(&uv), "close loop");
	return status == 0 ? 0 : 1;
}
