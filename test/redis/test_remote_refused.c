/* SPDX-License-Identifier: MIT */
/*
 * Resources over machines: defaults, limits, and what is refused; nothing is lost by a refusal.
 */
#include "nodes.h"

#include "companion/redis/remote.h"

#include <criterion/criterion.h>
#include <hiredis/hiredis.h>

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

TestSuite(remote_refused, .timeout = 120);

static int has_no_object(struct baton_remote_job *job, void *arg)
{
	return baton_remote_job_object(job) ? -EDOM : 0;
}

Test(remote_refused, leases_and_numbers_are_those_of_the_header)
{
	struct server server;
	struct baton_remote *remote;
	struct question question;
	struct baton_remote_options options = {.run = has_no_object};

	server_start(&server, NULL);
	options.redis.socket = server.socket;
	cr_assert_eq(baton_remote_create(&options, &remote), 0);
	cr_assert_eq(strncmp(baton_remote_node(remote), "node-", 5), 0);
	cr_assert_eq(baton_remote_owned(remote), 256);
	cr_assert_eq(server_number(&server, "HGET {baton}:remote:numbers partitions"), 256);
	cr_assert_str_eq(server_text(&server, "HGET {baton}:remote:spans %s",
	                             baton_remote_node(remote)),
	                 "3000:60001");
	cr_assert_eq(server_number(&server, "PTTL {baton}:remote:to:%s", baton_remote_node(remote)),
	             -1, "no key expires");
	cr_assert_eq(ask(remote, &question, "a", ""), 0);
	cr_assert_eq(await(&question), 0);
	baton_remote_destroy(remote);
	/* Answers wait for a lease at least: a node that renews its lease is not away. */
	options.keep_ns = 1;
	cr_assert_eq(baton_remote_create(&options, &remote), 0);
	cr_assert_str_eq(server_text(&server, "HGET {baton}:remote:spans %s",
	                             baton_remote_node(remote)),
	                 "3000:3001");
	baton_remote_destroy(remote);
	server_stop(&server);
}

Test(remote_refused, more_tasks_than_may_be_outstanding_are_refused)
{
	struct server server;
	struct gate gate;
	struct baton_remote *remote;
	struct question questions[2];
	struct question refused;
	struct baton_remote_options options = {.run = pass_gate,
	                                       .arg = &gate,
	                                       .outstanding_max = 2,
	                                       .lease_ns = 60 * BATON_SECOND};

	gate_init(&gate);
	server_start(&server, NULL);
	options.redis.socket = server.socket;
	cr_assert_eq(baton_remote_create(&options, &remote), 0);
	cr_assert_eq(ask(remote, &questions[0], "a", ""), 0);
	cr_assert_eq(ask(remote, &questions[1], "b", ""), 0);
	await_entered(&gate);
	await_entered(&gate);
	cr_assert_eq(ask(remote, &refused, "c", ""), -EAGAIN);
	sem_post(&gate.open);
	sem_post(&gate.open);
	cr_assert_eq(await(&questions[0]), 0);
	cr_assert_eq(await(&questions[1]), 0);
	baton_remote_destroy(remote);
	server_stop(&server);
}

Test(remote_refused, an_answer_is_cut_where_there_is_no_room)
{
	struct server server;
	struct baton_remote *remote;
	struct question question = {.answer = "xyz"};

	server_start(&server, NULL);
	remote = join(&server, "one", 3 * BATON_SECOND, count, NULL);
	snprintf(question.name, sizeof(question.name), "a");
	question.future = (struct baton_future)BATON_FUTURE_INIT;
	question.task = (struct baton_remote_task)BATON_REMOTE_TASK_INIT(question.name, 1, "", 0,
	                                                                 &question.future);
	question.task.answer = question.answer;
	question.task.answer_room = 1;
	cr_assert_eq(baton_remote_submit(remote, &question.task), 0);
	cr_assert_eq(await(&question), 0);
	cr_assert_eq(question.task.answer_size, 2);
	cr_assert_str_eq(question.answer, "1yz");
	baton_remote_destroy(remote);
	server_stop(&server);
}

/* ---- What is refused ---- */

static int try_join(const struct server *server, const struct baton_remote_options *from,
                    char text[256])
{
	struct baton_remote_options options = *from;
	struct baton_remote *remote;
	int error;

	options.redis.socket = server->socket;
	options.redis.queue = "test";
	options.run = count;
	error = baton_remote_create(&options, &remote);
	snprintf(text, 256, "%s", baton_remote_error(remote));
	baton_remote_destroy(remote);
	return error;
}

Test(remote_refused, options_and_servers_that_will_not_do_are_refused_with_a_text)
{
	struct server server;
	struct server none = {.socket = "/nonexistent/redis.sock"};
	struct baton_remote *remote;
	char text[256];

	server_start(&server, NULL);
	cr_assert_eq(try_join(&server, &(struct baton_remote_options){.node = "a b"}, text),
	             -EINVAL);
	cr_assert(strstr(text, "node's name"), "%s", text);
	cr_assert_eq(try_join(&server,
	                      &(struct baton_remote_options){
				      .node = "a-name-of-forty-one-characters-0123456789"},
	                      text),
	             -EINVAL);
	cr_assert_eq(try_join(&server, &(struct baton_remote_options){.partitions = 4097}, text),
	             -EINVAL);
	cr_assert(strstr(text, "4096"), "%s", text);
	cr_assert_eq(try_join(&server, &(struct baton_remote_options){._reserved = {1}}, text),
	             -EINVAL);
	cr_assert(strstr(text, "_reserved"), "%s", text);
	cr_assert_eq(try_join(&server, &(struct baton_remote_options){.lease_ns = 49 * MS}, text),
	             -EINVAL);
	cr_assert(strstr(text, "50 ms"), "%s", text);
	cr_assert_eq(
		try_join(&server, &(struct baton_remote_options){.lease_ns = BATON_NEVER}, text),
		-EINVAL);
	cr_assert(strstr(text, "a day"), "%s", text);
	cr_assert_eq(try_join(&none, &(struct baton_remote_options){0}, text), -ECONNREFUSED);
	cr_assert(strstr(text, "no Redis at"), "%s", text);
	remote = join(&server, "one", 3 * BATON_SECOND, count, NULL);
	cr_assert_eq(try_join(&server, &(struct baton_remote_options){.partitions = 17}, text),
	             -EINVAL);
	cr_assert(strstr(text, "16 partitions"), "%s", text);
	baton_remote_destroy(remote);
	freeReplyObject(server_ask(&server, "FLUSHALL"));
	cr_assert_eq(try_join(&server,
	                      &(struct baton_remote_options){
				      .node = "a-name-of-forty-characters-0123456789-40",
				      .partitions = 4096,
				      .lease_ns = 24 * 3600 * BATON_SECOND},
	                      text),
	             0, "%s", text);
	freeReplyObject(server_ask(&server, "FLUSHALL"));
	freeReplyObject(server_ask(&server, "SET {test}:remote:owners mine"));
	cr_assert_eq(try_join(&server, &(struct baton_remote_options){0}, text), -EBADMSG);
	cr_assert(strstr(text, "another program"), "%s", text);
	cr_assert_str_eq(server_text(&server, "GET {test}:remote:owners"), "mine");
	server_stop(&server);
}

Test(remote_refused, tasks_that_cannot_be_are_refused_untouched)
{
	struct server server;
	struct baton_remote *remote;
	struct question question;
	char name[BATON_REMOTE_NAME_MAX + 2];

	server_start(&server, NULL);
	remote = join(&server, "one", 3 * BATON_SECOND, count, NULL);
	memset(name, 'n', sizeof(name));
	question.future = (struct baton_future)BATON_FUTURE_INIT;
	question.task = (struct baton_remote_task)BATON_REMOTE_TASK_INIT(name, sizeof(name) - 1, "",
	                                                                 0, &question.future);
	cr_assert_eq(baton_remote_submit(remote, &question.task), -EINVAL);
	question.task._length = 0;
	cr_assert_eq(baton_remote_submit(remote, &question.task), -EINVAL);
	question.task = (struct baton_remote_task)BATON_REMOTE_TASK_INIT(name, 5, "", 0, NULL);
	cr_assert_eq(baton_remote_submit(remote, &question.task), -EINVAL);
	/* The longest name. */
	question.task = (struct baton_remote_task)BATON_REMOTE_TASK_INIT(
		name, BATON_REMOTE_NAME_MAX, "", 0, &question.future);
	cr_assert_eq(baton_remote_submit(remote, &question.task), 0);
	cr_assert_eq(await(&question), 0);
	baton_remote_destroy(remote);
	server_stop(&server);
}

/* What has been set before does not count beside what replaces it, where there is just room for
 * either. (The bytes of the effects are not there: 256 MiB are many for a test.) */
static bool has_room_for_one(struct baton_remote_job *job)
{
	const size_t before = job->effects.size;
	bool good;

	job->effects.size = BATON_REMOTE_SIZE_MAX - 8;
	good = !baton_remote_job_set_state(job, "12345678", 8) &&
	       !baton_remote_job_set_state(job, "12345678", 8) &&
	       baton_remote_job_set_state(job, "123456789", 9) == -EMSGSIZE &&
	       !baton_remote_job_set_state(job, NULL, 0) &&
	       !baton_remote_job_answer(job, "12345678", 8) &&
	       !baton_remote_job_answer(job, "12345678", 8) &&
	       baton_remote_job_answer(job, "123456789", 9) == -EMSGSIZE;
	job->effects.size = before;
	return good;
}

static int leave_too_much(struct baton_remote_job *job, void *arg)
{
	const char *to = baton_remote_job_data(job, &(size_t){0});
	size_t most = BATON_REMOTE_SIZE_MAX;

	/* Each is refused by its size, and not read. */
	if (baton_remote_job_set_state(job, "", most + 1) != -EMSGSIZE ||
	    baton_remote_job_answer(job, "", most + 1) != -EMSGSIZE ||
	    baton_remote_job_effect(job, "", most + 1) != -EMSGSIZE ||
	    baton_remote_job_tell(job, to, "", most + 1) != -EMSGSIZE)
		return -EDOM;
	/* What is replaced does not count; what is there does. */
	if (baton_remote_job_set_state(job, "12", 2) || baton_remote_job_set_state(job, "1", 1) ||
	    baton_remote_job_answer(job, "", most) != -EMSGSIZE || !has_room_for_one(job))
		return -EDOM;
	return baton_remote_job_answer(job, "answer", 7);
}

Test(remote_refused, more_bytes_than_a_server_takes_are_refused)
{
	struct server server;
	struct baton_remote *remote;
	struct question question;

	server_start(&server, NULL);
	remote = join(&server, "one", 3 * BATON_SECOND, leave_too_much, NULL);
	question.future = (struct baton_future)BATON_FUTURE_INIT;
	question.task = (struct baton_remote_task)BATON_REMOTE_TASK_INIT(
		"a", 1, "", BATON_REMOTE_SIZE_MAX + 1, &question.future);
	cr_assert_eq(baton_remote_submit(remote, &question.task), -EMSGSIZE);
	expect(remote, "a", "answer");
	baton_remote_destroy(remote);
	server_stop(&server);
}

Test(remote_refused, a_server_without_memory_refuses_and_loses_nothing)
{
	struct server server;
	struct baton_remote *remote;
	struct question question;

	server_start(&server, NULL);
	remote = join(&server, "one", 3 * BATON_SECOND, count, NULL);
	expect(remote, "a", "1");
	freeReplyObject(server_ask(&server, "CONFIG SET maxmemory 1"));
	cr_assert_eq(ask(remote, &question, "a", ""), 0);
	cr_assert_eq(await(&question), -ENOMEM);
	freeReplyObject(server_ask(&server, "CONFIG SET maxmemory 0"));
	expect(remote, "a", "2");
	baton_remote_destroy(remote);
	server_stop(&server);
}

/* The server dies with the first attempt unread, and has no memory for the second. */
Test(remote_refused, after_an_attempt_without_answer_what_was_accepted_before_is_kept)
{
	static const char *const full[] = {"--maxmemory", "1", NULL};
	struct question accepted;
	struct question late;
	struct server server;
	struct gate gate;
	struct baton_remote *remote;

	gate_init(&gate);
	server_start(&server, NULL);
	remote = join(&server, "one", 60 * BATON_SECOND, pass_gate, &gate);
	cr_assert_eq(ask(remote, &accepted, "a", ""), 0);
	await_entered(&gate);
	cr_assert_eq(kill(server.pid, SIGSTOP), 0);
	cr_assert_eq(ask(remote, &late, "b", ""), 0);
	usleep(20000);
	cr_assert_eq(kill(server.pid, SIGKILL), 0);
	server_kill(&server);
	server_restart(&server, full);
	cr_assert_eq(await(&late), -ENOMEM);
	freeReplyObject(server_ask(&server, "CONFIG SET maxmemory 0"));
	/* The connection is another one, so that the task may be read, and run, twice. */
	for (int i = 0; i < 3; i++)
		sem_post(&gate.open);
	cr_assert_eq(await(&accepted), 0);
	expect(remote, "b", "1");
	baton_remote_destroy(remote);
	server_stop(&server);
}

/* Nor can the node ask there what was accepted before. */
Test(remote_refused, while_the_server_is_away_tasks_are_refused_and_not_after_it_is_back)
{
	static struct question lost[5000]; /* those that are accepted are submitted later */
	struct question *next = lost;
	struct server server;
	struct baton_remote *remote;
	struct question question;
	int error = 0;

	server_start(&server, NULL);
	remote = join(&server, "one", BATON_SECOND, count, NULL);
	expect(remote, "a", "1");
	/* Twice it is killed, and twice stopped. */
	for (int i = 0; i < 4; i++) {
		struct question *first = next;
		const bool stopped = i % 2;

		if (stopped)
			cr_assert_eq(kill(server.pid, SIGSTOP), 0);
		else
			server_kill(&server);
		for (; next < lost + 5000 && !error; next++) {
			error = ask(remote, next, "b", "");
			usleep(1000);
		}
		cr_assert(error == -ETIMEDOUT || (!stopped && error == -ECONNREFUSED), "%d", error);
		if (stopped)
			cr_assert_eq(kill(server.pid, SIGCONT), 0);
		else
			server_restart(&server, NULL);
		for (int tries = 0; tries < 5000 && error; tries++) {
			usleep(1000);
			error = ask(remote, &question, "a", "");
		}
		cr_assert_eq(error, 0, "the server is back");
		cr_assert_eq(await(&question), 0);
		/* The last one was refused. */
		for (; stopped && first < next - 1; first++)
			cr_assert_eq(await(first), 0);
	}
	baton_remote_destroy(remote);
	server_stop(&server);
}

Test(remote_refused, a_replica_refuses_and_loses_nothing)
{
	struct server server;
	struct baton_remote *remote;
	struct question question;

	server_start(&server, NULL);
	remote = join(&server, "one", 3 * BATON_SECOND, count, NULL);
	expect(remote, "a", "1");
	freeReplyObject(server_ask(&server, "REPLICAOF 127.0.0.1 1"));
	cr_assert_eq(ask(remote, &question, "a", ""), 0);
	cr_assert_eq(await(&question), -EROFS);
	freeReplyObject(server_ask(&server, "REPLICAOF NO ONE"));
	expect(remote, "a", "2");
	baton_remote_destroy(remote);
	server_stop(&server);
}

Test(remote_refused, another_programs_entry_is_ended_without_a_run)
{
	struct server server;
	struct baton_remote *remote;

	server_start(&server, NULL);
	remote = join(&server, "one", 3 * BATON_SECOND, count, NULL);
	freeReplyObject(server_ask(&server, "XADD {test}:remote:in:%u * hello world",
	                           baton_remote_partition(remote, "a", 1)));
	expect(remote, "a", "1");
	while (server_number(&server, "XLEN {test}:remote:in:%u",
	                     baton_remote_partition(remote, "a", 1)) > 0)
		usleep(1000);
	baton_remote_destroy(remote);
	server_stop(&server);
}

Test(remote_refused, a_node_that_ends_fails_what_has_no_answer)
{
	struct server server;
	struct gate gate;
	struct baton_remote *owner;
	struct baton_remote *guest;
	struct question question;

	gate_init(&gate);
	server_start(&server, NULL);
	owner = join(&server, "owner", 60 * BATON_SECOND, pass_gate, &gate);
	guest = join(&server, "guest", 60 * BATON_SECOND, NULL, NULL);
	cr_assert_eq(ask(guest, &question, "a", ""), 0);
	await_entered(&gate);
	baton_remote_destroy(guest);
	cr_assert_eq(await(&question), -ESHUTDOWN);
	sem_post(&gate.open);
	baton_remote_destroy(owner);
	cr_assert_eq(server_number(&server, "XLEN {test}:remote:effects"), 1);
	server_stop(&server);
}
