/* SPDX-License-Identifier: MIT */
/* The table of the peers that were found when the benchmark was built. */
#include "peer.h"

#include "../team.h"

#include <stdio.h>
#include <stdlib.h>

extern const struct peer peer_asio;
extern const struct peer peer_tbb;
extern const struct peer peer_tbb_lightweight;
extern const struct peer peer_glib;
extern const struct peer peer_urcu;

const struct peer *const peers[] = {
	&peer_asio, &peer_tbb, &peer_tbb_lightweight, &peer_glib, &peer_urcu, NULL,
};

void *peer_open_queue(const struct peer *peer)
{
	void *queue = aligned_alloc(64, (peer->queue_size + 63) / 64 * 64);

	if (!queue)
		abort();
	peer->start(team_cpus());
	peer->queue_init(queue);
	return queue;
}

void peer_close_queue(const struct peer *peer, void *queue)
{
	peer->queue_deinit(queue);
	peer->stop();
	free(queue);
}

const char *peers_missing(void)
{
	static char text[512];
	size_t length = 0;

	for (size_t i = 0; peers[i] && length < sizeof(text); i++)
		if (!peers[i]->present)
			length += (size_t)snprintf(text + length, sizeof(text) - length,
			                           "%s%s (%s)", length ? ", " : "", peers[i]->name,
			                           peers[i]->needs);
	return length ? text : NULL;
}
