/* SPDX-License-Identifier: MIT */
/*
 * Packets of MQTT written down by hand, for the tests of the example broker's codec: they
 * share nothing with its encoders. What is decoded lies in memory of exactly its size, so that
 * AddressSanitizer sees who reads behind it.
 */
#ifndef BATON_TEST_UNIT_PACKETS_H
#define BATON_TEST_UNIT_PACKETS_H

#include "mqtt/codec.h"
#include "support.h"

#define REMAINING_MAX 268435455U

/* A packet's body as it grows. */
struct wire {
	size_t size;
	unsigned char bytes[512];
};

static inline void wire_bytes(struct wire *wire, const void *bytes, size_t size)
{
	MUST(size <= sizeof(wire->bytes) - wire->size);
	memcpy(wire->bytes + wire->size, bytes, size);
	wire->size += size;
}

static inline void wire_u8(struct wire *wire, unsigned value)
{
	unsigned char byte = (unsigned char)value;

	wire_bytes(wire, &byte, 1);
}

static inline void wire_u16(struct wire *wire, unsigned value)
{
	wire_u8(wire, value >> 8 & 0xFF);
	wire_u8(wire, value & 0xFF);
}

static inline void wire_text(struct wire *wire, const char *text)
{
	wire_u16(wire, (unsigned)strlen(text));
	wire_bytes(wire, text, strlen(text));
}

/* The pseudo code of 2.2.3 (1.5.5 of MQTT 5). */
static inline size_t remaining_length(unsigned char *out, size_t value)
{
	size_t size = 0;

	do {
		unsigned byte = (unsigned)(value % 128);

		value /= 128;
		out[size++] = (unsigned char)(value > 0 ? byte | 128 : byte);
	} while (value > 0);
	return size;
}

/* Properties of MQTT 5, with their length. */
static inline void wire_properties(struct wire *wire, struct slice properties)
{
	unsigned char length[4];

	wire_bytes(wire, length, remaining_length(length, properties.size));
	wire_bytes(wire, properties.bytes, properties.size);
}

/* A copy in memory of its own size, until so many further calls. */
static inline void *exactly(const void *bytes, size_t size)
{
	static void *copies[8];
	static size_t next;
	void **copy = &copies[next++ % 8];

	free(*copy);
	*copy = malloc(size);
	MUST(*copy != NULL || size == 0);
	if (size > 0)
		memcpy(*copy, bytes, size);
	return *copy;
}

static inline struct slice slice_of(const void *bytes, size_t size)
{
	struct slice slice = {exactly(bytes, size), size};

	return slice;
}

static inline struct slice slice_text(const char *text)
{
	return slice_of(text, strlen(text));
}

static inline bool slice_is(struct slice slice, const char *text)
{
	return slice.bytes != NULL && slice.size == strlen(text) &&
	       memcmp(slice.bytes, text, slice.size) == 0;
}

/* What codec_frame says of the packet that has this first byte and this body. */
static inline int frame_of(unsigned first, const struct wire *body, struct codec_frame *frame)
{
	unsigned char packet[sizeof(body->bytes) + 5];
	size_t size = 1;

	packet[0] = (unsigned char)first;
	size += remaining_length(packet + 1, body->size);
	memcpy(packet + size, body->bytes, body->size);
	size += body->size;
	return codec_frame(exactly(packet, size), size, size, frame);
}

static inline int decode_publish(unsigned first, const struct wire *body,
                                 struct codec_publish *publish)
{
	struct codec_frame frame;
	int found = frame_of(first, body, &frame);

	return found == 1 ? codec_publish(&frame, CODEC_311, publish) : found;
}

static inline int decode_connect(const struct wire *body, struct codec_connect *connect)
{
	struct codec_frame frame;
	int found = frame_of(0x10, body, &frame);

	return found == 1 ? codec_connect(&frame, connect) : found;
}

#define FIRST_SUBSCRIBE 0x82
#define FIRST_UNSUBSCRIBE 0xA2

static inline int decode_filters(unsigned first, const struct wire *body)
{
	struct codec_frame frame;
	struct codec_filters filters;
	int found = frame_of(first, body, &frame);

	return found == 1 ? codec_filters(&frame, CODEC_311, &filters) : found;
}

#endif
