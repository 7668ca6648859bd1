/* SPDX-License-Identifier: MIT */
/* A master, its replica, and three sentinels that watch them, on ports of this machine. */
#ifndef BATON_TEST_REDIS_SENTINELS_H
#define BATON_TEST_REDIS_SENTINELS_H

#include "server.h"

#define SENTINELS 3

struct watched {
	struct server server[2]; /* the master, the replica */
	unsigned port[2];
	pid_t sentinel[SENTINELS];
	char list[128]; /* the sentinels' addresses */
};

/* A port on which nobody listens now. */
unsigned free_port(void);

/* Starts a sentinel of the master on the port `master`, with its files in the directory. */
pid_t sentinel_start(const char *directory, int number, unsigned port, unsigned master);

void watched_start(struct watched *watched);
void watched_stop(struct watched *watched);

/* Waits until the replica is master: the first master was killed or frozen. */
void await_failover(const struct watched *watched);
/* The first master, killed or frozen, comes back as a replica. */
void watched_bring_back(struct watched *watched, bool killed);

/* Connects by the sentinels, with a patience that outlasts the fail-over. */
struct baton_redis *watched_connect(const struct watched *watched);

#endif
