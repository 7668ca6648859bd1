/* SPDX-License-Identifier: MIT */
/* Chains of 100,000 links through functions that the modules call (L7, L14). */
#include "chain.h"

#include <baton/fan_out.h>
#include <baton/lane.h>
#include <baton/registry.h>
#include <baton/suspend.h>
#include <baton/timer.h>
#include <baton/timers.h>
#include <baton/undo.h>

/* What one link needs beside its struct link; the i-th link has the i-th of these. */
struct part {
	union {
		struct baton_registry_entry *entry;
		struct baton_suspension suspension;
		struct baton_timer timer;
		struct baton_undo undo;
		struct {
			struct baton_lanes lanes;
			struct baton_lane lane;
		};
	};
};

static struct part *parts;
static struct baton_registry *registry;
static struct baton_timers *timers;

static struct part *part_of(const struct link *link)
{
	return &parts[link - link->chain->links];
}

static struct link *link_of(const struct part *part, struct chain *chain)
{
	return &chain->links[part - parts];
}

static void next(struct link *link)
{
	count_up(link);
	if (next_of(link))
		link->chain->sort->begin(next_of(link));
}

static int begins_next(struct baton_task *task)
{
	next(baton_container_of(task, struct link, task));
	return 0;
}

static struct chain *the_chain;

static void part_init(struct link *link)
{
	the_chain = link->chain;
	if (!parts)
		parts = calloc(link->chain->count, sizeof(*parts));
	MUST(parts);
	resource_of(link);
}

static bool part_end(struct link *link)
{
	if (!next_of(link)) {
		free(parts);
		parts = NULL;
	}
	return true;
}

/* ---- Plain ways ---- */

static void submits_task(struct link *link)
{
	baton_task_init(&link->task, begins_next, NULL);
	expect(link, baton_submit(&link->resource, &link->task) == 0);
}

static void lane_init(struct link *link)
{
	part_init(link);
	baton_lanes_init(&part_of(link)->lanes, &part_of(link)->lane, 1, NULL);
	baton_resource_set_lanes(&link->resource, &part_of(link)->lanes);
}

static int begin_batch(struct baton_resource *resource)
{
	return 0;
}

static int end_batch(struct baton_resource *resource)
{
	next(baton_container_of(resource, struct link, resource));
	return 0;
}

static void hooks_init(struct link *link)
{
	link->chain->config.batch_begin = begin_batch;
	link->chain->config.batch_end = end_batch;
	part_init(link);
}

static void submits_nothing(struct link *link)
{
	baton_task_init(&link->task, nothing_run, NULL);
	expect(link, baton_submit(&link->resource, &link->task) == 0);
}

static int trigger_fires(struct baton_trigger *trigger, uint64_t fires)
{
	next(baton_container_of(trigger, struct link, trigger));
	return 0;
}

static void trigger_init(struct link *link)
{
	part_init(link);
	baton_trigger_init(&link->trigger, &link->resource, trigger_fires);
}

static void fires(struct link *link)
{
	expect(link, baton_trigger_fire(&link->trigger) == 0);
}

static int compensates(struct baton_undo *undo)
{
	next(link_of(baton_container_of(undo, struct part, undo), the_chain));
	return 0;
}

static int fails(struct baton_task *task)
{
	struct link *link = baton_container_of(task, struct link, task);
	struct baton_undo_log log;

	baton_undo_log_begin(&log);
	baton_undo_log_push(&log, &part_of(link)->undo, compensates);
	return baton_undo_log_end(&log, -EIO);
}

static void submits_failure(struct link *link)
{
	baton_task_init(&link->task, fails, NULL);
	expect(link, baton_submit(&link->resource, &link->task) == 0);
}

static void suspended_init(struct link *link)
{
	part_init(link);
	baton_task_init(&link->task, begins_next, NULL);
	expect(link, baton_resource_suspend(&link->resource, &part_of(link)->suspension) == 0);
	expect(link, baton_submit(&link->resource, &link->task) == 0);
}

static void resumes(struct link *link)
{
	expect(link, baton_resource_resume(&part_of(link)->suspension) == 0);
}

static const struct sort plain[] = {
	{"with a lane", lane_init, submits_task, NULL, part_end, POOL},
	{"with a lane, refused", lane_init, submits_task, NULL, part_end, REFUSES},
	{"of batches", hooks_init, submits_nothing, NULL, part_end, POOL},
	{"of batches, refused", hooks_init, submits_nothing, NULL, part_end, REFUSES},
	{"of triggers", trigger_init, fires, NULL, part_end, POOL},
	{"of triggers, refused", trigger_init, fires, NULL, part_end, REFUSES},
	{"of compensations", part_init, submits_failure, NULL, part_end, POOL},
	{"of resumes", suspended_init, resumes, NULL, part_end, POOL},
	{"of resumes, refused", suspended_init, resumes, NULL, part_end, REFUSES},
};

Test(chain_modules, of_tasks_on_64_kib, .timeout = 60)
{
	CHAINS(plain);
}

/* ---- By continuations of futures that a module completes ---- */

static void group_init(struct link *link)
{
	part_init(link);
	baton_group_init(&link->group);
	baton_group_enter(&link->group);
	baton_task_init(&link->task, begins_next, NULL);
	baton_continuation_task(&link->continuation, &link->resource, &link->task);
	baton_group_then(&link->group, &link->continuation);
}

static void leaves(struct link *link)
{
	baton_group_leave(&link->group);
}

static int item(struct baton_resource *resource, void *arg, size_t index)
{
	return 0;
}

static void fans_out(struct link *link)
{
	struct baton_resource *resource = &link->resource;
	struct baton_fan_out_options options = {.fn = item};
	struct baton_fan_out *fan_out;

	baton_task_init(&link->task, begins_next, NULL);
	baton_continuation_task(&link->continuation, &link->resource, &link->task);
	MUST(baton_fan_out_submit(&resource, 1, &options, &fan_out) == 0);
	baton_future_then(baton_fan_out_future(fan_out), &link->continuation);
	baton_fan_out_unref(fan_out);
}

static int never(struct baton_timer *timer)
{
	return 0;
}

static void timer_init(struct link *link)
{
	struct baton_timers_options options = {.source = BATON_TIMERS_VIRTUAL};

	part_init(link);
	if (!timers)
		MUST(baton_timers_create(&options, &timers) == 0);
	baton_timer_init(&part_of(link)->timer, timers, &link->resource, never);
	expect(link, baton_timer_arm_at(&part_of(link)->timer, UINT64_MAX / 2) == 0);
	baton_promise_init(&link->future);
	baton_task_init(&link->task, begins_next, NULL);
	baton_continuation_task(&link->continuation, &link->resource, &link->task);
	baton_future_then(&link->future, &link->continuation);
}

static void stops(struct link *link)
{
	(void)baton_timer_stop_then(&part_of(link)->timer, baton_stopped_complete, &link->future);
}

static bool timer_end(struct link *link)
{
	if (!next_of(link)) {
		MUST(baton_timers_destroy(timers) == 0);
		timers = NULL;
	}
	return part_end(link);
}

static const struct sort continuations[] = {
	{"of groups", group_init, leaves, NULL, part_end, POOL},
	{"of fan-outs", part_init, fans_out, NULL, part_end, POOL},
	{"of fan-outs, refused", part_init, fans_out, NULL, part_end, REFUSES},
	{"of timers that are stopped", timer_init, stops, NULL, timer_end, POOL},
	{"of timers that are stopped, refused", timer_init, stops, NULL, timer_end, REFUSES},
};

Test(chain_modules, of_continuations_on_64_kib, .timeout = 60)
{
	CHAINS(continuations);
}

/* ---- Objects, each of which has the only reference on the next ---- */

struct object {
	struct baton_registry_entry entry;
	struct link *link;
};

static void unrefs(struct link *link)
{
	expect(link, baton_registry_unref(part_of(link)->entry) == 0);
}

static void object_deinit(struct baton_registry_entry *entry, void *arg)
{
	next(baton_container_of(entry, struct object, entry)->link);
}

static void object_init(struct link *link)
{
	struct baton_registry_options options =
		BATON_REGISTRY_OPTIONS_INIT(sizeof(struct object), NULL, object_deinit, NULL);
	size_t index;

	part_init(link);
	options.object_config = &link->chain->config;
	options.config = &link->chain->config;
	if (!registry)
		MUST(baton_registry_create(&options, &registry) == 0);
	index = (size_t)(link - link->chain->links);
	MUST(baton_registry_acquire(registry, &index, sizeof(index), &part_of(link)->entry) == 0);
	baton_container_of(part_of(link)->entry, struct object, entry)->link = link;
}

static bool object_end(struct link *link)
{
	if (!next_of(link)) {
		MUST(baton_registry_destroy(registry) == 0);
		registry = NULL;
	}
	return part_end(link);
}

static const struct sort objects[] = {
	{"of objects", object_init, unrefs, NULL, object_end, POOL},
	{"of objects, refused", object_init, unrefs, NULL, object_end, REFUSES},
};

Test(chain_modules, of_objects_on_64_kib, .timeout = 60)
{
	CHAINS(objects);
}
