/* SPDX-License-Identifier: MIT */
/* Functions that return inside a hold that they have taken. */
#ifndef BATON_TEST_UNIT_HOLD_KEPT_H
#define BATON_TEST_UNIT_HOLD_KEPT_H

#include "misuse.h"

#include <baton/call.h>
#include <baton/hold.h>
#include <baton/thread.h>

#define KEPT "baton_hold: \"topic/7\" is still held as the function returns that has taken it"

#define ROW(fn)                                                                                    \
	{                                                                                          \
		fn, KEPT                                                                           \
	}

static struct baton_resource other; /* NORMAL */
static struct baton_hold hold = BATON_HOLD_INIT;

static inline void keep(void)
{
	MUST((baton_hold)(&topic, &hold) == 0);
}

static inline int keep_in_task(struct baton_task *task)
{
	keep();
	return 0;
}

static inline void *keep_in_call(void *arg)
{
	keep();
	return arg;
}

static struct baton_task task_keeps = BATON_TASK_INIT(keep_in_task, NULL);
static struct baton_task plain = BATON_TASK_INIT(idle_run, NULL);

static inline void *nothing(void *arg)
{
	return arg;
}

/* The thread has a record, and `other` is NORMAL. */
static inline void begin(const struct baton_resource_config *config)
{
	MUST(baton_thread_attach() == 0);
	baton_resource_init(&other, config);
}

static inline void submits(baton_task_fn fn, struct baton_future *future)
{
	struct baton_task task = BATON_TASK_INIT(fn, future);

	BATON_IGNORE((baton_submit)(&other, &task));
}

#endif
