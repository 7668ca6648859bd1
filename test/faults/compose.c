/* SPDX-License-Identifier: MIT */
/* Failing calls in: triggers, groups, fan-outs, undo logs. */
#include "scenario.h"

#include <baton/fan_out.h>
#include <baton/group.h>
#include <baton/trigger.h>
#include <baton/undo.h>

/* ---- Triggers ---- */

struct bell {
	struct baton_trigger trigger;
	struct baton_resource resource;
	int runs;
};

static int ring(struct baton_trigger *trigger, uint64_t fires)
{
	struct bell *bell = baton_container_of(trigger, struct bell, trigger);

	bell->runs += (int)fires;
	return 0;
}

SCENARIO(compose, trigger)
{
	struct bell bell = {.resource = BATON_RESOURCE_INIT(NULL)};
	struct baton_future promise = BATON_PROMISE_INIT;
	struct baton_continuation continuation;

	USE(baton_trigger_init(&bell.trigger, &bell.resource, ring));
	INSIST(baton_trigger_fire(&bell.trigger),
	       !bell.runs && !USE(baton_trigger_is_pending(&bell.trigger)));
	EXPECT(bell.runs == 1);
	USE(baton_continuation_trigger(&continuation, &bell.trigger));
	baton_future_then(&promise, &continuation);
	EXPECT(baton_future_complete(&promise, 0, NULL) == 0);
	EXPECT(bell.runs == 2);
	EXPECT(USE(baton_trigger_stop(&bell.trigger)).met == BATON_STOP_NOTHING);
	EXPECT(TRY(baton_trigger_fire(&bell.trigger)) == -ECANCELED);
	baton_promise_init(&promise);
	EXPECT(USE(baton_trigger_stop_then(&bell.trigger, baton_stopped_complete, &promise)).met ==
	       BATON_STOP_NOTHING);
	EXPECT(baton_future_state(&promise) == BATON_DONE);
	USE(baton_stopped_complete(&promise)); /* complete already: nothing happens */
	USE(baton_trigger_set_dropped(&bell.trigger, NULL));
	EXPECT(TRY(baton_trigger_stop_wait(&bell.trigger)) == 0);
	EXPECT(TRY(baton_trigger_stop_wait_until(&bell.trigger, 0)) == 0);
	resource_end(&bell.resource);
}

/* ---- Groups ---- */

static void *leave_group(void *group)
{
	USE(baton_group_leave_with(group, -EIO));
	return NULL;
}

SCENARIO(compose, group)
{
	struct baton_resource resource = BATON_RESOURCE_INIT(NULL);
	struct baton_continuation continuation;
	struct baton_group group;
	struct probe probe;
	pthread_t leaver;
	int status;

	probe_init(&probe);
	baton_continuation_task(&continuation, &resource, &probe.task);
	USE(baton_group_init(&group));
	USE(baton_group_enter(&group));
	USE(baton_group_enter_many(&group, 1));
	USE(baton_group_leave(&group));
	status = TRY(baton_group_wait_until(&group, in_ms(SHORT_MS)));
	EXPECT(status == -ETIMEDOUT || (status == -ENOMEM && fault_planned()));
	leaver = thread_start(leave_group, &group);
	INSIST(baton_group_wait(&group), true);
	thread_join(leaver);
	EXPECT(USE(baton_group_status(&group)) == -EIO);
	EXPECT(USE(baton_group_take_status(&group)) == -EIO);
	EXPECT(baton_group_status(&group) == 0);
	/* Now that this thread has its record the continuation's submit needs no memory. */
	status = baton_resource_await(&resource);
	EXPECT(status == 0 || fault_planned());
	fault_end();
	USE(baton_group_then(&group, &continuation));
	EXPECT(probe_done(&probe));
	resource_end(&resource);
}

/* ---- Fan-outs ---- */

static int count_item(struct baton_resource *resource, void *arg, size_t index)
{
	atomic_fetch_add((atomic_int *)arg, 1);
	return 0;
}

SCENARIO(compose, fan_out)
{
	struct baton_resource resources[2] = {BATON_RESOURCE_INIT(NULL), BATON_RESOURCE_INIT(NULL)};
	struct baton_resource *pointers[] = {&resources[0], &resources[1]};
	atomic_int count = 0;
	struct baton_fan_out_options options = {.fn = count_item, .arg = &count};
	struct baton_fan_out *fan_out = NULL;
	struct baton_fan_out_stats counts;
	struct occupant occupant;

	occupy(&occupant, &resources[1]);
	INSIST(baton_fan_out_submit(pointers, 2, &options, &fan_out),
	       !fan_out && !atomic_load(&count));
	EXPECT(atomic_load(&count) == 1);
	EXPECT(TRY(baton_fan_out_item_status(fan_out, 1)) == -EAGAIN);
	EXPECT(!baton_future_is_complete(USE(baton_fan_out_future(fan_out))));
	EXPECT(USE(baton_fan_out_ref(fan_out)) == fan_out);
	leave(&occupant);
	INSIST(baton_fan_out_wait_until(fan_out, in_ms(LONG_MS)), true);
	EXPECT(TRY(baton_fan_out_wait(fan_out)) == 0);
	EXPECT(atomic_load(&count) == 2);
	EXPECT(TRY(baton_fan_out_status(fan_out, NULL)) == 0);
	EXPECT(TRY(baton_fan_out_cancel(fan_out)) == -EALREADY);
	USE(baton_fan_out_stats_read(fan_out, &counts));
	EXPECT(counts.left == 0 && counts.failed == 0 && counts.cancelled == 0);
	USE(baton_fan_out_unref(fan_out));
	baton_fan_out_unref(fan_out);
	for (int i = 0; i < 2; i++)
		resource_end(&resources[i]);
}

/* ---- Undo logs ---- */

struct attempt {
	struct baton_task task;
	struct baton_future future;
	struct baton_undo undo;
	int operations; /* not taken back */
};

static int take_back(struct baton_undo *undo)
{
	baton_container_of(undo, struct attempt, undo)->operations--;
	return 0;
}

static int take_back_at(void *operations)
{
	--*(int *)operations;
	return 0;
}

static int attempt_run(struct baton_task *task)
{
	struct attempt *attempt = baton_container_of(task, struct attempt, task);
	struct baton_undo_log own;
	struct baton_undo_log log;
	int error;

	USE(baton_undo_log_begin(&own));
	error = TRY(baton_undo_log_end(&own, 0));
	EXPECT(!error && !USE(baton_undo_log_failure(&own)));
	USE(baton_undo_log_begin(&log));
	USE(baton_undo_log_push(&log, &attempt->undo, take_back));
	attempt->operations++;
	error = TRY(baton_undo_log_add(&log, take_back_at, &attempt->operations));
	if (error)
		return baton_undo_log_end(&log, error);
	attempt->operations++;
	EXPECT(TRY(baton_undo_log_roll_back(&log, USE(baton_undo_log_mark(&log)))) == 0);
	return baton_undo_log_end(&log, -EIO);
}

SCENARIO(compose, undo)
{
	struct baton_resource resource = BATON_RESOURCE_INIT(NULL);
	struct attempt attempt = {.future = BATON_FUTURE_INIT};

	baton_task_init(&attempt.task, attempt_run, &attempt.future);
	INSIST(baton_submit(&resource, &attempt.task), !attempt.operations);
	EXPECT(baton_future_state(&attempt.future) == BATON_FAILED);
	EXPECT(attempt.operations == 0);
	EXPECT(baton_future_status(&attempt.future) == -EIO ||
	       (baton_future_status(&attempt.future) == -ENOMEM && fault_planned()));
	resource_end(&resource);
}
