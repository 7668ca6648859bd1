/* SPDX-License-Identifier: MIT */
/*
 * The listening sockets, on the main thread's loop: one for each address of the host, and for plain
 * connections and TLS. A listener accepts connections and gives the descriptors to the I/O threads
 * in turn. A listener that gets no more descriptors logs that once, rests for a moment and tries
 * again; meanwhile clients wait in the socket's backlog.
 */
#ifndef BROKER_LISTENER_H
#define BROKER_LISTENER_H

#include <stdbool.h>

#include <uv.h>

#define LISTENERS_MAX 32

struct broker_options;
struct listeners;
struct net;

struct listener {
	uv_poll_t poll;
	uv_timer_t rest;
	struct listeners *all;
	int fd;
	bool tls;
	bool short_of; /* has had no descriptor for a client that still waits in the backlog */
};

struct listeners {
	struct net *net;
	struct listener each[LISTENERS_MAX];
	unsigned int count;
	unsigned int turn; /* the loop that gets the next connection */
	bool stopped;
};

/* Raises the limit of descriptors to the highest that the process may set. */
void listener_raise_limit(void);

/*
 * Binds to the broker's host and ports and prints a line for each socket. Prints errors. The caller
 * calls stop after an error, too.
 */
int listeners_start(struct listeners *listeners, uv_loop_t *uv, struct net *net);

/* Prints which listeners would not start since everybody could reach them. 0: none. */
int listeners_check(const struct broker_options *options);

/* Once or more often. */
void listeners_stop(struct listeners *listeners);

#endif
