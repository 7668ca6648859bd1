/* SPDX-License-Identifier: MIT */
/* The encoding half of codec.h. */
#include "mqtt/codec.h"

#include <string.h>

size_t codec_put_header(unsigned char *out, uint8_t type, uint8_t flags, size_t remaining)
{
	size_t at = 0;

	out[at++] = (unsigned char)((type << 4) | flags);
	do {
		out[at++] = (unsigned char)((remaining & 0x7f) | (remaining > 0x7f ? 0x80 : 0));
		remaining >>= 7;
	} while (remaining > 0);
	return at;
}

size_t codec_put_u16(unsigned char *out, uint16_t value)
{
	out[0] = (unsigned char)(value >> 8);
	out[1] = (unsigned char)(value & 0xff);
	return 2;
}

size_t codec_put_string(unsigned char *out, struct slice text)
{
	codec_put_u16(out, (uint16_t)text.size);
	if (text.size > 0)
		memcpy(out + 2, text.bytes, text.size);
	return 2 + text.size;
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

size_t codec_put_publish(unsigned char *out, const struct codec_publish *publish)
{
	const uint8_t flags = (uint8_t)((publish->duplicate ? 8 : 0) | (publish->qos << 1) |
	                                (publish->retain ? 1 : 0));
	const size_t id_size = publish->qos > 0 ? 2 : 0;
	size_t at = codec_put_header(out, CODEC_PUBLISH, flags,
	                             2 + publish->topic.size + id_size + publish->payload.size);

	at += codec_put_string(out + at, publish->topic);
	if (publish->qos > 0)
		at += codec_put_u16(out + at, publish->packet_id);
	return at;
}
