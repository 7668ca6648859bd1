/* SPDX-License-Identifier: MIT */
/*
 * The figures of a queue, for who operates it: one call, which touches one task however many wait.
 */
#include "companion/redis/redis.h"

#include "base/platform.h"

#include <hiredis/hiredis.h>

#include <errno.h>
#include <stddef.h>
#include <stdio.h>

#define US 1000
#define MS UINT64_C(1000000)

/* In the order of F.stats in queue.lua. */
static const struct {
	size_t offset;
	uint64_t unit;
} members[] = {
	{offsetof(struct baton_redis_stats, waiting), 1},
	{offsetof(struct baton_redis_stats, oldest_ns), US},
	{offsetof(struct baton_redis_stats, running), 1},
	{offsetof(struct baton_redis_stats, backends), 1},
	{offsetof(struct baton_redis_stats, leader), 1},
	{offsetof(struct baton_redis_stats, lease_ns), MS},
	{offsetof(struct baton_redis_stats, renewed_ns), US},
	{offsetof(struct baton_redis_stats, effects), 1},
	{offsetof(struct baton_redis_stats, readers), 1},
	{offsetof(struct baton_redis_stats, submitted), 1},
	{offsetof(struct baton_redis_stats, done), 1},
	{offsetof(struct baton_redis_stats, denied), 1},
	{offsetof(struct baton_redis_stats, failed), 1},
	{offsetof(struct baton_redis_stats, withdrawn), 1},
	{offsetof(struct baton_redis_stats, retries), 1},
	{offsetof(struct baton_redis_stats, effects_dropped), 1},
	{offsetof(struct baton_redis_stats, bytes), 1},
	{offsetof(struct baton_redis_stats, classes), 1},
	{offsetof(struct baton_redis_stats, queue_max), 1},
	{offsetof(struct baton_redis_stats, queue_bytes_max), 1},
	{offsetof(struct baton_redis_stats, effects_max), 1},
};

#define MEMBERS (sizeof(members) / sizeof(members[0]))

static void read_stats(const redisReply *reply, struct baton_redis_stats *copy)
{
	const redisReply *numbers = baton__redis_at(reply, 0);
	const redisReply *waiting = baton__redis_at(reply, 2);

	*copy = (struct baton_redis_stats){0};
	for (size_t i = 0; i < MEMBERS; i++) {
		uint64_t *member = (uint64_t *)(void *)((char *)copy + members[i].offset);

		*member = baton__redis_number(baton__redis_at(numbers, i)) * members[i].unit;
	}
	snprintf(copy->slowest_reader, sizeof(copy->slowest_reader), "%s",
	         baton__redis_text(baton__redis_at(reply, 1)));
	for (size_t i = 0; i < BATON_REDIS_KINDS; i++)
		copy->waiting_by_kind[i] = baton__redis_number(baton__redis_at(waiting, i));
	/* A lease that nobody has renewed in time is free, though its key is still there. */
	if (copy->leader > 0 && copy->renewed_ns > copy->lease_ns)
		copy->leader = 0;
}

BATON_EXPORT int baton_redis_stats_read(struct baton_redis *redis, struct baton_redis_stats *copy)
{
	struct baton__redis_call call;
	redisReply *reply = NULL;
	int error;

	baton__redis_call_init(&call, "stats");
	error = baton__redis_do(redis, &call, &reply);
	if (!error && (!baton__redis_at(reply, 2) || baton__redis_at(reply, 0)->elements < MEMBERS))
		error = baton__redis_fail(redis, -EPROTO, "the server's figures are others");
	if (!error)
		read_stats(reply, copy);
	freeReplyObject(reply);
	return error;
}
