/* SPDX-License-Identifier: MIT */
/*
 * Functions that a thread has put off (core/callback.c), called while it waits. Here a task waits
 * in the loop that fires a promise's continuations: the next of them is refused, its `cancelled` is
 * put off, and the last ends the wait.
 */
#include "support.h"

#include "base/atomic.h"

static struct sim_shelf shelf;
static struct sim_topic outer;
static struct baton_resource target; /* refuses; its memory is given back when nobody needs it */
static struct baton_resource_config config;
static struct baton_future end = BATON_PROMISE_INIT;
static struct baton_future later = BATON_PROMISE_INIT;
static struct baton_continuation continuations[3];
static struct baton_task waiting;
static struct baton_task refused;
static struct baton_task queued;
static struct baton_task finaliser;
static uint32_t users; /* how many functions may still use the target */
static unsigned cancelled;

static void use_ends(void)
{
	if (sub_acq_rel(&users, 1) == 1)
		sim_retire(&target, sizeof(target));
}

static void on_cancelled(struct baton_task *task)
{
	sim_require(task == &refused);
	cancelled++;
	use_ends();
}

static int on_final(struct baton_task *task)
{
	use_ends();
	return 0;
}

static int runs(struct baton_task *task)
{
	return 0;
}

static int waits(struct baton_task *task)
{
	sim_require(baton_future_wait(&later) == 0);
	return 0;
}

static void completes(void *promise)
{
	sim_require(baton_future_complete(promise, 0, NULL) == 0);
}

static void fires(void *argument)
{
	sim_require(baton_future_complete(&end, 0, NULL) == 0);
}

static void set_up(void)
{
	sim_shelf_init(&shelf, 0, 0);
	sim_topic_init(&outer, 10, 64, &shelf.executor);
	config = (struct baton_resource_config){.executor = &shelf.executor,
	                                        .cancelled = on_cancelled};
	baton_resource_init(&target, &config);
	baton_task_init(&waiting, waits, NULL);
	baton_task_init(&refused, runs, NULL);
	baton_continuation_task(&continuations[0], &outer.resource, &waiting);
	baton_continuation_task(&continuations[1], &target, &refused);
	baton_continuation_function(&continuations[2], completes, &later);
	for (int i = 0; i < 3; i++)
		baton_future_then(&end, &continuations[i]);
}

static void check(void)
{
	sim_shelf_drive(&shelf);
	sim_require(cancelled == 1 && users == 0);
	sim_settled(&outer);
	sim_topic_close(&outer);
	sim_no_leaks();
}

SIM_SCENARIO(callback_ends, "`cancelled` of a task that was refused gives the resource back")
{
	set_up();
	baton_resource_close(&target);
	users = 1;
	fires(NULL);
	check();
}

SIM_SCENARIO(callback_finaliser, "the same beside the runner, and the finaliser", .bound = 2)
{
	set_up();
	baton_task_init(&queued, runs, NULL);
	baton_task_init(&finaliser, on_final, NULL);
	sim_require(baton_submit_later(&target, &queued) == 0);
	sim_require(baton_resource_close_then(&target, &finaliser) == 0);
	users = 2;
	sim_start(fires, NULL);
	check();
}
