/* SPDX-License-Identifier: MIT */
/*
 * Should the running task or job make room? The answer rests on what the calling thread can see
 * without an atomic read-modify-write: the resource that it holds, its own stay, and what its
 * executor tells.
 */
#include <baton/executor.h>

#include "base/atomic.h"
#include "core/backlog.h"
#include "core/called.h"
#include "core/drain.h"
#include "core/executor.h"
#include "core/kind.h"
#include "core/list.h"
#include "core/resource.h"

/* One answer passes at most so many marks. An await that has timed out leaves its mark behind. */
#define MARKS_MAX 64

/*
 * Is there a task among the entries, behind marks? `*marks` is counted down. True also if `*marks`
 * is not enough: the runner, for which the task makes room, then reaches these marks.
 */
static bool has_task(const struct baton_task *entry, unsigned *marks)
{
	/* Bounded by `*marks`. */
	while (entry && baton__is_mark(entry) && *marks) {
		entry = baton__older(entry); /* in the inbox a look has set LOOKED */
		--*marks;
	}
	return entry;
}

/* Does a task wait behind the running one? Called in a task of the resource.
 * A stay's `after` does not count: its marks wait for no task, and the frame of a short path is in
 * no stay. */
static bool task_waits(struct baton_resource *resource)
{
	unsigned marks = MARKS_MAX;
	bool waits;

	/* A reader does not hold the list, and may not walk over the inbox. */
	if (baton__thread_reads(baton__self, resource))
		return baton__word_newest(baton__word(resource)) != NULL;
	/* A submitter that has the queue adds tasks to it. */
	if (!baton__backlog_regain(resource, false))
		return true;
	waits = has_task(resource->_list, &marks) ||
	        has_task(baton__word_newest(baton__word_inbox(resource)), &marks) ||
	        baton__backlog_has(resource) == BATON__HAS_TASKS;
	(void)baton__backlog_lend(resource);
	return waits;
}

/* The executor that the resource names. NULL: the resource uses the default pool;
 * baton_should_yield() asks the executor of which this thread is a member in any case. */
static struct baton_executor *named(const struct baton__frame *frame)
{
	/* A callback's frame has no resource. */
	const struct baton_resource_config *config =
		frame && frame->resource ? baton__config(frame->resource) : NULL;

	return config ? config->executor : NULL;
}

static bool asks(struct baton_executor *executor)
{
	return executor && executor->_ops->should_yield && executor->_ops->should_yield(executor);
}

BATON_EXPORT bool baton_should_yield(void)
{
	struct baton__thread *self = baton__self;
	const struct baton__frame *frame = baton__top_running(self);
	struct baton_executor *executor = named(frame);

	if (baton__forked())
		return false;
	if (frame && frame->resource && task_waits(frame->resource))
		return true;
	/* A thread holds a resource only once: a stay of this resource is this task's stay. */
	if (self->timed && frame && self->timed->frame.resource == frame->resource &&
	    baton__out_of_time(self->timed))
		return true;
	return asks(self->member) || (executor != self->member && asks(executor));
}
