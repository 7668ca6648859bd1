/* SPDX-License-Identifier: MIT */
/*
 * A connection without a socket: the broker's input.c is here as it is; libuv, which brings the
 * bytes, and what handles the packets, are replaced by the functions below. Each read gets a buffer
 * of its own, of exactly its size, which is gone when the read is over.
 */
#include <errno.h>

#include "common/env.h"
#include "decoder.h"
#include "fuzz.h"
#include "net/connection.h"
#include "net/loop.h"
#include "net/net.h"
#include "net/tls.h"
#include "session/session.h"

static struct env env;
static struct loop loop;
static uv_alloc_cb allocate;
static uv_read_cb deliver;
static struct trace trace;
static unsigned int pauses;
static unsigned int login_reads; /* until the log-in under way is over */
static size_t piece_max;
static bool reading;

/* ---- What input.c calls ---- */

int uv_read_start(uv_stream_t *stream, uv_alloc_cb allocate_cb, uv_read_cb read_cb)
{
	FUZZ_CHECK(!reading);
	allocate = allocate_cb;
	deliver = read_cb;
	reading = true;
	return 0;
}

int uv_fileno(const uv_handle_t *handle, uv_os_fd_t *fd)
{
	return UV_EBADF; /* nobody is kicked out here */
}

int uv_read_stop(uv_stream_t *stream)
{
	const struct connection *connection = stream->data;

	/* No input is so big that a read fills the loop's buffer: this is for strangers alone. */
	FUZZ_CHECK(!connection->admitted && stranger_room(connection) == 0);
	reading = false;
	return 0;
}

uint64_t uv_now(const uv_loop_t *uv)
{
	return 0;
}

uv_buf_t uv_buf_init(char *base, unsigned int size)
{
	uv_buf_t buffer;

	buffer.base = base;
	buffer.len = size;
	return buffer;
}

void connection_close(struct connection *connection)
{
	connection->closing = true;
}

void connection_fail(struct connection *connection, enum why why)
{
	abort();
}

void connection_break(struct connection *connection, int error)
{
	abort();
}

void connection_dirty(struct connection *connection)
{
	connection->dirty = true;
}

/* Nothing is charged: there are no answers. */
void connection_pace(struct connection *connection)
{
	FUZZ_CHECK(!connection->closing);
}

static void login_end(struct connection *connection)
{
	connection->login = NULL;
	connection->admitted = true;
	connection->paused = true; /* until input_again() */
	if (!reading)
		FUZZ_CHECK(input_start(connection) == 0);
}

bool stranger_hold(struct connection *connection, size_t bytes)
{
	FUZZ_CHECK(!connection->admitted && bytes == connection->input_capacity);
	FUZZ_CHECK(connection->stranger.heard <= env.options.connect_max);
	return true;
}

size_t stranger_room(const struct connection *connection)
{
	return env.options.connect_max - connection->stranger.heard;
}

bool tls_begun(const struct tls *tls)
{
	return false;
}

bool tls_feed(struct tls *tls, const void *bytes, size_t size)
{
	abort();
}

int tls_read(struct tls *tls, void *bytes, size_t size)
{
	return tls_feed(tls, bytes, size);
}

const char *uv_strerror(int error)
{
	abort(); /* no read fails */
}

static void take_acks(struct connection *connection)
{
	FUZZ_CHECK(connection->acks->count > 0 && connection->acks->count <= SESSION_ACKS_MAX);
	free(connection->acks);
	connection->acks = NULL;
}

/* As the broker's protocol gathers them. */
static void gather_ack(struct connection *connection)
{
	if (connection->acks == NULL) {
		connection->acks = calloc(1, sizeof(*connection->acks));
		FUZZ_CHECK(connection->acks != NULL);
	}
	if (++connection->acks->count == SESSION_ACKS_MAX)
		take_acks(connection);
}

static bool is_ack(uint8_t type)
{
	return type == CODEC_PUBACK || type == CODEC_PUBREC || type == CODEC_PUBCOMP;
}

/* Passwords and TLS are not fuzzed here: every client is let in, after some time. */
static int begin_login(struct connection *connection, const struct codec_frame *frame)
{
	FUZZ_CHECK(connection->login == NULL);
	FUZZ_CHECK(frame->type == CODEC_CONNECT);
	connection->login = (struct login *)&login_reads;
	return 0;
}

static int take_packet(struct connection *connection, const struct codec_frame *frame)
{
	const uint8_t first[2] = {frame->type, frame->flags};
	int status;

	if (!connection->admitted)
		return begin_login(connection, frame);
	status = decoder_handle(frame);
	FUZZ_CHECK(!connection->closing && !connection->paused);
	FUZZ_CHECK(frame->size <= env.options.limits.packet_max);
	trace.hash = hash_bytes(trace.hash, first, sizeof(first));
	trace.hash = hash_bytes(trace.hash, &frame->size, sizeof(frame->size));
	trace.hash = hash_bytes(trace.hash, frame->body, frame->body_size);
	trace.hash = hash_bytes(trace.hash, &status, sizeof(status));
	trace.used += frame->size;
	if (status > 0 && is_ack(frame->type))
		gather_ack(connection);
	if (pauses >> (trace.packets++ % 6) & 1)
		connection->paused = true;
	return status;
}

static const struct net_calls calls = {.packet = take_packet, .acks = take_acks};

/* ---- What brings the bytes ---- */

/* The size of the next read. */
static size_t piece(const struct delivery *delivery, size_t left, uint64_t *random)
{
	const unsigned int size_max = 1 + delivery->cuts / 3;
	size_t size = left;

	if (delivery->cuts % 3 == 1)
		size = size_max;
	else if (delivery->cuts % 3 == 2)
		size = 1 + fuzz_random(random, size_max);
	else if (delivery->cuts > 0)
		size = fuzz_random(random, 2) == 0 ? 1 : 1 + fuzz_random(random, 4 * size_max);
	return size < left ? size : left;
}

/* A pause ends: the bytes kept behind the pause are handled, which may begin the next pause. */
static void end_pauses(struct connection *connection)
{
	while (connection->paused && !connection->closing) {
		connection->paused = false;
		input_again(connection);
	}
}

/* How many bytes it reads: no more than it has room for. */
static size_t read_piece(struct connection *connection, const unsigned char *bytes, size_t size)
{
	const size_t heard = connection->stranger.heard;
	uv_buf_t buffer = {0};
	struct fuzz_copy copy;

	FUZZ_CHECK(reading);
	allocate((uv_handle_t *)&connection->tcp, size, &buffer);
	FUZZ_CHECK(buffer.len > 0 && (!connection->admitted || size < buffer.len));
	if (size > buffer.len)
		size = buffer.len;
	copy = fuzz_copy(bytes, size);
	buffer.base = (char *)copy.bytes;
	deliver((uv_stream_t *)&connection->tcp, (ssize_t)size, &buffer);
	fuzz_uncopy(copy);
	if (!connection->admitted && !connection->closing) {
		FUZZ_CHECK(connection->stranger.heard == heard + size);
		FUZZ_CHECK(reading == (stranger_room(connection) > 0) && !connection->more);
	}
	if (connection->login != NULL && (!reading || login_reads-- == 0))
		login_end(connection);
	end_pauses(connection);
	FUZZ_CHECK(connection->acks == NULL);
	FUZZ_CHECK(connection->input_size <= connection->input_capacity);
	FUZZ_CHECK(connection->input_capacity <= env.options.limits.packet_max + piece_max ||
	           connection->input_capacity <= 256);
	return size;
}

struct trace connection_read(const struct delivery *delivery)
{
	struct connection *connection = calloc(1, sizeof(*connection));
	uint64_t random = delivery->cuts + 1;

	FUZZ_CHECK(connection != NULL);
	trace = (struct trace){0};
	decoder_begin();
	pauses = delivery->pauses;
	piece_max = delivery->cuts == 0 ? delivery->size : 8 * (1 + delivery->cuts / 3);
	env.options.limits.packet_max = delivery->size_max;
	env.options.connect_max = delivery->size_max;
	login_reads = delivery->login;
	reading = false;
	loop.stats = (struct loop_stats){0};
	loop.env = &env;
	loop.calls = &calls;
	connection->loop = &loop;
	connection->admitted = delivery->login == 0;
	connection->tcp.data = connection;
	FUZZ_CHECK(input_start(connection) == 0);
	/* What comes after the end of a connection is to be ignored. */
	for (size_t at = 0, size; at < delivery->size; at += size) {
		size = piece(delivery, delivery->size - at, &random);
		size = read_piece(connection, delivery->bytes + at, size);
	}
	if (connection->login != NULL) {
		login_end(connection);
		end_pauses(connection);
	}
	trace.closed = connection->closing;
	trace.malformed = loop.stats.malformed > 0;
	FUZZ_CHECK(loop.stats.malformed <= (trace.closed ? 1 : 0));
	if (!trace.closed) {
		trace.kept = connection->input_size;
		trace.kept_hash = hash_bytes(0, connection->input, connection->input_size);
	}
	input_free(connection);
	free(connection);
	return trace;
}
