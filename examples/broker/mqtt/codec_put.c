/* SPDX-License-Identifier: MIT */
/* The encoding half of codec.h. Section numbers are those of MQTT 5. */
#include "mqtt/codec.h"

#include <string.h>

size_t codec_put_header(unsigned char *out, uint8_t type, uint8_t flags, size_t remaining)
{
	out[0] = (unsigned char)((type << 4) | flags);
	return 1 + properties_put_varint(out + 1, (uint32_t)remaining);
}

size_t codec_put_u16(unsigned char *out, uint16_t value)
{
	out[0] = (unsigned char)(value >> 8);
	out[1] = (unsigned char)(value & 0xff);
	return 2;
}

/* Appends at `at`; returns the end. */
static size_t put_bytes(unsigned char *out, size_t at, struct slice bytes)
{
	if (bytes.size > 0)
		memcpy(out + at, bytes.bytes, bytes.size);
	return at + bytes.size;
}

size_t codec_put_string(unsigned char *out, struct slice text)
{
	return put_bytes(out, codec_put_u16(out, (uint16_t)text.size), text);
}

size_t codec_put_connack(unsigned char *out, bool present, uint8_t return_code)
{
	size_t at = codec_put_header(out, CODEC_CONNACK, 0, 2);

	out[at++] = present ? 1 : 0;
	out[at++] = return_code;
	return at;
}

size_t codec_put_ack(unsigned char *out, uint8_t type, uint16_t packet_id)
{
	const size_t at = codec_put_header(out, type, type == CODEC_PUBREL ? 2 : 0, 2);

	return at + codec_put_u16(out + at, packet_id);
}

static uint8_t publish_flags(const struct codec_publish *publish)
{
	return (uint8_t)((publish->duplicate ? 8 : 0) | (publish->qos << 1) |
	                 (publish->retain ? 1 : 0));
}

size_t codec_put_publish(unsigned char *out, const struct codec_publish *publish)
{
	const size_t id_size = publish->qos > 0 ? 2 : 0;
	size_t at = codec_put_header(out, CODEC_PUBLISH, publish_flags(publish),
	                             2 + publish->topic.size + id_size + publish->payload.size);

	at += codec_put_string(out + at, publish->topic);
	if (publish->qos > 0)
		at += codec_put_u16(out + at, publish->packet_id);
	return at;
}

size_t codec_put_connack5(unsigned char *out, bool present, uint8_t reason, struct slice properties)
{
	const uint32_t size = (uint32_t)properties.size;
	size_t at = codec_put_header(out, CODEC_CONNACK, 0,
	                             2 + properties_varint_size(size) + properties.size);

	out[at++] = present ? 1 : 0;
	out[at++] = reason;
	at += properties_put_varint(out + at, size);
	return put_bytes(out, at, properties);
}

/* 3.4.2: no reason means success. */
size_t codec_put_ack5(unsigned char *out, uint8_t type, uint16_t packet_id, uint8_t reason)
{
	size_t at = codec_put_ack(out, type, packet_id);

	if (reason != 0) {
		out[1] = 3;
		out[at++] = reason;
	}
	return at;
}

/* 3.14.2 */
size_t codec_put_disconnect(unsigned char *out, uint8_t reason, struct slice text)
{
	const size_t size = text.size > 0 ? 3 + text.size : 0;
	const size_t length_size = size > 0 ? properties_varint_size((uint32_t)size) : 0;
	size_t at = codec_put_header(out, CODEC_DISCONNECT, 0, 1 + length_size + size);

	out[at++] = reason;
	if (size > 0) {
		at += properties_put_varint(out + at, (uint32_t)size);
		at += properties_put_text(out + at, PROPERTY_REASON_STRING, text);
	}
	return at;
}

/* The remaining length without the payload. */
static size_t publish5_fields(const struct codec_publish *publish, size_t own_size)
{
	const size_t properties_size = own_size + publish->properties.size;

	return 2 + publish->topic.size + (publish->qos > 0 ? 2 : 0) +
	       properties_varint_size((uint32_t)properties_size) + properties_size;
}

size_t codec_put_publish5(unsigned char *out, const struct codec_publish *publish, struct slice own)
{
	size_t at = codec_put_header(out, CODEC_PUBLISH, publish_flags(publish),
	                             publish5_fields(publish, own.size) + publish->payload.size);

	at += codec_put_string(out + at, publish->topic);
	if (publish->qos > 0)
		at += codec_put_u16(out + at, publish->packet_id);
	at += properties_put_varint(out + at, (uint32_t)(own.size + publish->properties.size));
	at = put_bytes(out, at, own);
	return put_bytes(out, at, publish->properties);
}

size_t codec_size_publish5(const struct codec_publish *publish, size_t own_size, size_t *head_size)
{
	const size_t fields = publish5_fields(publish, own_size);
	const size_t remaining = fields + publish->payload.size;

	*head_size = 1 + properties_varint_size((uint32_t)remaining) + fields;
	return *head_size + publish->payload.size;
}
