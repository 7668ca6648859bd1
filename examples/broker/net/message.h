/* SPDX-License-Identifier: MIT */
/*
 * Messages and packets.
 *
 * A message is what a publisher sent. It is one allocation, which holds the bytes of the PUBLISH
 * packet at QoS 0: most subscribers get exactly these bytes, and share them. The message is itself
 * the task that brings it to its topic.
 *
 * A packet is one message on its way to one subscriber, or a packet of the broker's own, such as an
 * acknowledgement. The packet is itself the task for each of its hops: topic -> session ->
 * connection.
 *
 * A message counts references and hops in one word. References, held by packets and by the topic
 * that retains the message, keep its memory. Hops are the message's own way to its topic and the
 * ways of its packets. While there are hops, the cost of the message is charged to the publisher's
 * connection, which therefore lives. When the last hop ends, the publisher may send more. A
 * packet's hop lasts until the packet was offered to the subscriber's socket: so the publisher pays
 * for packets that the broker has not handled yet, and is slowed down. A packet that the socket has
 * not taken holds a reference and no hop: a subscriber that does not read delays no publisher.
 */
#ifndef BROKER_MESSAGE_H
#define BROKER_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <baton/task.h>

#include "mqtt/codec.h"

struct connection;
struct member;
struct session;
struct store;
struct topic;

#define MESSAGE_REFERENCE UINT64_C(1)
#define MESSAGE_HOP (UINT64_C(1) << 32)

struct message {
	struct baton_task task;
	union {
		struct topic *topic; /* on its way to its topic */
		struct store *store; /* from there on, with an id */
	};
	struct connection *publisher; /* valid while there are hops; NULL: the broker itself */
	struct packet *answer;        /* QoS 1 and 2: its acknowledgement, until that is sent */
	uint64_t counts;              /* atomic */
	size_t cost;                  /* what the publisher is charged */
	uint64_t id;                  /* in the store; 0: it is not there */
	/* In the store: with a packet id, of QoS 2, the publisher's session; without one the id of
	 * the will that this is. 0: neither. */
	uint64_t received_by;
	uint64_t sender;  /* session->identity of the client; 0: the broker itself */
	uint64_t expires; /* in the clock of message_clock(); 0: never */
	struct {
		struct slice topic; /* points into bytes[], as the payload does */
		struct slice payload;
		uint16_t packet_id;
		uint8_t qos;
		bool retain;
		uint32_t size; /* of bytes[] */
	} publish;
	unsigned char bytes[]; /* the whole packet of MQTT 3.1.1, for QoS 0; then the properties */
};

/* Milliseconds, of a clock that begins before the broker. Any thread. */
uint64_t message_clock(void);

/* Has its time passed? */
static inline bool message_expired(const struct message *message)
{
	return message->expires != 0 && message_clock() > message->expires;
}

/*
 * When it expires, in seconds of the wall clock, for the store; 0: never. After a restart the
 * message is given that time again, in which it may have expired.
 */
int64_t message_wall_expiry(const struct message *message);
void message_set_wall_expiry(struct message *message, int64_t seconds);

/* Of the packet in bytes[]. */
static inline size_t message_size(const struct message *message)
{
	const struct slice payload = message->publish.payload;

	return (size_t)((const unsigned char *)payload.bytes - message->bytes) + payload.size;
}

/* The properties that are passed on, as they came. */
static inline struct slice message_properties(const struct message *message)
{
	const size_t size = message_size(message);

	return (struct slice){(const char *)message->bytes + size, message->publish.size - size};
}

/* All of its memory. */
static inline size_t message_memory(const struct message *message)
{
	return sizeof(*message) + message->publish.size;
}

/*
 * Copies `publish`, and of its properties those that are passed on. The caller gets one reference
 * and one hop, and charges `cost` to the publisher, if there is one. A message of QoS 1 or 2 from a
 * client has an answer; a will has none. NULL: no memory.
 */
struct message *message_create(struct connection *publisher, const struct codec_publish *publish);

/* `counts`: a sum of MESSAGE_REFERENCE and MESSAGE_HOP. Any thread. */
void message_take(struct message *message, uint64_t counts);
void message_release(struct message *message, uint64_t counts);

/* Sends its answer to the publisher: from here on the broker is responsible for the message. */
void message_acknowledge(struct message *message);

/*
 * The head of a packet of a message is made when the session sends it: only then are the version of
 * MQTT, the packet id, the time that is left, and a topic alias certain. Until then, head[] has the
 * identifiers of the subscriptions, and `size` is theirs. A packet that needs no head in MQTT 3.1.1
 * (`whole`) is ready for it from the beginning, and has no identifiers.
 *
 * Two words of a packet change their meaning on its way. Whoever hands the packet on sets the
 * word for the next part:
 *
 *   on its way to           | first union                  | second union
 *   ------------------------+------------------------------+-------------------------------------
 *   a session, a message    | due: the SUBSCRIBE that it   | member: by which a group hands it
 *                           | waits for; 0: it is live     | over; NULL: it is the session's own
 *   a group, given back     | -                            | member: the same
 *   a session's queue       | due: as to a session         | order: of its entry (inflight.h), if
 *                           |                              | it was sent before; else 0
 *   a session, the broker's | epoch: of the connection     | ask: the number of the SUBSCRIBE that
 *   own                     | that it is for               | a SUBACK answers; 0: another packet
 *   the store               | connection: charged          | order: as to a connection
 *   a connection            | connection                   | order: QoS 1 and 2, see inflight.h;
 *                           |                              | else 0
 */
struct packet {
	struct baton_task task;
	struct packet *next;
	struct session *session;
	union {
		struct connection *connection;
		uint64_t epoch;
		uint64_t due;
	};
	struct message *message; /* NULL: a packet of the broker's own, all of it in head[] */
	union {
		uint64_t order;
		uint64_t ask;
		struct member *member;
	};
	uint64_t row;       /* in the store, until the session takes it over; 0: none */
	uint32_t size;      /* on the wire */
	uint32_t head_size; /* until the head is made: the room for it */
	uint16_t packet_id; /* QoS 1 and 2, once it has one */
	uint8_t qos;
	bool retain;
	bool hop;   /* holds a hop of the message */
	bool whole; /* send message->bytes; else head[], then the payload */
	bool lost;  /* not stored: its connection is closed instead; the store's thread sets it */
	bool marker : 1;   /* empty, see delivery.c */
	bool ordered : 1;  /* acknowledges a PUBLISH, see answers.c */
	bool ready : 1;    /* the same, and only waits for those before it */
	bool reasons : 1;  /* acknowledges, with room for a reason code: MQTT 5 */
	bool repeated : 1; /* it may have been sent before */
	bool retained : 1; /* it was retained when its client subscribed */
	unsigned char head[];
};

/*
 * A packet for a delivery; takes over the caller's reference and, if `hop`, the caller's hop.
 * Copies the identifiers, which are properties of a PUBLISH. NULL: no memory; then the caller keeps
 * reference and hop.
 */
struct packet *packet_create(struct message *message, uint8_t qos, bool retain, bool hop,
                             struct slice identifiers);

/*
 * The same for a subscription with nothing but a QoS, of a message that has just been published:
 * takes over a hop.
 */
struct packet *packet_create_live(struct message *message, uint8_t qos);

/*
 * Gives a packet whose head is not made yet another QoS, retain flag and identifiers. It may move.
 * NULL: no memory; the packet is as it was.
 */
struct packet *packet_change(struct packet *packet, uint8_t qos, bool retain,
                             struct slice identifiers);

/* The identifiers of a packet whose head is not made yet. */
struct slice packet_identifiers(const struct packet *packet);

/* Makes the head for MQTT 3.1.1, of a packet that is not whole. At QoS 1 and 2 it has its id. */
void packet_encode(struct packet *packet);

/* What a packet of MQTT 5 says of its topic. */
struct packet_alias {
	uint16_t number; /* 0: none */
	bool known;      /* the client has it: the topic itself is not sent */
};

/*
 * The same for MQTT 5, with identifiers, an alias, and the time that the message has left. The
 * packet may move. NULL: no memory; the packet is as it was.
 */
struct packet *packet_encode5(struct packet *packet, struct packet_alias alias);

/* The size on the wire of a packet whose head is not made yet, in MQTT 5 without an alias. */
size_t packet_size5(const struct packet *packet);

/* A packet of the broker's own. NULL: no memory. */
struct packet *packet_create_own(const unsigned char *bytes, size_t size);

/* An acknowledgement for a client of that version of MQTT. NULL: no memory. */
struct packet *packet_create_ack(uint8_t version, uint8_t type, uint16_t packet_id);

/* Gives an acknowledgement a reason code, which a client of 3.1.1 does not get. */
void packet_set_reason(struct packet *packet, uint8_t reason);

/* Ends the packet's hop: the packet waits for nothing but its subscriber. */
void packet_end_hop(struct packet *packet);

/*
 * The packet's memory, about; the message counts in full, although packets share it. The result
 * changes only when the head is made.
 */
static inline size_t packet_memory(const struct packet *packet)
{
	const struct message *message = packet->message;

	return sizeof(*packet) + packet->head_size +
	       (message != NULL ? message_memory(message) : 0);
}

/* Gives back everything that the packet holds. */
void packet_destroy(struct packet *packet);

#endif
