/* SPDX-License-Identifier: MIT */
/*
 * Connecting: the connection itself, the password; and what the server's errors mean.
 */
#include "companion/redis/redis.h"

#include <baton/timer.h>

#include <hiredis/hiredis.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- What the server says ---- */

/* What a call does that gets an error. */
enum answer {
	FAILS,
	LACKS_RIGHT, /* fails, too */
	TRIES_AGAIN,
	CONNECTS_AGAIN, /* another server may be the master now */
};

static const struct {
	const char *begins;
	int error; /* of a call that tries again: when its patience is over */
	enum answer answer;
} refusals[] = {
	{"ESTALE", -ESTALE, FAILS},
	{"EEXIST", -EEXIST, FAILS},
	{"ENOENT", -ENOENT, FAILS},
	{"EBUSY", -EBUSY, FAILS},
	{"EALREADY", -EALREADY, FAILS},
	{"MOVED", -EREMOTE, FAILS},
	{"ASK", -EREMOTE, FAILS},
	{"CROSSSLOT", -EREMOTE, FAILS},
	{"CLUSTERDOWN", -ECONNREFUSED, TRIES_AGAIN},
	{"ECLASS", -EINVAL, FAILS},
	{"EPARTITIONS", -EINVAL, FAILS},
	{"EREADERS", -EAGAIN, FAILS},
	{"EFULL", -EAGAIN, FAILS},
	{"ESCHEMA", -EPROTO, FAILS},
	{"EFOREIGN", -EBADMSG, FAILS},
	{"WRONGTYPE", -EBADMSG, FAILS},
	{"OOM", -ENOMEM, FAILS},
	{"NOAUTH", -EACCES, FAILS},
	{"WRONGPASS", -EACCES, FAILS},
	{"NOPERM", -EACCES, LACKS_RIGHT},
	/* The same within a function, before Redis 7.2. */
	{"ERR The user executing the script", -EACCES, LACKS_RIGHT},
	{"ERR AUTH", -EACCES, FAILS},
	{"ERR invalid password", -EACCES, FAILS},
	{"BUSY ", -ECONNREFUSED, TRIES_AGAIN},
	{"TRYAGAIN", -ECONNREFUSED, TRIES_AGAIN},
	{"NOSCRIPT", -ECONNREFUSED, TRIES_AGAIN},
	{"NOGROUP", -ECONNREFUSED, TRIES_AGAIN},
	{"ERR Function not found", -ECONNREFUSED, TRIES_AGAIN},
	{"ERR max number of clients", -ECONNREFUSED, TRIES_AGAIN},
	{"LOADING", -ECONNREFUSED, CONNECTS_AGAIN},
	{"MASTERDOWN", -ECONNREFUSED, CONNECTS_AGAIN},
	{"READONLY", -EROFS, CONNECTS_AGAIN},
	{"NOREPLICAS", -EROFS, CONNECTS_AGAIN},
	/* A read that waited when the server became a replica. */
	{"UNBLOCKED", -ECONNREFUSED, CONNECTS_AGAIN},
};

/* MOVED or ASK, the slot, and the node that has it. */
static void name_slots_node(struct baton_redis *redis, const char *text)
{
	const char *slot = strchr(text, ' ');
	const char *node = slot ? strchr(slot + 1, ' ') : NULL;
	char said[sizeof(redis->error)];

	if (strncmp(text, "CROSSSLOT", 9) == 0 || !node)
		snprintf(said, sizeof(said), "a cluster refuses the queue's keys: %.150s", text);
	else
		snprintf(said, sizeof(said),
		         "another node of the cluster has the queue's slot, or is getting it: set "
		         "`host` and `port` to%.60s",
		         node);
	baton__redis_fail(redis, -EREMOTE, said);
}

/* Redis names the command that a user lacks, within a function from 7.2 on; it names no key. */
static void name_rights(struct baton_redis *redis, const char *text)
{
	char said[sizeof(redis->error)];
	char keys[BATON_REDIS_ID_MAX + 32] = "";

	if (strstr(text, "key"))
		snprintf(keys, sizeof(keys), "the queue's keys are %s*; ", redis->key);
	snprintf(said, sizeof(said), "%.110s: %sbaton-redis-server(7) names the rights", text,
	         keys);
	baton__redis_fail(redis, 0, said);
}

/* The errno of an error reply. */
int baton__redis_refused(struct baton_redis *redis, const redisReply *reply)
{
	const char *text = reply->str;

	baton__redis_fail(redis, 0, text);
	if (strncmp(text, "NOSCRIPT", 8) == 0 || strstr(text, "Function not found"))
		redis->loaded = false;
	if (strncmp(text, "OOM", 3) == 0)
		baton__redis_fail(redis, 0,
		                  "the server's memory is full (maxmemory): it takes no new tasks "
		                  "until others are over");
	if (strncmp(text, "MISCONF", 7) == 0)
		return strstr(text, "No space left") ? -ENOSPC : -EIO;
	for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
		if (strncmp(text, refusals[i].begins, strlen(refusals[i].begins)) != 0)
			continue;
		if (refusals[i].error == -EREMOTE)
			name_slots_node(redis, text);
		if (refusals[i].answer == LACKS_RIGHT)
			name_rights(redis, text);
		redis->gave_up = refusals[i].error;
		redis->elsewhere = refusals[i].answer == CONNECTS_AGAIN;
		return refusals[i].answer <= LACKS_RIGHT ? refusals[i].error : BATON__REDIS_RETRY;
	}
	return -EIO;
}

/* ---- Connecting ---- */

void baton__redis_disconnect(struct redisContext **context)
{
	if (*context)
		redisFree(*context);
	*context = NULL;
}

int baton__redis_unreachable(struct baton_redis *redis, const struct redisContext *context)
{
	const char *text = context ? context->errstr : "no memory";

	redis->gave_up = -ECONNREFUSED;
	if (context && context->err == REDIS_ERR_IO && errno == EAGAIN) {
		text = "it does not answer";
		redis->gave_up = -ETIMEDOUT;
	}
	if (context && context->connection_type == REDIS_CONN_UNIX)
		snprintf(redis->error, sizeof(redis->error), "no Redis at %s: %s",
		         context->unix_sock.path, text);
	else
		snprintf(redis->error, sizeof(redis->error), "no Redis at %s:%d: %s",
		         context ? context->tcp.host : "", context ? context->tcp.port : 0, text);
	return BATON__REDIS_RETRY;
}

/* Sends a command over a connection that is not in use yet, and waits for the answer. */
static int say(struct baton_redis *redis, struct redisContext *context, int argc, const char **argv)
{
	redisReply *reply = redisCommandArgv(context, argc, argv, NULL);
	int error = 0;

	if (!reply)
		return baton__redis_unreachable(redis, context);
	if (reply->type == REDIS_REPLY_ERROR)
		error = baton__redis_refused(redis, reply);
	freeReplyObject(reply);
	return error;
}

static int log_in(struct baton_redis *redis, struct redisContext *context,
                  const struct baton__redis_place *place)
{
	const char *argv[3] = {"AUTH"};
	int argc = 1;

	if (!place->password)
		return 0;
	if (place->user)
		argv[argc++] = place->user;
	argv[argc++] = place->password;
	return say(redis, context, argc, argv);
}

static bool wants_tls(const struct baton_redis_options *options)
{
	return options->tls_ca || options->tls_cert || options->tls_key || options->tls_server_name;
}

struct timeval baton__redis_time(uint64_t ns)
{
	return (struct timeval){
		.tv_sec = (time_t)(ns / BATON_SECOND),
		.tv_usec = (suseconds_t)(ns % BATON_SECOND / 1000),
	};
}

int baton__redis_open(struct baton_redis *redis, const struct baton__redis_place *place,
                      struct redisContext **opened)
{
	struct timeval timeout = baton__redis_time(place->timeout_ns);
	struct redisContext *context =
		place->socket ? redisConnectUnixWithTimeout(place->socket, timeout)
			      : redisConnectWithTimeout(place->host, place->port, timeout);
	int error = 0;

	if (!context || context->err)
		error = baton__redis_unreachable(redis, context);
	if (!error && redisSetTimeout(context, timeout) != REDIS_OK)
		error = baton__redis_unreachable(redis, context);
	/* A read that waits learns so that the server's machine is gone. */
	if (!error && !place->socket && redisEnableKeepAlive(context) != REDIS_OK)
		error = baton__redis_unreachable(redis, context);
	if (!error && wants_tls(&redis->options))
		error = baton__redis_begin_tls(redis, context);
	if (!error)
		error = log_in(redis, context, place);
	if (error)
		baton__redis_disconnect(&context);
	*opened = context;
	return error;
}

int baton__redis_connect(struct baton_redis *redis, struct redisContext **connected)
{
	const struct baton_redis_options *options = &redis->options;
	struct baton__redis_place place = {
		.socket = options->socket,
		.host = options->host,
		.port = options->port,
		.user = options->user,
		.password = options->password,
		.timeout_ns = options->timeout_ns,
	};
	char host[BATON__REDIS_HOST_SIZE];
	int error = 0;

	*connected = NULL;
	if (options->sentinels) {
		error = baton__redis_find_master(redis, host, &place.port);
		place.socket = NULL;
		place.host = host;
	}
	if (!error)
		error = baton__redis_open(redis, &place, connected);
	if (!error && options->sentinels)
		error = baton__redis_check_role(redis, *connected);
	if (error)
		baton__redis_disconnect(connected);
	return error;
}
