/* SPDX-License-Identifier: MIT */
/* One hot resource: the contenders that submit to baton. */
#include "hot.h"

#include <stdlib.h>

struct slot {
	struct baton_task task;
	struct team_member *owner;
	struct machine_work work;
	uint64_t submitted;
} __attribute__((aligned(64)));

static int slot_run(struct baton_task *task)
{
	struct slot *slot = baton_container_of(task, struct slot, task);

	hot_body(slot->owner->context, slot->work, slot->submitted);
	team_count(slot->owner, 1); /* from here on the slot may be used again */
	return 0;
}

static struct slot *new_ring(struct team_member *member)
{
	struct hot *hot = member->context;
	struct slot *slots = aligned_alloc(64, HOT_RING * sizeof(*slots));

	if (!slots)
		abort();
	for (unsigned i = 0; i < HOT_RING; i++)
		slots[i] = (struct slot){BATON_TASK_INIT(slot_run, NULL), member, hot->work, 0};
	return slots;
}

static void await_all(const struct team_member *member, uint64_t sent)
{
	unsigned turns = 0;

	while (__atomic_load_n(&member->done, __ATOMIC_ACQUIRE) != sent)
		team_wait(&turns);
}

static void point_at(struct baton_task *pointers[HOT_RING], struct slot *slots)
{
	for (unsigned i = 0; i < HOT_RING; i++)
		pointers[i] = &slots[i].task;
}

static inline __attribute__((always_inline)) void submit(struct hot *hot, struct baton_task **tasks)
{
	int error = hot->batch == 1 ? baton_submit(&hot->resource, *tasks)
	                            : baton_submit_batch(&hot->resource, tasks, hot->batch);

	if (error)
		abort();
}

/*
 * What a user would write with baton's own means: the last task of each lap reports to a future,
 * and the next lap begins when it is complete.
 */
static void future_submitter(struct team_member *member)
{
	struct hot *hot = member->context;
	struct slot *slots = new_ring(member);
	struct slot *last = &slots[HOT_RING - 1];
	struct baton_task *pointers[HOT_RING];
	struct baton_future lap;
	uint64_t sent = 0;

	point_at(pointers, slots);
	while (!team_stopped(member)) {
		if (sent % HOT_RING == 0) {
			lap = (struct baton_future)BATON_FUTURE_INIT;
			baton_task_init(&last->task, slot_run, &lap);
		}
		slots[sent % HOT_RING].submitted = hot_stamp(member, sent);
		submit(hot, &pointers[sent % HOT_RING]);
		sent += hot->batch;
		if (sent % HOT_RING == 0 && baton_future_wait(&lap))
			abort();
	}
	await_all(member, sent);
	free(slots);
}

/* A home-made way: looks at the count of tasks that are done, and never lets the ring run empty. */
static void polling_submitter(struct team_member *member)
{
	struct hot *hot = member->context;
	struct slot *slots = new_ring(member);
	struct baton_task *pointers[HOT_RING];
	uint64_t sent = 0;
	uint64_t done = 0;
	unsigned turns = 0;

	point_at(pointers, slots);
	while (!team_stopped(member)) {
		if (sent - done > HOT_RING - hot->batch) {
			done = __atomic_load_n(&member->done, __ATOMIC_ACQUIRE);
			if (sent - done > HOT_RING - hot->batch) {
				team_wait(&turns);
				continue;
			}
			turns = 0;
		}
		slots[sent % HOT_RING].submitted = hot_stamp(member, sent);
		submit(hot, &pointers[sent % HOT_RING]);
		sent += hot->batch;
	}
	await_all(member, sent);
	free(slots);
}

/* Keeps no ring of tasks under way, since each batch is done when it is released. */
static void two_cases_submitter(struct team_member *member)
{
	struct hot *hot = member->context;
	struct slot *slots = new_ring(member);
	struct baton_task *pointers[HOT_RING];
	uint64_t sent = 0;

	point_at(pointers, slots);
	while (!team_stopped(member)) {
		struct baton_task **tasks = &pointers[sent % HOT_RING];

		slots[sent % HOT_RING].submitted = hot_stamp(member, sent);
		two_cases_acquire(&hot->word);
		for (unsigned i = 0; i < hot->batch; i++)
			(void)tasks[i]->_run(tasks[i]);
		two_cases_release(&hot->word);
		sent += hot->batch;
	}
	free(slots);
}

static void *posted(void *argument)
{
	struct team_member *owner = argument;
	struct hot *hot = owner->context;

	hot_body(hot, hot->work, 0);
	team_count(owner, 1);
	return NULL;
}

static inline __attribute__((always_inline)) void post_one(struct team_member *member, bool async)
{
	struct hot *hot = member->context;
	struct baton_future *future;

	if (async ? baton_async(&hot->resource, posted, member, &future)
	          : baton_post(&hot->resource, posted, member))
		abort();
	if (async)
		baton_future_unref(future);
}

/* The library's nodes: at most HOT_RING are under way, and no times are taken. Each lap's last one
 * is an async whose future is waited for. */
static inline __attribute__((always_inline)) void node_future_submitter(struct team_member *member,
                                                                        bool async)
{
	struct hot *hot = member->context;
	uint64_t sent = 0;

	while (!team_stopped(member)) {
		struct baton_future *lap;

		if (++sent % HOT_RING) {
			post_one(member, async);
			continue;
		}
		if (baton_async(&hot->resource, posted, member, &lap) || baton_future_wait(lap))
			abort();
		baton_future_unref(lap);
	}
	await_all(member, sent);
}

/* The same; looks at the count of tasks that are done. */
static inline __attribute__((always_inline)) void node_polling_submitter(struct team_member *member,
                                                                         bool async)
{
	uint64_t sent = 0;
	unsigned turns = 0;

	while (!team_stopped(member)) {
		if (sent % (HOT_RING / 2) == 0 &&
		    sent - __atomic_load_n(&member->done, __ATOMIC_ACQUIRE) > HOT_RING / 2) {
			team_wait(&turns);
			continue;
		}
		turns = 0;
		post_one(member, async);
		sent++;
	}
	await_all(member, sent);
}

static void post_submitter(struct team_member *member)
{
	node_future_submitter(member, false);
}

static void async_submitter(struct team_member *member)
{
	node_future_submitter(member, true);
}

static void polling_post_submitter(struct team_member *member)
{
	node_polling_submitter(member, false);
}

static void polling_async_submitter(struct team_member *member)
{
	node_polling_submitter(member, true);
}

static void run(const struct hot_async *load, team_body body, double *values)
{
	static struct hot hot;
	static struct baton_resource_config config;
	struct baton_pool_stats before;
	struct baton_pool_stats after;

	config = (struct baton_resource_config)BATON_RESOURCE_CONFIG_INIT;
	config.executor = hot_executor();
	if (load->capture_max)
		config.capture_max = load->capture_max;
	hot_begin(&hot, load);
	baton_resource_init(&hot.resource, &config);
	baton_pool_stats_read(hot_pool(), &before);
	hot_run(&hot, load, body, values);
	/* The tasks are done, but the job may still be in the pool's queue: only a closed resource
	 * is ours to initialise again after the await. */
	if (baton_resource_close(&hot.resource) || baton_resource_await(&hot.resource))
		abort();
	baton_pool_stats_read(hot_pool(), &after);
	values[HOT_WAKES] = (double)(after.woken - before.woken) * 1e3 / (double)hot.counter;
}

void hot_future_run(const void *setup, double *values)
{
	run(setup, future_submitter, values);
}

void hot_polling_run(const void *setup, double *values)
{
	run(setup, polling_submitter, values);
}

void hot_post_run(const void *setup, double *values)
{
	run(setup, post_submitter, values);
}

void hot_unref_run(const void *setup, double *values)
{
	run(setup, async_submitter, values);
}

void hot_polling_post_run(const void *setup, double *values)
{
	run(setup, polling_post_submitter, values);
}

void hot_polling_unref_run(const void *setup, double *values)
{
	run(setup, polling_async_submitter, values);
}

void hot_two_cases_run(const void *setup, double *values)
{
	static struct hot hot;
	const struct hot_async *load = setup;

	hot_begin(&hot, load);
	hot_run(&hot, load, two_cases_submitter, values);
}
