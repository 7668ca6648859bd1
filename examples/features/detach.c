/* SPDX-License-Identifier: MIT */
/*
 * A request that is answered later. The task sends the request and returns. Its future completes
 * when the answer comes, or fails when no answer comes in time. The connection runs other tasks
 * meanwhile.
 */
#include "../check.h"

#include <baton.h>
#include <baton/detach.h>

#include <errno.h>
#include <stdio.h>

struct request {
	struct baton_task task;
	struct baton_future future;
	struct baton_detached token;
	struct baton_deadline deadline;
	uint64_t within_ns;
};

static struct baton_resource connection = BATON_RESOURCE_INIT(NULL);

static int request_run(struct baton_task *task)
{
	struct request *request = baton_container_of(task, struct request, task);
	int error = baton_detach_within(&request->token, 0, request->within_ns, &request->deadline);

	/* Here a real program writes the request to the socket. */
	return error; /* ignored, unless the detach has failed */
}

static void request_send(struct request *request, uint64_t within_ns)
{
	request->within_ns = within_ns;
	baton_future_init(&request->future);
	baton_task_init(&request->task, request_run, &request->future);
	baton_detached_init(&request->token);
	baton_deadline_init(&request->deadline, NULL);
	CHECK(baton_submit(&connection, &request->task) == 0);
}

int main(void)
{
	static struct request answered, lost;

	request_send(&lost, 20 * BATON_MILLISECOND);
	request_send(&answered, 60 * BATON_SECOND);
	CHECK(baton_future_state(&answered.future) == BATON_RUNNING);

	/* The answer comes, on the thread that reads the socket. */
	CHECK(baton_detached_complete(&answered.token, 0, "hello") == 0);
	printf("answered: %s\n", (const char *)baton_future_value(&answered.future));

	/* The answer to `lost` never comes. */
	CHECK(baton_future_wait(&lost.future) == 0);
	CHECK(baton_future_status(&lost.future) == -ETIMEDOUT);
	CHECK(baton_detached_complete(&lost.token, 0, NULL) == -EALREADY);
	printf("lost: timed out\n");
	return 0;
}
