/* SPDX-License-Identifier: MIT */
/*
 * Kicks: a mark whose function is called under the baton, by whoever has it. A closed resource
 * takes kicks as well, as long as somebody holds a visit: so what is to be done under the baton is
 * done, although tasks are refused.
 *
 * Progress: lock-free, as submit is. Linearisation point: the CAS on _word.
 */
#include "core/kick.h"

#include "base/atomic.h"
#include "core/place.h"

static enum baton__met meet_kick(struct baton__frame *frame, struct baton_resource *resource,
                                 struct baton_task *mark)
{
	(void)frame;
	(void)resource;
	(void)mark->_run(mark); /* last touch of the mark */
	return BATON__MET;
}

static const struct baton__kind kick_kind = {
	.flags = BATON__KIND_MARK | BATON__KIND_PROMPT | BATON__KIND_COUNTS,
	.meet = meet_kick,
};

/* True: pushed. False: the resource was idle, and the kick has run, or is given to an executor. */
static bool push(struct baton_resource *resource, struct baton_task *mark)
{
	uintptr_t word = load_relaxed(&resource->_word);

	baton__kind_set(mark, &kick_kind);
	/* Ends: as submit's loop: each failure is somebody's progress. */
	for (;;) {
		uintptr_t flags = (word & BATON__MODE) | BATON__BUSY;

		if (!(word & BATON__BUSY)) {
			/* [R2] acquire: what the last runner did; pairs with [R2] in release */
			if (!cas_acquire(&resource->_word, &word, flags))
				continue;
			resource->_list = mark;
			mark->_next = NULL;
			/* Nested: what one kick starts is usually one task. */
			baton__go_on(resource, 1, false);
			return false;
		}
		mark->_next = (struct baton_task *)(word & BATON__TASKS);
		/* [R1] release: the mark; pairs with [R1] in take. [V1] seq_cst: before the look at
		 * who is leaving; pairs with [V1] in left_to_visitors */
		if (cas_seq_cst(&resource->_word, &word, (uintptr_t)mark | flags))
			return true;
	}
}

void baton__kick(struct baton_resource *resource, struct baton_task *mark)
{
	if (!push(resource, mark))
		return;
	/* The runner may have left what is left to the visitors, of which the caller is one. */
	baton__visit_look(resource);
}

void baton__kick_open(struct baton_resource *resource, struct baton_task *mark)
{
	(void)push(resource, mark);
}
