/* SPDX-License-Identifier: MIT */
/*
 * Stopping a source, and giving its memory back. Only the owner knows that the loop does not touch
 * a source any more: the owner gives it back at once, unless the source runs; for another thread
 * the owner does so in a task of the loop's resource, which runs between two sources.
 */
#include "companion/mainloop/depend.h"

#include <baton/bound.h>
#include <baton/call.h>
#include <baton/time.h>

static enum baton_stop stop_source(struct baton__mainloop *loop, struct baton_source *source)
{
	const bool own = baton_loop_is_owner(loop->executor);
	const uint64_t word = baton__source_stop(loop, source);

	if (word & BATON__SOURCE_RUNNING)
		return BATON_STOP_RUNNING;
	if (!own)
		return BATON_STOP_QUEUED;
	return word & BATON__SOURCE_ACTIVE ? BATON_STOP_PREVENTED : BATON_STOP_NOTHING;
}

/* The owner stops the source, which does not run, and ends its dependencies. */
static void end_source(struct baton__mainloop *loop, struct baton_source *source)
{
	(void)baton__source_stop(loop, source);
	baton__source_undepend(loop, source);
}

BATON_EXPORT struct baton_stopped baton_source_stop(struct baton_source *source)
{
	struct baton__mainloop *loop = baton__mainloop_of(source->_loop);

	if (baton__mainloop_forked())
		return (struct baton_stopped){BATON_STOP_CHILD};
	return (struct baton_stopped){loop ? stop_source(loop, source) : BATON_STOP_NOTHING};
}

/* The source may have been started since. */
static int tell_of_source(struct baton_task *task)
{
	struct baton_source *source = baton_container_of(task, struct baton_source, _last);
	const struct baton_stopping stopping = source->_stopping;

	end_source(baton__mainloop_of(source->_loop), source);
	source->_stopping._fn = NULL; /* last touch */
	stopping._fn(stopping._arg);
	return 0;
}

/* The owner cancels what is queued on the loop's resource: the owner alone may end the source, and
 * not while the source runs. */
static void tell_all_the_same(struct baton_task *task)
{
	const struct baton_source *source = baton_container_of(task, struct baton_source, _last);

	/* Relaxed: the owner alone changes RUNNING. */
	if (BATON_UNLIKELY(!baton_loop_is_owner(baton__mainloop_of(source->_loop)->executor) ||
	                   load_relaxed(&source->_state) & BATON__SOURCE_RUNNING))
		BATON_MISUSE("baton_source_stop_then",
		             "a bound of the loop's resource has dropped the task that tells");
	(void)tell_of_source(task);
}

static const struct baton_task_type last_type = {
	.run = tell_of_source,
	.cancelled = tell_all_the_same,
};

BATON_EXPORT struct baton_stopped baton_source_stop_then(struct baton_source *source,
                                                         baton_stopped_fn stopped, void *arg)
{
	struct baton__mainloop *loop = baton__mainloop_of(source->_loop);
	enum baton_stop met = BATON_STOP_NOTHING;
	int error = 0;

	if (baton__mainloop_forked())
		return (struct baton_stopped){BATON_STOP_CHILD};
	BATON_REQUIRE(!source->_stopping._fn,
	              "stop_then was called for this source already: one at a time");
	if (loop)
		met = stop_source(loop, source);
	if (met < BATON_STOP_QUEUED) {
		if (loop)
			baton__source_undepend(loop, source);
		stopped(arg);
		return (struct baton_stopped){met};
	}
	source->_stopping = (struct baton_stopping){stopped, arg};
	baton_task_init_of(&source->_last, &last_type);
	/* The last touch, if it is accepted. */
	error = baton_try_submit_later(&loop->resource, &source->_last);
	if (!error)
		return (struct baton_stopped){met};
	source->_stopping._fn = NULL;
	return (struct baton_stopped){(enum baton_stop)error};
}

static void *end_source_here(void *arg)
{
	struct baton_source *source = arg;

	end_source(baton__mainloop_of(source->_loop), source);
	return NULL;
}

static int stop_and_wait(struct baton_source *source, uint64_t deadline_ns)
{
	struct baton__mainloop *loop = baton__mainloop_of(source->_loop);
	struct baton_call_options options = {.fn = end_source_here, .arg = source};
	const uint64_t now = baton_now();

	if (baton__mainloop_forked())
		return -ECHILD;
	if (!loop)
		return 0;
	if (baton_loop_is_owner(loop->executor)) {
		if (stop_source(loop, source) >= BATON_STOP_QUEUED)
			return -EDEADLK;
		baton__source_undepend(loop, source);
		return 0;
	}
	(void)stop_source(loop, source);
	if (deadline_ns != BATON_FOREVER)
		options.timeout_ns = deadline_ns > now ? deadline_ns - now : 1;
	/* A call whose deadline passes is withdrawn, also while it waits for room. */
	return baton_call_with(&loop->resource, &options, NULL);
}

BATON_EXPORT int baton_source_stop_wait(struct baton_source *source)
{
	return stop_and_wait(source, BATON_FOREVER);
}

BATON_EXPORT int baton_source_stop_wait_until(struct baton_source *source, uint64_t deadline_ns)
{
	return stop_and_wait(source, deadline_ns);
}
