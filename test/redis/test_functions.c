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

/* Whoever joins tells those that own too much, and who renews a lease does not. */
Test(functions, a_node_that_joins_wakes_the_others)
{
	for (int i = 0; i < 3; i++)
		freeReplyObject(server_ask(&server,
		                           "FCALL baton_remote_balance 1 {test} node%d "
		                           "60000 60000 4 1 0 0-0 0",
		                           i / 2));
	/* Each stream begins with a hello. */
	cr_assert_eq(server_number(&server, "XLEN {test}:remote:to:node0"), 2);
	cr_assert_eq(server_number(&server, "XLEN {test}:remote:to:node1"), 1);
}

/* Of the leases of the other nodes the one that ends first; alone a node has none to wait for. */
Test(functions, a_node_learns_when_the_next_lease_of_another_ends)
{
	static const struct {
		unsigned node, lease_ms;
		long next_ms;
	} rows[] = {{0, 50000, -1},    {1, 20000, 50000}, {2, 60000, 20000}, {0, 50000, 20000},
	            {1, 20000, 50000}, {1, 90000, 50000}, {0, 50000, 60000}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct redisReply *reply = server_ask(
			&server, "FCALL baton_remote_balance 1 {test} n%u %u 60000 4 1 0 0-0 0",
			rows[i].node, rows[i].lease_ms);
		long next;

		cr_assert(reply->type == REDIS_REPLY_ARRAY && reply->elements == 5);
		next = strtol(reply->element[2]->str, NULL, 10);
		cr_assert(next <= rows[i].next_ms && next > rows[i].next_ms - 5000, "%zu: %ld", i,
		          next);
		freeReplyObject(reply);
	}
}
