/* SPDX-License-Identifier: MIT */
/*
 * The listening socket, on the main thread's loop. It accepts and gives the descriptors to the I/O
 * threads in turn. When there are no more descriptors it says so, once, rests for a moment and
 * tries again; meanwhile who comes waits in the socket's backlog.
 */
#ifndef BROKER_LISTENER_H
#define BROKER_LISTENER_H

#include <stdbool.h>

#include <uv.h>

struct broker;

struct listener {
	uv_poll_t poll;
	uv_timer_t rest;
	struct broker *broker;
	int fd;
	unsigned int turn;
	bool short_of; /* descriptors, since nobody waited in the backlog */
};

/* As many descriptors as the process may have. */
void listener_raise_limit(void);

/* Binds to the broker's host and port and prints "listening on HOST:PORT". Prints errors. */
int listener_start(struct listener *listener, uv_loop_t *uv, struct broker *broker);
void listener_stop(struct listener *listener);

#endif
