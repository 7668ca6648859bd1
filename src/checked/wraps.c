/* SPDX-License-Identifier: MIT */
/*
 * The public functions of libbaton-checked for resources and tasks: each looks at what it was
 * given, and calls the ordinary function. What an ordinary function returns as an error is returned
 * here, too; where the error is always a mistake of the program, the checked library stops.
 */
#include "checked/plain.h"

#include "checked/objects.h"
#include "future/future.h"

#include <stdlib.h>

/* ---- Submits ---- */

BATON_EXPORT int baton_submit(struct baton_resource *resource, struct baton_task *task)
{
	uint64_t serial;
	int error;

	baton__checked_resource(resource, __func__);
	serial = baton__checked_submit(resource, task, __func__);
	error = baton__plain_submit(resource, task);
	baton__checked_submitted(task, serial, error);
	return error;
}

BATON_EXPORT int baton_submit_later(struct baton_resource *resource, struct baton_task *task)
{
	uint64_t serial;
	int error;

	baton__checked_resource(resource, __func__);
	serial = baton__checked_submit(resource, task, __func__);
	error = baton__plain_submit_later(resource, task);
	baton__checked_submitted(task, serial, error);
	return error;
}

BATON_EXPORT int baton_submit_batch(struct baton_resource *resource,
                                    struct baton_task *const *tasks, size_t count)
{
	uint64_t *serials;
	int error;

	baton__checked_resource(resource, __func__);
	BATON__NEED(tasks || !count, "the array of tasks is NULL");
	/* When the submit returns, the array may be gone, as the tasks may be. */
	serials = calloc(count + 1, 2 * sizeof(*serials));
	for (size_t i = 0; serials && i < count; i++) {
		serials[2 * i] = baton__checked_submit(resource, tasks[i], __func__);
		serials[2 * i + 1] = (uintptr_t)tasks[i];
	}
	error = baton__plain_submit_batch(resource, tasks, count);
	for (size_t i = 0; serials && i < count; i++)
		baton__checked_submitted((struct baton_task *)(uintptr_t)serials[2 * i + 1],
		                         serials[2 * i], error);
	free(serials);
	return error;
}

/* ---- Calls ---- */

#define NEED_FUNCTION(fn) BATON__NEED(fn, "the function is NULL: give a function to call")

BATON_EXPORT int baton_call(struct baton_resource *resource, baton_call_fn fn, void *arg,
                            void **value)
{
	baton__checked_resource(resource, __func__);
	NEED_FUNCTION(fn);
	return baton__plain_call(resource, fn, arg, value);
}

BATON_EXPORT int baton_try_call(struct baton_resource *resource, baton_call_fn fn, void *arg,
                                void **value)
{
	baton__checked_resource(resource, __func__);
	NEED_FUNCTION(fn);
	return baton__plain_try_call(resource, fn, arg, value);
}

BATON_EXPORT int baton_call_with(struct baton_resource *resource,
                                 const struct baton_call_options *options, void **value)
{
	baton__checked_resource(resource, __func__);
	BATON__NEED(options, "the options are NULL");
	NEED_FUNCTION(options->fn);
	return baton__plain_call_with(resource, options, value);
}

BATON_EXPORT int baton_post(struct baton_resource *resource, baton_call_fn fn, void *arg)
{
	baton__checked_resource(resource, __func__);
	NEED_FUNCTION(fn);
	return baton__plain_post(resource, fn, arg);
}

BATON_EXPORT int baton_post_or(struct baton_resource *resource, baton_call_fn fn,
                               baton_post_cancelled_fn cancelled, void *arg)
{
	baton__checked_resource(resource, __func__);
	NEED_FUNCTION(fn);
	return baton__plain_post_or(resource, fn, cancelled, arg);
}

BATON_EXPORT int baton_post_with(struct baton_resource *resource,
                                 const struct baton_call_options *options)
{
	baton__checked_resource(resource, __func__);
	BATON__NEED(options, "the options are NULL");
	NEED_FUNCTION(options->fn);
	return baton__plain_post_with(resource, options);
}

BATON_EXPORT int baton_async(struct baton_resource *resource, baton_call_fn fn, void *arg,
                             struct baton_future **future)
{
	baton__checked_resource(resource, __func__);
	NEED_FUNCTION(fn);
	BATON__NEED(future, "there is no place for the future");
	return baton__plain_async(resource, fn, arg, future);
}

BATON_EXPORT int baton_async_with(struct baton_resource *resource,
                                  const struct baton_call_options *options,
                                  struct baton_future **future)
{
	baton__checked_resource(resource, __func__);
	BATON__NEED(options, "the options are NULL");
	NEED_FUNCTION(options->fn);
	BATON__NEED(future, "there is no place for the future");
	return baton__plain_async_with(resource, options, future);
}

/* ---- A resource's life ---- */

BATON_EXPORT void baton_resource_init(struct baton_resource *resource,
                                      const struct baton_resource_config *config)
{
	BATON__NEED(resource, "the resource is NULL: give the address of a resource");
	baton__plain_resource_init(resource, config);
	baton__checked_resource(resource, __func__);
}

BATON_EXPORT void baton_resource_deinit(struct baton_resource *resource)
{
	baton__checked_resource(resource, __func__);
	baton__plain_resource_deinit(resource);
	baton__checked_deinit(resource, __func__);
}

BATON_EXPORT void baton_resource_set_stats(struct baton_resource *resource,
                                           struct baton_resource_stats *stats)
{
	const unsigned char *bytes = (const unsigned char *)stats;

	baton__checked_resource(resource, __func__);
	BATON__NEED(stats, "the statistics are NULL");
	for (size_t i = 0; i < sizeof(*stats); i++)
		if (bytes[i])
			BATON_MISUSE_OF(__func__, baton__name(resource),
			                "was given statistics that are not zero: zero them, and "
			                "give each resource statistics of its own");
	baton__plain_resource_set_stats(resource, stats);
}

BATON_EXPORT int baton_resource_close(struct baton_resource *resource)
{
	baton__checked_resource(resource, __func__);
	return baton__plain_resource_close(resource);
}

BATON_EXPORT int baton_resource_close_then(struct baton_resource *resource,
                                           struct baton_task *finaliser)
{
	baton__checked_resource(resource, __func__);
	baton__checked_idle(resource, finaliser, __func__);
	return baton__plain_resource_close_then(resource, finaliser);
}

BATON_EXPORT int baton_resource_cancel_pending(struct baton_resource *resource)
{
	baton__checked_resource(resource, __func__);
	return baton__plain_resource_cancel_pending(resource);
}

BATON_EXPORT int baton_resource_await(struct baton_resource *resource,
                                      const struct timespec *deadline)
{
	baton__checked_resource(resource, __func__);
	return baton__plain_resource_await(resource, deadline);
}

/* ---- Futures ---- */

BATON_EXPORT void baton_future_init(struct baton_future *future)
{
	BATON__NEED(future, "the future is NULL");
	baton__plain_future_init(future);
}

BATON_EXPORT void baton_promise_init(struct baton_future *future)
{
	BATON__NEED(future, "the promise is NULL");
	baton__plain_promise_init(future);
}

BATON_EXPORT void baton_continuation_task(struct baton_continuation *continuation,
                                          struct baton_resource *resource, struct baton_task *task)
{
	BATON__NEED(continuation, "the continuation is NULL");
	baton__checked_resource(resource, __func__);
	/* The task may be initialised later, before the continuation fires. */
	BATON__NEED(task, "the task is NULL");
	baton__plain_continuation_task(continuation, resource, task);
}

BATON_EXPORT void baton_future_then(struct baton_future *future,
                                    struct baton_continuation *continuation)
{
	BATON__NEED(future, "the future is NULL");
	BATON__NEED(continuation && continuation->_fire,
	            "the continuation does nothing: initialise it by baton_continuation_task or "
	            "baton_continuation_job");
	baton__plain_future_then(future, continuation);
}

/* ---- Lanes, bounds, suspensions ---- */

BATON_EXPORT void baton_lanes_init(struct baton_lanes *lanes, struct baton_lane *array,
                                   uint32_t count, const struct baton_lanes_config *config)
{
	BATON__NEED(lanes, "the lanes are NULL");
	BATON__NEED(array, "there is no array of lanes: give one struct baton_lane for each lane");
	baton__plain_lanes_init(lanes, array, count, config);
}

BATON_EXPORT void baton_resource_set_lanes(struct baton_resource *resource,
                                           struct baton_lanes *lanes)
{
	baton__checked_resource(resource, __func__);
	BATON__NEED(lanes, "the lanes are NULL");
	if (!lanes->_lanes || !lanes->_count)
		BATON_MISUSE_OF(__func__, baton__name(resource),
		                "was given lanes without lanes: initialise them by "
		                "BATON_LANES_INIT or baton_lanes_init with an array of 1 to 32");
	if (lanes->_extension._lanes)
		BATON_MISUSE_OF(__func__, baton__name(resource),
		                "was given lanes that another resource has: each resource needs "
		                "lanes of its own");
	baton__plain_resource_set_lanes(resource, lanes);
}

BATON_EXPORT void baton_resource_set_bound(struct baton_resource *resource,
                                           struct baton_bound *bound)
{
	baton__checked_resource(resource, __func__);
	BATON__NEED(bound, "the bound is NULL");
	if (!bound->_config)
		BATON_MISUSE_OF(__func__, baton__name(resource),
		                "was given a bound without a config: initialise it by "
		                "BATON_BOUND_INIT or baton_bound_init");
	baton__plain_resource_set_bound(resource, bound);
}

/* Notes a suspension, for the report at the program's end. */
static int suspended(struct baton_resource *resource, int error)
{
	if (!error)
		baton__checked_suspended(resource, true);
	return error;
}

BATON_EXPORT int baton_resource_suspend(struct baton_resource *resource,
                                        struct baton_suspension *suspension)
{
	baton__checked_resource(resource, __func__);
	BATON__NEED(suspension, "the suspension is NULL");
	return suspended(resource, baton__plain_resource_suspend(resource, suspension));
}

BATON_EXPORT int baton_resource_suspend_lower(struct baton_resource *resource,
                                              struct baton_suspension *suspension)
{
	baton__checked_resource(resource, __func__);
	BATON__NEED(suspension, "the suspension is NULL");
	return suspended(resource, baton__plain_resource_suspend_lower(resource, suspension));
}

/* Called before the resume: after it the resource may be gone. */
static void resumes(struct baton_suspension *suspension)
{
	if (suspension->_resource)
		baton__checked_suspended(suspension->_resource, false);
}

BATON_EXPORT int baton_resource_resume(struct baton_suspension *suspension)
{
	BATON__NEED(suspension, "the suspension is NULL");
	resumes(suspension);
	return baton__plain_resource_resume(suspension);
}

BATON_EXPORT int baton_resource_resume_later(struct baton_suspension *suspension)
{
	BATON__NEED(suspension, "the suspension is NULL");
	resumes(suspension);
	return baton__plain_resource_resume_later(suspension);
}
