/* SPDX-License-Identifier: MIT */
/*
 * One hot resource: the peers' queues, with the same ring of tasks as baton's submitters, and the
 * same way to wait when it is full.
 */
#include "hot.h"

#include "peers/peer.h"

#include <stdlib.h>

struct slot {
	struct team_member *owner;
	struct machine_work work;
	uint64_t submitted;
	char node[PEER_NODE_MAX] __attribute__((aligned(16)));
} __attribute__((aligned(64)));

static void slot_run(void *argument)
{
	struct slot *slot = argument;

	hot_body(slot->owner->context, slot->work, slot->submitted);
	team_count(slot->owner, 1); /* from here on the slot may be used again */
}

static void submitter(struct team_member *member)
{
	struct hot *hot = member->context;
	const struct peer *peer = hot->peer;
	struct slot *slots = aligned_alloc(64, HOT_RING * sizeof(*slots));
	uint64_t sent = 0;
	uint64_t done = 0;
	unsigned turns = 0;

	if (!slots)
		abort();
	for (unsigned i = 0; i < HOT_RING; i++)
		slots[i] = (struct slot){.owner = member, .work = hot->work};
	while (!team_stopped(member)) {
		struct slot *slot = &slots[sent % HOT_RING];

		if (sent - done == HOT_RING) {
			done = __atomic_load_n(&member->done, __ATOMIC_ACQUIRE);
			if (sent - done == HOT_RING) {
				team_wait(&turns);
				continue;
			}
			turns = 0;
		}
		slot->submitted = hot_stamp(member, sent);
		if (peer->queue_submit_node)
			peer->queue_submit_node(hot->queue, slot->node, slot_run, slot);
		else
			peer->queue_submit(hot->queue, slot_run, slot);
		sent++;
	}
	for (turns = 0; __atomic_load_n(&member->done, __ATOMIC_ACQUIRE) != sent;)
		team_wait(&turns);
	free(slots);
}

void hot_peer_run(const void *setup, double *values)
{
	static struct hot hot;
	const struct hot_peer *mine = setup;
	const struct peer *peer = mine->peer;

	hot_begin(&hot, &mine->load);
	hot.peer = peer;
	hot.queue = peer_open_queue(peer);
	hot_run(&hot, &mine->load, submitter, values);
	peer_close_queue(peer, hot.queue);
}
