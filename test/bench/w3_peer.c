/* SPDX-License-Identifier: MIT */
/*
 * W3: a peer's queue per resource, the state right behind it; the same ring of slots as baton's
 * submitters have. The peer has been started.
 */
#include "w3_many.h"

#include "peers/peer.h"

#include <semaphore.h>
#include <stdlib.h>
#include <string.h>

struct slot {
	uint64_t *state;
	uint32_t under_way;
	char node[PEER_NODE_MAX] __attribute__((aligned(16)));
} __attribute__((aligned(64)));

static size_t bare_size(const struct w3_set *set)
{
	return set->peer->queue_size;
}

static size_t round_up(size_t bytes, size_t to)
{
	return (bytes + to - 1) / to * to;
}

static size_t state_at(const struct w3_set *set)
{
	return round_up(set->peer->queue_size, sizeof(uint64_t));
}

static size_t size(const struct w3_set *set)
{
	return round_up(state_at(set) + W3_STATE * sizeof(uint64_t), 64);
}

static void *queue_of(const struct w3_set *set, unsigned index)
{
	return (char *)set->memory + index * size(set);
}

static uint64_t *state(const struct w3_set *set, unsigned index)
{
	return (uint64_t *)(void *)((char *)queue_of(set, index) + state_at(set));
}

static void make(struct w3_set *set, unsigned first, unsigned end)
{
	for (unsigned i = first; i < end; i++) {
		set->peer->queue_init(queue_of(set, i));
		memset(state(set, i), 0, W3_STATE * sizeof(uint64_t));
	}
}

static void end(struct w3_set *set, unsigned made)
{
	for (unsigned i = 0; i < made; i++)
		set->peer->queue_deinit(queue_of(set, i));
}

/* Queues are aligned to 64: what that adds is not counted. */
static void make_bare(struct w3_set *set, void *array, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		set->peer->queue_init((char *)array + i * round_up(bare_size(set), 64));
}

static void end_bare(struct w3_set *set, void *array, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		set->peer->queue_deinit((char *)array + i * round_up(bare_size(set), 64));
}

static void slot_run(void *argument)
{
	struct slot *slot = argument;

	slot->state[0]++;
	__atomic_store_n(&slot->under_way, 0, __ATOMIC_RELEASE);
}

void w3_peer_submit(struct team_member *member)
{
	struct w3_load *load = member->context;
	const struct w3_set *set = load->set;
	const struct peer *peer = set->peer;
	const uint32_t *keys = load->keys[member->index];
	struct slot *slots = aligned_alloc(64, W3_RING * sizeof(*slots));
	char *memory = set->memory;
	size_t stride = size(set);
	size_t at = state_at(set);
	unsigned next = 0;

	if (!slots)
		abort();
	memset(slots, 0, W3_RING * sizeof(*slots));
	for (unsigned i = 0; !team_stopped(member); i++) {
		char *queue = memory + keys[i % W3_KEYS] * stride;
		struct slot *slot;

		next = w3_next_free(&slots[0].under_way, sizeof(*slots), next);
		slot = &slots[next];
		slot->state = (uint64_t *)(void *)(queue + at);
		slot->under_way = 1;
		if (peer->queue_submit_node)
			peer->queue_submit_node(queue, slot->node, slot_run, slot);
		else
			peer->queue_submit(queue, slot_run, slot);
		next = (next + 1) % W3_RING;
		team_count(member, 1);
	}
	w3_await_all(&slots[0].under_way, sizeof(*slots));
	free(slots);
}

struct chain {
	struct w3_set *set;
	unsigned index;
	unsigned end;
	sem_t over;
};

static void hop(void *argument)
{
	struct chain *chain = argument;

	state(chain->set, chain->index)[0]++;
	if (++chain->index == chain->end)
		(void)sem_post(&chain->over);
	else
		chain->set->peer->queue_submit(queue_of(chain->set, chain->index), hop, chain);
}

static void run_chain(struct w3_set *set, unsigned hops)
{
	struct chain chain = {set, 0, hops, {{0}}};

	(void)sem_init(&chain.over, 0, 0);
	set->peer->queue_submit(queue_of(set, 0), hop, &chain);
	while (sem_wait(&chain.over))
		;
	(void)sem_destroy(&chain.over);
}

const struct w3_kind w3_peer = {
	.bare_size = bare_size,
	.size = size,
	.make = make,
	.end = end,
	.make_bare = make_bare,
	.end_bare = end_bare,
	.state = state,
	.chain = run_chain,
};
