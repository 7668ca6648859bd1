/* SPDX-License-Identifier: MIT */
/* Lends the queue of a resource to a submitter that finds no room. See lend.h. */
#include "module/lend.h"

#include "base/atomic.h"
#include "core/backlog.h"
#include "core/callback.h"
#include "core/drop.h"
#include "core/frame.h"
#include "core/inbox.h"
#include "core/loan.h"
#include "core/place.h"
#include "core/stay.h"
#include "core/submit.h"
#include "core/visit.h"
#include "module/bound.h"
#include "module/extension.h"
#include "module/shelf.h"

#include <errno.h>
#include <sched.h>

/* How often a submitter looks for the queue, while the runner goes from one task to the next. */
#define PAUSES 64
#define YIELDS 16

/* ---- The holder ---- */

bool baton__lend_open(struct baton_resource *resource)
{
	/* See lend.after. A close that this load misses comes during the loan, in which this thread
	 * postpones no marks. */
	if (baton__word_is_closed(baton__word(resource)))
		return false;
	/* [lend.queue] release: all that the holder did with the queue; pairs with [lend.queue] in
	 * lend_take */
	store_release(&baton__bound(resource)->_lent, BATON__OPEN);
	return true;
}

bool baton__lend_regain(struct baton_resource *resource, bool leave)
{
	uint32_t *word = &baton__bound(resource)->_lent;
	uint32_t lent = load_relaxed(word);

	/* Ends: each failure is a submitter that takes the queue or gives it back. */
	for (;;) {
		if (lent == BATON__KEPT)
			return true;
		/* [lend.queue] acquire: what submitters did with the queue; pairs with [lend.queue]
		 * in lend_return */
		if (lent == BATON__OPEN && cas_acquire(word, &lent, BATON__KEPT))
			return true;
		if (lent != BATON__TAKEN)
			continue;
		/* [lend.baton] release: all that the holder did; pairs with [lend.baton] in
		 * lend_return. Last touch. */
		if (!leave || cas_release(word, &lent, BATON__LEFT))
			return false;
	}
}

/* ---- The submitter ---- */

bool baton__lend_is_taken(const struct baton_resource *resource)
{
	/* Relaxed: while this thread has the queue, only TAKEN can become LEFT. */
	return load_relaxed(&baton__bound(resource)->_lent) >= BATON__TAKEN;
}

static bool lend_take(struct baton_bound *bound)
{
	uint32_t open = BATON__OPEN;

	/* [lend.queue] acquire: what the holder and other submitters did with the queue; pairs with
	 * [lend.queue] in open and lend_return */
	return load_relaxed(&bound->_lent) == BATON__OPEN &&
	       cas_acquire(&bound->_lent, &open, BATON__TAKEN);
}

static void lend_return(struct baton_resource *resource)
{
	uint32_t *word = &baton__bound(resource)->_lent;
	uint32_t taken = BATON__TAKEN;

	/* [lend.queue] release: what this submitter did with the queue; pairs with [lend.queue] in
	 * lend_take and regain. Last touch, if the CAS succeeds. */
	if (cas_release(word, &taken, BATON__OPEN))
		return;
	/* [lend.baton] acquire: all that the holder did; pairs with [lend.baton] in regain */
	(void)load_acquire(word);
	store_relaxed(word, BATON__KEPT);
	baton__unshelve_left(resource); /* last touch */
}

/*
 * Accepts the chain. Linearisation point: the look at the word. A close that comes later comes
 * after the chain: the marks that came before have been taken. Called by the thread that has the
 * queue.
 */
static int sort_in_lent(struct baton_resource *resource, struct baton_task *first, uint32_t count)
{
	baton__take(resource);
	if (baton__word_is_closed(baton__word(resource)))
		return -EPIPE;
	baton__bound_exceed(resource, first);
	baton__stats_pushed(resource, first, count);
	baton__backlog(resource)->take(resource, first, false);
	return 1;
}

/* As sort_in_lent, with a borrowed baton. `run`: runs tasks, too, up to the capture limit
 * (loan.h). */
static int borrowed(struct baton_resource *resource, struct baton_task *first, uint32_t count,
                    bool run)
{
	struct baton__stay stay = {.borrowed = true};
	int status;

	baton__frame_push(&stay.frame, resource);
	status = sort_in_lent(resource, first, count);
	if (!run) {
		baton__give_back(&stay);
		return status;
	}
	baton__loan_run(&stay, count);
	baton__deferred_check(baton__self);
	return status;
}

/* Accepts the chain under the queue. 1: accepted; -EPIPE: the resource is closed; 0: the queue is
 * not to be had, and nothing has been done. */
static int submit_under(struct baton_resource *resource, struct baton_task *first, uint32_t count,
                        unsigned how)
{
	const bool here = !(how & BATON__SUBMIT_LATER);
	struct baton__frame frame;
	int status;

	/* Within a task the loan becomes a debt. */
	if (here && baton__turn_seems_queued(resource))
		(void)baton__loan_is_due(resource);
	if (baton__turn_borrow(resource))
		return borrowed(resource, first, count,
		                here && !baton__depth(baton__self) && baton__capture_max(resource));
	if (!lend_take(baton__bound(resource)))
		return 0;
	/* Dropping calls functions of the user's. */
	baton__callback_begin(&frame);
	status = sort_in_lent(resource, first, count);
	/* lend.attention */
	baton__word_set_attention(resource);
	lend_return(resource);
	baton__callback_end(&frame);
	return status;
}

int baton__lend_submit(struct baton_resource *resource, struct baton_task *first, uint32_t count,
                       unsigned how)
{
	for (int round = 0; round < PAUSES + YIELDS; round++) {
		int status = submit_under(resource, first, count, how);

		if (status)
			return status;
		if (baton__bound_reserve_beyond(resource, first))
			return 0;
		/* The holder is between two tasks, or another submitter has the queue: either needs
		 * some steps, and the CPU. */
		if (round < PAUSES)
			baton__pause();
		else
			(void)sched_yield();
	}
	return -EAGAIN;
}

void baton__lend_drop(struct baton_resource *resource, struct baton_task *task)
{
	baton__backlog_left(resource, task);
	if (!baton__cancel_untold(resource, task))
		return;
	if (baton__place(NULL) == BATON__HERE)
		baton__tell_cancelled(resource, task);
	else
		baton__tell_refused(resource, task);
}
