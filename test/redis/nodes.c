/* SPDX-License-Identifier: MIT */
#include "nodes.h"

#include <baton/resource.h>

#include <criterion/criterion.h>
#include <hiredis/hiredis.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define DEADLINE_S 240

/* ---- What the nodes run ---- */

int count(struct baton_remote_job *job, void *arg)
{
	size_t size;
	const char *state = baton_remote_job_state(job, &size);
	char text[24];
	int length = snprintf(text, sizeof(text), "%d", (state ? atoi(state) : 0) + 1);

	if (baton_remote_job_set_state(job, text, (size_t)length) ||
	    baton_remote_job_effect(job, text, (size_t)length) ||
	    baton_remote_job_answer(job, text, (size_t)length + 1))
		return -ENOMEM;
	return 0;
}

void gate_init(struct gate *gate)
{
	gate->runs = 0;
	sem_init(&gate->entered, 0, 0);
	sem_init(&gate->open, 0, 0);
}

int pass_gate(struct baton_remote_job *job, void *arg)
{
	struct gate *gate = arg;

	__atomic_fetch_add(&gate->runs, 1, __ATOMIC_RELAXED);
	sem_post(&gate->entered);
	sem_wait(&gate->open);
	return count(job, NULL);
}

void await_entered(struct gate *gate)
{
	struct timespec deadline;
	int status;

	clock_gettime(CLOCK_REALTIME, &deadline);
	deadline.tv_sec += DEADLINE_S;
	/* Ends: with a post, or at the deadline. */
	while ((status = sem_timedwait(&gate->entered, &deadline)) && errno == EINTR)
		;
	cr_assert_eq(status, 0, "no job has come to the gate");
}

struct baton_remote *join(const struct server *server, const char *node, uint64_t lease_ns,
                          int (*run)(struct baton_remote_job *job, void *arg), void *arg)
{
	struct baton_remote_options options = {
		.redis = {.socket = server->socket, .queue = "test"},
		.node = node,
		.partitions = PARTITIONS,
		.lease_ns = lease_ns,
		.run = run,
		.arg = arg,
	};
	struct baton_remote *remote;
	int error = baton_remote_create(&options, &remote);

	cr_assert_eq(error, 0, "%d: %s", error, remote ? baton_remote_error(remote) : "");
	return remote;
}

void steal(const struct server *server, const struct baton_remote *from, uint32_t partition)
{
	const char *node = baton_remote_node(from);

	freeReplyObject(server_ask(server, "EVAL %s 1 {test}:remote %s %u",
	                           "local r, node, partition = KEYS[1], ARGV[1], ARGV[2] "
	                           "redis.call('HSET', r .. ':owners', partition, '1:thief') "
	                           "redis.call('ZREM', r .. ':own:' .. node, partition) "
	                           "redis.call('ZADD', r .. ':own:thief', 1, partition) "
	                           "redis.call('SADD', r .. ':lost', 'thief') return 1",
	                           node, partition));
}

int ask(struct baton_remote *remote, struct question *question, const char *name, const char *data)
{
	snprintf(question->name, sizeof(question->name), "%s", name);
	question->future = (struct baton_future)BATON_FUTURE_INIT;
	question->task = (struct baton_remote_task)BATON_REMOTE_TASK_INIT(
		question->name, strlen(question->name), data, strlen(data), &question->future);
	question->task.answer = question->answer;
	question->task.answer_room = sizeof(question->answer);
	question->answer[0] = '\0';
	return baton_remote_submit(remote, &question->task);
}

int await(struct question *question)
{
	int status =
		baton_future_wait_until(&question->future, baton_after(DEADLINE_S * BATON_SECOND));

	cr_assert_eq(status, 0, "no answer from %s: %d", question->name, status);
	return baton_future_status(&question->future);
}

void expect(struct baton_remote *remote, const char *name, const char *answer)
{
	struct question question;

	cr_assert_eq(ask(remote, &question, name, ""), 0);
	cr_assert_eq(await(&question), 0);
	cr_assert_str_eq(question.answer, answer);
}
