/* SPDX-License-Identifier: MIT */
/* What waits in a session; see queue.h. */
#include "session/queue.h"

#include "common/atomic.h"
#include "common/env.h"
#include "net/message.h"

void queue_init(struct queue *queue)
{
	*queue = (struct queue){.end = &queue->first, .again_end = &queue->first};
}

/* Relaxed: a sum, which orders nothing. */
static bool queue_reserve(struct queue *queue, struct env *env, size_t bytes)
{
	size_t more;

	if (bytes <= queue->reserved)
		return true;
	more = (bytes - queue->reserved + QUEUE_STEP - 1) / QUEUE_STEP * QUEUE_STEP;
	if (add_relaxed(&env->stats.queued_bytes, more) + more > limit_of(env, queued_total_max)) {
		sub_relaxed(&env->stats.queued_bytes, more);
		return false;
	}
	queue->reserved += more;
	return true;
}

/* Gives back steps. A queue that is not empty keeps one step more than it needs. */
static void queue_unreserve(struct queue *queue, struct env *env)
{
	const size_t needed = queue->bytes > 0 ? queue->bytes + QUEUE_STEP : 0;
	const size_t less =
		needed < queue->reserved ? (queue->reserved - needed) / QUEUE_STEP * QUEUE_STEP : 0;

	if (less == 0)
		return;
	queue->reserved -= less;
	sub_relaxed(&env->stats.queued_bytes, less);
}

bool queue_add(struct queue *queue, struct env *env, struct packet *packet)
{
	const size_t bytes = queue->bytes + packet_memory(packet);

	if ((queue->count >= limit_of(env, queued_max) && !packet->retained) ||
	    bytes > limit_of(env, queued_bytes_max) || !queue_reserve(queue, env, bytes))
		return false;
	packet_end_hop(packet);
	packet->next = NULL;
	*queue->end = packet;
	queue->end = &packet->next;
	queue->count += !packet->retained;
	queue->bytes = bytes;
	return true;
}

struct packet *queue_expire(struct queue *queue, struct env *env)
{
	const uint64_t now = message_clock();
	struct packet *expired = NULL, **link = queue->again_end, *packet;

	if (now - queue->looked < QUEUE_LOOK_MS)
		return NULL;
	queue->looked = now;
	while ((packet = *link) != NULL) {
		if (!message_expired(packet->message)) {
			link = &packet->next;
			continue;
		}
		*link = packet->next;
		queue->count -= !packet->retained;
		queue->bytes -= packet_memory(packet);
		packet->next = expired;
		expired = packet;
	}
	queue->end = link;
	queue_unreserve(queue, env);
	return expired;
}

void queue_add_again(struct queue *queue, struct packet *packet)
{
	packet->next = *queue->again_end;
	if (packet->next == NULL)
		queue->end = &packet->next;
	*queue->again_end = packet;
	queue->again_end = &packet->next;
}

/* Is the first packet one that is sent again? */
static bool queue_again(const struct queue *queue)
{
	return queue->again_end != &queue->first;
}

/* Takes the first packet out of the list. */
static struct packet *queue_unlink(struct queue *queue)
{
	struct packet *packet = queue->first;

	queue->first = packet->next;
	if (queue->end == &packet->next)
		queue->end = &queue->first;
	if (queue->again_end == &packet->next)
		queue->again_end = &queue->first;
	return packet;
}

struct packet *queue_take(struct queue *queue, struct env *env)
{
	const bool again = queue_again(queue);
	struct packet *packet = queue_unlink(queue);

	if (again)
		return packet;
	queue->count -= !packet->retained;
	queue->bytes -= packet_memory(packet);
	queue_unreserve(queue, env);
	return packet;
}

void queue_clear_again(struct queue *queue)
{
	while (queue_again(queue))
		packet_destroy(queue_unlink(queue));
}

void queue_clear(struct queue *queue, struct env *env)
{
	while (queue->first != NULL)
		packet_destroy(queue_take(queue, env));
}
