/* SPDX-License-Identifier: MIT */
/*
 * Fan-outs: one allocated block with a header and all items. Each item is a task with a future of
 * its own: so a waiter can help the item's resource, and a cancel_pending is seen. One promise is
 * for all items together.
 *
 * Invariants:
 * fan_out.left: `left` counts the items that are not over, and the submitter until it has submitted
 *    all items. The continuation of an item's future counts the item down; no thread touches that
 *    future afterwards. So the thread that brings `left` to 0 may have the block freed. No
 *    continuation runs for an item that the submitter has run itself, and whose future no other
 *    thread has touched: the submitter counts these items down together, when it has submitted all.
 * fan_out.references: `references` counts the references from outside, and has the bit COUNTDOWN
 *    until the countdown is over. The thread that makes the word 0 frees the block. So the block
 *    exists until each item is over and the promise is complete.
 * fan_out.continuation: The continuation is in an item's future before the submit, which spares a
 *    then(). No other thread cancels or chains that future.
 *
 * Linearisation points: an item is over with the step that makes its future final; the fan-out is
 * over with the last decrement of `left`. Progress: no step waits for another thread.
 */
#include "core/resource.h"

#include <baton/fan_out.h>

#include "base/atomic.h"
#include "base/checked.h"
#include "base/futex.h"
#include "base/refused.h"
#include "core/guard.h"
#include "core/label.h"
#include "core/place.h"
#include "core/run.h"
#include "core/stats.h"
#include "core/submit.h"
#include "wait/cycle.h"

#include <errno.h>
#include <stdlib.h>

/* In `references`: the countdown is not over. */
#define COUNTDOWN 0x80000000U

#define NO_REFERENCE "there is no reference left: one unref too many"

struct item {
	struct baton_task task;
	struct baton_future future;
	/* _target: the resource; NULL: the function was not run. _subject: the fan-out. */
	struct baton_continuation continuation;
};

/* An item with a label. */
struct stamped_item {
	struct item item;
	struct baton_stamp stamp;
};

struct baton_fan_out {
	struct baton_future promise;
	struct baton_future over; /* completed if the user has cancelled `promise` */
	struct baton_fan_out_options options;
	void *carried; /* by each item */
	size_t count;
	size_t stride;  /* from one item to the next */
	uint64_t first; /* index << 32 | status of the first item not done; 0: none */
	uint32_t stop;  /* items that have not started must not run */
	uint32_t references;
	uint32_t left; /* fan_out.left */
	uint32_t failed;
	uint32_t cancelled;
	uint32_t done; /* CANCEL_ON_SUCCESS: index + 1 of the first item that is done; 0: none */
	const struct baton__thread *submitter; /* until it has submitted all items */
	struct item items[];
};

_Static_assert(BATON_FAN_OUT_MAX < INT32_MAX + 1LL, "an index and 1 fit 32 bits");

static struct item *item_at(struct baton_fan_out *fan_out, size_t index)
{
	return (struct item *)(void *)((char *)fan_out->items + index * fan_out->stride);
}

static size_t index_of(const struct baton_fan_out *fan_out, const struct item *item)
{
	return (size_t)((char *)item - (char *)fan_out->items) / fan_out->stride;
}

BATON_EXPORT struct baton_fan_out *baton_fan_out_ref(struct baton_fan_out *fan_out)
{
	BATON__CHECKED(owned(fan_out, __func__));
	/* Relaxed: the caller has a reference, so no thread frees the fan-out meanwhile. */
	BATON_REQUIRE(add_relaxed(&fan_out->references, 1) & ~COUNTDOWN, NO_REFERENCE);
	return fan_out;
}

/* Gives up what `reference` stands for: 1, or COUNTDOWN. Returns the word before. */
static uint32_t drop_reference(struct baton_fan_out *fan_out, uint32_t reference)
{
	/* [fan_out.reference] release: this thread's use; pairs with [fan_out.reference] below, in
	 * the last one */
	const uint32_t before = sub_acq_rel(&fan_out->references, reference);

	/* [fan_out.reference] acquire, by the same operation: the use by other threads; pairs with
	 * [fan_out.reference] above, in theirs */
	if (before == reference) {
		BATON__CHECKED(ended(fan_out, NULL, "baton_fan_out_unref"));
		free(fan_out);
	}
	return before;
}

BATON_EXPORT void baton_fan_out_unref(struct baton_fan_out *fan_out)
{
	BATON__CHECKED(owned(fan_out, __func__));
	BATON_REQUIRE(drop_reference(fan_out, 1) & ~COUNTDOWN, NO_REFERENCE);
}

/* Was the fan-out cancelled, or stopped by the outcome of an item? */
static bool stopped(struct baton_fan_out *fan_out)
{
	/* [fan_out.stop] acquire: `first` or `done`; pairs with [fan_out.stop] in stop. Relaxed
	 * goes unnoticed: as in stop. */
	return load_acquire(&fan_out->stop) ||
	       baton_future_state(&fan_out->promise) == BATON_CANCELLED;
}

/* Counts down `over` items; 1 more: the submitter, which has submitted all. */
static void count_down(struct baton_fan_out *fan_out, uint32_t over)
{
	int status;

	/* [fan_out.item] release: the item; pairs with [fan_out.item] below, in the last
	 * count_down */
	if (sub_acq_rel(&fan_out->left, over) != over)
		return;
	/* [fan_out.item] acquire, by the same operation: all items; pairs with [fan_out.item]
	 * above, in their count_down */
	status = baton_fan_out_status(fan_out, NULL);
	/* Fails if the user has cancelled the promise. */
	if (baton_future_complete(&fan_out->promise, status, fan_out))
		(void)baton_future_complete(&fan_out->over, 0, NULL);
	(void)drop_reference(fan_out, COUNTDOWN); /* last touch */
}

/* Records the outcome of the first item that is not done. */
static void record(struct baton_fan_out *fan_out, const struct item *item, int status)
{
	uint64_t index = index_of(fan_out, item);
	uint64_t none = 0;

	/* Relaxed: count_down publishes it. */
	(void)cas_relaxed(&fan_out->first, &none, index << 32 | (uint32_t)status);
}

/* No further item starts. The item that is the reason has been recorded. */
static void stop(struct baton_fan_out *fan_out)
{
	/* [fan_out.stop] release: `first` or `done`; pairs with [fan_out.stop] in stopped. Relaxed
	 * goes unnoticed: [fan_out.stop] orders the failure and the items that are cancelled
	 * because of it, and the explorer's modification order is that of execution. */
	store_release(&fan_out->stop, 1);
}

/* Records before the stop: items that the stop cancels record themselves, too, and only the first
 * record counts. */
static void failed(struct baton_fan_out *fan_out, const struct item *item, int status)
{
	record(fan_out, item, status);
	if (fan_out->options.flags & BATON_FAN_OUT_CANCEL_ON_FAILURE)
		stop(fan_out);
}

/* The item is done: with CANCEL_ON_SUCCESS the first one stops the fan-out. */
static void succeeded(struct baton_fan_out *fan_out, const struct item *item)
{
	uint32_t none = 0;

	if (!(fan_out->options.flags & BATON_FAN_OUT_CANCEL_ON_SUCCESS))
		return;
	/* Relaxed: as in record. */
	if (cas_relaxed(&fan_out->done, &none, (uint32_t)index_of(fan_out, item) + 1))
		stop(fan_out);
}

/* The continuation of an item's future (fan_out.left). */
static void item_over(struct baton_continuation *continuation)
{
	struct baton_fan_out *fan_out = (struct baton_fan_out *)continuation->_subject;
	struct item *item = baton_container_of(continuation, struct item, continuation);
	bool cancelled = baton_future_state(&item->future) == BATON_CANCELLED;
	int status = baton_future_status(&item->future);

	if (status) {
		/* Also where the function has returned 0: the drain hooks may have failed. */
		if (cancelled)
			record(fan_out, item, status);
		else
			failed(fan_out, item, status);
		/* Relaxed: as in record. */
		(void)add_relaxed(continuation->_target && !cancelled ? &fan_out->failed
		                                                      : &fan_out->cancelled,
		                  1);
	} else {
		succeeded(fan_out, item);
	}
	count_down(fan_out, 1);
}

static int call_fn(struct baton_fan_out *fan_out, struct item *item)
{
	struct baton_resource *resource = (struct baton_resource *)item->continuation._target;
	const uintptr_t top = baton__self->top;
	struct baton__carried carried;
	int status;

	if (BATON_UNLIKELY(fan_out->carried))
		baton__carry_begin(&carried, fan_out->carried);
	status = fan_out->options.fn(resource, fan_out->options.arg, index_of(fan_out, item));
	baton__guard_returned(top);
	if (BATON_UNLIKELY(fan_out->carried))
		baton__carry_end(&carried);
	if (status)
		failed(fan_out, item, status);
	return status;
}

static int run_item(struct baton_task *task)
{
	struct item *item = baton_container_of(task, struct item, task);
	struct baton_fan_out *fan_out = (struct baton_fan_out *)item->continuation._subject;

	if (!stopped(fan_out))
		return call_fn(fan_out, item);
	item->continuation._target = NULL;
	return baton__not_to_run();
}

/* An item that the submitter runs itself, and the number of items that it must count down. */
struct here {
	struct item *item;
	uint32_t over;
};

/* Under the baton. Usually no other thread has seen the future: then one CAS completes it, instead
 * of claim and finish. */
static void *run_item_here(void *argument)
{
	struct here *here = argument;
	struct item *item = here->item;
	struct baton_fan_out *fan_out = (struct baton_fan_out *)item->continuation._subject;
	struct baton_resource *resource = (struct baton_resource *)item->continuation._target;
	uint32_t untouched = BATON__FUTURE_CHAINED;
	int status;

	/* The store lets a function that waits for its own item learn that this thread holds the
	 * resource. Relaxed: a thread that has the fan-out has seen the resources initialised. */
	store_relaxed(&item->future._resource, resource);
	/* A second look, under the baton: only here is a stop by an earlier item of this resource
	 * certainly seen. */
	if (stopped(fan_out) || !baton__stamp_enter(&item->task)) {
		baton__entry_dropped(&item->task);
		baton__future_finish(&item->future, BATON__FUTURE_CANCELLED, -ECANCELED, NULL,
		                     baton__turn_visits(resource));
		return NULL;
	}
	status = call_fn(fan_out, item);
	if (!status)
		succeeded(fan_out, item);
	/* Release: all that the function did; future.final, future.h */
	if (!status && cas_release(&item->future._state, &untouched, BATON__FUTURE_DONE))
		here->over++;
	else
		baton__future_finish(&item->future,
		                     status ? BATON__FUTURE_FAILED : BATON__FUTURE_DONE, status,
		                     NULL, baton__turn_visits(resource));
	return NULL;
}

static const struct baton_task_type stamped_item_type = {
	.run = run_item,
	.future = BATON_TASK_PLACE(struct stamped_item, item.task, item.future),
	.stamp = BATON_TASK_PLACE(struct stamped_item, item.task, stamp),
	._flags = BATON__KIND_HAS_FUTURE,
};

static void give_label(struct item *item, const struct baton_label *label)
{
	baton_stamp_set(&((struct stamped_item *)item)->stamp, label);
	baton__type_set(&item->task, &stamped_item_type);
}

static struct baton_fan_out *create_fan_out(struct baton_resource *const *resources, size_t count,
                                            const struct baton_fan_out_options *options)
{
	const size_t stride = options->label ? sizeof(struct stamped_item) : sizeof(struct item);
	struct baton_fan_out *fan_out = calloc(1, sizeof(*fan_out) + count * stride);

	if (!fan_out)
		return NULL;
	baton_promise_init(&fan_out->promise);
	baton_promise_init(&fan_out->over);
	fan_out->options = *options;
	fan_out->carried = baton__carried();
	fan_out->count = count;
	fan_out->stride = stride;
	fan_out->references = COUNTDOWN;
	fan_out->left = (uint32_t)count + 1;
	for (size_t i = 0; i < count; i++) {
		struct item *item = item_at(fan_out, i);

		baton_task_init(&item->task, run_item, &item->future);
		if (options->label)
			give_label(item, options->label);
		item->continuation =
			(struct baton_continuation){NULL, item_over, resources[i], fan_out};
		/* unshared, both: nobody else has seen it yet */
		item->future._state = BATON__FUTURE_CHAINED;
		item->future._continuations = &item->continuation;
	}
	BATON__CHECKED(made(fan_out, NULL, "baton_fan_out_submit"));
	return fan_out;
}

/* Submits one item, or ends it. The future of an item that is ended here is not bound to a
 * resource, so there is no visitor to count. */
static void begin_item(struct baton_fan_out *fan_out, struct here *here)
{
	struct item *item = here->item;
	struct baton_resource *resource = (struct baton_resource *)item->continuation._target;
	bool later = fan_out->options.flags & BATON_FAN_OUT_LATER;
	int error;

	if (stopped(fan_out)) {
		baton__entry_dropped(&item->task);
		baton__future_finish(&item->future, BATON__FUTURE_CANCELLED, -ECANCELED, NULL,
		                     NULL);
		return;
	}
	/* With drain hooks an item is over only when its batch has ended. Statistics count a task
	 * as executed, failed or cancelled, but each call as executed. In both cases the item must
	 * be a task. */
	if (!later && !baton__too_deep(baton__self) && !baton__hooked(resource) &&
	    !baton__stats(resource) && !baton_try_call(resource, run_item_here, here, NULL))
		return;
	error = baton__submit(resource, &item->task,
	                      later ? BATON__SUBMIT_NO_WAIT | BATON__SUBMIT_LATER
	                            : BATON__SUBMIT_NO_WAIT);
	if (!error)
		return;
	baton__entry_dropped(&item->task);
	failed(fan_out, item, error);
	baton__future_finish(&item->future, BATON__FUTURE_FAILED, error, NULL, NULL);
}

static bool flags_valid(uint32_t flags)
{
	const uint32_t one_of = BATON_FAN_OUT_CANCEL_ON_FAILURE | BATON_FAN_OUT_CANCEL_ON_SUCCESS;

	return !(flags & ~(one_of | BATON_FAN_OUT_LATER)) && (flags & one_of) != one_of;
}

static int fan_out_refused(size_t count, const struct baton_fan_out_options *options)
{
	if (count > BATON_FAN_OUT_MAX)
		return baton__refused("baton_fan_out_submit: count is above BATON_FAN_OUT_MAX");
	if (!options->fn)
		return baton__refused("baton_fan_out_submit: fn is NULL");
	if (!flags_valid(options->flags))
		return baton__refused("baton_fan_out_submit: flags are unknown, or contradict "
		                      "each other");
	if (options->label && options->label->lane >= BATON_LANES_MAX)
		return baton__refused("baton_fan_out_submit: the label's lane is not below "
		                      "BATON_LANES_MAX");
	if (BATON__UNKNOWN(options))
		return baton__refused("baton_fan_out_submit: a word of _reserved is not zero");
	return 0;
}

BATON_EXPORT int baton_fan_out_submit(struct baton_resource *const *resources, size_t count,
                                      const struct baton_fan_out_options *options,
                                      struct baton_fan_out **result)
{
	BATON__CHECKED(resources(resources, count, __func__));

	struct baton_fan_out *fan_out;
	struct here here = {NULL, 0};
	int error = fan_out_refused(count, options);

	if (error)
		return BATON__ANSWER(NULL, error);
	error = baton__thread_attach();
	if (error)
		return error;
	fan_out = create_fan_out(resources, count, options);
	if (!fan_out)
		return -ENOMEM;
	if (result) {
		fan_out->references++; /* unshared: nobody else has seen it yet */
		*result = fan_out;
	}
	/* Relaxed, both: only this thread finds itself in `submitter`. */
	store_relaxed(&fan_out->submitter, baton__self);
	for (size_t i = 0; i < count; i++) {
		here.item = item_at(fan_out, i);
		begin_item(fan_out, &here);
	}
	store_relaxed(&fan_out->submitter, NULL);
	count_down(fan_out, here.over + 1); /* last touch, but for the caller's reference */
	return 0;
}

BATON_EXPORT int baton_fan_out_wait_until(struct baton_fan_out *fan_out, uint64_t deadline_ns)
{
	BATON__CHECKED(owned(fan_out, __func__));

	int error;

	/* The submit is further down this thread's stack, and would never submit its other items.
	 * Relaxed: see baton_fan_out_submit(). */
	if (baton__self && load_relaxed(&fan_out->submitter) == baton__self)
		return baton__cycle_of_one(baton_current());
	/* Waits for the items, not for the promise: a wait for an item helps the item's resource.
	 * The wait begins with the last item. When that item is over, most other items are over,
	 * too: this thread then sleeps once. */
	for (size_t i = fan_out->count; i > 0; i--) {
		error = baton_future_wait_until(&item_at(fan_out, i - 1)->future, deadline_ns);
		if (error)
			return error;
	}
	/* Ended by the threads that are about to count down, and by the submitter. */
	error = baton_future_wait_until(&fan_out->promise, deadline_ns);
	if (!error && baton_future_state(&fan_out->promise) == BATON_CANCELLED)
		error = baton_future_wait_until(&fan_out->over, deadline_ns);
	return error;
}

BATON_EXPORT int baton_fan_out_wait(struct baton_fan_out *fan_out)
{
	return baton_fan_out_wait_until(fan_out, BATON_FOREVER);
}

BATON_EXPORT struct baton_future *baton_fan_out_future(struct baton_fan_out *fan_out)
{
	BATON__CHECKED(owned(fan_out, __func__));
	return &fan_out->promise;
}

BATON_EXPORT int baton_fan_out_status(const struct baton_fan_out *fan_out, size_t *index)
{
	BATON__CHECKED(owned(fan_out, __func__));

	/* Relaxed: a thread that has seen the promise complete has the outcome by fan_out.item and
	 * the promise. */
	uint64_t first = load_relaxed(&fan_out->first);
	uint32_t done = load_relaxed(&fan_out->done);

	if (done) {
		if (index)
			*index = done - 1;
		return 0;
	}
	if (first && index)
		*index = (size_t)(first >> 32);
	return (int32_t)(uint32_t)first;
}

BATON_EXPORT int baton_fan_out_item_status(const struct baton_fan_out *fan_out, size_t index)
{
	BATON__CHECKED(owned(fan_out, __func__));
	BATON_REQUIRE(index < fan_out->count, "there is no such item");
	return baton_future_status(
		&item_at((struct baton_fan_out *)(uintptr_t)fan_out, index)->future);
}

BATON_EXPORT void baton_fan_out_stats_read(const struct baton_fan_out *fan_out,
                                           struct baton_fan_out_stats *copy)
{
	BATON__CHECKED(owned(fan_out, __func__));

	/* Relaxed, all: as in status. `left` may count the submitter, which is no item. */
	uint32_t left = load_relaxed(&fan_out->left);

	copy->count = fan_out->count;
	copy->left = left > fan_out->count ? fan_out->count : left;
	copy->failed = load_relaxed(&fan_out->failed);
	copy->cancelled = load_relaxed(&fan_out->cancelled);
}

BATON_EXPORT int baton_fan_out_cancel(struct baton_fan_out *fan_out)
{
	BATON__CHECKED(owned(fan_out, __func__));

	uint32_t running = 0;

	if (baton_future_is_complete(&fan_out->promise))
		return -EALREADY;
	/* Relaxed: publishes nothing. Linearisation point. */
	return cas_relaxed(&fan_out->stop, &running, 1) ? 0 : -EALREADY;
}
