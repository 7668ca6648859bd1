/* SPDX-License-Identifier: MIT */
/* What the server's functions of a space answer, called directly. */
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

TestSuite(remote_functions, .timeout = 30, .init = start, .fini = stop);

static void make(const char *command)
{
	freeReplyObject(server_ask(&server, command));
}

/* Whoever joins tells those that own too much, and who renews a lease does not. */
Test(remote_functions, a_node_that_joins_wakes_the_others)
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
Test(remote_functions, a_node_learns_when_the_next_lease_of_another_ends)
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

/* Two nodes; the first owns all four partitions. */
static void make_owner(void)
{
	make("FCALL baton_remote_balance 1 {test} node0 60000 60000 4 1 0 0-0 0");
	make("FCALL baton_remote_balance 1 {test} node1 60000 60000 4 1 0 0-0 0");
}

/* "epoch:node" of a partition. */
static const char *owner_of(unsigned partition)
{
	return server_text(&server, "HGET {test}:remote:owners %u", partition);
}

/* A release that comes late names the epoch under which the node owned the partition then. */
Test(remote_functions, a_release_under_an_older_epoch_gives_nothing_away)
{
	char command[96];
	char owner[48];

	make_owner();
	snprintf(owner, sizeof(owner), "%s", owner_of(2));
	cr_assert_str_eq(strchr(owner, ':'), ":node0");
	make("FCALL baton_remote_release 1 {test} node0 2 1");
	cr_assert_str_eq(owner_of(2), owner);
	*strchr(owner, ':') = '\0';
	snprintf(command, sizeof(command), "FCALL baton_remote_release 1 {test} node0 2 %s", owner);
	make(command);
	cr_assert_str_eq(strchr(owner_of(2), ':'), ":node1");
}

/* One commit with a task of a partition that the node has lost, which has an effect and two
 * messages, and behind it a task that counts. */
Test(remote_functions, behind_a_task_that_does_not_count_a_commit_goes_on)
{
	struct redisReply *reply;
	char entry[64], epoch[48];

	make_owner();
	for (int i = 0; i < 2; i++)
		make("FCALL baton_remote_submit 1 {test} node1 0-0 0 1 1 name data");
	snprintf(epoch, sizeof(epoch), "%s", owner_of(1));
	*strchr(epoch, ':') = '\0';
	snprintf(entry, sizeof(entry), "%s",
	         server_text(&server, "EVAL %s 1 {test}:remote:in:1",
	                     "return redis.call('XRANGE', KEYS[1], '-', '+')[1][1]"));
	reply = server_ask(&server,
	                   "FCALL baton_remote_commit 1 {test} node0 0-0 100 2 "
	                   "0 1 0-1 gone set state node1 7 0 answer 1 2 effect node1 a node1 b "
	                   "1 %s %s name set changed node1 1 0 answer 1 1 effect node1 hello",
	                   epoch, entry);
	cr_assert(reply->type == REDIS_REPLY_ARRAY && reply->elements == 1, "%s", reply->str);
	cr_assert_str_eq(reply->element[0]->str, "0");
	freeReplyObject(reply);
	cr_assert_str_eq(server_text(&server, "HGET {test}:remote:state:1 name"), "changed");
	cr_assert_eq(server_number(&server, "XLEN {test}:remote:effects"), 1);
	cr_assert_eq(server_number(&server, "EXISTS {test}:remote:state:0"), 0);
	/* A hello, the message, the answer. */
	cr_assert_eq(server_number(&server, "XLEN {test}:remote:to:node1"), 3);
}

/* A node whose lease is over, and of which no call has come since, gets nothing, and counts no
 * more. */
Test(remote_functions, who_leaves_gives_nothing_to_a_lost_node)
{
	make("FCALL baton_remote_balance 1 {test} lost 60000 60000 4 1 0 0-0 0");
	make("FCALL baton_remote_balance 1 {test} last 60000 60000 4 1 0 0-0 0");
	make("ZADD {test}:remote:nodes 1 lost");
	make("HSET {test}:remote:owners 0 5:last");
	make("FCALL baton_remote_leave 1 {test} last");
	cr_assert_eq(server_number(&server, "EXISTS {test}:remote:owners"), 0);
}
