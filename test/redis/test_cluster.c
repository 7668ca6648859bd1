/* SPDX-License-Identifier: MIT */
/* Two nodes of a cluster, of which one has the queue's slot. */
#include "sentinels.h"

#include <criterion/criterion.h>
#include <hiredis/hiredis.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static struct server node[2];
static unsigned port[2];

static void await_node(int number, const char *command, const char *text)
{
	int i = 0;

	for (; i < 6000 && !strstr(server_text(&node[number], command), text); i++)
		usleep(10000);
	cr_assert_lt(i, 6000, "%s", server_text(&node[number], command));
}

/* The first node has the lower half of the slots, the second the upper half. */
static void start(void)
{
	srandom((unsigned)(getpid() ^ time(NULL)));
	for (int i = 0; i < 2; i++) {
		char text[16];
		const char *const arguments[] = {
			"--cluster-enabled", "yes", "--bind", "127.0.0.1", "--port", text, NULL};

		port[i] = free_port();
		snprintf(text, sizeof(text), "%u", port[i]);
		server_start(&node[i], arguments);
		server_text(&node[i], "CLUSTER ADDSLOTSRANGE %d %d", 8192 * i, 8192 * i + 8191);
	}
	server_text(&node[0], "CLUSTER MEET 127.0.0.1 %u", port[1]);
	for (int i = 0; i < 2; i++)
		await_node(i, "CLUSTER INFO", "cluster_state:ok");
}

static void stop(void)
{
	server_stop(&node[1]);
	server_stop(&node[0]);
}

TestSuite(cluster, .timeout = 60, .init = start, .fini = stop);

static int connect_to_node(int number, struct baton_redis **redis)
{
	struct baton_redis_options options = {.host = "127.0.0.1",
	                                      .port = (uint16_t)port[number],
	                                      .queue = "test",
	                                      .patience_ns = 50 * MS};

	return baton_redis_create(&options, redis);
}

/* The slot of {test} is 6918: of the first node. */
Test(cluster, a_queue_lies_in_one_slot_and_another_node_names_its_node)
{
	struct baton_redis_task task = task_named("task", 0);
	struct baton_redis *redis[3];
	struct baton_redis_scheduler *scheduler;
	struct baton_redis_backend *backend;
	struct baton_redis_order order;
	char text[64];

	cr_assert_eq(server_number(&node[0], "CLUSTER KEYSLOT {test}"), 6918);
	cr_assert_eq(connect_to_node(1, &redis[0]), -EREMOTE, "%s", baton_redis_error(redis[0]));
	snprintf(text, sizeof(text), "set `host` and `port` to 127.0.0.1:%u", port[0]);
	cr_assert(strstr(baton_redis_error(redis[0]), text), "%s", baton_redis_error(redis[0]));
	baton_redis_destroy(redis[0]);
	for (int i = 0; i < 3; i++)
		cr_assert_eq(connect_to_node(0, &redis[i]), 0, "%s", baton_redis_error(redis[i]));
	scheduler = scheduler_on(redis[1]);
	backend = backend_on(redis[2], "one");
	cr_assert_eq(baton_redis_submit(redis[0], &task), 0, "%s", baton_redis_error(redis[0]));
	await_order(backend, &order, BATON_REDIS_RUN, scheduler);
	cr_assert_eq(baton_redis_backend_effect(backend, "e", 1), 0);
	cr_assert_eq(baton_redis_backend_finish(backend, 0, ""), 0);
	cr_assert_eq(server_number(&node[0], "XLEN {test}:effects"), 1);
	baton_redis_backend_destroy(backend);
	baton_redis_scheduler_destroy(scheduler);
	for (int i = 0; i < 3; i++)
		baton_redis_destroy(redis[i]);
}

Test(cluster, a_slot_that_goes_to_another_node_and_a_cluster_that_is_down)
{
	struct baton_redis_task task = task_named("task", 0);
	struct baton_redis *redis;
	char other[64];
	char text[64];

	cr_assert_eq(connect_to_node(0, &redis), 0, "%s", baton_redis_error(redis));
	snprintf(other, sizeof(other), "%s", server_text(&node[1], "CLUSTER MYID"));
	server_text(&node[0], "CLUSTER SETSLOT 6918 MIGRATING %s", other);
	snprintf(text, sizeof(text), "set `host` and `port` to 127.0.0.1:%u", port[1]);
	/* ASK, for a key that is not there any more; then MOVED. */
	cr_assert_eq(baton_redis_submit(redis, &task), -EREMOTE, "%s", baton_redis_error(redis));
	cr_assert(strstr(baton_redis_error(redis), text), "%s", baton_redis_error(redis));
	server_text(&node[0], "CLUSTER SETSLOT 6918 NODE %s", other);
	cr_assert_eq(baton_redis_submit(redis, &task), -EREMOTE, "%s", baton_redis_error(redis));
	cr_assert(strstr(baton_redis_error(redis), text), "%s", baton_redis_error(redis));
	/* Nobody has the slot. It may be a moment's matter: the patience decides. */
	server_text(&node[0], "CLUSTER DELSLOTS 6918");
	cr_assert_eq(baton_redis_submit(redis, &task), -ECONNREFUSED);
	cr_assert(strstr(baton_redis_error(redis), "CLUSTERDOWN"), "%s", baton_redis_error(redis));
	baton_redis_destroy(redis);
}
