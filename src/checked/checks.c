/* SPDX-License-Identifier: MIT */
/* The table of the checks, and the checks that need no record of their own. */
#include "checked/objects.h"
#include "checked/owned.h"
#include "checked/refusals.h"

#include "core/callback.h"
#include "core/config.h"

#include <baton/bound.h>
#include <baton/epoch.h>
#include <baton/hold.h>
#include <baton/reader.h>
#include <baton/label.h>
#include <baton/lane.h>
#include <baton/trigger.h>

#define GAUGE (offsetof(struct baton_resource_stats, _gauge) / sizeof(struct baton__gauge *))

static void resources(struct baton_resource *const *resources, size_t count, const char *function)
{
	/* baton_fan_out_submit refuses a greater count itself. */
	if (count > UINT32_MAX / 2)
		return;
	if (!resources && count)
		BATON_MISUSE(function, "the array of resources is NULL");
	for (size_t i = 0; i < count; i++)
		baton__check_resource(resources[i], function);
}

static void call_given(struct baton_resource *resource, bool given, const char *function)
{
	baton__check_resource(resource, function);
	if (!given)
		BATON_MISUSE(function, "the function is NULL: give a function to call");
}

static void call_with(struct baton_resource *resource, bool given, const char *function)
{
	baton__check_resource(resource, function);
	if (!given)
		BATON_MISUSE(function, "the options are NULL");
}

static void set_stats(struct baton_resource *resource, const struct baton_resource_stats *stats,
                      const char *function)
{
	const unsigned char *bytes = (const unsigned char *)stats;

	baton__check_resource(resource, function);
	if (!stats)
		BATON_MISUSE(function, "the statistics are NULL");
	/* A board sets _gauge: it need not be zero. */
	for (size_t i = 0; i < sizeof(*stats); i++)
		if (bytes[i] && i / sizeof(stats->_gauge) != GAUGE)
			BATON_MISUSE_OF(function, baton__name(resource),
			                "was given statistics that are not zero: zero them, and "
			                "give each resource statistics of its own");
}

static void set_lanes(struct baton_resource *resource, const struct baton_lanes *lanes,
                      const char *function)
{
	baton__check_resource(resource, function);
	if (!lanes)
		BATON_MISUSE(function, "the lanes are NULL");
	if (!lanes->_lanes || !lanes->_count)
		BATON_MISUSE_OF(function, baton__name(resource),
		                "was given lanes without lanes: initialise them by "
		                "BATON_LANES_INIT or baton_lanes_init with an array of 1 to 32");
	if (lanes->_extension._lanes)
		BATON_MISUSE_OF(function, baton__name(resource),
		                "was given lanes that another resource has: each resource needs "
		                "lanes of its own");
}

static void set_bound(struct baton_resource *resource, const struct baton_bound *bound,
                      const char *function)
{
	baton__check_resource(resource, function);
	if (!bound)
		BATON_MISUSE(function, "the bound is NULL");
	if (!bound->_config)
		BATON_MISUSE_OF(function, baton__name(resource),
		                "was given a bound without a config: initialise it by "
		                "BATON_BOUND_INIT or baton_bound_init");
}

static void trigger_init(const struct baton_trigger *trigger, const struct baton_resource *resource,
                         bool given, const char *function)
{
	if (!trigger)
		BATON_MISUSE(function, "the trigger is NULL");
	if (!resource)
		BATON_MISUSE(function,
		             "the resource is NULL: a trigger runs as a task of a resource");
	if (!given)
		BATON_MISUSE_OF(function, baton__name(resource),
		                "was given a trigger without a function");
}

static void trigger_fire(const struct baton_trigger *trigger, const char *function)
{
	if (!trigger)
		BATON_MISUSE(function, "the trigger is NULL");
	if (trigger->_resource && trigger->_fn)
		baton__check_resource(trigger->_resource, function);
}

static void then(const struct baton_future *future, const struct baton_continuation *continuation,
                 const char *function)
{
	if (!future)
		BATON_MISUSE(function, "the future is NULL");
	if (!continuation || !continuation->_fire)
		BATON_MISUSE(function, "the continuation does nothing: initialise it by "
		                       "baton_continuation_task, _job or _function");
}

static int answer(const struct baton_resource *resource, int error, const char *function,
                  const void *caller)
{
	if (error)
		baton__check_refused(resource, error, function, caller);
	return error;
}

static void deadlock(void)
{
	if (baton__is_told(baton__self))
		BATON_MISUSE("a call or a wait",
		             "was made in a function of baton_continuation_function: such a "
		             "function must not wait; submit a task instead");
}

static void may_wait(const char *function)
{
	if (baton_epoch_inside())
		BATON_MISUSE(function ? function : "a wait",
		             "was called in a section of this thread (baton_epoch_enter), and may "
		             "wait: no retired memory is freed meanwhile; leave the section first");
}

static void hold_given(struct baton_resource *resource, const struct baton_hold *hold,
                       const char *function)
{
	baton__check_resource(resource, function);
	if (!hold)
		BATON_MISUSE_OF(function, baton__name(resource), "was given no hold");
	for (size_t i = 0; i < sizeof(hold->_reserved) / sizeof(hold->_reserved[0]); i++)
		if (hold->_reserved[i] || (!hold->_resource && hold->_how))
			BATON_MISUSE_OF(function, baton__name(resource),
			                "was given a hold that is not initialised: use "
			                "BATON_HOLD_INIT, or zero it");
}

static void holds_given(struct baton_resource *const *resources, size_t count,
                        const struct baton_hold *holds, const char *function)
{
	/* baton_hold_many refuses other counts itself. */
	if (count == 0 || count > BATON_HOLD_MANY_MAX)
		return;
	if (!resources || !holds)
		BATON_MISUSE(function, "the array of resources, or that of holds, is NULL");
	for (size_t i = 0; i < count; i++)
		hold_given(resources[i], &holds[i], function);
}

static void release_given(const struct baton_hold *hold, const char *function)
{
	if (!hold)
		BATON_MISUSE(function, "the hold is NULL");
	if (hold->_resource)
		hold_given(hold->_resource, hold, function);
}

static void shared_given(const struct baton_readers *readers, const struct baton_shared_hold *hold,
                         const char *function)
{
	if (!readers)
		BATON_MISUSE(function, "the readers are NULL");
	if (!hold)
		BATON_MISUSE_OF(function, baton__name(readers->_resource), "was given no hold");
	for (size_t i = 0; i < sizeof(hold->_reserved) / sizeof(hold->_reserved[0]); i++)
		if (hold->_reserved[i])
			BATON_MISUSE_OF(function, baton__name(readers->_resource),
			                "was given a hold that is not initialised: use "
			                "BATON_SHARED_HOLD_INIT, or zero it");
	hold_given(readers->_resource, &hold->_hold, function);
}

static void release_shared_given(const struct baton_shared_hold *hold, const char *function)
{
	if (!hold)
		BATON_MISUSE(function, "the hold is NULL");
	if (hold->_hold._resource)
		shared_given(hold->_readers, hold, function);
}

const struct baton__checks baton__checks = {
	.init = baton__check_init,
	.resource = baton__check_resource,
	.resources = resources,
	.call = call_given,
	.call_with = call_with,
	.set_stats = set_stats,
	.set_lanes = set_lanes,
	.set_bound = set_bound,
	.left = baton__check_left,
	.deinit = baton__check_deinit,
	.suspended = baton__check_suspended,
	.use = baton__check_use,
	.take = baton__check_take,
	.hand_off = baton__check_hand_off,
	.submit = baton__check_submit,
	.submitted = baton__check_submitted,
	.submits_own = baton__check_submits_own,
	.finaliser = baton__check_finaliser,
	.enter = baton__check_enter,
	.hold = hold_given,
	.hold_many = holds_given,
	.release = release_given,
	.hold_shared = shared_given,
	.release_shared = release_shared_given,
	.drop = baton__check_drop,
	.trigger_init = trigger_init,
	.trigger_fire = trigger_fire,
	.timer_init = baton__check_timer_init,
	.timer_arm = baton__check_timer_arm,
	.timer_stop = baton__check_timer_stop,
	.made = baton__check_made,
	.owned = baton__check_owned,
	.ended = baton__check_ended,
	.then = then,
	.answer = answer,
	.deadlock = deadlock,
	.may_wait = may_wait,
	.wait = baton__check_wait,
};
