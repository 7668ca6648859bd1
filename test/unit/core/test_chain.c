/* SPDX-License-Identifier: MIT */
/*
 * Chains of continuations, of callbacks and of jobs need a bounded stack, whatever their length:
 * see chain.h.
 */
#include "chain.h"

/* ---- Continuations to closed resources: each cancels a task, whose future has the next ---- */

static void task_after(struct link *link)
{
	baton_future_init(&link->future);
	baton_task_init(&link->task, nothing_run, &link->future);
	if (next_of(link))
		baton_continuation_task(&next_of(link)->continuation, &next_of(link)->resource,
		                        &next_of(link)->task);
	if (next_of(link))
		baton_future_then(&link->future, &next_of(link)->continuation);
}

static void closed_init(struct link *link)
{
	resource_of(link);
	expect(link, baton_resource_close(&link->resource) == 0);
	task_after(link);
}

static void promise_begin(struct link *link)
{
	struct baton_future promise = BATON_PROMISE_INIT;

	baton_continuation_task(&link->continuation, &link->resource, &link->task);
	baton_future_then(&promise, &link->continuation);
	expect(link, baton_future_complete(&promise, 0, NULL) == 0);
}

/* ---- The same, dropped by a bound that is full ---- */

static void full_of(struct link *link)
{
	/* Not entered before the end: the executor keeps the job. */
	baton_task_init(&link->finaliser, nothing_run, NULL);
	baton_resource_init(&link->resource, &link->chain->config);
	baton_bound_init(&link->bound, &link->chain->bound);
	baton_resource_set_bound(&link->resource, &link->bound);
	expect(link, baton_submit_later(&link->resource, &link->finaliser) == 0);
}

static void full_init(struct link *link)
{
	full_of(link);
	task_after(link);
}

static bool full_end(struct link *link)
{
	baton_job_run(&link->resource._job);
	return baton_resource_close(&link->resource) == 0 &&
	       baton_resource_await(&link->resource) == 0;
}

/* ---- `cancelled` of a task that a continuation could not submit, or that a bound drops ---- */

static void told_closed(struct baton_task *task)
{
	struct link *link = baton_container_of(task, struct link, task);

	count_up(link);
	if (next_of(link))
		expect(link, baton_future_complete(&next_of(link)->future, 0, NULL) == 0);
}

static void told_init(struct link *link)
{
	resource_of(link);
	link->chain->config.cancelled = told_closed;
	expect(link, baton_resource_close(&link->resource) == 0);
	baton_promise_init(&link->future);
	baton_task_init(&link->task, nothing_run, NULL);
	baton_continuation_task(&link->continuation, &link->resource, &link->task);
	baton_future_then(&link->future, &link->continuation);
}

static void completes(struct link *link)
{
	expect(link, baton_future_complete(&link->future, 0, NULL) == 0);
}

static void told_dropped(struct baton_task *task)
{
	struct link *link = baton_container_of(task, struct link, task);

	count_up(link);
	if (next_of(link))
		expect(link, baton_submit(&next_of(link)->resource, &next_of(link)->task) == 0);
}

static void dropped_init(struct link *link)
{
	link->chain->config.cancelled = told_dropped;
	full_of(link);
	baton_task_init(&link->task, nothing_run, NULL);
}

static void submits(struct link *link)
{
	expect(link, baton_submit(&link->resource, &link->task) == 0);
}

/* ---- A job that its executor refuses, and its trigger's like ---- */

static void job_cancelled(struct baton_plain_job *job)
{
	struct link *link = baton_container_of(job, struct link, job);

	count_up(link);
	if (next_of(link))
		completes(next_of(link));
}

static void job_init(struct link *link)
{
	baton_promise_init(&link->future);
	baton_plain_job_init(&link->job, job_cancelled, job_cancelled);
	baton_continuation_job(&link->continuation, &link->chain->executor, &link->job.job);
	baton_future_then(&link->future, &link->continuation);
}

static void job_cancels(struct baton_plain_job *job)
{
	struct link *link = baton_container_of(job, struct link, job);

	count_up(link);
	if (next_of(link))
		baton_job_cancel(&next_of(link)->job.job);
}

static void job_to_cancel_init(struct link *link)
{
	baton_plain_job_init(&link->job, job_cancels, job_cancels);
}

static void cancels_job(struct link *link)
{
	baton_job_cancel(&link->job.job);
}

static void trigger_cancelled(struct baton_trigger *trigger, int error, uint64_t fires)
{
	struct link *link = baton_container_of(trigger, struct link, trigger);

	expect(link, fires == 1);
	count_up(link);
	if (next_of(link))
		completes(next_of(link));
}

static int trigger_run(struct baton_trigger *trigger, uint64_t fires)
{
	expect(baton_container_of(trigger, struct link, trigger), false);
	return 0;
}

static void trigger_init(struct link *link)
{
	resource_of(link);
	expect(link, baton_resource_close(&link->resource) == 0);
	baton_promise_init(&link->future);
	baton_trigger_init(&link->trigger, &link->resource, trigger_run);
	baton_trigger_set_dropped(&link->trigger, trigger_cancelled);
	if ((link - link->chain->links) % 2)
		BATON_IGNORE(baton_trigger_stop(&link->trigger).met);
	baton_continuation_trigger(&link->continuation, &link->trigger);
	baton_future_then(&link->future, &link->continuation);
}

/* ---- Groups: `cancelled` leaves the next one ---- */

static void told_group(struct baton_task *task)
{
	struct link *link = baton_container_of(task, struct link, task);

	count_up(link);
	if (next_of(link))
		baton_group_leave(&next_of(link)->group);
}

static void group_init(struct link *link)
{
	resource_of(link);
	link->chain->config.cancelled = told_group;
	expect(link, baton_resource_close(&link->resource) == 0);
	baton_group_init(&link->group);
	baton_group_enter(&link->group);
	baton_task_init(&link->task, nothing_run, NULL);
	baton_continuation_task(&link->continuation, &link->resource, &link->task);
	baton_group_then(&link->group, &link->continuation);
}

static void leaves(struct link *link)
{
	baton_group_leave(&link->group);
}

/* ---- A watermark's function cancels what is queued elsewhere ---- */

static void low_cancels_next(struct baton_resource *resource, void *arg)
{
	struct link *link = baton_container_of(resource, struct link, resource);

	count_up(link);
	if (next_of(link))
		expect(link, baton_future_cancel(&next_of(link)->future) == 0);
}

static void low_init(struct link *link)
{
	link->chain->bound.tasks_max = 0;
	link->chain->bound.tasks_high = 1;
	link->chain->bound.low = low_cancels_next;
	resource_of(link);
	baton_bound_init(&link->bound, &link->chain->bound);
	baton_resource_set_bound(&link->resource, &link->bound);
	baton_future_init(&link->future);
	baton_task_init(&link->task, nothing_run, &link->future);
	expect(link, baton_submit_later(&link->resource, &link->task) == 0);
}

static void cancels(struct link *link)
{
	expect(link, baton_future_cancel(&link->future) == 0);
}

/* A link that was too deep is left to the runner. */
static bool low_over(struct link *link)
{
	if (!baton_future_is_complete(&link->future))
		baton_job_run(&link->resource._job);
	return baton_future_is_complete(&link->future);
}

/* ---- The same by jobs that are cancelled with all that their resources have ---- */

static void told_job(struct baton_task *task)
{
	struct link *link = baton_container_of(task, struct link, task);

	count_up(link);
	if (next_of(link))
		baton_job_cancel(&next_of(link)->resource._job);
}

static void resource_job_init(struct link *link)
{
	link->chain->config.cancelled = told_job;
	resource_of(link);
	baton_task_init(&link->task, nothing_run, NULL);
	expect(link, baton_submit_later(&link->resource, &link->task) == 0);
}

static void cancels_resource_job(struct link *link)
{
	baton_job_cancel(&link->resource._job);
}

static const struct sort continuations[] = {
	{"to closed resources", closed_init, promise_begin, cancelled_p, NULL, POOL},
	{"that a bound drops", full_init, promise_begin, cancelled_p, full_end, KEEPS},
	{"of groups, refused", group_init, leaves, NULL, NULL, POOL},
};

static const struct sort callbacks[] = {
	{"cancelled, refused by a closed resource", told_init, completes, NULL, NULL, POOL},
	{"cancelled, dropped by a bound", dropped_init, submits, NULL, full_end, KEEPS},
	{"of a trigger that is refused", trigger_init, completes, NULL, NULL, POOL},
	{"of a watermark that cancels", low_init, cancels, low_over, NULL, KEEPS},
};

static const struct sort jobs[] = {
	{"refused", job_init, completes, NULL, NULL, REFUSES},
	{"cancelled", job_to_cancel_init, cancels_job, NULL, NULL, REFUSES},
	{"of resources, cancelled", resource_job_init, cancels_resource_job, NULL, NULL, KEEPS},
};

Test(chain, of_continuations_on_64_kib, .timeout = 60)
{
	CHAINS(continuations);
}

Test(chain, of_callbacks_on_64_kib, .timeout = 60)
{
	CHAINS(callbacks);
}

Test(chain, of_jobs_on_64_kib, .timeout = 60)
{
	CHAINS(jobs);
}
