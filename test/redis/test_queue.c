/* SPDX-License-Identifier: MIT */
/* A task's ways through the queue, and who may still change what when somebody was lost. */
#include "pair.h"

#include <criterion/criterion.h>
#include <hiredis/hiredis.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

TestSuite(queue, .init = pair_start, .fini = pair_stop, .timeout = 15);

/* Keys of tasks, which must be gone at the end. */
static void nothing_is_left(void)
{
	cr_assert_eq(server_number(&server, "EVAL %s 0",
	                           "return #redis.call('KEYS', '{test}:task:*') + "
	                           "#redis.call('KEYS', '{test}:files:*') + "
	                           "#redis.call('KEYS', '{test}:note:*')"),
	             0);
	cr_assert_eq(server_number(&server, "ZCARD {test}:queue"), 0);
	cr_assert_eq(server_number(&server, "HLEN {test}:run"), 0);
}

/* The scheduler's lease is short: renews it, and the leases of backends that are given, for so
 * long. The others' are over then. */
static void let_pass(uint64_t ns, struct baton_redis_backend *alive)
{
	struct baton_redis_order order;

	for (uint64_t passed = 0; passed < ns; passed += 20 * MS) {
		settle(scheduler);
		if (alive)
			cr_assert_eq(baton_redis_backend_next(alive, &order), 0);
		cr_assert(!alive || order.what == BATON_REDIS_IDLE);
		usleep(20000);
	}
}

Test(queue, a_task_goes_from_its_submitter_to_a_backend_and_back)
{
	struct baton_redis_file files[] = {
		{.name = "input", .data = "old", .size = 3},
		{.name = "input", .data = "a\0b", .size = 3},
	};
	struct baton_redis_task task = task_named("first", 1);
	char reason[200];
	struct baton_redis_note note = {0};
	struct baton_redis_order order;

	memset(reason, 'r', sizeof(reason) - 1);
	reason[sizeof(reason) - 1] = '\0';
	task.files = files;
	task.file_count = 2;
	submit(&task);
	await_note(client, &task, &note, BATON_REDIS_WAITING);
	await_order(backend[0], &order, BATON_REDIS_RUN, scheduler);
	cr_assert_str_eq(order.id, "first");
	cr_assert_str_eq(order.token, "secret");
	cr_assert(order.kind == 1 && order.attempt == 1);
	cr_assert_eq(order.may_run_ns, 200 * BATON_SECOND);
	cr_assert(order.command_size == 4 && memcmp(order.command, "true", 4) == 0);
	cr_assert_eq(order.file_count, 1);
	cr_assert(order.files[0].size == 3 && memcmp(order.files[0].data, "a\0b", 3) == 0);
	await_note(client, &task, &note, BATON_REDIS_STARTED);
	cr_assert_eq(note.ns, 200 * BATON_SECOND);
	await_note(client, &task, &note, BATON_REDIS_RUNNING);
	cr_assert_str_eq(note.text, "unix:/nowhere");
	cr_assert_eq(note.epoch, order.epoch);
	cr_assert_eq(baton_redis_backend_effect(backend[0], "result", 6), 0);
	cr_assert_eq(baton_redis_backend_finish(backend[0], 7, reason), 0);
	await_note(client, &task, &note, BATON_REDIS_DONE);
	cr_assert(note.number == 7 && strlen(note.text) == 127 && note.text[126] == 'r');
	cr_assert_eq(server_number(&server, "XLEN {test}:effects"), 1);
	cr_assert_eq(baton_redis_keep(client, &task), 0, "its note is there");
	cr_assert_eq(baton_redis_forget(client, &task), 0);
	cr_assert_eq(baton_redis_forget(client, &task), 0);
	cr_assert_eq(baton_redis_keep(client, &task), -ENOENT);
	nothing_is_left();
	cr_assert_eq(baton_redis_backend_finish(backend[0], 7, "exit"), -EINVAL);
}

Test(queue, an_id_is_one_task_and_one_submitter)
{
	struct baton_redis_task task = task_named("same", 0);
	struct baton_redis_task other = task;
	struct baton_redis_order order;

	other.token = "another";
	submit(&task);
	submit(&task);
	cr_assert_eq(server_number(&server, "ZCARD {test}:queue"), 1);
	cr_assert_eq(server_number(&server, "XLEN {test}:in"), 1);
	cr_assert_eq(baton_redis_submit(client, &other), -EEXIST);
	cr_assert_eq(baton_redis_withdraw(client, &other), -ENOENT);
	cr_assert_eq(baton_redis_forget(client, &task), -EBUSY);
	await_order(backend[0], &order, BATON_REDIS_RUN, scheduler);
	cr_assert_eq(baton_redis_backend_finish(backend[0], 0, ""), 0);
	submit(&task);
	cr_assert_eq(baton_redis_submit(client, &other), -EEXIST);
	cr_assert_eq(server_number(&server, "ZCARD {test}:queue"), 0, "it ran already");
	cr_assert_eq(baton_redis_forget(client, &task), 0);
	nothing_is_left();
}

Test(queue, a_task_that_waits_is_withdrawn_and_one_that_runs_is_stopped)
{
	struct baton_redis_task task = task_named("runs", 2);
	struct baton_redis_task next = task_named("waits", 2);
	struct baton_redis_note note = {0};
	struct baton_redis_order order;

	submit(&task);
	submit(&next);
	await_order(backend[0], &order, BATON_REDIS_RUN, scheduler);
	cr_assert_eq(baton_redis_withdraw(client, &next), 0);
	await_note(client, &next, &note, BATON_REDIS_WITHDRAWN);
	cr_assert_eq(baton_redis_withdraw(client, &task), 0);
	await_order(backend[0], &order, BATON_REDIS_STOP, scheduler);
	cr_assert_str_eq(order.text, "withdrawn");
	cr_assert_eq(baton_redis_backend_finish(backend[0], -1, order.text), 0);
	note = (struct baton_redis_note){0};
	await_note(client, &task, &note, BATON_REDIS_DONE);
	cr_assert_eq(baton_redis_forget(client, &task), 0);
	cr_assert_eq(baton_redis_forget(client, &next), 0);
	nothing_is_left();
	/* The limits are free again. */
	submit(&task);
	await_order(backend[0], &order, BATON_REDIS_RUN, scheduler);
}

Test(queue, an_interactive_task_is_halted_for_another_and_denied_when_all_is_taken)
{
	struct baton_redis_task shell = task_named("shell", BATON_RULES_INTERACTIVE);
	struct baton_redis_task late = task_named("late", BATON_RULES_INTERACTIVE);
	struct baton_redis_task tasks[3] = {task_named("a", 0), task_named("b", 0),
	                                    task_named("c", 0)};
	struct baton_redis_note note = {0};
	struct baton_redis_order order;

	submit(&shell);
	await_order(backend[0], &order, BATON_REDIS_RUN, scheduler);
	cr_assert_eq(order.may_run_ns, BATON_NEVER);
	for (int i = 0; i < 3; i++)
		submit(&tasks[i]);
	await_order(backend[0], &order, BATON_REDIS_STOP, scheduler);
	cr_assert_str_eq(order.text, "halted");
	cr_assert_eq(baton_redis_backend_finish(backend[0], -1, order.text), 0);
	await_note(client, &shell, &note, BATON_REDIS_DONE);
	submit(&late);
	settle(scheduler);
	note = (struct baton_redis_note){0};
	await_note(client, &late, &note, BATON_REDIS_DENIED);
}

Test(queue, a_default_that_another_needs_room_for_is_shortened)
{
	struct baton_redis_task task = task_named("default", BATON_RULES_DEFAULT);
	struct baton_redis_task slow = task_named("slow", 2);
	struct baton_redis_note note = {0};
	struct baton_redis_order order;

	submit(&task);
	await_order(backend[0], &order, BATON_REDIS_RUN, scheduler);
	cr_assert_eq(order.may_run_ns, 300 * BATON_SECOND, "the slowest class");
	submit(&slow);
	await_order(backend[0], &order, BATON_REDIS_SHORTEN, scheduler);
	cr_assert(order.may_run_ns <= 200 * BATON_SECOND);
	cr_assert(order.may_run_ns > 190 * BATON_SECOND);
	await_order(backend[1], &order, BATON_REDIS_RUN, scheduler);
	await_note(client, &task, &note, BATON_REDIS_SHORTENED);
}

Test(queue, the_task_of_a_lost_backend_starts_again_and_the_lost_one_changes_nothing)
{
	struct baton_redis_task task = task_named("moves", 0);
	struct baton_redis_note note = {0};
	struct baton_redis_order order;
	uint64_t epoch;

	submit(&task);
	await_order(backend[0], &order, BATON_REDIS_RUN, scheduler);
	epoch = order.epoch;
	await_order(backend[1], &order, BATON_REDIS_RUN, scheduler);
	cr_assert_str_eq(order.id, "moves");
	cr_assert(order.epoch > epoch && order.attempt == 2);
	cr_assert_eq(baton_redis_backend_effect(backend[0], "x", 1), -ESTALE);
	cr_assert_eq(baton_redis_backend_effect(backend[1], "x", 1), 0);
	cr_assert_eq(baton_redis_backend_finish(backend[1], 0, ""), 0);
	await_note(client, &task, &note, BATON_REDIS_LOST);
	await_note(client, &task, &note, BATON_REDIS_DONE);
	cr_assert_eq(note.epoch, order.epoch);
	cr_assert_eq(server_number(&server, "XLEN {test}:effects"), 1);
}

Test(queue, a_backend_that_was_stopped_too_long_is_told_that_it_is_stale)
{
	struct baton_redis_task task = task_named("moves", 0);
	struct baton_redis_task next = task_named("next", 0);
	struct baton_redis_order order;

	submit(&task);
	await_order(backend[0], &order, BATON_REDIS_RUN, scheduler);
	await_order(backend[1], &order, BATON_REDIS_RUN, scheduler);
	await_order(backend[0], &order, BATON_REDIS_STALE, NULL);
	/* And it goes on with others, at once. */
	submit(&next);
	await_order(backend[0], &order, BATON_REDIS_RUN, scheduler);
	cr_assert_str_eq(order.id, "next");
}

Test(queue, a_task_fails_when_its_attempts_are_used_up)
{
	struct baton_redis_task task = task_named("deadly", 0);
	struct baton_redis_note note = {0};
	struct baton_redis_order order;

	task.attempts = 2;
	submit(&task);
	await_order(backend[0], &order, BATON_REDIS_RUN, scheduler);
	await_order(backend[1], &order, BATON_REDIS_RUN, scheduler);
	let_pass(2 * BACKEND_LEASE_NS, NULL);
	await_note(client, &task, &note, BATON_REDIS_FAILED);
	cr_assert_eq(note.number, 2);
	cr_assert_eq(baton_redis_forget(client, &task), 0);
	nothing_is_left();
}

Test(queue, what_was_delivered_to_a_dead_backend_and_not_taken_is_claimed)
{
	struct baton_redis_task task = task_named("left", 0);
	struct baton_redis_order order;

	submit(&task);
	settle(scheduler);
	cr_assert_neq(server_number(&server,
	                            "XREADGROUP GROUP backends dead COUNT 1 STREAMS {test}:out >"),
	              0);
	await_order(backend[1], &order, BATON_REDIS_RUN, scheduler);
	cr_assert(order.attempt == 1);
}

Test(queue, what_nobody_keeps_alive_is_deleted)
{
	struct baton_redis_task slow = task_named("slow", 2);
	struct baton_redis_task task = task_named("left", 2);
	struct baton_redis_order order;

	task.keep_ns = 100 * MS;
	submit(&slow);
	await_order(backend[0], &order, BATON_REDIS_RUN, scheduler);
	submit(&task);
	settle(scheduler);
	let_pass(SCHEDULER_LEASE_NS, backend[0]);
	cr_assert_eq(server_number(&server, "ZCARD {test}:queue"), 0);
	cr_assert_eq(server_number(&server, "EXISTS {test}:task:left {test}:note:left"), 0);
}

Test(queue, a_keep_is_for_all_that_a_task_has)
{
	static const char *const parts[] = {"task", "files", "note"};
	struct baton_redis_file file = {.name = "input", .data = "x", .size = 1};
	struct baton_redis_task task = task_named("kept", 2);

	task.files = &file;
	task.file_count = 1;
	for (uint64_t s = 1000; s <= 100000; s *= 10) {
		task.keep_ns = s * BATON_SECOND;
		if (s == 1000)
			submit(&task);
		else
			cr_assert_eq(baton_redis_keep(client, &task), 0);
		/* The queue's time has not begun. */
		cr_assert_eq(server_number(&server, "ZSCORE {test}:kept kept"),
		             (long long)s * 1000);
		for (size_t i = 0; i < 3; i++)
			cr_assert_eq(server_number(&server, "PTTL {test}:%s:kept", parts[i]), -1,
			             "no key expires");
	}
}

Test(queue, another_scheduler_leads_with_what_the_first_has_left)
{
	struct baton_redis *redis = server_connect(&server);
	struct baton_redis_scheduler *second = scheduler_on(redis);
	struct baton_redis_task slow[3] = {task_named("s1", 2), task_named("s2", 2),
	                                   task_named("s3", 2)};
	struct baton_redis_order order;
	uint64_t epoch;

	settle(scheduler);
	epoch = baton_redis_scheduler_epoch(scheduler);
	cr_assert(epoch > 0);
	cr_assert_eq(baton_redis_scheduler_run(second, 0), 0);
	cr_assert_eq(baton_redis_scheduler_epoch(second), 0, "one leads");
	submit(&slow[0]);
	submit(&slow[1]);
	await_order(backend[0], &order, BATON_REDIS_RUN, scheduler);
	submit(&slow[2]);
	/* The first one is stopped for longer than its lease. */
	while (baton_redis_scheduler_epoch(second) == 0)
		cr_assert_eq(baton_redis_scheduler_run(second, 100 * MS), 0);
	cr_assert(baton_redis_scheduler_epoch(second) > epoch);
	settle(second);
	cr_assert_eq(server_number(&server, "HLEN {test}:run"), 1, "the slow limit is 1");
	/* The first one has decided something, but is refused. */
	settle(scheduler);
	cr_assert_eq(baton_redis_scheduler_epoch(scheduler), 0);
	cr_assert_eq(baton_redis_backend_finish(backend[0], 0, ""), 0);
	await_order(backend[0], &order, BATON_REDIS_RUN, second);
	cr_assert_str_eq(order.id, "s2", "in the order of arrival");
	baton_redis_scheduler_destroy(second);
	baton_redis_destroy(redis);
	/* The second has resigned. */
	let_pass(SCHEDULER_LEASE_NS / 2, backend[0]);
	cr_assert(baton_redis_scheduler_epoch(scheduler) > epoch);
}

Test(queue, a_call_whose_connection_is_lost_is_repeated)
{
	struct baton_redis_task task = task_named("again", 0);
	struct baton_redis_order order;

	server_number(&server, "CLIENT KILL TYPE normal SKIPME yes");
	submit(&task);
	server_number(&server, "CLIENT KILL TYPE normal SKIPME yes");
	await_order(backend[0], &order, BATON_REDIS_RUN, scheduler);
	server_number(&server, "CLIENT KILL TYPE normal SKIPME yes");
	cr_assert_eq(baton_redis_backend_finish(backend[0], 0, ""), 0);
	cr_assert_eq(baton_redis_forget(client, &task), 0);
	nothing_is_left();
}

Test(queue, percentages_follow_the_number_of_backends)
{
	struct baton_redis_scheduler_options options = {.lease_ns = SCHEDULER_LEASE_NS};
	struct baton_redis *redis = server_connect(&server);
	struct baton_redis_scheduler *half;
	struct baton_redis_task tasks[3] = {task_named("a", 0), task_named("b", 0),
	                                    task_named("c", 0)};

	cr_assert_eq(baton_redis_scheduler_create(redis, &options, &half), 0);
	for (int i = 0; i < 3; i++)
		submit(&tasks[i]);
	settle(half);
	cr_assert_eq(server_number(&server, "HLEN {test}:run"), 2, "there are two backends");
	baton_redis_scheduler_destroy(half);
	baton_redis_destroy(redis);
}

Test(queue, leases_and_lives_are_those_of_the_header)
{
	struct baton_redis_scheduler_options options = {.rules = {.limit = {1, 1, 1}}};
	struct baton_redis_backend_options plain = {.name = "plain"};
	struct baton_redis *redis = server_connect(&server);
	struct baton_redis_scheduler *second;
	struct baton_redis_backend *third;
	struct baton_redis_order order;
	struct baton_redis_task task = task_named("task", 0);
	char token[BATON_REDIS_TOKEN_SIZE];
	long long left;

	cr_assert_eq(baton_redis_token(token), 0);
	cr_assert_eq(strspn(token, "0123456789abcdef"), 32);
	task.token = token;
	submit(&task);
	cr_assert_eq(server_number(&server, "ZSCORE {test}:kept task"), 600000);
	cr_assert_eq(server_number(&server, "HGET {test}:task:task attempts_max"), 3);
	cr_assert_eq(baton_redis_scheduler_create(redis, &options, &second), 0);
	settle(second);
	cr_assert(strstr(server_text(&server, "GET {test}:lease:scheduler"), ":3000:"));
	cr_assert_eq(baton_redis_backend_create(redis, &plain, &third), 0);
	left = server_number(&server, "ZSCORE {test}:backends plain") -
	       server_number(&server, "HGET {test}:numbers clock") / 1000;
	cr_assert(left >= 10000 && left <= 13000, "%lld", left);
	/* When it has asked for orders, only its lease is due. */
	cr_assert_eq(baton_redis_backend_next(third, &order), 0);
	cr_assert(baton_redis_backend_due(third) > BATON_SECOND);
	cr_assert(baton_redis_backend_due(third) <= 10 * BATON_SECOND);
	baton_redis_backend_destroy(third);
	baton_redis_scheduler_destroy(second);
	baton_redis_destroy(redis);
}

Test(queue, a_default_beyond_its_time_is_stopped_for_another)
{
	struct baton_redis_scheduler_options options = {
		.rules = {.class_count = 2,
	                  .duration_ns = {50 * MS, 10 * BATON_SECOND},
	                  .limit = {1, 1}}};
	struct baton_redis *redis = server_connect(&server);
	struct baton_redis_scheduler *fast;
	struct baton_redis_task task = task_named("default", BATON_RULES_DEFAULT);
	struct baton_redis_task next = task_named("next", 0);
	struct baton_redis_order order;

	cr_assert_eq(baton_redis_scheduler_create(redis, &options, &fast), 0);
	submit(&task);
	await_order(backend[0], &order, BATON_REDIS_RUN, fast);
	cr_assert_eq(order.may_run_ns, 10 * BATON_SECOND);
	usleep(60000);
	submit(&next);
	await_order(backend[0], &order, BATON_REDIS_SHORTEN, fast);
	cr_assert_eq(order.may_run_ns, 0);
	cr_assert_eq(baton_redis_backend_finish(backend[0], -1, "stopped"), 0);
	await_order(backend[0], &order, BATON_REDIS_RUN, fast);
	cr_assert_str_eq(order.id, "next");
	baton_redis_scheduler_destroy(fast);
	baton_redis_destroy(redis);
}

/* What a process sends whose epoch is over, word for word. */
Test(queue, each_function_with_a_fence_refuses_an_old_epoch)
{
	static const char *const late[] = {
		"FCALL baton_admit 1 {test} 1 0-0 0-0 start waits 2 1000 1",
		"FCALL baton_sweep 1 {test} 1 0-0 0-0 token 1000 1",
		"FCALL baton_resign 1 {test} 1 token",
		"FCALL baton_effect 1 {test} runs 1 data",
		"FCALL baton_finish 1 {test} runs 1 0 exit 1",
	};
	struct baton_redis_task tasks[2] = {task_named("runs", 2), task_named("waits", 2)};
	struct baton_redis_order order;
	struct redisReply *taken;

	submit(&tasks[0]);
	submit(&tasks[1]);
	await_order(backend[0], &order, BATON_REDIS_RUN, scheduler);
	for (size_t i = 0; i < sizeof(late) / sizeof(late[0]); i++) {
		const char *text = server_text(&server, late[i]);

		cr_assert_eq(strncmp(text, "ESTALE ", 7), 0, "%s: %s", late[i], text);
	}
	/* An old entry of q:out, and one that another backend has taken. */
	for (int i = 0; i < 2; i++) {
		taken = server_ask(&server, "FCALL baton_take 1 {test} other - 1000 0-1 runs %llu",
		                   i == 0 ? 1ULL : (unsigned long long)order.epoch);
		cr_assert(taken->type == REDIS_REPLY_ARRAY && taken->elements == 0);
		freeReplyObject(taken);
	}
	cr_assert_eq(server_number(&server, "ZCARD {test}:queue"), 1);
	cr_assert_eq(server_number(&server, "EXISTS {test}:effects"), 0);
	cr_assert_eq(baton_redis_backend_effect(backend[0], "x", 1), 0);
	cr_assert_eq(baton_redis_backend_finish(backend[0], 0, ""), 0);
}
