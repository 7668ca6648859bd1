/* SPDX-License-Identifier: MIT */
/*
 * Loans: a submitter's stay with a resource that waits in a queue. See loan.h.
 */
#include "loan.h"

#include "atomic.h"
#include "extension.h"
#include "inbox.h"
#include "lane.h"

/* Nothing waits, and nothing but plain order decides what is next. The holder. */
static bool is_empty(const struct baton_resource *resource, uintptr_t word)
{
	return !resource->_list && !resource->_stats && !(word & BATON__TASKS);
}

/*
 * Accepts the chain. Linearisation point: the caller's look at the word of an open resource. A
 * close that has come since then comes after the chain. The holder.
 */
static void accept(struct baton_resource *resource, struct baton_task *first)
{
	uintptr_t word = load_relaxed(&resource->_word);
	struct baton_task *newest;

	if (is_empty(resource, word)) {
		resource->_list = first;
		return;
	}
	newest = baton__reversed(first);
	/* Ends: each failure is another's push, or a close. */
	while (!baton__push(resource, &word, newest, first))
		;
}

static bool any_left(const struct baton_resource *resource)
{
	/* Relaxed: a hint. */
	return resource->_list || load_relaxed(&resource->_word) & BATON__TASKS ||
	       !baton__lanes_empty(resource);
}

/* `left`: the stay was over before the queue was empty. */
static void learn(struct baton__thread *self, bool left)
{
	uint32_t next = 2U * self->loan_next;

	if (left)
		next = 0;
	else if (next < BATON_LOAN_SKIP_MIN)
		next = BATON_LOAN_SKIP_MIN;
	else if (next > BATON_LOAN_SKIP_MAX)
		next = BATON_LOAN_SKIP_MAX;
	self->loan_next = (uint16_t)next;
	self->loan_skip = (uint16_t)next;
}

static struct baton__budget budget_of(const struct baton_resource *resource, uint32_t count)
{
	const struct baton_resource_config *config = resource->_config;
	struct baton__budget budget = {.tasks = BATON_CAPTURE_LIMIT, .borrowed = true};

	if (config) {
		budget.tasks = config->capture_limit;
		budget.limit_ns = config->capture_limit_ns;
	}
	/* As many as it adds, or the queue would grow with each batch. */
	if (budget.tasks < count)
		budget.tasks = count;
	return budget;
}

bool baton__loan_submit(struct baton_resource *resource, struct baton_task *first, uint32_t count)
{
	struct baton__thread *self = baton__self;
	struct baton__budget budget = budget_of(resource, count);
	struct baton__frame frame;

	if (!baton__capture_limit(resource) || !baton__borrow(resource))
		return false;
	baton__frame_push(&frame, resource);
	accept(resource, first);
	if (baton__stats(resource))
		baton__count(&baton__stats(resource)->helped, 1);
	if (baton__drain(&frame, resource, &budget)) {
		/* Shelved: the unsheller gives it back. */
		baton__frame_pop(&frame);
	} else {
		learn(self, any_left(resource));
		baton__give_back(&frame, resource);
	}
	baton__deferred_check(self);
	return true;
}
