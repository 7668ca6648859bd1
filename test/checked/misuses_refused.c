/* SPDX-License-Identifier: MIT */
/* What was refused, in the list that libbaton-checked keeps. */
#include "misuses.h"

#include <baton/trigger.h>

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#define NAMES 300

/* The ordinary library has no such function. */
extern size_t baton_checked_refusals(int fd) __attribute__((weak));

static int fire_nothing(struct baton_trigger *trigger, uint64_t fires)
{
	(void)trigger;
	(void)fires;
	return 0;
}

static void end_list(size_t lines)
{
	(void)dprintf(STDERR_FILENO, "%zu lines\n", lines);
	_exit(0);
}

void refused_at_exit(void)
{
	struct baton_trigger trigger = BATON_TRIGGER_INIT(&topic, fire_nothing);
	struct baton_future *future;

	static const struct baton_label nowhere = {.lane = BATON_LANES_MAX};
	const struct baton_call_options malformed = {.fn = call_nothing, .label = &nowhere};

	baton_task_init(&second, nothing, NULL);
	BATON_IGNORE(baton_call_with(&topic, &malformed, NULL));
	(void)baton_resource_close(&topic);
	BATON_IGNORE((baton_submit)(&topic, &second));
	BATON_IGNORE((baton_call)(&topic, call_nothing, NULL, NULL));
	for (int i = 0; i < 3; i++)
		BATON_IGNORE(baton_post(&topic, call_nothing, NULL));
	BATON_IGNORE(baton_async(&topic, call_nothing, NULL, &future));
	BATON_IGNORE(baton_trigger_fire(&trigger));
	exit(0);
}

void refused_twice_in_the_list(void)
{
	struct baton_task *batch[] = {&second};

	baton_task_init(&second, nothing, NULL);
	(void)baton_resource_close(&topic);
	(void)baton_resource_close(&other);
	BATON_IGNORE(baton_submit_batch(&topic, batch, 1));
	BATON_IGNORE(baton_submit_later(&other, &second));
	end_list(baton_checked_refusals ? baton_checked_refusals(STDERR_FILENO) : 0);
}

static char names[NAMES][8];
static struct baton_resource named[NAMES];

static const char *name_of(const struct baton_resource *resource)
{
	return names[resource - named];
}

/* The list is bounded: its last line counts what has no room. */
void refused_too_often(void)
{
	static struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;
	int nowhere = open("/dev/null", O_WRONLY);

	config.name_of = name_of;
	for (int i = 0; i < NAMES; i++) {
		(void)snprintf(names[i], sizeof(names[i]), "n%d", i);
		baton_resource_init(&named[i], &config);
		(void)baton_resource_close(&named[i]);
		BATON_IGNORE(baton_post(&named[i], call_nothing, NULL));
	}
	end_list(baton_checked_refusals ? baton_checked_refusals(nowhere) : 0);
}

/* A call that finds its resource busy has asked for just that. */
static void *try_again(void *arg)
{
	BATON_IGNORE(baton_try_call(&other, call_nothing, NULL, NULL));
	return arg;
}

void refused_nothing(void)
{
	if ((baton_call)(&topic, try_again, NULL, NULL) ||
	    (baton_checked_refusals && baton_checked_refusals(STDERR_FILENO)))
		abort();
	(void)baton_resource_close(&topic);
	(void)baton_resource_close(&topic);
	exit(0);
}
