/* SPDX-License-Identifier: MIT */
/*
 * W6: a strand, a serial node per topic: the peers that have queues.
 */
#include "w6_ring.h"

#include <stdlib.h>

static void peer_run(void *argument)
{
	apply_slot(argument);
}

static void peer_publish(struct publisher *publisher, struct topic *topic, uint32_t sleep_us,
                         uint64_t sent)
{
	struct slot *slot = fill_slot(publisher, topic, sleep_us, sent);

	publisher->broker->peer->queue_submit(topic->queue, peer_run, slot);
}

static void peer_loop(struct team_member *member)
{
	loop(member, peer_publish);
}

static void peer_open(struct broker *broker)
{
	const struct peer *peer = broker->peer;
	size_t size = (peer->queue_size + 63) / 64 * 64;
	char *queues = aligned_alloc(64, (BROKER_TOPICS + BROKER_SLOW) * size);

	if (!queues)
		abort();
	peer->start(broker->workers ? broker->workers : team_cpus());
	for (unsigned i = 0; i < BROKER_TOPICS + BROKER_SLOW; i++) {
		broker->topics[i].queue = queues + i * size;
		peer->queue_init(broker->topics[i].queue);
	}
}

static void peer_close(struct broker *broker)
{
	const struct peer *peer = broker->peer;

	for (unsigned i = 0; i < BROKER_TOPICS + BROKER_SLOW; i++)
		peer->queue_deinit(broker->topics[i].queue);
	peer->stop();
	free(broker->topics[0].queue);
}

const struct broker_way broker_peer = {"", peer_publish, peer_loop, peer_open, peer_close};
