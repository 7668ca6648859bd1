/* SPDX-License-Identifier: MIT */
/*
 * A hop: the next step of something that is on its way through the broker, as a task of the
 * resource that has to take the step. Messages, packets, joins, requests and log-ins embed one task
 * each and use it for all their hops, one after the other.
 */
#ifndef BROKER_HOP_H
#define BROKER_HOP_H

#include <baton/resource.h>
#include <baton/task.h>

#include "common/must.h"

/*
 * Submits `task` to `resource`, which runs `run`. The caller holds a reference that keeps the
 * resource open, so a refusal is an error of this program: `what` then names the hop.
 */
static inline void hop(struct baton_resource *resource, struct baton_task *task, baton_task_fn run,
                       const char *what)
{
	baton_task_init(task, run, NULL);
	must(baton_submit(resource, task), what);
}

#endif
