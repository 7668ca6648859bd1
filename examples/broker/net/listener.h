/* SPDX-License-Identifier: MIT */
/*
 * The listening sockets, on the main thread's loop: one for each address of the host, and for plain
 * connections and TLS. They accept, and give the descriptors to the I/O threads in turn. When there
 * are no more descriptors one says so, once, rests for a moment and tries again; meanwhile who
 * comes waits in the socket's backlog.
 */
#ifndef BROKER_LISTENER_H
#define BROKER_LISTENER_H

#include <stdbool.h>

#include <uv.h>

#define LISTENERS_MAX 16

struct listeners;
struct net;

struct listener {
	uv_poll_t poll;
	uv_timer_t rest;
	struct listeners *all;
	int fd;
	bool tls;
	bool short_of; /* descriptors, since nobody waited in the backlog */
};

struct listeners {
	struct net *net;
	struct listener each[LISTENERS_MAX];
	unsigned int count;
	unsigned int turn; /* the loop that gets the next one */
	bool stopped;
};

/* As many descriptors as the process may have. */
void listener_raise_limit(void);

/*
 * Binds to the broker's host and ports and prints a line for each socket. Prints errors, and after
 * one stop is still to be called.
 */
int listeners_start(struct listeners *listeners, uv_loop_t *uv, struct net *net);

/* Once or more often. */
void listeners_stop(struct listeners *listeners);

#endif
