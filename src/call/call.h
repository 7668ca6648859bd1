/* SPDX-License-Identifier: MIT */
/*
 * Functions instead of tasks. On an idle resource the function runs at once. A function that is
 * queued, with a future of the library's, has a node.
 */
#ifndef BATON_SRC_CALL_H
#define BATON_SRC_CALL_H

#include <baton/labelled.h>

#include "core/stay.h"
#include "core/guard.h"
#include "core/resource.h"
#include "core/stats.h"
#include "core/short.h"
#include "core/submit.h"

/* The node of baton_async, and of a call that may be withdrawn. A labelled task has a type. */
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

/* Is the label of a call, post or async in order? */
BATON_INLINE bool baton__label_valid(const struct baton_label *label)
{
	return !label || label->lane < BATON_LANES_MAX;
}

/* A SPECIAL resource without hooks: captures it and runs fn, or returns false. Afterwards the
 * resource is NORMAL if nothing makes it SPECIAL (word.h). */
bool baton__call_special(struct baton_resource *resource, baton_call_fn fn, void *arg,
                         void **value);

/*
 * Capture an idle NORMAL resource and run fn at once. False: fn was not called. bare: by a thread
 * that holds no baton. nested: inside a task, unless `depth_max` frames are below. normal: both.
 */
bool baton__call_nested(struct baton_resource *resource, baton_call_fn fn, void *arg, void **value,
                        uint32_t depth_max);
BATON_INLINE bool baton__call_bare(struct baton_resource *resource, baton_call_fn fn, void *arg,
                                   void **value)
{
	void *result;

	if (baton__word_enter(&baton__self->head, resource) != BATON_INLINE_HELD)
		return false;
	BATON_GUARD_TOP(guard);
	result = fn(arg);
	guard = false;
	if (value)
		*value = result;
	baton__short_leave();
	return true;
}

BATON_INLINE bool baton__call_normal(struct baton_resource *resource, baton_call_fn fn, void *arg,
                                     void **value)
{
	return baton__call_bare(resource, fn, arg, value) ||
	       baton__call_nested(resource, fn, arg, value, baton__self->calling_max);
}

/* As baton__call_normal, for an idle resource that is NORMAL or SPECIAL. */
BATON_INLINE bool baton__call_at_once(struct baton_resource *resource, baton_call_fn fn, void *arg,
                                      void **value)
{
	return baton__call_normal(resource, fn, arg, value) ||
	       (baton__word(resource) == BATON__SPECIAL &&
	        baton__call_special(resource, fn, arg, value));
}

#endif
