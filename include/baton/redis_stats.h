/* SPDX-License-Identifier: MIT */
/*
 * What the queue over Redis (baton/redis.h) has, and has done, for its operator: baton-queue shows
 * these figures.
 */
#ifndef BATON_REDIS_STATS_H
#define BATON_REDIS_STATS_H

#include <stdint.h>

#include <baton/attributes.h>
#include <baton/redis.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BATON_REDIS_KINDS 10 /* a task's kind is less */

/* What a queue has, and has done. A maximum of 0: no limit. Spans are those of the server's clock:
 * when that clock jumps, they jump with it. */
struct baton_redis_stats {
	uint64_t waiting; /* tasks that wait */
	/* of these, those of a kind: a class, BATON_RULES_DEFAULT, BATON_RULES_INTERACTIVE */
	uint64_t waiting_by_kind[BATON_REDIS_KINDS];
	uint64_t oldest_ns;  /* since the submit of the first task that waits; 0: none waits */
	uint64_t running;    /* tasks that have started, also if no backend has taken them yet */
	uint64_t backends;   /* backends whose lease is not over */
	uint64_t leader;     /* the epoch of the scheduler that leads; 0: none leads */
	uint64_t lease_ns;   /* how long the lease of the last leader lasts */
	uint64_t renewed_ns; /* since that lease was renewed */
	uint64_t effects;    /* effects that the server keeps: not all readers have them */
	uint64_t readers;    /* names under which effects are read */
	char slowest_reader[BATON_REDIS_ID_MAX + 1]; /* has acknowledged least; "": no reader */
	/* since the queue was made: */
	uint64_t submitted;
	uint64_t done;   /* tasks that ended on a backend, or were stopped before one took them */
	uint64_t denied; /* interactive tasks for which there was no room */
	uint64_t failed; /* tasks that nobody kept alive, or without attempts left */
	uint64_t withdrawn;
	uint64_t retries;         /* tasks that waited again: their backends were lost */
	uint64_t effects_dropped; /* before all readers had acknowledged them (`effects_max`) */
	uint64_t bytes;           /* now, of commands and files of all tasks that are not over */
	uint64_t classes;         /* of the last leader, as what follows; 0: none has led yet */
	uint64_t queue_max;
	uint64_t queue_bytes_max;
	uint64_t effects_max;
	uint64_t _reserved[8];
};

/*
 * Reads the figures of the queue, all of one moment. The call touches one task, however many wait,
 * and writes nothing: it works on a replica, and on a server whose memory is full.
 * Thread safety: as all calls of redis.h. Blocking: for the server's answer, as these.
 * Ownership: the copy is the caller's; an error leaves it as it was.
 * Errors: those of all calls.
 */
BATON_MUST_USE int baton_redis_stats_read(struct baton_redis *redis,
                                          struct baton_redis_stats *copy) BATON_NONNULL;

#ifdef __cplusplus
}
#endif

#endif
