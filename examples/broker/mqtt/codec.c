/* SPDX-License-Identifier: MIT */
/* The decoding half of codec.h. Section numbers are those of MQTT 3.1.1. */
#include "mqtt/codec.h"

#include <errno.h>
#include <string.h>

/* The first byte of a packet that a client may send: its type, with that type's flags (2.2.2). */
static bool first_byte_valid(unsigned char byte)
{
	const unsigned int type = byte >> 4, flags = byte & 0x0f;

	switch (type) {
	case CODEC_PUBLISH:
		return (flags & 0x06) != 0x06 && (flags & 0x0e) != 0x08;
	case CODEC_PUBREL:
	case CODEC_SUBSCRIBE:
	case CODEC_UNSUBSCRIBE:
		return flags == 2;
	case CODEC_CONNECT:
	case CODEC_PUBACK:
	case CODEC_PUBREC:
	case CODEC_PUBCOMP:
	case CODEC_PINGREQ:
	case CODEC_DISCONNECT:
		return flags == 0;
	default:
		return false;
	}
}

int codec_frame(const unsigned char *bytes, size_t size, size_t size_max, struct codec_frame *frame)
{
	size_t remaining = 0, at = 1;

	frame->size = 0;
	if (size == 0)
		return 0;
	if (!first_byte_valid(bytes[0]))
		return -EPROTO;
	for (unsigned int shift = 0;; shift += 7) {
		if (shift > 21)
			return -EPROTO;
		if (at >= size)
			return 0;
		remaining |= (size_t)(bytes[at] & 0x7f) << shift;
		if (bytes[at] == 0 && shift > 0)
			return -EPROTO; /* an overlong encoding */
		if ((bytes[at++] & 0x80) == 0)
			break;
	}
	if (at + remaining > size_max)
		return -EMSGSIZE;
	frame->type = (uint8_t)(bytes[0] >> 4);
	frame->flags = (uint8_t)(bytes[0] & 0x0f);
	frame->body = bytes + at;
	frame->body_size = remaining;
	frame->size = at + remaining;
	return size >= frame->size;
}

/* Reads on through a body; `bad` sticks. */
struct cursor {
	const unsigned char *at;
	size_t left;
	bool bad;
};

static const unsigned char *cursor_take(struct cursor *cursor, size_t size)
{
	const unsigned char *taken = cursor->at;

	if (cursor->bad || cursor->left < size) {
		cursor->bad = true;
		return NULL;
	}
	cursor->at += size;
	cursor->left -= size;
	return taken;
}

static uint8_t cursor_u8(struct cursor *cursor)
{
	const unsigned char *taken = cursor_take(cursor, 1);

	return taken == NULL ? 0 : *taken;
}

static uint16_t cursor_u16(struct cursor *cursor)
{
	const unsigned char *taken = cursor_take(cursor, 2);

	return (uint16_t)(taken == NULL ? 0 : (taken[0] << 8) | taken[1]);
}

static struct slice cursor_binary(struct cursor *cursor)
{
	const size_t size = cursor_u16(cursor);
	const unsigned char *taken = cursor_take(cursor, size);

	return (struct slice){(const char *)taken, taken == NULL ? 0 : size};
}

static struct slice cursor_string(struct cursor *cursor)
{
	const struct slice text = cursor_binary(cursor);

	if (!cursor->bad && !names_utf8_valid(text))
		cursor->bad = true;
	return text;
}

static struct cursor cursor_over(const struct codec_frame *frame)
{
	return (struct cursor){frame->body, frame->body_size, false};
}

static uint16_t cursor_packet_id(struct cursor *cursor)
{
	const uint16_t packet_id = cursor_u16(cursor);

	if (packet_id == 0)
		cursor->bad = true;
	return packet_id;
}

/* 3.1.2.3: reserved bit, will bits only with a will, a password only with a user name. */
static bool connect_flags_valid(uint8_t flags)
{
	const bool will = (flags & 0x04) != 0;
	const unsigned int will_qos = (flags >> 3) & 3;

	if ((flags & 0x01) != 0 || will_qos == 3)
		return false;
	if (!will && (flags & 0x38) != 0)
		return false;
	return (flags & 0x80) != 0 || (flags & 0x40) == 0;
}

/* 3.1.3.2, 3.1.3.3: the will has a topic name; its message is any bytes. */
static void cursor_will(struct cursor *cursor, uint8_t flags, struct codec_publish *will)
{
	will->topic = cursor_string(cursor);
	will->payload = cursor_binary(cursor);
	will->qos = (flags >> 3) & 3;
	will->retain = (flags & 0x20) != 0;
	if (!names_topic_valid(will->topic))
		cursor->bad = true;
}

int codec_connect(const struct codec_frame *frame, struct codec_connect *connect)
{
	struct cursor cursor = cursor_over(frame);
	const struct slice name = cursor_string(&cursor);
	const uint8_t level = cursor_u8(&cursor);
	uint8_t flags;

	if (cursor.bad)
		return -EPROTO;
	if (!names_equal(name, (struct slice){"MQTT", 4}))
		return -EPFNOSUPPORT;
	if (level != 4)
		return -EPROTONOSUPPORT;
	flags = cursor_u8(&cursor);
	if (!connect_flags_valid(flags))
		return -EPROTO;
	*connect = (struct codec_connect){.clean = (flags & 0x02) != 0};
	connect->keep_alive = cursor_u16(&cursor);
	connect->client_id = cursor_string(&cursor);
	if ((flags & 0x04) != 0)
		cursor_will(&cursor, flags, &connect->will);
	if ((flags & 0x80) != 0)
		connect->user_name = cursor_string(&cursor);
	if ((flags & 0x40) != 0)
		connect->password = cursor_binary(&cursor);
	return cursor.bad || cursor.left != 0 ? -EPROTO : 0;
}

int codec_publish(const struct codec_frame *frame, struct codec_publish *publish)
{
	struct cursor cursor = cursor_over(frame);

	publish->duplicate = (frame->flags & 0x08) != 0;
	publish->qos = (frame->flags >> 1) & 3;
	publish->retain = (frame->flags & 0x01) != 0;
	publish->topic = cursor_string(&cursor);
	publish->packet_id = publish->qos > 0 ? cursor_packet_id(&cursor) : 0;
	if (cursor.bad || !names_topic_valid(publish->topic))
		return -EPROTO;
	publish->payload = (struct slice){(const char *)cursor.at, cursor.left};
	return 0;
}

int codec_filters(const struct codec_frame *frame, uint16_t *packet_id, size_t *count)
{
	struct cursor cursor = cursor_over(frame);
	size_t found = 0;

	*packet_id = cursor_packet_id(&cursor);
	while (!cursor.bad && cursor.left > 0) {
		const struct slice filter = cursor_string(&cursor);

		if (cursor.bad || !names_filter_valid(filter))
			return -EPROTO;
		if (frame->type == CODEC_SUBSCRIBE && cursor_u8(&cursor) > 2)
			return -EPROTO;
		found++;
	}
	*count = found;
	return cursor.bad || found == 0 ? -EPROTO : 0;
}

struct slice codec_filter_next(const struct codec_frame *frame, size_t *offset, uint8_t *qos)
{
	struct cursor cursor = cursor_over(frame);
	struct slice filter;

	cursor_take(&cursor, *offset == 0 ? 2 : *offset);
	filter = cursor_binary(&cursor);
	*qos = frame->type == CODEC_SUBSCRIBE ? cursor_u8(&cursor) : 0;
	*offset = (size_t)(cursor.at - frame->body);
	return filter;
}

int codec_ack(const struct codec_frame *frame, uint16_t *packet_id)
{
	struct cursor cursor = cursor_over(frame);

	*packet_id = cursor_packet_id(&cursor);
	return cursor.bad || cursor.left != 0 ? -EPROTO : 0;
}

int codec_empty(const struct codec_frame *frame)
{
	return frame->body_size != 0 ? -EPROTO : 0;
}
