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
		                           "60000 60000 4 1 0 0 0-0 0",
		                           i / 2));
	/* Each stream begins with a hello. */
	cr_assert_eq(server_number(&server, "XLEN {test}:remote:to:node0"), 2);
	cr_assert_eq(server_number(&server, "XLEN {test}:remote:to:node1"), 1);
}

/* Each renewal has a number; of the leases of the other nodes a node learns how long they last. */
Test(remote_functions, a_node_learns_of_the_last_renewal_of_each_other_node)
{
	static const struct {
		const char *node, *leases; /* kind, node, renewal, ms */
	} rows[] = {
		{"n0 50000", ""},
		{"n1 20000", "leases n0 1 50000 keeps n0 1 60000"},
		{"n0 50000", "leases n1 2 20000 keeps n1 2 60000"},
		{"n1 30000", "leases n0 3 50000 keeps n0 3 60000"},
		{"n2 70000",
	         "leases n0 3 50000 leases n1 4 30000 keeps n0 3 60000 keeps n1 4 60000"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char command[128], leases[256] = "";
		struct redisReply *reply;

		snprintf(command, sizeof(command),
		         "FCALL baton_remote_balance 1 {test} %s 60000 4 1 0 0 0-0 0",
		         rows[i].node);
		reply = server_ask(&server, command);
		cr_assert(reply->type == REDIS_REPLY_ARRAY && reply->elements == 7);
		for (size_t k = 0; k < reply->element[6]->elements; k++)
			snprintf(leases + strlen(leases), sizeof(leases) - strlen(leases), "%s%s",
			         k ? " " : "", reply->element[6]->element[k]->str);
		cr_assert_str_eq(leases, rows[i].leases);
		freeReplyObject(reply);
	}
}

/* "epoch:node" of a partition. */
static const char *owner_of(unsigned partition)
{
	return server_text(&server, "HGET {test}:remote:owners %u", partition);
}

/* Whoever has watched a lease names the renewal that it has seen. */
Test(remote_functions, a_lease_that_was_renewed_since_is_not_ended)
{
	static const struct {
		const char *over, *owner;
		int kept; /* the keys of node0 */
	} rows[] = {{"leases node0 1", ":node0", 2},
	            {"keeps node0 1", ":node0", 2},
	            {"leases node0 3", ":node1", 2},
	            {"leases node0 3", ":node1", 2},
	            {"keeps node0 3", ":node1", 0}};
	static const char *const renewals[] = {"node0", "node1", "node0"};

	for (size_t i = 0; i < 3; i++)
		freeReplyObject(server_ask(&server,
		                           "FCALL baton_remote_balance 1 {test} %s 60000 60000 4 1 "
		                           "0 0 0-0 0",
		                           renewals[i]));
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char command[128];

		snprintf(command, sizeof(command),
		         "FCALL baton_remote_balance 1 {test} node1 60000 60000 4 1 0 0 0-0 0 %s",
		         rows[i].over);
		make(command);
		for (unsigned k = 0; k < 4; k++)
			cr_assert_str_eq(strchr(owner_of(k), ':'), rows[i].owner, "%zu", i);
		cr_assert_eq(server_number(&server, "EXISTS {test}:remote:to:node0 "
		                                    "{test}:remote:seq:node0"),
		             rows[i].kept, "%zu", i);
	}
}

/* A space has more partitions than one call moves. */
Test(remote_functions, a_call_moves_some_of_the_partitions)
{
	long epoch = 0;

	for (int call = 0; call < 3; call++) {
		struct redisReply *reply = server_ask(
			&server,
			"FCALL baton_remote_balance 1 {test} node 60000 60000 600 1 0 %ld "
			"0-0 0",
			epoch);
		struct redisReply *own;

		cr_assert(reply->type == REDIS_REPLY_ARRAY && reply->elements == 7);
		own = reply->element[4];
		cr_assert_eq(own->elements, call < 2 ? 500 : 200, "%zu", own->elements);
		cr_assert_eq(reply->element[5]->integer, call < 2);
		for (size_t i = 0; i < own->elements; i += 2) {
			cr_assert(strtol(own->element[i + 1]->str, NULL, 10) > epoch);
			epoch = strtol(own->element[i + 1]->str, NULL, 10);
		}
		freeReplyObject(reply);
	}
	cr_assert_eq(server_number(&server, "HLEN {test}:remote:owners"), 600);
	/* Who leaves gives in parts, too: to another node, or to nobody. */
	make("FCALL baton_remote_balance 1 {test} heir 60000 60000 600 1 0 0 0-0 0");
	cr_assert_eq(server_number(&server, "FCALL baton_remote_leave 1 {test} node"), 350);
	cr_assert_eq(server_number(&server, "FCALL baton_remote_leave 1 {test} node"), 100);
	cr_assert_eq(server_number(&server, "FCALL baton_remote_leave 1 {test} node"), 0);
	cr_assert_eq(server_number(&server, "ZSCORE {test}:remote:shares heir"), 600);
	for (int left = 350; left >= 0; left = left > 250 ? left - 250 : left ? 0 : -1)
		cr_assert_eq(server_number(&server, "FCALL baton_remote_leave 1 {test} heir"),
		             left);
	cr_assert_eq(server_number(&server, "DBSIZE"), 1, "the numbers alone are left");
}

/* A node may hear 100,000 entries before it says so. */
Test(remote_functions, a_call_deletes_some_of_what_a_node_has_heard)
{
	static const char hears[] =
		"FCALL baton_remote_balance 1 {test} node 60000 60000 4 0 0 0 9999-0 0";
	long long left = 5000;

	make(hears);
	freeReplyObject(server_ask(&server, "EVAL %s 1 {test}:remote:to:node",
	                           "redis.call('DEL', KEYS[1]) for i = 1, 5000 do "
	                           "redis.call('XADD', KEYS[1], i .. '-0', 'what', 'message') "
	                           "end return 1"));
	for (int call = 0; call < 20; call++) {
		long long now;

		make(hears);
		now = server_number(&server, "XLEN {test}:remote:to:node");
		cr_assert(left - now <= 500 && (now < left || now == 0), "%lld, %lld", left, now);
		left = now;
	}
	cr_assert_eq(left, 0);
}

/* Two nodes; the first owns all four partitions. */
static void make_owner(void)
{
	make("FCALL baton_remote_balance 1 {test} node0 60000 60000 4 1 0 0 0-0 0");
	make("FCALL baton_remote_balance 1 {test} node1 60000 60000 4 1 0 0 0-0 0");
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

/* A node whose lease is over gets nothing. */
Test(remote_functions, who_leaves_gives_nothing_to_a_lost_node)
{
	char command[96];

	make("FCALL baton_remote_balance 1 {test} lost 60000 60000 4 1 0 0 0-0 0");
	make("FCALL baton_remote_balance 1 {test} last 60000 60000 4 1 0 0 0-0 0");
	snprintf(command, sizeof(command), "FCALL baton_remote_release 1 {test} lost 2 %s",
	         owner_of(2));
	strchr(strrchr(command, ' '), ':')[0] = '\0';
	make(command);
	cr_assert_str_eq(strchr(owner_of(2), ':'), ":last");
	make("FCALL baton_remote_leave 1 {test} last leases lost 1");
	cr_assert_str_eq(strchr(owner_of(2), ':'), ":");
	/* The next node takes all. */
	make("FCALL baton_remote_balance 1 {test} next 60000 60000 4 1 0 0 0-0 0");
	for (unsigned i = 0; i < 4; i++)
		cr_assert_str_eq(strchr(owner_of(i), ':'), ":next");
}
