/* SPDX-License-Identifier: MIT */
/*
 * A redis-server of a test's own, in a temporary directory, on a unix socket; and the three sides
 * of a queue on it, in the test's process.
 */
#ifndef BATON_TEST_REDIS_SERVER_H
#define BATON_TEST_REDIS_SERVER_H

#include <baton/redis_stats.h>
#include <baton/timer.h>

#include <sys/types.h>

#define MS (BATON_SECOND / 1000)

struct redisReply;

struct server {
	char directory[64];
	char socket[96];
	pid_t pid;
};

/* If not NULL, a file with the ns by which the clock of the servers is off (skew/skew.c). */
extern const char *server_skew;

/* Starts redis-server, and waits until it answers. `arguments`: more of its options, or NULL. */
void server_start(struct server *server, const char *const *arguments);
/* The same again, with the data that are there. */
void server_restart(struct server *server, const char *const *arguments);
void server_kill(struct server *server);
/* Ends it, and removes the directory. */
void server_stop(struct server *server);

/* The name of the library of functions. */
const char *server_library(void);

/* A command of the test's own; "FCALL baton_" at its begin stands for this library's functions.
 * The caller frees the reply. _number: an integer, or that of a text; _text: of a status, an error,
 * or a string, valid until the next call. */
struct redisReply *server_ask(const struct server *server, const char *format, ...);
long long server_number(const struct server *server, const char *format, ...);
const char *server_text(const struct server *server, const char *format, ...);

struct baton_redis *server_connect(const struct server *server);

/* A queue with limits 3, 2, 1, long durations, and the leases below. They are so long that a test
 * renews its leases in time on a busy machine. Where processes may lose theirs, `lease_factor` is
 * 1. */
extern uint64_t lease_factor;
#define SCHEDULER_LEASE_NS (lease_factor * 600 * MS)
#define BACKEND_LEASE_NS (lease_factor * 400 * MS)
struct baton_redis_scheduler *scheduler_on(struct baton_redis *redis);
struct baton_redis_backend *backend_on(struct baton_redis *redis, const char *name);

struct baton_redis_task task_named(const char *id, uint32_t kind);

/* The scheduler has nothing left to do that the server knows of. */
void settle(struct baton_redis_scheduler *scheduler);

/* Waits for an order, or fails after a minute. `scheduler` (or NULL) runs meanwhile. */
void await_order(struct baton_redis_backend *backend, struct baton_redis_order *order,
                 enum baton_redis_order_what what, struct baton_redis_scheduler *scheduler);
void await_note(struct baton_redis *redis, const struct baton_redis_task *task,
                struct baton_redis_note *note, enum baton_redis_what what);

#endif
