/* SPDX-License-Identifier: MIT */
/* Holds: between hold and release the client has the shadow to itself, as a task has. */
#include "mod.h"

#include <baton/hold.h>

#include <errno.h>
#include <unistd.h>

#include "actor.h"
#include "deed.h"
#include "random.h"
#include "report.h"

#define MANY 4

/* What a hold may be told: what a call is told; the deadline; that only the executor's threads may
 * hold. */
static bool refused(struct ground *ground, int error, bool in_time)
{
	if (!error)
		return false;
	if (error == -EPERM && ground->config.capture_max == BATON_CAPTURE_NONE)
		return true;
	if (error != -ECANCELED && error != -EAGAIN && !(error == -ETIMEDOUT && in_time) &&
	    !(error > 0 && ground->hooks_fail))
		mod_expect(ground, error, "hold");
	return true;
}

static void give_back(struct ground *ground, struct baton_hold *hold)
{
	int error = baton_release(hold);

	if (error && !(error > 0 && ground->hooks_fail))
		report(NULL, NULL, "ground %u: release: %d", ground->number, error);
}

void hold_one(struct ground *ground)
{
	uint64_t *random = &actor_self()->random;
	struct baton_hold hold = BATON_HOLD_INIT;
	uint64_t deadline = deed_deadline();
	bool in_time = random_one_in(random, 2);
	int error;

	actor_busy("a hold", ground->number);
	error = in_time ? baton_hold_until(&ground->resource, &hold, deadline)
	                : baton_hold(&ground->resource, &hold);
	actor_idle();
	if (refused(ground, error, in_time))
		return;
	ground_enter(ground);
	if (random_one_in(random, 2))
		item_post(ground);
	if (random_one_in(random, 4))
		usleep(random_below(random, 100));
	ground_leave(ground);
	give_back(ground, &hold);
}

/* One may be closed, and one may be named twice. */
static bool excused(struct baton_resource **resources, size_t count, int error)
{
	for (size_t i = 0; i < count; i++) {
		struct ground *ground = ground_of(resources[i]);

		for (size_t j = 0; j < i; j++)
			if (resources[i] == resources[j] && error == -EINVAL)
				return true;
		if ((error == -EPIPE && atomic_load(&ground->closing)) ||
		    (error == -EPERM && ground->config.capture_max == BATON_CAPTURE_NONE) ||
		    (error > 0 && ground->hooks_fail))
			return true;
	}
	return error == -ECANCELED || error == -EAGAIN || error == -ETIMEDOUT;
}

void hold_many(uint64_t *random)
{
	struct baton_resource *resources[MANY];
	struct baton_hold holds[MANY] = {BATON_HOLD_INIT, BATON_HOLD_INIT, BATON_HOLD_INIT,
	                                 BATON_HOLD_INIT};
	uint64_t deadline = deed_deadline();
	size_t count = 1 + random_below(random, MANY);
	int error;

	for (size_t i = 0; i < count; i++)
		resources[i] = &ground_pick(random)->resource;
	actor_busy("holds", 0);
	error = baton_hold_many_until(resources, count, holds,
	                              random_one_in(random, 2) ? deadline : BATON_FOREVER);
	actor_idle();
	if (error) {
		if (!excused(resources, count, error))
			report(NULL, NULL, "holds: %d", error);
		return;
	}
	for (size_t i = 0; i < count; i++) {
		struct ground *ground = ground_of(resources[i]);

		if (ground->owner || ground->held || ground->suspended ||
		    atomic_load_explicit(&ground->reading, memory_order_relaxed) ||
		    ground->version != ground->version_again || !baton_held(resources[i]))
			report(NULL, NULL, "ground %u: held beside a task", ground->number);
		ground->owner = actor_self()->number + 1U;
		ground->version++;
	}
	usleep(random_below(random, 50));
	for (size_t i = 0; i < count; i++) {
		struct ground *ground = ground_of(resources[(i + 1) % count]);

		ground->version_again++;
		ground->owner = 0;
		/* In another order than the addresses'. */
		give_back(ground, &holds[(i + 1) % count]);
	}
}
