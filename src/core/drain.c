/* SPDX-License-Identifier: MIT */
/*
 * The drain: the runner takes the inbox, runs the tasks in order, obeys marks, and releases the
 * resource, or returns with the baton held.
 */
#include "core/drain.h"

#include "base/atomic.h"
#include "base/futex.h"
#include "core/backlog.h"
#include "core/debt.h"
#include "core/guard.h"
#include "core/batching.h"
#include "core/inbox.h"
#include "core/list.h"
#include "core/marks.h"
#include "core/run.h"
#include "core/stats.h"

/*
 * Leaves the release for good to the visitors. True: the last of them continues in this thread's
 * place. False, with an empty _list: there are no visitors. False, with a _list of the marks that
 * were postponed: a kick has come, or the last visitor has gone, and this thread continues.
 */
static bool left_to_visitors(struct baton__stay *stay)
{
	struct baton_resource *resource = stay->frame.resource;

	if (!baton__turn_is_visited(resource))
		return false;
	baton__debt_revoke(resource);
	resource->_list = stay->after;
	/* baton__turn_leave makes this thread a visitor, which may look at the word afterwards. */
	if (!baton__turn_leave(resource)) {
		resource->_list = NULL;
		return false;
	}
	stay->after = NULL;
	if (baton__word_left_with_tasks(resource) && baton__turn_take_over(resource)) {
		baton__turn_unvisit(resource);
		return false;
	}
	return !baton__turn_end_visit(resource); /* last touch */
}

/* Nothing is left: releases the resource. False: an entry has come, or the mode has changed. */
static bool release(struct baton__stay *stay, uintptr_t word)
{
	struct baton_resource *resource = stay->frame.resource;

	if (baton__word_is_closed(word) && stay->after) {
		if (left_to_visitors(stay))
			return true;
		if (resource->_list)
			return false;
	}
	return baton__word_release(resource, word); /* last touch */
}

/*
 * Nothing may run, and the resource must not become idle: the baton is left until an entry comes.
 * False: an entry has come, or the mode has changed.
 */
static BATON_NOINLINE bool rest(struct baton__stay *stay, uintptr_t word)
{
	/* All tasks that were accepted before these awaits are over. */
	baton__fire_awaits(stay);
	baton__marks_put_back(stay);
	return baton__word_rest(stay->frame.resource, word); /* last touch, if true */
}

BATON_NOINLINE bool baton__out_of_time(struct baton__stay *stay)
{
	uint64_t now = baton__now_ns();

	if (stay->until_ns == 0) {
		stay->until_ns = baton__time_after(now, stay->limit_ns);
		return false;
	}
	return now >= stay->until_ns;
}

BATON_INLINE bool spent(struct baton__stay *stay)
{
	if (stay->tasks == 0)
		return true;
	if (BATON_UNLIKELY(stay->limit_ns) && stay->ran && baton__out_of_time(stay))
		return true;
	stay->ran = true;
	stay->tasks--;
	return false;
}

/*
 * Is a helper's wait over, for any reason? Or can this resource do no more for the wait, because
 * the awaited future was detached, or its task was refused here and perhaps submitted elsewhere?
 */
BATON_INLINE bool needless(const struct baton__stay *stay)
{
	const struct baton_future *until = stay->until;

	if (BATON_LIKELY(!until))
		return false;
	/* Relaxed: the value is only compared. If the load misses another thread's unbinding, the
	 * unbinding counts as later. */
	return baton__future_final(until) ||
	       load_relaxed(&until->_resource) != stay->frame.resource;
}

/*
 * Is the budget spent before this kick? Kicks come from any number of threads, and count like tasks
 * (L8). The kick that begins a stay is free: a thread that captures the resource for its kick has
 * the whole limit for the tasks that the kick starts.
 */
static bool too_many_kicks(struct baton__stay *stay)
{
	if (stay->ran)
		return spent(stay);
	stay->ran = true;
	return false;
}

/* Meets the mark at the head of _list. */
static BATON_NOINLINE enum baton__met meet(struct baton__stay *stay)
{
	struct baton_resource *resource = stay->frame.resource;
	struct baton_task *mark = baton__list_pop(resource);

	/* Only cancel marks have no `meet`, and the take of the inbox has removed those. */
	BATON_ASSERT(baton__kind(mark)->meet);
	return baton__kind(mark)->meet(stay, mark); /* last touch, unless the mark is postponed */
}

/*
 * The word says that the holder must look: looks. True: _list or the word may have changed, and the
 * caller asks again for the next step.
 */
static BATON_NOINLINE bool look_before_task(struct baton_resource *resource, uintptr_t word)
{
	/* A suspend mark at the head goes first; the next look comes after that mark. */
	if (baton__suspends(resource))
		return false;
	if (resource->_list && !baton__backlog_sorts(resource))
		return baton__look(resource);
	/* An empty inbox asks for nothing: the next take, or the release, clears ATTENTION. */
	if (!baton__word_newest(word))
		return false;
	baton__take(resource);
	return true;
}

bool baton__shelf_put(struct baton_resource *resource)
{
	if (BATON_UNLIKELY(baton__has_extras(resource)))
		(void)baton__backlog_lend(resource);
	/* last touch, if true */
	return baton__turn_shelve(resource) || !baton__backlog_regain(resource, true);
}

bool baton__shelf_leave(struct baton__stay *stay)
{
	struct baton_resource *resource = stay->frame.resource;

	if (BATON_LIKELY(!baton__turn_is_shelving(resource)))
		return false;
	/* The postponed marks wait for the release, and shelving is no release. */
	baton__marks_put_back(stay);
	return baton__shelf_put(resource); /* last touch, if true */
}

/* The queue may have been lent. True: a submitter has the queue, and goes on in this thread's
 * place. */
static BATON_NOINLINE bool leave_queue(struct baton_resource *resource, struct baton__batch *batch)
{
	if (BATON_LIKELY(baton__backlog_regain(resource, false)))
		return false;
	if (batch)
		(void)baton__batching.end(batch);
	return !baton__backlog_regain(resource, true); /* last touch, if true */
}

/* What the runner does next. */
enum step {
	RUN,     /* the first task of _list, for which the budget has been charged */
	ALONE,   /* the same; the task is of KIND_ALONE, and the batch ends first */
	FIRE,    /* the awaits that were postponed: more work follows */
	MEET,    /* the mark at the head of _list, for which the budget has been charged */
	SUSPEND, /* the mark at the head of _list, which overtakes: the batch ends first */
	TAKE,    /* the inbox */
	AGAIN,   /* ask again: the look, or the backlog, may have brought an entry */
	LEAVE,   /* the baton goes to the shelf */
	REST,    /* nothing is left that may run: the baton waits for the next entry */
	RELEASE, /* nothing is left */
	END,     /* the stay is over: what is left stays for the next holder */
};

/*
 * Does an open batch end before this step? In these steps no batch may be open (hooks.open,
 * hooks.c). Every way out of the drain is one of these steps.
 */
BATON_INLINE bool ends_batch(enum step step)
{
	return step == FIRE || step == ALONE || step == SUSPEND || step == LEAVE || step == REST ||
	       step == RELEASE || step == END;
}

/* The step at the mark at the head of _list. */
static BATON_NOINLINE enum step step_at_mark(struct baton__stay *stay)
{
	const struct baton_task *mark = stay->frame.resource->_list;

	if (baton__suspends(stay->frame.resource))
		return SUSPEND;
	return baton__kind_is(mark, BATON__KIND_COUNTS) && too_many_kicks(stay) ? END : MEET;
}

/*
 * Decides the next step. `*word`: the value on which the decision rests. A release needs that
 * value, since an entry may be pushed meanwhile.
 *
 * Between the question needless() and the entry of a task nothing may complete a future (L9). So
 * each action that could complete a future answers AGAIN, or is a step of its own.
 */
BATON_INLINE enum step next_step(struct baton__stay *stay, struct baton_resource *resource,
                                 uintptr_t *word)
{
	struct baton_task *task = resource->_list;

	if (needless(stay))
		return END;
	*word = baton__word(resource);
	if (BATON_UNLIKELY(baton__word_must_look(*word))) {
		if (baton__turn_is_shelving(resource))
			return LEAVE;
		if (look_before_task(resource, *word))
			return AGAIN;
	}
	if (!task) {
		if (baton__word_newest(*word))
			return TAKE;
		if (BATON_UNLIKELY(baton__has_extras(resource)) && baton__backlog_next(resource))
			return AGAIN;
		if (stay->borrowed)
			return END;
		return BATON_UNLIKELY(baton__has_extras(resource)) && baton__backlog_rests(resource)
		               ? REST
		               : RELEASE;
	}
	if (BATON_UNLIKELY(baton__is_mark(task)))
		return step_at_mark(stay);
	if (baton__awaits_are_due(stay))
		return FIRE;
	/* A task of KIND_ALONE runs in a spent stay, too: it runs no function of the user's, and
	 * shelves the baton, so that it ends the stay (L7, L8). */
	return spent(stay) && !baton__kind_is(task, BATON__KIND_ALONE) ? END : RUN;
}

/* The stay is over, and this thread holds the baton. True: the baton has been shelved. */
static bool end_drain(struct baton__stay *stay)
{
	struct baton_resource *resource = stay->frame.resource;

	if (BATON_UNLIKELY(baton__has_extras(resource)))
		baton__backlog_put_back(resource);
	/* All tasks that were accepted before these awaits are over. */
	baton__fire_awaits(stay);
	baton__marks_put_back(stay);
	return baton__shelf_leave(stay);
}

/*
 * `batch`: NULL without hooks. `extended`: the resource may have an extension. `context`: the
 * resource has enter or leave. Compiled three times: hooks, extensions and contexts cost other
 * resources nothing (L11).
 */
BATON_INLINE bool drain(struct baton__stay *stay, struct baton__batch *batch, bool extended,
                        bool context)
{
	const struct baton__thread *self = baton__self;
	struct baton_resource *resource = stay->frame.resource;
	struct baton_task *task;
	uintptr_t word;

	/* A call or a task that ran before this drain may have lent the queue. */
	if (extended && leave_queue(resource, batch))
		return true;
	/* Ends: the limits bound tasks and kicks. Each other mark belongs to one call: an await, a
	 * close_then, a suspend. */
	for (;;) {
		enum step step = next_step(stay, resource, &word);

		if ((batch || context) && step == RUN &&
		    baton__kind_is(resource->_list, BATON__KIND_ALONE))
			step = ALONE;
		if (batch && ends_batch(step) && baton__batching.end(batch))
			continue; /* an entry may have come meanwhile */
		switch (step) {
		case RUN:
		case ALONE:
			task = resource->_list;
			resource->_list = task->_next;
			baton__run_task(self, &stay->frame, resource, task,
			                step == RUN ? batch : NULL, context && step == RUN);
			if (batch)
				baton__batching.look(batch);
			if (extended && leave_queue(resource, batch))
				return true;
			break;
		case FIRE:
			baton__fire_awaits(stay);
			break;
		case MEET:
		case SUSPEND:
			if (meet(stay) == BATON__MET_LEFT)
				return true;
			break;
		case TAKE:
			baton__take(resource);
			break;
		case AGAIN:
			break;
		case LEAVE:
			if (baton__shelf_leave(stay))
				return true;
			break;
		case REST:
			if (rest(stay, word))
				return true;
			break;
		case RELEASE:
			if (release(stay, word))
				return true;
			break;
		case END:
			return end_drain(stay);
		}
	}
}

bool baton__drain_batched(struct baton__stay *stay, struct baton__batch *batch)
{
	return drain(stay, batch, true, baton__has_context(stay->frame.resource));
}

static BATON_NOINLINE bool drain_extended(struct baton__stay *stay)
{
	return drain(stay, NULL, true, baton__has_context(stay->frame.resource));
}

bool baton__drain(struct baton__stay *stay)
{
	struct baton_resource *resource = stay->frame.resource;
	struct baton__thread *self = baton__self;
	struct baton__stay *outer = NULL;
	bool over;

	BATON_GUARD(guard);
	if (BATON_UNLIKELY(stay->limit_ns)) {
		outer = self->timed;
		self->timed = stay;
	}
	if (BATON_UNLIKELY(baton__hooked(resource)))
		over = baton__batching.drain(stay);
	else if (BATON_UNLIKELY(resource->_extras & BATON__HAS_EXTENSION) ||
	         BATON_UNLIKELY(baton__has_context(resource)))
		over = drain_extended(stay);
	else
		over = drain(stay, NULL, false, false);
	guard = false;
	if (BATON_UNLIKELY(stay->limit_ns))
		self->timed = outer;
	return over;
}
