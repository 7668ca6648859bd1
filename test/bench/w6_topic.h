/* SPDX-License-Identifier: MIT */
/*
 * W6: a topic of a broker, and what it means to publish a message to it. The same for all
 * contenders: the same bytes are written to the same places; only who does it, and when, differs.
 *
 *   line 0      | the four subscribers: sequence and bytes each
 *   line 1      | the first 48 bytes of a resource; nobody else touches it
 *   line 2      | the mutex (40), or a ticket lock, or the pointer to a peer's queue, or the hot
 *               | words at the end of a resource (16); sequence and order, 24 bytes
 *   lines 3..66 | the ring of the last messages
 */
#ifndef BATON_BENCH_W6_TOPIC_H
#define BATON_BENCH_W6_TOPIC_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <ck_spinlock.h>

#include "machine.h"

#include <baton.h>

#define TOPIC_RING 64U
#define TOPIC_SUBSCRIBERS 4U
#define TOPIC_ORDERED 4U /* publishers whose order is looked at in each message */

struct message {
	uint32_t publisher;
	uint32_t number; /* the publisher's, from 1 */
	uint32_t length;
	uint32_t sleep_us; /* how long its task sleeps: 0 but in the mix with slow ones */
	uint64_t text[6];
};

struct subscriber {
	uint64_t sequence;
	uint64_t bytes;
};

struct topic {
	struct subscriber subscribers[TOPIC_SUBSCRIBERS] __attribute__((aligned(64)));
	uint64_t unused[8];
	union {
		pthread_mutex_t mutex;
		ck_spinlock_ticket_t ticket;
		void *queue;
		uintptr_t word; /* two CASes alone */
		struct baton_resource resource;
	};
	uint64_t sequence;
	uint32_t last[TOPIC_ORDERED];
	struct message ring[TOPIC_RING] __attribute__((aligned(64)));
};

_Static_assert(sizeof(struct message) == 64, "a line");
_Static_assert(offsetof(struct topic, mutex) == 128, "with the lock, or the resource, in one line");
_Static_assert(offsetof(struct topic, sequence) == 168, "in that line");
_Static_assert(offsetof(struct topic, ring) == 192, "three lines before");

/* A message came out of its publisher's order. Any thread. */
void topic_disorder(void);

/* Appends the message and tells the subscribers. Whoever has the topic to itself. */
static inline __attribute__((always_inline)) void topic_apply(struct topic *topic,
                                                              const struct message *message)
{
	uint64_t sequence = topic->sequence++;

	if (__builtin_expect(message->sleep_us != 0, 0))
		machine_sleep_ns(message->sleep_us * UINT64_C(1000));
	memcpy(&topic->ring[sequence % TOPIC_RING], message, sizeof(*message));
	if (message->publisher < TOPIC_ORDERED) {
		if (__builtin_expect(message->number <= topic->last[message->publisher], 0))
			topic_disorder();
		topic->last[message->publisher] = message->number;
	}
	for (unsigned i = 0; i < TOPIC_SUBSCRIBERS; i++) {
		topic->subscribers[i].sequence = sequence + 1;
		topic->subscribers[i].bytes += message->length;
	}
}

#endif
