/* SPDX-License-Identifier: MIT */
/*
 * The grant: the task by which a hold waits in a busy resource (hold.c). The grant of a shared hold
 * is a reader (reader.c) whose place in the group goes to the waiting thread.
 *
 * Invariants:
 * hold.grant: One CAS on the future decides between the grant and a deadline, cancel or deadlock
 *    (claim; baton__cancel_decide; may_abort, cycle.c). The claim comes before the shelving.
 * hold.memory: A grant that may be withdrawn before it is unlinked lies in a node. A thread that
 *    holds nothing, and has no deadline, is never refused while its grant is queued: its grant lies
 *    on its stack.
 */
#include "module/hold.h"

#include "base/futex.h"
#include "thread/node.h"
#include "core/submit.h"
#include "wait/cycle.h"
#include "call/call.h"
#include "module/reader.h"
#include "module/shelf.h"
#include "module/who.h"

#include <errno.h>

struct grant {
	struct baton__counted counted;
	struct baton_task task;
	struct baton__who who;
	struct baton_reader reader; /* of a shared hold */
};

_Static_assert(sizeof(struct grant) <= BATON__NODE_BODY_SIZE, "fits a node");
_Static_assert(offsetof(struct grant, counted) == 0, "unref frees the node by its future");

/* The runner has reached the grant: when this task has returned, the runner leaves. */
static int shelve_for(struct baton_task *task)
{
	baton__shelve_for(baton__top(baton__self)->resource,
	                  &baton_container_of(task, struct grant, task)->who);
	return 0;
}

static const struct baton_task_type grant_type = {
	.run = shelve_for,
	.future = BATON_TASK_PLACE(struct grant, task, counted.future),
	._flags = BATON__KIND_HAS_FUTURE | BATON__KIND_ALONE,
};

/* The same for a shared hold. Beside readers the baton stays with their leader. */
static int share_for(struct baton_task *task)
{
	struct grant *grant = baton_container_of(task, struct grant, task);

	return baton__readers_count_held(grant->reader._readers) ? 0 : shelve_for(task);
}

static const struct baton_task_type shared_grant_type = {
	.run = share_for,
	.future = BATON_TASK_PLACE(struct grant, task, counted.future),
	.reader = BATON_TASK_PLACE(struct grant, task, reader),
	._flags = BATON__KIND_HAS_FUTURE | BATON__KIND_ALONE,
};

static int submit_grant(struct baton_resource *resource, struct grant *grant, uint64_t deadline_ns,
                        struct baton_readers *readers)
{
	struct baton__thread *self = baton__self;
	const struct baton__in_time in_time = {&grant->task, deadline_ns};
	const struct baton__in_time *outer = self->in_time;
	int error;

	grant->who = baton__who_now();
	baton__type_set(&grant->task, readers ? &shared_grant_type : &grant_type);
	if (readers)
		baton_reader_init(&grant->reader, readers);
	/* A bound may have the submit wait for room. */
	if (deadline_ns != BATON_FOREVER)
		self->in_time = &in_time;
	error = baton__submit(resource, &grant->task, 0);
	self->in_time = outer;
	return error;
}

/* hold.memory: with a node. */
static int await_counted(struct baton_resource *resource, uint64_t deadline_ns,
                         struct baton_readers *readers)
{
	struct grant *grant = baton__node_alloc(sizeof(*grant));
	struct baton_future *future;
	int error;

	if (!grant)
		return -ENOMEM;
	grant->counted = (struct baton__counted){.references = 1};
	future = &grant->counted.future;
	/* unshared: not submitted yet */
	future->_state = BATON__FUTURE_COUNTED;
	error = submit_grant(resource, grant, deadline_ns, readers);
	if (error) {
		baton__node_free(grant);
		return error;
	}
	baton__self->asks = resource;
	error = baton__call_end_counted(future, deadline_ns, false);
	baton__self->asks = NULL;
	baton_future_unref(future);
	return error;
}

/* hold.memory: on the stack. */
static int await_here(struct baton_resource *resource, struct baton_readers *readers)
{
	struct grant grant = {.counted = {.future = BATON_FUTURE_INIT}};
	int error = submit_grant(resource, &grant, BATON_FOREVER, readers);

	if (error)
		return error;
	baton__self->asks = resource;
	error = baton__call_end(&grant.counted.future, false);
	baton__self->asks = NULL;
	return error;
}

int baton__hold_await(struct baton_resource *resource, uint64_t deadline_ns,
                      struct baton_readers *readers)
{
	int error = baton__cycle_if_held(baton__self->called, resource, false);

	if (error)
		return error;
	if (baton__word_is_closed(baton__word(resource)))
		return -EPIPE;
	if (baton__is_past(deadline_ns))
		return -ETIMEDOUT;
	if (baton__must_not_wait())
		return -EDEADLK;
	return deadline_ns == BATON_FOREVER && !baton__self->top
	               ? await_here(resource, readers)
	               : await_counted(resource, deadline_ns, readers);
}
