/* SPDX-License-Identifier: MIT */
/* An executor that takes jobs and runs none. If `answer` is an error, it refuses jobs. */
#ifndef BATON_TEST_UNIT_STASH_H
#define BATON_TEST_UNIT_STASH_H

#include "support.h"

#define STASH_MAX 1024

struct stash {
	struct baton_executor executor;
	atomic_int answer;
	atomic_int refused;
	atomic_int returned;
	atomic_int busy; /* what `returned` answers: 1: no thread is free for the job */
	atomic_size_t count;
	size_t next;
	_Atomic(struct baton_job *) jobs[STASH_MAX];
};

static inline int stash_schedule(struct baton_executor *executor, struct baton_job *job)
{
	struct stash *stash = baton_container_of(executor, struct stash, executor);
	int answer = atomic_load(&stash->answer);
	size_t index;

	if (answer < 0) {
		atomic_fetch_add(&stash->refused, 1);
		return answer;
	}
	index = atomic_fetch_add(&stash->count, 1);
	MUST(index < STASH_MAX);
	atomic_store(&stash->jobs[index], job);
	return answer;
}

static inline int stash_returned(struct baton_executor *executor)
{
	struct stash *stash = baton_container_of(executor, struct stash, executor);

	atomic_fetch_add(&stash->returned, 1);
	return atomic_load(&stash->busy);
}

static const struct baton_executor_ops stash_ops = {
	.schedule = stash_schedule,
	.returned = stash_returned,
};

static inline void stash_init(struct stash *stash)
{
	const struct baton_executor executor = BATON_EXECUTOR_INIT(&stash_ops);

	memset(stash, 0, sizeof(*stash));
	stash->executor = executor;
}

/* Runs the oldest job that has not run yet. */
static inline bool stash_run_one(struct stash *stash)
{
	if (stash->next == atomic_load(&stash->count))
		return false;
	baton_job_run(atomic_load(&stash->jobs[stash->next++]));
	return true;
}

static inline void stash_run(struct stash *stash)
{
	while (stash_run_one(stash))
		continue;
}

#endif
