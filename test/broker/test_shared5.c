/* SPDX-License-Identifier: MIT */
/* Shared subscriptions of clients of MQTT 5: options, identifiers, windows, codes. */
#include "client.h"

#include <stdio.h>
#include <string.h>

#include "server.h"
#include "shared.h"

#define OURS .mosquitto = "is tested by the stories without MQTT 5"

/* Its payload is its QoS. */
static void publish_retained(struct client *publisher, unsigned int qos, unsigned int id)
{
	if (qos == 0) {
		say(publisher, "PUBLISH retain q0 t 0");
		return;
	}
	say(publisher, "PUBLISH retain q%u id%u t %u", qos, id, qos);
	expect(publisher, qos == 1 ? "PUBACK %u" : "PUBREC %u", id);
	if (qos == 1)
		return;
	say(publisher, "PUBREL %u", id);
	expect(publisher, "PUBCOMP %u", id);
}

/* Of one message each member gets what it has asked for. */
STORY(shared_five_options_are_the_member_s, OURS)
{
	struct client *publisher = join("publisher clean"), *five = join("five v5 clean");
	struct client *three = join("three clean");
	char words[256];

	snprintf(words, sizeof(words), "SUBSCRIBE 900 sid=7 %s,rap", shared("g", "t:1"));
	say(five, "%s", words);
	expect(five, "SUBACK 900 1");
	subscribe(three, shared("g", "t:2"));
	for (unsigned int qos = 0; qos < 3; qos++) {
		for (unsigned int id = 1; id <= 2; id++)
			publish_retained(publisher, qos, id);
		if (qos == 0) {
			expect(five, "PUBLISH retain q0 sid=7 t 0");
			expect(three, "PUBLISH q0 t 0");
		} else {
			expect(five, "PUBLISH retain q1 id%u sid=7 t %u", qos, qos);
			say(five, "PUBACK %u", qos);
			ping(five);
			expect(three, "PUBLISH q%u id%u t %u", qos, qos, qos);
			say(three, qos == 1 ? "PUBACK %u" : "PUBREC %u", qos);
			if (qos == 2)
				expect(three, "PUBREL %u", qos);
			ping(three);
		}
	}
}

/* What comes back has nothing of the one that had it first. */
STORY(shared_five_options_do_not_come_back_with_a_message, OURS)
{
	struct client *publisher = join("publisher clean"), *five = join("five v5 clean");
	struct client *three = join("three clean");

	say(five, "SUBSCRIBE 900 sid=7 %s,rap", shared("g", "t:1"));
	expect(five, "SUBACK 900 1");
	say(publisher, "PUBLISH retain q2 id1 t x");
	expect(publisher, "PUBREC 1");
	expect(five, "PUBLISH retain q1 id1 sid=7 t x");
	subscribe(three, shared("g", "t:2"));
	client_vanish(five);
	expect(three, "PUBLISH q2 id1 t x");
}

/* MQTT 5, 4.9: the receive maximum is the member's window. */
STORY(shared_five_window_is_the_receive_maximum, OURS)
{
	struct client *publisher = join("publisher clean");
	struct client *narrow = join("narrow v5 clean receive=2"), *wide = join("wide v5 clean");

	subscribe(narrow, shared("g", "t:1"));
	subscribe(wide, shared("g", "t:1"));
	for (int i = 0; i < 8; i++)
		publish(publisher, 1, "t %d", i);
	for (int i = 1; i <= 2; i++)
		check(client_next(narrow, story_limit(CLIENT_PATIENCE_MS)) != NULL, "%d came", i);
	for (int i = 1; i <= 6; i++)
		check(client_next(wide, story_limit(CLIENT_PATIENCE_MS)) != NULL, "%d came", i);
	expect_silence(narrow, 50);
	say(narrow, "PUBACK 1");
	ping(narrow);
	publish(publisher, 1, "t next");
	expect(narrow, "PUBLISH q1 id3 t next");
	say(narrow, "PUBACK 2");
	ping(narrow);
	client_vanish(narrow);
	expect(wide, "PUBLISH q1 id7 t next");
}

/* 4.3.3, 4.8.2: a PUBREC with an error ends it; no other member gets the message. */
STORY(shared_five_refused_at_qos_2_is_done, OURS)
{
	struct client *publisher = join("publisher clean");
	struct client *members[2] = {join("a v5 clean receive=1"), join("b v5 clean receive=1")};

	for (int i = 0; i < 2; i++)
		subscribe(members[i], shared("g", "t:2"));
	publish(publisher, 2, "t one");
	publish(publisher, 2, "t two");
	expect(members[0], "PUBLISH q2 id1 t one");
	expect(members[1], "PUBLISH q2 id1 t two");
	publish(publisher, 2, "t three");
	expect_silence(members[1], 50);
	say(members[0], "PUBREC 1 0x80");
	expect(members[0], "PUBLISH q2 id2 t three");
	expect_silence(members[1], 50);
}

/* 3.1.2.11.4: a message that is too large for a member counts as done. */
STORY(shared_five_too_large_is_done, OURS)
{
	struct client *publisher = join("publisher clean");
	struct client *client = join("a v5 clean receive=1 packet-max=100");
	char payload[301] = "";

	memset(payload, 'x', sizeof(payload) - 1);
	subscribe(client, shared("g", "t:1"));
	for (int i = 0; i < 3; i++)
		publish(publisher, 1, "t %s", payload);
	publish(publisher, 1, "t small");
	expect(client, "PUBLISH q1 id1 t small");
}

STORY(shared_five_message_expires_in_the_group, OURS)
{
	struct client *publisher = join("publisher v5 clean");
	struct client *member = join_new("a v5 expiry=100");

	subscribe(member, shared("g", "t:1"));
	leave(member);
	say(publisher, "PUBLISH q1 id1 expiry=1 t short");
	expect(publisher, "PUBACK 1");
	say(publisher, "PUBLISH q1 id2 expiry=100 t long");
	expect(publisher, "PUBACK 2");
	story_sleep(1200);
	member = resume("a v5 expiry=100");
	check(strstr(client_next(member, story_limit(CLIENT_PATIENCE_MS)), "t long") != NULL,
	      "the message is there that has expired");
	expect_silence(member, 50);
}
