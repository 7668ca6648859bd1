/* SPDX-License-Identifier: MIT */
/*
 * W3: a lock per resource, mutex or ticket, with the whole state in the lock's own cache line.
 */
#include "w3_many.h"

#include "locks.h"

#include <string.h>

struct mutex_topic {
	pthread_mutex_t mutex;
	uint64_t state[W3_STATE];
} __attribute__((aligned(64)));

struct ticket_topic {
	ck_spinlock_ticket_t ticket;
	uint64_t state[W3_STATE];
} __attribute__((aligned(64)));

_Static_assert(sizeof(struct mutex_topic) == 64, "lock and state in one cache line");

/* ---- Mutex ---- */

static size_t mutex_bare_size(const struct w3_set *set)
{
	return sizeof(pthread_mutex_t);
}

static size_t mutex_size(const struct w3_set *set)
{
	return sizeof(struct mutex_topic);
}

static void mutex_make(struct w3_set *set, unsigned first, unsigned end)
{
	struct mutex_topic *topics = set->memory;

	for (unsigned i = first; i < end; i++) {
		memset(&topics[i], 0, sizeof(topics[i]));
		(void)pthread_mutex_init(&topics[i].mutex, NULL);
	}
}

static void mutex_make_bare(struct w3_set *set, void *array, unsigned count)
{
	pthread_mutex_t *mutexes = array;

	for (unsigned i = 0; i < count; i++)
		(void)pthread_mutex_init(&mutexes[i], NULL);
}

static uint64_t *mutex_state(const struct w3_set *set, unsigned index)
{
	return ((struct mutex_topic *)set->memory)[index].state;
}

void w3_mutex_lock(struct team_member *member)
{
	struct w3_load *load = member->context;
	struct mutex_topic *topics = load->set->memory;
	const uint32_t *keys = load->keys[member->index];

	for (unsigned i = 0; !team_stopped(member); i++) {
		struct mutex_topic *topic = &topics[keys[i % W3_KEYS]];

		(void)pthread_mutex_lock(&topic->mutex);
		topic->state[0]++;
		(void)pthread_mutex_unlock(&topic->mutex);
		team_count(member, 1);
	}
}

/* As one writes it with locks: one after the other. Inside one another they would need a stack. */
static void mutex_chain(struct w3_set *set, unsigned hops)
{
	struct mutex_topic *topics = set->memory;

	for (unsigned i = 0; i < hops; i++) {
		(void)pthread_mutex_lock(&topics[i].mutex);
		topics[i].state[0]++;
		(void)pthread_mutex_unlock(&topics[i].mutex);
	}
}

const struct w3_kind w3_mutex = {
	.bare_size = mutex_bare_size,
	.size = mutex_size,
	.make = mutex_make,
	.make_bare = mutex_make_bare,
	.state = mutex_state,
	.chain = mutex_chain,
};

/* ---- Ticket lock ---- */

static size_t ticket_bare_size(const struct w3_set *set)
{
	return sizeof(ck_spinlock_ticket_t);
}

static size_t ticket_size(const struct w3_set *set)
{
	return sizeof(struct ticket_topic);
}

static void ticket_make(struct w3_set *set, unsigned first, unsigned end)
{
	struct ticket_topic *topics = set->memory;

	for (unsigned i = first; i < end; i++) {
		memset(&topics[i], 0, sizeof(topics[i]));
		ck_spinlock_ticket_init(&topics[i].ticket);
	}
}

static void ticket_make_bare(struct w3_set *set, void *array, unsigned count)
{
	ck_spinlock_ticket_t *tickets = array;

	for (unsigned i = 0; i < count; i++)
		ck_spinlock_ticket_init(&tickets[i]);
}

static uint64_t *ticket_state(const struct w3_set *set, unsigned index)
{
	return ((struct ticket_topic *)set->memory)[index].state;
}

void w3_ticket_lock(struct team_member *member)
{
	struct w3_load *load = member->context;
	struct ticket_topic *topics = load->set->memory;
	const uint32_t *keys = load->keys[member->index];

	for (unsigned i = 0; !team_stopped(member); i++) {
		struct ticket_topic *topic = &topics[keys[i % W3_KEYS]];

		ck_spinlock_ticket_lock(&topic->ticket);
		topic->state[0]++;
		ck_spinlock_ticket_unlock(&topic->ticket);
		team_count(member, 1);
	}
}

const struct w3_kind w3_ticket = {
	.bare_size = ticket_bare_size,
	.size = ticket_size,
	.make = ticket_make,
	.make_bare = ticket_make_bare,
	.state = ticket_state,
};
