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

/* A short path's hold of a resource, which has been captured in `mode`; the frame is pushed. */
struct baton__held {
	struct baton__thread *self;
	struct baton__frame *frame;
	struct baton_resource *resource;
	uintptr_t mode;
};

/*
 * Runs fn, without a task, and releases.
 *
 * With many resources, each call waits for a cache line. The processor should reach the next call,
 * and load its line, during that wait. A full store buffer stops the processor, so the short paths
 * make few stores: they keep few values across fn, since each such value is saved on the stack.
 */
BATON_INLINE void baton__call_held(struct baton__held held, baton_call_fn fn, void *arg,
                                   void **value)
{
	struct baton_resource *resource = held.resource;
	void *result;

	BATON_GUARD(guard, resource);
	/* A SPECIAL resource with a limit above 0 and without hooks has statistics, an extension or
	 * config->failed. */
	if (held.mode != BATON__NORMAL)
		baton__stats_entered(baton__stats(resource), (uintptr_t)fn);
	result = fn(arg);
	guard = NULL;
	if (value)
		*value = result;
	if (held.mode != BATON__NORMAL)
		baton__stats_executed(baton__stats(resource));
	resource = baton_inline_same(resource);
	if (!baton_inline_leave(&held.self->head, held.frame, resource, held.mode))
		baton__run_on(resource, 1, 1);
}

/* A SPECIAL resource without hooks: captures it and runs fn, or returns false. Afterwards the
 * resource is NORMAL if nothing makes it SPECIAL (word.h). */
bool baton__call_special(struct baton_resource *resource, baton_call_fn fn, void *arg,
                         void **value);

/* Captures an idle NORMAL resource and runs fn at once. False: fn was not called. */
BATON_INLINE bool baton__call_normal(struct baton_resource *resource, baton_call_fn fn, void *arg,
                                     void **value)
{
	struct baton__frame frame;
	struct baton__held held = {baton__self, &frame, resource, BATON__NORMAL};

	if (baton_inline_enter(&held.self->head, &frame, resource, BATON__DEPTH_NONE) !=
	    BATON_INLINE_HELD)
		return false;
	baton__call_held(held, fn, arg, value);
	return true;
}

/* The same for a NORMAL or SPECIAL resource. */
BATON_INLINE bool baton__call_at_once(struct baton_resource *resource, baton_call_fn fn, void *arg,
                                      void **value)
{
	return baton__call_normal(resource, fn, arg, value) ||
	       (baton__word(resource) == BATON__SPECIAL &&
	        baton__call_special(resource, fn, arg, value));
}

#endif
