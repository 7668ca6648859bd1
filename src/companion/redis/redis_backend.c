/* SPDX-License-Identifier: MIT */
/*
 * A backend: takes one task at a time, keeps its lease, and hears what the scheduler wants of the
 * task. While it is idle it waits for an entry of q:out; while it runs a task, for its own orders.
 */
#include "companion/redis/redis.h"

#include "base/platform.h"
#include "base/refused.h"

#include <baton/timer.h>

#include <hiredis/hiredis.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LEASE_NS (10 * BATON_SECOND)
#define MS (BATON_SECOND / 1000)

struct baton_redis_backend {
	struct baton_redis *redis;
	char *name;
	char *address;
	uint64_t lease_ns;
	uint64_t renew_at;
	uint64_t claim_at;
	uint32_t reconnects; /* reconnects of the reads that the backend has seen */
	bool history;        /* read again the entries that were delivered, and maybe never came */
	bool running;
	char id[BATON_REDIS_ID_MAX + 1];
	char epoch[24];
	char position[48]; /* how far its orders were read */
	redisReply *task;
	struct baton_redis_file *files;
	redisReply *order;
};

/* ---- Calls ---- */

/* Name, address and lease come first in several functions. */
static void begin_call(const struct baton_redis_backend *backend, struct baton__redis_call *call,
                       const char *function)
{
	baton__redis_call_init(call, function);
	baton__redis_add_text(call, backend->name);
	baton__redis_add_text(call, backend->address);
	baton__redis_add_number(call, backend->lease_ns / MS);
}

/* Renews the lease. *own: is the running task still this backend's? */
static int renew(struct baton_redis_backend *backend, bool *own)
{
	struct baton__redis_call call;
	redisReply *reply = NULL;
	int error;

	begin_call(backend, &call, "renew");
	if (backend->running) {
		baton__redis_add_text(&call, backend->id);
		baton__redis_add_text(&call, backend->epoch);
	}
	error = baton__redis_do(backend->redis, &call, &reply);
	if (!error) {
		*own = baton__redis_number(reply) == 1;
		backend->renew_at = baton__redis_clock() + backend->lease_ns / 3;
	}
	freeReplyObject(reply);
	return error;
}

/* Ends the run here: the task is another backend's, or over. */
static void stop_running(struct baton_redis_backend *backend)
{
	backend->running = false;
	baton__redis_unask(backend->redis);
}

static void free_task(struct baton_redis_backend *backend)
{
	freeReplyObject(backend->task);
	free(backend->files);
	backend->task = NULL;
	backend->files = NULL;
}

/* The reply of take: fields, files, the last order. */
static int accept_task(struct baton_redis_backend *backend, struct baton_redis_order *order)
{
	const redisReply *fields = baton__redis_at(backend->task, 0);
	const redisReply *files = baton__redis_at(backend->task, 1);
	const redisReply *command = baton__redis_at(fields, 0);
	const char *may_run = baton__redis_text(baton__redis_at(fields, 2));
	size_t count = files ? files->elements / 2 : 0;

	backend->files = calloc(count + 1, sizeof(*backend->files));
	if (!backend->files)
		return baton__redis_fail(backend->redis, -ENOMEM, "no memory");
	for (size_t i = 0; i < count; i++)
		backend->files[i] = (struct baton_redis_file){
			.name = baton__redis_text(files->element[2 * i]),
			.data = baton__redis_text(files->element[2 * i + 1]),
			.size = files->element[2 * i + 1]->len,
		};
	snprintf(backend->position, sizeof(backend->position), "%s",
	         baton__redis_text(baton__redis_at(backend->task, 2)));
	backend->running = true;
	*order = (struct baton_redis_order){
		.what = BATON_REDIS_RUN,
		.may_run_ns = may_run[0] == '-' ? BATON_NEVER : strtoull(may_run, NULL, 10) * 1000,
		.id = backend->id,
		.token = baton__redis_text(baton__redis_at(fields, 1)),
		.epoch = strtoull(backend->epoch, NULL, 10),
		.kind = (uint32_t)baton__redis_number(baton__redis_at(fields, 4)),
		.attempt = (uint32_t)baton__redis_number(baton__redis_at(fields, 3)),
		.command = baton__redis_text(command),
		.command_size = command ? command->len : 0,
		.files = backend->files,
		.file_count = count,
		.text = "",
	};
	return 0;
}

/* Takes the task of an entry of q:out that was delivered to this backend. */
static int take_entry(struct baton_redis_backend *backend, const redisReply *entry,
                      struct baton_redis_order *order)
{
	struct baton__redis_call call;
	bool own = true;
	int error = 0;

	/* A backend whose lease is nearly over would lose the task at once. */
	if (baton__redis_clock() >= backend->renew_at)
		error = renew(backend, &own);
	if (error) {
		backend->history = true;
		return error;
	}
	free_task(backend);
	snprintf(backend->id, sizeof(backend->id), "%s", baton__redis_field(entry, "id"));
	snprintf(backend->epoch, sizeof(backend->epoch), "%s", baton__redis_field(entry, "epoch"));
	begin_call(backend, &call, "take");
	baton__redis_add_text(&call, baton__redis_text(baton__redis_at(entry, 0)));
	baton__redis_add_text(&call, backend->id);
	baton__redis_add_text(&call, backend->epoch);
	error = baton__redis_do(backend->redis, &call, &backend->task);
	if (error) {
		backend->history = true; /* the backend still has the entry: read it again */
		return error;
	}
	return backend->task->elements > 0 ? accept_task(backend, order) : 0;
}

/* Takes over an entry that another backend was given a lease ago, and has not taken. */
static int claim_stale(struct baton_redis_backend *backend, struct baton_redis_order *order)
{
	struct baton__redis_call call;
	redisReply *reply = NULL;
	const redisReply *entry;
	int error;

	baton__redis_call_init(&call, NULL);
	baton__redis_add_text(&call, "XAUTOCLAIM");
	baton__redis_add_key(&call, backend->redis, ":out", NULL);
	baton__redis_add_text(&call, "backends");
	baton__redis_add_text(&call, backend->name);
	baton__redis_add_number(&call, backend->lease_ns / MS);
	baton__redis_add_text(&call, "0-0");
	baton__redis_add_text(&call, "COUNT");
	baton__redis_add_text(&call, "1");
	error = baton__redis_do(backend->redis, &call, &reply);
	entry = baton__redis_at(baton__redis_at(reply, 1), 0);
	if (!error && baton__redis_at(entry, 1))
		error = take_entry(backend, entry, order);
	/* The read that waits for a task would take a task that idle backends could run. */
	if (backend->running)
		baton__redis_unask(backend->redis);
	freeReplyObject(reply);
	return error;
}

/* ---- Reading ---- */

static int ask_orders(struct baton_redis_backend *backend)
{
	struct baton__redis_call call;

	baton__redis_call_init(&call, NULL);
	if (backend->running) {
		baton__redis_add_text(&call, "XREAD");
	} else {
		baton__redis_add_text(&call, "XREADGROUP");
		baton__redis_add_text(&call, "GROUP");
		baton__redis_add_text(&call, "backends");
		baton__redis_add_text(&call, backend->name);
	}
	baton__redis_add_text(&call, "COUNT");
	baton__redis_add_text(&call, "1");
	baton__redis_add_text(&call, "BLOCK");
	baton__redis_add_number(&call, backend->lease_ns / 3 / MS);
	baton__redis_add_text(&call, "STREAMS");
	if (backend->running) {
		baton__redis_add_key(&call, backend->redis, ":orders:", backend->name);
		baton__redis_add_text(&call, backend->position);
	} else {
		baton__redis_add_key(&call, backend->redis, ":out", NULL);
		baton__redis_add_text(&call, backend->history ? "0-0" : ">");
	}
	return baton__redis_ask(backend->redis, &call);
}

static void obey_order(struct baton_redis_backend *backend, const redisReply *entry,
                       struct baton_redis_order *order)
{
	const char *what = baton__redis_field(entry, "what");

	snprintf(backend->position, sizeof(backend->position), "%s",
	         baton__redis_text(baton__redis_at(entry, 0)));
	if (!backend->running || strcmp(baton__redis_field(entry, "id"), backend->id) != 0 ||
	    strcmp(baton__redis_field(entry, "epoch"), backend->epoch) != 0)
		return;
	if (strcmp(what, "stop") == 0)
		order->what = BATON_REDIS_STOP;
	else if (strcmp(what, "shorten") == 0)
		order->what = BATON_REDIS_SHORTEN;
	order->text = baton__redis_field(entry, "value");
	order->may_run_ns = strtoull(order->text, NULL, 10) * 1000;
}

static int read_answer(struct baton_redis_backend *backend, struct baton_redis_order *order)
{
	const redisReply *entry;
	int error;

	freeReplyObject(backend->order);
	backend->order = NULL;
	error = baton__redis_answer(backend->redis, &backend->order);
	if (error || !backend->order)
		return error;
	entry = baton__redis_at(
		baton__redis_stream(backend->redis, backend->order, ":orders:", backend->name), 0);
	if (entry)
		obey_order(backend, entry, order);
	if (backend->running)
		return 0;
	entry = baton__redis_at(baton__redis_stream(backend->redis, backend->order, ":out", NULL),
	                        0);
	if (!entry)
		backend->history = false;
	else
		error = take_entry(backend, entry, order);
	return error;
}

static int look_after_lease(struct baton_redis_backend *backend, struct baton_redis_order *order)
{
	uint64_t now = baton__redis_clock();
	bool own = true;
	int error = 0;

	if (backend->reconnects != backend->redis->reconnects) {
		backend->reconnects = backend->redis->reconnects;
		backend->history = true;
		backend->renew_at = now;
	}
	if (now >= backend->renew_at)
		error = renew(backend, &own);
	if (!error && !own) {
		stop_running(backend);
		order->what = BATON_REDIS_STALE;
	}
	if (!error && !backend->running && own && now >= backend->claim_at) {
		backend->claim_at = now + backend->lease_ns / 3;
		error = claim_stale(backend, order);
	}
	return error;
}

BATON_EXPORT int baton_redis_backend_next(struct baton_redis_backend *backend,
                                          struct baton_redis_order *order)
{
	int error;

	*order = (struct baton_redis_order){.text = ""};
	error = read_answer(backend, order);
	if (!error && order->what == BATON_REDIS_IDLE)
		error = look_after_lease(backend, order);
	/* If the caller ends a new task before the next call, no read of its orders is needed. */
	if (!error && !backend->redis->asked && order->what != BATON_REDIS_RUN)
		error = ask_orders(backend);
	return error;
}

BATON_EXPORT uint64_t baton_redis_backend_due(const struct baton_redis_backend *backend)
{
	uint64_t now = baton__redis_clock();
	uint64_t at = backend->renew_at;

	if (!backend->redis->asked && backend->redis->retry_at < at)
		at = backend->redis->retry_at;
	return at > now ? at - now : 0;
}

/* ---- What the task has done ---- */

static int call_held(struct baton_redis_backend *backend, struct baton__redis_call *call)
{
	int error = baton__redis_do(backend->redis, call, NULL);

	if (error == -ESTALE)
		stop_running(backend);
	return error;
}

static int begin_held(struct baton_redis_backend *backend, struct baton__redis_call *call,
                      const char *function)
{
	if (!backend->running)
		return baton__redis_fail(backend->redis, -EINVAL, "the backend runs no task");
	baton__redis_call_init(call, function);
	baton__redis_add_text(call, backend->id);
	baton__redis_add_text(call, backend->epoch);
	return 0;
}

BATON_EXPORT int baton_redis_backend_effect(struct baton_redis_backend *backend, const void *data,
                                            size_t size)
{
	struct baton__redis_call call;
	int error = begin_held(backend, &call, "effect");

	if (error)
		return error;
	baton__redis_add(&call, data, size);
	return call_held(backend, &call);
}

static int finish_task(struct baton_redis_backend *backend, const struct baton_redis_result *result,
                       bool with_effect)
{
	struct baton__redis_call call;
	char text[16];
	int error = begin_held(backend, &call, "finish");

	if (error)
		return error;
	snprintf(text, sizeof(text), "%d", result->status);
	baton__redis_add_text(&call, text);
	baton__redis_add_text(&call, result->reason ? result->reason : "");
	baton__redis_add_text(&call, backend->redis->asked ? "1" : "0");
	if (with_effect)
		baton__redis_add(&call, result->effect, result->effect_size);
	error = call_held(backend, &call);
	if (!error)
		backend->running = false;
	return error;
}

BATON_EXPORT int baton_redis_backend_finish(struct baton_redis_backend *backend, int status,
                                            const char *reason)
{
	return finish_task(backend,
	                   &(struct baton_redis_result){.status = status, .reason = reason}, false);
}

BATON_EXPORT int baton_redis_backend_conclude(struct baton_redis_backend *backend,
                                              const struct baton_redis_result *result)
{
	return finish_task(backend, result, true);
}

/* ---- Create, destroy ---- */

BATON_EXPORT int baton_redis_backend_create(struct baton_redis *redis,
                                            const struct baton_redis_backend_options *options,
                                            struct baton_redis_backend **backend)
{
	struct baton_redis_backend *new;
	bool own;
	int error;

	if (!options->name || !baton__redis_is_name(options->name))
		return baton__redis_fail(redis, -EINVAL,
		                         BATON__REDIS_NO_NAME("the backend's name"));
	if (options->lease_ns && !baton__redis_is_lease(options->lease_ns))
		return baton__redis_fail(redis, -EINVAL, BATON__REDIS_NO_LEASE);
	if (BATON__UNKNOWN(options))
		return baton__redis_fail(redis, -EINVAL, BATON__REDIS_UNKNOWN);
	if (options->address &&
	    strlen(options->address) >= sizeof(((struct baton_redis_note *)NULL)->text))
		return baton__redis_fail(redis, -EINVAL,
		                         "the backend's address is longer than 127 bytes");
	new = calloc(1, sizeof(*new));
	if (!new)
		return baton__redis_fail(redis, -ENOMEM, "no memory");
	new->redis = redis;
	new->name = strdup(options->name);
	new->address = strdup(options->address ? options->address : "");
	new->lease_ns = options->lease_ns ? options->lease_ns : LEASE_NS;
	new->history = true;
	error = new->name &&new->address ? renew(new, &own)
	                                 : baton__redis_fail(redis, -ENOMEM, "no memory");
	if (error) {
		free(new->name);
		free(new->address);
		free(new);
		return error;
	}
	*backend = new;
	return 0;
}

BATON_EXPORT void baton_redis_backend_destroy(struct baton_redis_backend *backend)
{
	struct baton__redis_call call;

	baton__redis_call_init(&call, "leave");
	baton__redis_add_text(&call, backend->name);
	/* If the call is lost, the server finds out by the lease. */
	baton__redis_do_once(backend->redis, &call, NULL);
	free_task(backend);
	freeReplyObject(backend->order);
	free(backend->name);
	free(backend->address);
	free(backend);
}
