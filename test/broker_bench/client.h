/* SPDX-License-Identifier: MIT */
/*
 * One connection, as far as it is bytes in and bytes out; sockets are network.h's. CONNECT,
 * SUBSCRIBE and their answers are handled here, the rest is the publisher's and the subscriber's.
 */
#ifndef LOAD_CLIENT_H
#define LOAD_CLIENT_H

#include <stdbool.h>
#include <stddef.h>

#include "buffer.h"

struct load;
struct publisher;
struct subscriber;

enum client_state {
	CLIENT_NEW,
	CLIENT_CONNECTING, /* until CONNACK */
	CLIENT_SUBSCRIBING,
	CLIENT_READY,
	CLIENT_CLOSED,
};

struct client {
	struct publisher *publisher; /* what it is; idle if neither */
	struct subscriber *subscriber;
	struct client *next_dirty;
	struct buffer out;
	unsigned char *partial; /* the beginning of a frame whose rest has not come */
	size_t partial_size;
	unsigned int index; /* among its kind */
	unsigned int answers_due;
	int fd;
	enum client_state state;
	bool dirty;
	bool waits_writable;
};

const char *client_kind(const struct client *client);

/* Puts the CONNECT into its output. */
void client_begin(struct load *load, struct client *client);

/* What came before, and must stand before what comes now: copied to `input`. */
size_t client_prefix(struct client *client, unsigned char *input);

/* Handles all whole frames; what is left over is kept. False: the run has failed. */
bool client_feed(struct load *load, struct client *client, const unsigned char *input, size_t size);

/* Room in its output, which will be sent; NULL: the run has failed. */
unsigned char *client_reserve(struct load *load, struct client *client, size_t size);

/* Acknowledges with a packet of this type. */
bool client_ack(struct load *load, struct client *client, unsigned char type,
                unsigned short packet_id);

void client_deinit(struct client *client);

#endif
