/* SPDX-License-Identifier: MIT */
/*
 * A walk through a tree of topics, each visited under its own baton. Each visit submits further
 * visits. The group says when all visits are over, and which error was the first.
 */
#include <stdio.h>

#include <baton/group.h>
#include <baton/resource.h>

#define TOPICS 127 /* a complete binary tree */

struct topic {
	struct baton_resource resource;
	struct baton_task task;
	int index;
	int visits;
};

static struct topic topics[TOPICS];
static struct baton_group walk = BATON_GROUP_INIT;

static void visit(int index);

static int visit_run(struct baton_task *task)
{
	struct topic *topic = baton_container_of(task, struct topic, task);

	topic->visits++;
	visit(2 * topic->index + 1);
	visit(2 * topic->index + 2);
	baton_group_leave_with(&walk, topic->index == 100 ? -7 : 0);
	return 0;
}

static void visit(int index)
{
	if (index >= TOPICS)
		return;
	baton_group_enter(&walk);
	baton_task_init(&topics[index].task, visit_run, NULL);
	if (baton_submit_later(&topics[index].resource, &topics[index].task) != 0)
		baton_group_leave_with(&walk, -1);
}

int main(void)
{
	int visits = 0;

	for (int i = 0; i < TOPICS; i++) {
		baton_resource_init(&topics[i].resource, NULL);
		topics[i].index = i;
	}
	visit(0);
	if (baton_group_wait(&walk) != 0)
		return 1;
	for (int i = 0; i < TOPICS; i++)
		visits += topics[i].visits;
	printf("group: %d of %d topics visited, first status %d\n", visits, TOPICS,
	       baton_group_status(&walk));
	return visits != TOPICS || baton_group_status(&walk) != -7;
}
