/* SPDX-License-Identifier: MIT */
/* Subscriptions of MQTT 5: their options and identifiers, and the codes of their answers. */
#include "client.h"

#include <string.h>

#include "server.h"

#define OURS .mosquitto = "sends a message once for each subscription"

STORY(five_no_local, OURS)
{
	struct client *client = join("a v5 clean"), *other = join("b v5 clean");
	struct client *publisher = join("publisher clean");

	subscribe(client, "t:2,nl");
	subscribe(other, "t:2");
	publish(client, 1, "t own");
	expect_received(other, "t own");
	publish(publisher, 1, "t other");
	expect_received(client, "t other");
	expect_received(other, "t other");
	/* Another subscription counts for its own messages, with its own QoS. */
	subscribe(client, "+:0");
	say(client, "PUBLISH q0 t own");
	expect(client, "PUBLISH q0 t own");
	publish(publisher, 1, "t other");
	expect(client, "PUBLISH q1 id2 t other");
	say(client, "PUBACK 2");
	/* It is one of its client, not of the connection. */
	unsubscribe(client, "+");
	say(client, "PUBLISH retain q1 id7 t kept");
	expect(client, "PUBACK 7");
	expect_received(other, "t own");
	expect_received(other, "t other");
	expect_received(other, "t kept");
	subscribe(client, "t:2,nl");
	expect_silence(client, 100);
}

STORY(five_retain_as_published, OURS)
{
	struct client *client = join("a v5 clean"), *other = join("b v5 clean");
	struct client *publisher = join("publisher clean");

	subscribe(client, "t:0,rap");
	subscribe(other, "t:0");
	publish(publisher, 0, "t plain");
	expect(client, "PUBLISH q0 t plain");
	expect(other, "PUBLISH q0 t plain");
	say(publisher, "PUBLISH retain q0 t kept");
	expect(client, "PUBLISH retain q0 t kept");
	expect(other, "PUBLISH q0 t kept");
}

/* 3.8.3.1: 0 always, 1 for a new subscription, 2 never. */
STORY(five_retain_handling)
{
	struct client *client = join("a v5 clean");

	say(client, "PUBLISH retain q1 id9 t kept");
	expect(client, "PUBACK 9 16");
	subscribe(client, "t:0,rh1");
	expect(client, "PUBLISH retain q0 t kept");
	subscribe(client, "t:1,rh1");
	expect_silence(client, 100);
	subscribe(client, "t:1");
	expect(client, "PUBLISH retain q1 id1 t kept");
	say(client, "PUBACK 1");
	subscribe(client, "t:0,rh2");
	expect_silence(client, 100);
	unsubscribe(client, "t");
	subscribe(client, "t:0,rh2");
	expect_silence(client, 100);
	unsubscribe(client, "t");
	subscribe(client, "t:0,rh1");
	expect(client, "PUBLISH retain q0 t kept");
}

/* All that match, once each. */
STORY(five_subscription_identifiers, OURS)
{
	struct client *client = join("a v5 clean"), *publisher = join("publisher clean");

	say(publisher, "PUBLISH retain q1 id9 t/x kept");
	expect(publisher, "PUBACK 9");
	say(client, "SUBSCRIBE 1 sid=1 t/x:0 t/+:1,nl");
	expect(client, "SUBACK 1 0 1");
	for (int i = 0; i < 2; i++) {
		const char *next = client_next(client, story_limit(CLIENT_PATIENCE_MS));

		check(next != NULL && strstr(next, " sid=1 t/x kept") != NULL, "%s", next);
	}
	say(client, "PUBACK 1");
	say(client, "SUBSCRIBE 2 sid=268435455 t/#:0,rh2");
	expect(client, "SUBACK 2 0");
	publish(publisher, 1, "t/x all");
	expect(client, "PUBLISH q1 id2 sid=1 sid=268435455 sid=1 t/x all");
	publish(publisher, 0, "t/y two");
	expect(client, "PUBLISH q0 sid=268435455 sid=1 t/y two");
	publish(client, 0, "t/y own");
	expect(client, "PUBLISH q0 sid=268435455 t/y own");
	/* Without one, it has none; another one takes its place. */
	say(client, "SUBSCRIBE 3 t/#:0,rh2");
	expect(client, "SUBACK 3 0");
	publish(publisher, 0, "t/y one");
	expect(client, "PUBLISH q0 sid=1 t/y one");
	say(client, "SUBSCRIBE 4 sid=300 user:a=b t/+:1,rh2");
	expect(client, "SUBACK 4 1");
	publish(publisher, 0, "t/y other");
	expect(client, "PUBLISH q0 sid=300 t/y other");
}

/* A client of 3.1.1 that goes on with the session is not told of them. */
STORY(five_identifiers_are_for_five, OURS)
{
	struct client *client = join("a v5 clean expiry=100"), *publisher;

	say(client, "SUBSCRIBE 1 sid=7 t:1");
	expect(client, "SUBACK 1 1");
	leave(client);
	publisher = join("publisher v5 clean");
	publish(publisher, 1, "type=x t one");
	publish(publisher, 1, "type=x t two");
	client = resume("a");
	expect(client, "PUBLISH q1 id1 t one");
	expect(client, "PUBLISH q1 id2 t two");
	publish(publisher, 0, "type=x t three");
	expect(client, "PUBLISH q0 t three");
	say(client, "PUBACK 1");
	ping(client);
	client_vanish(client);
	client = join("a v5 expiry=100");
	expect(client, "PUBLISH dup q1 id2 sid=7 type=x t two");
	publish(publisher, 0, "type=x t four");
	expect(client, "PUBLISH q0 sid=7 type=x t four");
}

STORY(five_answers_have_codes, .mosquitto = "has other options")
{
	struct client *client;

	start_server("--deny-subscribe secret/# --max-filters 3");
	client = join("a v5 clean");
	say(client, "SUBSCRIBE 1 ^secret/x:1 t:2 u:1 v:0 w:0");
	expect(client, "SUBACK 1 0x87 2 1 0 0x97");
	say(client, "UNSUBSCRIBE 2 t w v");
	expect(client, "UNSUBACK 2 0 17 0");
	say(client, "UNSUBSCRIBE 3 t");
	expect(client, "UNSUBACK 3 17");
	client = join("b clean");
	say(client, "SUBSCRIBE 1 ^secret/x:1 t:2 u:1 v:0 w:0");
	expect(client, "SUBACK 1 128 2 1 0 128");
	say(client, "UNSUBSCRIBE 2 t w");
	expect(client, "UNSUBACK 2");
}
