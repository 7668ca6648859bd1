/* SPDX-License-Identifier: MIT */
/*
 * Functions instead of tasks: run at once on an idle resource; and the node of one that is queued
 * and has a future of the library's.
 */
#ifndef BATON_SRC_CALL_H
#define BATON_SRC_CALL_H

#include <baton/labelled.h>

#include "core/guard.h"
#include "core/frame.h"
#include "core/submit.h"
#include "core/resource.h"
#include "core/stats.h"

/* baton_async's, and that of a call which may be left behind. With a label it is of a type. */
struct baton__async {
	struct baton__counted counted;
	struct baton_task task;
	baton_call_fn fn;
	void *arg;
	struct baton_stamp stamp;    /* these two only with a label */
	struct baton_future *future; /* `counted` */
};

/* Sets up the task, which is not submitted yet, and its future; `label`: NULL: none. */
void baton__async_init(struct baton__async *async, baton_call_fn fn, void *arg,
                       const struct baton_label *label);

/* Submits it: 0; or the error, and it has been freed. */
int baton__async_submit(struct baton_resource *resource, struct baton__async *async);

/* Is the label of a call, post or async in order? */
BATON_INLINE bool baton__label_valid(const struct baton_label *label)
{
	return !label || label->lane < BATON_LANES_MAX;
}

/* The function of a call that baton__stats_call has counted has returned. */
BATON_INLINE void baton__count_executed(const struct baton_resource *resource)
{
	struct baton_resource_stats *stats = baton__stats(resource);

	if (stats)
		baton__count(&stats->executed, 1);
}

/*
 * Captures a resource whose idle word is `word`, and runs fn at once, without a task. False: it is
 * not idle.
 *
 * Many resources do not fit the caches, and then the processor should get as far ahead as it can
 * while it waits for this one's line, to the next call's. What ends that are stores: so the short
 * paths keep little across fn that would have to be saved first.
 */
BATON_INLINE bool baton__call_in_mode(struct baton_resource *resource, uintptr_t word,
                                      uintptr_t mode, baton_call_fn fn, void *arg, void **value)
{
	struct baton__thread *self = baton__self;
	struct baton__frame frame;
	void *result;

	if (!baton__word_capture(resource, word, mode))
		return false;
	baton__frame_enter(self, &frame, resource);
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
		baton__frame_exit(self, &frame);
	else
		baton__run_on(1, 1);
	return true;
}

/* With statistics or an extension; or just initialised, and then NORMAL from now on. */
bool baton__call_special(struct baton_resource *resource, baton_call_fn fn, void *arg,
                         void **value);

/* Captures an idle resource and runs fn at once. False: it is not idle. */
BATON_INLINE bool baton__call_at_once(struct baton_resource *resource, baton_call_fn fn, void *arg,
                                      void **value)
{
	uintptr_t word = baton__word(resource);

	if (BATON_LIKELY(word == BATON__NORMAL))
		return baton__call_in_mode(resource, BATON__NORMAL, BATON__NORMAL, fn, arg, value);
	return word == BATON__SPECIAL && baton__call_special(resource, fn, arg, value);
}

#endif
