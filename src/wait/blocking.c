/* SPDX-License-Identifier: MIT */
/*
 * The bracket around a function that blocks. Begin and end are reported to the executor to which
 * this thread belongs, as a wait is.
 *
 * Invariant:
 * blocking.own: Only the record's thread touches `blocking` and `blocking_top`. While `blocking` is
 *    not 0, the executor has been told of the outermost begin, and not of its end.
 */
#include <baton/blocking.h>

#include <baton/executor.h>

#include "thread/thread.h"

/* The executor of this thread, if the executor wants to be told. Otherwise, and in a fork's child,
 * NULL. */
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
	self->blocking_top = baton__top(self);
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
	BATON_REQUIRE(self->blocking_top == baton__top(self),
	              "the bracket was begun in another task: end it in the same one");
	executor->_ops->blocked(executor, false);
}
