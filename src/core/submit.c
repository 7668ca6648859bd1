/* SPDX-License-Identifier: MIT */
/*
 * Submits: captures an idle resource, pushes to a busy resource.
 *
 * Budget: two atomic read-modify-writes for an idle resource (capture, release), one for a busy
 * resource.
 */
#include "core/submit.h"

#include "base/atomic.h"
#include "base/checked.h"
#include "base/refused.h"
#include "core/backlog.h"
#include "core/contention.h"
#include "core/binds.h"
#include "core/handoff.h"
#include "core/visit.h"
#include "core/label.h"
#include "core/list.h"
#include "core/loan.h"
#include "core/run.h"

#include <errno.h>

/* Where may a submitter that captures the resource run the tasks? A push needs no answer. */
BATON_INLINE enum baton__place place_of(const struct baton_resource *resource, unsigned how)
{
	return how & BATON__SUBMIT_LATER ? BATON__EXECUTOR : baton__place(resource);
}

/* Hands a captured resource, which has its tasks, to its executor. -ESHUTDOWN: the executor has
 * refused, and the tasks are the caller's again. */
static int give_to_executor(struct baton_resource *resource)
{
	enum baton__handoff given = baton__hand_off(resource);
	struct baton__stay stay;

	if (given == BATON__GIVEN)
		return 0;
	baton__frame_push(&stay.frame, resource);
	baton__stay_spent(&stay);
	/* REFUSED: no other thread has seen the tasks, and the chain goes back to the caller. */
	if (given == BATON__REFUSED)
		baton__backlog_unkeep(resource);
	/* REFUSED_TOUCHED: a helper may have run some of the chain, so all of the chain is
	 * accepted. In both cases baton__stay goes on with tasks that other threads have pushed
	 * meanwhile. */
	baton__stay(&stay, BATON__HERE);
	return given == BATON__REFUSED ? -ESHUTDOWN : 0;
}

/* A chain of tasks on its way to acceptance. */
struct chain {
	struct baton_task *first;  /* the oldest; while `newest` is NULL, linked oldest first */
	struct baton_task *newest; /* linked newest first, for a push; or NULL */
	uint32_t count;
	bool counted; /* the chain has been reserved, or the resource counts nothing */
};

/* Runs the chain of a captured resource here, within the limits. */
static void run_here(struct baton_resource *resource, const struct chain *chain)
{
	struct baton__stay stay;

	if (baton__has_extras(resource))
		baton__backlog_captured(resource, chain->counted ? NULL : chain->first);
	/* One task runs at once; several tasks go through their lanes. */
	baton__index_forget(resource);
	if (chain->count == 1)
		resource->_list = chain->first;
	else
		baton__backlog_keep(resource, chain->first);
	baton__frame_push(&stay.frame, resource);
	stay.until_ns = 0;
	baton__run_captured(&stay, 0, chain->count);
}

/* Puts the chain in order again, oldest first. */
BATON_INLINE void turn_back(struct chain *chain)
{
	if (!chain->newest)
		return;
	chain->first = baton__reversed(chain->newest);
	chain->newest = NULL;
}

/* Takes back what was counted for a chain that is not accepted. Returns `error`. */
static int not_accepted(struct baton_resource *resource, struct chain *chain, int error)
{
	turn_back(chain);
	if (chain->counted && baton__has_extras(resource))
		baton__backlog_unreserve(resource, chain->first, chain->count);
	return error;
}

/*
 * Is the chain to be reserved now? Reserve once; a task that runs immediately needs no reservation,
 * unless a module may keep the task (part_hooks.keep).
 */
BATON_INLINE bool must_reserve(const struct baton_resource *resource, const struct chain *chain,
                               uintptr_t word, unsigned how)
{
	return !chain->counted &&
	       (baton__word_is_busy(word) || chain->count > 1 ||
	        place_of(resource, how) != BATON__HERE || baton__part_hooks(chain->first));
}

/* Adds the chain to a busy resource: by a loan, or by a push. False: the word has changed. */
BATON_INLINE bool add_to_busy(struct baton_resource *resource, struct chain *chain, uintptr_t word,
                              unsigned how)
{
	struct baton_task *oldest = chain->first;

	if (!(how & BATON__SUBMIT_LATER) && !chain->newest && baton__loan_due(resource) &&
	    baton__loan_submit(resource, chain->first, chain->count))
		return true;
	if (!chain->newest)
		chain->newest = baton__reversed(chain->first);
	if (baton__word_push(resource, &word, chain->newest, oldest))
		return true;
	oldest->_next = NULL;
	return false;
}

/* Adds the chain to a resting resource, which this thread then drains. False: the word has
 * changed. */
static BATON_NOINLINE bool add_to_resting(struct baton_resource *resource, struct chain *chain,
                                          uintptr_t word, unsigned how)
{
	struct baton_task *oldest = chain->first;

	if (!chain->newest)
		chain->newest = baton__reversed(chain->first);
	if (!baton__word_rouse(resource, &word, chain->newest, oldest, BATON__ASK_NOTHING))
		return false;
	baton__go_on(resource, place_of(resource, how), chain->count);
	return true;
}

/*
 * Starts a captured resource, here or on its executor. An error: the chain is the caller's again.
 */
static int start(struct baton_resource *resource, struct chain *chain, unsigned how)
{
	int error = 0;

	switch (place_of(resource, how)) {
	case BATON__HERE:
		run_here(resource, chain);
		break;
	case BATON__LATER:
		baton__backlog_keep(resource, chain->first);
		baton__go_on(resource, BATON__LATER, 0);
		break;
	case BATON__EXECUTOR:
		baton__backlog_keep(resource, chain->first);
		error = give_to_executor(resource);
		break;
	}
	return error ? not_accepted(resource, chain, error) : 0;
}

int baton__submit_chain(struct baton_resource *resource, struct baton_task *first, uint32_t count,
                        unsigned how)
{
	struct chain chain = {first, NULL, count, !baton__has_extras(resource)};
	uint32_t backoff = 0;

	/* Ends: each failed CAS is another thread's submit, take, release or close. */
	for (;;) {
		uintptr_t word = baton__word(resource);

		if (baton__word_is_closed(word))
			return not_accepted(resource, &chain, -EPIPE);
		if (must_reserve(resource, &chain, word, how)) {
			int error = baton__backlog_reserve(resource, first, count, how);

			if (error)
				return error < 0 ? error : 0;
			chain.counted = true;
		}
		if (BATON_UNLIKELY(baton__word_is_resting(word))) {
			if (add_to_resting(resource, &chain, word, how))
				return 0;
			continue;
		}
		if (baton__word_is_busy(word)) {
			if (add_to_busy(resource, &chain, word, how))
				return 0;
			baton__back_off(resource, &backoff);
			continue;
		}
		turn_back(&chain);
		/* The word is idle and not closed: the capture sets the right mode. */
		if (baton__word_capture(resource, word, baton__mode(resource)))
			return start(resource, &chain, how);
	}
}

int baton__unready(struct baton_resource *resource, struct baton_task *task, int error)
{
	struct baton_future *future = baton__task_future(task);
	uint32_t state;
	bool spare;

	if (!future)
		return error;
	/* Relaxed: the CAS in baton__future_settle publishes the NULL. */
	store_relaxed(&future->_resource, NULL);
	state = baton__future_settle(future, baton__turn_visits(resource), &spare);
	if (spare)
		baton__visit_end(resource);
	if (state != BATON__FUTURE_CANCELLING)
		return error;
	/* The future is unbound, and has no visitor. */
	baton__entry_dropped(task);
	baton__future_finish(future, BATON__FUTURE_CANCELLED, -ECANCELED, NULL, NULL);
	return -ECANCELED; /* last touch of the future */
}

BATON_NOINLINE int baton__submit(struct baton_resource *resource, struct baton_task *task,
                                 unsigned how)
{
	const bool waited_for = baton__task_future(task) != NULL;
	int error = 0;

	if (BATON_UNLIKELY(!baton__has_record(baton__self))) {
		error = baton__thread_attach();
		if (error)
			return error;
	}
	/* This look comes before the bind of the future: so a cancel finds a refused task bound
	 * only if the cancel races the close. */
	if (baton__word_is_closed(baton__word(resource)))
		return -EPIPE;
	if (!baton__ready(resource, task))
		return BATON__NOT_FRESH("baton_*submit*");
	task->_next = NULL;
	error = baton__submit_chain(resource, task, 1, how);
	if (error) {
		error = baton__unready(resource, task, error);
		baton__loan_forget(resource);
		return error;
	}
	if (waited_for)
		baton__binds_pushed();
	return 0;
}

/* Submits to a resource that is not plainly busy. */
static BATON_NOINLINE int submit_not_busy(struct baton_resource *resource, struct baton_task *task)
{
	/* No plain push: a SPECIAL resource may have a bound. */
	baton__stand_back_if_due(resource, 1);
	return baton__submit(resource, task, 0);
}

/* Submits after a push whose CAS has failed. */
static BATON_NOINLINE int submit_again(struct baton_resource *resource, struct baton_task *task)
{
	uint32_t backoff = 0;

	baton__back_off(resource, &backoff);
	return baton__submit(resource, task, 0);
}

/* Submits to a plainly busy resource. It is queued, so that a loan may be due; or, with
 * `stand_back`, this thread stands back first. */
static BATON_NOINLINE int submit_behind(struct baton_resource *resource, struct baton_task *task,
                                        bool stand_back)
{
	uintptr_t word;

	if (stand_back)
		(void)baton__stand_back(resource);
	word = baton__word(resource);
	if (!baton__word_is_plainly_busy(word) || baton__loan_due(resource))
		return baton__submit(resource, task, 0);
	return baton__word_push(resource, &word, task, task) ? 0 : submit_again(resource, task);
}

BATON_NOINLINE int baton__submit_busy(struct baton_resource *resource, struct baton_task *task)
{
	uintptr_t word = baton__word(resource);
	bool stand_back;

	if (!baton__word_is_plainly_busy(word))
		return submit_not_busy(resource, task);
	stand_back = baton__stand_back_due(baton__self, 1);
	if (stand_back || baton__turn_seems_queued(resource))
		return submit_behind(resource, task, stand_back);
	return baton__word_push(resource, &word, task, task) ? 0 : submit_again(resource, task);
}

BATON_EXPORT int baton_submit_later(struct baton_resource *resource, struct baton_task *task)
{
	BATON__CHECKED_SUBMIT(resource, &task, 1, baton_submit_later(resource, task));
	baton__stamp_carry(task);
	return baton__submit(resource, task, BATON__SUBMIT_LATER);
}
