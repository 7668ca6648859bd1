/* SPDX-License-Identifier: MIT */
/*
 * W3: baton's resources, each in one cache line with its state.
 */
#include "w3_many.h"

#include "hot.h"
#include "locks.h"

#include <semaphore.h>
#include <stdlib.h>
#include <string.h>

#include <baton.h>
#include <baton/inline.h>

struct topic {
	struct baton_resource resource;
	uint64_t state[W3_STATE];
} __attribute__((aligned(64)));

_Static_assert(sizeof(struct topic) == 64, "resource and state in one cache line");

struct slot {
	struct baton_task task;
	struct topic *topic;
	uint32_t under_way;
} __attribute__((aligned(64)));

static size_t bare_size(const struct w3_set *set)
{
	(void)set;
	return sizeof(struct baton_resource);
}

static size_t size(const struct w3_set *set)
{
	(void)set;
	return sizeof(struct topic);
}

static struct baton_executor *small_stack_executor(void)
{
	static struct baton_pool *pool;
	struct baton_pool_options options = BATON_POOL_OPTIONS_INIT;

	options.stack_size = W3_SMALL_STACK;
	options.workers = team_cpus();
	if (!pool && baton_pool_create(&options, &pool))
		abort();
	return baton_pool_executor(pool);
}

static const struct baton_resource_config *config_of(const struct w3_set *set)
{
	static struct baton_resource_config configs[] = {
		BATON_RESOURCE_CONFIG_INIT,
		BATON_RESOURCE_CONFIG_INIT,
	};
	struct baton_resource_config *config = &configs[set->small_stack];

	if (!config->executor)
		config->executor = set->small_stack ? small_stack_executor() : hot_executor();
	return config;
}

static void make(struct w3_set *set, unsigned first, unsigned end)
{
	const struct baton_resource_config *config = config_of(set);
	struct topic *topics = set->memory;

	for (unsigned i = first; i < end; i++) {
		memset(&topics[i], 0, sizeof(topics[i]));
		baton_resource_init(&topics[i].resource, config);
	}
}

static void make_bare(struct w3_set *set, void *array, unsigned count)
{
	struct baton_resource *resources = array;

	for (unsigned i = 0; i < count; i++)
		baton_resource_init(&resources[i], config_of(set));
}

/* A job may still be on its way to release a resource whose tasks are done. */
static void settle(struct w3_set *set)
{
	struct topic *topics = set->memory;

	for (unsigned i = 0; i < set->count; i++)
		if (baton_resource_await(&topics[i].resource))
			abort();
}

/* Only a closed resource's memory is ours after the await. */
static void end(struct w3_set *set, unsigned made)
{
	struct topic *topics = set->memory;

	for (unsigned i = 0; i < made; i++)
		if (baton_resource_close(&topics[i].resource) ||
		    baton_resource_await(&topics[i].resource))
			abort();
}

static uint64_t *state(const struct w3_set *set, unsigned index)
{
	return ((struct topic *)set->memory)[index].state;
}

static int slot_run(struct baton_task *task)
{
	struct slot *slot = baton_container_of(task, struct slot, task);

	slot->topic->state[0]++;
	__atomic_store_n(&slot->under_way, 0, __ATOMIC_RELEASE);
	return 0;
}

static void *slot_posted(void *argument)
{
	struct slot *slot = argument;

	slot->topic->state[0]++;
	__atomic_store_n(&slot->under_way, 0, __ATOMIC_RELEASE);
	return NULL;
}

static void *count(void *argument)
{
	struct topic *topic = argument;

	topic->state[0]++;
	return NULL;
}

enum way { SUBMIT, SUBMIT_INLINE, POST };

static inline __attribute__((always_inline)) int publish(struct topic *topic, struct slot *slot,
                                                         enum way way)
{
	if (way == SUBMIT_INLINE)
		return baton_submit_inline(&topic->resource, &slot->task);
	return way == SUBMIT ? (baton_submit)(&topic->resource, &slot->task)
	                     : baton_post(&topic->resource, slot_posted, slot);
}

static inline __attribute__((always_inline)) void submitter(struct team_member *member,
                                                            enum way way)
{
	struct w3_load *load = member->context;
	struct topic *topics = load->set->memory;
	const uint32_t *keys = load->keys[member->index];
	struct slot *slots = aligned_alloc(64, W3_RING * sizeof(*slots));
	unsigned next = 0;

	if (!slots)
		abort();
	for (unsigned i = 0; i < W3_RING; i++)
		slots[i] = (struct slot){.task = BATON_TASK_INIT(slot_run, NULL)};
	for (unsigned i = 0; !team_stopped(member); i++) {
		struct topic *topic = &topics[keys[i % W3_KEYS]];
		struct slot *slot;

		next = w3_next_free(&slots[0].under_way, sizeof(*slots), next);
		slot = &slots[next];
		slot->topic = topic;
		slot->under_way = 1;
		if (publish(topic, slot, way))
			abort();
		team_count(member, 1);
	}
	w3_await_all(&slots[0].under_way, sizeof(*slots));
	free(slots);
}

void w3_baton_submit(struct team_member *member)
{
	submitter(member, SUBMIT);
}

void w3_baton_submit_inline(struct team_member *member)
{
	submitter(member, SUBMIT_INLINE);
}

void w3_baton_post(struct team_member *member)
{
	submitter(member, POST);
}

void w3_baton_wait(struct team_member *member)
{
	struct w3_load *load = member->context;
	struct topic *topics = load->set->memory;
	const uint32_t *keys = load->keys[member->index];
	struct baton_future future;
	struct slot slot = {.task = BATON_TASK_INIT(slot_run, &future)};

	for (unsigned i = 0; !team_stopped(member); i++) {
		future = (struct baton_future)BATON_FUTURE_INIT;
		slot.topic = &topics[keys[i % W3_KEYS]];
		if ((baton_submit)(&slot.topic->resource, &slot.task) || baton_future_wait(&future))
			abort();
		team_count(member, 1);
	}
}

static inline __attribute__((always_inline)) void caller(struct team_member *member, bool inlined)
{
	struct w3_load *load = member->context;
	struct topic *topics = load->set->memory;
	const uint32_t *keys = load->keys[member->index];

	for (unsigned i = 0; !team_stopped(member); i++) {
		struct topic *topic = &topics[keys[i % W3_KEYS]];

		if (inlined ? baton_call_inline(&topic->resource, count, topic, NULL)
		            : (baton_call)(&topic->resource, count, topic, NULL))
			abort();
		team_count(member, 1);
	}
}

/* The floor, in the same memory. */
void w3_two_cases(struct team_member *member)
{
	struct w3_load *load = member->context;
	struct topic *topics = load->set->memory;
	const uint32_t *keys = load->keys[member->index];

	for (unsigned i = 0; !team_stopped(member); i++) {
		struct topic *topic = &topics[keys[i % W3_KEYS]];

		two_cases_acquire(&topic->resource._word);
		topic->state[0]++;
		two_cases_release(&topic->resource._word);
		team_count(member, 1);
	}
}

void w3_baton_call(struct team_member *member)
{
	caller(member, false);
}

void w3_baton_call_inline(struct team_member *member)
{
	caller(member, true);
}

/* ---- The chain: one task, which submits itself to the next resource ---- */

struct chain {
	struct baton_task task;
	struct topic *topic;
	struct topic *end;
	sem_t over;
};

static int hop(struct baton_task *task)
{
	struct chain *chain = baton_container_of(task, struct chain, task);

	chain->topic->state[0]++;
	if (++chain->topic == chain->end)
		(void)sem_post(&chain->over);
	else
		BATON_IGNORE((baton_submit)(&chain->topic->resource, &chain->task));
	return 0;
}

static void run_chain(struct w3_set *set, unsigned hops)
{
	struct topic *topics = set->memory;
	struct chain chain = {BATON_TASK_INIT(hop, NULL), topics, topics + hops, {{0}}};

	(void)sem_init(&chain.over, 0, 0);
	BATON_IGNORE(baton_submit(&topics[0].resource, &chain.task));
	while (sem_wait(&chain.over))
		;
	(void)sem_destroy(&chain.over);
}

const struct w3_kind w3_baton = {
	.bare_size = bare_size,
	.size = size,
	.make = make,
	.make_bare = make_bare,
	.settle = settle,
	.end = end,
	.state = state,
	.chain = run_chain,
};
