/* SPDX-License-Identifier: MIT */
/*
 * Reads on through the bytes of a packet, for codec.c and properties.c. An error sticks. Malformed
 * bytes, which nobody can read on in, are one kind of error; the other kind is a value that is
 * against the protocol (-EBADMSG) or invalid (-EINVAL). Of several errors the first of this order
 * counts.
 */
#ifndef BROKER_CURSOR_H
#define BROKER_CURSOR_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mqtt/names.h"

struct cursor {
	const unsigned char *at;
	size_t left;
	bool bad;    /* malformed */
	int refused; /* 0, or the error of a value */
};

/* 0 or the error. */
static inline int cursor_status(const struct cursor *cursor)
{
	return cursor->bad ? -EPROTO : cursor->refused;
}

static inline void cursor_refuse(struct cursor *cursor, int error)
{
	if (cursor->refused != -EBADMSG)
		cursor->refused = error;
}

static inline const unsigned char *cursor_take(struct cursor *cursor, size_t size)
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

static inline uint8_t cursor_u8(struct cursor *cursor)
{
	const unsigned char *taken = cursor_take(cursor, 1);

	return taken == NULL ? 0 : *taken;
}

static inline uint16_t cursor_u16(struct cursor *cursor)
{
	const unsigned char *taken = cursor_take(cursor, 2);

	return (uint16_t)(taken == NULL ? 0 : (taken[0] << 8) | taken[1]);
}

static inline uint32_t cursor_u32(struct cursor *cursor)
{
	const uint32_t high = cursor_u16(cursor);

	return high << 16 | cursor_u16(cursor);
}

/* 1.5.5: at most four bytes, and no more than the value needs. */
static inline uint32_t cursor_varint(struct cursor *cursor)
{
	uint32_t value = 0;

	for (unsigned int shift = 0; shift <= 21; shift += 7) {
		const uint8_t byte = cursor_u8(cursor);

		value |= (uint32_t)(byte & 0x7f) << shift;
		if (byte == 0 && shift > 0)
			break; /* an overlong encoding */
		if ((byte & 0x80) == 0)
			return value;
	}
	cursor->bad = true;
	return 0;
}

static inline struct slice cursor_slice(struct cursor *cursor, size_t size)
{
	const unsigned char *taken = cursor_take(cursor, size);

	return (struct slice){(const char *)taken, taken == NULL ? 0 : size};
}

static inline struct slice cursor_binary(struct cursor *cursor)
{
	return cursor_slice(cursor, cursor_u16(cursor));
}

static inline struct slice cursor_string(struct cursor *cursor)
{
	const struct slice text = cursor_binary(cursor);

	if (!cursor->bad && !names_utf8_valid(text))
		cursor->bad = true;
	return text;
}

#endif
