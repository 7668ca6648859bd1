/* SPDX-License-Identifier: MIT */
/*
 * Where the master is, by its sentinels: each new connection asks them. A sentinel that is out of
 * date names a server that is away, or a replica; the connection then fails, and the sentinels are
 * asked again.
 */
#include "companion/redis/redis.h"

#include <baton/timer.h>

#include <hiredis/hiredis.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PORT 26379
/* The next sentinel is asked when one has not answered for so long. */
#define TIMEOUT_NS BATON_SECOND

/* Takes the address at the begin of a list: "host:port", "host", "[::1]:port". Returns the rest of
 * the list, or NULL: there is no address. */
static const char *take_address(const char *list, char host[BATON__REDIS_HOST_SIZE], uint16_t *port)
{
	size_t size = strcspn(list, ",");
	const char *end = list[0] == '[' ? memchr(list, ']', size) : NULL;
	size_t length = end ? (size_t)(end - list - 1) : strcspn(list, ":,");
	const char *after = end ? end + 1 : list + length;
	char *digits_end = NULL;
	unsigned long number = PORT;

	if (length == 0 || length >= BATON__REDIS_HOST_SIZE)
		return NULL;
	if (*after == ':')
		number = strtoul(after + 1, &digits_end, 10);
	if ((digits_end ? digits_end : after) != list + size || number == 0 || number > UINT16_MAX)
		return NULL;
	if (strcmp(list + size, ",") == 0)
		return NULL;
	snprintf(host, BATON__REDIS_HOST_SIZE, "%.*s", (int)length, end ? list + 1 : list);
	*port = (uint16_t)number;
	return list[size] ? list + size + 1 : list + size;
}

uint32_t baton__redis_count_sentinels(const char *list)
{
	char host[BATON__REDIS_HOST_SIZE];
	uint16_t port;
	uint32_t count = 0;

	do {
		list = take_address(list, host, &port);
		count++;
	} while (list && *list);
	return list ? count : 0;
}

/* ---- Asking one ---- */

static const char *master_name(const struct baton_redis_options *options)
{
	return options->sentinel_master ? options->sentinel_master : "mymaster";
}

/* Takes host and port out of a sentinel's answer. */
static int read_master(struct baton_redis *redis, const redisReply *reply,
                       char host[BATON__REDIS_HOST_SIZE], uint16_t *port)
{
	uint64_t number = baton__redis_number(baton__redis_at(reply, 1));

	if (reply->type == REDIS_REPLY_ERROR)
		return baton__redis_refused(redis, reply);
	if (number == 0 || number > UINT16_MAX) {
		snprintf(redis->error, sizeof(redis->error), "it knows no master %s",
		         master_name(&redis->options));
		redis->gave_up = -ECONNREFUSED;
		return BATON__REDIS_RETRY;
	}
	snprintf(host, BATON__REDIS_HOST_SIZE, "%s", baton__redis_text(baton__redis_at(reply, 0)));
	*port = (uint16_t)number;
	return 0;
}

static int ask_sentinel(struct baton_redis *redis, const struct baton__redis_place *place,
                        char host[BATON__REDIS_HOST_SIZE], uint16_t *port)
{
	const char *argv[] = {"SENTINEL", "get-master-addr-by-name", master_name(&redis->options)};
	struct redisContext *context;
	redisReply *reply;
	int error = baton__redis_open(redis, place, &context);

	if (error)
		return error;
	reply = redisCommandArgv(context, 3, argv, NULL);
	error = reply ? read_master(redis, reply, host, port)
		      : baton__redis_unreachable(redis, context);
	freeReplyObject(reply);
	redisFree(context);
	return error;
}

/* ---- Asking all ---- */

/* Says that this sentinel has not answered. */
static void name_sentinel(struct baton_redis *redis, const struct baton__redis_place *place)
{
	char text[sizeof(redis->error)];

	snprintf(text, sizeof(text), "the sentinel %.60s:%u: %.150s", place->host, place->port,
	         redis->error);
	baton__redis_fail(redis, 0, text);
}

int baton__redis_find_master(struct baton_redis *redis, char host[BATON__REDIS_HOST_SIZE],
                             uint16_t *port)
{
	const struct baton_redis_options *options = &redis->options;
	char sentinel_host[BATON__REDIS_HOST_SIZE];
	struct baton__redis_place place = {
		.host = sentinel_host,
		.user = options->sentinel_user,
		.password = options->sentinel_password,
		.timeout_ns = options->timeout_ns < TIMEOUT_NS ? options->timeout_ns : TIMEOUT_NS,
	};
	int error = 0;

	/* Each sentinel once, from the one on that has answered last. */
	for (uint32_t i = 0; i < redis->sentinel_count; i++) {
		const char *list = options->sentinels;

		for (uint32_t j = 0; j <= redis->sentinel; j++)
			list = take_address(list, sentinel_host, &place.port);
		error = ask_sentinel(redis, &place, host, port);
		if (!error)
			return 0;
		name_sentinel(redis, &place);
		redis->sentinel = (redis->sentinel + 1) % redis->sentinel_count;
	}
	return error;
}

int baton__redis_check_role(struct baton_redis *redis, struct redisContext *context)
{
	redisReply *reply = redisCommand(context, "ROLE");
	int error = 0;

	if (!reply)
		return baton__redis_unreachable(redis, context);
	if (reply->type == REDIS_REPLY_ERROR) {
		error = baton__redis_refused(redis, reply);
	} else if (strcmp(baton__redis_text(baton__redis_at(reply, 0)), "master") != 0) {
		snprintf(redis->error, sizeof(redis->error),
		         "%s:%d is a replica: its sentinels have no other master yet",
		         context->tcp.host, context->tcp.port);
		redis->gave_up = -EROFS;
		error = BATON__REDIS_RETRY;
	}
	freeReplyObject(reply);
	return error;
}
