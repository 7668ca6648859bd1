/* SPDX-License-Identifier: MIT */
/* Tells the owner of a stopped object that its memory is the owner's. See stop.h. */
#include "timer/stop.h"

#include <baton/future.h>

#include "base/checked.h"
#include "base/futex.h"
#include "core/callback.h"
#include "core/called.h"
#include "core/kind.h"
#include "core/stay.h"
#include "core/word.h"
#include "wait/cycle.h"
#include "wait/wait.h"

#include <errno.h>
#include <sched.h>

static enum baton__met meet_told(struct baton__stay *stay, struct baton_task *mark)
{
	(void)stay;
	baton__finalise(mark); /* last touch of the mark */
	return BATON__MET;
}

static const struct baton__kind told_kind = {
	.type._flags = BATON__KIND_MARK | BATON__KIND_PROMPT | BATON__KIND_COUNTS,
	.meet = meet_told,
};

static void make_mark(struct baton_task *task, baton_task_fn tell)
{
	task->_run = tell;
	baton__kind_set(task, &told_kind);
}

void baton__stop_tell(struct baton_task *task, baton_task_fn tell)
{
	make_mark(task, tell);
	/* A thread without a record puts nothing off. If there is no memory for one, it nests. */
	if (BATON_UNLIKELY(!baton__has_record(baton__self)))
		(void)baton__thread_attach();
	baton__finalise(task);
}

void baton__stop_tell_after(struct baton_resource *resource, struct baton_task *task,
                            baton_task_fn tell)
{
	uintptr_t word = baton__word_settled(resource);

	make_mark(task, tell);
	/* Ends, as the loop of submit does: each failure is another thread's progress. If the
	 * resource is idle or rests, no task runs. Otherwise the holder meets the mark between two
	 * tasks; if the runner has left the resource to its visitors, the last of them does. */
	while (baton__word_is_busy(word) && !baton__word_is_resting(word)) {
		if (baton__word_push_mark(resource, &word, task, BATON__ASK_NOTHING))
			return; /* last touch of both */
		/* Anew: the failed push has acquired nothing of what the task did. */
		word = baton__word_settled(resource);
	}
	baton__finalise(task);
}

int baton__stop_wait(void *object, enum baton_stop (*stop)(void *object),
                     struct baton_resource *resource, uint64_t deadline_ns)
{
	if (BATON_UNLIKELY(baton__forked()))
		return -ECHILD;
	/* The loop ends when the thread that has the task has submitted it, the resource's runner
	 * has come to it, and its function has returned; or at the deadline. Another round follows,
	 * too, if the function has armed its object anew. */
	while (stop(object) >= BATON_STOP_QUEUED) {
		int error;

		if (baton__thread_runs_in(baton__self, resource) || baton__must_not_wait())
			return -EDEADLK;
		/* The task may be about to be submitted: the resource may be idle meanwhile. */
		if (baton__is_past(deadline_ns))
			return -ETIMEDOUT;
		error = baton_resource_await_until(resource, deadline_ns);
		if (error && error != -ETIMEDOUT)
			return error;
		/* This thread may have put off the function of a stop_then. */
		error = baton__wait_put_off(deadline_ns);
		if (error < 0)
			return error;
		(void)sched_yield();
	}
	return 0;
}

BATON_EXPORT void baton_stopped_complete(void *promise)
{
	BATON__NEED(promise, "the promise is NULL");
	(void)baton_future_complete((struct baton_future *)promise, 0, NULL);
}
