/* SPDX-License-Identifier: MIT */
/* MQTT 3.1.1 packets as bytes; see wire.h. */
#include "wire.h"

#include <string.h>

int wire_frame(const unsigned char *bytes, size_t size, size_t frame_max, struct wire_frame *frame)
{
	size_t length = 0, at = 1;
	unsigned int shift = 0;

	for (;;) {
		if (at >= size)
			return 0;
		length |= (size_t)(bytes[at] & 0x7f) << shift;
		if ((bytes[at++] & 0x80) == 0)
			break;
		shift += 7;
		if (shift > 21)
			return -1;
	}
	/* The last byte of a length is 0 only if it is the first. */
	if ((at > 2 && bytes[at - 1] == 0) || at + length > frame_max)
		return -1;
	if (size - at < length)
		return 0;
	frame->type = bytes[0] >> 4;
	frame->flags = bytes[0] & 0x0f;
	frame->body = bytes + at;
	frame->body_size = length;
	frame->size = at + length;
	return 1;
}

static uint16_t get_two(const unsigned char *from)
{
	return (uint16_t)(from[0] << 8 | from[1]);
}

void wire_put_id(unsigned char *to, uint16_t packet_id)
{
	to[0] = (unsigned char)(packet_id >> 8);
	to[1] = (unsigned char)packet_id;
}

bool wire_publish(const struct wire_frame *frame, struct wire_publish *publish)
{
	const unsigned char *body = frame->body;
	size_t at;

	publish->qos = (frame->flags >> 1) & 3;
	publish->dup = (frame->flags & 8) != 0;
	publish->retain = (frame->flags & 1) != 0;
	publish->packet_id = 0;
	if (publish->qos == 3 || (publish->qos == 0 && publish->dup) || frame->body_size < 3)
		return false;
	publish->topic = body + 2;
	publish->topic_size = get_two(body);
	at = 2 + publish->topic_size;
	if (publish->topic_size == 0 || at > frame->body_size ||
	    memchr(publish->topic, 0, publish->topic_size) != NULL ||
	    memchr(publish->topic, '+', publish->topic_size) != NULL ||
	    memchr(publish->topic, '#', publish->topic_size) != NULL)
		return false;
	if (publish->qos > 0) {
		if (frame->body_size - at < 2)
			return false;
		publish->packet_id = get_two(body + at);
		at += 2;
		if (publish->packet_id == 0)
			return false;
	}
	publish->payload = body + at;
	publish->payload_size = frame->body_size - at;
	return true;
}

bool wire_connack(const struct wire_frame *frame, bool *session_present, uint8_t *return_code)
{
	if (frame->flags != 0 || frame->body_size != 2 || frame->body[0] > 1)
		return false;
	*session_present = frame->body[0] == 1;
	*return_code = frame->body[1];
	return *return_code == 0 || !*session_present;
}

bool wire_suback(const struct wire_frame *frame, uint16_t *packet_id, const uint8_t **codes,
                 size_t *code_count)
{
	if (frame->flags != 0 || frame->body_size < 3)
		return false;
	*packet_id = get_two(frame->body);
	*codes = frame->body + 2;
	*code_count = frame->body_size - 2;
	for (size_t i = 0; i < *code_count; i++)
		if ((*codes)[i] > 2 && (*codes)[i] != 0x80)
			return false;
	return *packet_id != 0;
}

bool wire_ack(const struct wire_frame *frame, uint16_t *packet_id)
{
	if (frame->flags != (frame->type == WIRE_PUBREL ? 2 : 0) || frame->body_size != 2)
		return false;
	*packet_id = get_two(frame->body);
	return *packet_id != 0;
}

size_t wire_put_header(unsigned char *to, uint8_t type, uint8_t flags, size_t body_size)
{
	size_t at = 0;

	to[at++] = (unsigned char)(type << 4 | flags);
	do {
		to[at] = (unsigned char)(body_size & 0x7f);
		body_size >>= 7;
		if (body_size > 0)
			to[at] |= 0x80;
		at++;
	} while (body_size > 0);
	return at;
}

size_t wire_put_ack(unsigned char *to, uint8_t type, uint16_t packet_id)
{
	size_t at = wire_put_header(to, type, type == WIRE_PUBREL ? 2 : 0, 2);

	wire_put_id(to + at, packet_id);
	return at + 2;
}

static size_t put_string(unsigned char *to, const char *text)
{
	const size_t size = strlen(text);

	wire_put_id(to, (uint16_t)size);
	memcpy(to + 2, text, size);
	return 2 + size;
}

size_t wire_put_connect(unsigned char *to, const char *client_id, bool clean, uint16_t keep_alive)
{
	size_t at = wire_put_header(to, WIRE_CONNECT, 0, 12 + strlen(client_id));

	at += put_string(to + at, "MQTT");
	to[at++] = 4;
	to[at++] = clean ? 2 : 0;
	wire_put_id(to + at, keep_alive);
	at += 2;
	return at + put_string(to + at, client_id);
}

size_t wire_put_subscribe(unsigned char *to, uint16_t packet_id, const char *filter, uint8_t qos)
{
	size_t at = wire_put_header(to, WIRE_SUBSCRIBE, 2, 5 + strlen(filter));

	wire_put_id(to + at, packet_id);
	at += 2;
	at += put_string(to + at, filter);
	to[at++] = qos;
	return at;
}

size_t wire_put_publish(unsigned char *to, const char *topic, uint8_t qos, size_t payload_size,
                        size_t *id_at)
{
	const size_t body_size = 2 + strlen(topic) + (qos > 0 ? 2 : 0) + payload_size;
	size_t at = wire_put_header(to, WIRE_PUBLISH, (uint8_t)(qos << 1), body_size);

	at += put_string(to + at, topic);
	*id_at = 0;
	if (qos > 0) {
		*id_at = at;
		wire_put_id(to + at, 0);
		at += 2;
	}
	return at;
}

size_t wire_put_disconnect(unsigned char *to)
{
	return wire_put_header(to, WIRE_DISCONNECT, 0, 0);
}
