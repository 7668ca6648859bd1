/* SPDX-License-Identifier: MIT */
/* What the server's functions answer, called directly, on keys that the test has made. */
#include "server.h"

#include <criterion/criterion.h>
#include <hiredis/hiredis.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct server server;

static void start(void)
{
	server_start(&server, NULL);
	baton_redis_destroy(server_connect(&server)); /* it brings the functions */
}

static void stop(void)
{
	server_stop(&server);
}

TestSuite(functions, .timeout = 30, .init = start, .fini = stop);

static void make(const char *command)
{
	freeReplyObject(server_ask(&server, command));
}

/* The texts of an array, with spaces between. */
static const char *answer(const char *command)
{
	static char text[512];
	struct redisReply *reply = server_ask(&server, command);

	cr_assert_eq(reply->type, REDIS_REPLY_ARRAY, "%s: %s", command, reply->str);
	text[0] = '\0';
	for (size_t i = 0; i < reply->elements; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s", i ? " " : "",
		         reply->element[i]->str);
	freeReplyObject(reply);
	return text;
}

static void make_waiting(const char *id, int number)
{
	char command[128];

	snprintf(command, sizeof(command), "ZADD {test}:queue %d %s", number, id);
	make(command);
	snprintf(command, sizeof(command), "HSET {test}:task:%s kind 1 token t", id);
	make(command);
}

Test(functions, admit_names_the_tasks_that_it_could_not_start)
{
	make("SET {test}:epoch 7");
	make_waiting("there", 1);
	make_waiting("too", 2);
	make("ZADD {test}:queue 3 lost");
	/* A start that is repeated succeeds; of another time it does not. */
	cr_assert_str_eq(answer("FCALL baton_admit 1 {test} 7 0-0 0-0 start there 1 100 50"), "");
	cr_assert_str_eq(answer("FCALL baton_admit 1 {test} 7 0-0 0-0 start there 1 100 50 "
	                        "start lost 1 100 51 start there 1 100 52 start too 1 100 53 "
	                        "start never 1 100 54"),
	                 "lost there never");
	cr_assert_eq(server_number(&server, "HLEN {test}:run"), 2);
	cr_assert_eq(server_number(&server, "ZCARD {test}:queue"), 0);
	cr_assert_eq(server_number(&server, "XLEN {test}:out"), 2);
	cr_assert_eq(server_number(&server, "HGET {test}:task:there attempts"), 1);
}

/* The clock was set back, or two tasks start in one microsecond. */
Test(functions, an_epoch_is_later_than_the_last_one_whatever_the_clock_says)
{
	char id[8], command[128];

	make("SET {test}:epoch 7");
	make("HSET {test}:numbers epoch 9000000000000000");
	for (int i = 1; i < 4; i++) {
		const char *record;

		snprintf(id, sizeof(id), "task%d", i);
		make_waiting(id, i);
		snprintf(command, sizeof(command),
		         "FCALL baton_admit 1 {test} 7 0-0 0-0 start %s 2 100 50", id);
		cr_assert_str_eq(answer(command), "");
		record = server_text(&server, "HGET {test}:run %s", id);
		/* kind, class, epoch, start, number, owner */
		snprintf(command, sizeof(command), "1:2:900000000000000%d:50:%d:", i, i);
		cr_assert_str_eq(record, command);
	}
}

/* A backend leaves while it runs a task: what becomes of the task, by its attempts. */
Test(functions, a_task_whose_backend_leaves_is_withdrawn_or_fails_or_waits_again)
{
	static const struct {
		int attempts, attempts_max;
		const char *withdrawn; /* a field and its value, or none */
		const char *told;
	} rows[] = {
		{1, 2, "", "lost"},
		{2, 2, "", "failed"},
		{1, 2, "withdrawn 1", "withdrawn"},
		{2, 2, "withdrawn 1", "withdrawn"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char command[160];

		snprintf(command, sizeof(command),
		         "HSET {test}:task:left kind 1 token t attempts %d attempts_max %d %s",
		         rows[i].attempts, rows[i].attempts_max, rows[i].withdrawn);
		make("FLUSHDB");
		make(command);
		make("HSET {test}:run left 1:1:5:50:3:one");
		make("SADD {test}:held:one left");
		make("XADD {test}:note:left * what running");
		make("FCALL baton_leave 1 {test} one");
		cr_assert_str_eq(server_text(&server, "EVAL %s 1 {test}:note:left",
		                             "return redis.call('XREVRANGE', KEYS[1], '+', '-', "
		                             "'COUNT', 1)[1][2][2]"),
		                 rows[i].told, "row %zu", i);
	}
}

/* The answer of the first take was lost. */
Test(functions, a_take_that_is_repeated_is_answered_again_and_anothers_is_not)
{
	static const char *const names[] = {"one", "one", "two", "one"};
	char command[128];

	make_waiting("task", 1);
	make("HSET {test}:task:task command true attempts 1");
	make("HSET {test}:run task 1:1:5:50:1:");
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct redisReply *reply;

		snprintf(command, sizeof(command),
		         "FCALL baton_take 1 {test} %s address 60000 0-1 task 5", names[i]);
		reply = server_ask(&server, command);
		cr_assert_eq(reply->type, REDIS_REPLY_ARRAY, "%s", reply->str);
		cr_assert_eq(reply->elements, names[i][0] == 'o' ? 3 : 0, "take %zu", i);
		freeReplyObject(reply);
	}
}

/* The leader, whose connection was lost, leads anew at once; another learns how long to wait. */
Test(functions, who_leads_may_lead_again)
{
	static const char *const tokens[] = {"one", "one", "two", "one"};
	long long epoch = 0;

	for (size_t i = 0; i < sizeof(tokens) / sizeof(tokens[0]); i++) {
		struct redisReply *reply = server_ask(
			&server, "FCALL baton_lead 1 {test} %s 60000 3 0 0 0 -", tokens[i]);
		const bool leads = tokens[i][0] == 'o';

		cr_assert_eq(reply->type, REDIS_REPLY_ARRAY, "%s", reply->str);
		cr_assert_eq(reply->elements, leads ? 5 : 3, "%zu", i);
		cr_assert_eq(strtoll(reply->element[0]->str, NULL, 10) > epoch, leads);
		if (leads)
			epoch = strtoll(reply->element[0]->str, NULL, 10);
		freeReplyObject(reply);
		cr_assert_eq(server_number(&server, "GET {test}:epoch"), epoch);
	}
}

/* All that the server has, as a text. */
static void dump(char *text, size_t size)
{
	struct redisReply *reply =
		server_ask(&server, "EVAL %s 0",
	                   "local keys, all = redis.call('KEYS', '*'), {} "
	                   "table.sort(keys) "
	                   "for i = 1, #keys do "
	                   "all[i] = keys[i] .. ' ' .. redis.sha1hex(redis.call('DUMP', keys[i])) "
	                   "end "
	                   "return table.concat(all, ' ')");

	cr_assert_eq(reply->type, REDIS_REPLY_STRING, "%s", reply->str);
	cr_assert_lt(reply->len, size);
	snprintf(text, size, "%s", reply->str);
	freeReplyObject(reply);
}

/* A key of a task, or of the backend that runs it, holds something of another program. */
Test(functions, a_foreign_key_is_refused_before_anything_is_written)
{
	static const struct {
		const char *key, *call;
	} rows[] = {
		{"orders:one", "baton_withdraw 1 {test} runs t"},
		{"task:waits", "baton_admit 1 {test} 7 9-0 9-0 start waits 1 100 50"},
		{"task:waits", "baton_admit 1 {test} 7 9-0 9-0 halt runs 1 0 0 start waits 1 1 5"},
		{"orders:one", "baton_renew 1 {test} one - 1000"},
		{"held:one", "baton_renew 1 {test} one - 1000"},
		{"orders:one", "baton_take 1 {test} one - 1000 0-1 runs 8"},
		{"task:runs", "baton_take 1 {test} one - 1000 0-1 runs 8"},
		{"orders:one", "baton_effect 1 {test} runs 8 data"},
		{"task:runs", "baton_effect 1 {test} runs 8 data"},
		{"orders:one", "baton_finish 1 {test} runs 8 0 exit 1 data"},
		{"task:runs", "baton_finish 1 {test} runs 8 0 exit 1 data"},
	};
	static char before[4096], after[4096];
	char command[128];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *text;

		make("FLUSHALL");
		make("SET {test}:epoch 7");
		make("HSET {test}:run runs 1:1:8:50:1:one");
		make("HSET {test}:task:runs kind 1 token t");
		make("XADD {test}:out 0-1 id runs");
		make("XGROUP CREATE {test}:out backends 0");
		make("XADD {test}:in 1-0 id waits");
		make_waiting("waits", 2);
		snprintf(command, sizeof(command), "DEL {test}:%s", rows[i].key);
		make(command);
		snprintf(command, sizeof(command), "LPUSH {test}:%s foreign", rows[i].key);
		make(command);
		dump(before, sizeof(before));
		snprintf(command, sizeof(command), "FCALL %s", rows[i].call);
		text = server_text(&server, command);
		cr_assert_eq(strncmp(text, "EFOREIGN ", 9), 0, "%s: %s", command, text);
		dump(after, sizeof(after));
		cr_assert_str_eq(after, before, "%s", command);
	}
}

/* A renewal keeps a task for a minute, if it is not kept longer. */
Test(functions, a_start_and_a_renewal_shorten_no_life)
{
	static const struct {
		const char *life, *call;
		long least_ms, most_ms;
	} rows[] = {
		{"90000", "baton_admit 1 {test} 7 9-0 9-0 start task 1 100 50", 80000, 90000},
		{"30000", "baton_admit 1 {test} 7 9-0 9-0 start task 1 100 50", 20000, 30000},
		{"90000", "baton_renew 1 {test} one - 1000 task 8", 80000, 90000},
		{"30000", "baton_renew 1 {test} one - 1000 task 8", 50000, 60000},
	};
	char command[128];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		long life_ms;

		make("FLUSHALL");
		make("SET {test}:epoch 7");
		make_waiting("task", 1);
		if (strstr(rows[i].call, "renew")) {
			make("ZREM {test}:queue task");
			make("HSET {test}:run task 1:1:8:50:1:one");
		}
		snprintf(command, sizeof(command), "ZADD {test}:kept %s task", rows[i].life);
		make(command);
		snprintf(command, sizeof(command), "FCALL %s", rows[i].call);
		make(command);
		life_ms = server_number(&server, "ZSCORE {test}:kept task");
		cr_assert(life_ms > rows[i].least_ms && life_ms <= rows[i].most_ms, "%zu: %ld", i,
		          life_ms);
	}
}

Test(functions, a_refusal_names_the_task)
{
	static const char *const calls[][2] = {
		{"baton_keep 1 {test} task other 1000", "ENOENT there is no task task of this"},
		{"baton_withdraw 1 {test} task other", "ENOENT there is no task task of this"},
		{"baton_forget 1 {test} task t", "EBUSY the task task is not over"},
		{"baton_submit 1 {test} task other 1 1 1 x", "EEXIST a task with the id task is"},
		{"baton_submit 1 {test} another t 5 1 1 x", "ECLASS there is no class 5: the "
	                                                    "scheduler has 3 classes, from 0 on"},
		{"baton_effect 1 {test} task 8 x", "ESTALE the task task is another backend's"},
	};
	char command[128];

	make("HSET {test}:numbers classes 3");
	make_waiting("task", 1);
	make("XADD {test}:note:task * what waiting");
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		const char *text;

		snprintf(command, sizeof(command), "FCALL %s", calls[i][0]);
		text = server_text(&server, command);
		cr_assert_eq(strncmp(text, calls[i][1], strlen(calls[i][1])), 0, "%s: %s", command,
		             text);
	}
}
