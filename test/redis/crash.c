/* SPDX-License-Identifier: MIT */
#include "crash.h"

#include "companion/redis/redis.h"

#include <hiredis/hiredis.h>

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define JOB_US 15000
#define ATTEMPTS 1000 /* however many backends are lost */

/* ---- Steps ---- */

static struct step crash;

void crash_at(const struct step *step)
{
	crash = *step;
}

static void reach(bool concerned, enum phase phase)
{
	if (concerned && phase == crash.phase && --crash.count == 0)
		raise(crash.signal);
}

void (*after_answer)(void);

int __real_redisGetReply(redisContext *context, void **reply);
int __wrap_redisGetReply(redisContext *context, void **reply);

int __wrap_redisGetReply(redisContext *context, void **reply)
{
	char library[BATON__REDIS_LIBRARY_SIZE];
	char name[64];
	bool concerned;
	int done = 0;
	int status;

	baton__redis_name_library(library);
	snprintf(name, sizeof(name), "%s_%s\r\n", library, crash.function ? crash.function : "");
	concerned =
		crash.function && memmem(context->obuf, strlen(context->obuf), name, strlen(name));
	reach(concerned, BEFORE);
	while (!done)
		if (redisBufferWrite(context, &done) != REDIS_OK)
			return REDIS_ERR;
	reach(concerned, SENT);
	status = __real_redisGetReply(context, reply);
	reach(concerned, ANSWERED);
	if (after_answer)
		after_answer();
	return status;
}

/* ---- The processes ---- */

static _Noreturn void give_up(const char *what, const struct baton_redis *redis, int error)
{
	fprintf(stderr, "%s: %d: %s\n", what, error, baton_redis_error(redis));
	_exit(1);
}

static struct baton_redis *connect_to(const struct server *server)
{
	struct baton_redis_options options = {.socket = server->socket, .queue = "test"};
	struct baton_redis *redis;
	int error = baton_redis_create(&options, &redis);

	/* The server may just be away. */
	for (int i = 0; i < 200 && error == -ECONNREFUSED; i++) {
		baton_redis_destroy(redis);
		usleep(10000);
		error = baton_redis_create(&options, &redis);
	}
	if (error)
		give_up("connect", redis, error);
	return redis;
}

/* A server whose memory is full has room later. */
static int submit_to(struct baton_redis *redis, const struct baton_redis_task *task)
{
	int error;

	while ((error = baton_redis_submit(redis, task)) == -ENOMEM)
		usleep(10000);
	return error;
}

/* Until the last note. A server that has forgotten the task gets it again. */
static void follow(struct baton_redis *redis, const struct baton_redis_task *task)
{
	struct baton_redis_note note = {0};
	int error;

	for (int round = 1; !baton_redis_is_last(note.what); round++) {
		struct pollfd fd = {.events = POLLIN};

		BATON_IGNORE(baton_redis_note_next(redis, task, &note)); /* the server may die */
		if (note.what != BATON_REDIS_NOTHING)
			continue;
		fd.fd = baton_redis_fd(redis);
		poll(&fd, 1, 20);
		error = round % 10 == 0 ? baton_redis_keep(redis, task) : 0;
		if (error == -ENOENT) {
			note = (struct baton_redis_note){0};
			error = submit_to(redis, task);
		}
		if (error)
			give_up("keep", redis, error);
	}
	if (note.what != BATON_REDIS_DONE)
		give_up("not done", redis, (int)note.what);
}

void run_submitter(const struct server *server, int number, int report)
{
	struct baton_redis *redis = connect_to(server);

	for (int i = 0; i < TASKS; i++) {
		char id[16];
		struct baton_redis_task task;
		int error;

		snprintf(id, sizeof(id), "s%d-%d", number, i);
		task = task_named(id, (uint32_t)(number + i) % 3);
		task.keep_ns = SUBMITTER_KEEP_NS;
		task.attempts = ATTEMPTS;
		error = submit_to(redis, &task);
		if (error)
			give_up("submit", redis, error);
		dprintf(report, "accepted %s\n", id);
		/* A server that has lost the end of a task runs it again. */
		do {
			follow(redis, &task);
			dprintf(report, "over %s\n", id);
			error = baton_redis_forget(redis, &task);
		} while (error == -EBUSY);
		if (error)
			give_up("forget", redis, error);
	}
	_exit(0);
}

void run_scheduler(const struct server *server)
{
	struct baton_redis_scheduler *scheduler = scheduler_on(connect_to(server));

	for (;;)
		if (baton_redis_scheduler_run(scheduler, 50 * MS))
			usleep(10000);
}

/* Its effect and its end, in two calls or in one. */
static void end_task(struct baton_redis_backend *backend, const struct baton_redis_order *order,
                     bool at_once)
{
	size_t size = strlen(order->id);
	int error;

	if (at_once) {
		/* The ledger judges; the task may be another backend's by now, here and below. */
		BATON_IGNORE(baton_redis_backend_conclude(
			backend, &(struct baton_redis_result){order->id, size, 0, "exit"}));
		return;
	}
	error = baton_redis_backend_effect(backend, order->id, size);
	usleep(JOB_US); /* a blow may come between the two */
	if (error == 0 || error == -EALREADY)
		BATON_IGNORE(baton_redis_backend_finish(backend, 0, "exit"));
}

void run_backend(const struct server *server, int number)
{
	struct baton_redis *redis = connect_to(server);
	struct baton_redis_backend *backend;
	struct baton_redis_order order;
	char name[16];

	snprintf(name, sizeof(name), "b%d", number);
	backend = backend_on(redis, name);
	for (;;) {
		struct pollfd fd = {.events = POLLIN};
		int error = baton_redis_backend_next(backend, &order);

		if (!error && order.what == BATON_REDIS_RUN) {
			usleep(JOB_US);
			end_task(backend, &order, number > 0);
			continue;
		}
		fd.fd = baton_redis_fd(redis);
		poll(&fd, 1, 10);
	}
}
