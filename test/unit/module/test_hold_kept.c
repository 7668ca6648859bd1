/* SPDX-License-Identifier: MIT */
/* A hold that outlives the function that has taken it. */
#include "misuse.h"

#include <baton/call.h>
#include <baton/hold.h>
#include <baton/thread.h>

static struct baton_resource other = BATON_RESOURCE_INIT(NULL);
static struct baton_hold hold = BATON_HOLD_INIT;

static void *hold_topic(void *arg)
{
	MUST(baton_hold(&topic, &hold) == 0);
	return arg;
}

static void keeps_a_hold(void)
{
	MUST(baton_thread_attach() == 0);
	BATON_IGNORE(baton_call(&other, hold_topic, NULL, NULL));
}

Test(hold_kept, is_named, .timeout = 10)
{
	static const struct mistake mistakes[] = {
		{keeps_a_hold, "baton_hold: \"topic/7\" is still held as the function returns"},
	};

	mistakes_are_said(mistakes, sizeof(mistakes) / sizeof(*mistakes));
}
