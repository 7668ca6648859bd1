/* SPDX-License-Identifier: MIT */
/*
 * A reader of effects: it has a name, and the server keeps each effect until every reader has
 * acknowledged it. The effects come in batches, by a read that waits, as notes do.
 */
#include "companion/redis/redis.h"

#include "base/platform.h"
#include "base/refused.h"

#include <hiredis/hiredis.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BATCH 100
#define READ_MS 10000

struct baton_redis_reader {
	struct baton_redis *redis;
	char name[BATON_REDIS_ID_MAX + 1];
	bool remote;
	char position[48]; /* of the last effect that the caller was given */
	uint64_t dropped;
	redisReply *batch;
	const redisReply *entries; /* of the batch */
	size_t at;                 /* the next one */
};

static const char *stream_of(const struct baton_redis_reader *reader)
{
	return reader->remote ? ":remote:effects" : ":effects";
}

/* Calls a function on the server with the reader's name and a position; NULL: none. */
static int call_reader(struct baton_redis_reader *reader, const char *function,
                       const char *position, redisReply **reply)
{
	struct baton__redis_call call;

	baton__redis_call_init(&call, function);
	baton__redis_add_text(&call, reader->name);
	baton__redis_add_text(&call, reader->remote ? "1" : "0");
	if (position)
		baton__redis_add_text(&call, position);
	return baton__redis_do(reader->redis, &call, reply);
}

BATON_EXPORT int baton_redis_reader_create(struct baton_redis *redis,
                                           const struct baton_redis_reader_options *options,
                                           struct baton_redis_reader **reader)
{
	struct baton_redis_reader *new;
	redisReply *reply = NULL;
	int error;

	if (!options->name || !baton__redis_is_name(options->name))
		return baton__redis_fail(redis, -EINVAL, BATON__REDIS_NO_NAME("the reader's name"));
	if (BATON__UNKNOWN(options))
		return baton__redis_fail(redis, -EINVAL, BATON__REDIS_UNKNOWN);
	new = calloc(1, sizeof(*new));
	if (!new)
		return baton__redis_fail(redis, -ENOMEM, "no memory");
	new->redis = redis;
	new->remote = options->remote;
	snprintf(new->name, sizeof(new->name), "%s", options->name);
	error = call_reader(new, "reader", NULL, &reply);
	if (error) {
		free(new);
		return error;
	}
	snprintf(new->position, sizeof(new->position), "%s",
	         baton__redis_text(baton__redis_at(reply, 0)));
	new->dropped = baton__redis_number(baton__redis_at(reply, 1));
	freeReplyObject(reply);
	*reader = new;
	return 0;
}

static void drop_batch(struct baton_redis_reader *reader)
{
	freeReplyObject(reader->batch);
	reader->batch = NULL;
	reader->entries = NULL;
	reader->at = 0;
}

static int ask_effects(struct baton_redis_reader *reader)
{
	struct baton__redis_call call;

	baton__redis_call_init(&call, NULL);
	baton__redis_add_text(&call, "XREAD");
	baton__redis_add_text(&call, "COUNT");
	baton__redis_add_number(&call, BATCH);
	baton__redis_add_text(&call, "BLOCK");
	baton__redis_add_number(&call, READ_MS);
	baton__redis_add_text(&call, "STREAMS");
	baton__redis_add_key(&call, reader->redis, stream_of(reader), NULL);
	baton__redis_add_text(&call, reader->position);
	return baton__redis_ask(reader->redis, &call);
}

/* The value of a field; NULL: none. */
static const redisReply *value_of(const redisReply *entry, const char *name)
{
	const redisReply *fields = baton__redis_at(entry, 1);

	for (size_t i = 0; fields && i + 1 < fields->elements; i += 2)
		if (strcmp(baton__redis_text(fields->element[i]), name) == 0)
			return fields->element[i + 1];
	return NULL;
}

static void give_effect(struct baton_redis_reader *reader, const redisReply *entry,
                        struct baton_redis_effect *effect)
{
	const redisReply *data = value_of(entry, "data");
	const redisReply *id = value_of(entry, reader->remote ? "name" : "id");

	*effect = (struct baton_redis_effect){
		.id = baton__redis_text(id),
		.id_size = id ? id->len : 0,
		.epoch = baton__redis_number(value_of(entry, "epoch")),
		.data = baton__redis_text(data),
		.size = data ? data->len : 0,
	};
	snprintf(reader->position, sizeof(reader->position), "%s",
	         baton__redis_text(baton__redis_at(entry, 0)));
}

BATON_EXPORT int baton_redis_reader_next(struct baton_redis_reader *reader,
                                         struct baton_redis_effect *effect)
{
	int error = 0;

	*effect = (struct baton_redis_effect){0};
	if (reader->entries && reader->at == reader->entries->elements)
		drop_batch(reader);
	if (!reader->batch) {
		error = baton__redis_answer(reader->redis, &reader->batch);
		reader->entries =
			baton__redis_stream(reader->redis, reader->batch, stream_of(reader), NULL);
	}
	if (reader->entries && reader->at < reader->entries->elements) {
		give_effect(reader, reader->entries->element[reader->at++], effect);
		return 0;
	}
	drop_batch(reader);
	if (!error && !reader->redis->asked)
		error = ask_effects(reader);
	return error;
}

BATON_EXPORT int baton_redis_reader_acknowledge(struct baton_redis_reader *reader)
{
	bool more = true;
	int error = 0;

	/* Ends: each call deletes some of the effects that all readers have acknowledged. */
	while (more && !error) {
		redisReply *reply = NULL;

		error = call_reader(reader, "acknowledge", reader->position, &reply);
		more = baton__redis_number(baton__redis_at(reply, 0)) > 0;
		if (!error)
			reader->dropped = baton__redis_number(baton__redis_at(reply, 1));
		freeReplyObject(reply);
	}
	return error;
}

BATON_EXPORT uint64_t baton_redis_reader_dropped(const struct baton_redis_reader *reader)
{
	return reader->dropped;
}

BATON_EXPORT int baton_redis_reader_leave(struct baton_redis_reader *reader)
{
	return call_reader(reader, "reader_leave", NULL, NULL);
}

BATON_EXPORT void baton_redis_reader_destroy(struct baton_redis_reader *reader)
{
	drop_batch(reader);
	baton__redis_unask(reader->redis);
	free(reader);
}
