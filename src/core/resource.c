/* SPDX-License-Identifier: MIT */
/* Initialises and deinitialises a resource, and reads its name and state. */
#include "core/resource.h"

#include "base/checked.h"
#include "base/refused.h"
#include "core/guard.h"
#include "core/stats.h"

BATON_EXPORT void baton_resource_init(struct baton_resource *resource,
                                      const struct baton_resource_config *config)
{
	BATON__CHECKED(init(resource, __func__));
	*resource = (struct baton_resource)BATON_RESOURCE_INIT(config);
	baton__word_init(resource);
	BATON__CHECKED(resource(resource, __func__));
	BATON_REQUIRE(!config || !BATON__UNKNOWN(config), "a word of _reserved is not zero");
}

BATON_EXPORT void baton_resource_set_stats(struct baton_resource *resource,
                                           struct baton_resource_stats *stats)
{
	BATON__CHECKED(set_stats(resource, stats, __func__));
	BATON_REQUIRE_OF(baton__word_is_fresh(baton__word(resource)), baton__name(resource),
	                 "is in use: give it statistics before the first submit");
	BATON_REQUIRE_OF(!baton__stats(resource), baton__name(resource), "has statistics already");
	baton__set_stats(resource, stats);
	baton__word_extend(resource);
}

BATON_EXPORT void baton_resource_deinit(struct baton_resource *resource)
{
	BATON__CHECKED(resource(resource, __func__));

	uintptr_t word = baton__word_settled(resource);

	BATON_REQUIRE_OF(baton__word_is_closed(word), baton__name(resource),
	                 "is not closed: close and await it first");
	BATON_REQUIRE_OF(!baton__word_is_busy(word), baton__name(resource),
	                 "is closed, but not idle yet: await it first");
	BATON_REQUIRE_OF(!baton__turn_is_visited(resource), baton__name(resource),
	                 "is still touched by a thread that helps or cancels: await it first");
	BATON__CHECKED(deinit(resource, __func__));
}

const char *baton__name(const struct baton_resource *resource)
{
	const struct baton_resource_config *config = baton__config(resource);
	const char *name = config && config->name_of ? config->name_of(resource) : NULL;

	return !name && config ? config->name : name;
}

BATON_EXPORT const char *baton_resource_name(const struct baton_resource *resource)
{
	return baton__name(resource);
}

BATON_EXPORT bool baton_resource_is_closed(const struct baton_resource *resource)
{
	return baton__word_is_closed(baton__word_settled(resource));
}

BATON_EXPORT bool baton_resource_is_idle(const struct baton_resource *resource)
{
	return !baton__word_is_busy(baton__word_settled(resource));
}

void baton__task_was_left(const struct baton_resource *resource)
{
	BATON_MISUSE_OF("a task", baton__name(resource),
	                "was left by an exception, pthread_exit or a cancellation: a task's "
	                "function returns");
}

BATON_NOINLINE void baton__guard_left(void)
{
	const struct baton__frame *frame = baton__frames(baton__self);

	/* Ends at the frame of the bracket. The frames above that frame are of callbacks. */
	while (frame && !frame->resource)
		frame = baton__frame_of(frame->below);
	if (frame)
		baton__task_was_left(frame->resource);
}

/* Is it the same that the thread holds? Its baton without a frame may have got one, or the thread a
 * record. */
static bool is_same_top(const struct baton__thread *self, uintptr_t before)
{
	if (before & ~(BATON_INLINE_BARE | BATON_INLINE_HOLD))
		return before & BATON_INLINE_BARE && self->top == (uintptr_t)&self->outer;
	return !(self->top & ~BATON_INLINE_BARE);
}

BATON_NOINLINE void baton__guard_moved(uintptr_t before)
{
	if (!is_same_top(baton__self, before))
		baton__guard_kept();
}

void baton__guard_kept(void)
{
	const struct baton__frame *frame = baton__top(baton__self);

	/* The frame may lie on a stack that is gone. */
	if (frame->future != BATON__HOLDING)
		BATON_MISUSE("baton_hold",
		             "a resource is still held as the function returns that has taken it, "
		             "and the hold's memory is used anew: call baton_release, or "
		             "baton_release_shared, before");
	if (frame->value)
		BATON_MISUSE_OF("baton_hold_shared", baton__name(frame->resource),
		                "is still held as the function returns that has taken it: call "
		                "baton_release_shared before");
	BATON_MISUSE_OF("baton_hold", baton__name(frame->resource),
	                "is still held as the function returns that has taken it: call "
	                "baton_release before");
}
