/* SPDX-License-Identifier: MIT */
/*
 * A main loop's beginning and end, and what the host asks it.
 */
#include "companion/mainloop/mainloop.h"

#include "base/refused.h"
#include "companion/mainloop/depend.h"
#include "companion/mainloop/descriptor.h"
#include "companion/mainloop/places.h"

#include <errno.h>
#include <stdlib.h>

/* So many tasks of the loop's resource, sources included, run before the executor's next job. */
#define QUANTUM 1024

uint64_t baton__mainloop_clock(const struct baton__mainloop *loop)
{
	/* Relaxed: a time. */
	return loop->options.deterministic ? load_relaxed(&loop->virtual_now) : baton_now();
}

static int init_loop(struct baton__mainloop *loop, const struct baton_mainloop_options *options)
{
	int error = baton_loop_create(&loop->executor);

	if (error)
		return error;
	error = baton_loop_adopt(loop->executor);
	if (!error)
		error = baton__descriptors_init(loop);
	if (error) {
		baton_loop_destroy(loop->executor);
		return error;
	}
	baton_loop_set_should_yield(loop->executor, baton__mainloop_yields, loop);
	if (options)
		loop->options = *options;
	loop->config.executor = baton_loop_executor(loop->executor);
	loop->config.capture_max = BATON_CAPTURE_NONE;
	loop->config.quantum = QUANTUM;
	loop->config.name = loop->options.name;
	baton_resource_init(&loop->resource, &loop->config);
	baton_task_init_of(&loop->pick, &baton__mainloop_pick);
	baton__places_init(loop);
	loop->alarm = BATON_NEVER;
	loop->now = baton__mainloop_clock(loop);
	return 0;
}

BATON_EXPORT int baton_mainloop_init(struct baton_mainloop *handle,
                                     const struct baton_mainloop_options *options)
{
	struct baton__mainloop *loop;
	int error;

	if (options && (options->slice_ns > BATON_MAINLOOP_TIME_MAX || BATON__UNKNOWN(options)))
		return -EINVAL;
	loop = calloc(1, sizeof(*loop));
	if (!loop)
		return -ENOMEM;
	error = init_loop(loop, options);
	if (error) {
		free(loop);
		return error;
	}
	/* [mainloop.made] release: the loop; pairs with [mainloop.made] in baton__mainloop_of */
	store_release(&handle->_loop, loop);
	return 0;
}

BATON_EXPORT int baton_mainloop_adopt(struct baton_mainloop *handle)
{
	struct baton__mainloop *loop = baton__mainloop_of(handle);

	return loop ? baton_loop_adopt(loop->executor) : -ESHUTDOWN;
}

/* Makes each active source inactive, and calls `still_active`. Returns how many there were. */
static int64_t end_sources(struct baton__mainloop *loop)
{
	struct baton_source *source;
	int64_t count = 0;

	(void)baton__mainloop_absorb(loop, BATON__ABSORB_ALL);
	while ((source = baton__places_any(loop))) {
		baton__source_unlink(loop, source);
		/* Relaxed: no other thread uses the source. */
		store_relaxed(&source->_state, 0);
		count++;
		if (loop->options.still_active)
			loop->options.still_active(loop->options.arg, source); /* last touch */
	}
	return count;
}

BATON_EXPORT int64_t baton_mainloop_deinit(struct baton_mainloop *handle)
{
	struct baton__mainloop *loop = baton__mainloop_of(handle);
	int64_t count;
	int error;

	if (!loop)
		return -ESHUTDOWN;
	if (!baton_loop_is_owner(loop->executor))
		return -EPERM;
	if (loop->round || loop->running || baton_held(&loop->resource))
		return -EDEADLK;
	/* -EALREADY: the user has closed the resource, or an earlier destroy has. */
	(void)baton_resource_close(&loop->resource);
	error = baton_resource_await(&loop->resource);
	if (error)
		return error;
	/* [mainloop.made] release: nothing is published; pairs with [mainloop.made] in
	 * baton__mainloop_of. Relaxed is enough: a thread that loads NULL touches no loop. */
	store_release(&handle->_loop, NULL);
	baton__dependents_end(loop);
	count = end_sources(loop);
	baton__descriptors_deinit(loop);
	baton_loop_destroy(loop->executor);
	free(loop);
	return count;
}

BATON_EXPORT struct baton_resource *baton_mainloop_resource(const struct baton_mainloop *handle)
{
	struct baton__mainloop *loop = baton__mainloop_of(handle);

	return loop ? &loop->resource : NULL;
}

BATON_EXPORT struct baton_executor *baton_mainloop_executor(const struct baton_mainloop *handle)
{
	struct baton__mainloop *loop = baton__mainloop_of(handle);

	return loop ? baton_loop_executor(loop->executor) : NULL;
}

BATON_EXPORT int baton_mainloop_fd(const struct baton_mainloop *handle)
{
	struct baton__mainloop *loop = baton__mainloop_of(handle);

	return loop ? loop->epoll : -ESHUTDOWN;
}

BATON_EXPORT uint64_t baton_mainloop_next(const struct baton_mainloop *handle)
{
	struct baton__mainloop *loop = baton__mainloop_of(handle);

	/* Relaxed: a start that changes the alarm makes the descriptor readable. */
	return loop ? load_relaxed(&loop->alarm) : BATON_NEVER;
}

BATON_EXPORT uint64_t baton_mainloop_now(const struct baton_mainloop *handle)
{
	struct baton__mainloop *loop = baton__mainloop_of(handle);

	return loop ? baton__mainloop_clock(loop) : 0;
}

BATON_EXPORT void baton_mainloop_stats_read(const struct baton_mainloop *handle,
                                            struct baton_mainloop_stats *copy)
{
	struct baton__mainloop *loop = baton__mainloop_of(handle);
	const struct baton_mainloop_stats *stats;

	*copy = (struct baton_mainloop_stats){0};
	if (!loop)
		return;
	stats = &loop->stats;
	/* Relaxed: counters. */
	copy->runs = load_relaxed(&stats->runs);
	copy->failed = load_relaxed(&stats->failed);
	copy->rounds = load_relaxed(&stats->rounds);
	copy->wakes = load_relaxed(&stats->wakes);
	copy->gave_way = load_relaxed(&stats->gave_way);
	copy->out_of_order = load_relaxed(&stats->out_of_order);
}
