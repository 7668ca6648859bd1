/* SPDX-License-Identifier: MIT */
/*
 * A list of Redis as a queue: LPUSH; BLMOVE to a list of the worker's own; LREM from there at the
 * end, with the effect, in one go. There are no classes, no limits, no estimates, and nobody takes
 * over what a lost worker has in its list.
 */
#include "load.h"

#include <hiredis/hiredis.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static redisContext *connect_to_list(void)
{
	redisContext *redis = redisConnectUnix(socket_path);

	if (!redis || redis->err)
		load_die("connect", redis ? redis->errstr : "no memory");
	return redis;
}

static void count(void)
{
	__atomic_add_fetch(&shared->commands[role], 1, __ATOMIC_RELAXED);
}

static redisReply *check(const redisContext *redis, void *answer)
{
	redisReply *reply = answer;

	if (!reply || reply->type == REDIS_REPLY_ERROR)
		load_die("list", reply ? reply->str : redis->errstr);
	return reply;
}

static void submit(uint32_t first, uint32_t step, uint32_t end, uint64_t every_ns)
{
	static redisContext *redis;
	uint64_t begin;

	if (!redis)
		redis = connect_to_list();
	begin = load_clock();
	for (uint32_t i = first; i < end; i += step) {
		if (every_ns > 0)
			load_until(begin + i * every_ns);
		shared->sent_at[i] = load_clock();
		count();
		freeReplyObject(check(redis, redisCommand(redis, "LPUSH list %u", i)));
	}
}

static void work(uint32_t number, bool hold)
{
	redisContext *redis = connect_to_list();

	load_ready();
	for (;;) {
		redisReply *reply = check(
			redis, redisCommand(redis, "BLMOVE list own:%u RIGHT LEFT 0", number));
		uint32_t i = (uint32_t)strtoul(reply->str, NULL, 10);
		void *answer = NULL;

		count();
		load_start(i);
		redisAppendCommand(redis, "XADD effects MAXLEN ~ 10000 * id %u data done", i);
		redisAppendCommand(redis, "LREM own:%u 1 %u", number, i);
		count(); /* one round trip */
		for (int n = 0; n < 2; n++) {
			redisGetReply(redis, &answer);
			freeReplyObject(check(redis, answer));
		}
		freeReplyObject(reply);
		load_end();
	}
}

const struct load_kind list_kind = {.name = "list", .submit = submit, .work = work};
