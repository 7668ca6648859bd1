/* SPDX-License-Identifier: MIT */
/* Messages and packets; see message.h. */
#include "net/message.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <baton/time.h>

#include "common/atomic.h"
#include "net/connection.h"
#include "store/writes.h"

#define MESSAGE_SECOND 1000 /* of message_clock() */

uint64_t message_clock(void)
{
	return baton_now() / BATON_MILLISECOND;
}

/* Milliseconds. */
static int64_t wall_clock(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)now.tv_sec * MESSAGE_SECOND + now.tv_nsec / 1000000;
}

int64_t message_wall_expiry(const struct message *message)
{
	int64_t left;

	if (message->expires == 0)
		return 0;
	left = (int64_t)message->expires - (int64_t)message_clock();
	return (wall_clock() + left) / MESSAGE_SECOND;
}

void message_set_wall_expiry(struct message *message, int64_t seconds)
{
	const int64_t left = seconds * MESSAGE_SECOND - wall_clock();
	const int64_t now = (int64_t)message_clock();

	message->expires = seconds == 0 ? 0 : now + left > 0 ? (uint64_t)(now + left) : 1;
}

struct message *message_create(struct connection *publisher, const struct codec_publish *publish)
{
	const struct codec_publish wire = {.topic = publish->topic, .payload = publish->payload};
	const size_t size_max = CODEC_HEADER_MAX + 2 + publish->topic.size + publish->payload.size +
	                        publish->properties.size;
	struct message *message = malloc(sizeof(*message) + size_max);
	size_t head;

	if (message == NULL)
		return NULL;
	head = codec_put_publish(message->bytes, &wire);
	if (publish->payload.size > 0)
		memcpy(message->bytes + head, publish->payload.bytes, publish->payload.size);
	message->topic = NULL;
	message->publisher = publisher;
	message->answer = NULL;
	message->id = 0;
	message->received_by = 0;
	message->sender = 0;
	message->expires = publish->expiry == PROPERTIES_NEVER
	                           ? 0
	                           : message_clock() + (uint64_t)publish->expiry * MESSAGE_SECOND;
	message->counts = MESSAGE_REFERENCE + MESSAGE_HOP;
	message->cost = sizeof(*message) + size_max;
	message->publish.topic = (struct slice){(char *)message->bytes + head - publish->topic.size,
	                                        publish->topic.size};
	message->publish.payload =
		(struct slice){(char *)message->bytes + head, publish->payload.size};
	message->publish.packet_id = publish->packet_id;
	message->publish.qos = publish->qos;
	message->publish.retain = publish->retain;
	message->publish.size = (uint32_t)(head + publish->payload.size);
	if (publish->properties.size > 0)
		message->publish.size += (uint32_t)properties_forward(
			message->bytes + message->publish.size, publish->properties);
	return message;
}

void message_take(struct message *message, uint64_t counts)
{
	/* Relaxed: a caller that takes counts holds some already. */
	add_relaxed(&message->counts, counts);
}

/* The store's message goes, too. Apart from its caller, which needs no room for a record. */
static __attribute__((noinline)) void message_forget(const struct message *message)
{
	store_note(message->store, DATABASE_END_MESSAGE, STORE_NUMBERS((int64_t)message->id));
}

void message_release(struct message *message, uint64_t counts)
{
	/* Read first: once the counts are given back, another thread may free the message. */
	struct connection *publisher = message->publisher;
	const size_t cost = message->cost;
	/* Release: this thread's use of the message; acquire: all uses, before the free. */
	const uint64_t left = sub_acq_rel(&message->counts, counts) - counts;

	if (left % MESSAGE_HOP == 0) {
		free(message->answer); /* it was never sent */
		if (message->id != 0)
			message_forget(message);
		free(message);
	}
	if (counts >= MESSAGE_HOP && left < MESSAGE_HOP && publisher != NULL)
		connection_release(publisher, cost);
}

void message_acknowledge(struct message *message)
{
	struct packet *answer = message->answer;

	message->answer = NULL;
	connection_send(message->publisher, answer);
}

/* The room before the identifiers for two other properties of the broker's: expiry and alias. */
#define PACKET_FIRST 8

static inline struct packet *packet_make(struct message *message, uint8_t qos, bool whole,
                                         size_t room)
{
	struct packet *packet = malloc(sizeof(*packet) + room);

	if (packet == NULL)
		return NULL;
	packet->next = NULL;
	packet->session = NULL;
	packet->due = 0;
	packet->message = message;
	packet->row = 0;
	packet->order = 0;
	packet->packet_id = 0;
	packet->qos = qos;
	packet->retain = false;
	packet->marker = false;
	packet->ordered = false;
	packet->ready = false;
	packet->reasons = false;
	packet->lost = false;
	packet->repeated = false;
	packet->retained = false;
	packet->hop = true;
	packet->whole = whole;
	packet->head_size = (uint32_t)room;
	packet->size = whole ? (uint32_t)message_size(message) : 0;
	return packet;
}

/* The room for a head in MQTT 3.1.1. */
static size_t packet_head_max(const struct message *message)
{
	return CODEC_HEADER_MAX + 2 + message->publish.topic.size + 2;
}

struct packet *packet_create_live(struct message *message, uint8_t qos)
{
	const bool whole = qos == 0;

	return packet_make(message, qos, whole, whole ? 0 : packet_head_max(message));
}

/* The room for a head in MQTT 3.1.1, and until then for the identifiers. */
static size_t packet_room(const struct message *message, bool whole, size_t identifiers_size)
{
	const size_t head_max = whole ? 0 : packet_head_max(message);
	const size_t more = identifiers_size > 0 ? PACKET_FIRST + identifiers_size : 0;

	return more > head_max ? more : head_max;
}

static void packet_put_identifiers(struct packet *packet, struct slice identifiers)
{
	if (identifiers.size == 0)
		return;
	memcpy(packet->head + PACKET_FIRST, identifiers.bytes, identifiers.size);
	packet->size = (uint32_t)identifiers.size;
}

struct packet *packet_create(struct message *message, uint8_t qos, bool retain, bool hop,
                             struct slice identifiers)
{
	const bool whole = qos == 0 && !retain && identifiers.size == 0;
	struct packet *packet =
		packet_make(message, qos, whole, packet_room(message, whole, identifiers.size));

	if (packet == NULL)
		return NULL;
	packet->retain = retain;
	packet->hop = hop;
	packet_put_identifiers(packet, identifiers);
	return packet;
}

struct packet *packet_change(struct packet *packet, uint8_t qos, bool retain,
                             struct slice identifiers)
{
	const bool whole = qos == 0 && !retain && identifiers.size == 0;
	const size_t room = packet_room(packet->message, whole, identifiers.size);
	struct packet *changed = packet;

	if (room > packet->head_size) {
		changed = malloc(sizeof(*changed) + room);
		if (changed == NULL)
			return NULL;
		*changed = *packet;
		changed->head_size = (uint32_t)room;
		free(packet);
	}
	changed->qos = qos;
	changed->retain = retain;
	changed->whole = whole;
	changed->size = whole ? (uint32_t)message_size(changed->message) : 0;
	packet_put_identifiers(changed, identifiers);
	return changed;
}

struct slice packet_identifiers(const struct packet *packet)
{
	return packet->size > 0 && !packet->whole
	               ? (struct slice){(const char *)packet->head + PACKET_FIRST, packet->size}
	               : (struct slice){NULL, 0};
}

/* What the packet says; with the properties that are passed on. */
static struct codec_publish packet_publish(const struct packet *packet)
{
	const struct message *message = packet->message;

	return (struct codec_publish){
		.topic = message->publish.topic,
		.payload = message->publish.payload,
		.properties = message_properties(message),
		.packet_id = packet->packet_id,
		.qos = packet->qos,
		.retain = packet->retain,
		.duplicate = packet->repeated,
	};
}

void packet_encode(struct packet *packet)
{
	const struct codec_publish publish = packet_publish(packet);

	packet->head_size = (uint32_t)codec_put_publish(packet->head, &publish);
	packet->size = packet->head_size + (uint32_t)publish.payload.size;
}

size_t packet_size5(const struct packet *packet)
{
	const struct codec_publish publish = packet_publish(packet);
	const size_t expiry_size = packet->message->expires != 0 ? 5 : 0;
	size_t head_size;

	return codec_size_publish5(&publish, expiry_size + packet_identifiers(packet).size,
	                           &head_size);
}

/* The seconds that the message has left. */
static uint32_t message_left(const struct message *message)
{
	const uint64_t now = message_clock();

	return now < message->expires
	               ? (uint32_t)((message->expires - now + MESSAGE_SECOND - 1) / MESSAGE_SECOND)
	               : 0;
}

struct packet *packet_encode5(struct packet *packet, struct packet_alias alias)
{
	struct codec_publish publish = packet_publish(packet);
	const struct slice identifiers = packet_identifiers(packet);
	unsigned char few[PACKET_FIRST], *own = few + PACKET_FIRST;
	size_t first = 0, head_size;
	struct packet *encoded;
	size_t size;

	if (alias.known)
		publish.topic.size = 0;
	if (identifiers.size > 0)
		own = packet->head + PACKET_FIRST;
	first += alias.number != 0 ? 3 : 0;
	first += packet->message->expires != 0 ? 5 : 0;
	own -= first;
	if (alias.number != 0)
		properties_put_u16(own, PROPERTY_ALIAS, alias.number);
	if (packet->message->expires != 0)
		properties_put_u32(own + first - 5, PROPERTY_MESSAGE_EXPIRY,
		                   message_left(packet->message));
	size = codec_size_publish5(&publish, first + identifiers.size, &head_size);
	encoded = malloc(sizeof(*encoded) + head_size);
	if (encoded == NULL)
		return NULL;
	*encoded = *packet;
	encoded->whole = false;
	encoded->size = (uint32_t)size;
	encoded->head_size = (uint32_t)head_size;
	codec_put_publish5(encoded->head, &publish,
	                   (struct slice){(const char *)own, first + identifiers.size});
	free(packet);
	return encoded;
}

struct packet *packet_create_own(const unsigned char *bytes, size_t size)
{
	struct packet *packet = calloc(1, sizeof(*packet) + size);

	if (packet == NULL)
		return NULL;
	packet->size = (uint32_t)size;
	packet->head_size = (uint32_t)size;
	memcpy(packet->head, bytes, size);
	return packet;
}

struct packet *packet_create_ack(uint8_t version, uint8_t type, uint16_t packet_id)
{
	struct packet *packet = calloc(1, sizeof(*packet) + CODEC_ACK_MAX);

	if (packet == NULL)
		return NULL;
	packet->reasons = version == CODEC_5;
	packet->size = (uint32_t)codec_put_ack(packet->head, type, packet_id);
	packet->head_size = packet->size;
	return packet;
}

void packet_set_reason(struct packet *packet, uint8_t reason)
{
	unsigned char *head = packet->head;
	const uint16_t packet_id = (uint16_t)(head[2] << 8 | head[3]);

	if (!packet->reasons)
		return;
	packet->size = (uint32_t)codec_put_ack5(head, head[0] >> 4, packet_id, reason);
	packet->head_size = packet->size;
}

void packet_end_hop(struct packet *packet)
{
	if (!packet->hop)
		return;
	packet->hop = false;
	message_release(packet->message, MESSAGE_HOP);
}

void packet_destroy(struct packet *packet)
{
	if (packet->message != NULL)
		message_release(packet->message,
		                MESSAGE_REFERENCE + (packet->hop ? MESSAGE_HOP : 0));
	free(packet);
}
