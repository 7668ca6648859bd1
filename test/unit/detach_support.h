/* SPDX-License-Identifier: MIT */
/* A task that detaches as its fields say. */
#ifndef BATON_TEST_UNIT_DETACH_SUPPORT_H
#define BATON_TEST_UNIT_DETACH_SUPPORT_H

#include "support.h"

#include <baton/detach.h>

struct request {
	struct baton_task task;
	struct baton_future future;
	struct baton_detached token;
	struct baton_deadline deadline;
	unsigned flags;
	uint64_t timeout_ns; /* 0: none */
	int status;          /* what the function returns */
	int detached;        /* what the detach returned */
	bool by_itself;      /* complete inside the function */
	int completed;
	struct journal *journal;
};

static inline int request_run(struct baton_task *task)
{
	struct request *request = baton_container_of(task, struct request, task);

	if (request->journal)
		journal_add(request->journal, request->status);
	baton_set_result(task);
	if (request->timeout_ns)
		request->detached = baton_detach_within(&request->token, request->flags,
		                                        request->timeout_ns, &request->deadline);
	else
		request->detached = baton_detach(&request->token, request->flags);
	if (request->by_itself)
		request->completed = baton_detached_complete(&request->token, 0, request);
	return request->status;
}

static inline void request_init(struct request *request, bool with_future)
{
	memset(request, 0, sizeof(*request));
	baton_future_init(&request->future);
	baton_task_init(&request->task, request_run, with_future ? &request->future : NULL);
	baton_detached_init(&request->token);
	baton_deadline_init(&request->deadline, NULL);
}

static inline void *completes_main(void *arg)
{
	struct request *request = arg;

	return (void *)(intptr_t)baton_detached_complete(&request->token, 0, NULL);
}

#endif
