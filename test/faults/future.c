/* SPDX-License-Identifier: MIT */
/* Failing calls in: promises, continuations, and the cancelling of futures. */
#include "job.h"

#include <baton/call.h>

#define QUEUED 3

static void *complete(void *arg)
{
	struct baton_future *promise = arg;

	EXPECT(TRY(baton_future_complete(promise, 0, NULL)) == 0);
	EXPECT(TRY(baton_future_complete(promise, 0, NULL)) == -EALREADY);
	return NULL;
}

static void *cancel(void *arg)
{
	struct baton_future *future = arg;

	INSIST(baton_future_cancel(future), USE(baton_future_state(future)) == BATON_PENDING);
	return NULL;
}

SCENARIO(future, promise)
{
	struct baton_future promise = BATON_PROMISE_INIT;

	elsewhere(complete, &promise);
	EXPECT(USE(baton_future_state(&promise)) == BATON_DONE);
	INSIST(baton_future_wait(&promise), true);
	USE(baton_promise_init(&promise));
	elsewhere(cancel, &promise);
	EXPECT(USE(baton_future_state(&promise)) == BATON_CANCELLED);
	EXPECT(TRY(baton_future_status(&promise)) == -ECANCELED);
}

/* The continuation's task is run or cancelled, once; which, hangs on the thread that fires it. */
SCENARIO(then, task)
{
	const struct baton_resource_config config = {
		.capture_max = 1, .quantum = 1, .cancelled = probe_cancelled};
	struct baton_resource resource = BATON_RESOURCE_INIT(&config);
	struct baton_future promise = BATON_PROMISE_INIT;
	struct baton_continuation continuations[2];
	struct probe plain;
	struct probe probe;

	probe_init_plain(&plain);
	probe_init(&probe);
	USE(baton_continuation_task(&continuations[0], &resource, &plain.task));
	USE(baton_continuation_task(&continuations[1], &resource, &probe.task));
	USE(baton_future_then(&promise, &continuations[0]));
	USE(baton_future_then(&promise, &continuations[1]));
	elsewhere(complete, &promise);
	EXPECT(probe_done(&plain) || (fault_planned() && probe_gone(&plain)));
	EXPECT(probe_done(&probe) || (fault_planned() && probe_gone(&probe)));
	resource_end(&resource);
}

struct chained {
	struct job job;
	struct baton_continuation continuation;
	struct baton_future *future;
};

static void chained_init(struct chained *chained, struct baton_pool *pool,
                         struct baton_future *future)
{
	job_init(&chained->job, pool);
	chained->future = future;
	USE(baton_continuation_job(&chained->continuation, USE(baton_pool_executor(pool)),
	                           &chained->job.plain.job));
}

static void *then(void *arg)
{
	struct chained *chained = arg;

	USE(baton_future_then(chained->future, &chained->continuation));
	return NULL;
}

static void chained_check(struct chained *chained)
{
	gate_pass(&chained->job.over);
	EXPECT(job_ran(&chained->job) || (fault_planned() && job_gone(&chained->job)));
}

SCENARIO(then, job)
{
	struct baton_pool *pool = pool_get();
	struct baton_future promise = BATON_PROMISE_INIT;
	struct chained before;
	struct chained after;

	chained_init(&before, pool, &promise);
	chained_init(&after, pool, &promise);
	(void)then(&before);
	elsewhere(complete, &promise);
	elsewhere(then, &after);
	chained_check(&before);
	chained_check(&after);
	pool_put(pool);
}

struct told {
	struct probe *probe;
	struct baton_resource *resource;
	int calls;
	int error;
};

static void submits(void *arg)
{
	struct told *told = arg;

	told->calls++;
	told->error = TRY(baton_submit(told->resource, &told->probe->task));
	if (!told->error)
		return;
	/* The thread gets no record as long as this function runs. */
	EXPECT(told->error == -ENOMEM && fault_planned());
	fault_end();
	EXPECT(probe_untouched(told->probe));
	EXPECT(TRY(baton_submit(told->resource, &told->probe->task)) == -ENOMEM);
}

/* The function is called once, also where the completing thread gets no record; what it submits
 * does not run inside it. */
SCENARIO(then, function)
{
	struct baton_manual *manual = NULL;
	struct baton_resource_config config = {
		.capture_max = BATON_CAPTURE_NONE, .quantum = 1, .cancelled = probe_cancelled};
	struct baton_resource resource;
	struct baton_future promise = BATON_PROMISE_INIT;
	struct baton_continuation continuation;
	struct probe probe;
	struct told told = {&probe, &resource, 0, 0};

	fault_hold();
	EXPECT(TRY(baton_manual_create(&manual)) == 0);
	fault_release();
	config.executor = USE(baton_manual_executor(manual));
	USE(baton_resource_init(&resource, &config));
	probe_init(&probe);
	USE(baton_continuation_function(&continuation, submits, &told));
	USE(baton_future_then(&promise, &continuation));
	elsewhere(complete, &promise);
	EXPECT(told.calls == 1);
	EXPECT(!probe_done(&probe));
	if (told.error)
		EXPECT(TRY(baton_submit(&resource, &probe.task)) == 0);
	(void)USE(baton_manual_run(manual, 0));
	EXPECT(probe_done(&probe));
	resource_end(&resource);
	USE(baton_manual_destroy(manual));
}

static void *cancel_queued(void *arg)
{
	struct probe *probe = arg;

	(void)cancel(&probe->future);
	EXPECT(TRY(baton_future_cancel(&probe->future)) == -EALREADY);
	return NULL;
}

/* Of a resource in an executor's queue the canceller itself unlinks the task. */
SCENARIO(cancel, queued)
{
	struct baton_manual *manual = NULL;
	struct baton_resource_config config = {
		.capture_max = BATON_CAPTURE_NONE, .quantum = 1, .cancelled = probe_cancelled};
	struct baton_resource resource;
	struct probe first;
	struct probe second;

	fault_hold();
	EXPECT(TRY(baton_manual_create(&manual)) == 0);
	fault_release();
	config.executor = USE(baton_manual_executor(manual));
	USE(baton_resource_init(&resource, &config));
	probe_init(&first);
	probe_init(&second);
	INSIST(baton_submit(&resource, &first.task), probe_untouched(&first));
	INSIST(baton_submit(&resource, &second.task), probe_untouched(&second));
	elsewhere(cancel_queued, &second);
	EXPECT(probe_gone(&second));
	EXPECT(USE(baton_manual_run(manual, 0)) == 1);
	EXPECT(probe_done(&first));
	resource_end(&resource);
	USE(baton_manual_destroy(manual));
}

static void *cancel_running(void *arg)
{
	struct probe *probe = arg;
	int status = TRY(baton_future_cancel(&probe->future));

	if (status == -ENOMEM) {
		EXPECT(fault_planned());
		fault_end();
		status = TRY(baton_future_cancel(&probe->future));
	}
	EXPECT(status == -EINPROGRESS);
	return NULL;
}

SCENARIO(cancel, running)
{
	struct baton_resource resource = BATON_RESOURCE_INIT(NULL);
	struct occupant occupant;

	occupy(&occupant, &resource);
	elsewhere(cancel_running, &occupant.probe);
	leave(&occupant);
	EXPECT(occupant.cancel_requested);
	resource_end(&resource);
}

struct pending {
	struct baton_resource *resource;
	struct probe probes[QUEUED];
	atomic_int posted;
	atomic_int dropped; /* posts that were cancelled */
};

/* All in the runner's inbox, nothing of it has begun. */
static bool is_pending(const struct pending *pending)
{
	for (int i = 0; i < QUEUED; i++)
		if (atomic_load(&pending->probes[i].runs) ||
		    atomic_load(&pending->probes[i].cancelled))
			return false;
	return true;
}

static void count_dropped(void *dropped)
{
	atomic_fetch_add((atomic_int *)dropped, 1);
}

static void *cancel_pending(void *arg)
{
	struct pending *pending = arg;

	INSIST(baton_resource_cancel_pending(pending->resource), is_pending(pending));
	return NULL;
}

SCENARIO(cancel, pending)
{
	const struct baton_resource_config config = {
		.capture_max = 100, .quantum = 1, .cancelled = probe_cancelled};
	struct baton_resource resource = BATON_RESOURCE_INIT(&config);
	struct pending pending = {.resource = &resource};
	struct probe later;
	struct occupant occupant;

	occupy(&occupant, &resource);
	for (int i = 0; i < QUEUED; i++) {
		if (i == 1)
			probe_init_plain(&pending.probes[i]);
		else
			probe_init(&pending.probes[i]);
		INSIST(baton_submit(&resource, &pending.probes[i].task),
		       probe_untouched(&pending.probes[i]));
	}
	INSIST(baton_post(&resource, count_up, &pending.posted), true);
	INSIST(baton_post_with(&resource, &(struct baton_call_options){.fn = count_up,
	                                                               .cancelled = count_dropped,
	                                                               .arg = &pending.dropped}),
	       true);
	elsewhere(cancel_pending, &pending);
	probe_init(&later);
	INSIST(baton_submit(&resource, &later.task), probe_untouched(&later));
	leave(&occupant);
	for (int i = 0; i < QUEUED; i++)
		EXPECT(probe_gone(&pending.probes[i]));
	EXPECT(probe_done(&later));
	EXPECT(atomic_load(&pending.posted) == 0);
	EXPECT(atomic_load(&pending.dropped) == 1);
	resource_end(&resource);
}
