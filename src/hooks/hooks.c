/* SPDX-License-Identifier: MIT */
/*
 * Drain hooks: batch_begin and batch_end around each run of consecutive tasks, and completions that
 * are held back until the batch has ended (group commit).
 *
 * The batch lies on the drain's stack, and the runner's frame points to it. Only the runner touches
 * the batch; cycle.c reads it while the runner sleeps.
 *
 * Phases:
 *   NONE     -> OPEN      batch_begin has succeeded: before the first task that is entered
 *   NONE     -> REFUSED   batch_begin has failed: the tasks of this batch are not entered
 *   OPEN     -> NONE      batch_end has been called; the held-back completions are made next
 *   REFUSED  -> NONE      there is no batch_end
 *
 * Invariants:
 * hooks.open: A batch is OPEN only inside one drain. Before the runner gives the baton up, releases
 *    the resource, or fires awaiters, the drain ends the batch.
 * hooks.pairs: For each batch_begin that has succeeded there is one batch_end.
 * hooks.held_back: Held-back futures are RUNNING, have their own status and value in them, and are
 *    in the order in which their tasks ran. A future is held back only while the batch is OPEN, or
 *    until end_batch completes it. The batch touches none of their tasks: a task may have freed, or
 *    submitted, itself.
 *
 * Progress: blocking, where a hook blocks; otherwise that of the drain. No atomics here: the
 * linearisation points of the completions are in future.c.
 *
 * Wakes are gathered (law L5), up to WAKES_MAX at a time: between the completions of a batch no
 * function of the user's is called. The continuations are fired after all wakes.
 *
 * Source: group commit: D. DeWitt et al., "Implementation Techniques for Main Memory Database
 * Systems", 1984; D. Gawlick and D. Kinkade, "Varieties of Concurrency Control in IMS/VS Fast
 * Path", 1985.
 */
#include "core/batching.h"

#include <baton/hooks.h>

#include "base/futex.h"
#include "base/refused.h"
#include "thread/node.h"
#include "future/firing.h"
#include "core/label.h"
#include "core/run.h"
#include "core/drain.h"
#include "core/drop.h"
#include "core/stats.h"

#include <errno.h>
#include <limits.h>

#define HELD_MAX ((BATON__NODE_BODY_SIZE - 2 * sizeof(void *)) / sizeof(void *))
#define WAKES_MAX 64

enum phase { NONE, OPEN, REFUSED };

struct baton__batch {
	struct baton__stay *stay;
	struct held *first; /* the held-back futures, in nodes */
	struct held *last;
	struct baton_future *odd; /* the last held-back future, if no node could be allocated */
	struct baton_future *flushing; /* of the task that flushes: hidden from the hooks */
	uint64_t until_ns;             /* when the batch has lasted batch_ns; 0: no limit */
	uint32_t count;                /* the batch's tasks */
	uint32_t well;                 /* of these, the tasks that fail only if batch_end does */
	int status;                    /* what batch_begin returned */
	/* the first error of a hook that the running task's flushes have called, or 0 */
	int failed;
	enum phase phase;
	bool entered;  /* a task's function is running, and no hook in that function */
	bool answered; /* the completion of `until` is held back */
	bool flushed;  /* the hooks are called inside a task, in the task's context */
};

/* The body of a node: some held-back futures, in the order of their tasks. */
struct held {
	struct held *next;
	size_t count;
	struct baton_future *futures[HELD_MAX];
};

_Static_assert(sizeof(struct held) <= BATON__NODE_BODY_SIZE, "fits a node");

/* Work that follows the completions: sleepers to wake, by the addresses of their words (the memory
 * of a word may be gone), and continuations to fire, in order. */
struct aftermath {
	const uint32_t *words[WAKES_MAX];
	size_t count;
	struct baton_continuation *continuations;
	struct baton_continuation **end;
};

/* Sets up the batch of one drain, and points the frame of the stay to it. */
static void init_batch(struct baton__batch *batch, struct baton__stay *stay)
{
	*batch = (struct baton__batch){.stay = stay};
	stay->frame.batch = batch;
}

static struct baton_resource *resource_of(const struct baton__batch *batch)
{
	return batch->stay->frame.resource;
}

static const struct baton_resource_config *config_of(const struct baton__batch *batch)
{
	return baton__config(resource_of(batch));
}

/* Counts tasks that fail only because their batch has failed. */
static void count_failed(const struct baton__batch *batch, uint32_t tasks)
{
	struct baton_resource_stats *stats = baton__stats(resource_of(batch));

	if (stats)
		baton__count(&stats->failed, tasks);
}

/* Calls batch_begin or batch_end, in a context of its own unless it is called inside a task. */
static int call_hook(const struct baton__batch *batch, int (*hook)(struct baton_resource *resource))
{
	struct baton_resource *resource = resource_of(batch);
	const uintptr_t top = baton__self->top;
	int status;

	if (!batch->flushed)
		return baton__context_hook(resource, hook);
	if (!hook)
		return 0;
	status = hook(resource);
	baton__guard_returned(top);
	return status;
}

/* NONE -> OPEN or REFUSED. `entered` is false while the hook runs, which is no task. */
static void begin_batch(struct baton__batch *batch)
{
	const struct baton_resource_config *config = config_of(batch);

	batch->count = 0;
	batch->well = 0;
	batch->status = call_hook(batch, config->batch_begin);
	batch->phase = batch->status ? REFUSED : OPEN;
	batch->until_ns =
		config->batch_ns ? baton__time_after(baton__now_ns(), config->batch_ns) : 0;
}

static void wake_sleepers(struct aftermath *aftermath)
{
	for (size_t i = 0; i < aftermath->count; i++)
		baton__futex_wake(aftermath->words[i], INT_MAX);
	aftermath->count = 0;
}

/* Completes a held-back future; `status`: the batch's, for a task that has not failed by itself. */
static void complete_future(struct aftermath *aftermath, struct baton_future *future, int status)
{
	const uint32_t *word = &future->_state;
	void *value = future->_value;

	if (future->_status)
		status = future->_status;
	else if (status)
		value = NULL;
	if (baton__future_publish(future, status ? BATON__FUTURE_FAILED : BATON__FUTURE_DONE,
	                          status, value, aftermath->end))
		aftermath->words[aftermath->count++] = word;
	if (aftermath->count == WAKES_MAX)
		wake_sleepers(aftermath);
	/* Each continuation is walked over once. */
	while (*aftermath->end)
		aftermath->end = &(*aftermath->end)->_next;
}

/* A function of its own: drains that hold nothing back do not pay for this stack. */
static BATON_NOINLINE void complete_held(struct baton__batch *batch, int status)
{
	struct held *held = batch->first;
	struct baton_future *odd = batch->odd;
	struct aftermath aftermath;

	aftermath.count = 0;
	aftermath.continuations = NULL;
	aftermath.end = &aftermath.continuations;
	batch->first = NULL;
	batch->last = NULL;
	batch->odd = NULL;
	while (held) {
		struct held *next = held->next;

		for (size_t i = 0; i < held->count; i++)
			complete_future(&aftermath, held->futures[i], status);
		baton__node_free(held);
		held = next;
	}
	if (odd)
		complete_future(&aftermath, odd, status);
	wake_sleepers(&aftermath);
	baton__future_fire(aftermath.continuations);
}

/* OPEN -> NONE. Returns what batch_end returned. `entered` is false while the hook runs. */
static int end_batch(struct baton__batch *batch)
{
	const struct baton_resource_config *config = config_of(batch);
	int status = call_hook(batch, config->batch_end);

	/* Before the continuations are fired: what they call finds no batch open. */
	batch->phase = NONE;
	if (status)
		count_failed(batch, batch->well);
	if (batch->first || batch->odd)
		complete_held(batch, status);
	return status;
}

static bool end_open(struct baton__batch *batch)
{
	if (batch->phase == OPEN) {
		(void)end_batch(batch);
		return true;
	}
	batch->phase = NONE;
	return false;
}

static void hold_back(struct baton__batch *batch, struct baton_future *future, int status,
                      void *value)
{
	struct held *held = batch->last;

	/* unshared: a thread reads status and value only after it has seen the future complete
	 * (future.final, future.c) */
	future->_status = status;
	future->_value = value;
	if (future == batch->stay->until)
		batch->answered = true;
	if (!held || held->count == HELD_MAX) {
		held = baton__node_alloc(sizeof(*held));
		if (!held) {
			batch->odd = future;
			return;
		}
		held->next = NULL;
		held->count = 0;
		if (batch->last)
			batch->last->next = held;
		else
			batch->first = held;
		batch->last = held;
	}
	held->futures[held->count++] = future;
}

static bool holds(const struct baton__batch *batch, const struct baton_future *future)
{
	for (const struct held *held = batch->first; held; held = held->next)
		for (size_t i = 0; i < held->count; i++)
			if (held->futures[i] == future)
				return true;
	return batch->odd == future || batch->flushing == future;
}

/* batch_begin has failed: completes the task, which has been claimed, with the batch's status. */
static void refuse_task(struct baton__batch *batch, struct baton_task *task)
{
	struct baton_resource *resource = resource_of(batch);
	struct baton_resource_stats *stats = baton__stats(resource);
	struct baton_future *future = baton__task_future(task);
	const bool tells = baton__tells(task);

	if (!future) {
		baton__cancel_entered(resource, task);
		return;
	}
	if (stats)
		baton__count(&stats->cancelled, 1);
	baton__entry_dropped(task);
	baton__future_finish(future, BATON__FUTURE_FAILED, batch->status, NULL, NULL);
	if (tells)
		baton__tell_cancelled(resource, task);
}

/* Has the batch as many tasks as it may have, or lasted as long as it may? */
static bool batch_is_full(const struct baton__batch *batch)
{
	const struct baton_resource_config *config = config_of(batch);

	if (batch->odd || (config->batch_max && batch->count >= config->batch_max))
		return true;
	return batch->until_ns && baton__now_ns() >= batch->until_ns;
}

/* Counts a task. Ends the batch if it is full. */
static void count_task(struct baton__batch *batch)
{
	batch->count++;
	if (batch_is_full(batch))
		(void)end_open(batch);
}

static bool enter_in_batch(struct baton__batch *batch, struct baton_task *task)
{
	if (batch->phase == NONE)
		begin_batch(batch);
	batch->entered = batch->phase == OPEN;
	batch->failed = 0;
	if (!batch->entered) {
		refuse_task(batch, task);
		count_task(batch);
	}
	return batch->entered;
}

static void entered(struct baton__batch *batch, struct baton_future *future, int status,
                    void *value)
{
	const bool detached = value == BATON__DETACHED;
	/* REFUSED here: a flush could not begin a new batch. No batch_end will come: so the future
	 * is not held back. */
	const bool held = config_of(batch)->delay_completions && batch->phase == OPEN;

	batch->entered = false;
	if (!status && batch->failed) {
		status = batch->failed;
		value = NULL;
		count_failed(batch, !detached);
	}
	batch->well += !status && held && !detached;
	if (future && held)
		hold_back(batch, future, status, value);
	else if (future)
		baton__future_finish(future, status ? BATON__FUTURE_FAILED : BATON__FUTURE_DONE,
		                     status, value, NULL);
	count_task(batch);
}

/*
 * A helper waits for a future that this batch holds back: the helper runs further tasks in the same
 * batch, up to a quantum. If it left at once, each helper would have a batch of its own.
 */
static void cut_helper_stay(struct baton__batch *batch)
{
	uint32_t quantum = baton__quantum(config_of(batch));

	if (batch->answered && batch->stay->tasks > quantum)
		batch->stay->tasks = quantum;
}

static bool drain_in_batches(struct baton__stay *stay)
{
	struct baton__batch batch;
	bool over;

	init_batch(&batch, stay);
	over = baton__drain_batched(stay, &batch);
	stay->frame.batch = NULL;
	return over;
}

static void run_alone(struct baton__stay *stay, struct baton_task *task)
{
	struct baton__batch batch;

	init_batch(&batch, stay);
	baton__run_task(baton__self, &stay->frame, stay->frame.resource, task, &batch,
	                baton__has_context(stay->frame.resource));
	(void)end_open(&batch);
	stay->frame.batch = NULL;
}

const struct baton__batching baton__batching = {
	.drain = drain_in_batches,
	.run_alone = run_alone,
	.enter = enter_in_batch,
	.entered = entered,
	.look = cut_helper_stay,
	.end = end_open,
	.holds = holds,
};

BATON_EXPORT int baton_batch_flush(void)
{
	struct baton__frame *frame = baton__top_running(baton__self);
	struct baton__batch *batch;
	void *value;
	int status = 0;

	BATON_REQUIRE(frame && frame->resource,
	              "this thread runs no task: flush in a task's function");
	if (!baton__hooked(frame->resource))
		return 0;
	batch = frame->batch;
	if (!batch || !batch->entered)
		return -EBUSY;
	/* The hooks must not see the task's future and value. */
	batch->flushing = frame->future;
	value = frame->value;
	frame->future = NULL;
	batch->entered = false;
	batch->flushed = true;
	if (batch->phase == OPEN)
		status = end_batch(batch);
	begin_batch(batch);
	batch->flushed = false;
	if (!status)
		status = batch->status;
	if (!batch->failed)
		batch->failed = status;
	batch->entered = true;
	frame->future = batch->flushing;
	frame->value = value;
	batch->flushing = NULL;
	return status == -EINVAL
	               ? baton__refused("baton_batch_flush: a drain hook has returned this error")
	               : status;
}
