/* SPDX-License-Identifier: MIT */
/*
 * The I/O threads together, and what the layers above do for a connection. This folder moves bytes,
 * packets and messages; what a packet means is known above.
 */
#ifndef BROKER_NET_H
#define BROKER_NET_H

#include "mqtt/names.h"

struct codec_frame;
struct connection;
struct env;
struct loop;
struct packet;

/* All functions are called on the connection's loop thread. */
struct net_calls {
	/*
	 * Handles one packet. 1: go on; 0: the packet, the connection's first, stays in its input
	 * and comes again when connection_read_on() has been called; a negative errno: close the
	 * connection, which has its answer.
	 */
	int (*packet)(struct connection *connection, const struct codec_frame *frame);

	/* Takes `acks`, which are not NULL: all packets that have been read are handled. */
	void (*acks)(struct connection *connection);

	/* All packets before the marker are written. Takes the marker. */
	void (*drained)(struct packet *marker);

	/* The client's id; without bytes before its CONNECT is accepted. */
	struct slice (*client_id)(const struct connection *connection);

	/* The connection begins to close. */
	void (*closing)(struct connection *connection);

	/* The access rules have changed. */
	void (*ruled)(struct connection *connection);

	/* The socket is closed: gives back what the layers above have put into the connection. */
	void (*closed)(struct connection *connection);
};

struct net {
	struct env *env;
	const struct net_calls *calls;
	struct loop *loops; /* as many as --threads */
	unsigned int loops_running;
	unsigned int loops_quiet; /* atomic, see loop_stop() */
};

/* Starts the loops. Errors, which are logged: a negative errno; `loops_running` of them run. */
int net_init(struct net *net, struct env *env, const struct net_calls *calls);

/* Stops all loops and waits until their threads have ended. */
void net_stop(struct net *net);

/* Frees the loops. No thread is left that might submit to them. */
void net_deinit(struct net *net);

#endif
