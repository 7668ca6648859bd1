/* SPDX-License-Identifier: MIT */
/*
 * Labelled tasks, which a runner recognises by their function, as it does baton_post's.
 *
 * Whoever takes a labelled task out of the queue to enter it asks baton__label_enter first, before
 * its future is claimed, and then calls baton__function: so that a future which ends as cancelled
 * has never been running. The short paths, which know nothing of labels, call the task's function
 * as any other's: baton__labelled_run then asks itself; only for a task without a future.
 */
#ifndef BATON_SRC_LABELLED_H
#define BATON_SRC_LABELLED_H

#include <baton/labelled.h>

#include "base/platform.h"
#include "core/kind.h"
#include "core/tag.h"

int baton__labelled_run(struct baton_task *task);

/*
 * The run function of baton_post_labelled's tasks, and the function that completes a cancelled one.
 */
int baton__post_labelled_run(struct baton_task *task);
void baton__post_labelled_cancelled(struct baton_task *task);

/* The label of a task; NULL: it has none. */
BATON_INLINE struct baton_labelled *baton__label(const struct baton_task *task)
{
	return task->_run == baton__labelled_run ? (struct baton_labelled *)(void *)task : NULL;
}

/* What runs of it, once it has been asked about. */
BATON_INLINE baton_task_fn baton__function(const struct baton_task *task)
{
	const struct baton_labelled *labelled = baton__label(task);

	if (baton__of_kind(task))
		return baton__type(task)->run;
	return labelled ? labelled->_fn : task->_run;
}

/* It is to be entered, or is cancelled: a tag that it holds is let go. */
BATON_INLINE void baton__label_let_go(struct baton_labelled *labelled)
{
	struct baton_tag *tag = labelled->_tag;

	if (!labelled->_holds)
		return;
	labelled->_holds = false;
	labelled->_tag = NULL;
	baton__tag_let_go(tag);
}

/* False: its tag has been cancelled, and it must not be entered. */
BATON_INLINE bool baton__label_enter(struct baton_task *task)
{
	struct baton_labelled *labelled = baton__label(task);
	bool valid;

	if (!labelled || !labelled->_tag)
		return true;
	valid = baton__tag_generation(labelled->_tag) == labelled->_generation;
	baton__label_let_go(labelled);
	return valid;
}

#endif
