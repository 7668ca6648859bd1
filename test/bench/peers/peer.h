/* SPDX-License-Identifier: MIT */
/*
 * A peer: somebody else's way to run tasks one after the other, or jobs in a pool, behind one
 * table of functions. What a peer cannot do is NULL; one whose library was not there when the
 * benchmark was built has `present` false and nothing else, and is left out by name.
 */
#ifndef BATON_BENCH_PEERS_PEER_H
#define BATON_BENCH_PEERS_PEER_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef void (*peer_fn)(void *argument);

struct peer {
	const char *name;  /* "Boost.Asio strand" */
	const char *needs; /* Debian's package with it */
	bool present;

	/* A pool of `workers` threads, pinned round robin as teams are; one at a time. */
	void (*start)(unsigned workers);
	void (*stop)(void); /* when nothing is left to run */

	/*
	 * A queue whose tasks run one after the other, in `queue_size` bytes of the caller's,
	 * aligned to 64. deinit when all its tasks have run; it waits for what the peer does after
	 * the last of them.
	 */
	size_t queue_size;
	void (*queue_init)(void *queue);
	void (*queue_deinit)(void *queue);
	void (*queue_submit)(void *queue, peer_fn run, void *argument);
	/* Runs at once if the queue is idle, where the peer has such a thing (asio: dispatch). */
	void (*queue_dispatch)(void *queue, peer_fn run, void *argument);
	/* Is it fit for many queues, or a thread each? */
	bool queue_is_light;

	/* A job for any worker; from any thread. */
	void (*job_submit)(peer_fn run, void *argument);
	/*
	 * Binary tree of 2^depth - 1 calls of run(argument), spawned recursively in the peer's own
	 * best way (TBB: task_group), complete when it returns.
	 */
	void (*fan_out)(unsigned depth, peer_fn run, void *argument);
	/* fib(n), each call above 1 a job of its own, in the peer's own best way. */
	unsigned long (*fib)(unsigned n);

	/*
	 * queue_submit without an allocation: `node` is `node_size` bytes of the caller's (aligned
	 * to 16, at most PEER_NODE_MAX), the peer's until `run` is entered. Where it is there,
	 * it is the peer's own best way.
	 */
	size_t node_size;
	void (*queue_submit_node)(void *queue, void *node, peer_fn run, void *argument);
	/* Submits and waits until it has run, in the peer's documented way. Not in a task. */
	void (*queue_call)(void *queue, peer_fn run, void *argument);
};

#define PEER_NODE_MAX 32

/* All that are known, present or not; ends with NULL. */
extern const struct peer *const peers[];

/* A worker for each CPU, and a queue: started and made; and the other way round. */
void *peer_open_queue(const struct peer *peer);
void peer_close_queue(const struct peer *peer, void *queue);

/* "name (package), name (package)" of those that are not present, or NULL. */
const char *peers_missing(void);

#ifdef __cplusplus
}

/* One whose library was not there. */
constexpr peer peer_absent(const char *name, const char *needs)
{
	peer absent{};

	absent.name = name;
	absent.needs = needs;
	return absent;
}
#endif

#endif
