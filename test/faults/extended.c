/* SPDX-License-Identifier: MIT */
/*
 * Lanes, tags and bounds: posts that are refused for want of memory hold nothing.
 */
#include "scenario.h"

#include <baton.h>

#include <errno.h>

struct extended {
	struct baton_resource resource;
	struct baton_tag tag;
	struct baton_labelled labelled;
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
	(void)count_one(baton_container_of(task, struct extended, labelled.task));
	return 0;
}

/* In a task, so that what is posted waits. */
static void *post_three(void *arg)
{
	struct extended *extended = arg;
	struct baton_label label = {.tag = &extended->tag, .bytes = 10, .lane = 1, .hold = true};

	for (uint64_t i = 0; i < 2; i++)
		INSIST(baton_post_labelled(&extended->resource, &label, count_one, extended),
		       USE(baton_tag_held(&extended->tag)) == i);
	EXPECT(TRY(baton_submit(&extended->resource, &extended->labelled.task)) == -EAGAIN);
	USE(baton_tag_cancel(&extended->tag));
	return NULL;
}

static void *post_one(void *arg)
{
	struct extended *extended = arg;
	struct baton_label label = {.tag = &extended->tag};

	INSIST(baton_post_labelled(&extended->resource, &label, count_one, extended),
	       !extended->ran);
	return NULL;
}

/* By a thread that is new. */
SCENARIO(extended, first_post)
{
	struct extended extended = {.resource = BATON_RESOURCE_INIT(NULL, NULL, NULL, NULL)};

	USE(baton_tag_init(&extended.tag));
	elsewhere(post_one, &extended);
	EXPECT(extended.ran == 1);
	resource_end(&extended.resource);
}

SCENARIO(extended, posts_behind_a_bound)
{
	const struct baton_bound_config limits = {.tasks_max = 2, .bytes_max = 100};
	struct extended extended = {.resource = BATON_RESOURCE_INIT(NULL, NULL, NULL, NULL)};
	struct baton_bound_counts counts;
	struct baton_extension extension;
	struct baton_lane array[2];
	struct baton_lanes lanes;
	struct baton_bound bound;

	USE(baton_tag_init(&extended.tag));
	USE(baton_lanes_init(&lanes, array, 2, 1, 0));
	USE(baton_bound_init(&bound, &limits));
	USE(baton_resource_extend(&extended.resource, &extension, &lanes, &bound));
	USE(baton_labelled_init(&extended.labelled, count_task, NULL));
	USE(baton_labelled_set_lane(&extended.labelled, 1));
	USE(baton_labelled_set_bytes(&extended.labelled, 1));
	USE(baton_labelled_set_tag(&extended.labelled, NULL));
	USE(baton_labelled_hold_tag(&extended.labelled, &extended.tag));
	USE(baton_labelled_set_tag(&extended.labelled, NULL));
	INSIST(baton_call(&extended.resource, post_three, &extended, NULL), !extended.ran);
	EXPECT(extended.ran == 0);
	EXPECT(USE(baton_tag_held(&extended.tag)) == 0);
	EXPECT(USE(baton_lanes_waiting(&lanes, 1)) == 0);
	USE(baton_bound_read(&bound, &counts));
	EXPECT(counts.tasks == 0 && counts.bytes == 0 && counts.refused == 1);
	INSIST(baton_submit(&extended.resource, &extended.labelled.task), !extended.ran);
	EXPECT(extended.ran == 1);
	EXPECT(TRY(baton_resource_close(&extended.resource)) == 0);
	INSIST(baton_resource_await(&extended.resource, NULL), true);
	USE(baton_resource_deinit(&extended.resource));
}
