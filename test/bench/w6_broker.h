/* SPDX-License-Identifier: MIT */
/*
 * W6: the broker: its topics, its publishers, and the ways to publish (the contenders).
 */
#ifndef BATON_BENCH_W6_BROKER_H
#define BATON_BENCH_W6_BROKER_H

#include "histogram.h"
#include "machine.h"
#include "team.h"
#include "w6_topic.h"
#include "peers/peer.h"

#define BROKER_TOPICS 10000U
#define BROKER_SLOW 4U /* topics after these whose tasks sleep */
#define BROKER_PUBLISHERS_MAX 64U
#define BROKER_KEYS (1U << 18)
#define PUBLISHER_RING 256U

/* A message under way: what an asynchronous publisher must keep until it is applied. */
struct slot {
	struct baton_task task;
	struct topic *topic;
	uint64_t sent;    /* ticks; 0: not in the sample */
	uint64_t late;    /* ticks by which the publisher was behind its schedule */
	uint64_t applied; /* ticks, if it is in the sample */
	uint32_t under_way;
	struct message message __attribute__((aligned(64)));
} __attribute__((aligned(128)));

struct publisher {
	struct message message __attribute__((aligned(64))); /* for those who need no ring */
	struct broker *broker;
	struct slot *slots; /* PUBLISHER_RING */
	unsigned index;
	unsigned next;   /* slot */
	uint32_t number; /* of messages, from 1 */
	uint32_t slow;   /* of these, to slow topics */
	uint64_t late;   /* of the message that it publishes now, see struct slot */
	struct histogram since_due, since_sent; /* until it is applied */
	/* For who waits for each message: the future of slot 0's task. */
	struct baton_future future;
} __attribute__((aligned(64)));

struct broker_way;

/* What somebody outside may see of baton's topics. */
enum broker_seen { BROKER_UNSEEN, BROKER_ON_BOARD, BROKER_TRACED };

struct broker {
	const struct broker_way *way;
	const struct peer *peer; /* for the way of the peers */
	unsigned workers;        /* of the pool, where there is one; 0: one per CPU */
	uint32_t capture_max;    /* baton's; 0: the default */
	bool own_pool;           /* of the slow topics, as baton's README recommends */
	struct topic *topics;    /* BROKER_TOPICS + BROKER_SLOW */
	const uint32_t *keys;    /* BROKER_KEYS; each publisher begins somewhere else */
	struct publisher *publishers;
	unsigned threads;
	void *context; /* the mix's */
	/* baton's */
	enum broker_seen seen;
	struct baton_board *board;
	struct baton_resource_config config, slow_config;
	struct baton_pool *pool, *slow_pool;
};

/* A way to publish. `sent`: now, in ticks, if the message is in the sample, or else 0. */
typedef void broker_publish(struct publisher *publisher, struct topic *topic, uint32_t sleep_us,
                            uint64_t sent);

struct broker_way {
	const char *name;
	broker_publish *publish;
	team_body loop; /* publishes as fast as it can; `publish` inlined */
	void (*open)(struct broker *broker);
	void (*close)(struct broker *broker); /* nothing is under way */
};

extern const struct broker_way broker_mutex, broker_pointer, broker_ticket, broker_submit,
	broker_wait, broker_submit_inline, broker_call_inline, broker_call, broker_two_cases,
	broker_peer;

/* Memory for topics and publishers, shared by all contenders in turn; keys drawn. */
void broker_init(struct broker *broker);
void broker_deinit(struct broker *broker);

struct broker_latency {
	double p50_us, p99_us, p999_us, max_us;
};

struct broker_latencies {
	struct broker_latency since_due, since_sent;
};

/*
 * One run of `body` (struct publisher *: broker->publishers[member->index]) in broker->threads
 * threads, on fresh topics; ends the program unless each message was applied once and in order.
 */
struct team_result broker_run(struct broker *broker, team_body body, unsigned window_ms,
                              struct broker_latencies *latencies);

/* Waits until all that it has published is applied, and notes the rest of the latencies. */
void publisher_finish(struct publisher *publisher);

static inline struct topic *publisher_topic(const struct publisher *publisher, uint32_t number)
{
	const struct broker *broker = publisher->broker;
	/* Odd steps apart: the publishers do not walk together. */
	uint32_t start = publisher->index * 40503U;

	return &broker->topics[broker->keys[(start + number) % BROKER_KEYS]];
}

#endif
