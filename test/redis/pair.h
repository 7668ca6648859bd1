/* SPDX-License-Identifier: MIT */
/* A queue with a client, a scheduler and two backends, on a server of its own. */
#ifndef BATON_TEST_REDIS_PAIR_H
#define BATON_TEST_REDIS_PAIR_H

#include "server.h"

extern struct server server;
extern struct baton_redis *client;
extern struct baton_redis *leading;
extern struct baton_redis_scheduler *scheduler;
extern struct baton_redis *working[2];
extern struct baton_redis_backend *backend[2];

void pair_start(void);
void pair_stop(void);

/* By the client; must succeed. */
void submit(const struct baton_redis_task *task);
void submit_kind(const char *id, uint32_t kind);

/* Three tasks run: one of each class. Of each kind its number and one more wait. */
void make_queue(void);

#endif
