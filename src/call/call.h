/* SPDX-License-Identifier: MIT */
/*
 * Functions instead of tasks. On an idle resource the function runs at once. A function that is
 * queued, with a future of the library's, has a node.
 */
#ifndef BATON_SRC_CALL_H
#define BATON_SRC_CALL_H

#include <baton/label.h>

#include "core/resource.h"
#include "core/submit.h"

/* The node of baton_async, and of a call that may be withdrawn. With a label its task has a
 * type. */
struct baton__async {
	struct baton__counted counted;
	struct baton_task task;
	baton_call_fn fn;
	void *arg;
	struct baton_stamp stamp;    /* `stamp` and `future` are set only with a label */
	struct baton_future *future; /* &counted.future */
};

/* Sets up the task and its future, before the submit. `label` may be NULL. */
void baton__async_init(struct baton__async *async, baton_call_fn fn, void *arg,
                       const struct baton_label *label);

/* Submits the task. An error: the task was refused, and its node has been freed. */
int baton__async_submit(struct baton_resource *resource, struct baton__async *async);

/* Is the label of a call, post or async valid? */
BATON_INLINE bool baton__label_valid(const struct baton_label *label)
{
	return !label || label->lane < BATON_LANES_MAX;
}

#endif
