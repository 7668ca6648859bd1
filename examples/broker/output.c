/* SPDX-License-Identifier: MIT */
/*
 * What a connection writes. The packets wait in a list; a turn of the loop writes as many as fit
 * into one vector, and again, until the socket takes no more. Then one uv_write holds a vector's
 * worth and tells when the socket has taken it. Packets leave the list when they are written.
 */
#include <errno.h>

#include "connection.h"
#include "loop.h"

#define OUTPUT_VECTOR 512

void output_append(struct connection *connection, struct packet *packet)
{
	packet->next = NULL;
	*connection->output_end = packet;
	connection->output_end = &packet->next;
}

/* Skips `*skip` bytes of what is to be added; adds the rest, if any. */
static unsigned int vector_add(uv_buf_t *buffer, const void *bytes, size_t size, size_t *skip)
{
	const size_t skipped = *skip < size ? *skip : size;

	*skip -= skipped;
	if (skipped == size)
		return 0;
	/* libuv has no const; it only reads. */
	*buffer = uv_buf_init((char *)(uintptr_t)bytes + skipped, (unsigned int)(size - skipped));
	return 1;
}

/* The bytes from the first packet on, but for those already written. */
static unsigned int vector_fill(const struct connection *connection, uv_buf_t *vector, size_t *size)
{
	size_t skip = connection->output_offset;
	unsigned int count = 0;

	for (const struct packet *packet = connection->output_first;
	     packet != NULL && count + 2 <= OUTPUT_VECTOR; packet = packet->next) {
		const struct message *message = packet->message;

		if (packet->whole) {
			count += vector_add(&vector[count], message->bytes, message->size, &skip);
			continue;
		}
		count += vector_add(&vector[count], packet->head, packet->head_size, &skip);
		if (message != NULL)
			count += vector_add(&vector[count], message->publish.payload.bytes,
			                    message->publish.payload.size, &skip);
	}
	*size = 0;
	for (unsigned int i = 0; i < count; i++)
		*size += vector[i].len;
	return count;
}

/* So many bytes are written. */
static void output_consume(struct connection *connection, size_t size)
{
	uint64_t written = connection->written;

	connection->output_offset += size;
	while (connection->output_first != NULL &&
	       connection->output_offset >= connection->output_first->size) {
		struct packet *packet = connection->output_first;

		connection->output_offset -= packet->size;
		connection->output_first = packet->next;
		if (connection->output_first == NULL)
			connection->output_end = &connection->output_first;
		if (packet->message != NULL) {
			written += packet->size;
			connection->loop->stats.messages_out++;
		}
		packet_destroy(packet);
	}
	/* Release: only the session's account needs it, which tolerates any delay. */
	__atomic_store_n(&connection->written, written, __ATOMIC_RELEASE);
}

static void output_written(uv_write_t *write, int status)
{
	struct connection *connection = write->data;
	const size_t size = connection->writing;

	connection->writing = 0;
	if (connection->closing)
		return;
	if (status < 0) {
		connection_close(connection);
		return;
	}
	output_consume(connection, size);
	connection_dirty(connection);
}

void output_flush(struct connection *connection)
{
	uv_stream_t *stream = (uv_stream_t *)&connection->tcp;
	uv_buf_t vector[OUTPUT_VECTOR];
	unsigned int count;
	size_t size;
	int result;

	while (connection->output_first != NULL && connection->writing == 0) {
		count = vector_fill(connection, vector, &size);
		connection->loop->stats.writes++;
		result = uv_try_write(stream, vector, count);
		if (result > 0) {
			output_consume(connection, (size_t)result);
			continue;
		}
		if (result == UV_EAGAIN) {
			connection->write.data = connection;
			result =
				uv_write(&connection->write, stream, vector, count, output_written);
			connection->writing = result == 0 ? size : 0;
		}
		if (result < 0) {
			connection_close(connection);
			return;
		}
	}
}

void output_drop(struct connection *connection)
{
	while (connection->output_first != NULL) {
		struct packet *packet = connection->output_first;

		connection->output_first = packet->next;
		packet_destroy(packet);
	}
	connection->output_end = &connection->output_first;
}
