/* SPDX-License-Identifier: MIT */
/* Each call of the modules gives back what it took from the heap, however the call ends. */
#include "heap.h"

#include <baton/call.h>
#include <baton/fan_out.h>
#include <baton/group.h>
#include <baton/label.h>
#include <baton/lane.h>
#include <baton/registry.h>
#include <baton/suspend.h>
#include <baton/undo.h>

static void *count(void *arg)
{
	++*(uint64_t *)arg;
	return arg;
}

static int no_item(struct baton_resource *resource, void *arg, size_t index)
{
	return 0;
}

static void fans_out(struct baton_resource *open, struct baton_resource *closed)
{
	struct baton_resource *resources[] = {open, closed, open};
	struct baton_fan_out_options options = {.fn = no_item};
	struct baton_fan_out *all;

	MUST(baton_fan_out_submit(resources, 3, &options, NULL) == 0);
	MUST(baton_fan_out_submit(resources, 3, &options, &all) == 0);
	MUST(baton_fan_out_ref(all) == all);
	MUST(baton_fan_out_wait(all) == 0);
	baton_fan_out_unref(all);
	(void)baton_fan_out_cancel(all);
	baton_fan_out_unref(all);
}

static void is_refused(struct baton_resource *open, struct baton_resource *closed)
{
	struct baton_label label = BATON_LABEL_INIT;
	struct baton_future *future;
	uint64_t counter = 0;

	MUST(baton_post(closed, count, &counter) == -EPIPE);
	MUST(baton_post_with(closed, &(struct baton_call_options){.fn = count, .arg = &counter}) ==
	     -EPIPE);
	MUST(baton_post_with(closed, &(struct baton_call_options){.fn = count,
	                                                          .arg = &counter,
	                                                          .label = &label}) == -EPIPE);
	MUST(baton_async(closed, count, &counter, &future) == -EPIPE);
	MUST(baton_call(closed, count, &counter, NULL) == -EPIPE);
	label.lane = BATON_LANES_MAX;
	MUST(baton_post_with(open, &(struct baton_call_options){.fn = count,
	                                                        .arg = &counter,
	                                                        .label = &label}) == -EINVAL);
	MUST(counter == 0);
}

static void groups(struct baton_resource *open, struct baton_resource *closed)
{
	const uint64_t past = 1;
	struct baton_group group = BATON_GROUP_INIT;

	baton_group_enter(&group);
	for (int i = 0; i < 3; i++)
		MUST(baton_group_wait_until(&group, past) == -ETIMEDOUT);
	baton_group_leave(&group);
	MUST(baton_group_wait(&group) == 0);
}

static int no_undo(void *arg)
{
	return 0;
}

static int open_status;

static int logs(struct baton_task *task)
{
	struct baton_undo_log log;

	baton_undo_log_begin(&log);
	for (int i = 0; i < 4; i++) {
		struct baton_undo_mark mark = baton_undo_log_mark(&log);

		MUST(baton_undo_log_add(&log, no_undo, NULL) == 0);
		if (i == 2)
			MUST(baton_undo_log_roll_back(&log, mark) == 0);
	}
	return baton_undo_log_end(&log, open_status);
}

static void undoes(struct baton_resource *open, struct baton_resource *closed)
{
	for (int status = 0; status < 2; status++) {
		struct baton_task task = BATON_TASK_INIT(logs, NULL);

		open_status = status;
		MUST(baton_submit(open, &task) == 0);
	}
}

static void suspends(struct baton_resource *open, struct baton_resource *closed)
{
	struct baton_resource *set[] = {open, open};
	struct baton_suspension suspensions[2] = {BATON_SUSPENSION_INIT, BATON_SUSPENSION_INIT};

	MUST(baton_resource_suspend(closed, suspensions) == -EPIPE);
	MUST(baton_quiesce(set, 2, suspensions) == 0);
	MUST(baton_quiesce_end(suspensions, 2) == 0);
	MUST(baton_resource_suspend_lower(closed, suspensions) == -EPIPE);
	MUST(baton_resource_suspend_lower(open, suspensions) == 0);
	MUST(baton_resource_resume(suspensions) == 0);
	/* The second waits for the first, and is withdrawn. */
	for (int i = 0; i < 2; i++)
		MUST(baton_resource_suspend(open, &suspensions[i]) == 0);
	for (int i = 2; i-- > 0;)
		MUST(baton_resource_resume(&suspensions[i]) == 0);
	MUST(baton_resource_suspend(open, &suspensions[0]) == 0);
	MUST(baton_resource_suspend_lower(open, &suspensions[1]) == 0);
	for (int i = 2; i-- > 0;)
		MUST(baton_resource_resume(&suspensions[i]) == 0);
}

static uint64_t soon(void)
{
	return now_ns() + 30000;
}

/* A resource that stands still is awaited, called and posted to; some of that is cancelled. */
static void waits(struct baton_resource *open, struct baton_resource *closed)
{
	struct baton_suspension suspension = BATON_SUSPENSION_INIT;
	struct baton_future *futures[3];
	uint64_t counter = 0;
	struct baton_call_options call = {.fn = count, .arg = &counter, .timeout_ns = 30000};

	MUST(baton_resource_suspend(open, &suspension) == 0);
	for (int i = 0; i < 3; i++)
		MUST(baton_async(open, count, &counter, &futures[i]) == 0);
	MUST(baton_future_cancel(futures[0]) == 0);
	MUST(baton_future_wait_until(futures[1], soon()) == -ETIMEDOUT);
	MUST(baton_resource_await_until(open, soon()) == -ETIMEDOUT);
	MUST(baton_call_with(open, &call, NULL) == -ETIMEDOUT);
	MUST(baton_post(open, count, &counter) == 0);
	baton_future_unref(futures[1]);
	MUST(baton_resource_resume(&suspension) == 0);
	MUST(counter == 3);
	MUST(baton_future_status(futures[2]) == 0);
	baton_future_unref(futures[0]);
	baton_future_unref(futures[2]);
}

static void names(struct baton_resource *open, struct baton_resource *closed)
{
	struct baton_registry_options options =
		BATON_REGISTRY_OPTIONS_INIT(sizeof(struct baton_registry_entry), NULL, NULL, NULL);
	struct baton_registry_entry *entry, *found;
	struct baton_registry *registry;

	MUST(baton_registry_create(&options, &registry) == 0);
	for (int i = 0; i < 2; i++) {
		MUST(baton_registry_acquire(registry, "name", 4, &entry) == 0);
		MUST(baton_registry_find(registry, "name", 4, &found) == 0);
		MUST(baton_registry_unref(found) == 0);
		MUST(!i || baton_registry_remove(entry) == 0);
		MUST(baton_registry_unref(entry) == 0);
	}
	MUST(baton_registry_destroy(registry) == 0);
}

Test(given_back, is_what_each_call_took, .timeout = 20)
{
	static void (*const rows[])(struct baton_resource * open,
	                            struct baton_resource * closed) = {
		fans_out, is_refused, groups, undoes, suspends, waits, names};
	struct baton_lane lane[2][BATON_LANES_MAX];
	struct baton_lanes lanes[2];
	struct baton_resource open = BATON_RESOURCE_INIT(NULL);
	struct baton_resource closed = BATON_RESOURCE_INIT(NULL);

	for (int i = 0; i < 2; i++) {
		baton_lanes_init(&lanes[i], lane[i], i ? 1 : BATON_LANES_MAX, NULL);
		baton_resource_set_lanes(i ? &closed : &open, &lanes[i]);
	}
	cr_assert_eq(baton_resource_close(&closed), 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		size_t before = 0;

		/* The first rounds fill the thread's cache of nodes. */
		for (int round = 0; round < 3000; round++) {
			if (round == 1000)
				before = heap_in_use();
			rows[i](&open, &closed);
		}
		cr_assert(grown_less(before, 4096), "row %zu", i);
	}
	resource_end(&open);
	resource_end(&closed);
}
