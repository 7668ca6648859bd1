/* SPDX-License-Identifier: MIT */
/* The executor of a loop thread; see executor.h. */
#include "executor.h"

#include <baton/task.h>

static _Thread_local struct executor *executor_mine;

static int executor_schedule(struct baton_executor *base, struct baton_job *job)
{
	struct executor *executor = baton_container_of(base, struct executor, base);

	if (executor != executor_mine || !executor->gathering ||
	    executor->count == EXECUTOR_JOBS_MAX)
		return baton_executor_schedule(baton_loop_executor(executor->remote), job);
	executor->jobs[executor->count++] = job;
	return 0;
}

int executor_init(struct executor *executor)
{
	/*
	 * What else there may be is for threads that wait for a task of these resources: there are
	 * none.
	 */
	static const struct baton_executor_ops ops = {.schedule = executor_schedule};

	executor->base = (struct baton_executor){&ops};
	executor->gathering = false;
	executor->count = 0;
	return baton_loop_create(&executor->remote);
}

void executor_destroy(struct executor *executor)
{
	baton_loop_destroy(executor->remote);
}

int executor_adopt(struct executor *executor)
{
	executor_mine = executor;
	return baton_loop_adopt(executor->remote);
}

void executor_gather(struct executor *executor)
{
	executor->gathering = true;
}

void executor_run(struct executor *executor, bool signalled)
{
	executor->gathering = false; /* what these jobs schedule is for the next turn */
	for (size_t i = 0; i < executor->count; i++)
		baton_job_run(executor->jobs[i]);
	executor->count = 0;
	if (signalled)
		baton_loop_run(executor->remote, 0);
}
