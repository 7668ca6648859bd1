/* SPDX-License-Identifier: MIT */
/*
 * What a connection reads. All connections of a loop read into one buffer, and packets are handled
 * where they lie in the buffer. Only two sorts of bytes are copied and kept: the beginning of a
 * packet whose end has not come yet, and bytes that came after a packet had paused the connection.
 * A connection that has filled the buffer is read on only after all other connections have had
 * their turn, and after the output that its packets caused was written.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "common/env.h"
#include "common/why.h"
#include "net/connection.h"
#include "net/loop.h"
#include "net/net.h"
#include "net/tls.h"

#define INPUT_STRANGER_FIRST 256

static void input_allocate(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
	struct connection *connection = handle->data;
	size_t size = LOOP_INPUT_SIZE;

	(void)suggested;
	if (!connection->admitted && stranger_room(connection) < size)
		size = stranger_room(connection);
	*buffer = uv_buf_init((char *)connection->loop->input, (unsigned int)size);
}

/* A stranger gets memory for the bytes that have come, not for those that it has announced. */
static size_t input_rounded(const struct connection *connection, size_t capacity)
{
	const size_t most = connection->loop->env->options.connect_max;
	size_t rounded = INPUT_STRANGER_FIRST;

	if (connection->admitted || capacity > most)
		return capacity;
	while (rounded < capacity)
		rounded *= 2;
	return rounded < most ? rounded : most;
}

static size_t input_held(const struct connection *connection)
{
	const size_t tls = connection->tls != NULL ? connection->stranger.heard : 0;

	return connection->input_capacity + tls + connection->stranger.login;
}

/* Makes room for so many bytes. False: no memory. */
static bool input_reserve(struct connection *connection, size_t capacity)
{
	unsigned char *grown;

	if (capacity <= connection->input_capacity)
		return true;
	capacity = input_rounded(connection, capacity);
	grown = realloc(connection->input, capacity);
	if (grown == NULL)
		return false;
	connection->input = grown;
	connection->input_capacity = capacity;
	return true;
}

static bool input_append(struct connection *connection, const unsigned char *bytes, size_t size)
{
	if (!input_reserve(connection, connection->input_size + size))
		return false;
	if (size > 0)
		memcpy(connection->input + connection->input_size, bytes, size);
	connection->input_size += size;
	return true;
}

void input_free(struct connection *connection)
{
	free(connection->input);
	connection->input = NULL;
	connection->input_size = 0;
	connection->input_capacity = 0;
}

bool input_begun(const struct connection *connection)
{
	return connection->input_size > 0 ||
	       (connection->tls != NULL && tls_begun(connection->tls));
}

/* Closes the connection and says why in the log. */
static void input_fail(struct connection *connection, int status)
{
	if (status == -EPROTO || status == -EMSGSIZE || status == -EBADMSG || status == -EINVAL)
		connection->loop->stats.malformed++;
	if (connection->why == WHY_NONE && status == -EPROTO)
		connection->why = WHY_MALFORMED;
	else if (connection->why == WHY_NONE && status == -EBADMSG)
		connection->why = WHY_AGAINST;
	else if (connection->why == WHY_NONE && status == -EINVAL)
		connection->why = WHY_TOPIC;
	else if (connection->why == WHY_NONE && status == -EMSGSIZE)
		connection->why = connection->admitted ? WHY_MAX_PACKET : WHY_MAX_CONNECT;
	else if (connection->why == WHY_NONE && status == -ENOMEM)
		connection->why = WHY_NO_MEMORY;
	connection_close(connection);
}

/* As codec_frame(); the first packet must be a CONNECT, and has a limit of its own. */
static int input_frame(struct connection *connection, const unsigned char *bytes, size_t size,
                       struct codec_frame *frame)
{
	const struct broker_options *options = &connection->loop->env->options;
	size_t most = limit_of(connection->loop->env, packet_max);

	if (!connection->admitted && size > 0 && bytes[0] >> 4 != CODEC_CONNECT) {
		connection->why = WHY_NO_CONNECT;
		return -EPROTO;
	}
	if (!connection->admitted && options->connect_max < most)
		most = options->connect_max;
	return codec_frame(bytes, size, most, frame);
}

/*
 * Handles the packets in the bytes; returns how many bytes were used. `*needed`: the size of the
 * packet that the unused bytes begin; 0 if that is not known.
 */
static size_t input_packets(struct connection *connection, const unsigned char *bytes, size_t size,
                            size_t *needed)
{
	struct codec_frame frame;
	size_t used = 0;
	int status = 1;

	*needed = 0;
	while (status > 0 && connection_reads(connection) && connection->login == NULL) {
		status = input_frame(connection, bytes + used, size - used, &frame);
		if (status == 0 && connection->admitted)
			*needed = frame.size;
		if (status <= 0)
			break;
		status = connection->loop->calls->packet(connection, &frame);
		if (status == 0) {
			connection->held = frame.size;
			break;
		}
		used += frame.size;
		connection->loop->stats.packets_in++;
		if (!connection->closing)
			connection_pace(connection);
	}
	if (used > 0)
		connection->seen = uv_now(&connection->loop->uv); /* half a packet does not count */
	if (connection->acks != NULL)
		connection->loop->calls->acks(connection);
	if (status < 0)
		input_fail(connection, status);
	return used;
}

/* Handles the kept bytes, and then these. False: no memory. */
static bool input_handle(struct connection *connection, const unsigned char *bytes, size_t size)
{
	const bool kept = connection->input_size > 0;
	size_t needed, used;

	if (kept) {
		if (!input_append(connection, bytes, size))
			return false;
		bytes = connection->input;
		size = connection->input_size;
	}
	used = input_packets(connection, bytes, size, &needed);
	if (connection->closing)
		return true; /* the close frees the kept bytes */
	if (used > 0 || !kept)
		connection->begun = uv_now(&connection->loop->uv);
	if (used == size) {
		input_free(connection);
		return true;
	}
	if (kept) {
		memmove(connection->input, connection->input + used, size - used);
		connection->input_size = size - used;
		return input_reserve(connection, needed);
	}
	return input_reserve(connection, needed) &&
	       input_append(connection, bytes + used, size - used);
}

/*
 * Handles what the TLS stream decrypts. The stream has copied the bytes that were fed to it, so the
 * loop's buffer is free. When the connection is paused, the rest stays in the stream.
 */
static bool input_decrypt(struct connection *connection)
{
	unsigned char *const bytes = connection->loop->input;
	int size = 0;

	while (connection_reads(connection)) {
		size = tls_read(connection->tls, bytes, LOOP_INPUT_SIZE);
		if (size <= 0)
			break;
		if (!input_handle(connection, bytes, (size_t)size))
			return false;
	}
	if (size == -EPROTO)
		connection->why = connection->session == NULL ? WHY_TLS_HANDSHAKE : WHY_TLS_BROKEN;
	if (size < 0)
		connection_close(connection);
	return true;
}

static bool input_take(struct connection *connection, const unsigned char *bytes, size_t size)
{
	if (connection->tls == NULL)
		return input_handle(connection, bytes, size);
	if (!input_begun(connection))
		connection->begun = uv_now(&connection->loop->uv);
	return tls_feed(connection->tls, bytes, size) && input_decrypt(connection);
}

/* A stranger has sent so many bytes, which were handled as far as possible. */
static void input_strange(struct connection *connection, size_t size)
{
	connection->stranger.heard += size;
	if (!stranger_hold(connection, input_held(connection)))
		return;
	if (stranger_room(connection) == 0 && connection->login == NULL)
		input_fail(connection, -EMSGSIZE); /* with TLS: a handshake without end */
}

static void input_end(struct connection *connection, int status)
{
	/* Packets behind the CONNECT, such as a PUBLISH, are handled even if the client has
	 * gone. */
	if (status == UV_EOF && connection->login != NULL &&
	    connection->input_size > connection->held) {
		uv_read_stop((uv_stream_t *)&connection
		                     ->tcp); /* the connection ends when they are handled */
		return;
	}
	if (status != UV_EOF && status != UV_ECONNRESET)
		connection_break(connection, status);
	else
		connection_fail(connection, WHY_LOST);
	input_free(connection); /* its close comes later in this turn, behind many others' input */
}

static void input_read(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer)
{
	struct connection *connection = stream->data;
	bool room;

	if (size == 0 || connection->closing)
		return;
	if (size < 0) {
		input_end(connection, (int)size);
		return;
	}
	connection->loop->stats.bytes_in += (uint64_t)size;
	connection_dirty(connection);
	if (!input_take(connection, (const unsigned char *)buffer->base, (size_t)size))
		input_fail(connection, -ENOMEM);
	else if (!connection->closing && !connection->admitted)
		input_strange(connection, (size_t)size);
	room = connection->admitted || stranger_room(connection) > 0;
	if (!connection->closing && (size == LOOP_INPUT_SIZE || !room)) {
		connection->more = room;
		uv_read_stop(stream);
	}
}

int input_start(struct connection *connection)
{
	connection->loop->watches = true;
	return uv_read_start((uv_stream_t *)&connection->tcp, input_allocate, input_read);
}

/* Reads what the socket has, and handles it. False: it has nothing, or is not read. */
static bool input_receive(struct connection *connection)
{
	unsigned char *const bytes = connection->loop->input;
	size_t room = LOOP_INPUT_SIZE;
	uv_os_fd_t fd;
	ssize_t size;

	if (!connection->admitted && stranger_room(connection) < room)
		room = stranger_room(connection);
	if (!connection_reads(connection) || room == 0 ||
	    uv_fileno((uv_handle_t *)&connection->tcp, &fd) != 0)
		return false;
	size = recv(fd, bytes, room, MSG_DONTWAIT);
	if (size <= 0)
		return false;
	connection->loop->stats.bytes_in += (uint64_t)size;
	if (!input_take(connection, bytes, (size_t)size))
		input_fail(connection, -ENOMEM);
	else if (!connection->closing && !connection->admitted)
		input_strange(connection, (size_t)size);
	return true;
}

void input_last(struct connection *connection)
{
	(void)input_receive(connection);
}

/* Ends: so many bytes are a whole packet, or more than the client may send. */
void input_rest(struct connection *connection)
{
	const uint64_t now = uv_now(&connection->loop->uv);
	size_t left = limit_of(connection->loop->env, packet_max) / LOOP_INPUT_SIZE + 2;

	while (left-- > 0 && input_receive(connection) && connection->seen != now)
		;
}

void input_again(struct connection *connection)
{
	connection->begun = uv_now(&connection->loop->uv);
	if (connection->input_size > 0 && !input_handle(connection, NULL, 0))
		input_fail(connection, -ENOMEM);
	if (connection->tls != NULL && !connection->closing && !input_decrypt(connection))
		input_fail(connection, -ENOMEM);
}
