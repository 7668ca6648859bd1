/* SPDX-License-Identifier: MIT */
/* What the functions on the server touch, as the server's MONITOR tells it. */
#ifndef BATON_TEST_REDIS_MONITOR_H
#define BATON_TEST_REDIS_MONITOR_H

#include "server.h"

#include <stdbool.h>

/* No call of a function may touch more. */
#define TOUCHED_MAX 500

struct redisContext;

struct monitor {
	struct redisContext *context;
	bool counts;     /* the last call was of a function, not the test's own */
	unsigned calls;  /* of functions */
	unsigned most;   /* tasks, notes and backends that one call has touched */
	char worst[128]; /* the beginning of that call */
};

void monitor_start(struct monitor *monitor, const struct server *server);
/* Reads all that has been called since. Fails if a call has touched more than TOUCHED_MAX. */
void monitor_read(struct monitor *monitor, const struct server *server);
void monitor_stop(struct monitor *monitor);

#endif
