/* SPDX-License-Identifier: MIT */
/*
 * The bracket around what blocks: tells the executor whose thread this is, like a wait does.
 *
 * Invariant: B1 `blocking` and `blocking_top` of a thread's record are its own; the executor has
 * been told of the outermost begin, and not yet of its end, while `blocking` is not 0.
 */
#include <baton/blocking.h>
#include <baton/executor.h>

#include "thread/thread.h"

/* The executor that wants to be told, or NULL. */
static struct baton_executor *told(void)
{
	struct baton_executor *member = baton__self->member;

	return member && member->_ops->blocked && !baton__forked() ? member : NULL;
}

BATON_EXPORT void baton_blocking_begin(void)
{
	struct baton_executor *executor = told();
	struct baton__thread *self = baton__self;

	if (!executor || self->blocking++)
		return;
	self->blocking_top = self->top;
	executor->_ops->blocked(executor, true);
}

BATON_EXPORT void baton_blocking_end(void)
{
	struct baton_executor *executor = told();
	struct baton__thread *self = baton__self;

	if (!executor)
		return;
	BATON_REQUIRE(self->blocking > 0, "there is no bracket to end: call begin before");
	if (--self->blocking)
		return;
	BATON_REQUIRE(self->blocking_top == self->top,
	              "the bracket was begun in another task: end it in the same one");
	executor->_ops->blocked(executor, false);
}
