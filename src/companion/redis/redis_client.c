/* SPDX-License-Identifier: MIT */
/*
 * The submitter's side of a queue: submit, keep alive, withdraw, and read what the task is told.
 */
#include "companion/redis/redis.h"

#include "base/platform.h"

#include <baton/timer.h>

#include <hiredis/hiredis.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define KEEP_NS (600 * BATON_SECOND)
#define ATTEMPTS 3
#define READ_MS 10000
#define MS (BATON_SECOND / 1000)
/* The server refuses times that are much longer. */
#define WAIT_MAX_NS (24 * 3600 * BATON_SECOND)
/* A submitter that waits for room asks again so often. */
#define ROOM_FIRST_NS (BATON_SECOND / 100)
#define ROOM_MAX_NS (BATON_SECOND / 4)

static uint64_t keep_ms(const struct baton_redis_task *task)
{
	uint64_t ms = (task->keep_ns ? task->keep_ns : KEEP_NS) / MS;

	return ms > 0 ? ms : 1;
}

static int check_task(struct baton_redis *redis, const struct baton_redis_task *task)
{
	if (!task->id || !baton__redis_is_name(task->id))
		return baton__redis_fail(redis, -EINVAL, BATON__REDIS_NO_NAME("the task's id"));
	if (!task->token || !baton__redis_is_name(task->token))
		return baton__redis_fail(redis, -EINVAL, BATON__REDIS_NO_NAME("the task's token"));
	return 0;
}

static int send_task(struct baton_redis *redis, const struct baton_redis_task *task)
{
	struct baton__redis_call call;

	baton__redis_call_init(&call, "submit");
	baton__redis_add_text(&call, task->id);
	baton__redis_add_text(&call, task->token);
	baton__redis_add_number(&call, task->kind);
	baton__redis_add_number(&call, keep_ms(task));
	baton__redis_add_number(&call, task->attempts ? task->attempts : ATTEMPTS);
	baton__redis_add(&call, task->command, task->command_size);
	for (size_t i = 0; i < task->file_count; i++) {
		baton__redis_add_text(&call, task->files[i].name);
		baton__redis_add(&call, task->files[i].data, task->files[i].size);
	}
	return baton__redis_do(redis, &call, NULL);
}

/* Waits until so many replicas have what this connection has written. */
static int await_replicas(struct baton_redis *redis, const struct baton_redis_task *task)
{
	uint64_t asked_ns = task->replicas_timeout_ns ? task->replicas_timeout_ns
						      : redis->options.timeout_ns;
	uint64_t ns = asked_ns < WAIT_MAX_NS ? asked_ns : WAIT_MAX_NS;
	struct baton__redis_call call;
	redisReply *reply = NULL;
	char text[96];
	uint64_t have;
	int error;

	baton__redis_call_init(&call, NULL);
	call.connection = redis->connects;
	call.wait_ns = ns;
	baton__redis_add_text(&call, "WAIT");
	baton__redis_add_number(&call, task->replicas);
	baton__redis_add_number(&call, ns / MS + 1); /* 0 has no end */
	error = baton__redis_do(redis, &call, &reply);
	have = baton__redis_number(reply);
	freeReplyObject(reply);
	if (error || have >= task->replicas)
		return error;
	snprintf(text, sizeof(text), "the task is on the server, but on %u of %u replicas only",
	         (unsigned)have, task->replicas);
	return baton__redis_fail(redis, -ETIMEDOUT, text);
}

/*
 * WAIT is about the writes of its connection. When the connection is lost in between, the task is
 * submitted again: the server may be another one. A submit of a task that is there already writes,
 * too (queue.lua), so that the WAIT after it is about that task as well.
 */
static int submit_once(struct baton_redis *redis, const struct baton_redis_task *task)
{
	uint64_t begin = baton__redis_clock();
	int error;

	do {
		error = send_task(redis, task);
		if (!error && task->replicas > 0)
			error = await_replicas(redis, task);
	} while (error == -ECONNRESET &&
	         baton__redis_clock() - begin < redis->options.patience_ns);
	return error == -ECONNRESET ? redis->gave_up : error;
}

BATON_EXPORT int baton_redis_submit(struct baton_redis *redis, const struct baton_redis_task *task)
{
	uint64_t begin = baton__redis_clock();
	uint64_t pause_ns = ROOM_FIRST_NS;
	int error = check_task(redis, task);

	if (!error && task->kind >= BATON_RULES_CLASSES_MAX && task->kind != BATON_RULES_DEFAULT &&
	    task->kind != BATON_RULES_INTERACTIVE)
		error = baton__redis_fail(redis, -EINVAL, "there is no such class");
	if (!error)
		error = submit_once(redis, task);
	/* Ends: when there is room, at another error, or when the time is over. */
	while (error == -EAGAIN && baton__redis_clock() - begin < task->room_timeout_ns) {
		struct timespec pause = {.tv_nsec = (long)pause_ns};

		if (nanosleep(&pause, NULL))
			return baton__redis_fail(redis, -EINTR, "a signal came");
		if (pause_ns < ROOM_MAX_NS)
			pause_ns *= 2;
		error = submit_once(redis, task);
	}
	return error;
}

/* A function that is called with id and token, and maybe how long the task is kept. */
static int call_task(struct baton_redis *redis, const struct baton_redis_task *task,
                     const char *function, uint64_t ms)
{
	struct baton__redis_call call;
	int error = check_task(redis, task);

	if (error)
		return error;
	baton__redis_call_init(&call, function);
	baton__redis_add_text(&call, task->id);
	baton__redis_add_text(&call, task->token);
	if (ms > 0)
		baton__redis_add_number(&call, ms);
	return baton__redis_do(redis, &call, NULL);
}

BATON_EXPORT int baton_redis_keep(struct baton_redis *redis, const struct baton_redis_task *task)
{
	return call_task(redis, task, "keep", keep_ms(task));
}

BATON_EXPORT int baton_redis_withdraw(struct baton_redis *redis,
                                      const struct baton_redis_task *task)
{
	return call_task(redis, task, "withdraw", 0);
}

BATON_EXPORT int baton_redis_forget(struct baton_redis *redis, const struct baton_redis_task *task)
{
	return call_task(redis, task, "forget", 0);
}

/* ---- Notes ---- */

/* In the order of enum baton_redis_what. */
static const char *const names[] = {
	"",     "waiting", "started", "running", "shortened",
	"lost", "done",    "denied",  "failed",  "withdrawn",
};

static uint64_t ns_of(const char *us)
{
	return us[0] == '-' ? BATON_NEVER : strtoull(us, NULL, 10) * 1000;
}

static void read_note(struct baton_redis_note *note, const redisReply *entry)
{
	const char *what = baton__redis_field(entry, "what");
	const char *value = baton__redis_field(entry, "value");

	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(names[i], what) == 0)
			note->what = (enum baton_redis_what)i;
	note->ns = ns_of(value);
	note->number = strtoll(value, NULL, 10);
	note->epoch = strtoull(baton__redis_field(entry, "epoch"), NULL, 10);
	snprintf(note->text, sizeof(note->text), "%s", baton__redis_field(entry, "text"));
	snprintf(note->_position, sizeof(note->_position), "%s",
	         baton__redis_text(baton__redis_at(entry, 0)));
}

static int ask_note(struct baton_redis *redis, const struct baton_redis_task *task,
                    const struct baton_redis_note *note)
{
	struct baton__redis_call call;

	baton__redis_call_init(&call, NULL);
	baton__redis_add_text(&call, "XREAD");
	baton__redis_add_text(&call, "COUNT");
	baton__redis_add_text(&call, "1");
	baton__redis_add_text(&call, "BLOCK");
	baton__redis_add_number(&call, READ_MS);
	baton__redis_add_text(&call, "STREAMS");
	baton__redis_add_key(&call, redis, ":note:", task->id);
	baton__redis_add_text(&call, note->_position[0] ? note->_position : "0-0");
	return baton__redis_ask(redis, &call);
}

BATON_EXPORT int baton_redis_note_next(struct baton_redis *redis,
                                       const struct baton_redis_task *task,
                                       struct baton_redis_note *note)
{
	redisReply *reply = NULL;
	const redisReply *entry;
	int error = check_task(redis, task);

	note->what = BATON_REDIS_NOTHING;
	if (error)
		return error;
	error = baton__redis_answer(redis, &reply);
	entry = baton__redis_at(baton__redis_stream(redis, reply, ":note:", task->id), 0);
	if (!error && entry)
		read_note(note, entry);
	freeReplyObject(reply);
	/* The next note is asked for at once, so that the descriptor says when it is there. */
	if (!error && !redis->asked && !baton_redis_is_last(note->what))
		error = ask_note(redis, task, note);
	return error;
}
