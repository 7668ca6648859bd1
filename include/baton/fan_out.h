/* SPDX-License-Identifier: MIT */
/*
 * A fan-out submits one function to many resources, with one allocation. The fan-out is over when
 * the function has run on all of them: there is one future for all, and one wake. For an idle
 * resource the function runs on this thread (not with BATON_FAN_OUT_LATER), for a busy resource on
 * the runner's thread, or on the executor's thread.
 *
 * Experimental: may change without a table in CHANGES until a program from a real need uses it.
 *
 *	static int deliver(struct baton_resource *session, void *message, size_t index);
 *
 *	struct baton_fan_out_options options = {.fn = deliver, .arg = message};
 *	struct baton_fan_out *fan_out;
 *	int error = baton_fan_out_submit(sessions, count, &options, &fan_out);
 *	if (!error) {
 *		error = baton_fan_out_wait(fan_out);
 *		...baton_fan_out_status(fan_out, &index)...
 *		baton_fan_out_unref(fan_out);
 *	}
 *
 *                            | may run beside            | from
 *   wait, future, status,    | everything                | any thread; wait: see -EDEADLK
 *   counts, item_status      |                           |
 *   cancel, ref, unref       | everything                | any thread, also inside its function
 *
 * Source: Cilk's and Java's countdown (CountDownLatch, CompletableFuture.allOf); structured
 * concurrency's "cancel the rest when one fails" (Trio, Java's ShutdownOnFailure).
 */
#ifndef BATON_FAN_OUT_H
#define BATON_FAN_OUT_H

#include <stddef.h>
#include <stdint.h>

#include <baton/attributes.h>
#include <baton/future.h>
#include <baton/label.h>
#include <baton/resource.h>
#include <baton/time.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Runs once for each resource, under its baton; `index`: the resource's place in the array. Returns
 * 0, or a status, with which this item has failed. The function may do whatever tasks may, except
 * detach itself (detach.h). Where there are drain hooks the item is over when its batch has ended,
 * and may fail with the hooks' status instead.
 */
typedef int (*baton_fan_out_fn)(struct baton_resource *resource, void *arg, size_t index);

/* When an item fails, the items that have not started do not run. */
#define BATON_FAN_OUT_CANCEL_ON_FAILURE 1U
/* When an item is done, the items that have not started do not run: one answer is enough. */
#define BATON_FAN_OUT_CANCEL_ON_SUCCESS 4U
/* Runs nothing on the submitting thread: as baton_submit_later. */
#define BATON_FAN_OUT_LATER 2U

struct baton_fan_out_options {
	baton_fan_out_fn fn;
	void *arg;
	uint32_t flags;
	/* The label of each item; NULL: none. Stamped during the submit; the lane is below
	 * BATON_LANES_MAX. */
	const struct baton_label *label;
	uint64_t _reserved[4];
};

/* At most so many items. */
#define BATON_FAN_OUT_MAX 0x7fffffff

struct baton_fan_out;

/*
 * Submits the function to `count` resources, in this order, as baton_submit() would. On idle
 * resources the function runs here, one after the other. Busy resources run it in their turn. A
 * resource that is in the array several times runs it several times.
 *
 * `*fan_out` is set before the first item is submitted, so that the function may use it. End the
 * reference with baton_fan_out_unref(), whether the fan-out is over or not. `fan_out` may be NULL:
 * then no thread can wait for the fan-out, or read its outcome.
 *
 * A resource that refuses (-EPIPE: closed, -EAGAIN: its bound, and so on) does not keep the others
 * from running: its item has failed with that error.
 *
 * Thread safety: any thread. Blocking: never. Stack: the same for any count.
 * Ownership: the array is not used after this call; each resource must live until its item is over.
 * Errors: nothing is submitted, *fan_out is untouched: -EINVAL: more than BATON_FAN_OUT_MAX items,
 * no function, an unknown flag, both CANCEL_ON_FAILURE and CANCEL_ON_SUCCESS, or the label's lane.
 * -ENOMEM.
 */
BATON_MUST_USE int baton_fan_out_submit(struct baton_resource *const *resources, size_t count,
                                        const struct baton_fan_out_options *options,
                                        struct baton_fan_out **fan_out) BATON_NONNULL_AT(3);

/*
 * Waits until every item is over: has run, was refused or cancelled; or until `deadline_ns`
 * (time.h). Helps as baton_future_wait() does, with each resource that is queued.
 *
 * Blocking: yes. Errors: those of baton_future_wait(): -EDEADLK: an item waits for a resource
 * that this very thread holds, or runs on this very thread; the fan-out's submit is further down
 * this thread's stack. -ETIMEDOUT.
 */
BATON_MUST_USE int baton_fan_out_wait(struct baton_fan_out *fan_out) BATON_NONNULL;
BATON_MUST_USE int baton_fan_out_wait_until(struct baton_fan_out *fan_out,
                                            uint64_t deadline_ns) BATON_NONNULL;

/*
 * The fan-out's future: complete when every item is over. Done, or failed with the status of the
 * first item that failed; its value is the fan-out. For polling and baton_future_then(). A thread
 * that waits for it helps no resource: see baton_fan_out_wait(). A baton_future_cancel() on it
 * completes it immediately, and cancels the fan-out.
 *
 * Thread safety: any thread. Ownership: the future lives as long as the reference.
 */
struct baton_future *baton_fan_out_future(struct baton_fan_out *fan_out) BATON_NONNULL;

/*
 * The status of the item that failed first, and its index through `*index` (may be NULL; untouched
 * if no item has failed). An item that is cancelled counts as failed with -ECANCELED. The status is
 * final when the fan-out is over.
 *
 * With BATON_FAN_OUT_CANCEL_ON_SUCCESS, after the first success: 0, and the index of the item that
 * succeeded first. Without a success the status is that of a fan-out without the flag.
 *
 * Returns: 0 (no item has failed), or that status; -ECANCELED: an item was cancelled.
 */
int baton_fan_out_status(const struct baton_fan_out *fan_out, size_t *index) BATON_NONNULL_AT(1);

/*
 * The status of one item. `index` is less than the count of items.
 *
 * Returns: 0; the status with which the item failed; -ECANCELED: the item was cancelled; -EAGAIN:
 * the item is not over.
 */
int baton_fan_out_item_status(const struct baton_fan_out *fan_out, size_t index) BATON_NONNULL;

/* What the items of a fan-out have done. */
struct baton_fan_out_stats {
	size_t count; /* items */
	/* of these, the function or a drain hook failed, or the item was refused */
	size_t failed;
	size_t cancelled; /* of these, the function was not run, and never will be */
	size_t left;      /* of these, not over yet */
};

/* Copies the counts. The counts are not of one moment; they agree when the fan-out is over (count =
 * failed + cancelled + items done). `left` may be too large until the submit has returned; apart
 * from this, each count is exact. Any thread. */
void baton_fan_out_stats_read(const struct baton_fan_out *fan_out,
                              struct baton_fan_out_stats *copy) BATON_NONNULL;

/*
 * Cancels the fan-out: items that have not started do not run their function. The call marks, in
 * one step, and returns; a cancelled item is over when its resource comes to it.
 *
 * Returns: 0; -EALREADY: every item is over, or the fan-out was cancelled before.
 * Thread safety: any thread. Blocking: never.
 */
int baton_fan_out_cancel(struct baton_fan_out *fan_out) BATON_NONNULL;

/*
 * ref: one more reference; returns the fan-out. unref: gives a reference back.
 *
 * Thread safety: a thread that holds a reference. Blocking: never.
 * Ownership: the last unref frees the fan-out, when its items are over. It cancels nothing.
 */
struct baton_fan_out *baton_fan_out_ref(struct baton_fan_out *fan_out) BATON_NONNULL;
void baton_fan_out_unref(struct baton_fan_out *fan_out) BATON_NONNULL;

#ifdef __cplusplus
}
#endif

#endif
