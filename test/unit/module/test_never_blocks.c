/* SPDX-License-Identifier: MIT */
/*
 * "Blocking: never" in the headers: each such call returns while a task of its resource hangs, in
 * an epoch section, with tasks behind it.
 */
#include "support.h"

#include <baton/all.h>

#include "../parts.h"

/* A resource with all that one may have, and one thing of each sort that concerns it. */
struct stage {
	struct baton_resource resource;
	struct baton_resource_stats stats;
	struct baton_lane array[2];
	struct baton_lanes lanes;
	struct baton_bound_config limits;
	struct baton_bound bound;
	struct baton_task hangs;
	struct baton_future hanging;
	sem_t entered;
	sem_t leave;
	struct baton_task tasks[6]; /* the first has the future */
	struct baton_future future;
	struct baton_future *async;
	struct baton_task next; /* a continuation's */
	struct baton_continuation continuations[2];
	struct baton_detached token; /* detached before the resource got stuck */
	struct baton_task detaches;
	struct baton_trigger trigger;
	struct baton_timers *timers;
	struct baton_timer timer;
	struct baton_group group;
	struct baton_fan_out *fan_out;
	struct baton_suspension suspension;
	struct baton_tag tag;
	struct stamped stamped;
	struct baton_limbo *limbo;
	struct baton_retired retired;
	struct baton_registry *registry;
	struct baton_registry_entry *entry; /* this thread's reference */
	bool reclaimed;
};

static void *no_call(void *arg)
{
	return arg;
}

static int no_task(struct baton_task *task)
{
	return 0;
}

static int no_item(struct baton_resource *resource, void *arg, size_t index)
{
	return 0;
}

static int no_trigger(struct baton_trigger *trigger, uint64_t fires)
{
	return 0;
}

static int no_timer(struct baton_timer *timer)
{
	return 0;
}

static bool stop_walk(struct baton_registry_entry *entry, void *arg)
{
	return false;
}

static void reclaim(struct baton_retired *retired)
{
	baton_container_of(retired, struct stage, retired)->reclaimed = true;
}

/* ---- The calls, header by header: was the answer right? ---- */
static bool resource_h(struct stage *stage)
{
	struct baton_task *batch[] = {&stage->tasks[2], &stage->tasks[3]};

	return baton_submit(&stage->resource, &stage->tasks[0]) == 0 &&
	       baton_submit_later(&stage->resource, &stage->tasks[1]) == 0 &&
	       baton_submit_batch(&stage->resource, batch, 2) == 0 &&
	       baton_post(&stage->resource, no_call, NULL) == 0 &&
	       baton_async(&stage->resource, no_call, NULL, &stage->async) == 0 &&
	       baton_try_call(&stage->resource, no_call, NULL, NULL) == -EAGAIN &&
	       resource_counts(&stage->stats).waiting == 6;
}

static bool extension_h(struct stage *stage)
{
	struct baton_bound_stats counts;

	baton_bound_stats_read(&stage->bound, &counts);
	return counts.tasks == 6 && baton_lanes_waiting(&stage->lanes, 0) == 0;
}

static bool future_h(struct stage *stage)
{
	struct baton_deadlock_link link;

	baton_continuation_task(&stage->continuations[0], &stage->resource, &stage->next);
	baton_future_then(&stage->future, &stage->continuations[0]);
	return baton_future_state(&stage->hanging) == BATON_RUNNING &&
	       baton_deadlock_cycle(&link, 1) == 0 && baton_future_cancel(&stage->future) == 0 &&
	       baton_future_state(&stage->future) == BATON_PENDING &&
	       baton_future_cancel(&stage->hanging) == -EINPROGRESS;
}

static bool detach_h(struct stage *stage)
{
	return !baton_detached_cancel_requested(&stage->token) &&
	       baton_detached_complete(&stage->token, 0, NULL) == 0;
}

static bool trigger_h(struct stage *stage)
{
	return baton_trigger_fire(&stage->trigger) == 0 &&
	       baton_trigger_fire(&stage->trigger) == 0 &&
	       baton_trigger_is_pending(&stage->trigger) &&
	       baton_trigger_stop(&stage->trigger).met != BATON_STOP_NOTHING;
}

static bool timer_h(struct stage *stage)
{
	bool right = baton_timer_arm_after(&stage->timer, 1) == 0 &&
	             baton_timers_advance(stage->timers, 1) == 1 &&
	             baton_timer_state(&stage->timer) == BATON_TIMER_QUEUED;

	/* Twice: with a run in the queue, and without. */
	for (int i = 0; i < 2; i++) {
		right = right && baton_timer_arm_at(&stage->timer, 100) == 0 &&
		        baton_timer_arm_every(&stage->timer, 9, 9, BATON_TIMER_SKIP) == 0 &&
		        baton_timer_arm_again_after(&stage->timer, 9) == 0;
		baton_timer_disarm(&stage->timer);
	}
	return right && baton_timer_stop(&stage->timer).met == BATON_STOP_QUEUED;
}

static bool group_h(struct stage *stage)
{
	baton_group_enter(&stage->group);
	baton_group_enter_many(&stage->group, 2);
	baton_continuation_task(&stage->continuations[1], &stage->resource, &stage->tasks[4]);
	baton_group_then(&stage->group, &stage->continuations[1]);
	for (int i = 0; i < 3; i++)
		baton_group_leave_with(&stage->group, i);
	return baton_group_take_status(&stage->group) == 1;
}

static bool fan_out_h(struct stage *stage)
{
	struct baton_resource *resources[] = {&stage->resource, &stage->resource};
	struct baton_fan_out_options options = {.fn = no_item, .arg = NULL};

	return baton_fan_out_submit(resources, 2, &options, &stage->fan_out) == 0 &&
	       baton_fan_out_item_status(stage->fan_out, 1) == -EAGAIN &&
	       baton_fan_out_cancel(stage->fan_out) == 0 &&
	       baton_fan_out_cancel(stage->fan_out) == -EALREADY;
}

static bool suspend_h(struct stage *stage)
{
	bool right = true;

	for (int i = 0; i < 2; i++)
		right = right &&
		        baton_resource_suspend(&stage->resource, &stage->suspension) == 0 &&
		        !baton_suspension_is_effective(&stage->suspension) &&
		        (i ? baton_resource_resume
		           : baton_resource_resume_later)(&stage->suspension) == 0;
	return right;
}

static bool tag_h(struct stage *stage)
{
	baton_stamp_hold_tag(&stage->stamped.stamp, &stage->tag);
	if (baton_submit(&stage->resource, &stage->stamped.task))
		return false;
	baton_tag_cancel(&stage->tag);
	return baton_tag_held(&stage->tag) == 1;
}

static bool epoch_h(struct stage *stage)
{
	baton_limbo_retire(stage->limbo, &stage->retired, reclaim);
	return baton_limbo_poll(stage->limbo) == 1 && !stage->reclaimed;
}

static bool registry_h(struct stage *stage)
{
	struct baton_registry_request request = BATON_REGISTRY_REQUEST_INIT;
	struct baton_registry_entry *found;

	if (baton_post(&stage->entry->resource, no_call, NULL) ||
	    baton_registry_find(stage->registry, "name", 4, &found) || found != stage->entry ||
	    baton_registry_acquire(stage->registry, "name", 4, &found) || found != stage->entry)
		return false;
	if (baton_registry_acquire_async(stage->registry, "name", 4, &request) ||
	    baton_registry_request_entry(&request) != found || baton_registry_unref(found))
		return false;
	baton_registry_ref(found);
	return baton_registry_walk(stage->registry, stop_walk, NULL) == 0 &&
	       baton_registry_unref(found) == 0 && baton_registry_unref(found) == 0 &&
	       baton_registry_remove(found) == 0 && baton_registry_remove(found) == -EALREADY &&
	       baton_registry_unref(found) == 0 && baton_registry_unref(found) == 0;
}

static bool blocking_h(struct stage *stage)
{
	baton_blocking_begin();
	baton_blocking_end();
	return true;
}

static bool close_h(struct stage *stage)
{
	return baton_resource_cancel_pending(&stage->resource) == 0 &&
	       baton_resource_close(&stage->resource) == 0;
}

static const struct {
	const char *header;
	bool (*calls)(struct stage *stage);
} rows[] = {
	{"resource.h", resource_h}, {"bound.h, lane.h", extension_h},
	{"future.h", future_h},     {"detach.h", detach_h},
	{"trigger.h", trigger_h},   {"timer.h", timer_h},
	{"group.h", group_h},       {"fan_out.h", fan_out_h},
	{"suspend.h", suspend_h},   {"tag.h", tag_h},
	{"epoch.h", epoch_h},       {"registry.h", registry_h},
	{"blocking.h", blocking_h}, {"resource.h, its end", close_h},
};

/* ---- The stage ---- */
static int hangs(struct baton_task *task)
{
	struct stage *stage = baton_container_of(task, struct stage, hangs);

	MUST(baton_epoch_enter() == 0);
	gate_open(&stage->entered);
	gate_pass(&stage->leave);
	baton_epoch_leave();
	return 0;
}

static void *hangs_main(void *arg)
{
	struct stage *stage = arg;

	MUST(baton_submit(&stage->resource, &stage->hangs) == 0);
	return NULL;
}

static int detaches(struct baton_task *task)
{
	return baton_detach(&baton_container_of(task, struct stage, detaches)->token, 0);
}

static void stage_init(struct stage *stage)
{
	struct baton_registry_options options =
		BATON_REGISTRY_OPTIONS_INIT(sizeof(*stage->entry), NULL, NULL, NULL);

	memset(stage, 0, sizeof(*stage));
	baton_resource_init(&stage->resource, NULL);
	baton_resource_set_stats(&stage->resource, &stage->stats);
	baton_lanes_init(&stage->lanes, stage->array, 2, NULL);
	baton_bound_init(&stage->bound, &stage->limits);
	baton_resource_set_lanes(&stage->resource, &stage->lanes);
	baton_resource_set_bound(&stage->resource, &stage->bound);
	gate_init(&stage->entered);
	gate_init(&stage->leave);
	for (size_t i = 0; i < sizeof(stage->tasks) / sizeof(*stage->tasks); i++)
		baton_task_init(&stage->tasks[i], no_task, i ? NULL : &stage->future);
	baton_task_init(&stage->next, no_task, NULL);
	baton_task_init(&stage->hangs, hangs, &stage->hanging);
	baton_task_init(&stage->detaches, detaches, NULL);
	stamped_init(&stage->stamped, no_task, NULL);
	baton_trigger_init(&stage->trigger, &stage->resource, no_trigger);
	MUST(baton_timers_create(&(struct baton_timers_options){.source = BATON_TIMERS_VIRTUAL},
	                         &stage->timers) == 0);
	baton_timer_init(&stage->timer, stage->timers, &stage->resource, no_timer);
	MUST(baton_limbo_create(&stage->limbo) == 0);
	MUST(baton_registry_create(&options, &stage->registry) == 0);
	MUST(baton_registry_acquire(stage->registry, "name", 4, &stage->entry) == 0);
	MUST(baton_submit(&stage->resource, &stage->detaches) == 0);
}

Test(never_blocks, each_returns_beside_a_task_that_hangs, .timeout = 10)
{
	struct stage stage;
	struct occupant occupant;
	pthread_t thread;

	stage_init(&stage);
	thread = thread_start(hangs_main, &stage);
	gate_pass(&stage.entered);
	occupy(&occupant, &stage.entry->resource);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		cr_expect(rows[i].calls(&stage), "%s", rows[i].header);
	cr_assert_eq(baton_future_state(&stage.hanging), BATON_RUNNING);
	release(&occupant);
	gate_open(&stage.leave);
	thread_join(thread);
	resource_end(&stage.resource);
	baton_future_unref(stage.async);
	baton_fan_out_unref(stage.fan_out);
	baton_limbo_destroy(stage.limbo);
	cr_assert(stage.reclaimed);
	cr_assert_eq(baton_timers_destroy(stage.timers), 0);
	cr_assert_eq(baton_registry_destroy(stage.registry), 0);
}
