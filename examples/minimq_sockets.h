/* SPDX-License-Identifier: MIT */
/*
 * The sockets of minimq, over libuv: threads with a uv loop each, bytes in and out. A connection is
 * a resource; its tasks run on the thread of its loop alone (BATON_CAPTURE_NONE, the loop's
 * executor). The functions below are for that thread, if they do not say another one.
 */
#ifndef MINIMQ_SOCKETS_H
#define MINIMQ_SOCKETS_H

#include "check.h"

#include <baton.h>
#include <baton/timer.h>

#include <stdbool.h>
#include <stddef.h>
#include <uv.h>

#define PACKET_MAX (128 * 1024)
#define INPUT_MAX (2 * PACKET_MAX) /* bytes that have come and are not taken */
#define OUTPUT_MAX (1024 * 1024)   /* bytes that a socket has not taken: with more it is full */
#define CONNECT_WITHIN (10 * BATON_SECOND)

struct loop;

struct connection {
	struct baton_resource resource;
	struct baton_task end;
	struct baton_timer silence;
	uint64_t silence_max;
	struct loop *loop;
	uv_tcp_t socket;
	bool ended; /* nothing more will come; what has come is still to be handled */
	bool closing, closed;
	size_t begin, size; /* of `input`: what was taken, what is there */
	unsigned char input[INPUT_MAX];
};

/* Bytes for a connection. */
struct output {
	struct connection *connection;
	uv_write_t write;
	bool optional; /* dropped where the socket is full */
	size_t size;
	unsigned char bytes[];
};

/*
 * Serves connections to the port of 127.0.0.1, prints the port, and returns when SIGTERM has come
 * and all connections have ended. `size`: of the struct that begins with a connection; the rest of
 * it is zero at first.
 */
void sockets_run(unsigned short port, size_t size);

/* Returns memory that is set to zero. Ends the program if no memory is left. Any thread. */
void *allocate(size_t size);

/* send and write take the output. Any thread sends; the write is a task of the connection. */
struct output *output_create(size_t room);
struct output *output_of(const void *bytes, size_t size);
void output_send(struct output *output, struct connection *connection);
void output_write(struct output *output, struct connection *connection);

/* take: so many bytes of the input are handled. A connection is closed when the time of silence has
 * passed since the last take. 0: there is no such time. At first it is CONNECT_WITHIN. */
void connection_take(struct connection *connection, size_t size);
void connection_allow_silence(struct connection *connection, uint64_t ns);

bool connection_is_full(const struct connection *connection);

/* It can be a task of the connection. */
void *connection_close(void *connection);

/* The last call: frees the connection when what was sent to it has come. Any thread. */
void connection_end(struct connection *connection);

/* ---- Defined by minimq.c ---- */

/* Bytes have come or have ended, the socket is not full any more, or it is closed. */
void client_go_on(struct connection *connection);

#endif
