/* SPDX-License-Identifier: MIT */
/* A programming error stops the process, and the line that it prints says what to do: the core. */
#include "misuse.h"

#include <baton/blocking.h>
#include <baton/epoch.h>

static struct baton_task a = BATON_TASK_INIT(idle_run, NULL);
static struct baton_task b = BATON_TASK_INIT(idle_run, NULL);

static int submits_twice(struct baton_task *task)
{
	BATON_IGNORE(baton_submit(&topic, &b));
	BATON_IGNORE(baton_submit(&topic, &a));
	BATON_IGNORE(baton_submit(&topic, &a));
	return 0;
}

static int submits_again(struct baton_task *task)
{
	BATON_IGNORE(baton_submit(&topic, &a));
	BATON_IGNORE(baton_submit(&topic, &b));
	BATON_IGNORE(baton_submit(&topic, &a));
	return 0;
}

static void task_twice_in_a_row(void)
{
	in_a_task(submits_twice);
}

static void task_twice(void)
{
	in_a_task(submits_again);
}

static void batch(size_t count)
{
	struct baton_task *tasks[20];
	struct baton_task others[20];

	for (size_t i = 0; i < count; i++) {
		others[i] = a;
		tasks[i] = &others[i];
	}
	tasks[count - 1] = tasks[0];
	BATON_IGNORE(baton_submit_batch(&topic, tasks, count));
}

static void batch_twice(void)
{
	batch(3);
}

/* The resource has been used, so the batch runs at once. */
static void idle_batch_twice(void)
{
	BATON_IGNORE(baton_submit(&topic, &b));
	batch(3);
}

static void long_batch_twice(void)
{
	batch(20);
}

static void deinit_open(void)
{
	baton_resource_deinit(&topic);
}

static void deinit_no_name(void)
{
	struct baton_resource resource = BATON_RESOURCE_INIT(NULL);

	baton_resource_deinit(&resource);
}

static void *deinit_inside(void *arg)
{
	(void)baton_resource_close(&topic);
	baton_resource_deinit(&topic);
	return arg;
}

static void deinit_busy(void)
{
	BATON_IGNORE(baton_call(&topic, deinit_inside, NULL, NULL));
}

/* ---- What a thread leaves behind ---- */

static int exits(struct baton_task *task)
{
	pthread_exit(NULL);
}

static void *exits_in_a_task(void *unused)
{
	in_a_task(exits);
	return unused;
}

static void exit_in_a_task(void)
{
	thread_join(thread_start(exits_in_a_task, NULL));
}

static void *exits_in_a_finaliser(void *unused)
{
	static struct baton_task finaliser = BATON_TASK_INIT(exits, NULL);

	BATON_IGNORE(baton_resource_close_then(&topic, &finaliser));
	return unused;
}

static void exit_in_a_finaliser(void)
{
	thread_join(thread_start(exits_in_a_finaliser, NULL));
}

static void *stays_in_a_section(void *unused)
{
	MUST(baton_epoch_enter() == 0);
	return unused;
}

static void exit_in_a_section(void)
{
	thread_join(thread_start(stays_in_a_section, NULL));
}

static void *blocks_and_returns(void *unused)
{
	baton_blocking_begin();
	return unused;
}

static void *ends_blocking(void *unused)
{
	baton_blocking_end();
	return unused;
}

static void on_a_worker(baton_call_fn fn)
{
	const struct baton_resource_config config = {.capture_max = BATON_CAPTURE_NONE};
	struct baton_resource resource = BATON_RESOURCE_INIT(&config);

	BATON_IGNORE(baton_call(&resource, fn, NULL, NULL));
	BATON_IGNORE(baton_pool_default_destroy());
}

static void bracket_open(void)
{
	on_a_worker(blocks_and_returns);
}

static void bracket_closed_twice(void)
{
	on_a_worker(ends_blocking);
}

static const struct mistake mistakes[] = {
	{task_twice_in_a_row, "baton_submit: \"topic/7\" was given a task that already waited"},
	{task_twice, "baton_submit: \"topic/7\" was given a task that already waited"},
	{batch_twice, "baton_submit_batch: \"topic/7\" was given the same task twice"},
	{idle_batch_twice, "baton_submit_batch: \"topic/7\" was given the same task twice"},
	{long_batch_twice, "baton_submit_batch: \"topic/7\" was given the same task twice"},
	{deinit_open, "baton_resource_deinit: \"topic/7\" is not closed: close and await it first"},
	{deinit_no_name, "baton_resource_deinit: \"(no name)\" is not closed"},
	{deinit_busy, "baton_resource_deinit: \"topic/7\" is closed, but not idle yet"},
#ifdef __GLIBC__
	{exit_in_a_task, "a task: \"topic/7\" was left by an exception, pthread_exit or"},
#else
	/* Nothing is unwound: it is the thread's end that finds out. */
	{exit_in_a_task, "pthread_exit: the thread ends inside a task"},
#endif
	{exit_in_a_finaliser, "pthread_exit: the thread ends inside a task"},
	{exit_in_a_section, "baton_epoch_enter: the thread ends inside the section"},
	{bracket_open, "baton_blocking_begin: a task has returned within the bracket"},
	{bracket_closed_twice, "baton_blocking_end: there is no bracket to end"},
};

Test(misuse, is_said_in_the_callers_words, .timeout = 60)
{
	mistakes_are_said(mistakes, sizeof(mistakes) / sizeof(*mistakes));
}
