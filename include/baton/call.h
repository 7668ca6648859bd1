/* SPDX-License-Identifier: MIT */
/*
 * Posts, asyncs and calls with options: a label, a function that is told of a cancel, a run on
 * another thread, a time limit.
 *
 *	const struct baton_call_options options = {
 *		.fn = publish, .arg = message, .cancelled = free_message, .later = true,
 *	};
 *
 *	error = baton_post_with(&topic->resource, &options);
 *
 *                                  | may run beside                   | from
 *   post_with, async_with,         | everything but the resource's    | any thread, also inside
 *   call_with                      | init, deinit                     | tasks; call: see -EDEADLK
 */
#ifndef BATON_CALL_H
#define BATON_CALL_H

#include <stdbool.h>
#include <stdint.h>

#include <baton/attributes.h>
#include <baton/future.h>
#include <baton/resource.h>

#ifdef __cplusplus
extern "C" {
#endif

struct baton_label;

/* Called instead of a function that will not run. `arg` is the user's again. */
typedef void (*baton_post_cancelled_fn)(void *arg);

/* A function instead of a task, and what is wanted of it. Zero members are the defaults. */
struct baton_call_options {
	baton_call_fn fn;                  /* the function; required */
	void *arg;                         /* goes to fn, or to `cancelled` */
	const struct baton_label *label;   /* NULL: none (baton/label.h) */
	baton_post_cancelled_fn cancelled; /* a post's, an async's; NULL: none is called */
	uint64_t timeout_ns;               /* a call's, see time.h; 0: none */
	bool later;                        /* the function never runs on this thread */
	uint64_t _reserved[4];
};

/*
 * As baton_post(), baton_async() and baton_call(), with options. On an idle resource the function
 * runs on this thread, within the call; on a busy resource it runs on the runner's thread, or on
 * the executor's thread. With `later` it runs on the executor's thread, or on that of another
 * runner.
 *
 * Thread safety: any thread, also inside tasks. Blocking: a call blocks.
 * Ownership: `arg` goes to fn, or, if a post or async is accepted and then cancelled, to
 * `cancelled`: exactly one of the two, once. The options and the label are the caller's again on
 * return.
 * Errors: as for these functions: no function has been called, and `arg` is the caller's.
 *   -EINVAL     there is no function, or the lane is not below BATON_LANES_MAX.
 *   -ETIMEDOUT  a call's timeout_ns, or the bound's wait, was over before the function was entered.
 *   -ECANCELED  the function was cancelled within this call: by a call's tag, say.
 *
 * Corner cases. later: the caller of a call waits meanwhile and does not help. Only where no other
 * thread can, the call runs the function here: if this thread alone drives the executor, if the
 * executor has refused the resource, or, without timeout_ns, if all workers of the pool wait and no
 * spare can be had.
 *
 * cancelled: by its future, cancel_pending, a tag, a bound that drops, the shutdown of its
 * executor, a failing batch_begin. It is called on the same threads and at the same times as
 * config->cancelled. The future of an async may be complete before. A call tells by what it
 * returns.
 *
 * label: stamped during this call. If the function runs immediately, baton_tag_held() does not
 * count it, even with `hold`. A call whose tag is cancelled before its function is entered returns
 * -ECANCELED.
 *
 * timeout_ns: a call whose function is not entered within this time is withdrawn: the call returns
 * -ETIMEDOUT, and the function will not run. A call whose function has been entered waits for the
 * function, since the function may use the caller's memory. On an idle resource the function runs
 * immediately, whatever the time-out. As in all waits with a deadline, the caller does not help
 * (baton_future_wait()).
 */
BATON_MUST_USE int baton_post_with(struct baton_resource *resource,
                                   const struct baton_call_options *options) BATON_NONNULL;
BATON_MUST_USE int baton_async_with(struct baton_resource *resource,
                                    const struct baton_call_options *options,
                                    struct baton_future **future) BATON_NONNULL;
BATON_MUST_USE int baton_call_with(struct baton_resource *resource,
                                   const struct baton_call_options *options, void **value)
	BATON_NONNULL_AT(1, 2);

#ifdef __cplusplus
}
#endif

#endif
