/* SPDX-License-Identifier: MIT */
/*
 * W1, the peers: a task on an idle queue that runs inline, where there is such a thing; one that a
 * worker has to run, until it has; and a stream of them.
 */
#include "w1.h"

#include "hot.h"
#include "peers/peer.h"

#include <semaphore.h>
#include <stdlib.h>

struct queue {
	const struct peer *peer;
	void *memory;
	uint64_t counter __attribute__((aligned(64)));
};

static void begin(struct queue *queue, const struct peer *peer)
{
	queue->peer = peer;
	queue->counter = 0;
	queue->memory = peer_open_queue(peer);
}

static void end(struct queue *queue, uint64_t expected)
{
	peer_close_queue(queue->peer, queue->memory);
	w1_check(queue->counter, expected);
}

static void count(void *argument)
{
	struct queue *queue = argument;

	__atomic_store_n(&queue->counter, queue->counter + 1, __ATOMIC_RELEASE);
}

void w1_peer_post_run(const void *setup, double *values)
{
	static struct watch watch;
	static char node[PEER_NODE_MAX] __attribute__((aligned(16)));
	const struct peer *peer = setup;
	struct queue queue;
	unsigned posts = bench_options.quick ? 250 : 1000;

	begin(&queue, peer);
	for (unsigned i = 1; i <= posts; i++) {
		uint64_t began = machine_ticks();
		unsigned turns = 0;

		if (peer->queue_submit_node)
			peer->queue_submit_node(queue.memory, node, count, &queue);
		else
			peer->queue_submit(queue.memory, count, &queue);
		while (__atomic_load_n(&queue.counter, __ATOMIC_ACQUIRE) < i)
			combine_wait(&turns);
		watch_add(&watch, began);
	}
	end(&queue, posts);
	values[0] = watch_end(&watch, 1);
}

struct inline_run {
	struct queue queue;
	double *values;
	sem_t done;
};

static unsigned inline_chunks(void)
{
	return w1_chunks() / 8;
}

static void dispatch_all(void *argument)
{
	struct inline_run *run = argument;
	struct queue *queue = &run->queue;
	const struct peer *peer = queue->peer;

	W1_TIMED(run->values, inline_chunks(), 1,
	         peer->queue_dispatch(queue->memory, count, queue));
	(void)sem_post(&run->done);
}

/* On one of the peer's threads, where it has jobs: others may not run anything inline. */
void w1_peer_dispatch_run(const void *setup, double *values)
{
	static struct inline_run run;
	const struct peer *peer = setup;

	(void)sem_init(&run.done, 0, 0);
	run.values = values;
	begin(&run.queue, peer);
	if (peer->job_submit)
		peer->job_submit(dispatch_all, &run);
	else
		dispatch_all(&run);
	while (sem_wait(&run.done))
		;
	(void)sem_destroy(&run.done);
	end(&run.queue, (uint64_t)inline_chunks() * W1_CHUNK);
}

void w1_peer_stream_run(const void *setup, double *values)
{
	struct hot_peer stream = {{.threads = 1, .batch = 1}, setup};
	double rates[BENCH_METRICS_MAX];

	hot_peer_run(&stream, rates);
	values[0] = 1000 / rates[HOT_RATE];
}
