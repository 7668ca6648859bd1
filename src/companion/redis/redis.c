/* SPDX-License-Identifier: MIT */
/*
 * A connection to a queue: calls that are repeated until they are answered, and the read that waits
 * for its answer.
 */
#include "companion/redis/redis.h"

#include "base/platform.h"
#include "base/refused.h"

#include <baton/timer.h>

#include <hiredis/hiredis.h>

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#define BACKOFF_FIRST_NS (10 * UINT64_C(1000000))
#define BACKOFF_MAX_NS BATON_SECOND
/* Redis ends reads that have waited long enough `hz` times a second: 10, at least 1. */
#define TICK_NS BATON_SECOND

uint64_t baton__redis_clock(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * BATON_SECOND + (uint64_t)now.tv_nsec;
}

int baton__redis_fail(struct baton_redis *redis, int error, const char *text)
{
	snprintf(redis->error, sizeof(redis->error), "%s", text);
	return error;
}

bool baton__redis_is_name(const char *name)
{
	size_t length = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	                             "0123456789._-");

	return length > 0 && length <= BATON_REDIS_ID_MAX && name[length] == '\0';
}

/* A lease must end, or the dead keep their place; the server counts in ms. */
bool baton__redis_is_lease(uint64_t ns)
{
	return ns >= BATON_SECOND / 20 && ns <= 24 * 3600 * BATON_SECOND;
}

BATON_EXPORT int baton_redis_token(char token[BATON_REDIS_TOKEN_SIZE])
{
	unsigned char bytes[(BATON_REDIS_TOKEN_SIZE - 1) / 2];

	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return -EIO;
	for (size_t i = 0; i < sizeof(bytes); i++)
		snprintf(token + 2 * i, 3, "%02x", bytes[i]);
	return 0;
}

/*
 * hiredis writes by write(). If the server has closed the socket, that raises SIGPIPE, which would
 * kill the process. So SIGPIPE is blocked on this thread during a call.
 */
static void hold_sigpipe(sigset_t *old)
{
	sigset_t pipe;

	sigemptyset(&pipe);
	sigaddset(&pipe, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &pipe, old);
}

static void release_sigpipe(const sigset_t *old)
{
	sigset_t pipe;

	if (!sigismember(old, SIGPIPE)) {
		sigemptyset(&pipe);
		sigaddset(&pipe, SIGPIPE);
		/* Ends: a pending signal is taken each time. */
		while (sigtimedwait(&pipe, NULL, &(struct timespec){0}) > 0)
			;
	}
	pthread_sigmask(SIG_SETMASK, old, NULL);
}

/* ---- Calls ---- */

/* Appends a command to the context's output: how many arguments, the first ones, the call's. */
static int send_call(const struct baton_redis *redis, struct redisContext *context,
                     const struct baton__redis_call *call)
{
	struct baton__redis_call first;
	char head[32];
	int status;

	baton__redis_call_init(&first, NULL);
	if (call->function) {
		char name[64];

		snprintf(name, sizeof(name), "%s_%s", redis->library, call->function);
		baton__redis_add_text(&first, redis->as_scripts ? "EVALSHA" : "FCALL");
		baton__redis_add_text(&first, redis->as_scripts ? redis->sha : name);
		baton__redis_add_text(&first, "1");
		baton__redis_add_text(&first, redis->key);
		if (redis->as_scripts)
			baton__redis_add_text(&first, call->function);
	}
	snprintf(head, sizeof(head), "*%u\r\n", first.count + call->count);
	status = first.error ? REDIS_ERR : redisAppendFormattedCommand(context, head, strlen(head));
	if (status == REDIS_OK && first.size > 0)
		status = redisAppendFormattedCommand(context, first.text, first.size);
	if (status == REDIS_OK)
		status = redisAppendFormattedCommand(context, call->text, call->size);
	free(first.text);
	return status;
}

/* The server answers a waiting read at the read's end, or at the next tick after that. */
static int await_reply(struct baton_redis *redis, const struct baton__redis_call *call,
                       redisReply **reply)
{
	uint64_t timeout_ns = redis->options.timeout_ns;
	uint64_t more_ns = call->wait_ns > 0 ? call->wait_ns + TICK_NS : 0;
	int status;

	if (timeout_ns > BATON_NEVER - more_ns)
		more_ns = 0;
	if (more_ns > 0)
		redisSetTimeout(redis->calls, baton__redis_time(timeout_ns + more_ns));
	status = redisGetReply(redis->calls, (void **)reply);
	if (more_ns > 0 && status == REDIS_OK)
		redisSetTimeout(redis->calls, baton__redis_time(timeout_ns));
	return status;
}

/* One attempt at a call; call NULL: to connect. */
static int attempt(struct baton_redis *redis, const struct baton__redis_call *call,
                   redisReply **reply)
{
	int error = baton__redis_ready(redis);

	*reply = NULL;
	if (error || !call)
		return error;
	errno = 0;
	if (send_call(redis, redis->calls, call) != REDIS_OK ||
	    await_reply(redis, call, reply) != REDIS_OK) {
		redis->unanswered++;
		return baton__redis_unreachable(redis, redis->calls);
	}
	if ((*reply)->type != REDIS_REPLY_ERROR)
		return 0;
	error = baton__redis_refused(redis, *reply);
	freeReplyObject(*reply);
	*reply = NULL;
	return error;
}

static int wait_ns(uint64_t ns)
{
	struct timespec time = {
		.tv_sec = (time_t)(ns / BATON_SECOND),
		.tv_nsec = (long)(ns % BATON_SECOND),
	};

	return nanosleep(&time, NULL) == 0 ? 0 : -errno;
}

/* The next wait before a connect: twice as long, with a part that differs between processes. */
static uint64_t longer(uint64_t backoff_ns)
{
	uint64_t next = backoff_ns ? 2 * backoff_ns : BACKOFF_FIRST_NS;

	if (next > BACKOFF_MAX_NS)
		next = BACKOFF_MAX_NS;
	return next - baton__redis_clock() % (next / 4);
}

static int fail_call(struct baton_redis *redis, const struct baton__redis_call *call)
{
	return baton__redis_fail(redis, call->error,
	                         call->error == -EMSGSIZE ? "a call sends at most 512 MiB"
	                                                  : "no memory");
}

/* Attempts, with longer and longer pauses, until one has an answer, or the patience is over. */
static int persist(struct baton_redis *redis, const struct baton__redis_call *call,
                   uint64_t patience_ns, redisReply **answer)
{
	uint64_t begin = baton__redis_clock();
	uint64_t backoff_ns = 0;
	sigset_t old;
	int error = BATON__REDIS_RETRY;

	hold_sigpipe(&old);
	while (error == BATON__REDIS_RETRY) {
		redis->elsewhere = false;
		error = attempt(redis, call, answer);
		if (error != BATON__REDIS_RETRY)
			break;
		if (redis->calls && (redis->calls->err || redis->elsewhere))
			baton__redis_disconnect(&redis->calls);
		if (call && call->connection)
			error = -ECONNRESET;
		else if (baton__redis_clock() - begin >= patience_ns)
			error = redis->gave_up;
		else if (wait_ns(backoff_ns = longer(backoff_ns)) == -EINTR)
			error = -EINTR;
	}
	release_sigpipe(&old);
	return error;
}

static int do_patiently(struct baton_redis *redis, struct baton__redis_call *call,
                        uint64_t patience_ns, redisReply **reply)
{
	redisReply *answer = NULL;
	int error = call->error ? fail_call(redis, call) : 0;

	if (call->connection && (!redis->calls || redis->connects != call->connection))
		error = -ECONNRESET;
	if (!error)
		error = persist(redis, call, patience_ns, &answer);
	free(call->text);
	if (!reply)
		freeReplyObject(answer);
	else if (!error)
		*reply = answer;
	return error;
}

int baton__redis_do(struct baton_redis *redis, struct baton__redis_call *call, redisReply **reply)
{
	return do_patiently(redis, call, redis->options.patience_ns, reply);
}

int baton__redis_do_once(struct baton_redis *redis, struct baton__redis_call *call,
                         redisReply **reply)
{
	return do_patiently(redis, call, 0, reply);
}

/* ---- The waiting read ---- */

void baton__redis_unask(struct baton_redis *redis)
{
	baton__redis_disconnect(&redis->reads);
	redis->asked = false;
}

static void lose_reads(struct baton_redis *redis)
{
	baton__redis_disconnect(&redis->reads);
	redis->asked = false;
	redis->backoff_ns = longer(redis->backoff_ns);
	redis->retry_at = baton__redis_clock() + redis->backoff_ns;
}

static int send_ask(struct baton_redis *redis, const struct baton__redis_call *call)
{
	int done = 0;
	int error = 0;

	if (!redis->reads) {
		if (baton__redis_clock() < redis->retry_at)
			return 0;
		error = baton__redis_connect(redis, &redis->reads);
		redis->reconnects++;
	}
	if (!error && send_call(redis, redis->reads, call) != REDIS_OK)
		error = BATON__REDIS_RETRY;
	while (!error && !done)
		if (redisBufferWrite(redis->reads, &done) != REDIS_OK)
			error = BATON__REDIS_RETRY;
	if (error)
		lose_reads(redis);
	redis->asked = !error;
	return error == BATON__REDIS_RETRY ? 0 : error;
}

int baton__redis_ask(struct baton_redis *redis, struct baton__redis_call *call)
{
	sigset_t old;
	int error;

	hold_sigpipe(&old);
	error = call->error ? fail_call(redis, call) : send_ask(redis, call);
	release_sigpipe(&old);
	free(call->text);
	return error;
}

int baton__redis_answer(struct baton_redis *redis, redisReply **reply)
{
	struct pollfd pollfd = {.events = POLLIN};
	void *answer = NULL;
	int error = 0;

	*reply = NULL;
	if (!redis->asked)
		return 0;
	pollfd.fd = redis->reads->fd;
	if (poll(&pollfd, 1, 0) <= 0)
		return 0;
	if (redisBufferRead(redis->reads) != REDIS_OK ||
	    redisGetReplyFromReader(redis->reads, &answer) != REDIS_OK) {
		lose_reads(redis);
		return 0;
	}
	if (!answer)
		return 0;
	redis->asked = false;
	*reply = answer;
	if ((*reply)->type == REDIS_REPLY_ERROR) {
		error = baton__redis_refused(redis, *reply);
		freeReplyObject(*reply);
		*reply = NULL;
		/* Whatever the error, a server that refuses reads is not asked all the time. */
		lose_reads(redis);
	} else {
		redis->backoff_ns = 0;
	}
	return error == BATON__REDIS_RETRY ? 0 : error;
}

BATON_EXPORT int baton_redis_fd(const struct baton_redis *redis)
{
	return redis->asked ? redis->reads->fd : -1;
}

/* ---- Create, destroy ---- */

/* The options' strings, in this order in options_text. */
static bool copy_options(struct baton_redis *redis, const struct baton_redis_options *options)
{
	const char **texts[] = {
		&redis->options.queue,    &redis->options.socket,   &redis->options.host,
		&redis->options.user,     &redis->options.password, &redis->options.tls_ca,
		&redis->options.tls_cert, &redis->options.tls_key,  &redis->options.tls_server_name,
		&redis->options.sentinels, &redis->options.sentinel_master,
		&redis->options.sentinel_user, &redis->options.sentinel_password,
	};

	if (options)
		redis->options = *options;
	if (!redis->options.queue)
		redis->options.queue = "baton";
	if (!redis->options.host)
		redis->options.host = "127.0.0.1";
	if (!redis->options.port)
		redis->options.port = 6379;
	if (!redis->options.timeout_ns)
		redis->options.timeout_ns = 5 * BATON_SECOND;
	if (!redis->options.patience_ns)
		redis->options.patience_ns = 10 * BATON_SECOND;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		if (*texts[i] && !(redis->options_text[i] = strdup(*texts[i])))
			return false;
		*texts[i] = redis->options_text[i];
	}
	return asprintf(&redis->key, "{%s}", redis->options.queue) > 0;
}

static int check_redis_options(struct baton_redis *redis)
{
	const struct baton_redis_options *options = &redis->options;

	if (BATON__UNKNOWN(options))
		return baton__redis_fail(redis, -EINVAL, BATON__REDIS_UNKNOWN);
	if (!baton__redis_is_name(options->queue))
		return baton__redis_fail(redis, -EINVAL, BATON__REDIS_NO_NAME("the queue's name"));
	if (options->sentinels)
		redis->sentinel_count = baton__redis_count_sentinels(options->sentinels);
	if (options->sentinels && redis->sentinel_count == 0)
		return baton__redis_fail(redis, -EINVAL, "the sentinels are not host:port,...");
	return 0;
}

BATON_EXPORT int baton_redis_create(const struct baton_redis_options *options,
                                    struct baton_redis **redis)
{
	struct baton_redis *new = calloc(1, sizeof(*new));
	redisReply *none;
	int error;

	*redis = new;
	if (!new)
		return -ENOMEM;
	if (!copy_options(new, options))
		return baton__redis_fail(new, -ENOMEM, "no memory");
	error = check_redis_options(new);
	if (error)
		return error;
	new->functions = baton__redis_functions_text();
	baton__redis_name_library(new->library);
	return persist(new, NULL, new->options.create_patience_ns, &none);
}

BATON_EXPORT void baton_redis_destroy(struct baton_redis *redis)
{
	baton__redis_disconnect(&redis->calls);
	baton__redis_disconnect(&redis->reads);
	baton__redis_free_tls(redis);
	for (size_t i = 0; i < sizeof(redis->options_text) / sizeof(redis->options_text[0]); i++)
		free(redis->options_text[i]);
	free(redis->key);
	free(redis);
}

BATON_EXPORT const char *baton_redis_error(const struct baton_redis *redis)
{
	return redis->error;
}
