/* SPDX-License-Identifier: MIT */
/* The loops that fire continuations. See firing.h. */
#include "future/firing.h"

#include "base/platform.h"
#include "thread/thread.h"

struct firing {
	struct firing *outer;           /* the loop further down this stack; NULL: none */
	const struct baton__frame *top; /* the thread's innermost frame when the loop began */
	struct baton_continuation *next;
};

/* Not in the thread's record, since a thread has no record if memory was short. */
static __thread struct firing *firing __attribute__((tls_model("initial-exec")));

/* Has the loop called the function that this frame is of? */
static bool is_caller(const struct firing *loop, const struct baton__frame *frame)
{
	return frame && !frame->resource && frame->value == loop;
}

void baton__future_call_from(struct baton__frame *frame)
{
	frame->value = firing;
}

void baton__future_fire(struct baton_continuation *continuation)
{
	struct firing *outer = firing;
	struct firing mine = {outer, baton__top(baton__self), continuation};

	if (!continuation)
		return;
	if (outer && (outer->top == mine.top || is_caller(outer, mine.top))) {
		struct baton_continuation **end = &mine.next;

		/* Bounded: each node is passed once, by the completion that has brought it. */
		while (*end)
			end = &(*end)->_next;
		*end = outer->next;
		outer->next = continuation;
		return;
	}
	firing = &mine;
	while (mine.next) {
		continuation = mine.next;
		mine.next = continuation->_next;
		continuation->_fire(continuation); /* last touch */
	}
	firing = outer;
}

/* The innermost loop that has something to fire; NULL: none. */
static struct firing *unfired(void)
{
	struct firing *loop = firing;

	/* Bounded by the depth of nested calls on this stack. */
	while (loop && !loop->next)
		loop = loop->outer;
	return loop;
}

bool baton__future_has_unfired(void)
{
	return unfired() != NULL;
}

bool baton__future_fire_one(void)
{
	struct firing *loop = unfired();
	struct baton_continuation *continuation;

	if (!loop)
		return false;
	continuation = loop->next;
	loop->next = continuation->_next;
	continuation->_next = NULL;
	baton__future_fire(continuation);
	return true;
}
