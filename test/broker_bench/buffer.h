/* SPDX-License-Identifier: MIT */
/* Bytes that wait to be sent: put at one end, taken at the other. */
#ifndef LOAD_BUFFER_H
#define LOAD_BUFFER_H

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct buffer {
	unsigned char *bytes;
	size_t head, tail; /* the bytes from head to tail wait */
	size_t room;
};

static inline size_t buffer_pending(const struct buffer *buffer)
{
	return buffer->tail - buffer->head;
}

/* Where `size` more bytes may be written, for buffer_add; NULL: no memory. */
static inline unsigned char *buffer_reserve(struct buffer *buffer, size_t size)
{
	if (buffer->head == buffer->tail)
		buffer->head = buffer->tail = 0;
	if (buffer->room - buffer->tail < size && buffer->head > 0) {
		memmove(buffer->bytes, buffer->bytes + buffer->head, buffer_pending(buffer));
		buffer->tail -= buffer->head;
		buffer->head = 0;
	}
	if (buffer->room - buffer->tail < size) {
		const size_t room =
			2 * (buffer->tail + size) < 256 ? 256 : 2 * (buffer->tail + size);
		unsigned char *bytes = realloc(buffer->bytes, room);

		if (bytes == NULL)
			return NULL;
		buffer->bytes = bytes;
		buffer->room = room;
	}
	return buffer->bytes + buffer->tail;
}

static inline void buffer_add(struct buffer *buffer, size_t size)
{
	buffer->tail += size;
}

static inline void buffer_take(struct buffer *buffer, size_t size)
{
	buffer->head += size;
}

static inline void buffer_deinit(struct buffer *buffer)
{
	free(buffer->bytes);
	*buffer = (struct buffer){0};
}

#endif
