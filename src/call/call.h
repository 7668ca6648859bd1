/* SPDX-License-Identifier: MIT */
/*
 * Functions instead of tasks. On an idle resource the function runs at once. A function that is
 * queued, with a future of the library's, has a node.
 */
#ifndef BATON_SRC_CALL_H
#define BATON_SRC_CALL_H

#include <baton/call.h>
#include <baton/label.h>

#include "core/called.h"
#include "core/resource.h"
#include "core/submit.h"

/* The node of baton_async, and of a call that may be withdrawn. With a label, a `cancelled` or a
 * carried value its task has a type; the task's _run, which is free then (kind.run), is the user's
 * function. */
struct baton__async {
	struct baton__counted counted;
	struct baton_task task;
	union {
		baton_call_fn fn;                  /* without a type */
		baton_post_cancelled_fn cancelled; /* with a type; or NULL */
	};
	void *arg;
	struct baton_stamp stamp; /* with a type */
};

/* Sets up the task and its future, before the submit. `cancelled` may be NULL. */
void baton__async_init(struct baton__async *async, const struct baton_call_options *options,
                       baton_post_cancelled_fn cancelled);

/* Has the function run for the caller, and gives the function `caller->arg`. After the init. */
void baton__async_of_caller(struct baton__async *async, struct baton__caller *caller);

/* Submits the task; `how` as in submit.h. An error: the task was refused, and its node has been
 * freed. */
int baton__async_submit(struct baton_resource *resource, struct baton__async *async, unsigned how);

/* The flags of a submit with these options. */
BATON_INLINE unsigned baton__call_how(const struct baton_call_options *options)
{
	return options->later ? BATON__SUBMIT_LATER : 0;
}

/*
 * The wait of a call whose task has been submitted. Returns the status of the task; -ETIMEDOUT or
 * -EDEADLK: the task will not be entered. With `later`, another thread runs the task.
 *
 * end: the caller holds no baton; when this has returned, no thread touches task and future.
 * end_counted: the future is counted, and the task may still be queued.
 */
int baton__call_end(struct baton_future *future, bool later);
int baton__call_end_counted(struct baton_future *future, uint64_t deadline_ns, bool later);

/* 0, or -EINVAL: a member of the options of a call, post or async is not valid. */
int baton__options_refused(const struct baton_call_options *options);

#endif
