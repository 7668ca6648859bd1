/* SPDX-License-Identifier: MIT */
/*
 * A topic stands still for its messages, and still takes subscriptions: the messages are in lane 1,
 * which is suspended while the topic's log is moved to another file. Subscriptions are in lane 0.
 */
#include <stdio.h>

#include <baton.h>
#include <baton/label.h>
#include <baton/lane.h>
#include <baton/suspend.h>

struct topic {
	struct baton_resource resource;
	struct baton_lanes lanes;
	struct baton_lane array[2];
	int subscribers, messages;
};

static void *subscribe(void *arg)
{
	struct topic *topic = arg;

	topic->subscribers++;
	return NULL;
}

static void *publish(void *arg)
{
	struct topic *topic = arg;

	topic->messages++;
	return NULL;
}

int main(void)
{
	static const struct baton_label message = {.lane = 1};
	struct topic topic = {0};
	struct baton_suspension moving = BATON_SUSPENSION_INIT;
	const struct baton_call_options publishing = {
		.fn = publish, .arg = &topic, .label = &message};
	int during;

	baton_resource_init(&topic.resource, NULL);
	baton_lanes_init(&topic.lanes, topic.array, 2, NULL);
	baton_resource_set_lanes(&topic.resource, &topic.lanes);

	if (baton_resource_suspend_lower(&topic.resource, &moving) ||
	    baton_suspension_wait(&moving))
		return 1;
	/* No message is handled now: here the log would be moved. */
	for (int i = 0; i < 3; i++)
		if (baton_post_with(&topic.resource, &publishing) ||
		    baton_call(&topic.resource, subscribe, &topic, NULL))
			return 1;
	during = topic.messages;
	if (baton_resource_resume(&moving))
		return 1;

	baton_resource_close(&topic.resource);
	if (baton_resource_await(&topic.resource))
		return 1;
	baton_resource_deinit(&topic.resource);
	printf("%d subscribers, %d messages while it stood still, %d afterwards\n",
	       topic.subscribers, during, topic.messages);
	return topic.subscribers != 3 || during != 0 || topic.messages != 3;
}
