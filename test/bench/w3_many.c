/* SPDX-License-Identifier: MIT */
/*
 * W3: many resources, picked at random with a Zipf distribution (0.99: a few are hot). All sets of
 * a size are made once, and the contenders of its tables take turns.
 */
#include "w3_many.h"

#include "harness.h"
#include "peers/peer.h"
#include "zipf.h"

#include <stdlib.h>

#define WINDOW_MS 60
#define SETS_MAX 12
#define CASES_MAX 20
#define SEED UINT64_C(0x9e3779b97f4a7c15)

struct many_case {
	const char *name;
	struct w3_load *load;
	team_body body;
	unsigned threads;
};

struct sets {
	unsigned count;
	struct w3_set mutex, ticket, baton, small_stack;
	struct w3_set peers[SETS_MAX];
	struct w3_contender peer_contenders[SETS_MAX];
	size_t peer_count;
	uint32_t *keys[W3_THREADS_MAX];
};

static void run(const void *setup, double *values)
{
	const struct many_case *mine = setup;
	struct w3_set *set = mine->load->set;
	struct team_result result =
		team_run(mine->threads, mine->body, mine->load, bench_sample_ms(WINDOW_MS), false);

	set->expected += result.done;
	w3_set_check(set, mine->name);
	values[0] = result.per_second / 1e6;
	values[1] = result.fairness;
}

static void name_group(char *name, size_t size, unsigned count, unsigned threads)
{
	(void)snprintf(name, size, "W3: %u resources, Zipf 0.99, %u threads", count, threads);
}

static void run_group(struct sets *sets, unsigned threads)
{
	static const char *const metrics[] = {"M tasks/s", "slowest/fastest", NULL};
	struct w3_load loads[CASES_MAX];
	struct many_case many[CASES_MAX] = {
		{.name = "pthread_mutex", .body = w3_mutex_lock},
		{.name = "baton submit", .body = w3_baton_submit},
		{.name = "baton submit, future and wait", .body = w3_baton_wait},
		{.name = "baton submit, inlined", .body = w3_baton_submit_inline},
		{.name = "baton call", .body = w3_baton_call},
		{.name = "baton call, inlined", .body = w3_baton_call_inline},
		{.name = "baton post", .body = w3_baton_post},
		{.name = "two CASes alone, in baton's memory", .body = w3_two_cases},
		{.name = "CK ticket lock", .body = w3_ticket_lock},
	};
	struct w3_set *owners[CASES_MAX] = {&sets->mutex, &sets->baton, &sets->baton,
	                                    &sets->baton, &sets->baton, &sets->baton,
	                                    &sets->baton, &sets->baton, &sets->ticket};
	struct bench_case cases[CASES_MAX];
	/* Spinning locks stand still when their holder, or their next one, has no CPU. */
	size_t count = threads <= team_cpus() ? 9 : 7;
	char name[96];
	struct bench_group group = {name, metrics, cases, 0, 0, NULL};

	name_group(name, sizeof(name), sets->count, threads);
	if (!bench_wanted(name))
		return;
	for (size_t i = 0; i < sets->peer_count && count < CASES_MAX; i++) {
		owners[count] = sets->peer_contenders[i].set;
		many[count++] = (struct many_case){.name = sets->peer_contenders[i].name,
		                                   .body = w3_peer_submit};
	}
	for (size_t i = 0; i < count; i++) {
		loads[i].set = owners[i];
		for (unsigned t = 0; t < W3_THREADS_MAX; t++)
			loads[i].keys[t] = sets->keys[t];
		many[i].load = &loads[i];
		many[i].threads = threads;
		cases[i] = (struct bench_case){many[i].name, run, &many[i]};
	}
	group.case_count = count;
	bench_group(&group);
}

/* A million resources must be there: a table without locks, or without baton, is none. */
static void make_or_end(struct w3_set *set, const struct w3_kind *kind, unsigned count,
                        const char *name)
{
	set->kind = kind;
	set->count = count;
	if (!w3_set_make(set, name))
		exit(2);
}

static void make_peers(struct sets *sets)
{
	for (size_t i = 0; peers[i] && sets->peer_count < SETS_MAX; i++) {
		struct w3_set *set = &sets->peers[sets->peer_count];

		if (!peers[i]->present || !peers[i]->queue_is_light)
			continue;
		peers[i]->start(team_cpus());
		*set = (struct w3_set){.kind = &w3_peer, .peer = peers[i], .count = sets->count};
		if (w3_set_make(set, peers[i]->name))
			sets->peer_contenders[sets->peer_count++] =
				(struct w3_contender){peers[i]->name, set};
		else
			peers[i]->stop();
	}
}

/* With the chain's only where there is a chain: `chain`. */
static void make_sets(struct sets *sets, unsigned count, bool chain)
{
	*sets = (struct sets){.count = count, .small_stack = {.small_stack = true}};
	make_or_end(&sets->mutex, &w3_mutex, count, "pthread_mutex");
	make_or_end(&sets->ticket, &w3_ticket, count, "CK ticket lock");
	make_or_end(&sets->baton, &w3_baton, count, "baton");
	if (chain)
		make_or_end(&sets->small_stack, &w3_baton, count, "baton, 64 KiB stacks");
	make_peers(sets);
}

static void end_sets(struct sets *sets)
{
	w3_set_end(&sets->mutex);
	w3_set_end(&sets->ticket);
	w3_set_end(&sets->baton);
	w3_set_end(&sets->small_stack);
	for (size_t i = 0; i < sets->peer_count; i++) {
		w3_set_end(sets->peer_contenders[i].set);
		sets->peer_contenders[i].set->peer->stop();
	}
}

static void run_chain(struct sets *sets)
{
	struct w3_contender contenders[SETS_MAX + 3] = {
		{"pthread_mutex, a loop", &sets->mutex},
		{"baton", &sets->baton},
		{"baton, stacks of 64 KiB", &sets->small_stack},
	};
	size_t count = 3;

	for (size_t i = 0; i < sets->peer_count; i++) {
		const struct peer *peer = sets->peer_contenders[i].set->peer;

		/* Each inside the one before: no stack is large enough. */
		if (peer->queue_submit != peer->queue_dispatch)
			contenders[count++] = sets->peer_contenders[i];
	}
	w3_chain(contenders, count);
}

static void run_many(unsigned count, bool chain)
{
	static struct sets sets;
	static const unsigned threads[] = {2, 8};

	struct zipf *zipf = zipf_create(count, SEED);

	make_sets(&sets, count, chain);
	for (unsigned t = 0; t < W3_THREADS_MAX; t++) {
		sets.keys[t] = malloc(W3_KEYS * sizeof(uint32_t));
		if (!sets.keys[t])
			abort();
		zipf_draw(zipf, sets.keys[t], W3_KEYS, SEED * (t + 1));
	}
	zipf_destroy(zipf);
	for (size_t i = 0; i < sizeof(threads) / sizeof(threads[0]); i++)
		run_group(&sets, threads[i]);
	if (chain)
		run_chain(&sets);
	for (unsigned t = 0; t < W3_THREADS_MAX; t++)
		free(sets.keys[t]);
	end_sets(&sets);
}

/* Setting up takes longer than measuring: only for a group that is wanted. */
static bool wanted(unsigned count)
{
	char name[96];

	name_group(name, sizeof(name), count, 2);
	if (bench_wanted(name))
		return true;
	name_group(name, sizeof(name), count, 8);
	return bench_wanted(name);
}

void bench_w3_many(void)
{
	w3_bytes();
	if (wanted(1024))
		run_many(1024, false);
	if (wanted(1000000) || w3_chain_wanted())
		run_many(1000000, w3_chain_wanted());
}
