/* SPDX-License-Identifier: MIT */
/*
 * One run: its connections, what is expected of them and what has been counted. Everything happens
 * in one thread. Publisher p, subscriber s: which topics are theirs says share_topic.
 */
#ifndef LOAD_LOAD_H
#define LOAD_LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "latency.h"
#include "options.h"

struct client;
struct publisher;
struct stream;
struct subscriber;

/* The exit status. */
enum load_status {
	LOAD_GOOD = 0,
	LOAD_VIOLATIONS = 1, /* lost, doubled, out of order, altered */
	LOAD_BROKER = 3,     /* refused, closed, fell silent, broke the protocol */
	LOAD_UNSUPPORTED = 4,
	LOAD_SYSTEM = 5, /* trouble of our own: descriptors, memory */
};

enum load_phase {
	LOAD_CONNECT,
	LOAD_SETTLE,
	LOAD_WARM_UP,
	LOAD_MEASURE,
	LOAD_DRAIN,
	LOAD_DONE,
};

struct load_counts {
	uint64_t sent;
	uint64_t expected;  /* deliveries of what was sent */
	uint64_t delivered; /* without duplicates */
	uint64_t duplicates, disordered, corrupt;
	uint64_t acked; /* publications; the whole handshake */
};

/* What was seen at a moment; differences between two of them are reported. */
struct load_snapshot {
	uint64_t at_ns;
	struct load_counts counts;
	double broker_cpu, own_cpu; /* seconds; negative: not known */
};

struct load {
	struct options options;
	unsigned char *pattern; /* of payloads */
	size_t frame_max;
	uint32_t mark;
	unsigned int refill; /* flat out: the least room in a window that is worth a write */

	struct client *clients;
	struct publisher *publishers;
	struct subscriber *subscribers;
	struct stream *streams;
	unsigned int client_count, started, ready_count;

	struct publisher *first_ready; /* they may be able to publish */
	struct client *first_dirty;    /* they have bytes to be sent */
	uint64_t under_way;            /* publications not wholly acknowledged */
	uint64_t held;                 /* QoS 2 ids that subscribers hold */

	enum load_phase phase;
	uint64_t now, phase_ns, progress_ns, paced_ns; /* since when */
	uint64_t paced;                                /* messages that have come due */
	struct load_counts counts;
	struct load_snapshot begin, end;
	struct latency latency, late; /* end to end; our own sending behind its time */
	double connect_seconds;
	long rss_start, rss_connected; /* bytes; 0: not known */

	int epoll, timer;
	uint64_t alarm_ns;
	unsigned char *input;
	enum load_status status;
	char failure[256];
};

/* How many of the topics are the member's, and which the i-th of them is. */
static inline unsigned int share_count(unsigned int members, unsigned int topics,
                                       unsigned int member)
{
	return topics <= members ? 1 : (topics - member + members - 1) / members;
}

static inline unsigned int share_topic(unsigned int members, unsigned int topics,
                                       unsigned int member, unsigned int i)
{
	return (member + i * members) % topics;
}

static inline bool share_has(unsigned int members, unsigned int topics, unsigned int member,
                             unsigned int topic)
{
	return topics <= members ? member % topics == topic : topic % members == member;
}

/* 0 or LOAD_SYSTEM. */
int load_init(struct load *load, const struct options *options);
void load_deinit(struct load *load);

/* The run failed; the first failure is kept. `client` may be NULL. */
void load_fail(struct load *load, enum load_status status, const struct client *client,
               const char *format, ...) __attribute__((format(printf, 4, 5)));

uint64_t load_clock(void); /* nanoseconds */
void load_snapshot(const struct load *load, struct load_snapshot *snapshot);

/* Deliveries that have not come, at the end of a run. */
uint64_t load_lost(const struct load *load);

#endif
