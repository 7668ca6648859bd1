/* SPDX-License-Identifier: MIT */
/*
 * A runner's stay and its end: the hand-off to the executor, what the runner does if the executor
 * refuses, and the start of the next stay on the executor's thread.
 */
#include "core/handoff.h"

#include "base/atomic.h"
#include "base/checked.h"
#include "base/probe.h"
#include "core/backlog.h"
#include "core/drain.h"
#include "core/frame.h"
#include "core/deferred.h"
#include "core/gauge.h"
#include "core/inbox.h"
#include "core/marks.h"
#include "core/stats.h"

#include <errno.h>

/* Counts a hand-off that is tried; `refused`: counts the same hand-off as refused instead. */
static void count_handoff(const struct baton_resource *resource, bool refused)
{
	struct baton_resource_stats *stats = baton__stats(resource);

	if (!stats)
		return;
	if (stats->_gauge && !refused)
		baton__gauge_trace(stats, BATON__EVENT_HANDED_OFF, NULL, 0);
	baton__count(&stats->handoffs, refused ? UINT64_MAX : 1);
	baton__count(&stats->refused, refused);
}

enum baton__handoff baton__hand_off(struct baton_resource *resource)
{
	/* Looked up while this thread holds the baton: afterwards the config may be gone. */
	struct baton_executor *executor = baton__executor_of(resource);
	const struct baton_executor *member;
	bool touched;
	int status;

	if (baton__has_extras(resource))
		count_handoff(resource, false);
	if (!executor) {
		touched = false;
		goto refused;
	}
	BATON__CHECKED(hand_off(resource, executor));
	BATON_PROBE(hand__off, resource, executor);
	member = baton__capture_max(resource) ? NULL : executor;
	baton__turn_queue(resource);
	status = executor->_ops->schedule(executor, &resource->_job);
	if (status >= 0) {
		/* schedule() was the last touch: the resource may be gone; nudge_for only compares
		 * its address. */
		if (status > 0)
			baton__thread_nudge_for(resource, member);
		return BATON__GIVEN;
	}
	if (!baton__turn_take_back(resource, &touched))
		return BATON__GIVEN;
refused:
	BATON_PROBE(hand__off__refused, resource, executor);
	if (baton__has_extras(resource))
		count_handoff(resource, true);
	return touched ? BATON__REFUSED_TOUCHED : BATON__REFUSED;
}

/* The resource has been released, left to visitors, or shelved, or rests. */
static void end_released(struct baton__stay *stay)
{
	struct baton_task *after = stay->after;

	baton__frame_pop(&stay->frame);
	if (BATON_UNLIKELY(after != NULL))
		baton__after(after);
	baton__deferred_check(baton__self);
}

/* A stay without limits: runs until the resource is released, left to visitors, or shelved, or
 * rests. */
static void run_rest(struct baton__stay *stay)
{
	stay->limit_ns = 0;
	do {
		stay->tasks = UINT32_MAX;
	} while (!baton__drain(stay));
	end_released(stay);
}

void baton__stay(struct baton__stay *stay, enum baton__place place)
{
	struct baton_resource *resource = stay->frame.resource;
	struct baton__thread *self = baton__self;
	const bool nested = baton__frame_nested(&stay->frame);
	bool given;

	if (place == BATON__HERE && baton__drain(stay)) {
		end_released(stay);
		return;
	}
	/* At the bottom of its stack a worker goes straight back to its queue: `leaving` tells the
	 * pool. */
	if (!nested && !self->deferred && !self->visits)
		self->leaving = &resource->_job;
	given = baton__hand_off(resource) == BATON__GIVEN;
	self->leaving = NULL;
	if (!given && !nested && place != BATON__LATER) {
		run_rest(stay);
		return;
	}
	/* No executor takes the job: this thread tries the release. A spent stay enters no task. */
	if (!given && place == BATON__EXECUTOR) {
		baton__stay_spent(stay);
		if (baton__drain(stay)) {
			end_released(stay);
			return;
		}
	}
	/* Others' tasks must not deepen this stack: they run when the stack is unwound (L7). */
	if (!given)
		baton__deferred_push(resource);
	baton__frame_pop(&stay->frame);
	if (place != BATON__LATER)
		baton__deferred_check(self);
}

/*
 * Gives a stay the capture limits; the frame and `until_ns` keep their values. The `own` tasks of
 * the submitter are not cut (L8): a hand-off in the middle of a batch would cost more than its
 * tasks.
 */
static void limit(struct baton__stay *stay, uint32_t ran, uint32_t own)
{
	stay->after = NULL;
	stay->until = NULL;
	stay->borrowed = false;
	stay->ran = ran > 0;
	baton__stay_limit(stay);
	/* A nested capture runs the submitter's own tasks only (L7). Without captures none runs. */
	if (stay->tasks > 0 && (baton__frame_nested(&stay->frame) || stay->tasks < own))
		stay->tasks = own;
	stay->tasks -= ran < stay->tasks ? ran : stay->tasks;
}

void baton__run_captured(struct baton__stay *stay, uint32_t ran, uint32_t own)
{
	limit(stay, ran, own);
	baton__stay(stay, BATON__HERE);
}

void baton__go_on(struct baton_resource *resource, enum baton__place place, uint32_t own)
{
	struct baton__stay stay;

	baton__frame_push(&stay.frame, resource);
	stay.until_ns = 0;
	limit(&stay, 0, own);
	baton__stay(&stay, place);
}

void baton__resource_run(struct baton_job *job)
{
	struct baton_resource *resource = baton_container_of(job, struct baton_resource, _job);
	const struct baton_resource_config *config;
	struct baton__stay stay = {0};
	bool touched;

	if (!baton__turn_take_back(resource, &touched))
		return; /* last touch: the helper goes on */
	config = baton__config(resource);
	stay.tasks = baton__quantum(config);
	if (config)
		stay.limit_ns = config->quantum_ns;
	baton__frame_push(&stay.frame, resource);
	baton__stay(&stay, BATON__HERE);
}

void baton__resource_cancel(struct baton_job *job)
{
	struct baton_resource *resource = baton_container_of(job, struct baton_resource, _job);
	struct baton__stay stay = {0};
	bool touched;

	if (!baton__turn_take_back(resource, &touched))
		return; /* last touch: the helper goes on */
	baton__frame_push(&stay.frame, resource);
	baton__take(resource);
	baton__backlog_cancel(resource);
	/* Marks are left, and tasks that were submitted after the take. */
	run_rest(&stay);
}
