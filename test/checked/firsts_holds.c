/* SPDX-License-Identifier: MIT */
/* First uses of resources: holds. */
#include "firsts.h"

#include <baton/hold.h>

FIRST(baton_hold)
{
	struct baton_hold hold = BATON_HOLD_INIT;

	if (refused(baton_hold(&r, &hold)))
		return;
	MUST(!baton_submit(&r, &t));
	MUST(!baton_release(&hold));
	ran();
}

FIRST(baton_hold_until)
{
	struct baton_hold hold = BATON_HOLD_INIT;

	if (!refused(baton_hold_until(&r, &hold, 0)))
		MUST(!baton_release(&hold));
}

static void hold_both(uint64_t deadline_ns)
{
	static struct baton_resource second = BATON_RESOURCE_INIT(NULL);
	struct baton_resource *const resources[] = {&r, &second};
	struct baton_hold holds[2] = {BATON_HOLD_INIT, BATON_HOLD_INIT};

	if (refused(deadline_ns == BATON_FOREVER
	                    ? baton_hold_many(resources, 2, holds)
	                    : baton_hold_many_until(resources, 2, holds, deadline_ns)))
		return;
	MUST(!baton_release(&holds[0]));
	MUST(!baton_release(&holds[1]));
}

FIRST(baton_hold_many)
{
	hold_both(BATON_FOREVER);
}

FIRST(baton_hold_many_until)
{
	hold_both(0);
}

FIRST(baton_release)
{
	struct baton_hold hold = BATON_HOLD_INIT;

	MUST(baton_release(&hold) == -EINVAL);
	if (!refused(baton_hold(&r, &hold)))
		MUST(!baton_release(&hold));
}
