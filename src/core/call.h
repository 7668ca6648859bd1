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

/* Counts the end of a call that baton__stats_call has counted. */
BATON_INLINE void baton__count_executed(const struct baton_resource *resource)
{
	struct baton_resource_stats *stats = baton__stats(resource);

	if (stats)
		baton__count(&stats->executed, 1);
}

/*
 * Captures a resource whose idle word is `word`, and runs fn at once, without a task. False: the
 * word is another.
 *
 * With many resources, each call waits for a cache line. The processor should reach the next call,
 * and load its line, during that wait. A full store buffer stops the processor, so the short paths
 * make few stores: they keep few values across fn, since each such value is saved on the stack.
 */
BATON_INLINE bool baton__call_in_mode(struct baton_resource *resource, uintptr_t word,
                                      uintptr_t mode, baton_call_fn fn, void *arg, void **value)
{
	struct baton__thread *self = baton__self;
	struct baton__stay stay;
	void *result;

	if (!baton__word_capture(resource, word, mode))
		return false;
	baton__frame_enter(self, &stay.frame, resource);
	BATON_GUARD(guard, resource);
	/* A SPECIAL resource with a limit above 0 and without hooks has statistics, an extension or
	 * config->failed. */
	if (mode != BATON__NORMAL)
		baton__stats_call(resource);
	result = fn(arg);
	guard = NULL;
	if (value)
		*value = result;
	if (mode != BATON__NORMAL)
		baton__count_executed(resource);
	if (BATON_LIKELY(baton__word_release_at_once(resource, mode)))
		baton__frame_exit(self, &stay.frame);
	else
		baton__run_on(1, 1);
	return true;
}

/* A SPECIAL resource without hooks: captures it and runs fn, or returns false. Afterwards the
 * resource is NORMAL if nothing makes it SPECIAL (word.h). */
bool baton__call_special(struct baton_resource *resource, baton_call_fn fn, void *arg,
                         void **value);

/* Captures an idle resource and runs fn at once. False: fn was not called. */
BATON_INLINE bool baton__call_at_once(struct baton_resource *resource, baton_call_fn fn, void *arg,
                                      void **value)
{
	uintptr_t word = baton__word(resource);

	if (BATON_LIKELY(word == BATON__NORMAL))
		return baton__call_in_mode(resource, BATON__NORMAL, BATON__NORMAL, fn, arg, value);
	return word == BATON__SPECIAL && baton__call_special(resource, fn, arg, value);
}

#endif
