/* SPDX-License-Identifier: MIT */
/*
 * Kicks: marks whose function the holder calls under the baton. A closed resource accepts kicks,
 * too, until it is released for good: work that must be done under the baton is done although tasks
 * are refused.
 *
 * Progress: lock-free, as submit. Linearisation point: the CAS on _word.
 */
#include "module/kick.h"

#include "base/atomic.h"
#include "core/visit.h"
#include "core/handoff.h"

static enum baton__met meet_kick(struct baton__stay *stay, struct baton_task *mark)
{
	(void)stay;
	(void)mark->_run(mark); /* last touch of the mark */
	return BATON__MET;
}

static const struct baton__kind kick_kind = {
	.type._flags = BATON__KIND_MARK | BATON__KIND_PROMPT | BATON__KIND_COUNTS,
	.meet = meet_kick,
};

/* The caller holds the baton. */
static void go_on_kicked(struct baton_resource *resource, bool later)
{
	/* A nested stay may run one task: a kick usually lets one task start. */
	baton__go_on(resource, later ? BATON__LATER : baton__place(resource), 1);
}

/* True: pushed. False: the resource was idle, or rested: the kick has run, or the resource was
 * handed off or deferred. */
static bool push_unless_idle(struct baton_resource *resource, struct baton_task *mark, bool later)
{
	uintptr_t word = baton__word(resource);

	baton__kind_set(mark, &kick_kind);
	/* Ends: each failed CAS is another thread's transition of the word. */
	for (;;) {
		if (baton__word_is_resting(word)) {
			if (!baton__word_rouse(resource, &word, mark, mark, BATON__ASK_NOTHING))
				continue;
			go_on_kicked(resource, later);
			return false;
		}
		if (!baton__word_is_busy(word)) {
			if (!baton__word_capture_for(resource, &word, BATON__ASK_NOTHING))
				continue;
			resource->_list = mark;
			mark->_next = NULL;
			go_on_kicked(resource, later);
			return false;
		}
		if (baton__word_push_kick(resource, &word, mark))
			return true;
	}
}

void baton__kick(struct baton_resource *resource, struct baton_task *mark)
{
	if (!push_unless_idle(resource, mark, false))
		return;
	/* The runner may have left the resource to its visitors. The caller is a visitor. */
	baton__visit_look(resource);
}

void baton__kick_open(struct baton_resource *resource, struct baton_task *mark)
{
	(void)push_unless_idle(resource, mark, false);
}

void baton__kick_later(struct baton_resource *resource, struct baton_task *mark)
{
	(void)push_unless_idle(resource, mark, true);
}
