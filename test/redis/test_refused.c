/* SPDX-License-Identifier: MIT */
/* What the server, or the queue, refuses: each time a clear error, and nothing has changed. */
#include "server.h"

#include <criterion/criterion.h>
#include <hiredis/hiredis.h>

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static struct server server;

static void set_up(void)
{
	server_start(&server, NULL);
}

static void tear_down(void)
{
	server_stop(&server);
}

TestSuite(refused, .init = set_up, .fini = tear_down, .timeout = 15);

static int try_connect(const struct baton_redis_options *options, char *text, size_t size)
{
	struct baton_redis *redis;
	int error = baton_redis_create(options, &redis);

	snprintf(text, size, "%s", baton_redis_error(redis));
	baton_redis_destroy(redis);
	return error;
}

Test(refused, a_server_that_is_absent_or_wants_a_password_is_a_clear_error)
{
	struct baton_redis_options options = {.socket = "/tmp/no such socket"};
	struct baton_redis_task task = task_named("task", 0);
	struct baton_redis *redis;
	char text[256];

	cr_assert_eq(try_connect(&options, text, sizeof(text)), -ECONNREFUSED);
	cr_assert_str_eq(text, "no Redis at /tmp/no such socket: No such file or directory");
	options.socket = server.socket;
	/* Each of these options asks for TLS. */
	for (size_t i = 0; i < 4; i++) {
		const char **tls[] = {&options.tls_ca, &options.tls_cert, &options.tls_key,
		                      &options.tls_server_name};

		*tls[i] = "/no/such/file";
#if __has_include(<hiredis/hiredis_ssl.h>)
		cr_assert(try_connect(&options, text, sizeof(text)) < 0, "%s", text);
#else
		cr_assert_eq(try_connect(&options, text, sizeof(text)), -ENOTSUP, "%s", text);
		cr_assert(strstr(text, "a hiredis without TLS"), "%s", text);
#endif
		*tls[i] = NULL;
	}
	options.queue = "not a name";
	cr_assert_eq(try_connect(&options, text, sizeof(text)), -EINVAL);
	options.queue = NULL;
	server_text(&server, "ACL SETUSER baton on >right ~{* +@all");
	server_text(&server, "CONFIG SET requirepass locked");
	cr_assert_eq(try_connect(&options, text, sizeof(text)), -EACCES, "%s", text);
	options.password = "wrong";
	cr_assert_eq(try_connect(&options, text, sizeof(text)), -EACCES, "%s", text);
	options.user = "baton";
	options.password = "right";
	cr_assert_eq(baton_redis_create(&options, &redis), 0);
	cr_assert_eq(baton_redis_submit(redis, &task), 0);
	server_kill(&server);
	baton_redis_destroy(redis);
	options.patience_ns = 50 * MS;
	options.user = options.password = NULL;
	server_restart(&server, NULL);
	cr_assert_eq(baton_redis_create(&options, &redis), 0);
	server_kill(&server);
	cr_assert_eq(baton_redis_keep(redis, &task), -ECONNREFUSED, "the patience is over");
	baton_redis_destroy(redis);
}

static void *create_patiently(void *error)
{
	struct baton_redis_options options = {.socket = server.socket,
	                                      .create_patience_ns = BATON_NEVER};
	struct baton_redis *redis;

	*(int *)error = baton_redis_create(&options, &redis);
	baton_redis_destroy(redis);
	return NULL;
}

Test(refused, a_create_with_patience_waits_for_the_server)
{
	struct baton_redis_options options = {.socket = server.socket};
	pthread_t thread;
	char text[256];
	int error = 1;

	server_kill(&server);
	cr_assert_eq(try_connect(&options, text, sizeof(text)), -ECONNREFUSED, "once");
	options.create_patience_ns = 50 * MS;
	cr_assert_eq(try_connect(&options, text, sizeof(text)), -ECONNREFUSED, "it is over");
	cr_assert(strstr(text, "no Redis at"), "%s", text);
	cr_assert_eq(pthread_create(&thread, NULL, create_patiently, &error), 0);
	usleep(200000); /* some attempts */
	server_restart(&server, NULL);
	pthread_join(thread, NULL);
	cr_assert_eq(error, 0);
}

Test(refused, sentinels_that_are_no_addresses)
{
	static const char *const lists[] = {"",     ",",    ":1",   "a:",   "a:0",    "a:65536",
	                                    "a:1x", "a:1,", "[::1", "[]:1", "[::1]x", "a:1,,b:1"};
	struct baton_redis_options options = {0};
	char text[256];

	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		options.sentinels = lists[i];
		cr_assert_eq(try_connect(&options, text, sizeof(text)), -EINVAL, "%s", lists[i]);
		cr_assert(strstr(text, "sentinels"), "%s", text);
	}
	options.sentinels = "127.0.0.1:1,[::1]:1";
	cr_assert_eq(try_connect(&options, text, sizeof(text)), -ECONNREFUSED, "%s", text);
	cr_assert(strstr(text, "the sentinel ::1:1: no Redis at ::1:1: "), "%s", text);
}

Test(refused, a_patience_without_end_does_not_end)
{
	struct baton_redis_options options = {.socket = server.socket, .patience_ns = BATON_NEVER};
	struct baton_redis_task task = task_named("task", 0);
	struct baton_redis *redis;

	cr_assert_eq(baton_redis_create(&options, &redis), 0);
	cr_assert_eq(baton_redis_submit(redis, &task), 0);
	/* The first attempt fails. */
	server_text(&server, "FUNCTION FLUSH");
	cr_assert_eq(baton_redis_keep(redis, &task), 0, "%s", baton_redis_error(redis));
	baton_redis_destroy(redis);
}

Test(refused, a_server_without_functions_has_scripts)
{
	const char *const without[] = {
		"--rename-command", "FUNCTION", "NO-FUNCTION", "--rename-command", "FCALL",
		"NO-FCALL",         NULL};
	struct baton_redis_task task = task_named("task", 0);
	struct baton_redis_order order;
	struct baton_redis *redis[2];
	struct baton_redis_scheduler *scheduler;
	struct baton_redis_backend *backend;

	server_kill(&server);
	server_restart(&server, without);
	redis[0] = server_connect(&server);
	redis[1] = server_connect(&server);
	scheduler = scheduler_on(redis[0]);
	backend = backend_on(redis[1], "one");
	cr_assert_eq(baton_redis_submit(redis[0], &task), 0);
	cr_assert_eq(baton_redis_submit(redis[0], &task), 0);
	server_text(&server, "SCRIPT FLUSH");
	await_order(backend, &order, BATON_REDIS_RUN, scheduler);
	cr_assert_eq(baton_redis_backend_finish(backend, 0, ""), 0);
	cr_assert_eq(baton_redis_backend_effect(backend, "", 0), -EINVAL);
	task.token = "another";
	cr_assert_eq(baton_redis_submit(redis[0], &task), -EEXIST);
	baton_redis_backend_destroy(backend);
	baton_redis_scheduler_destroy(scheduler);
	baton_redis_destroy(redis[0]);
	baton_redis_destroy(redis[1]);
}

Test(refused, a_foreign_key_in_the_place_of_each_of_the_queues)
{
	static const char *const keys[] = {
		"in",      "queue",    "run",     "out",  "done",
		"numbers", "backends", "effects", "kept", "sizes",
	};
	struct baton_redis *redis = server_connect(&server);
	struct baton_redis_task task = task_named("task", 0);
	struct baton_redis_scheduler *scheduler = scheduler_on(redis);

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		server_text(&server, "FLUSHALL");
		server_text(&server, "LPUSH {test}:%s foreign", keys[i]);
		cr_assert_eq(baton_redis_submit(redis, &task), -EBADMSG, "%s", keys[i]);
		cr_assert(strstr(baton_redis_error(redis), keys[i]), "%s",
		          baton_redis_error(redis));
		cr_assert_eq(baton_redis_scheduler_run(scheduler, 0), -EBADMSG);
		cr_assert_eq(server_number(&server, "DBSIZE"), 1, "nothing was written");
	}
	server_text(&server, "FLUSHALL");
	server_text(&server, "SET {test}:task:task foreign");
	cr_assert_eq(baton_redis_submit(redis, &task), -EEXIST);
	baton_redis_scheduler_destroy(scheduler);
	baton_redis_destroy(redis);
}

Test(refused, classes_and_limits_that_are_none)
{
	struct baton_redis_scheduler_options options = {
		.rules = {.class_count = 2, .duration_ns = {2, 1}, .limit = {2, 1}}};
	struct baton_redis *redis = server_connect(&server);
	struct baton_redis_scheduler *scheduler;
	struct baton_redis_task task = task_named("task", 5);
	struct baton_redis_note note = {0};
	struct baton_redis_backend_options named = {0};
	struct baton_redis_backend *backend;
	char name[BATON_REDIS_ID_MAX + 2] = "";

	cr_assert_eq(baton_redis_scheduler_create(redis, &options, &scheduler), -EINVAL, "falls");
	options.rules.duration_ns[1] = 3;
	options.rules.limit[1] = 3;
	cr_assert_eq(baton_redis_scheduler_create(redis, &options, &scheduler), -EINVAL, "nests");
	options.rules.limit[0] = 101;
	options.rules.limit[1] = 50;
	options.percent = true;
	cr_assert_eq(baton_redis_scheduler_create(redis, &options, &scheduler), -EINVAL, "> 100");
	/* Nobody has said yet how many classes there are: the scheduler denies it. */
	cr_assert_eq(baton_redis_submit(redis, &task), 0);
	scheduler = scheduler_on(redis);
	settle(scheduler);
	await_note(redis, &task, &note, BATON_REDIS_DENIED);
	cr_assert_str_eq(note.text, "there is no such class");
	task.id = "later";
	cr_assert_eq(baton_redis_submit(redis, &task), -EINVAL);
	cr_assert(strstr(baton_redis_error(redis), "3 classes"));
	task.kind = 10;
	cr_assert_eq(baton_redis_submit(redis, &task), -EINVAL);
	task.kind = 0;
	task.id = "a:b";
	cr_assert_eq(baton_redis_submit(redis, &task), -EINVAL);
	memset(name, 'n', BATON_REDIS_ID_MAX + 1);
	task.id = named.name = name;
	cr_assert_eq(baton_redis_submit(redis, &task), -EINVAL);
	cr_assert_eq(baton_redis_backend_create(redis, &named, &backend), -EINVAL);
	name[BATON_REDIS_ID_MAX] = '\0';
	cr_assert_eq(baton_redis_submit(redis, &task), 0);
	cr_assert_eq(baton_redis_backend_create(redis, &named, &backend), 0);
	baton_redis_backend_destroy(backend);
	baton_redis_scheduler_destroy(scheduler);
	baton_redis_destroy(redis);
}

Test(refused, a_server_that_refuses_a_read_is_not_asked_all_the_time)
{
	struct baton_redis *redis = server_connect(&server);
	struct baton_redis_task task = task_named("task", 0);
	struct baton_redis_note note = {0};
	int refused = 0;

	server_text(&server, "ACL SETUSER default -xread");
	for (int i = 0; i < 2000; i++) {
		struct pollfd readable = {.fd = baton_redis_fd(redis), .events = POLLIN};

		cr_assert(readable.fd < 0 || poll(&readable, 1, 5000) == 1);
		refused += baton_redis_note_next(redis, &task, &note) == -EACCES;
	}
	cr_assert(refused > 0 && refused < 100, "%d", refused);
	baton_redis_destroy(redis);
}

Test(refused, a_call_that_no_server_takes_is_not_sent)
{
	struct baton_redis *redis = server_connect(&server);
	struct baton_redis_task task = task_named("task", 0);

	/* Refused by its size, and not read. */
	task.command_size = BATON_REDIS_SIZE_MAX + 1;
	cr_assert_eq(baton_redis_submit(redis, &task), -EMSGSIZE);
	cr_assert(strstr(baton_redis_error(redis), "512 MiB"), "%s", baton_redis_error(redis));
	task.command_size = 0;
	cr_assert_eq(baton_redis_submit(redis, &task), 0);
	baton_redis_destroy(redis);
}

Test(refused, leases_and_addresses_that_are_none)
{
	static const uint64_t leases[] = {1, 50 * MS - 1, 24 * 3600 * BATON_SECOND + 1,
	                                  BATON_NEVER};
	char address[129] = "";
	struct baton_redis *redis = server_connect(&server);
	struct baton_redis_scheduler *scheduler;
	struct baton_redis_backend *backend;
	struct baton_redis_backend_options options = {.name = "one", .address = address};

	for (size_t i = 0; i < sizeof(leases) / sizeof(leases[0]); i++) {
		struct baton_redis_scheduler_options leading = {.lease_ns = leases[i]};

		options.lease_ns = leases[i];
		cr_assert_eq(baton_redis_backend_create(redis, &options, &backend), -EINVAL);
		cr_assert_eq(baton_redis_scheduler_create(redis, &leading, &scheduler), -EINVAL);
		cr_assert(strstr(baton_redis_error(redis), "lease"), "%s",
		          baton_redis_error(redis));
	}
	for (size_t i = 0; i < 2; i++) {
		struct baton_redis_scheduler_options leading = {.rules = {.limit = {1, 1, 1}}};

		options.address = NULL;
		leading.lease_ns = options.lease_ns = i ? 24 * 3600 * BATON_SECOND : 50 * MS;
		cr_assert_eq(baton_redis_backend_create(redis, &options, &backend), 0);
		cr_assert_eq(baton_redis_scheduler_create(redis, &leading, &scheduler), 0);
		baton_redis_backend_destroy(backend);
		baton_redis_scheduler_destroy(scheduler);
	}
	options.address = address;
	options.lease_ns = 0;
	/* A submitter's note would cut it. */
	memset(address, 'a', 128);
	cr_assert_eq(baton_redis_backend_create(redis, &options, &backend), -EINVAL);
	address[127] = '\0';
	cr_assert_eq(baton_redis_backend_create(redis, &options, &backend), 0);
	baton_redis_backend_destroy(backend);
	baton_redis_destroy(redis);
}

Test(refused, members_that_the_library_does_not_know)
{
	struct baton_redis_options options = {.socket = server.socket, ._reserved = {1}};
	const struct baton_redis_scheduler_options leading = {._reserved = {0, 1}};
	const struct baton_redis_backend_options serving = {.name = "one", ._reserved = {0, 0, 1}};
	struct baton_redis *redis = server_connect(&server);
	struct baton_redis_scheduler *scheduler;
	struct baton_redis_backend *backend;
	char text[256];

	cr_assert_eq(try_connect(&options, text, sizeof(text)), -EINVAL);
	cr_assert(strstr(text, "_reserved"), "%s", text);
	cr_assert_eq(baton_redis_scheduler_create(redis, &leading, &scheduler), -EINVAL);
	cr_assert(strstr(baton_redis_error(redis), "_reserved"));
	cr_assert_eq(baton_redis_backend_create(redis, &serving, &backend), -EINVAL);
	cr_assert(strstr(baton_redis_error(redis), "_reserved"));
	baton_redis_destroy(redis);
}

Test(refused, what_a_scheduler_could_not_tell_the_server_it_tells_later)
{
	struct baton_redis *redis = server_connect(&server);
	struct baton_redis_scheduler *scheduler = scheduler_on(redis);
	struct baton_redis_task task = task_named("waits", 0);

	settle(scheduler);
	cr_assert_eq(baton_redis_submit(redis, &task), 0);
	server_text(&server, "ACL SETUSER default -fcall");
	cr_assert_eq(baton_redis_scheduler_run(scheduler, 0), -EACCES);
	cr_assert_eq(baton_redis_scheduler_run(scheduler, 0), -EACCES);
	server_text(&server, "ACL SETUSER default +fcall");
	settle(scheduler);
	cr_assert_eq(server_number(&server, "HEXISTS {test}:run waits"), 1);
	baton_redis_scheduler_destroy(scheduler);
	baton_redis_destroy(redis);
}

Test(refused, a_server_that_takes_no_more_clients_is_tried_again)
{
	struct baton_redis_options options = {.socket = server.socket, .patience_ns = 50 * MS};
	redisContext *first = redisConnectUnix(server.socket);
	struct baton_redis_task task = task_named("task", 0);
	struct baton_redis *redis;
	char text[256];

	cr_assert_eq(baton_redis_create(&options, &redis), 0);
	freeReplyObject(redisCommand(first, "CLIENT KILL TYPE normal SKIPME yes"));
	freeReplyObject(redisCommand(first, "CONFIG SET maxclients 1"));
	/* Now and then the connection is lost before the server's answer is read. */
	for (int i = 0; i < 20; i++)
		cr_assert_eq(try_connect(&options, text, sizeof(text)), -ECONNREFUSED, "%s", text);
	cr_assert_eq(baton_redis_submit(redis, &task), -ECONNREFUSED, "the patience is over");
	freeReplyObject(redisCommand(first, "CONFIG SET maxclients 100"));
	cr_assert_eq(baton_redis_submit(redis, &task), 0, "%s", baton_redis_error(redis));
	redisFree(first);
	baton_redis_destroy(redis);
}

static void *submit_patiently(void *error)
{
	struct baton_redis_options options = {.socket = server.socket, .patience_ns = BATON_NEVER};
	struct baton_redis_task task = task_named("task", 0);
	struct baton_redis *redis;

	*(int *)error = baton_redis_create(&options, &redis);
	if (!*(int *)error)
		*(int *)error = baton_redis_submit(redis, &task);
	baton_redis_destroy(redis);
	return NULL;
}

Test(refused, a_replica_that_becomes_master_takes_the_call)
{
	pthread_t thread;
	int error = 1;

	baton_redis_destroy(server_connect(&server)); /* it brings the functions */
	server_text(&server, "REPLICAOF 127.0.0.1 1");
	cr_assert_eq(pthread_create(&thread, NULL, submit_patiently, &error), 0);
	usleep(200000); /* some attempts */
	server_text(&server, "REPLICAOF NO ONE");
	pthread_join(thread, NULL);
	cr_assert_eq(error, 0);
}

Test(refused, a_replica_is_read_only)
{
	struct baton_redis_options options = {.socket = server.socket, .patience_ns = 50 * MS};
	struct baton_redis *redis;
	struct baton_redis_task task = task_named("task", 0);
	struct baton_redis_note note = {0};
	struct pollfd readable = {.events = POLLIN};

	cr_assert_eq(baton_redis_create(&options, &redis), 0);
	cr_assert_eq(baton_redis_note_next(redis, &task, &note), 0);
	readable.fd = baton_redis_fd(redis);
	server_text(&server, "REPLICAOF 127.0.0.1 1");
	cr_assert_eq(poll(&readable, 1, 5000), 1, "the server ends the read");
	cr_assert_eq(baton_redis_note_next(redis, &task, &note), 0, "%s", baton_redis_error(redis));
	cr_assert_eq(baton_redis_submit(redis, &task), -EROFS);
	server_text(&server, "REPLICAOF NO ONE");
	cr_assert_eq(baton_redis_submit(redis, &task), 0);
	baton_redis_destroy(redis);
}

/* A file may not grow beyond a limit: to redis-server this is a disk that is full. */
Test(refused, with_a_full_disk_all_that_was_accepted_is_there)
{
	static char bulk[100000];
	struct baton_redis *redis;
	struct baton_redis_task task = task_named("task", 0);
	char ids[64][8];
	int accepted = 0;
	int error = 0;
	struct rlimit full = {.rlim_cur = 1 << 20, .rlim_max = RLIM_INFINITY};

	server_kill(&server);
	signal(SIGXFSZ, SIG_IGN); /* the server inherits it */
	server_restart(&server, NULL);
	redis = server_connect(&server);
	cr_assert_eq(prlimit(server.pid, RLIMIT_FSIZE, &full, NULL), 0);
	memset(bulk, 'x', sizeof(bulk));
	task.command = bulk;
	task.command_size = sizeof(bulk);
	for (; accepted < 64 && !error; accepted += !error) {
		snprintf(ids[accepted], sizeof(ids[0]), "t%d", accepted);
		task.id = ids[accepted];
		error = baton_redis_submit(redis, &task);
	}
	cr_assert(error == -EIO || error == -ENOSPC, "%d: %s", error, baton_redis_error(redis));
	cr_assert(strstr(baton_redis_error(redis), "MISCONF"), "%s", baton_redis_error(redis));
	full.rlim_cur = RLIM_INFINITY;
	cr_assert_eq(prlimit(server.pid, RLIMIT_FSIZE, &full, NULL), 0);
	/* The server tries again each second. */
	for (int i = 0; i < 300 && baton_redis_submit(redis, &task) < 0; i++)
		usleep(10000);
	server_kill(&server);
	server_restart(&server, NULL);
	cr_assert_eq(server_number(&server, "ZCARD {test}:queue"), accepted + 1);
	for (int i = 0; i <= accepted; i++)
		cr_assert_eq(server_number(&server, "HSTRLEN {test}:task:%s command", ids[i]),
		             (long long)sizeof(bulk));
	baton_redis_destroy(redis);
}
