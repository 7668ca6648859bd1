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
#include "core/help.h"

static enum baton__met meet_kick(struct baton__frame *frame, struct baton_resource *resource,
                                 struct baton_task *mark)
{
	(void)frame;
	(void)resource;
	(void)mark->_run(mark); /* last touch of the mark */
	return BATON__MET;
}

static const struct baton__kind kick_kind = {
	.type._flags = BATON__KIND_OWN | BATON__KIND_MARK | BATON__KIND_PROMPT | BATON__KIND_COUNTS,
	.meet = meet_kick,
};

/* True: pushed. False: the resource was idle, and the kick has run, or is given to an executor. */
static bool push(struct baton_resource *resource, struct baton_task *mark)
{
	uintptr_t word = baton__word(resource);

	baton__kind_set(mark, &kick_kind);
	/* Ends: as submit's loop: each failure is somebody's progress. */
	for (;;) {
		if (!baton__word_is_busy(word)) {
			if (!baton__word_capture_for(resource, &word, BATON__ASK_NOTHING))
				continue;
			resource->_list = mark;
			mark->_next = NULL;
			/* Nested: what one kick starts is usually one task. */
			baton__go_on(resource, 1, false);
			return false;
		}
		if (baton__word_push_kick(resource, &word, mark))
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
