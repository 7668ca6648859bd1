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
/* Moves that one call carries: the server serves nobody else meanwhile. */
#define BATON__REDIS_MOVES_MAX 128

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
	uint32_t current : 1;
	uint32_t runs : 1;
	uint32_t tells : 1; /* it is in the list of those whose estimate is to be told */
	struct baton__redis_slot slots[2];
	/* When it starts at the latest, in us of the queue's clock: as it was told, by any leader,
	 * and as the rules say now. 0: never told; BATON_NEVER: not known. */
	uint64_t told_us;
	uint64_t starts_us;
	struct baton__redis_item *tell_next;
	struct baton__redis_item **tell_link; /* what points to this item */
};

/* Moves that go to the server in one call. */
struct baton__redis_moves {
	struct baton__redis_moves *next;
	struct baton__redis_call call;
	uint32_t count;
};

struct baton_redis_scheduler {
	struct baton_rules rules;
	struct baton_redis *redis;
	struct baton_redis_scheduler_options options;
	char token[BATON_REDIS_TOKEN_SIZE];
	char epoch[24];   /* "": it does not lead */
	char read_in[48]; /* how far the streams were read */
	char read_done[48];
	bool paging;         /* tasks that wait are still to be read */
	uint64_t page_end;   /* those up to this number were read */
	uint32_t connection; /* over which it leads: a server that comes back may know less */
	uint64_t offset_ns;  /* the queue's clock is this one plus so much */
	uint64_t swept_at;   /* when the queue's clock was told last */
	uint64_t renew_at;
	uint64_t candidate_at;
	char seen[96]; /* the lease of another scheduler: over from takes_at on, if not renewed */
	uint64_t takes_at;
	uint64_t backends;
	void *items;                      /* tsearch, by id */
	struct baton__redis_moves *moves; /* not sent yet, in order */
	struct baton__redis_moves **moves_end;
	struct baton__redis_item *tell; /* items whose estimate is to be told, in order */
	struct baton__redis_item **tell_end;
	uint64_t tell_at; /* of this clock: no estimates are sent before */
	bool broken;      /* an item could not be allocated: begin anew */
};

extern const struct baton_rules_events baton__scheduler_events;

/* The queue's clock. */
uint64_t baton__scheduler_now(const struct baton_redis_scheduler *scheduler);

struct baton__redis_item *baton__scheduler_find(const struct baton_redis_scheduler *scheduler,
                                                const char *id);
void baton__scheduler_drop_all(struct baton_redis_scheduler *scheduler);

/* A task of q:in. */
void baton__scheduler_arrived(struct baton_redis_scheduler *scheduler, const char *id,
                              uint64_t number, uint32_t kind);
/* A task of q:queue, four elements of `page`: id, number, kind, told. */
void baton__scheduler_waits(struct baton_redis_scheduler *scheduler, const struct redisReply *page,
                            size_t at);
/* An entry of q:done. */
void baton__scheduler_ended(struct baton_redis_scheduler *scheduler,
                            const struct redisReply *entry);
/* The task waits no more, or runs no more. */
void baton__scheduler_end(struct baton_redis_scheduler *scheduler, struct baton__redis_item *item);
/* A task of q:run, five elements of `runs`: id, number, kind, assigned, started. */
void baton__scheduler_restore(struct baton_redis_scheduler *scheduler,
                              const struct redisReply *runs, size_t at);

/* Adds to `call` some of the estimates that are to be told. Returns how many. */
uint32_t baton__scheduler_add_estimates(struct baton_redis_scheduler *scheduler,
                                        struct baton__redis_call *call);
void baton__scheduler_drop_moves(struct baton_redis_scheduler *scheduler);

#endif
