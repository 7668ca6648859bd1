/* SPDX-License-Identifier: MIT */
/*
 * What waits in a session: first what is to be said again (it has a packet id), then what waits for
 * its turn, which alone is counted. Touched under the session's baton only; but all queues together
 * are limited, too (--max-queued-total): each takes its share in steps of QUEUE_STEP bytes, so that
 * the sum, which all sessions share, is not touched with each message.
 */
#ifndef BROKER_QUEUE_H
#define BROKER_QUEUE_H

#include <stdbool.h>
#include <stddef.h>

struct env;
struct packet;

#define QUEUE_STEP ((size_t)4096)

struct queue {
	struct packet *first;
	struct packet **end;
	struct packet **again_end; /* behind what is to be said again */
	size_t count;              /* but for what is retained, see delivery.c */
	size_t bytes;              /* of memory; of all that waits for its turn */
	size_t reserved;           /* of the bytes that all queues may have; not less than that */
};

void queue_init(struct queue *queue);

/* Behind all others. False: there is no room, and the packet is the caller's. */
bool queue_add(struct queue *queue, struct env *env, struct packet *packet);

/* Behind the others that are to be said again. */
void queue_add_again(struct queue *queue, struct packet *packet);

/* The first one; there is one. */
struct packet *queue_take(struct queue *queue, struct env *env);

/* Drops what is to be said again; and all. */
void queue_clear_again(struct queue *queue);
void queue_clear(struct queue *queue, struct env *env);

#endif
