/* SPDX-License-Identifier: MIT */
/*
 * Requests to a directory, whose answers come on any thread. A request is allocated, and has a
 * promise for its answer. A function is told of the answer: it counts it, and frees the request.
 * So nobody waits for a single request, and neither a resource nor a job is there for the end.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include <baton.h>
#include <baton/group.h>

#include "../check.h"

#define REQUESTS 1000

struct request {
	struct baton_future answer;
	struct baton_continuation when_answered;
	struct baton_task lookup;
	unsigned number;
};

static struct baton_resource directory = BATON_RESOURCE_INIT(NULL);
static struct baton_group requests = BATON_GROUP_INIT;

/* A task of the directory. The last touch of the request is that of the function. */
static int look_up(struct baton_task *task)
{
	struct request *request = baton_container_of(task, struct request, lookup);

	return baton_future_complete(&request->answer, request->number % 10 ? 0 : -ENOENT, NULL);
}

/* On the thread that completes the answer: waits for nothing, and what it submits runs later. */
static void on_answer(void *arg)
{
	struct request *request = arg;
	int status = baton_future_status(&request->answer);

	free(request);
	baton_group_leave_with(&requests, status);
}

static void ask(unsigned number)
{
	struct request *request = malloc(sizeof(*request));

	CHECK(request != NULL);
	request->number = number;
	baton_promise_init(&request->answer);
	baton_task_init(&request->lookup, look_up, NULL);
	baton_continuation_function(&request->when_answered, on_answer, request);
	baton_group_enter(&requests);
	baton_future_then(&request->answer, &request->when_answered);
	/* Refused: the end comes here, and tells the function. */
	if (baton_submit_later(&directory, &request->lookup) != 0)
		CHECK(baton_future_complete(&request->answer, -EPIPE, NULL) == 0);
}

int main(void)
{
	for (unsigned i = 1; i < REQUESTS; i++)
		ask(i);
	CHECK(baton_group_wait(&requests) == 0);
	CHECK(baton_group_status(&requests) == -ENOENT);
	CHECK(baton_resource_close(&directory) == 0);
	ask(0);
	CHECK(baton_group_wait(&requests) == 0);
	CHECK(baton_resource_await(&directory) == 0);
	printf("told: %d requests answered and freed\n", REQUESTS);
	return 0;
}
