/* SPDX-License-Identifier: MIT */
#include "monitor.h"

#include <criterion/criterion.h>
#include <hiredis/hiredis.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAMES_MAX 16384
#define NAME_SIZE 96

/* The keys that a call has touched: each once. */
static char names[NAMES_MAX][NAME_SIZE];
static unsigned count;

static bool is_counted(const char *key)
{
	static const char *const counted[] = {"{test}:task:", "{test}:note:", "{test}:held:"};

	for (size_t i = 0; i < sizeof(counted) / sizeof(counted[0]); i++)
		if (strncmp(key, counted[i], strlen(counted[i])) == 0)
			return true;
	return false;
}

/* A task is counted once, by its id, whether its hash or its note is touched. */
static void add_name(const char *key)
{
	const char *name = strchr(strchr(key, ':') + 1, ':') + 1;
	size_t length = strcspn(name, "\"");

	cr_assert(length < NAME_SIZE && count < NAMES_MAX);
	for (unsigned i = count; i-- > 0;)
		if (strncmp(names[i], name, length) == 0 && !names[i][length])
			return;
	memcpy(names[count], name, length);
	names[count++][length] = '\0';
}

/* A line: the time, [database client] or [database lua], and the words in quotation marks. */
static void read_line(struct monitor *monitor, const char *line)
{
	const char *key = line;

	if (!strstr(line, " lua] ")) {
		monitor->calls += strstr(line, "\"FCALL\" \"baton_") != NULL;
		monitor->counts = strstr(line, "\"FCALL\" \"baton_") != NULL;
		count = 0;
		snprintf(monitor->worst, sizeof(monitor->worst), "%s", line);
	}
	if (!monitor->counts || !strstr(line, " lua] "))
		return;
	while ((key = strstr(key, "\"{test}:"))) {
		key++;
		if (is_counted(key))
			add_name(key);
	}
	if (count > monitor->most)
		monitor->most = count;
	cr_assert_leq(count, TOUCHED_MAX, "%s", monitor->worst);
}

void monitor_start(struct monitor *monitor, const struct server *server)
{
	*monitor = (struct monitor){.context = redisConnectUnix(server->socket)};
	count = 0;
	freeReplyObject(redisCommand(monitor->context, "MONITOR"));
}

void monitor_read(struct monitor *monitor, const struct server *server)
{
	bool end = false;

	server_text(server, "PING end-of-the-calls");
	while (!end) {
		redisReply *reply = NULL;

		cr_assert_eq(redisGetReply(monitor->context, (void **)&reply), REDIS_OK);
		end = strstr(reply->str, "end-of-the-calls") != NULL;
		read_line(monitor, reply->str);
		freeReplyObject(reply);
	}
}

void monitor_stop(struct monitor *monitor)
{
	redisFree(monitor->context);
}
