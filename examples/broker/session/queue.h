/* SPDX-License-Identifier: MIT */
/*
 * The messages that wait in a session: first those that are sent again (they have a packet id),
 * then those that wait for their turn. Only the latter are counted. A queue is touched under its
 * session's baton only. All queues together are limited, too (--max-queued-total): each queue
 * reserves its share in steps of QUEUE_STEP bytes, so that the sum, which all sessions share, is
 * not touched with each message.
 */
#ifndef BROKER_QUEUE_H
#define BROKER_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct env;
struct packet;

#define QUEUE_STEP ((size_t)4096)

struct queue {
	struct packet *first;
	struct packet **end;
	struct packet **again_end; /* behind the messages that are sent again */
	size_t count;              /* without retained messages, see delivery.c */
	size_t bytes;              /* memory of all that wait for their turn */
	size_t reserved;           /* of --max-queued-total; at least `bytes` */
	uint64_t looked;           /* when queue_expire() was called last: message_clock() */
};

void queue_init(struct queue *queue);

/* Adds the packet at the end. False: there is no room, and the caller keeps the packet. */
bool queue_add(struct queue *queue, struct env *env, struct packet *packet);

/*
 * Takes out those that have expired, of the messages that wait for their turn; a list. It is a pass
 * over the queue, so it finds nothing if the last one is less than QUEUE_LOOK_MS ago.
 */
#define QUEUE_LOOK_MS 100
struct packet *queue_expire(struct queue *queue, struct env *env);

/* Adds a packet that is sent again: behind earlier such packets, before all new packets. */
void queue_add_again(struct queue *queue, struct packet *packet);

/* Takes the first packet of a queue that is not empty. */
struct packet *queue_take(struct queue *queue, struct env *env);

/* clear_again: drops the messages that are sent again; clear: drops all. */
void queue_clear_again(struct queue *queue);
void queue_clear(struct queue *queue, struct env *env);

#endif
