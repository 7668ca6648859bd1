/* SPDX-License-Identifier: MIT */
/*
 * Arguments of calls, in the form of Redis's protocol, and what is in its answers.
 */
#include "companion/redis/redis.h"

#include <hiredis/hiredis.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEY_SIZE (2 * BATON_REDIS_ID_MAX + 32)

const char *baton__redis_functions_text(void)
{
	return baton__redis_functions;
}

void baton__redis_call_init(struct baton__redis_call *call, const char *function)
{
	*call = (struct baton__redis_call){.function = function};
}

static bool grow_text(struct baton__redis_call *call, size_t more)
{
	size_t room = call->room ? call->room : 256;
	char *text;

	if (call->error)
		return false;
	if (more > BATON_REDIS_SIZE_MAX || call->size + more > BATON_REDIS_SIZE_MAX) {
		call->error = -EMSGSIZE;
		return false;
	}
	while (room < call->size + more)
		room *= 2;
	if (room == call->room)
		return true;
	text = realloc(call->text, room);
	if (!text) {
		call->error = -ENOMEM;
		return false;
	}
	call->text = text;
	call->room = room;
	return true;
}

void baton__redis_add(struct baton__redis_call *call, const void *data, size_t size)
{
	if (!grow_text(call, size + 32))
		return;
	call->size += (size_t)snprintf(call->text + call->size, 32, "$%zu\r\n", size);
	if (size > 0)
		memcpy(call->text + call->size, data, size);
	call->size += size;
	memcpy(call->text + call->size, "\r\n", 2);
	call->size += 2;
	call->count++;
}

void baton__redis_add_text(struct baton__redis_call *call, const char *text)
{
	baton__redis_add(call, text, strlen(text));
}

void baton__redis_add_number(struct baton__redis_call *call, uint64_t number)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, number);
	baton__redis_add_text(call, text);
}

static void name_key(char key[KEY_SIZE], const struct baton_redis *redis, const char *suffix,
                     const char *id)
{
	snprintf(key, KEY_SIZE, "%s%s%s", redis->key, suffix, id ? id : "");
}

void baton__redis_add_key(struct baton__redis_call *call, const struct baton_redis *redis,
                          const char *suffix, const char *id)
{
	char key[KEY_SIZE];

	name_key(key, redis, suffix, id);
	baton__redis_add_text(call, key);
}

void baton__redis_add_all(struct baton__redis_call *call, const struct baton__redis_call *other)
{
	if (!call->error)
		call->error = other->error;
	/* An empty call has no text. */
	if (other->size == 0 || !grow_text(call, other->size))
		return;
	memcpy(call->text + call->size, other->text, other->size);
	call->size += other->size;
	call->count += other->count;
}

/* ---- Answers ---- */

const struct redisReply *baton__redis_at(const struct redisReply *reply, size_t index)
{
	if (!reply || reply->type != REDIS_REPLY_ARRAY || index >= reply->elements)
		return NULL;
	return reply->element[index];
}

const char *baton__redis_text(const struct redisReply *reply)
{
	return reply && reply->str ? reply->str : "";
}

uint64_t baton__redis_number(const struct redisReply *reply)
{
	if (reply && reply->type == REDIS_REPLY_INTEGER)
		return (uint64_t)reply->integer;
	return strtoull(baton__redis_text(reply), NULL, 10);
}

const char *baton__redis_field(const struct redisReply *entry, const char *name)
{
	const struct redisReply *fields = baton__redis_at(entry, 1);

	for (size_t i = 0; fields && i + 1 < fields->elements; i += 2)
		if (strcmp(baton__redis_text(fields->element[i]), name) == 0)
			return baton__redis_text(fields->element[i + 1]);
	return "";
}

const struct redisReply *baton__redis_stream(const struct baton_redis *redis,
                                             const struct redisReply *reply, const char *suffix,
                                             const char *id)
{
	const struct redisReply *stream;
	char key[KEY_SIZE];

	name_key(key, redis, suffix, id);
	for (size_t i = 0; (stream = baton__redis_at(reply, i)); i++)
		if (strcmp(baton__redis_text(baton__redis_at(stream, 0)), key) == 0)
			return baton__redis_at(stream, 1);
	return NULL;
}
