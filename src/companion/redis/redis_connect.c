/* SPDX-License-Identifier: MIT */
/*
 * Connecting: the connection itself, TLS, the password; and what the server's errors mean.
 */
#include "companion/redis/redis.h"

#include <baton/timer.h>

#include <hiredis/hiredis.h>
#if __has_include(<hiredis/hiredis_ssl.h>)
#include <hiredis/hiredis_ssl.h>
#define HAVE_TLS
#endif

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- What the server says ---- */

static const struct {
	const char *begins;
	int error;
} refusals[] = {
	{"ESTALE", -ESTALE},
	{"EEXIST", -EEXIST},
	{"ENOENT", -ENOENT},
	{"EBUSY", -EBUSY},
	{"EALREADY", -EALREADY},
	{"ECLASS", -EINVAL},
	{"EPARTITIONS", -EINVAL},
	{"EREADERS", -EAGAIN},
	{"EFULL", -EAGAIN},
	{"ESCHEMA", -EPROTO},
	{"EFOREIGN", -EBADMSG},
	{"WRONGTYPE", -EBADMSG},
	{"OOM", -ENOMEM},
	{"READONLY", -EROFS},
	{"NOAUTH", -EACCES},
	{"WRONGPASS", -EACCES},
	{"NOPERM", -EACCES},
	{"ERR AUTH", -EACCES},
	{"ERR invalid password", -EACCES},
	{"LOADING", BATON__REDIS_RETRY},
	{"BUSY ", BATON__REDIS_RETRY},
	{"TRYAGAIN", BATON__REDIS_RETRY},
	{"MASTERDOWN", BATON__REDIS_RETRY},
	{"NOSCRIPT", BATON__REDIS_RETRY},
	{"NOGROUP", BATON__REDIS_RETRY},
	{"ERR Function not found", BATON__REDIS_RETRY},
	{"ERR max number of clients", BATON__REDIS_RETRY},
	/* A read that waited when the server became a replica. */
	{"UNBLOCKED", BATON__REDIS_RETRY},
};

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
	for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++)
		if (strncmp(text, refusals[i].begins, strlen(refusals[i].begins)) == 0)
			return refusals[i].error;
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
	const struct baton_redis_options *options = &redis->options;
	const char *text = context ? context->errstr : "no memory";

	if (context && context->err == REDIS_ERR_IO && errno == EAGAIN)
		text = "it does not answer";
	if (options->socket)
		snprintf(redis->error, sizeof(redis->error), "no Redis at %s: %s", options->socket,
		         text);
	else
		snprintf(redis->error, sizeof(redis->error), "no Redis at %s:%u: %s", options->host,
		         options->port, text);
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

static int log_in(struct baton_redis *redis, struct redisContext *context)
{
	const struct baton_redis_options *options = &redis->options;
	const char *argv[3] = {"AUTH"};
	int argc = 1;

	if (!options->password)
		return 0;
	if (options->user)
		argv[argc++] = options->user;
	argv[argc++] = options->password;
	return say(redis, context, argc, argv);
}

#ifdef HAVE_TLS
static int begin_tls(struct baton_redis *redis, struct redisContext *context)
{
	const struct baton_redis_options *options = &redis->options;
	redisSSLContextError error = REDIS_SSL_CTX_NONE;

	if (!redis->tls) {
		redisInitOpenSSL();
		redis->tls =
			redisCreateSSLContext(options->tls_ca, NULL, options->tls_cert,
		                              options->tls_key, options->tls_server_name, &error);
	}
	if (!redis->tls)
		return baton__redis_fail(redis, -EINVAL, redisSSLContextGetError(error));
	if (redisInitiateSSLWithContext(context, redis->tls) != REDIS_OK)
		return baton__redis_unreachable(redis, context);
	return 0;
}
void baton__redis_free_tls(struct baton_redis *redis)
{
	if (redis->tls)
		redisFreeSSLContext(redis->tls);
}
#else
void baton__redis_free_tls(struct baton_redis *redis)
{
	(void)redis;
}

static int begin_tls(struct baton_redis *redis, struct redisContext *context)
{
	(void)context;
	return baton__redis_fail(redis, -ENOTSUP,
	                         "this libbaton-redis was built with a hiredis without TLS");
}
#endif

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

int baton__redis_connect(struct baton_redis *redis, struct redisContext **connected)
{
	const struct baton_redis_options *options = &redis->options;
	struct timeval timeout = baton__redis_time(options->timeout_ns);
	struct redisContext *context =
		options->socket ? redisConnectUnixWithTimeout(options->socket, timeout)
				: redisConnectWithTimeout(options->host, options->port, timeout);
	int error = 0;

	if (!context || context->err)
		error = baton__redis_unreachable(redis, context);
	if (!error && redisSetTimeout(context, timeout) != REDIS_OK)
		error = baton__redis_unreachable(redis, context);
	if (!error && wants_tls(options))
		error = begin_tls(redis, context);
	if (!error)
		error = log_in(redis, context);
	if (error)
		baton__redis_disconnect(&context);
	*connected = context;
	return error;
}
