/* SPDX-License-Identifier: MIT */
/* Misuses of resources. */
#include "misuses.h"

#include <baton/board.h>
#include <baton/stats.h>

/* Runs `run` as a task of topic/7, so that what it submits to topic/7 waits. */
static void in_task(baton_task_fn run)
{
	static struct baton_task outer;

	baton_task_init(&outer, run, NULL);
	BATON_IGNORE(baton_submit(&topic, &outer));
}

/* ---- Resources ---- */

static int zero_resource(struct baton_task *task)
{
	baton_task_init(&second, nothing, NULL);
	BATON_IGNORE(baton_submit(&topic, &second));
	memset(&topic, 0, sizeof(topic));
	BATON_IGNORE(baton_submit(&topic, &second));
	return 0;
}

void shown_from_outside(void)
{
	(void)baton_board_show(&topic, NULL);
}

void resource_zeroed(void)
{
	in_task(zero_resource);
}

static struct baton_resource unnamed;
struct baton_manual *manual;
static struct baton_resource_config on_manual = BATON_RESOURCE_CONFIG_INIT;

void topic_on_manual(void)
{
	if (baton_manual_create(&manual))
		abort();
	on_manual.executor = baton_manual_executor(manual);
	on_manual.capture_max = BATON_CAPTURE_NONE;
	on_manual.name = "topic/7";
	baton_resource_init(&topic, &on_manual);
}

void nameless_zeroed(void)
{
	static struct baton_task third;

	baton_task_init(&second, nothing, NULL);
	baton_task_init(&third, nothing, NULL);
	if (baton_manual_create(&manual))
		return;
	on_manual.executor = baton_manual_executor(manual);
	on_manual.capture_max = BATON_CAPTURE_NONE;
	baton_resource_init(&unnamed, &on_manual);
	BATON_IGNORE(baton_submit(&unnamed, &second));
	unnamed = (struct baton_resource)BATON_RESOURCE_INIT(&on_manual);
	BATON_IGNORE(baton_submit(&unnamed, &third));
}

static int init_again(struct baton_task *task)
{
	baton_task_init(&second, nothing, NULL);
	BATON_IGNORE(baton_submit(&topic, &second));
	baton_resource_init(&topic, NAMED("topic/9"));
	return 0;
}

void resource_initialised_again(void)
{
	in_task(init_again);
}

static int copy_resource(struct baton_task *task)
{
	struct baton_resource copy = topic;

	BATON_IGNORE(baton_call(&copy, call_nothing, NULL, NULL));
	return 0;
}

void resource_copied(void)
{
	in_task(copy_resource);
}

void resource_never_initialised(void)
{
	struct baton_resource *garbage = malloc(sizeof(*garbage));

	memset(garbage, 0xA5, sizeof(*garbage));
	(void)baton_resource_close(garbage);
}

void deinit_without_close(void)
{
	baton_resource_deinit(&topic);
}

void deinit_without_await(void)
{
	topic_on_manual();
	baton_task_init(&second, nothing, NULL);
	BATON_IGNORE(baton_submit(&topic, &second));
	(void)baton_resource_close(&topic);
	baton_resource_deinit(&topic);
}

void used_after_deinit(void)
{
	(void)baton_resource_close(&topic);
	(void)!baton_resource_await(&topic);
	baton_resource_deinit(&topic);
	BATON_IGNORE(baton_post(&topic, call_nothing, NULL));
}

void stats_not_zeroed(void)
{
	struct baton_resource_stats stats;

	memset(&stats, 1, sizeof(stats));
	baton_resource_set_stats(&topic, &stats);
}

void stats_too_late(void)
{
	static struct baton_resource_stats stats;

	(void)baton_resource_close(&topic);
	baton_resource_set_stats(&topic, &stats);
}

void config_changed(void)
{
	static struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;

	config.name = "topic/7";
	baton_resource_init(&topic, &config);
	BATON_IGNORE(baton_post(&topic, call_nothing, NULL));
	config.quantum = 7;
	BATON_IGNORE(baton_post(&topic, call_nothing, NULL));
}

void config_garbage(void)
{
	static struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;

	config._reserved[1] = 1;
	config.name = "topic/7";
	baton_resource_init(&topic, &config);
	BATON_IGNORE(baton_post(&topic, call_nothing, NULL));
}

void name_freed(void)
{
	static char name[] = "session/4";
	static const struct baton_resource_config config = BATON_RESOURCE_CONFIG_NAMED(name);

	baton_resource_init(&topic, &config);
	BATON_IGNORE(baton_post(&topic, call_nothing, NULL));
	name[0] = 'X';
	BATON_IGNORE(baton_post(&topic, call_nothing, NULL));
}
