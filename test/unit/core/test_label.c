/* SPDX-License-Identifier: MIT */
/*
 * A label does the same for every sort of task: a table of sorts, each with lane, bytes and tag.
 */
#include "thread/node.h"

#include "fixture.h"
#include "timer_support.h"

#include <baton/bound.h>
#include <baton/call.h>
#include <baton/fan_out.h>
#include <baton/lane.h>
#include <baton/thread.h>
#include <baton/timers.h>
#include <baton/trigger.h>
#include <baton/window.h>

#include "../parts.h"

#define BYTES 100

struct typed {
	struct baton_task task;
	struct baton_stamp stamp;
};

struct scene {
	struct stash stash;
	struct baton_resource_config config;
	struct baton_resource resource;
	struct baton_lane array[2];
	struct baton_lanes lanes;
	struct baton_bound_config limits;
	struct baton_bound bound;
	struct baton_tag tag;
	struct baton_timers *timers;
	struct baton_window window;
	/* One of each sort. */
	struct stamped stamped;
	struct typed typed;
	struct windowed windowed;
	struct baton_trigger trigger;
	struct baton_timer timer;
	struct baton_future *future;
	struct baton_fan_out *fan_out;
	pthread_t caller;
	bool calling;
	int called; /* what the call returned */
};

static char journal[8];
static size_t ran;
static int cancelled;

static void note(char what)
{
	MUST(ran < sizeof(journal) - 1);
	journal[ran++] = what;
}

static int run(struct baton_task *task)
{
	note('x');
	return 0;
}

static int run_plain(struct baton_task *task)
{
	note('p');
	return 0;
}

static void *call(void *arg)
{
	note('x');
	return NULL;
}

static int fired(struct baton_trigger *trigger, uint64_t fires)
{
	note('x');
	return 0;
}

static void trigger_cancelled(struct baton_trigger *trigger, int error, uint64_t fires)
{
	cancelled++;
}

static int expired(struct baton_timer *timer)
{
	note('x');
	return 0;
}

static void timer_dropped(struct baton_timer *timer, int error)
{
	cancelled += error == -ECANCELED;
}

static int item(struct baton_resource *resource, void *arg, size_t index)
{
	note('x');
	return 0;
}

static void task_cancelled(struct baton_task *task)
{
	cancelled++;
}

static void post_cancelled(void *arg)
{
	cancelled++;
}

/* ---- The sorts: each submits one entry with the label ---- */

static void submit_stamped(struct scene *scene, const struct baton_label *label)
{
	stamped_init(&scene->stamped, run, NULL);
	baton_stamp_set(&scene->stamped.stamp, label);
	cr_assert_eq(baton_submit(&scene->resource, &scene->stamped.task), 0);
}

static void submit_typed(struct scene *scene, const struct baton_label *label)
{
	static const struct baton_task_type type = {
		.run = run,
		.cancelled = task_cancelled,
		.stamp = BATON_TASK_PLACE(struct typed, task, stamp),
	};

	baton_task_init_of(&scene->typed.task, &type);
	baton_stamp_set(&scene->typed.stamp, label);
	cr_assert_eq(baton_submit(&scene->resource, &scene->typed.task), 0);
}

static void submit_windowed(struct scene *scene, const struct baton_label *label)
{
	windowed_init(&scene->windowed, &scene->window, run, NULL);
	baton_stamp_set(&scene->windowed.stamp, label);
	cr_assert_eq(baton_submit(&scene->resource, &scene->windowed.task), 0);
}

static void fire_trigger(struct scene *scene, const struct baton_label *label)
{
	baton_trigger_init(&scene->trigger, &scene->resource, fired);
	baton_trigger_set_dropped(&scene->trigger, trigger_cancelled);
	baton_stamp_set(&scene->trigger.stamp, label);
	cr_assert_eq(baton_trigger_fire(&scene->trigger), 0);
}

static void expire_timer(struct scene *scene, const struct baton_label *label)
{
	baton_timer_init(&scene->timer, scene->timers, &scene->resource, expired);
	baton_timer_set_dropped(&scene->timer, timer_dropped);
	baton_stamp_set(&scene->timer.stamp, label);
	cr_assert_eq(baton_timer_arm_after(&scene->timer, 1), 0);
	BATON_IGNORE(baton_timers_advance(scene->timers, 1 << 20));
}

static void submit_fan_out(struct scene *scene, const struct baton_label *label)
{
	const struct baton_fan_out_options options = {.fn = item, .label = label};
	struct baton_resource *const resources[] = {&scene->resource};

	cr_assert_eq(baton_fan_out_submit(resources, 1, &options, &scene->fan_out), 0);
}

static void post(struct scene *scene, const struct baton_label *label)
{
	const struct baton_call_options options = {
		.fn = call, .cancelled = post_cancelled, .label = label};

	cr_assert_eq(baton_post_with(&scene->resource, &options), 0);
}

static void async(struct scene *scene, const struct baton_label *label)
{
	const struct baton_call_options options = {.fn = call, .label = label};

	cr_assert_eq(baton_async_with(&scene->resource, &options, &scene->future), 0);
}

static const struct baton_label *callers_label;

static void *call_and_wait(void *arg)
{
	struct scene *scene = arg;
	const struct baton_call_options options = {.fn = call, .label = callers_label};

	scene->called = baton_call_with(&scene->resource, &options, NULL);
	return NULL;
}

static uint64_t bytes_waiting(const struct scene *scene)
{
	struct baton_bound_stats stats;

	baton_bound_stats_read(&scene->bound, &stats);
	return stats.bytes;
}

/* On a thread of its own, which waits; returns when the call is queued. */
static void call_elsewhere(struct scene *scene, const struct baton_label *label)
{
	callers_label = label;
	scene->calling = true;
	MUST(pthread_create(&scene->caller, NULL, call_and_wait, scene) == 0);
	/* Ended by the caller's submit. */
	while (atomic_load(&scene->stash.count) == 0 || bytes_waiting(scene) == 0)
		(void)sched_yield();
}

static const struct {
	const char *name;
	void (*submit)(struct scene *scene, const struct baton_label *label);
} sorts[] = {
	{"stamped", submit_stamped},
	{"typed", submit_typed},
	{"windowed", submit_windowed},
	{"trigger", fire_trigger},
	{"timer", expire_timer},
	{"fan-out", submit_fan_out},
	{"post", post},
	{"async", async},
	{"call", call_elsewhere},
};

#define SORTS (sizeof(sorts) / sizeof(sorts[0]))

/* ---- The scene ---- */

static void scene_init(struct scene *scene)
{
	memset(scene, 0, sizeof(*scene));
	memset(journal, 0, sizeof(journal));
	ran = 0;
	cancelled = 0;
	stash_init(&scene->stash);
	scene->config = (struct baton_resource_config)BATON_RESOURCE_CONFIG_INIT;
	scene->config.executor = &scene->stash.executor;
	scene->config.capture_max = BATON_CAPTURE_NONE;
	scene->config.cancelled = task_cancelled;
	baton_resource_init(&scene->resource, &scene->config);
	baton_lanes_init(&scene->lanes, scene->array, 2, NULL);
	scene->limits = (struct baton_bound_config)BATON_BOUND_CONFIG_INIT;
	baton_bound_init(&scene->bound, &scene->limits);
	baton_resource_set_lanes(&scene->resource, &scene->lanes);
	baton_resource_set_bound(&scene->resource, &scene->bound);
	baton_window_init(&scene->window, &scene->resource, 1);
	scene->timers = virtual_timers();
}

static void scene_end(struct scene *scene)
{
	if (scene->calling)
		MUST(pthread_join(scene->caller, NULL) == 0);
	if (scene->future)
		baton_future_unref(scene->future);
	if (scene->fan_out)
		baton_fan_out_unref(scene->fan_out);
	stash_run(&scene->stash);
	cr_assert_eq(baton_tag_held(&scene->tag), 0);
	BATON_IGNORE(baton_timers_destroy(scene->timers));
	resource_end(&scene->resource);
	baton_window_deinit(&scene->window);
}

Test(label, says_the_lane_and_the_bytes_of_every_sort, .timeout = 10)
{
	const struct baton_label label = {.lane = 1, .bytes = BYTES};

	for (size_t i = 0; i < SORTS; i++) {
		struct scene scene;
		struct baton_task plain;

		scene_init(&scene);
		baton_task_init(&plain, run_plain, NULL);
		sorts[i].submit(&scene, &label);
		cr_assert_eq(baton_submit(&scene.resource, &plain), 0);
		cr_expect_eq(bytes_waiting(&scene), BYTES, "%s", sorts[i].name);
		stash_run(&scene.stash);
		cr_expect_str_eq(journal, "px", "%s", sorts[i].name);
		cr_expect_eq(bytes_waiting(&scene), 0, "%s", sorts[i].name);
		scene_end(&scene);
	}
}

Test(label, says_the_tag_of_every_sort, .timeout = 10)
{
	for (size_t i = 0; i < SORTS; i++) {
		struct scene scene;
		const struct baton_label label = {.tag = &scene.tag, .bytes = BYTES, .hold = true};

		scene_init(&scene);
		sorts[i].submit(&scene, &label);
		cr_expect_eq(baton_tag_held(&scene.tag), 1, "%s", sorts[i].name);
		baton_tag_cancel(&scene.tag);
		stash_run(&scene.stash);
		cr_expect_eq(ran, 0, "%s", sorts[i].name);
		if (scene.future)
			cr_expect_eq(baton_future_state(scene.future), BATON_CANCELLED);
		else if (scene.fan_out)
			cr_expect_eq(baton_fan_out_status(scene.fan_out, NULL), -ECANCELED);
		else if (!scene.calling)
			cr_expect_eq(cancelled, 1, "%s", sorts[i].name);
		scene_end(&scene);
		if (scene.calling)
			cr_expect_eq(scene.called, -ECANCELED);
	}
}

/* The memory of a node is used for one sort after the other. */
Test(label, has_nothing_of_what_its_node_held_before, .timeout = 10)
{
	struct baton_tag tag = BATON_TAG_INIT;
	const struct baton_label label = {.tag = &tag, .hold = true};
	const struct baton_call_options options = {.fn = call, .label = &label};

	fixture_config();
	cr_assert_eq(baton_thread_attach(), 0);
	for (int sort = 0; sort < 2; sort++) {
		struct baton_future *future = NULL;
		void *nodes[64];

		for (int i = 0; i < 64; i++)
			nodes[i] = memset(baton__node_alloc(BATON__NODE_BODY_SIZE), 0xff,
			                  BATON__NODE_BODY_SIZE);
		for (int i = 0; i < 64; i++)
			baton__node_free(nodes[i]);
		occupy(&fix.occupant, &fix.resource);
		if (sort)
			cr_assert_eq(baton_async_with(&fix.resource, &options, &future), 0);
		else
			cr_assert_eq(baton_post_with(&fix.resource, &options), 0);
		cr_assert_eq(baton_tag_held(&tag), 1);
		release(&fix.occupant);
		cr_assert_eq(baton_tag_held(&tag), 0);
		if (future)
			baton_future_unref(future);
	}
	fixture_end();
}

Test(label, of_a_refused_submit_lets_its_tag_go, .timeout = 10)
{
	struct baton_resource closed = BATON_RESOURCE_INIT(NULL);
	struct baton_tag tag = BATON_TAG_INIT;
	const struct baton_label label = {.tag = &tag, .hold = true};
	const struct baton_call_options options = {.fn = call, .label = &label};
	const struct baton_fan_out_options fan_out = {.fn = item, .label = &label};
	struct baton_resource *const resources[] = {&closed};
	struct baton_future *future = NULL;

	cr_assert_eq(baton_resource_close(&closed), 0);
	cr_expect_eq(baton_post_with(&closed, &options), -EPIPE);
	cr_expect_eq(baton_async_with(&closed, &options, &future), -EPIPE);
	cr_expect_eq(baton_call_with(&closed, &options, NULL), -EPIPE);
	cr_expect_eq(baton_fan_out_submit(resources, 1, &fan_out, NULL), 0);
	cr_expect_eq(baton_tag_held(&tag), 0);
	resource_end(&closed);
}

Test(label, with_no_such_lane_is_refused, .timeout = 5)
{
	const struct baton_label label = {.lane = BATON_LANES_MAX};
	const struct baton_call_options options = {.fn = call, .label = &label};
	const struct baton_fan_out_options fan_out = {.fn = item, .label = &label};
	struct baton_resource *const resources[] = {&fix.resource};
	struct baton_future *future = NULL;

	ran = 0;
	cr_expect_eq(baton_post_with(&fix.resource, &options), -EINVAL);
	cr_expect_eq(baton_async_with(&fix.resource, &options, &future), -EINVAL);
	cr_expect_eq(baton_call_with(&fix.resource, &options, NULL), -EINVAL);
	cr_expect_eq(baton_fan_out_submit(resources, 1, &fan_out, NULL), -EINVAL);
	cr_expect_eq(ran, 0);
	fixture_end();
}

/* ---- A window whose tasks have lanes and bytes ---- */

struct packet {
	struct windowed windowed;
	char name;
};

static int send(struct baton_task *task)
{
	struct packet *packet = baton_container_of(task, struct packet, windowed.task);

	note(packet->name);
	return baton_detach(&packet->windowed.part.token, 0);
}

Test(label, says_in_which_order_what_waits_in_a_window_starts, .timeout = 5)
{
	static const struct baton_label labels[] = {{.lane = 1}, {.lane = 1}, {.lane = 1},
	                                            {.lane = 0}, {.lane = 7}, {.lane = 0}};
	struct baton_resource session = BATON_RESOURCE_INIT(NULL);
	struct baton_window window = BATON_WINDOW_INIT(&session, 1);
	struct baton_window_lane lanes[3];
	struct packet packets[6];
	static const char order[] = "adfbce";

	memset(journal, 0, sizeof(journal));
	ran = 0;
	baton_window_set_lanes(&window, lanes, 3);
	for (int i = 0; i < 6; i++) {
		packets[i].name = (char)('a' + i);
		windowed_init(&packets[i].windowed, &window, send, NULL);
		baton_stamp_set(&packets[i].windowed.stamp, &labels[i]);
		cr_assert_eq(baton_submit(&session, &packets[i].windowed.task), 0);
	}
	for (int i = 0; i < 6; i++)
		cr_assert_eq(baton_detached_complete(&packets[order[i] - 'a'].windowed.part.token,
		                                     0, NULL),
		             0);
	cr_expect_str_eq(journal, order);
	resource_end(&session);
	baton_window_deinit(&window);
}
