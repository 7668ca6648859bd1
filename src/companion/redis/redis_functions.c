/* SPDX-License-Identifier: MIT */
/*
 * The functions on the server: whether it has them, and how it gets them.
 */
#include "companion/redis/redis.h"

#include <hiredis/hiredis.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static redisReply *command(struct baton_redis *redis, int argc, const char **argv)
{
	return redisCommandArgv(redis->calls, argc, argv, NULL);
}

/* The text to load: the line that names the library, VERSION, and the .lua files. */
static char *library_text(bool as_script)
{
	size_t size = strlen(baton__redis_functions) + 64;
	char *text = malloc(size);

	if (text)
		snprintf(text, size, "%slocal VERSION = %d\n%s",
		         as_script ? "" : "#!lua name=baton\n", BATON__REDIS_FUNCTIONS,
		         baton__redis_functions);
	return text;
}

static int load_text(struct baton_redis *redis, bool as_script)
{
	const char *argv[] = {as_script ? "SCRIPT" : "FUNCTION", "LOAD", library_text(as_script)};
	redisReply *reply;
	int error = 0;

	if (!argv[2])
		return baton__redis_fail(redis, -ENOMEM, "no memory");
	reply = command(redis, 3, argv);
	free((char *)(uintptr_t)argv[2]);
	if (!reply)
		return baton__redis_unreachable(redis, redis->calls);
	if (reply->type == REDIS_REPLY_ERROR && strstr(reply->str, "already exists"))
		error = BATON__REDIS_RETRY; /* another process was faster */
	else if (reply->type == REDIS_REPLY_ERROR)
		error = baton__redis_refused(redis, reply);
	else if (as_script)
		snprintf(redis->sha, sizeof(redis->sha), "%s", baton__redis_text(reply));
	freeReplyObject(reply);
	return error;
}

/* A server that evicts keys loses tasks. */
static int check_policy(struct baton_redis *redis)
{
	static const char name[] = "maxmemory_policy:";
	const char *argv[] = {"INFO", "memory"};
	redisReply *reply = redis->options.may_evict ? NULL : command(redis, 2, argv);
	const char *policy;
	char text[160];
	int error = 0;

	if (redis->options.may_evict)
		return 0;
	if (!reply)
		return baton__redis_unreachable(redis, redis->calls);
	policy = strstr(baton__redis_text(reply), name);
	policy = policy ? policy + strlen(name) : "unknown";
	if (reply->type == REDIS_REPLY_ERROR) {
		error = baton__redis_refused(redis, reply);
	} else if (strncmp(policy, "noeviction", 10) != 0) {
		snprintf(text, sizeof(text),
		         "the server's maxmemory-policy is %.*s: it may delete tasks; set it to "
		         "noeviction, or take the risk (may_evict)",
		         (int)strcspn(policy, "\r\n"), policy);
		error = baton__redis_fail(redis, -ENOTSUP, text);
	}
	freeReplyObject(reply);
	return error;
}

/* Does the server have our functions? Loads them if it has none. */
static int load_functions(struct baton_redis *redis)
{
	const char *argv[] = {"FCALL", "baton_version", "0"};
	redisReply *reply = command(redis, 3, argv);
	char text[160];
	int error = 0;

	if (!reply)
		return baton__redis_unreachable(redis, redis->calls);
	if (reply->type == REDIS_REPLY_INTEGER && reply->integer != BATON__REDIS_FUNCTIONS) {
		snprintf(text, sizeof(text),
		         "the server's functions are version %lld, this program's %d: end the "
		         "programs of that version, then FUNCTION DELETE baton",
		         reply->integer, BATON__REDIS_FUNCTIONS);
		error = baton__redis_fail(redis, -EPROTO, text);
	} else if (reply->type == REDIS_REPLY_ERROR) {
		redis->as_scripts = strncmp(reply->str, "ERR unknown command", 19) == 0;
		error = redis->as_scripts ? 0 : baton__redis_refused(redis, reply);
		if (error == BATON__REDIS_RETRY || redis->as_scripts)
			error = load_text(redis, redis->as_scripts);
	}
	freeReplyObject(reply);
	return error;
}

static int load(struct baton_redis *redis)
{
	int error = check_policy(redis);

	if (!error)
		error = load_functions(redis);
	redis->loaded = error == 0;
	return error;
}

int baton__redis_ready(struct baton_redis *redis)
{
	int error = 0;

	if (!redis->calls) {
		redis->loaded = false;
		error = baton__redis_connect(redis, &redis->calls);
		redis->connects++;
	}
	if (!error && !redis->loaded)
		error = load(redis);
	return error;
}
