/* SPDX-License-Identifier: MIT */
/*
 * What the core needs of executors: the kinds of jobs, and the default executor.
 */
#ifndef BATON_SRC_EXECUTOR_H
#define BATON_SRC_EXECUTOR_H

#include <stdbool.h>

#include <baton/executor.h>

#include "base/atomic.h"
#include "base/checked.h"

/* The kind of a resource's job is 0, so that all-zero memory is an idle resource. */
#define BATON__JOB_RESOURCE 0U
#define BATON__JOB_PLAIN 1U
/* A bit: the job is in a thread's deferred list, to be cancelled instead of run. */
#define BATON__JOB_TO_CANCEL 2U
/* A bit of a resource's job: see list.h. */
#define BATON__JOB_INDEXED 4U
/*
 * A bit of a resource's job: the job is in a thread's deferred list, and no executor has it. Set by
 * the holder that puts the job into its list, before the resource is QUEUED. Cleared by the same
 * thread, before it takes the baton back.
 */
#define BATON__JOB_DEFERRED 8U

/* How often the job has come back to its pool in a row (pool/order.h), in the bits above. */
#define BATON__JOB_RETURNS 0x10000U
#define BATON__RETURNS_MAX 0x7FFFU

/* The bits may change during the call: a helper may hold the resource of the job. */
static inline bool baton__job_is_resource(const struct baton_job *job)
{
	return (load_relaxed(&job->_kind) & BATON__JOB_PLAIN) == 0;
}

/* Exact if the caller has borrowed the baton; a hint for a visitor. */
static inline bool baton__job_is_deferred(const struct baton_job *job)
{
	BATON__CHECK(baton__job_is_resource(job));
	/* Relaxed: the turn has published the bit (turn.baton). */
	return load_relaxed(&job->_kind) & BATON__JOB_DEFERRED;
}

/* Where the executor of resources that name none comes from. */
struct baton__default_executor {
	/* The executor, which the first call creates. NULL: it could not be created. */
	struct baton_executor *(*get)(void);
	/* The executor, if it exists. Creates nothing. */
	struct baton_executor *(*peek)(void);
};

/* The table of the default pool. The core refers to this table: so a program that links the archive
 * has the default pool, as it has the hooks (batching.h). */
extern const struct baton__default_executor baton__default_executor;

#endif
