/* SPDX-License-Identifier: MIT */
/*
 * The bracket around one function of the user's: enter an idle resource, run the function, leave
 * the resource. submit, batch, call, post and async are callers of it; the drain (drain.h), which
 * runs what waits, is the other way to run a function. A bracket runs no other submitter's task.
 * For the outermost baton it needs no frame (thread.top). The shortest bracket is in the program
 * (baton/inline.h).
 */
#ifndef BATON_SRC_BRACKET_H
#define BATON_SRC_BRACKET_H

#include <baton/task.h>

#include "base/checked.h"
#include "base/probe.h"
#include "core/backlog.h"
#include "core/frame.h"
#include "core/guard.h"
#include "core/place.h"
#include "core/resource.h"
#include "core/run.h"
#include "core/stats.h"
#include "core/stay.h"
#include "thread/carried.h"

/* ---- Enter and leave ---- */

/*
 * What a bracket is for. The flags are constants at each use: so each use is compiled to the code
 * that it needs, and no more.
 *
 * BARE: a thread that holds nothing gets no frame; a thread that holds a baton does not enter.
 * FRAMED: the thread gets a frame. Both: the thread gets a frame if it holds a baton.
 *
 * Without COUNTED: for a NORMAL resource. COUNTED: for a SPECIAL resource that has statistics, and
 * neither an extension nor drain hooks. COUNTED with ANY_SPECIAL: for any SPECIAL resource without
 * drain hooks.
 *
 * IN_TIME, with ANY_SPECIAL: the resource may have a limit in time. CONTEXT, with ANY_SPECIAL: the
 * resource has enter or leave. TASK: the bracket runs a task, not a function. CARRYING: a function
 * that carries what it is to carry. Without both, a thread that carries a value does not enter.
 */
#define BATON__BARE 1U
#define BATON__FRAMED 2U
#define BATON__COUNTED 4U
#define BATON__ANY_SPECIAL 8U
#define BATON__TASK 16U
#define BATON__IN_TIME 32U
#define BATON__CONTEXT 64U
#define BATON__CARRYING 128U

BATON_INLINE bool baton__is_bare(unsigned flags)
{
	return (flags & ~(BATON__TASK | BATON__CARRYING)) == BATON__BARE;
}

/* A baton that a bracket holds. With BARE alone all members are unused. The frame itself lies
 * outside the struct, so that the compiler can keep the members in registers. */
struct baton__held {
	struct baton__frame *frame; /* set before enter */
	struct baton_resource *resource;
	struct baton_resource_stats *stats; /* with COUNTED; or NULL */
	uintptr_t mode;                     /* as captured */
	bool lent;                          /* with COUNTED: submitters have the queue */
	uint64_t until_ns;                  /* with IN_TIME: as in baton__stay */
};

/*
 * Continues as the runner, and releases: for a bracket that has not released the resource. The
 * thread's `top` is as it was before the bracket. `ran`, `own`: as in baton__run_captured.
 *
 * in_time: the same in the time that the function has begun by asking for it. `until_ns`: the
 * stay's.
 */
void baton__go_on_captured(struct baton_resource *resource, uint32_t ran, uint32_t own);
void baton__go_on_in_time(struct baton_resource *resource, uint64_t until_ns);

/* Leaves a bracket of the outermost baton whose thread has got a frame meanwhile. pop_outer: the
 * same without the release. */
void baton__leave_outer(void);
void baton__pop_outer(void);

/* The function of a COUNTED bracket has returned: baton__guard_frame for the frame that the thread
 * has got, or the bracket's own, `frame`. bracket_failed: the same for a task that has failed. */
void baton__guard_bracket(const struct baton__frame *frame);
void baton__bracket_failed(const struct baton__frame *frame, struct baton_task *task, int status);

/*
 * Captures an idle resource (HELD). OTHER: the resource is not idle, or not of the flags' sort.
 * NESTED, with BARE alone: the thread holds a baton, or has no record. NESTED, with other flags:
 * `depth_max` frames or more are on the stack (a thread without a record counts as too deep).
 */
BATON_INLINE enum baton_inline_way baton__enter(struct baton__held *held,
                                                struct baton_resource *resource, unsigned flags,
                                                uint32_t depth_max)
{
	struct baton__thread *self = baton__self;
	const bool carries = !(flags & (BATON__TASK | BATON__CARRYING));
	uint32_t depth;

	if (baton__is_bare(flags))
		return baton__word_enter(&self->head, resource, carries);
	held->resource = resource;
	held->stats = flags & BATON__COUNTED ? baton__stats(resource) : NULL;
	/* A statically initialised resource is SPECIAL until its first capture, which sets the
	 * right mode (word.h). */
	held->mode = flags & BATON__ANY_SPECIAL ? baton__mode(resource)
	             : flags & BATON__COUNTED   ? BATON__SPECIAL
	                                        : BATON__NORMAL;
	held->lent = false;
	held->until_ns = 0;
	depth = baton__depth(self);
	if (BATON_UNLIKELY(depth >= depth_max))
		return BATON_INLINE_NESTED;
	if (flags & BATON__COUNTED) {
		if (!baton__word_capture(resource, BATON__SPECIAL, held->mode))
			return BATON_INLINE_OTHER;
	} else if (baton_inline_seen_other(&self->head, resource, carries) ||
	           !baton__word_capture_plain(&self->head, resource)) {
		return BATON_INLINE_OTHER;
	}
	if ((flags & BATON__BARE) && BATON_LIKELY(!self->top)) {
		baton__top_set(&self->top, (uintptr_t)resource | BATON_INLINE_BARE);
		return BATON_INLINE_HELD;
	}
	baton__frame_enter(self, held->frame, resource, depth);
	if (flags & BATON__COUNTED)
		held->frame->value = NULL; /* baton__task_failed asks for it */
	return BATON_INLINE_HELD;
}

/*
 * As baton__enter, for a task with a future, in a NORMAL resource, by a thread that holds nothing.
 * True: captured. The frame is the record's `outer`. Ended by baton__leave_framed.
 */
BATON_INLINE bool baton__enter_outer(struct baton__thread *self, struct baton_resource *resource,
                                     struct baton_future *future)
{
	/* The address for a look is a fresh one, or the compiler would keep it in a register. */
	if (BATON_UNLIKELY(self->top) ||
	    (BATON_UNLIKELY(self->wary) &&
	     baton_inline_seen_other(&self->head, (void *)baton_inline_fresh((uintptr_t)resource),
	                             false)) ||
	    !baton__word_capture_plain(&self->head, resource))
		return false;
	self->outer.resource = resource;
	/* Two stores: the compiler would take three instructions to make them one. */
	__asm__ volatile("" ::: "memory");
	self->outer.future = future;
	self->outer.value = NULL;
	baton__top_set(&self->top, (uintptr_t)&self->outer);
	return true;
}

/*
 * Ends a bracket of the outermost task. Resource and record are read anew: a value that is kept
 * across the user's function is saved on the stack. The record is read as baton__self_again: the
 * compiler would keep the address of baton__self, too.
 *
 * Why stores are saved: where a thread uses many resources, each capture waits for a cache line.
 * The processor goes on with the next tasks meanwhile, until its store buffer is full. Then eight
 * more stores make a task take a third more time, 32 stores four times as much, one atomic
 * read-modify-write 9% more (test/bench/README.md).
 */
BATON_INLINE void baton__leave_bare(void)
{
	struct baton__thread *self = baton__self_again;
	const uintptr_t top = self->top;

	if (BATON_UNLIKELY(!(top & BATON_INLINE_BARE)))
		baton__leave_outer();
	else if (!baton_inline_pop_release(&self->head,
	                                   (struct baton_resource *)(top - BATON_INLINE_BARE)))
		baton__go_on_captured((struct baton_resource *)(top - BATON_INLINE_BARE), 1, 1);
}

/* Ends a bracket with a frame, which may be the record's `outer`. */
BATON_INLINE void baton__leave_framed(const struct baton__frame *frame, uint32_t ran, uint32_t own)
{
	struct baton__thread *self = baton__self_again;
	struct baton_resource *resource = frame->resource;

	baton__guard_frame(self, frame);
	baton__top_set(&self->top, frame->below);
	if (BATON_UNLIKELY(self->deferred) || !baton_inline_release(resource, BATON__NORMAL))
		baton__go_on_captured(resource, ran, own);
}

/*
 * Pops what baton__enter has pushed, or the frame that the thread has got instead. Releases the
 * resource, unless its queue is lent. False: the resource is not released.
 */
BATON_INLINE bool baton__pop_release(const struct baton__held *held)
{
	struct baton__thread *self = baton__self;

	if (BATON_LIKELY(self->top & BATON_INLINE_BARE)) {
		baton__top_set(&self->top, 0);
	} else if (BATON_LIKELY(self->top == (uintptr_t)held->frame)) {
		baton__top_set(&self->top, held->frame->below);
	} else {
		baton__pop_outer();
		self = baton__self;
	}
	return BATON_LIKELY(!self->deferred) && BATON_LIKELY(!held->lent) &&
	       BATON_LIKELY(baton_inline_release(held->resource, held->mode));
}

/*
 * Ends the bracket: releases the resource, or runs what has come meanwhile, within the capture
 * limit. `ran`: how many tasks have run in the bracket; the capture limit counts them. `own`: how
 * many tasks of its own the submitter of a nested bracket may run.
 */
BATON_INLINE void baton__leave(struct baton__held *held, unsigned flags, uint32_t ran, uint32_t own)
{
	if (baton__is_bare(flags))
		baton__leave_bare();
	else if (!(flags & (BATON__BARE | BATON__COUNTED)))
		baton__leave_framed(held->frame, ran, own);
	/* A submitter that has had the queue may have left tasks in it: the drain looks. */
	else if (baton__pop_release(held))
		return;
	else if (flags & BATON__IN_TIME)
		baton__go_on_in_time(held->resource, held->until_ns);
	else
		baton__go_on_captured(held->resource, ran, own);
}

/* ---- One function in a bracket ---- */

/* The function of a COUNTED bracket begins; has ended, `task` with `status` (no task: 0). */
BATON_INLINE void baton__bracket_begins(struct baton__held *held, unsigned flags,
                                        uintptr_t function)
{
	baton__stats_entered(held->stats, function);
	if (flags & BATON__ANY_SPECIAL)
		held->lent = baton__backlog_lend(held->resource);
}

BATON_INLINE void baton__bracket_ends(struct baton__held *held, struct baton_task *task, int status)
{
	if (BATON_UNLIKELY(status))
		baton__bracket_failed(held->frame, task, status);
	baton__stats_executed(held->stats);
}

/* The time of an IN_TIME bracket's function, which may ask whether it is over
 * (baton_should_yield). */
struct baton__time {
	struct baton__stay stay;
	struct baton__stay *outer;
	uint32_t calling_max;
};

BATON_INLINE void baton__time_begins(struct baton__time *time, const struct baton__held *held)
{
	struct baton__thread *self = baton__self;

	time->stay = (struct baton__stay){.frame.resource = held->resource};
	baton__stay_limit(&time->stay);
	time->outer = self->timed;
	if (time->stay.limit_ns) /* a context alone sets no limit */
		self->timed = &time->stay;
	time->calling_max = baton__weigh(self, 1);
}

BATON_INLINE void baton__time_ends(const struct baton__time *time, struct baton__held *held)
{
	struct baton__thread *self = baton__self;

	held->until_ns = time->stay.until_ns;
	self->timed = time->outer;
	self->calling_max = time->calling_max;
}

/*
 * Runs fn(arg) in a bracket, and puts its result into `*value` unless `value` is NULL. With TASK:
 * runs the task `arg`, which has neither future nor kind. HELD: it has run. Else, as enter: nothing
 * has run.
 */
BATON_INLINE enum baton_inline_way baton__bracket(struct baton_resource *resource, baton_call_fn fn,
                                                  void *arg, void **value, unsigned flags,
                                                  uint32_t depth_max)
{
	struct baton_task *const task = flags & BATON__TASK ? arg : NULL;
	struct baton__frame frame;
	struct baton__held held = {.frame = &frame};
	struct baton__time time;
	void *result = NULL;
	enum baton_inline_way way;
	int status = 0;

	way = baton__enter(&held, resource, flags, depth_max);
	if (way != BATON_INLINE_HELD)
		return way;
	BATON_GUARD(guard);
	if (flags & BATON__COUNTED)
		baton__bracket_begins(&held, flags,
		                      flags & BATON__TASK ? (uintptr_t)task->_run : (uintptr_t)fn);
	if (flags & BATON__IN_TIME)
		baton__time_begins(&time, &held);
	if (flags & BATON__CONTEXT)
		baton__context_enter(resource);
	if (flags & BATON__TASK) {
		if ((flags & BATON__ANY_SPECIAL) && baton__has_extras(resource))
			BATON_PROBE(capture, resource, task);
		BATON__CHECKED(enter(resource, task));
		status = task->_run(task); /* last touch of the task */
	} else {
		result = fn(arg);
	}
	guard = false;
	if (!(flags & BATON__TASK) && value)
		*value = result;
	if (flags & BATON__COUNTED)
		baton__bracket_ends(&held, task, status);
	if (flags & BATON__CONTEXT) {
		baton__guard_bracket(&frame);
		baton__context_leave(resource);
	}
	if (flags & BATON__IN_TIME)
		baton__time_ends(&time, &held);
	baton__leave(&held, flags, 1, 1);
	return BATON_INLINE_HELD;
}

/*
 * As baton__bracket; true: the function has run. `flags`: TASK or none.
 *
 * bare: by a thread that holds nothing, in a NORMAL resource. Two atomic read-modify-writes.
 * nested: inside another task, in a NORMAL resource.
 * special: in a SPECIAL resource.
 * other: special or nested, as the resource's word says. idle: bare, then other.
 *
 * any_special: the part of special for a resource that has more than statistics. Also false if no
 * task may run at once in the resource. carrying: idle, for a thread that carries.
 */
bool baton__bracket_carrying(struct baton_resource *resource, baton_call_fn fn, void *arg,
                             void **value, uint32_t depth_max);

BATON_INLINE bool baton__bracket_bare(struct baton_resource *resource, baton_call_fn fn, void *arg,
                                      void **value)
{
	return baton__bracket(resource, fn, arg, value, BATON__BARE, 0) == BATON_INLINE_HELD;
}

BATON_INLINE bool baton__bracket_nested(struct baton_resource *resource, baton_call_fn fn,
                                        void *arg, void **value, unsigned flags, uint32_t depth_max)
{
	return baton__bracket(resource, fn, arg, value, flags | BATON__FRAMED, depth_max) ==
	       BATON_INLINE_HELD;
}

bool baton__bracket_any_special(struct baton_resource *resource, baton_call_fn fn, void *arg,
                                void **value, unsigned flags, uint32_t depth_max);

BATON_INLINE bool baton__bracket_special(struct baton_resource *resource, baton_call_fn fn,
                                         void *arg, void **value, unsigned flags,
                                         uint32_t depth_max)
{
	if (BATON_UNLIKELY(!(resource->_extras & BATON__HAS_STATS)) ||
	    BATON_UNLIKELY(!baton__config_is_plain(resource)))
		return baton__bracket_any_special(resource, fn, arg, value, flags, depth_max);
	return baton__bracket(resource, fn, arg, value,
	                      flags | BATON__BARE | BATON__FRAMED | BATON__COUNTED,
	                      depth_max) == BATON_INLINE_HELD;
}

BATON_INLINE bool baton__bracket_other(struct baton_resource *resource, baton_call_fn fn, void *arg,
                                       void **value, unsigned flags, uint32_t depth_max)
{
	if (BATON_UNLIKELY(baton__carries(baton__self)))
		return baton__bracket_carrying(resource, fn, arg, value, depth_max);
	if (baton__word(resource) == BATON__SPECIAL)
		return baton__bracket_special(resource, fn, arg, value, flags, depth_max);
	return baton__self->top &&
	       baton__bracket_nested(resource, fn, arg, value, flags, depth_max);
}

BATON_INLINE bool baton__bracket_idle(struct baton_resource *resource, baton_call_fn fn, void *arg,
                                      void **value, uint32_t depth_max)
{
	return baton__bracket_bare(resource, fn, arg, value) ||
	       baton__bracket_other(resource, fn, arg, value, 0, depth_max);
}

#endif
