/* SPDX-License-Identifier: MIT */
/*
 * The functions on the server: whether it has them, and how it gets them. The name of the library,
 * and of each function, says the version, and a checksum of the text. So programs with different
 * texts use functions of their own on one server; names.lua says when they may use one queue.
 */
#include "companion/redis/redis.h"

#include <baton/version.h>

#include <hiredis/hiredis.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static redisReply *command(struct baton_redis *redis, int argc, const char **argv)
{
	return redisCommandArgv(redis->calls, argc, argv, NULL);
}

/* FNV-1a. Two texts of one version that have the same sum are taken for one: 1 in 4 billion. */
static uint32_t sum_of_text(const char *text)
{
	uint32_t sum = 2166136261;

	for (; *text; text++)
		sum = (sum ^ (unsigned char)*text) * 16777619;
	return sum;
}

void baton__redis_name_library(char name[BATON__REDIS_LIBRARY_SIZE])
{
	snprintf(name, BATON__REDIS_LIBRARY_SIZE, "baton_%d_%d_%08x", BATON_VERSION_MAJOR,
	         BATON_VERSION_MINOR, sum_of_text(baton__redis_functions_text()));
}

/* The text to load: the line that names the library, LIBRARY, and the .lua files. */
static char *library_text(const struct baton_redis *redis)
{
	char first[BATON__REDIS_LIBRARY_SIZE + 16] = "";
	char *text;

	if (!redis->as_scripts)
		snprintf(first, sizeof(first), "#!lua name=%s\n", redis->library);
	if (asprintf(&text, "%slocal LIBRARY = '%s'\n%s", first, redis->library,
	             redis->functions) < 0)
		return NULL;
	return text;
}

static int load_text(struct baton_redis *redis)
{
	const char *argv[] = {redis->as_scripts ? "SCRIPT" : "FUNCTION", "LOAD", NULL};
	char *text = library_text(redis);
	redisReply *reply;
	int error = 0;

	if (!text)
		return baton__redis_fail(redis, -ENOMEM, "no memory");
	argv[2] = text;
	reply = command(redis, 3, argv);
	free(text);
	if (!reply)
		return baton__redis_unreachable(redis, redis->calls);
	/* "already exists": another process was faster, with the same text. */
	if (reply->type == REDIS_REPLY_ERROR && !strstr(reply->str, "already exists"))
		error = baton__redis_refused(redis, reply);
	else if (redis->as_scripts)
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
	char name[64];
	const char *argv[] = {"FCALL", name, "1", redis->key};
	redisReply *reply;
	int error = 0;

	snprintf(name, sizeof(name), "%s_version", redis->library);
	reply = command(redis, 4, argv);
	if (!reply)
		return baton__redis_unreachable(redis, redis->calls);
	if (reply->type == REDIS_REPLY_ERROR) {
		redis->as_scripts = strncmp(reply->str, "ERR unknown command", 19) == 0;
		if (redis->as_scripts || strstr(reply->str, "Function not found"))
			error = load_text(redis);
		else
			error = baton__redis_refused(redis, reply);
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
		/* Another server may be the master now: the read must ask there, too. */
		if (redis->connects > 0)
			baton__redis_unask(redis);
		redis->loaded = false;
		error = baton__redis_connect(redis, &redis->calls);
		redis->connects++;
	}
	if (!error && !redis->loaded)
		error = load(redis);
	return error;
}
