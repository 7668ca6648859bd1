/* SPDX-License-Identifier: MIT */
/* Shared subscriptions with a store: what is there after a restart. At random: test_shared_chaos.c.
 */
#include "client.h"
#include "server.h"
#include "shared.h"
#include "store_file.h"

#define OURS .mosquitto = "has a store of its own"

STORY(shared_store_keeps_group_members_and_queue, OURS)
{
	struct client *publisher, *members[2];

	store_start("");
	members[0] = join_new("a");
	members[1] = join_new("b");
	for (int i = 0; i < 2; i++)
		subscribe(members[i], shared("g", "t/+:2"));
	for (int i = 0; i < 2; i++)
		leave(members[i]);
	publisher = join("publisher clean");
	publish(publisher, 1, "t/x one");
	publish(publisher, 2, "t/x two");
	store_kill();
	store_start("");
	members[1] = resume("b");
	expect(members[1], "PUBLISH q1 id1 t/x one");
	expect(members[1], "PUBLISH q2 id2 t/x two");
	publisher = join("publisher clean");
	publish(publisher, 1, "t/y three");
	expect(members[1], "PUBLISH q1 id3 t/y three");
	members[0] = resume("a");
	publish(publisher, 1, "t/y four");
	expect(members[0], "PUBLISH q1 id1 t/y four");
	expect_silence(members[1], 50);
}

/* QoS 1 goes to another; QoS 2 stays, as the client may have it. */
STORY(shared_store_knows_what_was_sent, OURS)
{
	struct client *publisher, *members[2];

	store_start("");
	members[0] = join_new("a");
	members[1] = join_new("b");
	subscribe(members[0], shared("g", "t:2"));
	publisher = join("publisher clean");
	publish(publisher, 1, "t one");
	publish(publisher, 2, "t two");
	publish(publisher, 2, "t three");
	expect(members[0], "PUBLISH q1 id1 t one");
	expect(members[0], "PUBLISH q2 id2 t two");
	expect(members[0], "PUBLISH q2 id3 t three");
	say(members[0], "PUBREC 2");
	expect(members[0], "PUBREL 2");
	subscribe(members[1], shared("g", "t:2"));
	store_kill();
	store_start("");
	members[1] = resume("b");
	expect(members[1], "PUBLISH q1 id1 t one");
	say(members[1], "PUBACK 1");
	expect_silence(members[1], 50);
	members[0] = resume("a");
	expect(members[0], "PUBREL 2");
	expect(members[0], "PUBLISH dup q2 id3 t three");
	expect_silence(members[0], 50);
}

/* What was begun is the client's own from its UNSUBSCRIBE on. */
STORY(shared_store_unsubscribe_takes_what_has_begun, OURS)
{
	struct client *publisher, *members[2];

	store_start("");
	members[0] = join_new("a");
	members[1] = join_new("b");
	subscribe(members[0], shared("g", "t:1"));
	publisher = join("publisher clean");
	publish(publisher, 1, "t one");
	expect(members[0], "PUBLISH q1 id1 t one");
	subscribe(members[1], shared("g", "t:1"));
	unsubscribe(members[0], shared("g", "t"));
	publish(publisher, 1, "t two"); /* and its commit */
	expect(members[1], "PUBLISH q1 id1 t two");
	store_kill();
	store_start("");
	members[1] = resume("b");
	expect(members[1], "PUBLISH q1 id1 t two");
	expect_silence(members[1], 50);
	members[0] = resume("a");
	expect(members[0], "PUBLISH dup q1 id1 t one");
}

/* The group leaves nothing in the file. */
STORY(shared_store_forgets_a_group_that_has_ended, OURS)
{
	struct client *publisher, *member;

	store_start("");
	member = join_new("a");
	subscribe(member, shared("g", "t:2"));
	leave(member);
	publisher = join("publisher clean");
	for (int i = 0; i < 5; i++)
		publish(publisher, 1 + (unsigned int)i % 2, "t %d", i);
	leave(join("a clean"));
	ping(publisher);
	check(server_stop() == 0, "no end");
	store_check(0, "0 rows of queues");
	store_check(0, "0 messages\n");
	store_check(0, "\n0 sessions");
}
