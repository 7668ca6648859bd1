/* SPDX-License-Identifier: MIT */
/*
 * What the two files of the scheduler share: redis_rules.c (the rules, and the tasks that they
 * know) and redis_scheduler.c (leading).
 */
#ifndef BATON_SRC_REDIS_SCHEDULER_H
#define BATON_SRC_REDIS_SCHEDULER_H

#include "companion/redis/redis.h"

#define BATON__REDIS_MS UINT64_C(1000000) /* in ns */
#define BATON__REDIS_US UINT64_C(1000)

struct baton__redis_item;

struct baton__redis_slot {
	struct baton_rules_entry entry;
	struct baton__redis_item *item;
};

/* A task that waits or runs. A task whose backend is lost waits again in the second slot before its
 * run ends in the first, so that no later task takes the place. */
struct baton__redis_item {
	char id[BATON_REDIS_ID_MAX + 1];
	uint64_t number;
	uint32_t kind;
	uint32_t current;
	struct baton__redis_slot slots[2];
};

struct baton_redis_scheduler {
	struct baton_rules rules;
	struct baton_redis *redis;
	struct baton_redis_scheduler_options options;
	char token[BATON_REDIS_TOKEN_SIZE];
	char epoch[24];   /* "": it does not lead */
	char read_in[48]; /* how far the streams were read */
	char read_done[48];
	uint32_t connection; /* over which it leads: a server that comes back may know less */
	uint64_t offset_ns;  /* the server's clock is this one plus so much */
	uint64_t renew_at;
	uint64_t candidate_at;
	uint64_t backends;
	void *items; /* tsearch, by id */
	struct baton__redis_call moves;
	bool broken; /* an item could not be allocated: begin anew */
};

extern const struct baton_rules_events baton__scheduler_events;

/* The server's clock. */
uint64_t baton__scheduler_now(const struct baton_redis_scheduler *scheduler);

struct baton__redis_item *baton__scheduler_find(const struct baton_redis_scheduler *scheduler,
                                                const char *id);
void baton__scheduler_drop_all(struct baton_redis_scheduler *scheduler);

/* A task of q:in, or of q:queue. */
void baton__scheduler_arrived(struct baton_redis_scheduler *scheduler, const char *id,
                              uint64_t number, uint32_t kind);
/* An entry of q:done. */
void baton__scheduler_ended(struct baton_redis_scheduler *scheduler,
                            const struct redisReply *entry);
/* The task waits no more, or runs no more. */
void baton__scheduler_end(struct baton_redis_scheduler *scheduler, struct baton__redis_item *item);
/* A task of q:run, five elements of `runs`: id, number, kind, assigned, started. */
void baton__scheduler_restore(struct baton_redis_scheduler *scheduler,
                              const struct redisReply *runs, size_t at);

#endif
