/* SPDX-License-Identifier: MIT */
/* The carried value: what functions find beside other submitters, runners and helpers. */
#include "support.h"

#include "../../parts.h"

#include <baton/carried.h>

static struct sim_topic topic;
static struct stamped stamped[2];
static int values[2];
static unsigned found;

static void *find(void *arg)
{
	sim_require(baton_carried() == arg);
	found++;
	return NULL;
}

static int find_mine(struct baton_task *task)
{
	int index = (int)(baton_container_of(task, struct stamped, task) - stamped);

	(void)find(&values[index]);
	return 0;
}

/* A plain task between: it finds nothing, wherever it runs. */
static int find_nothing(struct baton_task *task)
{
	(void)task;
	sim_require(baton_carried() == NULL);
	return 0;
}

static void submit_all(int index)
{
	static struct baton_task plain[2];
	void *value = &values[index];

	sim_require(baton_set_carried(value) == 0);
	baton_task_init(&plain[index], find_nothing, NULL);
	sim_require(baton_submit(&topic.resource, &plain[index]) == 0);
	stamped_init(&stamped[index], find_mine, NULL);
	sim_require(baton_submit(&topic.resource, &stamped[index].task) == 0);
	sim_require(baton_post(&topic.resource, find, value) == 0);
	sim_require(baton_call(&topic.resource, find, value, NULL) == 0);
	sim_require(baton_carried() == value);
	sim_require(baton_set_carried(NULL) == 0);
}

static void submit_second(void *none)
{
	(void)none;
	submit_all(1);
}

SIM_SCENARIO(carried_submitters, "of two submitters, each function finds its own submitter's value",
             .bound = 1)
{
	struct baton_manual *manual;

	found = 0;
	sim_require(baton_manual_create(&manual) == 0);
	sim_topic_init(&topic, 2, 2, baton_manual_executor(manual));
	sim_start(submit_second, NULL);
	submit_all(0);
	sim_drive(manual);
	sim_require(found == 6);
	sim_join_all();
	sim_topic_close(&topic);
	baton_manual_destroy(manual);
}
