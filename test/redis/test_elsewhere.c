/* SPDX-License-Identifier: MIT */
/* The server that a connection was made to is not the one that it should be. */
#include "sentinels.h"

#include <criterion/criterion.h>

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static struct server server[2];

static void start(void)
{
	server_start(&server[0], NULL);
	server_start(&server[1], NULL);
}

static void stop(void)
{
	server_stop(&server[1]);
	server_stop(&server[0]);
}

TestSuite(elsewhere, .timeout = 60, .init = start, .fini = stop);

/* From now on the second server is at the first one's address, as if a name had changed. */
static struct baton_redis *connect_and_move(void)
{
	struct baton_redis_options options = {.socket = server[0].socket,
	                                      .queue = "test",
	                                      .timeout_ns = 300 * MS,
	                                      .patience_ns = 30 * BATON_SECOND};
	struct baton_redis_task task = task_named("task", 0);
	struct baton_redis_note note = {0};
	struct baton_redis *redis;

	cr_assert_eq(baton_redis_create(&options, &redis), 0);
	cr_assert_eq(baton_redis_submit(redis, &task), 0);
	await_note(redis, &task, &note, BATON_REDIS_WAITING);
	cr_assert_eq(baton_redis_note_next(redis, &task, &note), 0, "the read waits");
	cr_assert_eq(rename(server[1].socket, server[0].socket), 0);
	return redis;
}

static void goes_on(struct baton_redis *redis)
{
	struct baton_redis_task task = task_named("task", 0);
	struct baton_redis_note note = {0};

	cr_assert_eq(baton_redis_keep(redis, &task), -ENOENT, "%s", baton_redis_error(redis));
	cr_assert_eq(baton_redis_submit(redis, &task), 0, "%s", baton_redis_error(redis));
	await_note(redis, &task, &note, BATON_REDIS_WAITING);
	baton_redis_destroy(redis);
}

Test(elsewhere, a_connection_to_a_frozen_server_is_made_anew_and_so_is_the_read)
{
	struct baton_redis *redis = connect_and_move();

	kill(server[0].pid, SIGSTOP);
	goes_on(redis);
}

Test(elsewhere, a_connection_to_a_server_that_has_become_a_replica_is_made_anew)
{
	struct server first = server[0];
	struct baton_redis *redis;

	/* The test still finds the first server by another name. */
	snprintf(first.socket, sizeof(first.socket), "%s/first.sock", first.directory);
	cr_assert_eq(link(server[0].socket, first.socket), 0);
	redis = connect_and_move();
	server_text(&first, "REPLICAOF 127.0.0.1 1");
	goes_on(redis);
}

Test(elsewhere, a_replica_that_a_sentinel_calls_a_master_gets_no_call)
{
	char port[16];
	char list[32];
	const char *const arguments[] = {"--port", port, "--bind", "127.0.0.1", NULL};
	struct baton_redis_options options = {.sentinels = list};
	struct baton_redis *redis;
	unsigned master = (srandom((unsigned)(getpid() ^ time(NULL))), free_port());
	unsigned sentinel = free_port();
	pid_t pid;
	int error;

	snprintf(port, sizeof(port), "%u", master);
	snprintf(list, sizeof(list), "127.0.0.1:%u", sentinel);
	server_kill(&server[0]);
	server_restart(&server[0], arguments);
	pid = sentinel_start(server[0].directory, 0, sentinel, master);
	options.create_patience_ns = BATON_NEVER;
	cr_assert_eq(baton_redis_create(&options, &redis), 0);
	baton_redis_destroy(redis);
	server_text(&server[0], "REPLICAOF 127.0.0.1 1");
	options.create_patience_ns = 0;
	error = baton_redis_create(&options, &redis);
	cr_assert_eq(error, -EROFS, "%d: %s", error, baton_redis_error(redis));
	cr_assert(strstr(baton_redis_error(redis), "is a replica: its sentinels have no other"),
	          "%s", baton_redis_error(redis));
	baton_redis_destroy(redis);
	options.sentinel_master = "another";
	error = baton_redis_create(&options, &redis);
	cr_assert_eq(error, -ECONNREFUSED, "%d: %s", error, baton_redis_error(redis));
	cr_assert(strstr(baton_redis_error(redis), "it knows no master another"), "%s",
	          baton_redis_error(redis));
	baton_redis_destroy(redis);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}
