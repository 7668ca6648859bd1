/* SPDX-License-Identifier: MIT */
/*
 * GLib's GThreadPool. A queue is an exclusive pool of one thread, since GLib has no other way to
 * run things one after the other; jobs go to an exclusive pool of `workers` threads. What is pushed
 * is one pointer: to the caller's node, or to an allocated one. A thread pins itself at its first
 * task, since the pool has no hook for that.
 */
#include "peer.h"

#if __has_include(<glib.h>) && !defined(BENCH_NO_GLIB)

#include "fan_out.h"

#include "../team.h"

#include <glib.h>

struct node {
	peer_fn run;
	void *argument;
};

_Static_assert(sizeof(struct node) <= PEER_NODE_MAX, "callers have that much");

static GThreadPool *jobs;
static unsigned next_cpu;

/*
 * A job's thread to the next CPU. A queue's only thread may go anywhere, also if its creator may
 * not: pinned, it would share a CPU with one of the submitters while another CPU has nothing to do.
 */
static void pin_once(bool to_next)
{
	static __thread bool placed;

	if (G_LIKELY(placed))
		return;
	placed = true;
	if (to_next)
		team_pin(__atomic_fetch_add(&next_cpu, 1, __ATOMIC_RELAXED));
	else
		team_unpin();
}

/* The lowest bit says that the node was allocated here. */
static void run_node(gpointer data, gpointer pool_of_jobs)
{
	struct node *where = (struct node *)((uintptr_t)data & ~(uintptr_t)1);
	struct node node = *where;

	pin_once(pool_of_jobs != NULL);
	if ((uintptr_t)data & 1)
		g_slice_free(struct node, where);
	node.run(node.argument);
}

static void push(GThreadPool *pool, peer_fn run, void *argument)
{
	struct node *node = g_slice_new(struct node);

	*node = (struct node){run, argument};
	(void)g_thread_pool_push(pool, (gpointer)((uintptr_t)node | 1), NULL);
}

static void start(unsigned workers)
{
	next_cpu = 0;
	jobs = g_thread_pool_new(run_node, &jobs, (gint)workers, TRUE, NULL);
}

static void stop(void)
{
	g_thread_pool_free(jobs, FALSE, TRUE);
	jobs = NULL;
}

static void queue_init(void *memory)
{
	GThreadPool **queue = memory;

	*queue = g_thread_pool_new(run_node, NULL, 1, TRUE, NULL);
}

static void queue_deinit(void *memory)
{
	GThreadPool **queue = memory;

	g_thread_pool_free(*queue, FALSE, TRUE);
}

static void queue_submit(void *memory, peer_fn run, void *argument)
{
	GThreadPool **queue = memory;

	push(*queue, run, argument);
}

static void queue_submit_node(void *memory, void *node, peer_fn run, void *argument)
{
	GThreadPool **queue = memory;

	*(struct node *)node = (struct node){run, argument};
	(void)g_thread_pool_push(*queue, node, NULL);
}

struct waiter {
	peer_fn run;
	void *argument;
	GMutex mutex;
	GCond cond;
	bool done;
};

static void run_and_tell(void *argument)
{
	struct waiter *waiter = argument;

	waiter->run(waiter->argument);
	g_mutex_lock(&waiter->mutex);
	waiter->done = true;
	g_cond_signal(&waiter->cond);
	g_mutex_unlock(&waiter->mutex);
}

static void queue_call(void *memory, peer_fn run, void *argument)
{
	struct waiter waiter = {.run = run, .argument = argument};
	struct node node;

	g_mutex_init(&waiter.mutex);
	g_cond_init(&waiter.cond);
	queue_submit_node(memory, &node, run_and_tell, &waiter);
	g_mutex_lock(&waiter.mutex);
	while (!waiter.done)
		g_cond_wait(&waiter.cond, &waiter.mutex);
	g_mutex_unlock(&waiter.mutex);
	g_mutex_clear(&waiter.mutex);
	g_cond_clear(&waiter.cond);
}

static void job_submit(peer_fn run, void *argument)
{
	push(jobs, run, argument);
}

static void fan_out(unsigned depth, peer_fn run, void *argument)
{
	fan_out_by(job_submit, job_submit, depth, run, argument);
}

const struct peer peer_glib = {
	.name = "GLib GThreadPool",
	.needs = "libglib2.0-dev",
	.present = true,
	.start = start,
	.stop = stop,
	.queue_size = sizeof(GThreadPool *),
	.queue_init = queue_init,
	.queue_deinit = queue_deinit,
	.queue_submit = queue_submit,
	.job_submit = job_submit,
	.fan_out = fan_out,
	.node_size = sizeof(struct node),
	.queue_submit_node = queue_submit_node,
	.queue_call = queue_call,
};

#else

const struct peer peer_glib = {.name = "GLib GThreadPool", .needs = "libglib2.0-dev"};

#endif
