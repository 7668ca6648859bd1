/* SPDX-License-Identifier: MIT */
/*
 * Task types. The publishes and the acknowledgements of a session are freed by functions of their
 * types, whether they run or are cancelled.
 */
#include "../check.h"

#include <baton.h>
#include <baton/suspend.h>

#include <stdio.h>
#include <stdlib.h>

struct publish {
	struct baton_task task;
	char text[32];
};

struct acknowledge {
	struct baton_task task;
	unsigned id;
};

static int published;
static int acknowledged;
static int given_back[2]; /* publishes, acknowledgements */

static int publish_run(struct baton_task *task)
{
	struct publish *publish = baton_container_of(task, struct publish, task);

	printf("publish %s\n", publish->text);
	published++;
	free(publish);
	return 0;
}

static void publish_free(struct baton_task *task)
{
	given_back[0]++;
	free(baton_container_of(task, struct publish, task));
}

static const struct baton_task_type publish_type = {
	.run = publish_run,
	.cancelled = publish_free,
};

static int acknowledge_run(struct baton_task *task)
{
	struct acknowledge *acknowledge = baton_container_of(task, struct acknowledge, task);

	printf("acknowledge %u\n", acknowledge->id);
	acknowledged++;
	free(acknowledge);
	return 0;
}

static void acknowledge_free(struct baton_task *task)
{
	given_back[1]++;
	free(baton_container_of(task, struct acknowledge, task));
}

static const struct baton_task_type acknowledge_type = {
	.run = acknowledge_run,
	.cancelled = acknowledge_free,
};

static void submit_both(struct baton_resource *session, unsigned id)
{
	struct publish *publish = calloc(1, sizeof(*publish));
	struct acknowledge *acknowledge = calloc(1, sizeof(*acknowledge));

	CHECK(publish && acknowledge);
	(void)snprintf(publish->text, sizeof(publish->text), "message %u", id);
	baton_task_init_of(&publish->task, &publish_type);
	acknowledge->id = id;
	baton_task_init_of(&acknowledge->task, &acknowledge_type);
	CHECK(baton_submit(session, &publish->task) == 0);
	CHECK(baton_submit(session, &acknowledge->task) == 0);
}

int main(void)
{
	struct baton_resource session = BATON_RESOURCE_INIT(NULL);
	struct baton_suspension suspension = BATON_SUSPENSION_INIT;

	submit_both(&session, 1);
	CHECK(published == 1 && acknowledged == 1);

	/* The client is gone before its next messages run. */
	CHECK(baton_resource_suspend(&session, &suspension) == 0);
	submit_both(&session, 2);
	CHECK(baton_resource_cancel_pending(&session) == 0);
	CHECK(baton_resource_resume(&suspension) == 0);
	CHECK(published == 1 && acknowledged == 1);
	CHECK(given_back[0] == 1 && given_back[1] == 1);
	CHECK(baton_resource_close(&session) == 0 && baton_resource_await(&session) == 0);
	puts("each has been given back by its own type");
	return 0;
}
