/* SPDX-License-Identifier: MIT */
/*
 * W4: the peers. Trees and fib in the peer's own best way, where it has one; a peer without a fork
 * and join of its own does fib with the frames that baton's user has.
 */
#include "w4_pool.h"

#include "peers/peer.h"

#include <stdlib.h>

static void start(const struct w4_pool *self, unsigned workers)
{
	self->peer->start(workers);
}

static void stop(const struct w4_pool *self)
{
	self->peer->stop();
}

static void leaf_run(void *argument)
{
	w4_count(w4_tally());
}

static void outside(const struct w4_pool *self, struct w4_job *jobs, size_t count)
{
	void (*submit)(peer_fn run, void *argument) = self->peer->job_submit;

	for (size_t i = 0; i < count; i++)
		submit(leaf_run, &jobs[i]);
}

static void tree(const struct w4_pool *self, unsigned depth)
{
	uint64_t expected = w4_total() + (UINT64_C(1) << depth) - 1;

	self->peer->fan_out(depth, leaf_run, NULL);
	w4_await_total(expected);
}

/* Whose fib it is: one at a time. */
static const struct peer *spawning;

static void fib_run(void *argument);

static void fib_spawn(struct w4_job *frame)
{
	spawning->job_submit(fib_run, frame);
}

static void fib_run(void *argument)
{
	w4_fib_run(argument, fib_spawn);
}

static unsigned long fib(const struct w4_pool *self, unsigned n)
{
	if (self->peer->fib)
		return self->peer->fib(n);
	spawning = self->peer;
	w4_fib_begin();
	fib_spawn(w4_frame(w4_tally(), NULL, 0, n, 1));
	return w4_fib_await();
}

struct spreader {
	const struct peer *peer;
	struct w4_job *jobs;
	size_t count;
	unsigned rounds;
};

static void spreader_run(void *argument)
{
	struct spreader *spreader = argument;
	uint64_t expected = w4_total();

	for (unsigned round = 0; round < spreader->rounds; round++) {
		for (size_t i = 0; i < spreader->count; i++)
			spreader->peer->job_submit(leaf_run, &spreader->jobs[i]);
		expected += spreader->count;
		w4_pause_until_total(expected);
	}
	w4_count(w4_tally()); /* itself */
}

static void spread(const struct w4_pool *self, unsigned rounds, struct w4_job *jobs, size_t count)
{
	struct spreader spreader = {self->peer, jobs, count, rounds};
	uint64_t expected = w4_total() + rounds * count + 1;

	self->peer->job_submit(spreader_run, &spreader);
	w4_await_total(expected);
}

const struct w4_pool w4_peer = {
	.start = start,
	.stop = stop,
	.outside = outside,
	.tree = tree,
	.fib = fib,
	.spread = spread,
};
