/* SPDX-License-Identifier: MIT */
/*
 * Lanes. While a session is busy, publishes wait in it, and then the client's PINGREQs come. The
 * pings run next. Aging keeps a flood of pings from starving the publishes: after three pings one
 * publish runs.
 */
#include <baton.h>
#include <baton/label.h>
#include <baton/lane.h>

#include <stdio.h>
#include <string.h>

#define PUBLISHES 3

static struct baton_resource session = BATON_RESOURCE_INIT(NULL);
static char order[16];

static void *publish(void *text)
{
	strcat(order, text);
	return NULL;
}

static void *ping(void *none)
{
	(void)none;
	strcat(order, "P");
	return NULL;
}

/* The session is busy with this task: the tasks submitted here wait, sorted by lane. */
static void *deliver(void *none)
{
	const struct baton_label low = {.lane = 1};
	const struct baton_label high = {.lane = 0};
	static char texts[PUBLISHES][2] = {"1", "2", "3"};
	int failed = 0;

	(void)none;
	for (int i = 0; i < PUBLISHES; i++)
		failed |= baton_post_with(&session, &(struct baton_call_options){.fn = publish,
		                                                                 .arg = texts[i],
		                                                                 .label = &low});
	for (int i = 0; i < 4; i++)
		failed |= baton_post_with(
			&session,
			&(struct baton_call_options){.fn = ping, .arg = NULL, .label = &high});
	return failed ? NULL : order;
}

int main(void)
{
	static struct baton_lane array[2];
	static const struct baton_lanes_config aging = {.aging_turns = 3};
	static struct baton_lanes lanes = BATON_LANES_INIT(array, 2, &aging);
	void *value = NULL;

	baton_resource_set_lanes(&session, &lanes);
	if (baton_call(&session, deliver, NULL, &value) || !value)
		return 1;
	if (baton_resource_close(&session) || baton_resource_await(&session))
		return 1;
	printf("ran in the order %s: pings first, but the fourth turn was a publish's\n", order);
	return strcmp(order, "PPP1P23") != 0;
}
