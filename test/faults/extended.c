/* SPDX-License-Identifier: MIT */
/*
 * Lanes, tags and bounds: posts that are refused for want of memory hold nothing; submitters that
 * wait for room get it, or an error and their task untouched.
 */
#include "scenario.h"

#include <baton/all.h>

#include <errno.h>

#include "../parts.h"

struct extended {
	struct baton_resource resource;
	struct baton_tag tag;
	struct stamped stamped;
	unsigned ran;
};

static void *count_one(void *arg)
{
	struct extended *extended = arg;

	extended->ran++;
	return NULL;
}

static int count_task(struct baton_task *task)
{
	(void)count_one(baton_container_of(task, struct extended, stamped.task));
	return 0;
}

/* In a task, so that what is posted waits. */
static void *post_three(void *arg)
{
	struct extended *extended = arg;
	struct baton_label label = {.tag = &extended->tag, .bytes = 10, .lane = 1, .hold = true};

	for (uint64_t i = 0; i < 2; i++)
		INSIST(baton_post_with(&extended->resource,
		                       &(struct baton_call_options){
					       .fn = count_one, .arg = extended, .label = &label}),
		       USE(baton_tag_held(&extended->tag)) == i);
	EXPECT(TRY(baton_submit(&extended->resource, &extended->stamped.task)) == -EAGAIN);
	USE(baton_tag_cancel(&extended->tag));
	return NULL;
}

static void *post_one(void *arg)
{
	struct extended *extended = arg;
	struct baton_label label = {.tag = &extended->tag};

	INSIST(baton_post_with(&extended->resource, &(struct baton_call_options){.fn = count_one,
	                                                                         .arg = extended,
	                                                                         .label = &label}),
	       !extended->ran);
	return NULL;
}

/* With a label: each of the calls, on a resource of its own. */
SCENARIO(extended, calls_with_labels)
{
	struct baton_resource resource = BATON_RESOURCE_INIT(NULL);
	const struct baton_label label = {.lane = 1, .bytes = 10};
	struct extended extended = {.ran = 0};
	const struct baton_call_options options = {
		.fn = count_one, .arg = &extended, .label = &label};
	struct baton_stamp stamp = BATON_STAMP_INIT;
	struct baton_future *future = NULL;

	USE(baton_stamp_set(&stamp, &label));
	INSIST(baton_call_with(&resource, &options, NULL), !extended.ran);
	INSIST(baton_async_with(&resource, &options, &future), extended.ran == 1);
	EXPECT(extended.ran == 2);
	baton_future_unref(future);
	resource_end(&resource);
}

/* By a thread that is new. */
SCENARIO(extended, first_post)
{
	struct extended extended = {.resource = BATON_RESOURCE_INIT(NULL)};

	USE(baton_tag_init(&extended.tag));
	elsewhere(post_one, &extended);
	EXPECT(extended.ran == 1);
	resource_end(&extended.resource);
}

SCENARIO(extended, posts_behind_a_bound)
{
	const struct baton_bound_config limits = {.tasks_max = 2, .bytes_max = 100};
	const struct baton_lanes_config aging = {.aging_turns = 1};
	struct extended extended = {.resource = BATON_RESOURCE_INIT(NULL)};
	struct baton_bound_stats counts;
	struct baton_lane array[2];
	struct baton_lanes lanes;
	struct baton_bound bound;

	USE(baton_tag_init(&extended.tag));
	USE(baton_lanes_init(&lanes, array, 2, &aging));
	USE(baton_bound_init(&bound, &limits));
	USE(baton_resource_set_lanes(&extended.resource, &lanes));
	USE(baton_resource_set_bound(&extended.resource, &bound));
	stamped_init(&extended.stamped, count_task, NULL);
	USE(baton_stamp_set_lane(&extended.stamped.stamp, 1));
	USE(baton_stamp_set_bytes(&extended.stamped.stamp, 1));
	USE(baton_stamp_set_tag(&extended.stamped.stamp, NULL));
	USE(baton_stamp_hold_tag(&extended.stamped.stamp, &extended.tag));
	USE(baton_stamp_set_tag(&extended.stamped.stamp, NULL));
	INSIST(baton_call(&extended.resource, post_three, &extended, NULL), !extended.ran);
	EXPECT(extended.ran == 0);
	EXPECT(USE(baton_tag_held(&extended.tag)) == 0);
	EXPECT(USE(baton_lanes_waiting(&lanes, 1)) == 0);
	USE(baton_bound_stats_read(&bound, &counts));
	EXPECT(counts.tasks == 0 && counts.bytes == 0 && counts.refused == 1);
	INSIST(baton_submit(&extended.resource, &extended.stamped.task), !extended.ran);
	EXPECT(extended.ran == 1);
	EXPECT(TRY(baton_resource_close(&extended.resource)) == 0);
	INSIST(baton_resource_await(&extended.resource), true);
	USE(baton_resource_deinit(&extended.resource));
}

/* A resource whose bound lets one task wait, and its submitters. */
struct bounded {
	struct baton_resource resource;
	struct probe probes[2];
};

static void bounded_begin(struct bounded *bounded, struct baton_bound *bound,
                          const struct baton_bound_config *limits)
{
	USE(baton_bound_init(bound, limits));
	USE(baton_resource_set_bound(&bounded->resource, bound));
	for (size_t i = 0; i < 2; i++)
		probe_init(&bounded->probes[i]);
}

static void *submit_second(void *arg)
{
	struct bounded *bounded = arg;

	INSIST(baton_submit(&bounded->resource, &bounded->probes[1].task),
	       probe_untouched(&bounded->probes[1]));
	return NULL;
}

/* There is room when the occupant has left, and the first of the two has been entered. */
SCENARIO(extended, wait_for_room)
{
	const struct baton_bound_config limits = {.tasks_max = 1, .policy = BATON_BOUND_WAIT};
	struct bounded bounded = {.resource = BATON_RESOURCE_INIT(NULL)};
	struct baton_bound_stats counts;
	struct occupant occupant;
	struct baton_bound bound;
	pthread_t submitter;
	uint32_t waits;

	bounded_begin(&bounded, &bound, &limits);
	occupy(&occupant, &bounded.resource);
	INSIST(baton_submit(&bounded.resource, &bounded.probes[0].task),
	       probe_untouched(&bounded.probes[0]));
	waits = fault_waits();
	submitter = thread_start(submit_second, &bounded);
	until_waiting(waits);
	leave(&occupant);
	thread_join(submitter);
	for (size_t i = 0; i < 2; i++) {
		INSIST(baton_future_wait(&bounded.probes[i].future), true);
		EXPECT(probe_done(&bounded.probes[i]));
	}
	USE(baton_bound_stats_read(&bound, &counts));
	EXPECT(counts.tasks == 0 && counts.waited >= 1);
	resource_end(&bounded.resource);
}

SCENARIO(extended, wait_for_room_in_vain)
{
	const struct baton_bound_config limits = {
		.tasks_max = 1, .policy = BATON_BOUND_WAIT, .timeout_ns = SHORT_MS * 1000000U};
	struct bounded bounded = {.resource = BATON_RESOURCE_INIT(NULL)};
	struct occupant occupant;
	struct baton_bound bound;
	int status;

	bounded_begin(&bounded, &bound, &limits);
	occupy(&occupant, &bounded.resource);
	INSIST(baton_submit(&bounded.resource, &bounded.probes[0].task),
	       probe_untouched(&bounded.probes[0]));
	status = TRY(baton_submit(&bounded.resource, &bounded.probes[1].task));
	EXPECT(status == -ETIMEDOUT || (status == -ENOMEM && fault_planned()));
	EXPECT(probe_untouched(&bounded.probes[1]));
	leave(&occupant);
	EXPECT(probe_done(&bounded.probes[0]));
	resource_end(&bounded.resource);
}

static int detaches(struct baton_task *task)
{
	return TRY(baton_detach(&baton_container_of(task, struct windowed, task)->part.token, 0));
}

/* A task that waits in a window has the room. */
SCENARIO(extended, wait_for_room_beside_a_window)
{
	const struct baton_bound_config limits = {
		.tasks_max = 1, .policy = BATON_BOUND_WAIT, .timeout_ns = SHORT_MS * 1000000U};
	struct bounded bounded = {.resource = BATON_RESOURCE_INIT(NULL)};
	struct windowed windowed[2];
	struct baton_window window;
	struct baton_bound bound;
	int status;

	bounded_begin(&bounded, &bound, &limits);
	USE(baton_window_init(&window, &bounded.resource, 1));
	for (int i = 0; i < 2; i++) {
		windowed_init(&windowed[i], &window, detaches, NULL);
		USE(baton_window_part_init(&windowed[i].part, &window));
		INSIST(baton_submit(&bounded.resource, &windowed[i].task), true);
	}
	status = TRY(baton_submit_later(&bounded.resource, &bounded.probes[0].task));
	EXPECT(status == -ETIMEDOUT || (status == -ENOMEM && fault_planned()));
	EXPECT(probe_untouched(&bounded.probes[0]));
	for (int i = 0; i < 2; i++)
		INSIST(baton_detached_complete(&windowed[i].part.token, 0, NULL), true);
	resource_end(&bounded.resource);
	USE(baton_window_deinit(&window));
}

/* The occupant's successor has the room. */
SCENARIO(extended, no_wait_for_room)
{
	const struct baton_bound_config limits = {.tasks_max = 1, .policy = BATON_BOUND_WAIT};
	struct bounded bounded = {.resource = BATON_RESOURCE_INIT(NULL)};
	struct occupant occupant;
	struct baton_bound bound;

	bounded_begin(&bounded, &bound, &limits);
	occupy(&occupant, &bounded.resource);
	INSIST(baton_try_submit_later(&bounded.resource, &bounded.probes[0].task),
	       probe_untouched(&bounded.probes[0]));
	EXPECT(TRY(baton_try_submit_later(&bounded.resource, &bounded.probes[1].task)) == -EAGAIN);
	EXPECT(probe_untouched(&bounded.probes[1]));
	leave(&occupant);
	EXPECT(probe_done(&bounded.probes[0]));
	resource_end(&bounded.resource);
}

/* In a task of the resource, where it could only wait for itself. */
static void *submit_both(void *arg)
{
	struct bounded *bounded = arg;

	INSIST(baton_submit(&bounded->resource, &bounded->probes[0].task),
	       probe_untouched(&bounded->probes[0]));
	EXPECT(TRY(baton_submit(&bounded->resource, &bounded->probes[1].task)) == -EDEADLK);
	EXPECT(probe_untouched(&bounded->probes[1]));
	return bounded;
}

SCENARIO(extended, wait_for_own_room)
{
	const struct baton_bound_config limits = {.tasks_max = 1, .policy = BATON_BOUND_WAIT};
	struct bounded bounded = {.resource = BATON_RESOURCE_INIT(NULL)};
	struct baton_bound bound;
	void *value = NULL;

	bounded_begin(&bounded, &bound, &limits);
	INSIST(baton_call(&bounded.resource, submit_both, &bounded, &value), !value);
	EXPECT(value == &bounded && probe_done(&bounded.probes[0]));
	resource_end(&bounded.resource);
}
