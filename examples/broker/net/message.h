/* SPDX-License-Identifier: MIT */
/*
 * Messages and packets.
 *
 * A message is what a publisher sent: one allocation, which holds its bytes as the PUBLISH packet
 * of QoS 0 that most subscribers get, so that they all share it. It is itself the task that brings
 * it to its topic.
 *
 * A packet is one message on its way to one subscriber (or one packet of the broker's own, such as
 * an acknowledgement). It is itself the task for each of its hops: topic -> session -> connection.
 *
 * A message counts two things in one word: references, from packets and from the topic that
 * retains it, which keep its memory; and hops, its own to the topic and those of its packets. As
 * long as there are hops, what it costs is charged to its publisher's connection, which therefore
 * lives. When the last hop is over the publisher may send more. A packet's hop lasts until the
 * subscriber's socket has been offered it: so a packet that the broker itself has not got round to
 * is charged to its publisher, which is slowed down. A packet that the socket has not taken is the
 * subscriber's: a subscriber that does not read holds references, no hops, and delays no publisher.
 */
#ifndef BROKER_MESSAGE_H
#define BROKER_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <baton/task.h>

#include "mqtt/codec.h"

struct connection;
struct session;
struct topic;

#define MESSAGE_REFERENCE UINT64_C(1)
#define MESSAGE_HOP (UINT64_C(1) << 32)

struct message {
	struct baton_task task;
	struct topic *topic;
	struct connection *publisher; /* valid while there are hops; NULL: the broker itself */
	uint64_t counts;              /* atomic */
	size_t cost;                  /* what the publisher is charged */
	struct codec_publish publish; /* points into bytes[] */
	size_t size;                  /* of bytes[] */
	unsigned char bytes[];        /* the whole packet, for QoS 0 */
};

/*
 * Copies; one reference and one hop, the caller's, who charges `cost` to the publisher, if there is
 * one. It is acknowledged to the publisher if it has a packet id. NULL: no memory.
 */
struct message *message_create(struct connection *publisher, const struct codec_publish *publish);

/* `counts`: so many of MESSAGE_REFERENCE and MESSAGE_HOP. Any thread. */
void message_take(struct message *message, uint64_t counts);
void message_release(struct message *message, uint64_t counts);

struct packet {
	struct baton_task task;
	struct packet *next;
	struct session *session;
	union {
		struct connection *connection; /* on its way there */
		uint64_t epoch; /* of a packet of the broker's own on its way to a session */
		uint64_t due;   /* of a message on its way to a session, see delivery.c */
	};
	struct message *message; /* NULL: a packet of the broker's own, all of it in head[] */
	union {
		uint64_t order; /* QoS 1 and 2: see inflight.h; else 0 */
		uint64_t ask;   /* of a SUBACK on its way to a session, see delivery.c */
	};
	uint32_t size; /* on the wire */
	uint32_t head_size;
	uint16_t packet_id; /* QoS 1 and 2, once it has one */
	uint8_t qos;
	bool retain;
	bool hop;    /* holds a hop of the message */
	bool whole;  /* send message->bytes; else head[], then the payload */
	bool marker; /* empty, see delivery.c */
	unsigned char head[];
};

/*
 * A packet for a delivery; takes over the caller's reference and, if `hop`, the caller's hop.
 * NULL: no memory; then the caller keeps them.
 */
struct packet *packet_create(struct message *message, uint8_t qos, bool retain, bool hop);

/* For QoS 1 and 2, when it has its packet id. Before that it must not be sent. */
void packet_encode(struct packet *packet, bool duplicate);

/* A packet of the broker's own. NULL: no memory. */
struct packet *packet_create_own(const unsigned char *bytes, size_t size);

/* The packet's way is over: it waits for its subscriber only. */
void packet_end_hop(struct packet *packet);

/*
 * What it takes of memory, about; the message in full, though others may share it. The same from
 * its creation on.
 */
size_t packet_memory(const struct packet *packet);

/* Gives back everything that the packet holds. */
void packet_destroy(struct packet *packet);

#endif
