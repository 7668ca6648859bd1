/* SPDX-License-Identifier: MIT */
/* First uses of triggers. See firsts.h. */
#include "firsts.h"

static int run_trigger(struct baton_trigger *trigger, uint64_t fires)
{
	(void)trigger;
	(void)fires;
	used();
	return 0;
}

static struct baton_trigger trigger = BATON_TRIGGER_INIT(&r, run_trigger);

/* The resource is initialised last. */
FIRST(baton_trigger_init)
{
	static struct baton_resource late;

	memset(&late, 0xA5, sizeof(late));
	baton_trigger_init(&trigger, &late, run_trigger);
	baton_resource_init(&late, NULL);
	MUST(!baton_trigger_fire(&trigger));
	ran();
}

FIRST(baton_trigger_fire)
{
	MUST(!baton_trigger_fire(&trigger));
	ran();
}

FIRST(baton_trigger_stop)
{
	MUST(baton_trigger_stop(&trigger).met == BATON_STOP_NOTHING);
}

FIRST(baton_trigger_set_dropped)
{
	baton_trigger_set_dropped(&trigger, NULL);
	MUST(!baton_trigger_fire(&trigger));
	ran();
}

static void stopped(void *arg)
{
	*(bool *)arg = true;
}

FIRST(baton_trigger_stop_then)
{
	bool told = false;

	MUST(baton_trigger_stop_then(&trigger, stopped, &told).met == BATON_STOP_NOTHING && told);
}

FIRST(baton_trigger_stop_wait)
{
	MUST(!baton_trigger_stop_wait(&trigger));
}

FIRST(baton_trigger_stop_wait_until)
{
	MUST(!baton_trigger_stop_wait_until(&trigger, 1));
}

FIRST(baton_stopped_complete)
{
	baton_stopped_complete(&promise);
	MUST(baton_future_state(&promise) == BATON_DONE);
}

FIRST(baton_trigger_is_pending)
{
	MUST(!baton_trigger_is_pending(&trigger));
}

FIRST(baton_continuation_trigger)
{
	baton_continuation_trigger(&c, &trigger);
	baton_future_then(&promise, &c);
	MUST(!baton_future_complete(&promise, 0, NULL));
	ran();
}
