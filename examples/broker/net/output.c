/* SPDX-License-Identifier: MIT */
/*
 * What a connection writes. The packets wait in a list. A turn of the loop writes as many packets
 * as fit into one vector, and repeats this until the socket takes no more. Then one uv_write holds
 * the first few buffers and reports when the socket has taken them. Packets leave the list when
 * they are written; with TLS, when they are encrypted. At most OUTPUT_TLS encrypted bytes wait for
 * the socket.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/atomic.h"
#include "net/connection.h"
#include "net/loop.h"
#include "net/net.h"
#include "net/tls.h"

#define OUTPUT_VECTOR 512
#define OUTPUT_WAIT 4 /* of these in one uv_write, see output_wait() */
#define OUTPUT_TLS (4 * TLS_RECORD_MAX)

size_t output_cost(const struct packet *packet)
{
	return packet->message == NULL ? packet->size + sizeof(*packet) : 0;
}

void output_push(struct connection *connection, struct packet *packet)
{
	packet->next = NULL;
	*connection->output_end = packet;
	connection->output_end = &packet->next;
	if (connection->output_fresh == NULL)
		connection->output_fresh = packet;
}

/*
 * The remaining packets were offered to the socket: from here on no publisher is charged for them.
 */
static void output_offered(struct connection *connection)
{
	for (struct packet *packet = connection->output_fresh; packet != NULL;
	     packet = packet->next)
		packet_end_hop(packet);
	connection->output_fresh = NULL;
}

static void output_set_full(struct connection *connection, bool full)
{
	store_relaxed(&connection->full, full); /* see connection_full() */
}

/* Takes the first packet out of the list. */
static struct packet *output_shift(struct connection *connection)
{
	struct packet *packet = connection->output_first;

	connection->output_first = packet->next;
	if (connection->output_first == NULL)
		connection->output_end = &connection->output_first;
	if (connection->output_fresh == packet)
		connection->output_fresh = packet->next;
	return packet;
}

void output_append(struct connection *connection, struct packet *packet)
{
	const size_t cost = output_cost(packet);

	if (cost > 0)
		connection_charge_more(connection, cost);
	output_push(connection, packet);
}

/* Adds the bytes to the vector, without the first `*skip` of them. */
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

/* Fills the vector from the first packet on, without the bytes already written. */
static unsigned int vector_fill(const struct connection *connection, uv_buf_t *vector)
{
	size_t skip = connection->output_offset;
	unsigned int count = 0;

	for (const struct packet *packet = connection->output_first;
	     packet != NULL && count + 2 <= OUTPUT_VECTOR; packet = packet->next) {
		const struct message *message = packet->message;

		if (packet->whole) {
			count += vector_add(&vector[count], message->bytes, packet->size, &skip);
			continue;
		}
		count += vector_add(&vector[count], packet->head, packet->head_size, &skip);
		if (message != NULL)
			count += vector_add(&vector[count], message->publish.payload.bytes,
			                    message->publish.payload.size, &skip);
	}
	return count;
}

/* Release: pairs with the acquire in connection_written(). */
static void output_account(struct connection *connection, uint64_t written)
{
	store_release(&connection->written, written);
}

/* Takes written bytes out of the list, and destroys the packets that are written in full. */
static void output_consume(struct connection *connection, size_t size)
{
	uint64_t written = connection->written;
	size_t cost = 0;

	connection->output_offset += size;
	connection->loop->stats.bytes_out += size;
	while (connection->output_first != NULL &&
	       connection->output_offset >= connection->output_first->size) {
		struct packet *packet = output_shift(connection);

		connection->output_offset -= packet->size;
		if (packet->message != NULL) {
			written += packet_memory(packet);
			if (packet->order != 0)
				connection->attempted = packet->order;
			connection->loop->stats.messages_out++;
			connection->loop->stats.payload_out +=
				packet->message->publish.payload.size;
		}
		cost += output_cost(packet);
		if (packet->marker) {
			output_account(connection, written); /* the session looks at it now */
			connection->loop->calls->drained(packet);
		} else {
			connection->loop->stats.packets_out++;
			packet_destroy(packet);
		}
	}
	output_account(connection, written);
	if (cost > 0)
		connection_release(connection, cost);
}

/*
 * The socket can be written no more. If the client has reset the connection, its last packets may
 * still wait to be read, for example a DISCONNECT that cancels its will. So the connection is not
 * closed here: the reading finds the reset behind these packets.
 */
static void output_fail(struct connection *connection, int status)
{
	if (status != UV_EPIPE && status != UV_ECONNRESET) {
		connection_break(connection, status);
		return;
	}
	connection->deaf = true;
	output_drop(connection);
}

static void output_written(uv_write_t *write, int status)
{
	struct connection *connection = write->data;
	const size_t size = connection->writing;
	const bool plain = connection->spill == NULL;

	free(connection->spill);
	connection->spill = NULL;
	if (connection->closing)
		return; /* the write counts as an attempt, see output_drop() */
	if (status < 0) {
		output_fail(connection, status); /* this one, too */
		return;
	}
	connection->writing = 0;
	output_set_full(connection, false);
	if (plain)
		output_consume(connection, size);
	connection_dirty(connection);
}

/*
 * The socket takes no more bytes now. libuv writes the first buffers, at most OUTPUT_WAIT, as soon
 * as the socket takes bytes again. Returns 0, or an error. For more buffers libuv would allocate
 * memory; if that allocation fails, libuv 1.44 never finishes the write, and the loop never ends.
 */
static int output_wait(struct connection *connection, const uv_buf_t *vector, unsigned int count)
{
	size_t size = 0;
	int status;

	if (count > OUTPUT_WAIT)
		count = OUTPUT_WAIT;
	for (unsigned int i = 0; i < count; i++)
		size += vector[i].len;
	connection->write.data = connection;
	status = uv_write(&connection->write, (uv_stream_t *)&connection->tcp, vector, count,
	                  output_written);
	if (status == 0) {
		connection->loop->watches = true;
		connection->writing = size;
		output_set_full(connection, true);
		connection_progress(connection);
	}
	return status;
}

/* Returns 1: something was written; 0: the socket takes nothing now; or an error. */
static int output_write(struct connection *connection)
{
	uv_buf_t vector[OUTPUT_VECTOR];
	unsigned int count;
	int result;

	if (connection->output_first == NULL)
		return 0;
	if (connection->output_first->size == 0) {
		output_consume(connection, 0); /* a packet may be empty */
		return 1;
	}
	count = vector_fill(connection, vector);
	connection->loop->stats.writes++;
	result = uv_try_write((uv_stream_t *)&connection->tcp, vector, count);
	if (result == UV_EAGAIN)
		return output_wait(connection, vector, count);
	if (result > 0)
		output_consume(connection, (size_t)result);
	return result < 0 ? result : 1;
}

/* Encrypts one record's worth of packets. */
static int output_encrypt(struct connection *connection)
{
	unsigned char *const record = connection->loop->record;
	uv_buf_t vector[OUTPUT_VECTOR];
	size_t used = 0;
	const unsigned int count = vector_fill(connection, vector);
	int status;

	for (unsigned int i = 0; i < count && used < TLS_RECORD_MAX; i++) {
		size_t part = vector[i].len;

		if (part > TLS_RECORD_MAX - used)
			part = TLS_RECORD_MAX - used;
		memcpy(record + used, vector[i].base, part);
		used += part;
	}
	/* Nothing: all that was looked at is empty. */
	status = used > 0 ? tls_write(connection->tls, record, used) : 0;
	if (status == 0)
		output_consume(connection, used);
	return status;
}

/* As output_write. */
static int output_write_tls(struct connection *connection)
{
	const unsigned char *bytes;
	size_t size;
	uv_buf_t buffer;
	int result = 0;

	while (result == 0 && connection->output_first != NULL &&
	       tls_output(connection->tls, &bytes) < OUTPUT_TLS)
		result = output_encrypt(connection);
	size = tls_output(connection->tls, &bytes);
	if (size == 0)
		return result == -EAGAIN ? 0 : result;
	connection->loop->stats.writes++;
	buffer = uv_buf_init((char *)(uintptr_t)bytes, (unsigned int)size);
	result = uv_try_write((uv_stream_t *)&connection->tcp, &buffer, 1);
	if (result > 0)
		tls_taken(connection->tls, (size_t)result);
	if (result != UV_EAGAIN)
		return result < 0 ? result : 1;
	/* The stream's own memory may move before it is written. */
	connection->spill = malloc(size);
	if (connection->spill == NULL)
		return -ENOMEM;
	memcpy(connection->spill, bytes, size);
	tls_taken(connection->tls, size);
	buffer.base = (char *)connection->spill;
	return output_wait(connection, &buffer, 1);
}

void output_flush(struct connection *connection)
{
	int result = 1;

	if (connection->deaf) {
		output_drop(connection);
		return;
	}
	while (result > 0 && connection->writing == 0)
		result = connection->tls != NULL ? output_write_tls(connection)
		                                 : output_write(connection);
	output_offered(connection);
	if (result < 0)
		output_fail(connection, result);
}

bool output_empty(const struct connection *connection)
{
	return connection->output_first == NULL && connection->writing == 0;
}

void output_drop(struct connection *connection)
{
	/* With TLS, what is being written has left the list. */
	size_t begun =
		connection->output_offset + (connection->tls == NULL ? connection->writing : 0);
	size_t cost = 0;

	while (connection->output_first != NULL) {
		struct packet *packet = output_shift(connection);

		cost += output_cost(packet);
		if (packet->order != 0 && begun > 0)
			connection->attempted = packet->order;
		begun -= begun < packet->size ? begun : packet->size;
		packet_destroy(packet);
	}
	connection->output_offset = 0;
	connection->writing = 0;
	if (cost > 0)
		connection_release(connection, cost);
}
