/* SPDX-License-Identifier: MIT */
/*
 * Loans: a submitter's stay with a resource that waits in a queue. See loan.h.
 */
#include "core/loan.h"

#include "base/atomic.h"
#include "core/backlog.h"
#include "core/contention.h"
#include "core/debt.h"
#include "core/deferred.h"
#include "core/drain.h"
#include "core/frame.h"
#include "core/list.h"
#include "core/visit.h"
#include "core/stats.h"

/*
 * Would the chain run next, in plain order? True if no task waits, and the resource has neither
 * statistics nor an extension such as lanes. Called by the holder.
 */
static bool is_empty(const struct baton_resource *resource, uintptr_t word)
{
	return !resource->_list && !baton__has_extras(resource) && !baton__word_newest(word);
}

/*
 * Accepts the chain. Linearisation point: the submitter's look at the word; if tasks wait, the
 * push. False: the resource is closed, and the last entry that waits may be its finaliser. Called
 * by the holder.
 */
static bool accept(struct baton_resource *resource, struct baton_task *first)
{
	uintptr_t word = baton__word(resource);
	struct baton_task *newest;

	if (is_empty(resource, word)) {
		/* A close that comes after the submitter's look at the word is ordered after the
		 * chain. */
		baton__index_forget(resource);
		resource->_list = first;
		return true;
	}
	newest = baton__reversed(first);
	/* Ends: each failure is another thread's push or close. */
	do {
		if (baton__word_is_closed(word)) {
			/* A failed push has linked the chain to the inbox. */
			first->_next = NULL;
			(void)baton__reversed(newest);
			return false;
		}
	} while (!baton__word_push(resource, &word, newest, first));
	return true;
}

static uint32_t sum_of(uint32_t limit, uint32_t more)
{
	return more < UINT32_MAX - limit ? limit + more : UINT32_MAX;
}

void baton__loan_run(struct baton__stay *stay, uint32_t count)
{
	const struct baton_resource *resource = stay->frame.resource;
	bool recalled;

	baton__stay_limit(stay);
	/* A batch counts as one task, or long batches would never make the queue shorter. */
	if (count > 1)
		stay->tasks = sum_of(stay->tasks, count - 1);
	if (baton__stats(resource))
		baton__count(&baton__stats(resource)->helped, 1);
	if (baton__drain(stay)) {
		/* Shelved, or left to a submitter: the next holder gives the baton back. */
		baton__frame_pop(&stay->frame);
		return;
	}
	recalled = baton__recall(stay);
	baton__loan_learn(baton__self, baton__any_waits(resource), recalled);
	(void)baton__give_back_helped(stay, true, recalled);
}

bool baton__loan_submit(struct baton_resource *resource, struct baton_task *first, uint32_t count)
{
	struct baton__stay stay = {.borrowed = true};

	if (!baton__capture_max(resource) || !baton__turn_borrow(resource))
		return false;
	baton__frame_push(&stay.frame, resource);
	if (!accept(resource, first)) {
		baton__give_back(&stay);
		return false;
	}
	baton__loan_run(&stay, count);
	baton__deferred_check(baton__self);
	return true;
}

/* ---- Debts ---- */

static void pay(struct baton_plain_job *job)
{
	struct baton__thread *self = baton_container_of(job, struct baton__thread, debt_job);

	self->debt_queued = false;
	self->debt_paying = true;
	for (int i = 0; i < BATON__DEBTS_MAX; i++) {
		struct baton_resource *resource = load_relaxed(&self->debts[i]);
		struct baton__stay stay = {.borrowed = true};

		if (!resource || !baton__debt_take_out(&self->debts[i], resource))
			continue;
		if (baton__turn_borrow(resource)) {
			baton__frame_push(&stay.frame, resource);
			baton__loan_run(&stay, 0);
		}
		baton__visit_end(resource);
	}
	self->debt_paying = false;
}

static void owe(struct baton__thread *self, struct baton_resource *resource)
{
	struct baton_resource **place = NULL;

	for (int i = 0; i < BATON__DEBTS_MAX; i++) {
		struct baton_resource *other = load_relaxed(&self->debts[i]);

		if (other == resource)
			return;
		if (!other)
			place = &self->debts[i];
	}
	if (!place)
		return;
	/* Relaxed: the submit that is under way keeps the resource until its push, which publishes
	 * the visit and the debt. */
	baton__turn_visit(resource);
	store_relaxed(place, resource);
	if (self->debt_queued)
		return;
	self->debt_queued = true;
	baton_plain_job_init(&self->debt_job, pay, NULL);
	baton__deferred_append(&self->debt_job.job);
}

BATON_NOINLINE bool baton__loan_is_due(struct baton_resource *resource)
{
	struct baton__thread *self = baton__self;

	if (baton__loan_put_off(self))
		return false;
	if (baton__depth(self) == 0)
		return true;
	if (!BATON__LACKS(BATON__DEBT) && baton__has_record(self) && !self->debt_paying &&
	    baton__capture_max(resource))
		owe(self, resource);
	return false;
}

void baton__loan_forget(struct baton_resource *resource)
{
	struct baton__thread *self = baton__self;

	if (BATON_LIKELY(!self->debt_queued))
		return;
	for (int i = 0; i < BATON__DEBTS_MAX; i++)
		if (baton__debt_take_out(&self->debts[i], resource))
			baton__visit_end(resource);
}
