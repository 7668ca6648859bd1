/* SPDX-License-Identifier: MIT */
#include "sentinels.h"

#include <criterion/criterion.h>
#include <hiredis/hiredis.h>

#include <arpa/inet.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TRIES 6000

static bool is_free(unsigned port)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	bool is;

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	is = bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0;
	close(fd);
	return is;
}

/* Below the ports that the system gives to connections, from 32768 on. The bus of a cluster's node
 * has the port 10,000 above the node's. */
unsigned free_port(void)
{
	unsigned port;

	do
		port = 10240 + (unsigned)random() % 12000;
	while (!is_free(port) || !is_free(port + 10000));
	return port;
}

/* ---- Sentinels ---- */

pid_t sentinel_start(const char *directory, int number, unsigned port, unsigned master)
{
	char path[96];
	FILE *file;
	pid_t pid;

	snprintf(path, sizeof(path), "%s/sentinel%d.conf", directory, number);
	file = fopen(path, "w");
	fprintf(file,
	        "port %u\nbind 127.0.0.1\ndir %s\nlogfile sentinel%d.log\n"
	        "sentinel monitor mymaster 127.0.0.1 %u 2\n"
	        "sentinel down-after-milliseconds mymaster 1500\n"
	        "sentinel failover-timeout mymaster 6000\n",
	        port, directory, number, master);
	fclose(file);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		execlp("redis-server", "redis-server", path, "--sentinel", (char *)NULL);
		_exit(127);
	}
	return pid;
}

/* A field of what a sentinel says of the master. */
static long sentinels_number(unsigned port, const char *name)
{
	redisContext *context = redisConnect("127.0.0.1", (int)port);
	redisReply *reply = context->err ? NULL : redisCommand(context, "SENTINEL master mymaster");
	long number = -1;

	for (size_t i = 0; reply && reply->type == REDIS_REPLY_ARRAY && i + 1 < reply->elements;
	     i += 2)
		if (strcmp(reply->element[i]->str, name) == 0)
			number = atol(reply->element[i + 1]->str);
	freeReplyObject(reply);
	redisFree(context);
	return number;
}

static void await_sentinels(unsigned port, const char *name, long number)
{
	int i = 0;

	for (; i < TRIES && sentinels_number(port, name) != number; i++)
		usleep(10000);
	cr_assert_lt(i, TRIES, "a sentinel has %s %ld", name, sentinels_number(port, name));
}

/* ---- All of them ---- */

static bool has_line(const struct server *server, const char *line)
{
	redisReply *reply = server_ask(server, "INFO replication");
	bool has = reply && strstr(reply->str, line) != NULL;

	freeReplyObject(reply);
	return has;
}

static void await_line(const struct server *server, const char *line)
{
	int i = 0;

	for (; i < TRIES && !has_line(server, line); i++)
		usleep(10000);
	cr_assert_lt(i, TRIES, "%s", line);
}

static void start_server(struct watched *watched, int number, bool replica, bool again)
{
	char port[2][16];
	const char *const arguments[] = {"--port",
	                                 port[number],
	                                 "--bind",
	                                 "127.0.0.1",
	                                 replica ? "--replicaof" : NULL,
	                                 "127.0.0.1",
	                                 port[!number],
	                                 NULL};

	for (int i = 0; i < 2; i++)
		snprintf(port[i], sizeof(port[i]), "%u", watched->port[i]);
	if (again)
		server_restart(&watched->server[number], arguments);
	else
		server_start(&watched->server[number], arguments);
}

void watched_start(struct watched *watched)
{
	unsigned sentinel[SENTINELS];

	srandom((unsigned)(getpid() ^ time(NULL)));
	*watched = (struct watched){.port = {free_port(), free_port()}};
	start_server(watched, 0, false, false);
	start_server(watched, 1, true, false);
	await_line(&watched->server[1], "master_link_status:up");
	for (int i = 0; i < SENTINELS; i++) {
		size_t end = strlen(watched->list);

		sentinel[i] = free_port();
		watched->sentinel[i] = sentinel_start(watched->server[0].directory, i, sentinel[i],
		                                      watched->port[0]);
		snprintf(watched->list + end, sizeof(watched->list) - end, "%s127.0.0.1:%u",
		         i == 0 ? "" : ",", sentinel[i]);
	}
	for (int i = 0; i < SENTINELS; i++) {
		await_sentinels(sentinel[i], "num-other-sentinels", SENTINELS - 1);
		await_sentinels(sentinel[i], "num-slaves", 1);
	}
}

void watched_stop(struct watched *watched)
{
	for (int i = 0; i < SENTINELS; i++) {
		kill(watched->sentinel[i], SIGKILL);
		waitpid(watched->sentinel[i], NULL, 0);
	}
	server_stop(&watched->server[1]);
	server_stop(&watched->server[0]);
}

void await_failover(const struct watched *watched)
{
	await_line(&watched->server[1], "role:master");
}

void watched_bring_back(struct watched *watched, bool killed)
{
	if (killed) {
		waitpid(watched->server[0].pid, NULL, 0);
		start_server(watched, 0, true, true);
	} else {
		kill(watched->server[0].pid, SIGCONT);
	}
	await_line(&watched->server[0], "role:slave");
}

struct baton_redis *watched_connect(const struct watched *watched)
{
	struct baton_redis_options options = {
		.sentinels = watched->list,
		.queue = "test",
		.timeout_ns = 2 * BATON_SECOND,
		.patience_ns = 60 * BATON_SECOND,
	};
	struct baton_redis *redis;
	int error = baton_redis_create(&options, &redis);

	cr_assert_eq(error, 0, "%d: %s", error, baton_redis_error(redis));
	return redis;
}
