/* SPDX-License-Identifier: MIT */
/*
 * What the broker counts. Loop threads count messages in their own struct loop_stats. The counters
 * that baton keeps for a resource are added here when the resource ends, one sum for each kind of
 * resource.
 */
#ifndef BROKER_STATS_H
#define BROKER_STATS_H

#include <stdbool.h>
#include <stdint.h>

#include <baton/pool.h>
#include <baton/resource.h>
#include <baton/stats.h>

enum stats_kind {
	STATS_TOPIC,
	STATS_SESSION,
	STATS_CONNECTION,
	STATS_TABLE,
	STATS_MATCHER,
	STATS_CLIENTS,
	STATS_KINDS,
};

/* Written by one loop thread; read in its tasks, and by others when it has ended. */
struct loop_stats {
	uint64_t connections;
	uint64_t connected; /* now, with an accepted CONNECT */
	uint64_t connects;  /* CONNECTs */
	uint64_t packets_in;
	uint64_t packets_out;
	uint64_t messages_in; /* PUBLISHes */
	uint64_t messages_out;
	uint64_t payload_in; /* bytes of these */
	uint64_t payload_out;
	uint64_t bytes_in;  /* on the wire */
	uint64_t bytes_out; /* without what TLS adds */
	uint64_t pauses;    /* times a publisher was not read from, see connection.h */
	uint64_t writes;    /* system calls that wrote */
	uint64_t visits;    /* turns that other loops' threads took, see net/visit.h */
	uint64_t malformed;
};

struct stats {
	/* Any thread, through stats_count() and stats_uncount(). */
	uint64_t dropped;          /* messages that a subscriber did not get */
	uint64_t expired;          /* sessions that have ended, since their clients stayed away */
	uint64_t evicted;          /* stuck subscribers that were disconnected */
	uint64_t retained;         /* messages that are retained now */
	uint64_t retained_bytes;   /* and their memory, see retained.c */
	uint64_t retained_refused; /* messages for which there was no room */
	uint64_t audience_bytes;   /* of all topics, see topic.h */
	uint64_t sessions;
	uint64_t subscriptions;
	uint64_t shared; /* subscriptions by which a session is a member of a group */
	uint64_t queued_bytes; /* of memory, in all sessions; see queue.h */
	/* Sums over resources that have ended, through stats_add(). */
	uint64_t resources[STATS_KINDS];
	struct baton_resource_stats kinds[STATS_KINDS];
};

void stats_count(uint64_t *counter);
void stats_uncount(uint64_t *counter);
uint64_t stats_read(const uint64_t *counter);
const char *stats_kind_name(int kind);

/* Is this kind of resource counted, with or without --stats? */
bool stats_kind_counted(int kind, bool all);

/*
 * Add to a sum: the counters of a resource that still runs; another sum; the sum of the resources
 * that have ended (stats_add); the counters of a loop.
 */
void stats_add_live(struct baton_resource_stats *sum, const struct baton_resource_stats *live);
void stats_add_sum(struct baton_resource_stats *sum, const struct baton_resource_stats *more);
void stats_add_ended(struct baton_resource_stats *sum, const struct baton_resource_stats *ended);
void stats_add_loop(struct loop_stats *sum, const struct loop_stats *loop);
void stats_add(struct stats *stats, enum stats_kind kind, const struct baton_resource_stats *more);

/* Prints the table. No other thread counts any more. */
void stats_print(const struct stats *stats, const struct loop_stats *loops,
                 const struct baton_pool_stats *pool);

#endif
