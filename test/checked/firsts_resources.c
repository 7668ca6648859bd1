/* SPDX-License-Identifier: MIT */
/* Functions that are given a resource; see firsts.h. */
#include "firsts.h"

#include <baton/call.h>
#include <baton/mainloop.h>

/* ---- Submits, calls ---- */

FIRST(baton_submit)
{
	MUST(!baton_submit(&r, &t));
	ran();
}

FIRST(baton_submit_later)
{
	MUST(!baton_submit_later(&r, &t));
	ran();
}

FIRST(baton_try_submit_later)
{
	MUST(!baton_try_submit_later(&r, &t));
	ran();
}

FIRST(baton_submit_batch)
{
	struct baton_task *const tasks[] = {&t};

	MUST(!baton_submit_batch(&r, tasks, 1));
	ran();
}

FIRST(baton_submit_batch_later)
{
	struct baton_task *const tasks[] = {&t};

	MUST(!baton_submit_batch_later(&r, tasks, 1));
	ran();
}

FIRST(baton_call)
{
	MUST(!baton_call(&r, run_call, NULL, NULL));
	ran();
}

/* Refused where a call would run on another thread. */
FIRST(baton_try_call)
{
	int error = baton_try_call(&r, run_call, NULL, NULL);

	MUST(!error || error == -EAGAIN);
	if (!error)
		ran();
}

FIRST(baton_call_with)
{
	const struct baton_call_options options = {.fn = run_call};

	MUST(!baton_call_with(&r, &options, NULL));
	ran();
}

FIRST(baton_post)
{
	MUST(!baton_post(&r, run_call, NULL));
	ran();
}

FIRST(baton_post_with)
{
	const struct baton_call_options options = {.fn = run_call};

	MUST(!baton_post_with(&r, &options));
	ran();
}

FIRST(baton_async)
{
	struct baton_future *future;

	MUST(!baton_async(&r, run_call, NULL, &future));
	ran();
	baton_future_unref(future);
}

FIRST(baton_async_with)
{
	const struct baton_call_options options = {.fn = run_call};
	struct baton_future *future;

	MUST(!baton_async_with(&r, &options, &future));
	ran();
	baton_future_unref(future);
}

/* ---- A resource's life ---- */

FIRST(baton_resource_init)
{
	static struct baton_resource fresh;

	baton_resource_init(&fresh, NULL);
	MUST(!baton_call(&fresh, run_call, NULL, NULL));
}

FIRST(baton_resource_set_stats)
{
	static struct baton_resource_stats stats;

	baton_resource_set_stats(&r, &stats);
	MUST(!baton_submit(&r, &t));
	ran();
}

/* Each resource with lanes of its own. */
FIRST(baton_resource_set_lanes)
{
	static struct baton_lane array[2];
	static struct baton_lanes lanes = BATON_LANES_INIT(array, 2, NULL);

	baton_resource_set_lanes(&r, &lanes);
	MUST(!baton_submit(&r, &t));
	ran();
}

FIRST(baton_resource_set_bound)
{
	static const struct baton_bound_config config = {.tasks_max = 9,
	                                                 .policy = BATON_BOUND_REFUSE};
	static struct baton_bound bound = BATON_BOUND_INIT(&config);

	baton_resource_set_bound(&r, &bound);
	MUST(!baton_submit(&r, &t));
	ran();
}

FIRST(baton_resource_close)
{
	MUST(!baton_resource_close(&r));
	MUST(baton_submit(&r, &t) == -EPIPE);
}

FIRST(baton_resource_close_then)
{
	MUST(!baton_resource_close_then(&r, &t));
	ran();
}

FIRST(baton_resource_deinit)
{
	MUST(!baton_resource_close(&other));
	MUST(!baton_resource_await(&other));
	baton_resource_deinit(&other);
}

FIRST(baton_resource_cancel_pending)
{
	MUST(!baton_resource_cancel_pending(&r));
	MUST(!baton_submit(&r, &t));
	ran();
}

FIRST(baton_resource_await)
{
	MUST(!baton_resource_await(&r));
	MUST(!baton_submit(&r, &t));
	ran();
}

FIRST(baton_resource_await_until)
{
	MUST(!baton_resource_await_until(&r, 0));
	MUST(!baton_submit(&r, &t));
	ran();
}

/* ---- Looks ---- */

FIRST(baton_resource_name)
{
	(void)baton_resource_name(&r);
	MUST(!baton_submit(&r, &t));
	ran();
}

FIRST(baton_resource_is_closed)
{
	MUST(!baton_resource_is_closed(&r));
	MUST(!baton_submit(&r, &t));
	ran();
}

FIRST(baton_resource_is_idle)
{
	MUST(baton_resource_is_idle(&r));
	MUST(!baton_submit(&r, &t));
	ran();
}

FIRST(baton_held)
{
	MUST(!baton_held(&r));
	MUST(!baton_submit(&r, &t));
	ran();
}

static int assert_held(struct baton_task *task)
{
	(void)task;
	baton_assert_held(&r);
	MUST(baton_current() == &r);
	used();
	return 0;
}

FIRST(baton_assert_held)
{
	baton_task_init(&t, assert_held, NULL);
	MUST(!baton_submit(&r, &t));
	ran();
}

/* ---- Several resources, suspensions ---- */

static int item(struct baton_resource *resource, void *arg, size_t index)
{
	(void)resource;
	(void)arg;
	(void)index;
	used();
	return 0;
}

FIRST(baton_fan_out_submit)
{
	const struct baton_fan_out_options options = {.fn = item};
	struct baton_resource *const resources[] = {&r};

	MUST(!baton_fan_out_submit(resources, 1, &options, NULL));
	ran();
}

static int item_other(struct baton_resource *resource, void *arg, size_t index)
{
	used(); /* the other resource's items use r */
	return item(resource, arg, index);
}

FIRST(baton_fan_out_future)
{
	const struct baton_fan_out_options options = {.fn = item_other,
	                                              .flags = BATON_FAN_OUT_LATER};
	struct baton_resource *const resources[] = {&r, &other};
	struct baton_fan_out *fan_out;

	MUST(!baton_fan_out_submit(resources, 2, &options, &fan_out));
	MUST(!baton_future_wait(baton_fan_out_future(fan_out)));
	MUST(!baton_fan_out_wait(fan_out));
	baton_fan_out_unref(fan_out);
}

FIRST(baton_quiesce)
{
	struct baton_resource *const resources[] = {&other, &r};
	struct baton_suspension suspensions[2];

	MUST(!baton_quiesce(resources, 2, suspensions));
	MUST(!baton_submit(&r, &t));
	MUST(!baton_quiesce_end(suspensions, 2));
	ran();
}

FIRST(baton_quiesce_until)
{
	struct baton_resource *const resources[] = {&other, &r};
	struct baton_suspension suspensions[2];

	MUST(!baton_quiesce_until(resources, 2, suspensions, 0));
	MUST(!baton_quiesce_end(suspensions, 2));
}

FIRST(baton_quiesce_end)
{
	struct baton_resource *const resources[] = {&r, &r};
	struct baton_suspension suspensions[2];

	MUST(!baton_quiesce(resources, 2, suspensions));
	MUST(!baton_quiesce_end(suspensions, 2));
}

FIRST(baton_resource_suspend)
{
	struct baton_suspension suspension = BATON_SUSPENSION_INIT;

	MUST(!baton_resource_suspend(&r, &suspension));
	MUST(!baton_submit(&r, &t));
	MUST(!baton_resource_resume(&suspension));
	ran();
}

FIRST(baton_resource_suspend_lower)
{
	static struct baton_lane array[2];
	static struct baton_lanes lanes = BATON_LANES_INIT(array, 2, NULL);
	static struct baton_resource laned = BATON_RESOURCE_INIT(NULL);
	struct baton_suspension suspension = BATON_SUSPENSION_INIT;

	baton_resource_set_lanes(&laned, &lanes);
	MUST(!baton_resource_suspend_lower(&laned, &suspension));
	MUST(!baton_call(&laned, run_call, NULL, NULL));
	MUST(!baton_resource_resume(&suspension));
}

FIRST(baton_suspension_is_effective)
{
	struct baton_suspension suspension = BATON_SUSPENSION_INIT;

	MUST(!baton_resource_suspend(&r, &suspension));
	MUST(baton_suspension_is_effective(&suspension));
	MUST(!baton_resource_resume(&suspension));
}

FIRST(baton_suspension_wait_until)
{
	struct baton_suspension suspension = BATON_SUSPENSION_INIT;

	MUST(!baton_resource_suspend(&r, &suspension));
	MUST(!baton_suspension_wait_until(&suspension, 0));
	MUST(!baton_resource_resume(&suspension));
}

FIRST(baton_suspension_wait)
{
	struct baton_suspension suspension = BATON_SUSPENSION_INIT;

	MUST(baton_suspension_wait(&suspension) == -EINVAL);
	MUST(!baton_resource_suspend(&r, &suspension));
	MUST(!baton_suspension_wait(&suspension));
	MUST(!baton_resource_resume(&suspension));
}

FIRST(baton_resource_resume)
{
	struct baton_suspension suspension = BATON_SUSPENSION_INIT;

	MUST(baton_resource_resume(&suspension) == -EINVAL);
}

FIRST(baton_resource_resume_later)
{
	struct baton_suspension suspension = BATON_SUSPENSION_INIT;

	MUST(!baton_resource_suspend(&r, &suspension));
	MUST(!baton_submit(&r, &t));
	MUST(!baton_resource_resume_later(&suspension));
	ran();
}

/* ---- Boards, registries, main loops, admissions ---- */

static struct baton_board *board;

static void join(struct baton_resource *resource)
{
	if (!board)
		MUST(!baton_board_create(NULL, &board));
	MUST(!baton_board_join(board, resource, NULL, NULL));
}

static void leave(struct baton_resource *resource)
{
	MUST(!baton_resource_close(resource));
	MUST(!baton_resource_await(resource));
	baton_board_leave(board, resource);
}

/* The resource's end comes when the board is gone. */
FIRST(baton_board_join)
{
	join(&r);
	MUST(!baton_submit(&r, &t));
	ran();
	leave(&r);
	baton_board_destroy(board);
}

static void *run_show(void *arg)
{
	MUST(!baton_board_show(&r, NULL));
	return arg;
}

/* On no board. */
FIRST(baton_board_show)
{
	MUST(!baton_call(&r, run_show, NULL, NULL));
}

/* First a resource that is on no board. The resource's end comes when its line is another's. */
FIRST(baton_board_leave)
{
	static const struct baton_resource_config named = BATON_RESOURCE_CONFIG_NAMED("other");

	join(&other);
	leave(&other);
	baton_board_leave(board, &r);
	join(&r);
	MUST(!baton_submit(&r, &t));
	ran();
	leave(&r);
	baton_resource_init(&other, &named);
	join(&other);
	MUST(!baton_call(&other, run_call, NULL, NULL));
}

static struct baton_registry *registry;

/* A new object's resource is used first by its init, which may initialise it anew. The registry's
 * resource is held meanwhile. */
static int object_init(struct baton_registry_entry *entry, void *arg)
{
	static const struct baton_resource_config named = BATON_RESOURCE_CONFIG_NAMED("object");

	if (arg)
		baton_resource_init(&entry->resource, &named);
	MUST(!baton_post(baton_registry_resource(registry), run_call, NULL));
	return baton_call(&entry->resource, run_call, NULL, NULL);
}

static void use_registry(void *arg)
{
	const struct baton_registry_options options = BATON_REGISTRY_OPTIONS_INIT(
		sizeof(struct baton_registry_entry), object_init, NULL, arg);
	struct baton_registry_entry *entry;

	MUST(!baton_registry_create(&options, &registry));
	MUST(!baton_registry_acquire(registry, "name", 4, &entry));
	MUST(strcmp(baton_registry_name_of(&entry->resource), "name") == 0);
	MUST(!baton_call(&entry->resource, run_call, NULL, NULL));
	baton_registry_unref(entry);
	MUST(!baton_registry_destroy(registry));
}

FIRST(baton_registry_resource)
{
	use_registry(NULL);
}

FIRST(baton_registry_name_of)
{
	use_registry(&r);
}

FIRST(baton_mainloop_resource)
{
	struct baton_mainloop loop;

	MUST(!baton_mainloop_init(&loop, NULL));
	MUST(!baton_post(baton_mainloop_resource(&loop), run_call, NULL));
	MUST(baton_mainloop_run(&loop, 1) == 0);
	ran();
	MUST(!baton_mainloop_deinit(&loop));
}
