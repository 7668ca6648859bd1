/* SPDX-License-Identifier: MIT */
/* Calls whose functions run on another thread, while the caller sleeps. */
#ifndef BATON_TEST_UNIT_ELSEWHERE_H
#define BATON_TEST_UNIT_ELSEWHERE_H

#include "support.h"

#include <baton/call.h>

/* A call that another thread answers: the resource's occupant leaves when the caller sleeps. */
struct elsewhere {
	struct occupant occupant;
	int caller;
};

static inline void *let_go_main(void *arg)
{
	struct elsewhere *elsewhere = arg;

	until_asleep(elsewhere->caller);
	gate_open(&elsewhere->occupant.leave);
	return NULL;
}

static inline int call_elsewhere(struct baton_resource *resource,
                                 const struct baton_call_options *options)
{
	struct elsewhere elsewhere = {.caller = thread_id()};
	pthread_t thread;
	int status;

	occupy(&elsewhere.occupant, resource);
	thread = thread_start(let_go_main, &elsewhere);
	status = options->label || options->timeout_ns
	                 ? baton_call_with(resource, options, NULL)
	                 : baton_call(resource, options->fn, options->arg, NULL);
	thread_join(thread);
	thread_join(elsewhere.occupant.thread);
	return status;
}

#endif
