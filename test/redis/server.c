/* SPDX-License-Identifier: MIT */
#include "server.h"

#include "companion/redis/redis.h"

#include <criterion/criterion.h>
#include <hiredis/hiredis.h>

#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE_NS (60 * BATON_SECOND)

uint64_t lease_factor = 4;
const char *server_skew;

static uint64_t clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * BATON_SECOND + (uint64_t)now.tv_nsec;
}

static void pause_ms(long ms)
{
	nanosleep(&(struct timespec){.tv_nsec = ms * 1000000}, NULL);
}

/* ---- The server ---- */

static _Noreturn void run_server(const struct server *server, const char *const *arguments)
{
	const char *argv[64] = {"redis-server",    "--port",       "0",
	                        "--unixsocket",    server->socket, "--dir",
	                        server->directory, "--save",       "",
	                        "--appendonly",    "yes",          "--appendfsync",
	                        "everysec",        "--logfile",    "server.log"};
	int argc = 15;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (; arguments && *arguments; arguments++)
		argv[argc++] = *arguments;
	if (server_skew) {
		setenv("SKEW", server_skew, 1);
		setenv("LD_PRELOAD", "build/redis/skew.so", 1);
	}
	/* It warns before its log is open. */
	dup2(open("/dev/null", O_WRONLY), 1);
	execvp(argv[0], (char **)(uintptr_t)argv);
	_exit(127);
}

static bool answers(const struct server *server)
{
	struct redisContext *context = redisConnectUnix(server->socket);
	redisReply *reply = context && !context->err ? redisCommand(context, "PING") : NULL;
	bool ready = reply && strncmp(reply->str, "LOADING", 7) != 0;

	freeReplyObject(reply);
	if (context)
		redisFree(context);
	return ready;
}

void server_restart(struct server *server, const char *const *arguments)
{
	uint64_t end = clock_ns() + PATIENCE_NS;

	server->pid = fork();
	if (server->pid == 0)
		run_server(server, arguments);
	while (!answers(server)) {
		if (clock_ns() > end || waitpid(server->pid, NULL, WNOHANG) != 0) {
			fprintf(stderr, "redis-server does not start: see %s/server.log\n",
			        server->directory);
			abort();
		}
		pause_ms(5);
	}
}

void server_start(struct server *server, const char *const *arguments)
{
	snprintf(server->directory, sizeof(server->directory), "/tmp/baton-redis.XXXXXX");
	if (!mkdtemp(server->directory))
		abort();
	snprintf(server->socket, sizeof(server->socket), "%s/redis.sock", server->directory);
	server_restart(server, arguments);
}

void server_kill(struct server *server)
{
	kill(server->pid, SIGCONT);
	kill(server->pid, SIGKILL);
	waitpid(server->pid, NULL, 0);
}

void server_stop(struct server *server)
{
	char command[96];

	server_kill(server);
	snprintf(command, sizeof(command), "rm -rf %s", server->directory);
	if (system(command) != 0)
		fprintf(stderr, "%s is left\n", server->directory);
}

const char *server_library(void)
{
	static char library[BATON__REDIS_LIBRARY_SIZE];

	baton__redis_name_library(library);
	return library;
}

static redisReply *ask(const struct server *server, const char *format, va_list list)
{
	static const char call[] = "FCALL baton_";
	struct redisContext *context = redisConnectUnix(server->socket);
	char *own = NULL;
	redisReply *reply;

	if (strncmp(format, call, strlen(call)) == 0 &&
	    asprintf(&own, "FCALL %s_%s", server_library(), format + strlen(call)) < 0)
		abort();
	reply = redisvCommand(context, own ? own : format, list);
	free(own);
	redisFree(context);
	return reply;
}

redisReply *server_ask(const struct server *server, const char *format, ...)
{
	va_list list;
	redisReply *reply;

	va_start(list, format);
	reply = ask(server, format, list);
	va_end(list);
	return reply;
}

long long server_number(const struct server *server, const char *format, ...)
{
	va_list list;
	redisReply *reply;
	long long number;

	va_start(list, format);
	reply = ask(server, format, list);
	va_end(list);
	number = reply->type == REDIS_REPLY_INTEGER ? reply->integer
	                                            : (reply->str ? atoll(reply->str) : -1);
	freeReplyObject(reply);
	return number;
}

const char *server_text(const struct server *server, const char *format, ...)
{
	static char text[256];
	va_list list;
	redisReply *reply;

	va_start(list, format);
	reply = ask(server, format, list);
	va_end(list);
	snprintf(text, sizeof(text), "%s", reply->str ? reply->str : "");
	freeReplyObject(reply);
	return text;
}

/* ---- The sides of a queue ---- */

struct baton_redis *server_connect(const struct server *server)
{
	struct baton_redis_options options = {.socket = server->socket, .queue = "test"};
	struct baton_redis *redis;
	int error = baton_redis_create(&options, &redis);

	cr_assert_eq(error, 0, "%d: %s", error, baton_redis_error(redis));
	return redis;
}

struct baton_redis_scheduler *scheduler_on(struct baton_redis *redis)
{
	struct baton_redis_scheduler_options options = {
		.rules = {.class_count = 3,
	                  .duration_ns = {100 * BATON_SECOND, 200 * BATON_SECOND,
	                                  300 * BATON_SECOND},
	                  .limit = {3, 2, 1}},
		.lease_ns = SCHEDULER_LEASE_NS,
	};
	struct baton_redis_scheduler *scheduler;

	cr_assert_eq(baton_redis_scheduler_create(redis, &options, &scheduler), 0);
	return scheduler;
}

struct baton_redis_backend *backend_on(struct baton_redis *redis, const char *name)
{
	struct baton_redis_backend_options options = {
		.name = name, .address = "unix:/nowhere", .lease_ns = BACKEND_LEASE_NS};
	struct baton_redis_backend *backend;

	cr_assert_eq(baton_redis_backend_create(redis, &options, &backend), 0);
	return backend;
}

struct baton_redis_task task_named(const char *id, uint32_t kind)
{
	return (struct baton_redis_task){
		.id = id, .token = "secret", .kind = kind, .command = "true", .command_size = 4};
}

void settle(struct baton_redis_scheduler *scheduler)
{
	int error = 0;

	for (int i = 0; i < 4 && !error; i++)
		error = baton_redis_scheduler_run(scheduler, 0);
	cr_assert_eq(error, 0);
}

void await_order(struct baton_redis_backend *backend, struct baton_redis_order *order,
                 enum baton_redis_order_what what, struct baton_redis_scheduler *scheduler)
{
	uint64_t end = clock_ns() + PATIENCE_NS;
	int error = 0;

	do {
		if (scheduler)
			settle(scheduler);
		error = baton_redis_backend_next(backend, order);
		if (!error && order->what == BATON_REDIS_IDLE)
			pause_ms(1);
	} while (!error && order->what == BATON_REDIS_IDLE && clock_ns() < end);
	cr_assert_eq(error, 0);
	cr_assert_eq(order->what, what, "order %d, expected %d", (int)order->what, (int)what);
}

void await_note(struct baton_redis *redis, const struct baton_redis_task *task,
                struct baton_redis_note *note, enum baton_redis_what what)
{
	uint64_t end = clock_ns() + PATIENCE_NS;

	do {
		cr_assert_eq(baton_redis_note_next(redis, task, note), 0);
		if (note->what == BATON_REDIS_NOTHING)
			pause_ms(1);
	} while (note->what != what && clock_ns() < end);
	cr_assert_eq(note->what, what, "note %d, expected %d", (int)note->what, (int)what);
}
