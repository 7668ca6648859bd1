/* SPDX-License-Identifier: MIT */
/*
 * The library's own nodes in steady state, allocated by one thread and freed by another: rounds in
 * each of which the first thread posts to a resource that the second one holds, and drains then.
 */
#include "counters.h"

#include <pthread.h>

#include <baton.h>

#define POSTS 200
#define ROUNDS 30
#define WARM_UP 10

static const struct baton_resource_config patient = {
	.capture_max = 4 * POSTS,
	.quantum = BATON_QUANTUM,
};

static struct baton_resource resource = BATON_RESOURCE_INIT(&patient);
static pthread_barrier_t turn;

struct side {
	struct bench_counts start;
	struct counts cost;
};

static struct side runner;
static struct side poster;

static void *nothing(void *arg)
{
	return arg;
}

static int hold(struct baton_task *task)
{
	(void)pthread_barrier_wait(&turn); /* it is held: post */
	(void)pthread_barrier_wait(&turn); /* it is posted: run */
	return 0;
}

static void *runner_main(void *arg)
{
	struct baton_task task = BATON_TASK_INIT(hold, NULL);

	for (int i = 0; i < ROUNDS; i++) {
		if (i == WARM_UP)
			runner.start = counts_now();
		BATON_IGNORE(baton_submit(&resource, &task));
	}
	runner.cost = counts_since(&runner.start, (ROUNDS - WARM_UP) * POSTS);
	return NULL;
}

void counts_nodes(void)
{
	/* Per parcel of 32 nodes sent home: a CAS and an addition; per round: capture, take,
	 * release, and what of it failed. */
	const struct counts runner_limit = {2.0 / 32 + 4.0 / POSTS, 0, 0};
	/* Besides the push: taking the returned nodes, once per round. */
	const struct counts poster_limit = {1 + 2.0 / POSTS, 0, 0};
	pthread_t id;

	(void)pthread_barrier_init(&turn, NULL, 2);
	if (pthread_create(&id, NULL, runner_main, NULL))
		return;
	for (int i = 0; i < ROUNDS; i++) {
		(void)pthread_barrier_wait(&turn);
		if (i == WARM_UP)
			poster.start = counts_now();
		for (int j = 0; j < POSTS; j++)
			BATON_IGNORE(baton_post(&resource, nothing, NULL));
		(void)pthread_barrier_wait(&turn);
	}
	poster.cost = counts_since(&poster.start, (ROUNDS - WARM_UP) * POSTS);
	(void)pthread_join(id, NULL);
	(void)pthread_barrier_destroy(&turn);
	counts_row("post, busy, freed by another thread: the poster", poster_limit, poster.cost);
	counts_row("post, busy, freed by another thread: the runner", runner_limit, runner.cost);
}
