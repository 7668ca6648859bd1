/* SPDX-License-Identifier: MIT */
/*
 * Calls the user's functions that hold no baton, where the stack is not too deep. Otherwise the
 * function goes into a list of the thread. The lists are intrusive: they need no memory.
 */
#include "core/callback.h"

#include "base/atomic.h"
#include "future/firing.h"
#include "core/deferred.h"
#include "core/drop.h"
#include "core/frame.h"
#include "core/visit.h"
#include "core/place.h"

/* The depth of a callback's frame on a thread without a record, and more. */
#define NOT_PUSHED BATON__DEPTH_NONE

void baton__callback_begin(struct baton__frame *frame)
{
	if (BATON_LIKELY(baton__has_record(baton__self)))
		baton__frame_push(frame, NULL);
	else
		*frame = (struct baton__frame){.below = baton__self->top, .depth = NOT_PUSHED};
}

void baton__callback_end(struct baton__frame *frame)
{
	struct baton__thread *self = baton__self;

	if (BATON_UNLIKELY(self->top != (uintptr_t)frame)) {
		baton__guard_returned(frame->depth >= NOT_PUSHED ? frame->below : (uintptr_t)frame);
		return;
	}
	baton__frame_pop(frame);
	baton__deferred_check(self);
}

static void run_late(struct baton_plain_job *job)
{
	baton_container_of(job, struct baton__thread, late_job)->late_queued = false;
	(void)baton__late_run();
}

/* Defers the job that calls the functions that were put off. */
static void queue_late(struct baton__thread *self)
{
	if (self->late_queued)
		return;
	self->late_queued = true;
	baton_plain_job_init(&self->late_job, run_late, NULL);
	baton__deferred_append(&self->late_job.job);
}

static void put_off(struct baton_task *task)
{
	struct baton__thread *self = baton__self;

	task->_next = NULL;
	if (self->late_tasks)
		self->late_tasks_last->_next = task;
	else
		self->late_tasks = task;
	self->late_tasks_last = task;
	queue_late(self);
}

static void finalise_here(struct baton_task *finaliser)
{
	struct baton__frame frame;

	baton__callback_begin(&frame);
	(void)finaliser->_run(finaliser); /* last touch of resource and finaliser */
	baton__callback_end(&frame);
}

void baton__finalise(struct baton_task *finaliser)
{
	if (baton__place(NULL) == BATON__HERE)
		finalise_here(finaliser);
	else
		put_off(finaliser);
}

static void tell_here(struct baton_resource *resource, struct baton_task *task)
{
	struct baton__frame frame;

	baton__callback_begin(&frame);
	baton__tell_cancelled(resource, task);
	baton__callback_end(&frame);
}

/* The task has no future, and the _run of a task of a kind is free (kind.run): one of the two
 * members keeps the resource until the task's `cancelled` is called. */
static void keep_resource(struct baton_task *task, struct baton_resource *resource)
{
	if (baton__of_kind(task)) {
		task->_run = (baton_task_fn)(uintptr_t)resource;
	} else {
		BATON_ASSERT(!task->_future);
		task->_future = (struct baton_future *)(void *)resource;
	}
}

/* The resource that the task keeps; the task keeps it no more. */
static struct baton_resource *kept_resource(struct baton_task *task)
{
	struct baton_resource *resource;

	if (baton__of_kind(task))
		return (struct baton_resource *)(uintptr_t)task->_run;
	resource = (struct baton_resource *)(void *)task->_future;
	BATON_ASSERT(resource);
	task->_future = NULL;
	return resource;
}

void baton__tell_refused(struct baton_resource *resource, struct baton_task *task)
{
	if (baton__place(NULL) == BATON__HERE) {
		tell_here(resource, task);
		return;
	}
	/* The visit keeps the resource until the function is called (callback.visit). */
	baton__turn_visit(resource);
	keep_resource(task, resource);
	put_off(task);
}

/* Calls `tell(continuation)` later. */
static void put_off_continuation(struct baton_continuation *continuation,
                                 void (*tell)(struct baton_continuation *continuation))
{
	struct baton__thread *self = baton__self;

	continuation->_fire = tell;
	continuation->_next = NULL;
	if (self->late_continuations)
		self->late_continuations_last->_next = continuation;
	else
		self->late_continuations = continuation;
	self->late_continuations_last = continuation;
	queue_late(self);
}

void baton__call_out(struct baton_continuation *continuation,
                     void (*tell)(struct baton_continuation *continuation))
{
	struct baton__frame frame;

	if (baton__place(NULL) != BATON__HERE) {
		put_off_continuation(continuation, tell);
		return;
	}
	baton__callback_begin(&frame);
	tell(continuation); /* last touch */
	baton__callback_end(&frame);
}

/* Called by the loop that fires the continuation. */
static void tell_end_here(struct baton_continuation *continuation)
{
	const baton_told_fn fn = (baton_told_fn)(uintptr_t)continuation->_subject;
	void *arg = continuation->_target; /* last touch of the continuation */
	struct baton__frame frame;

	if (BATON_UNLIKELY(!baton__has_record(baton__self)) && baton__thread_attach()) {
		baton__thread_bare_begin();
		fn(arg);
		baton__thread_bare_end();
		return;
	}
	baton__callback_begin(&frame);
	frame.depth += BATON__DEPTH_TOLD;
	baton__future_call_from(&frame);
	fn(arg);
	baton__callback_end(&frame);
}

/* The function was put off: no loop is there that would fire what it completes. */
static void tell_end_late(struct baton_continuation *continuation)
{
	continuation->_fire = tell_end_here;
	continuation->_next = NULL;
	baton__future_fire(continuation);
}

void baton__tell_end(struct baton_continuation *continuation)
{
	if (baton__place(NULL) == BATON__HERE)
		tell_end_here(continuation);
	else
		put_off_continuation(continuation, tell_end_late);
}

/* The function may free the resource: the visit ends before. If the runner has left the resource to
 * this visitor, the function comes before what the release calls. */
static void tell_late(struct baton_resource *resource, struct baton_task *task)
{
	const baton_task_cancelled_fn cancelled = baton__cancelled_of(resource, task);
	const bool last = baton__turn_end_visit(resource); /* last touch, if false */
	struct baton__frame frame;

	baton__callback_begin(&frame);
	baton__call_cancelled(task, cancelled);
	baton__callback_end(&frame);
	if (last)
		baton__visit_go_on(resource);
}

static bool late_task(struct baton__thread *self)
{
	struct baton_task *task = self->late_tasks;

	if (!task)
		return false;
	self->late_tasks = task->_next;
	if (baton__is_mark(task)) {
		finalise_here(task);
		return true;
	}
	tell_late(kept_resource(task), task);
	return true;
}

static bool late_continuation(struct baton__thread *self)
{
	struct baton_continuation *continuation = self->late_continuations;
	struct baton__frame frame;

	if (!continuation)
		return false;
	self->late_continuations = continuation->_next;
	baton__callback_begin(&frame);
	continuation->_fire(continuation); /* last touch */
	baton__callback_end(&frame);
	return true;
}

bool baton__late_run(void)
{
	struct baton__thread *self = baton__self;
	bool any = false;

	/* Ends when the functions that are called here put off no more functions. */
	while (late_task(self) || late_continuation(self))
		any = true;
	return any;
}
