/* SPDX-License-Identifier: MIT */
/* Connections of MQTT 5: what CONNACK says, what a client is told, what it may not do. */
#include "client.h"

#include <stdio.h>
#include <string.h>

#include "packet.h"
#include "server.h"

STORY(five_is_welcome, .mosquitto = "has other limits")
{
	struct client *client;

	start_server("");
	client = open_client("a");
	say(client, "CONNECT a v5 clean");
	expect(client, "CONNACK 0 0 packet-max=1048576 alias-max=10");
	ping(client);
}

STORY(five_connack_says_what_is_not_as_asked, .mosquitto = "has other options")
{
	struct client *client;

	start_server("--receive-maximum 7 --max-packet 5000 --max-topic-alias 0"
	             " --max-keepalive 20 --session-expiry 100");
	client = open_client("a");
	say(client, "CONNECT a v5 clean alive=60 expiry=1000");
	expect(client, "CONNACK 0 0 expiry=100 receive=7 packet-max=5000 alive=20");
	client = open_client("b");
	say(client, "CONNECT b v5 clean alive=19 expiry=99");
	expect(client, "CONNACK 0 0 receive=7 packet-max=5000");
}

STORY(five_keep_alive_of_the_broker_holds,
      .mosquitto = "has other options", .five = "is of both versions")
{
	struct client *client;

	start_server("--max-keepalive 1");
	client = join("a v5 clean alive=0");
	expect_end(client, "DISCONNECT 0x8d");
	/* 3.1.1 has no word for it. */
	client = join("b clean alive=0");
	expect_silence(client, 3000);
}

/* The id that CONNACK has given. */
static const char *assigned(struct client *client)
{
	static char id[PACKET_WORDS_MAX];
	const char *got = client_next(client, story_limit(CLIENT_PATIENCE_MS));
	const char *found = got != NULL ? strstr(got, " assigned=") : NULL;

	check(found != NULL, "got %s", got);
	snprintf(id, sizeof(id), "%s", found + strlen(" assigned="));
	id[strcspn(id, " ")] = '\0';
	return id;
}

STORY(five_empty_id_is_assigned, .timeout = 20)
{
	struct client *client = open_client("nobody"), *publisher = join("publisher clean");
	char first[100], again[160];

	say(client, "CONNECT - v5 expiry=100");
	snprintf(first, sizeof(first), "%s", assigned(client));
	check(strlen(first) >= 5 + 32, "short: %s", first);
	leave(client);
	client = open_client("another");
	say(client, "CONNECT - v5 clean expiry=100");
	check(strcmp(first, assigned(client)) != 0, "twice %s", first);
	/* It is an id as any other. */
	snprintf(again, sizeof(again), "^%s", first);
	client = resume(again);
	subscribe(client, "t:0");
	publish(publisher, 1, "t hello");
	expect(client, "PUBLISH q0 t hello");
}

/* [MQTT-3.3.4-9] */
STORY(five_receive_maximum_is_kept, .mosquitto = "counts in another way")
{
	struct client *client;

	start_server("--receive-maximum 2");
	client = join("a v5 clean");
	for (int i = 0; i < 10; i++) {
		publish(client, 1, "t x");
		publish(client, 2, "t x");
		say(client, "PUBLISH q2 id50 ^$SYS/x refused");
		expect(client, "PUBREC 50 0x87");
	}
	say(client, "PUBLISH q2 id100 t x");
	say(client, "PUBLISH q2 id101 t x");
	expect(client, "PUBREC 100 16");
	expect(client, "PUBREC 101 16");
	say(client, "PUBREL 100");
	expect(client, "PUBCOMP 100");
	say(client, "PUBREL 77"); /* gives no room */
	expect(client, "PUBCOMP 77 0x92");
	say(client, "PUBLISH q1 id102 t x");
	expect(client, "PUBACK 102 16");
	say(client, "PUBLISH q2 id103 t x");
	expect(client, "PUBREC 103 16");
	say(client, "PUBLISH q1 id104 t x");
	expect_end(client, "DISCONNECT 0x93");
}

STORY(five_topic_aliases_stand_for_topics)
{
	struct client *heir = join("heir clean"), *client = join("a v5");

	subscribe(heir, "t:0 u:0");
	say(client, "PUBLISH q0 alias=1 t one");
	say(client, "PUBLISH q0 alias=1 ^ two");
	say(client, "PUBLISH q0 alias=10 u three");
	say(client, "PUBLISH q0 alias=10 ^ four");
	say(client, "PUBLISH q0 alias=1 u five");
	say(client, "PUBLISH q0 alias=1 ^ six");
	expect(heir, "PUBLISH q0 t one");
	expect(heir, "PUBLISH q0 t two");
	expect(heir, "PUBLISH q0 u three");
	expect(heir, "PUBLISH q0 u four");
	expect(heir, "PUBLISH q0 u five");
	expect(heir, "PUBLISH q0 u six");
	/* They end with the connection. */
	leave(client);
	client = join("a v5");
	say(client, "PUBLISH q0 alias=1 ^ seven");
	expect_end(client, "DISCONNECT 0x82");
	expect_silence(heir, 100);
}

STORY(five_tells_no_problems_to_who_wants_none, .mosquitto = "says nothing in words")
{
	struct client *client = join("a v5 clean problem=0");

	say(client, "PUBLISH q0 alias=11 t x");
	expect(client, "DISCONNECT 0x94");
	expect_closed(client);
}

STORY(five_reason_string_has_to_fit, .mosquitto = "says nothing in words")
{
	struct client *client = open_client("a");

	say(client, "CONNECT a v5 clean packet-max=40");
	client_next(client, story_limit(CLIENT_PATIENCE_MS));
	say(client, "PUBLISH q0 alias=11 t x");
	expect(client, "DISCONNECT 0x94");
	expect_closed(client);
}

STORY(five_connect_with_errors_is_answered, .mosquitto = "answers some of them by silence")
{
	static const char *const connects[][2] = {
		/* A wildcard in the will topic; a reserved flag; expiry twice; receive maximum 0 */
		{"10 15 00 04 'MQTT' 05 06 00 3c 00 00 01 'a' 00 00 01 '#' 00 01 'x'",
	         "CONNACK 0 0x90"},
		{"10 0e 00 04 'MQTT' 05 03 00 3c 00 00 01 'a'", "CONNACK 0 0x81"},
		{"10 18 00 04 'MQTT' 05 02 00 3c 0a 11 00 00 00 01 11 00 00 00 01 00 01 'a'",
	         "CONNACK 0 0x82"},
		{"10 11 00 04 'MQTT' 05 02 00 3c 03 21 00 00 00 01 'a'", "CONNACK 0 0x82"},
	};

	for (size_t i = 0; i < sizeof(connects) / sizeof(*connects); i++) {
		struct client *client = open_client("a");

		client->version = 5;
		say_hex(client, connects[i][0]);
		expect(client, "%s", connects[i][1]);
		expect_closed(client);
	}
}

STORY(five_acknowledgements_have_reasons, .mosquitto = "has fewer reasons")
{
	struct client *client = join("a v5 clean"), *old = join("old clean");

	say(client, "PUBLISH q1 id1 nobody x");
	expect(client, "PUBACK 1 16");
	say(client, "PUBLISH q2 id2 nobody x");
	expect(client, "PUBREC 2 16");
	say(client, "PUBREL 2");
	expect(client, "PUBCOMP 2");
	say(client, "PUBREL 2");
	expect(client, "PUBCOMP 2 0x92");
	say(client, "PUBREC 9");
	expect(client, "PUBREL 9 0x92");
	say(client, "PUBREC 9 0x83"); /* wants no answer */
	say(client, "PUBLISH q1 id3 ^$SYS/x no");
	expect(client, "PUBACK 3 0x87");
	say(client, "PUBLISH q2 id3 ^$SYS/x no");
	expect(client, "PUBREC 3 0x87");
	/* The packet id is free. */
	subscribe(old, "t:2");
	say(client, "PUBLISH q2 id3 t hello");
	expect(client, "PUBREC 3");
	say(client, "PUBREL 3");
	expect(client, "PUBCOMP 3");
	expect_received(old, "t hello");
	/* All that is news to 3.1.1. */
	say(old, "PUBLISH q1 id1 nobody x");
	expect(old, "PUBACK 1");
	say(old, "PUBREL 2");
	expect(old, "PUBCOMP 2");
}

STORY(five_is_told_that_it_was_taken_over, .mosquitto = "says nothing")
{
	struct client *client = join("a v5 clean");

	join("a v5 clean");
	expect_end(client, "DISCONNECT 0x8e");
}

STORY(five_and_3_1_1_share_a_session)
{
	struct client *client = join_new("a"), *publisher = join("publisher clean");

	subscribe(client, "t:1");
	leave(client);
	publish(publisher, 1, "t one");
	client = resume("a v5 expiry=100");
	leave(client);
	client = resume("a");
	expect_received(client, "t one");
}

STORY(five_retain_may_be_unavailable, .mosquitto = "has other options")
{
	struct client *client;

	start_server("--retain-available=false");
	client = open_client("a");
	say(client, "CONNECT a v5 clean");
	expect(client, "CONNACK 0 0 packet-max=1048576 retains=0 alias-max=10");
	publish(client, 1, "t x");
	say(client, "PUBLISH retain q1 id9 t x");
	expect_end(client, "DISCONNECT 0x9a");
	client = open_client("b");
	say(client, "CONNECT b v5 clean will=t message=x wr");
	expect(client,
	       "CONNACK 0 0x9a text=a_message_to_be_retained,_with_--retain-available=false");
}
