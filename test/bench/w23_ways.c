/* SPDX-License-Identifier: MIT */
/*
 * W23: the contenders. A task changes its target's state, then goes to its second target, if it
 * has one, and counts.
 */
#include "w23.h"

#include "hot.h"
#include "peers/peer.h"
#include "team.h"

#include <errno.h>
#include <stdlib.h>

#include <baton/call.h>

static void must(bool ok)
{
	if (!ok)
		abort();
}

/* ---- The mutex ---- */

static void mutex_begin(struct w23_run *run)
{
	for (unsigned i = 0; i < run->target_count; i++)
		must(pthread_mutex_init(&run->targets[i].mutex, NULL) == 0);
}

static void mutex_end(struct w23_run *run)
{
	for (unsigned i = 0; i < run->target_count; i++)
		must(pthread_mutex_destroy(&run->targets[i].mutex) == 0);
}

static void mutex_submit(struct w23_producer *producer, struct w23_target *target)
{
	struct w23_target *next;

	(void)pthread_mutex_lock(&target->mutex);
	target->state++;
	next = w23_next(target);
	if (next) {
		(void)pthread_mutex_lock(&next->mutex);
		next->state++;
		(void)pthread_mutex_unlock(&next->mutex);
	}
	(void)pthread_mutex_unlock(&target->mutex);
	w23_ran(NULL);
}

static void mutex_pause(struct w23_run *run)
{
	for (unsigned i = 0; i < run->target_count; i++)
		(void)pthread_mutex_lock(&run->targets[i].mutex);
	machine_sleep_ns(W23_PAUSE_NS);
	for (unsigned i = 0; i < run->target_count; i++)
		(void)pthread_mutex_unlock(&run->targets[i].mutex);
}

static void mutex_work(struct w23_target *target, struct machine_work *work)
{
	(void)pthread_mutex_lock(&target->mutex);
	machine_work(*work);
	(void)pthread_mutex_unlock(&target->mutex);
}

const struct w23_way w23_mutex = {mutex_begin, mutex_end, mutex_submit, mutex_pause, mutex_work};

/* ---- baton ---- */

#define CHUNK 1024U

/* The producer's own, and its again when its last stage has been entered. */
struct w23_node {
	struct baton_task task;
	struct w23_target *target;
	struct w23_producer *producer;
	struct w23_node *next;
} __attribute__((aligned(64)));

/* The producer that the calling thread is. */
static __thread struct w23_producer *own;

static void baton_begin(struct w23_run *run)
{
	static struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;

	config.executor = hot_executor();
	for (unsigned i = 0; i < run->target_count; i++)
		baton_resource_init(&run->targets[i].resource, &config);
}

static void baton_end(struct w23_run *run)
{
	for (unsigned i = 0; i < run->target_count; i++)
		must(baton_resource_close(&run->targets[i].resource) == 0 &&
		     baton_resource_await(&run->targets[i].resource) == 0);
	for (unsigned i = 0; i < run->what->producers; i++) {
		/* A chunk is linked by its first node, which no producer hands out. */
		while (run->producers[i].chunks) {
			struct w23_node *chunk = run->producers[i].chunks;

			run->producers[i].chunks = chunk->next;
			free(chunk);
		}
	}
}

static void node_free(struct w23_node *node)
{
	struct w23_producer *producer = node->producer;

	if (producer == own) {
		node->next = producer->nodes;
		producer->nodes = node;
		return;
	}
	node->next = __atomic_load_n(&producer->returned, __ATOMIC_RELAXED);
	/* Ends: each failure is another thread's push, or the producer's taking. */
	while (!__atomic_compare_exchange_n(&producer->returned, &node->next, node, true,
	                                    __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		;
}

static struct w23_node *node_alloc(struct w23_producer *producer)
{
	struct w23_node *node = producer->nodes;

	own = producer;
	if (!node && __atomic_load_n(&producer->returned, __ATOMIC_RELAXED))
		node = __atomic_exchange_n(&producer->returned, NULL, __ATOMIC_ACQUIRE);
	if (!node) {
		struct w23_node *chunk = aligned_alloc(64, CHUNK * sizeof(*chunk));

		must(chunk != NULL);
		chunk->next = producer->chunks;
		producer->chunks = chunk;
		for (unsigned i = 1; i < CHUNK; i++) {
			chunk[i].producer = producer;
			chunk[i].next = i + 1 < CHUNK ? &chunk[i + 1] : NULL;
		}
		node = &chunk[1];
	}
	producer->nodes = node->next;
	return node;
}

static int node_run(struct baton_task *task)
{
	struct w23_node *node = baton_container_of(task, struct w23_node, task);
	struct w23_target *next;

	node->target->state++;
	next = w23_next(node->target);
	if (next) {
		node->target = next;
		must(baton_submit(&next->resource, &node->task) == 0);
		return 0;
	}
	w23_ran(NULL);
	node_free(node);
	return 0;
}

static void submit(struct w23_producer *producer, struct w23_target *target)
{
	struct w23_node *node = node_alloc(producer);

	baton_task_init(&node->task, node_run, NULL);
	node->target = target;
	must(baton_submit(&target->resource, &node->task) == 0);
}

static void *posted_run(void *argument)
{
	struct w23_target *target = argument;
	struct w23_target *next;

	target->state++;
	next = w23_next(target);
	if (next)
		must(baton_post(&next->resource, posted_run, next) == 0);
	else
		w23_ran(NULL);
	return NULL;
}

static void post(struct w23_producer *producer, struct w23_target *target)
{
	must(baton_post(&target->resource, posted_run, target) == 0);
}

static void baton_pause(struct w23_run *run)
{
	struct baton_suspension *held = calloc(run->target_count, sizeof(*held));

	must(held != NULL);
	for (unsigned i = 0; i < run->target_count; i++)
		must(baton_resource_suspend(&run->targets[i].resource, &held[i]) == 0);
	machine_sleep_ns(W23_PAUSE_NS);
	for (unsigned i = 0; i < run->target_count; i++)
		must(baton_resource_resume(&held[i]) == 0);
	free(held);
}

struct work_task {
	struct baton_task task;
	struct machine_work *work;
};

static int work_run(struct baton_task *task)
{
	struct work_task *computing = baton_container_of(task, struct work_task, task);
	struct machine_work *work = computing->work;

	free(computing);
	machine_work(*work);
	return 0;
}

static void baton_work(struct w23_target *target, struct machine_work *work)
{
	struct work_task *computing = malloc(sizeof(*computing));

	must(computing != NULL);
	computing->work = work;
	baton_task_init(&computing->task, work_run, NULL);
	must(baton_submit_later(&target->resource, &computing->task) == 0);
}

const struct w23_way w23_submit = {baton_begin, baton_end, submit, baton_pause, baton_work};
const struct w23_way w23_post = {baton_begin, baton_end, post, baton_pause, baton_work};

/* ---- baton with modules ---- */

#define LANES 3U /* lane 0 is exempt from a bound */

struct w23_extras {
	struct baton_resource_stats stats;
	struct baton_lanes lanes;
	struct baton_lane array[LANES];
	struct baton_bound bound;
	struct baton_tag tag;
};

static int batch_begins(struct baton_resource *resource)
{
	(void)resource;
	return 0;
}

static void modules_begin(struct w23_run *run)
{
	static struct baton_resource_config config;
	static struct baton_bound_config limits;
	const struct w23_modules *modules = run->what->modules;
	struct w23_extras *extras = calloc(run->target_count, sizeof(*extras));

	must(extras != NULL);
	config = (struct baton_resource_config)BATON_RESOURCE_CONFIG_INIT;
	config.executor = hot_executor();
	if (modules->hooks)
		config.batch_begin = config.batch_end = batch_begins;
	limits = (struct baton_bound_config){
		.tasks_max = W23_BOUND, .policy = modules->policy, .exempt = 1U << 0};
	for (unsigned i = 0; i < run->target_count; i++) {
		struct w23_target *target = &run->targets[i];

		target->extras = &extras[i];
		baton_resource_init(&target->resource, &config);
		if (modules->stats)
			baton_resource_set_stats(&target->resource, &extras[i].stats);
		if (modules->lanes) {
			baton_lanes_init(&extras[i].lanes, extras[i].array, LANES, NULL);
			baton_resource_set_lanes(&target->resource, &extras[i].lanes);
		}
		if (modules->bounded) {
			baton_bound_init(&extras[i].bound, &limits);
			baton_resource_set_bound(&target->resource, &extras[i].bound);
		}
	}
}

static void modules_end(struct w23_run *run)
{
	baton_end(run);
	free(run->targets[0].extras);
}

static void posted_dropped(void *argument)
{
	(void)argument;
	w23_dropped();
}

static void modules_post(struct w23_producer *producer, struct w23_target *target)
{
	const struct w23_modules *modules = target->run->what->modules;
	const struct baton_label label = {
		.lane = (uint8_t)(1 + w23_below(&w23_counter()->random, LANES - 1)),
		.tag = modules->tags ? &target->extras->tag : NULL,
	};
	const struct baton_call_options options = {
		.fn = posted_run, .arg = target, .label = &label, .cancelled = posted_dropped};
	const int error = baton_post_with(&target->resource, &options);

	must(!error || error == -EAGAIN);
	if (error)
		w23_dropped();
}

const struct w23_way w23_modules = {modules_begin, modules_end, modules_post, baton_pause,
                                    baton_work};

/* ---- The peers ---- */

static size_t queue_size(const struct peer *peer)
{
	return (peer->queue_size + 63) / 64 * 64;
}

static void peer_begin(struct w23_run *run)
{
	const struct peer *peer = run->what->peer;
	char *queues = aligned_alloc(64, run->target_count * queue_size(peer));

	must(queues != NULL);
	peer->start(team_cpus());
	for (unsigned i = 0; i < run->target_count; i++) {
		run->targets[i].queue = queues + i * queue_size(peer);
		peer->queue_init(run->targets[i].queue);
	}
}

static void peer_end(struct w23_run *run)
{
	const struct peer *peer = run->what->peer;

	for (unsigned i = 0; i < run->target_count; i++)
		peer->queue_deinit(run->targets[i].queue);
	peer->stop();
	free(run->targets[0].queue);
}

/* An argument is the target's address plus the producer's index, for which there is room. */
static void peer_run(void *argument)
{
	const uintptr_t index = (uintptr_t)argument % W23_PRODUCERS_MAX;
	struct w23_target *target = (void *)((char *)argument - index);
	struct w23_run *run = target->run;
	struct w23_target *next;

	target->state++;
	next = w23_next(target);
	if (next)
		run->what->peer->queue_submit(next->queue, peer_run, (char *)next + index);
	else
		w23_ran(run->what->ring ? &run->producers[index] : NULL);
}

static void peer_submit(struct w23_producer *producer, struct w23_target *target)
{
	target->run->what->peer->queue_submit(target->queue, peer_run,
	                                      (char *)target + producer->index);
}

struct stopper {
	unsigned left; /* workers that have not ended their job */
};

static void stop_worker(void *argument)
{
	struct stopper *stopper = argument;

	machine_sleep_ns(W23_PAUSE_NS);
	(void)__atomic_sub_fetch(&stopper->left, 1, __ATOMIC_RELEASE);
}

/* A peer's queues cannot be suspended: a job on each worker stops the pool that serves them. */
static void peer_pause(struct w23_run *run)
{
	struct stopper stopper = {team_cpus()};
	unsigned turns = 0;

	for (unsigned i = 0; i < team_cpus(); i++)
		run->what->peer->job_submit(stop_worker, &stopper);
	while (__atomic_load_n(&stopper.left, __ATOMIC_ACQUIRE))
		team_wait(&turns);
}

static void peer_computes(void *argument)
{
	machine_work(*(struct machine_work *)argument);
}

static void peer_work(struct w23_target *target, struct machine_work *work)
{
	target->run->what->peer->queue_submit(target->queue, peer_computes, work);
}

const struct w23_way w23_peer = {peer_begin, peer_end, peer_submit, peer_pause, peer_work};
