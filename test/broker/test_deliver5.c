/* SPDX-License-Identifier: MIT */
/* Messages of MQTT 5: their properties, and how they come to clients of both versions. */
#include "client.h"

#include <stdio.h>
#include <string.h>

#include "server.h"

#define OURS .mosquitto = "has another order of properties"
#define ALL "format=1 type=text response=answers correlation=12 user:b=1 user:a=2 user:b=3"

STORY(five_message_has_its_properties, OURS)
{
	struct client *publisher = join("publisher v5 clean");
	struct client *five = join("five v5 clean"), *three = join("three clean");

	subscribe(five, "t:1");
	subscribe(three, "t:1");
	for (int qos = 0; qos < 2; qos++) {
		publish(publisher, (unsigned int)qos, "expiry=1000 " ALL " t hello");
		expect(five, qos == 0 ? "PUBLISH q0 expiry=1000 " ALL " t hello"
		                      : "PUBLISH q1 id1 expiry=1000 " ALL " t hello");
		expect(three, qos == 0 ? "PUBLISH q0 t hello" : "PUBLISH q1 id1 t hello");
	}
	publish(three, 0, "t plain");
	expect(five, "PUBLISH q0 t plain");
	expect(three, "PUBLISH q0 t plain");
	/* An empty payload, and an empty value. */
	publish(publisher, 0, "user:= t");
	expect(five, "PUBLISH q0 user:= t");
	expect(three, "PUBLISH q0 t");
}

STORY(five_message_keeps_properties_when_retained, OURS)
{
	struct client *publisher = join("publisher v5 clean"), *client;

	say(publisher, "PUBLISH retain q1 id1 expiry=1000 " ALL " t kept");
	expect(publisher, "PUBACK 1 16");
	client = join("five v5 clean");
	subscribe(client, "t:2");
	expect(client, "PUBLISH retain q1 id1 expiry=1000 " ALL " t kept");
	client = join("three clean");
	subscribe(client, "t:0");
	expect(client, "PUBLISH retain q0 t kept");
}

/* The next message has that payload, and at most so many seconds left. */
static void expect_left(struct client *client, const char *words, unsigned int most)
{
	const char *next = client_next(client, story_limit(CLIENT_PATIENCE_MS));
	const char *expiry = next != NULL ? strstr(next, " expiry=") : NULL;
	unsigned int left = 0;
	int end = 0;

	check(expiry != NULL && sscanf(expiry, " expiry=%u %n", &left, &end) == 1 && end > 0 &&
	              strcmp(expiry + end, words) == 0,
	      "%s", next);
	check(left <= most && left > 900, "%u seconds are left", left);
}

/* The time that it waits is taken off; what has none left does not come. */
STORY(five_message_expires, .timeout = 20, OURS)
{
	struct client *publisher = join("publisher v5 clean"), *client;

	client = join("a v5 clean expiry=100");
	subscribe(client, "t:1 u:1");
	leave(client);
	client = join("b");
	subscribe(client, "t:1");
	leave(client);
	publish(publisher, 1, "expiry=1 t short");
	publish(publisher, 1, "expiry=1000 t long");
	publish(publisher, 1, "t ever");
	say(publisher, "PUBLISH retain q1 id9 expiry=1 u gone");
	expect(publisher, "PUBACK 9");
	story_sleep(2200);
	client = join("a v5 expiry=100");
	expect_left(client, "t long", 998);
	expect_received(client, "t ever");
	expect_silence(client, 100);
	subscribe(client, "u:1");
	expect_silence(client, 100);
	client = join("b");
	expect_received(client, "t long");
	expect_received(client, "t ever");
	expect_silence(client, 100);
}

/* What has expired makes room in a queue that is full. */
STORY(five_message_that_expires_makes_room, .timeout = 20, OURS)
{
	struct client *publisher, *client;

	start_server("--max-queued 5");
	publisher = join("publisher v5 clean");
	client = join("a v5 clean receive=1");
	subscribe(client, "t:1");
	publish(publisher, 1, "t sent");
	expect(client, "PUBLISH q1 id1 t sent");
	publish(publisher, 1, "t first");
	for (int i = 0; i < 4; i++)
		publish(publisher, 1, "expiry=1 t short");
	publish(publisher, 1, "t dropped");
	story_sleep(1300);
	for (int i = 1; i <= 5; i++)
		publish(publisher, 1, "t %d", i);
	say(client, "PUBACK 1");
	expect_received(client, "t first");
	expect_received(client, "t 1");
	expect_received(client, "t 2");
	expect_received(client, "t 3");
	expect_received(client, "t 4");
	expect_silence(client, 100);
}

/* What was sent may be there: it comes again, whatever its time. What was not sent does not. */
STORY(five_message_that_was_sent_does_not_expire, .timeout = 20, OURS)
{
	struct client *publisher = join("publisher v5 clean"), *client;

	client = join("a v5 clean expiry=100 receive=1");
	subscribe(client, "t:2");
	publish(publisher, 2, "expiry=1 t sent");
	publish(publisher, 2, "expiry=1 t waits");
	expect(client, "PUBLISH q2 id1 expiry=1 t sent");
	client_vanish(client);
	story_sleep(2200);
	client = join("a v5 expiry=100");
	expect(client, "PUBLISH dup q2 id1 expiry=0 t sent");
	expect_silence(client, 100);
}

/* The next message gives its topic a number, which is at most that. */
static unsigned int expect_alias(struct client *client, const char *words, unsigned int most)
{
	const char *next = client_next(client, story_limit(CLIENT_PATIENCE_MS));
	unsigned int number = 0;
	int end = 0;

	check(next != NULL && sscanf(next, "PUBLISH q0 alias=%u %n", &number, &end) == 1 &&
	              end > 0 && strcmp(next + end, words) == 0,
	      "%s", next);
	check(number >= 1 && number <= most, "alias %u", number);
	return number;
}

/* 3.3.2.3.4: the first packet has topic and number, later ones the number. */
STORY(five_topics_get_aliases, OURS)
{
	struct client *publisher = join("publisher clean");
	struct client *client = join("a v5 clean alias-max=2");
	unsigned int one, two;

	subscribe(client, "+/+:1");
	publish(publisher, 0, "one/t 1");
	one = expect_alias(client, "one/t 1", 2);
	publish(publisher, 1, "one/t 2");
	expect(client, "PUBLISH q1 id1 alias=%u ^ 2", one);
	publish(publisher, 0, "two/t 3");
	two = expect_alias(client, "two/t 3", 2);
	check(one != two, "both have %u", one);
	publish(publisher, 0, "six/t 4");
	expect(client, "PUBLISH q0 six/t 4");
	publish(publisher, 0, "one/t 5");
	expect(client, "PUBLISH q0 alias=%u ^ 5", one);
	publish(publisher, 0, "two/t 6");
	expect(client, "PUBLISH q0 alias=%u ^ 6", two);
	/* A topic that comes often takes the place of another one, with its topic. */
	for (int i = 0; i < 200; i++)
		say(publisher, "PUBLISH q0 six/t 7");
	ping(publisher);
	for (int i = 0; i < 150; i++)
		(void)client_next(client, story_limit(CLIENT_PATIENCE_MS));
	for (int i = 150; i < 200; i++) {
		const char *next = client_next(client, story_limit(CLIENT_PATIENCE_MS));

		check(next != NULL && strstr(next, " ^ 7") != NULL, "%s", next);
	}
	publish(publisher, 0, "seven/t 8");
	expect(client, "PUBLISH q0 seven/t 8");
}

/* A number lives as long as its connection. */
STORY(five_aliases_end_with_their_connection, OURS)
{
	struct client *publisher = join("publisher clean");
	struct client *client = join("a v5 clean expiry=100 alias-max=100");

	subscribe(client, "one/t:1");
	publish(publisher, 1, "one/t 1");
	publish(publisher, 1, "one/t 2");
	client_vanish(client);
	client = join("a v5 expiry=100 alias-max=100");
	check(strstr(client_next(client, story_limit(CLIENT_PATIENCE_MS)), " one/t 1") != NULL,
	      "no topic");
	check(strstr(client_next(client, story_limit(CLIENT_PATIENCE_MS)), " ^ 2") != NULL,
	      "no alias");
	client_vanish(client);
	client = join("a v5 expiry=100");
	expect(client, "PUBLISH dup q1 id1 one/t 1");
	expect(client, "PUBLISH dup q1 id2 one/t 2");
}

/* What is too large counts as sent, and all else goes on (3.1.2.11.4). */
STORY(five_maximum_packet_size_of_the_client, OURS)
{
	struct client *publisher = join("publisher v5 clean");
	struct client *client = join("a v5 clean packet-max=60 receive=1");
	struct client *other = join("b v5 clean");

	subscribe(client, "t:1");
	subscribe(other, "t:1");
	publish(publisher, 1, "t small");
	expect_received(client, "t small");
	for (int i = 0; i < 3; i++)
		publish(publisher, (unsigned int)i,
		        "user:a=1234567890123456789012345678901234567890 t large");
	publish(publisher, 1, "t next");
	expect_received(client, "t next");
	for (int i = 0; i < 5; i++) {
		const char *got = receive(other);

		check(strstr(got, i == 0   ? "t small"
		                  : i == 4 ? "t next"
		                           : " t large") != NULL,
		      "%s", got);
	}
}

/* Also what was sent to an earlier connection, which took more. */
STORY(five_message_that_is_too_large_for_the_next_connection, OURS)
{
	struct client *publisher, *client;

	start_server("");
	publisher = join("publisher clean");
	client = join("a v5 clean expiry=100 receive=2");
	subscribe(client, "t:2");
	publish(publisher, 1, "t 123456789012345678901234567890123456789012345678901234567890");
	publish(publisher, 2, "t 123456789012345678901234567890123456789012345678901234567890");
	publish(publisher, 1, "t next");
	(void)client_next(client, story_limit(CLIENT_PATIENCE_MS));
	(void)client_next(client, story_limit(CLIENT_PATIENCE_MS));
	client_vanish(client);
	client = join("a v5 expiry=100 packet-max=80 receive=1");
	expect(client, "PUBLISH q1 id3 t next");
	await_said("a message is larger than its maximum packet size");
	client_vanish(client);
	client = join("a v5 expiry=100");
	expect(client, "PUBLISH dup q1 id3 t next");
	expect_silence(client, 100);
}

/* What an earlier connection has left of it does not count. */
STORY(five_receive_maximum_begins_anew, OURS)
{
	struct client *publisher = join("publisher clean");
	struct client *client = join("a v5 clean expiry=100 receive=5");

	subscribe(client, "t:1");
	publish(publisher, 1, "t 1");
	expect(client, "PUBLISH q1 id1 t 1");
	client_vanish(client);
	client = join("a v5 expiry=100 receive=1");
	expect(client, "PUBLISH dup q1 id1 t 1");
	publish(publisher, 1, "t 2");
	expect_silence(client, 100);
	say(client, "PUBACK 1");
	expect(client, "PUBLISH q1 id2 t 2");
}

STORY(five_receive_maximum_of_the_client, OURS)
{
	struct client *publisher = join("publisher clean");
	struct client *client = join("a v5 clean expiry=100 receive=2");

	subscribe(client, "t:2");
	for (int i = 1; i <= 5; i++)
		publish(publisher, i % 2 == 0 ? 1 : 2, "t %d", i);
	publish(publisher, 0, "t zero");
	expect(client, "PUBLISH q2 id1 t 1");
	expect(client, "PUBLISH q1 id2 t 2");
	expect_silence(client, 100);
	say(client, "PUBREC 1");
	expect(client, "PUBREL 1");
	expect_silence(client, 100);
	say(client, "PUBCOMP 1");
	expect(client, "PUBLISH q2 id3 t 3");
	expect_silence(client, 100);
	say(client, "PUBREC 3");
	expect(client, "PUBREL 3");
	/* The count begins anew, also for what comes again. Only its PUBREL is due of the third. */
	client_vanish(client);
	client = join("a v5 expiry=100 receive=1");
	expect(client, "PUBREL 3");
	expect(client, "PUBLISH dup q1 id2 t 2");
	expect_silence(client, 100);
	say(client, "PUBCOMP 3"); /* of an earlier connection: makes no room */
	expect_silence(client, 100);
	say(client, "PUBACK 2");
	expect(client, "PUBLISH q1 id4 t 4");
	expect_silence(client, 100);
	say(client, "PUBACK 4");
	expect(client, "PUBLISH q2 id5 t 5");
	expect(client, "PUBLISH q0 t zero");
}

/* 4.3.3: a PUBREC with an error ends the exchange, and its packet id is free. */
STORY(five_message_that_the_client_refuses, OURS)
{
	struct client *publisher = join("publisher clean");
	struct client *client = join("a v5 clean expiry=100 receive=1");

	subscribe(client, "t:2");
	publish(publisher, 2, "t one");
	publish(publisher, 2, "t two");
	expect(client, "PUBLISH q2 id1 t one");
	say(client, "PUBREC 1 0x97");
	expect(client, "PUBLISH q2 id2 t two");
	client_vanish(client);
	client = join("a v5 expiry=100");
	expect(client, "PUBLISH dup q2 id2 t two");
	expect_silence(client, 100);
	say(client, "PUBREC 7");
	expect(client, "PUBREL 7 0x92");
	say(client, "PUBREC 8 0x80");
	expect_silence(client, 100);
}
