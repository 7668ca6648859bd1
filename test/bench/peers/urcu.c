/* SPDX-License-Identifier: MIT */
/*
 * liburcu. Its workqueue (workqueue.h) is not installed, so a queue here is what one builds from
 * what is: a wait-free concurrent queue (urcu/wfcqueue.h) and a thread that takes all of it at once
 * and runs it, as liburcu's own call_rcu thread does; when it finds nothing it spins for a while,
 * then announces itself and sleeps on a futex. Whoever enqueues looks for that announcement. Nodes
 * are the caller's, as in all of liburcu, or allocated.
 */
#include "peer.h"

#if __has_include(<urcu/wfcqueue.h>) && !defined(BENCH_NO_URCU)

/* The inline versions of the queue's functions, which is what the library recommends for speed. */
#define _LGPL_SOURCE

#include "../team.h"

#include <pthread.h>
#include <stdlib.h>

#include <urcu/futex.h>
#include <urcu/uatomic.h>
#include <urcu/wfcqueue.h>

#define SPINS 100

struct node {
	struct cds_wfcq_node link;
	peer_fn run;
	void *argument;
	bool allocated;
};

_Static_assert(sizeof(struct node) <= PEER_NODE_MAX, "callers have that much");

struct queue {
	struct cds_wfcq_tail tail __attribute__((aligned(64)));
	struct __cds_wfcq_head head __attribute__((aligned(64)));
	int32_t sleeping __attribute__((aligned(64))); /* -1: the thread sleeps, or is about to */
	pthread_t thread;
};

static void enqueue(struct queue *queue, struct node *node)
{
	cds_wfcq_node_init(&node->link);
	(void)cds_wfcq_enqueue(&queue->head, &queue->tail, &node->link);
	/* The enqueue's exchange is a full barrier: it comes before this look. */
	if (uatomic_read(&queue->sleeping) == -1) {
		uatomic_set(&queue->sleeping, 0);
		(void)futex_async(&queue->sleeping, FUTEX_WAKE, 1, NULL, NULL, 0);
	}
}

static void await_more(struct queue *queue)
{
	for (int i = 0; i < SPINS; i++) {
		if (!cds_wfcq_empty(&queue->head, &queue->tail))
			return;
		caa_cpu_relax();
	}
	uatomic_dec(&queue->sleeping);
	cmm_smp_mb();
	if (cds_wfcq_empty(&queue->head, &queue->tail))
		while (uatomic_read(&queue->sleeping) == -1)
			(void)futex_async(&queue->sleeping, FUTEX_WAIT, -1, NULL, NULL, 0);
	uatomic_set(&queue->sleeping, 0);
}

/* Ends after a task without a function. */
static void *consumer(void *argument)
{
	struct queue *queue = argument;
	bool ending = false;

	/* Pinned, it would share a CPU with a submitter while another one has nothing to do. */
	team_unpin();
	while (!ending) {
		struct __cds_wfcq_head head;
		struct cds_wfcq_tail tail;
		struct cds_wfcq_node *link;
		struct cds_wfcq_node *next;

		__cds_wfcq_init(&head, &tail);
		if (__cds_wfcq_splice_blocking(&head, &tail, &queue->head, &queue->tail) ==
		    CDS_WFCQ_RET_SRC_EMPTY) {
			await_more(queue);
			continue;
		}
		__cds_wfcq_for_each_blocking_safe(&head, &tail, link, next)
		{
			struct node *where = caa_container_of(link, struct node, link);
			struct node node = *where;

			if (node.allocated)
				free(where);
			if (node.run)
				node.run(node.argument);
			else
				ending = true;
		}
	}
	return NULL;
}

static void start(unsigned workers)
{
	(void)workers; /* each queue has a thread of its own, and there are no others */
}

static void stop(void)
{
}

static void queue_init(void *memory)
{
	struct queue *queue = memory;

	__cds_wfcq_init(&queue->head, &queue->tail);
	queue->sleeping = 0;
	if (pthread_create(&queue->thread, NULL, consumer, queue))
		abort();
}

static void queue_deinit(void *memory)
{
	struct queue *queue = memory;
	struct node last = {.run = NULL};

	enqueue(queue, &last);
	(void)pthread_join(queue->thread, NULL);
}

static void queue_submit(void *memory, peer_fn run, void *argument)
{
	struct node *node = malloc(sizeof(*node));

	if (!node)
		abort();
	*node = (struct node){.run = run, .argument = argument, .allocated = true};
	enqueue(memory, node);
}

static void queue_submit_node(void *memory, void *node, peer_fn run, void *argument)
{
	*(struct node *)node = (struct node){.run = run, .argument = argument};
	enqueue(memory, node);
}

struct waiter {
	peer_fn run;
	void *argument;
	int32_t done; /* 1: yes; -1: no, and somebody sleeps */
};

static void run_and_tell(void *argument)
{
	struct waiter *waiter = argument;

	waiter->run(waiter->argument);
	if (uatomic_xchg(&waiter->done, 1) == -1)
		(void)futex_async(&waiter->done, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static void queue_call(void *memory, peer_fn run, void *argument)
{
	struct waiter waiter = {.run = run, .argument = argument};
	struct node node;

	queue_submit_node(memory, &node, run_and_tell, &waiter);
	for (int i = 0; i < SPINS && uatomic_read(&waiter.done) == 0; i++)
		caa_cpu_relax();
	(void)uatomic_cmpxchg(&waiter.done, 0, -1);
	while (uatomic_read(&waiter.done) == -1)
		(void)futex_async(&waiter.done, FUTEX_WAIT, -1, NULL, NULL, 0);
	cmm_smp_mb();
}

const struct peer peer_urcu = {
	.name = "liburcu wfcqueue, one thread",
	.needs = "liburcu-dev",
	.present = true,
	.start = start,
	.stop = stop,
	.queue_size = sizeof(struct queue),
	.queue_init = queue_init,
	.queue_deinit = queue_deinit,
	.queue_submit = queue_submit,
	.node_size = sizeof(struct node),
	.queue_submit_node = queue_submit_node,
	.queue_call = queue_call,
};

#else

const struct peer peer_urcu = {.name = "liburcu wfcqueue, one thread", .needs = "liburcu-dev"};

#endif
