/* SPDX-License-Identifier: MIT */
/*
 * A queued resource whose executor, a stash, runs nothing by itself: a task that has run was run by
 * a submitter.
 */
#ifndef BATON_TEST_LOANS_H
#define BATON_TEST_LOANS_H

#include "stash.h"

#include "core/contention.h"
#include "core/loan.h"

#include <baton/label.h>
#include <baton/suspend.h>

#include <stdlib.h>

#include "../parts.h"

#define FIRST BATON_LOAN_SKIP_MIN /* pushes of a new thread before its first loan */
#define LAST BATON_LOAN_SKIP_MAX
#define LIMIT 10

/* A resource whose tasks say in which order they ran. */
struct queue {
	struct baton_resource resource;
	struct baton_resource_config config;
	struct stash stash;
	atomic_int ran;
	atomic_int disorder;
	int submitted;
};

struct entry {
	struct stamped stamped; /* plain, if without lanes */
	struct queue *queue;
	int number;
};

static inline int entry_run(struct baton_task *task)
{
	struct entry *entry = (struct entry *)(void *)task;

	if (atomic_fetch_add(&entry->queue->ran, 1) != entry->number)
		atomic_fetch_add(&entry->queue->disorder, 1);
	free(entry);
	return 0;
}

static inline struct entry *entry_new(struct queue *queue, struct baton_future *future)
{
	struct entry *entry = malloc(sizeof(*entry));

	_Static_assert(offsetof(struct entry, stamped.task) == 0, "a task is its entry");
	cr_assert_not_null(entry);
	entry->queue = queue;
	entry->number = queue->submitted++;
	baton_task_init(&entry->stamped.task, entry_run, future);
	return entry;
}

static inline int put(struct queue *queue)
{
	return baton_submit(&queue->resource, &entry_new(queue, NULL)->stamped.task);
}

static inline void put_many(struct queue *queue, int count)
{
	for (int i = 0; i < count; i++)
		cr_assert_eq(put(queue), 0);
}

static inline int waiting(struct queue *queue)
{
	return queue->submitted - atomic_load(&queue->ran);
}

/* The calling thread forgets its loans, as if it were new. */
static inline void thread_forgets(void)
{
	cr_assert_eq(baton__thread_attach(), 0);
	baton__self->learnt.loan_skip = FIRST;
	baton__self->learnt.loan_next = FIRST;
	baton__self->learnt.loan_eager = 0;
}

/* Begins a queued resource with `count` tasks. */
static inline void queue_begin_limited(struct queue *queue, int count, uint32_t limit)
{
	struct baton_suspension suspension = BATON_SUSPENSION_INIT;

	thread_forgets();
	*queue = (struct queue){.config = BATON_RESOURCE_CONFIG_INIT};
	stash_init(&queue->stash);
	queue->config.executor = &queue->stash.executor;
	queue->config.capture_max = limit;
	baton_resource_init(&queue->resource, &queue->config);
	cr_assert_eq(baton_resource_suspend(&queue->resource, &suspension), 0);
	put_many(queue, count);
	cr_assert_eq(baton_resource_resume_later(&suspension), 0);
	cr_assert_eq(atomic_load(&queue->stash.count), 1);
}

static inline void queue_begin(struct queue *queue, int count)
{
	queue_begin_limited(queue, count, LIMIT);
}

static inline void queue_end_waiting(struct queue *queue)
{
	stash_run(&queue->stash);
	resource_end(&queue->resource);
}

static inline void queue_end(struct queue *queue)
{
	queue_end_waiting(queue);
	cr_assert_eq(waiting(queue), 0);
	cr_assert_eq(atomic_load(&queue->disorder), 0);
}

#endif
