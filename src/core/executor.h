/* SPDX-License-Identifier: MIT */
/*
 * What the resource needs of executors, and what defines a job's kind.
 */
#ifndef BATON_SRC_EXECUTOR_H
#define BATON_SRC_EXECUTOR_H

#include <stdbool.h>

#include <baton/executor.h>

#include "base/atomic.h"

/* A resource's is 0, so that all-zero memory is an idle resource. */
#define BATON__JOB_RESOURCE 0U
#define BATON__JOB_PLAIN 1U
/* A bit: the job is in a thread's deferred list, not to be run, but to be cancelled. */
#define BATON__JOB_TO_CANCEL 2U
/* A bit: see backlog.h. */
#define BATON__JOB_INDEXED 4U

/* The bits may change meanwhile: a helper may have the resource whose job it is. */
static inline bool baton__job_is_resource(const struct baton_job *job)
{
	return (load_relaxed(&job->_kind) & BATON__JOB_PLAIN) == 0;
}

/*
 * The executor of resources that name none: the default pool's, created on first need. NULL: it
 * cannot be had. Defined in pool/default_pool.c.
 */
struct baton_executor *baton__executor_default(void);

/* The same, but NULL while there is none. */
struct baton_executor *baton__executor_default_peek(void);

#endif
