/* SPDX-License-Identifier: MIT */
/*
 * W6: one run of a contender, and whether it has done what it should.
 */
#include "w6_ring.h"
#include "zipf.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define SEED UINT64_C(0x9e3779b97f4a7c15)
#define TOPICS (BROKER_TOPICS + BROKER_SLOW)

static bool disorder;

void topic_disorder(void)
{
	__atomic_store_n(&disorder, true, __ATOMIC_RELAXED);
}

void broker_init(struct broker *broker)
{
	uint32_t *keys = malloc(BROKER_KEYS * sizeof(*keys));
	struct zipf *zipf = zipf_create(BROKER_TOPICS, SEED);
	struct slot *slots =
		aligned_alloc(128, BROKER_PUBLISHERS_MAX * PUBLISHER_RING * sizeof(*slots));

	broker->topics = aligned_alloc(64, TOPICS * sizeof(*broker->topics));
	broker->publishers = aligned_alloc(64, BROKER_PUBLISHERS_MAX * sizeof(*broker->publishers));
	if (!keys || !slots || !broker->topics || !broker->publishers)
		abort();
	zipf_draw(zipf, keys, BROKER_KEYS, SEED);
	zipf_destroy(zipf);
	broker->keys = keys;
	for (unsigned i = 0; i < BROKER_PUBLISHERS_MAX; i++)
		broker->publishers[i].slots = slots + (size_t)i * PUBLISHER_RING;
}

void broker_deinit(struct broker *broker)
{
	free(broker->publishers[0].slots);
	free(broker->publishers);
	free(broker->topics);
	free((void *)broker->keys);
}

void publisher_finish(struct publisher *publisher)
{
	for (unsigned i = 0; i < PUBLISHER_RING; i++) {
		unsigned turns = 0;

		while (__atomic_load_n(&publisher->slots[i].under_way, __ATOMIC_ACQUIRE))
			team_wait(&turns);
		harvest(publisher, &publisher->slots[i]);
	}
}

/* Empty topics, new publishers. */
static void reset(struct broker *broker)
{
	memset(broker->topics, 0, TOPICS * sizeof(*broker->topics));
	for (unsigned i = 0; i < broker->threads; i++) {
		struct publisher *publisher = &broker->publishers[i];
		struct slot *slots = publisher->slots;

		memset(slots, 0, PUBLISHER_RING * sizeof(*slots));
		*publisher = (struct publisher){.broker = broker, .slots = slots, .index = i};
	}
}

static void must(bool right, const struct broker *broker, const char *what, unsigned topic)
{
	if (right)
		return;
	fprintf(stderr, "bench: W6: %s: %s, topic %u\n",
	        broker->peer ? broker->peer->name : broker->way->name, what, topic);
	exit(2);
}

/* How many messages each topic must have. To be freed. */
static uint64_t *expect(const struct broker *broker)
{
	uint64_t *expected = calloc(TOPICS, sizeof(*expected));

	if (!expected)
		abort();
	for (unsigned p = 0; p < broker->threads; p++) {
		const struct publisher *publisher = &broker->publishers[p];

		for (uint32_t i = 0; i < publisher->number - publisher->slow; i++)
			expected[publisher_topic(publisher, i) - broker->topics]++;
		for (uint32_t i = 0; i < publisher->slow; i++)
			expected[BROKER_TOPICS + i % BROKER_SLOW]++;
	}
	return expected;
}

/* The last messages: each publisher's in the order of their numbers. */
static bool in_order(const struct topic *topic)
{
	uint32_t last[BROKER_PUBLISHERS_MAX] = {0};
	uint64_t first = topic->sequence > TOPIC_RING ? topic->sequence - TOPIC_RING : 0;

	for (uint64_t i = first; i < topic->sequence; i++) {
		const struct message *message = &topic->ring[i % TOPIC_RING];

		if (message->number <= last[message->publisher])
			return false;
		last[message->publisher] = message->number;
	}
	return true;
}

/* Returns how many messages there were. */
static uint64_t verify(const struct broker *broker)
{
	uint64_t *expected = expect(broker);
	uint64_t total = 0;

	for (unsigned i = 0; i < TOPICS; i++) {
		const struct topic *topic = &broker->topics[i];

		must(topic->sequence == expected[i], broker, "messages lost or doubled", i);
		must(in_order(topic), broker, "messages out of order", i);
		for (unsigned s = 0; s < TOPIC_SUBSCRIBERS; s++)
			must(topic->subscribers[s].sequence == topic->sequence &&
			             topic->subscribers[s].bytes ==
			                     topic->sequence * sizeof(struct message),
			     broker, "a subscriber's state is wrong", i);
		total += topic->sequence;
	}
	must(!disorder, broker, "messages were out of order", TOPICS);
	free(expected);
	return total;
}

static struct broker_latency quantiles(const struct histogram *histogram)
{
	double per_us = machine_ticks_per_ns() * 1e3;

	return (struct broker_latency){
		(double)histogram_quantile(histogram, 0.50) / per_us,
		(double)histogram_quantile(histogram, 0.99) / per_us,
		(double)histogram_quantile(histogram, 0.999) / per_us,
		(double)histogram->most / per_us,
	};
}

struct team_result broker_run(struct broker *broker, team_body body, unsigned window_ms,
                              struct broker_latencies *latencies)
{
	struct publisher *all = &broker->publishers[0];
	struct team_result result;

	reset(broker);
	broker->way->open(broker);
	result = team_run(broker->threads, body, broker, window_ms, false);
	broker->way->close(broker);
	must(verify(broker) == result.done, broker, "messages miscounted", TOPICS);
	for (unsigned i = 1; i < broker->threads; i++) {
		histogram_merge(&all->since_due, &broker->publishers[i].since_due);
		histogram_merge(&all->since_sent, &broker->publishers[i].since_sent);
	}
	latencies->since_due = quantiles(&all->since_due);
	latencies->since_sent = quantiles(&all->since_sent);
	return result;
}
