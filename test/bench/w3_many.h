/* SPDX-License-Identifier: MIT */
/*
 * Many resources of one kind, each with a state of W3_STATE words beside its lock, or beside
 * baton's resource; a task counts in the state's first word. Kinds: locks, baton's resource, peers'
 * queues.
 *
 * Who does not run a task on the spot has at most W3_RING of them under way, in slots of the
 * thread's own, each with a word that says whether it is.
 * baton's submitters take a slot that is free again at once, as W6's do (w6_ring.h).
 */
#ifndef BATON_BENCH_W3_MANY_H
#define BATON_BENCH_W3_MANY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "team.h"

struct peer;
struct w3_kind;

#define W3_STATE 3
#define W3_RING 256U
#define W3_KEYS (1U << 18)
#define W3_THREADS_MAX 8

/* `count` resources in one block. */
struct w3_set {
	const struct w3_kind *kind;
	const struct peer *peer; /* of the peers' kind */
	bool small_stack;        /* baton: handed off to a pool with stacks of W3_SMALL_STACK */
	unsigned count;
	void *memory;
	uint64_t expected; /* the sum of all states, in their first words */
};

#define W3_SMALL_STACK 65536

struct w3_kind {
	/* Bytes of one resource, bare; of one in a set, with its state. */
	size_t (*bare_size)(const struct w3_set *set);
	size_t (*size)(const struct w3_set *set);
	/* Makes the resources first..end-1 in the set's memory, states 0; ends them. */
	void (*make)(struct w3_set *set, unsigned first, unsigned end);
	void (*end)(struct w3_set *set, unsigned made);
	/* The same without states, in an array of bare ones. */
	void (*make_bare)(struct w3_set *set, void *array, unsigned count);
	void (*end_bare)(struct w3_set *set, void *array, unsigned count);
	/* Waits for what comes after the last task; may be NULL. */
	void (*settle)(struct w3_set *set);
	uint64_t *(*state)(const struct w3_set *set, unsigned index);
	/* A task on each of the first `hops`, which submits the next one's. NULL: cannot. */
	void (*chain)(struct w3_set *set, unsigned hops);
};

extern const struct w3_kind w3_mutex;
extern const struct w3_kind w3_ticket;
extern const struct w3_kind w3_baton;
extern const struct w3_kind w3_peer;

/* What a team is given. */
struct w3_load {
	struct w3_set *set;
	uint32_t *keys[W3_THREADS_MAX];
};

void w3_mutex_lock(struct team_member *member);
void w3_ticket_lock(struct team_member *member);
void w3_baton_submit(struct team_member *member);
void w3_baton_wait(struct team_member *member); /* a future for each task */
void w3_baton_submit_inline(struct team_member *member);
void w3_baton_call(struct team_member *member);
void w3_baton_call_inline(struct team_member *member);
void w3_baton_post(struct team_member *member);
void w3_two_cases(struct team_member *member);
void w3_peer_submit(struct team_member *member);

/* Fills the set: false, with a line that says why, if it would take too long or too much. */
bool w3_set_make(struct w3_set *set, const char *name);
void w3_set_end(struct w3_set *set);
/* Have as many tasks run as were submitted? Settles; ends the program if not. */
void w3_set_check(struct w3_set *set, const char *name);

/* The tables: bytes per idle resource; the chain through all of the sets' resources. */
void w3_bytes(void);
struct w3_contender {
	const char *name;
	struct w3_set *set;
};
void w3_chain(const struct w3_contender *contenders, size_t count);
bool w3_chain_wanted(void);

/* ---- The ring of slots ---- */

/* The next slot that is not under way, of W3_RING; waits for one. `under_way`: of slot 0. */
static inline unsigned w3_next_free(const uint32_t *under_way, size_t stride, unsigned next)
{
	unsigned turns = 0;
	unsigned busy = 0;

	/* Some other slot will do when this one waits for a hot resource. */
	while (__atomic_load_n(
		(const uint32_t *)(const void *)((const char *)under_way + next * stride),
		__ATOMIC_ACQUIRE)) {
		next = (next + 1) % W3_RING;
		if (++busy % W3_RING == 0)
			team_wait(&turns);
	}
	return next;
}

static inline void w3_await_all(const uint32_t *under_way, size_t stride)
{
	for (unsigned i = 0, turns = 0; i < W3_RING; i++)
		while (__atomic_load_n(
			(const uint32_t *)(const void *)((const char *)under_way + i * stride),
			__ATOMIC_ACQUIRE))
			team_wait(&turns);
}

#endif
