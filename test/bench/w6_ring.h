/* SPDX-License-Identifier: MIT */
/*
 * W6: what the ways to publish share: a message is written, its latency noted, and the ring in
 * which an asynchronous publisher keeps up to 256 of them until they are applied. A slot that is
 * free again is taken at once, so that messages that run inline use the same memory again and
 * again, as a lock's user does.
 */
#ifndef BATON_BENCH_W6_RING_H
#define BATON_BENCH_W6_RING_H

#include "w6_broker.h"

#define RING_SAMPLE 64U /* each 64th message's latency */

#define BROKER_INLINE static inline __attribute__((always_inline))

BROKER_INLINE void write_message(struct publisher *publisher, struct message *message,
                                 uint32_t sleep_us)
{
	uint32_t number = ++publisher->number;

	message->publisher = publisher->index;
	message->number = number;
	message->length = sizeof(*message);
	message->sleep_us = sleep_us;
	for (unsigned i = 0; i < 6; i++)
		message->text[i] = number + i;
}

BROKER_INLINE void note(struct publisher *publisher, uint64_t took, uint64_t late)
{
	histogram_add(&publisher->since_sent, took);
	histogram_add(&publisher->since_due, took + late);
}

BROKER_INLINE void sample(struct publisher *publisher, uint64_t sent)
{
	if (sent)
		note(publisher, machine_ticks() - sent, publisher->late);
}

BROKER_INLINE void harvest(struct publisher *publisher, struct slot *slot)
{
	if (slot->sent)
		note(publisher, slot->applied - slot->sent, slot->late);
	slot->sent = 0;
}

BROKER_INLINE struct slot *free_slot(struct publisher *publisher)
{
	struct slot *slot = &publisher->slots[publisher->next];
	unsigned busy = 0;
	unsigned turns = 0;

	/* Acquire: what its last task has read and written. */
	while (__atomic_load_n(&slot->under_way, __ATOMIC_ACQUIRE)) {
		publisher->next = (publisher->next + 1) % PUBLISHER_RING;
		slot = &publisher->slots[publisher->next];
		if (++busy % PUBLISHER_RING == 0)
			team_wait(&turns);
	}
	harvest(publisher, slot);
	return slot;
}

BROKER_INLINE struct slot *fill_slot(struct publisher *publisher, struct topic *topic,
                                     uint32_t sleep_us, uint64_t sent)
{
	struct slot *slot = free_slot(publisher);

	write_message(publisher, &slot->message, sleep_us);
	slot->topic = topic;
	slot->sent = sent;
	slot->late = publisher->late;
	slot->under_way = 1;
	return slot;
}

BROKER_INLINE void apply_slot(struct slot *slot)
{
	topic_apply(slot->topic, &slot->message);
	if (slot->sent)
		slot->applied = machine_ticks();
	/* Release: from here on the publisher may use it again. */
	__atomic_store_n(&slot->under_way, 0, __ATOMIC_RELEASE);
}

/* All publish as fast as they can. */
BROKER_INLINE void loop(struct team_member *member, broker_publish *publish)
{
	struct broker *broker = member->context;
	struct publisher *publisher = &broker->publishers[member->index];

	while (!team_stopped(member)) {
		uint32_t number = publisher->number;

		publish(publisher, publisher_topic(publisher, number), 0,
		        number % RING_SAMPLE || !team_measuring(member) ? 0 : machine_ticks());
		team_count(member, 1);
	}
	publisher_finish(publisher);
}

#endif
