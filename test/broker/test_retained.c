/* SPDX-License-Identifier: MIT */
/* Retained messages: kept, replaced, cleared, found by wildcards. */
#include "client.h"

#include <stdio.h>
#include <string.h>

#include "server.h"

static void retain(struct client *publisher, unsigned int qos, const char *words)
{
	publisher->last_id++;
	if (qos == 0)
		say(publisher, "PUBLISH retain q0 %s", words);
	else
		say(publisher, "PUBLISH retain q%u id%u %s", qos, publisher->last_id, words);
	if (qos == 0)
		return;
	expect(publisher, "%s %u", qos == 1 ? "PUBACK" : "PUBREC", publisher->last_id);
	if (qos == 1)
		return;
	say(publisher, "PUBREL %u", publisher->last_id);
	expect(publisher, "PUBCOMP %u", publisher->last_id);
}

STORY(retained_message_waits_for_subscribers)
{
	struct client *publisher = join("publisher clean"), *client = join("a clean");

	retain(publisher, 1, "t kept");
	leave(publisher);
	subscribe(client, "t:0");
	expect(client, "PUBLISH retain q0 t kept");
}

/* To those who are there already it is a message like others. */
STORY(retained_flag_is_for_the_late_only)
{
	struct client *publisher = join("publisher clean"), *client = join("a clean");

	subscribe(client, "t:1");
	retain(publisher, 1, "t kept");
	expect(client, "PUBLISH q1 id1 t kept");
}

STORY(retained_message_is_replaced)
{
	struct client *publisher = join("publisher clean"), *client = join("a clean");

	retain(publisher, 1, "t old");
	retain(publisher, 2, "t new");
	publish(publisher, 1, "t passing"); /* not retained, changes nothing */
	subscribe(client, "t:0");
	expect(client, "PUBLISH retain q0 t new");
	expect_silence(client, 100);
}

STORY(retained_message_is_cleared)
{
	struct client *publisher = join("publisher clean"), *client = join("a clean");
	struct client *late = join("late clean");

	retain(publisher, 1, "t kept");
	subscribe(client, "t:0");
	expect(client, "PUBLISH retain q0 t kept");
	retain(publisher, 1, "t ");
	expect(client, "PUBLISH q0 t");
	subscribe(late, "t:0 #:0");
	expect_silence(late, 200);
	retain(publisher, 1, "t again");
	expect(late, "PUBLISH q0 t again");
}

STORY(retained_qos_is_the_lower_of_both)
{
	struct client *publisher = join("publisher clean"), *witness = join("witness clean");

	subscribe(witness, "t0:0");
	for (unsigned int in = 0; in <= 2; in++) {
		for (unsigned int out = 0; out <= 2; out++) {
			struct client *client = join("a clean");
			const unsigned int qos = in < out ? in : out;
			char words[32];

			snprintf(words, sizeof(words), "t%u kept", in);
			retain(publisher, in, words);
			ping(publisher);
			if (in == 0) /* which has no answer */
				expect(witness, "PUBLISH q0 t0 kept");
			snprintf(words, sizeof(words), "t%u:%u", in, out);
			subscribe(client, words);
			if (qos == 0)
				expect(client, "PUBLISH retain q0 t%u kept", in);
			else
				expect(client, "PUBLISH retain q%u id1 t%u kept", qos, in);
			leave(client);
		}
	}
}

STORY(retained_messages_match_wildcards)
{
	static const char *const names[] = {"r/a", "r/b/c", "r", "r/b", "s"};
	struct client *publisher = join("publisher clean"), *client = join("a clean");
	unsigned int seen = 0;
	char words[32];

	for (unsigned int i = 0; i < 5; i++) {
		snprintf(words, sizeof(words), "%s %u", names[i], i);
		retain(publisher, 1, words);
	}
	subscribe(client, "r/#:1");
	for (int i = 0; i < 4; i++) {
		unsigned int number;

		check(sscanf(strrchr(receive(client), ' '), "%u", &number) == 1, "no number");
		check((seen & 1U << number) == 0, "%u came twice", number);
		seen |= 1U << number;
	}
	check(seen == 15, "not all of r/#: %u", seen);
	expect_silence(client, 100);
	subscribe(client, "+:0");
	for (int i = 0; i < 2; i++)
		receive(client);
	subscribe(client, "+/b:0");
	expect(client, "PUBLISH retain q0 r/b 3");
	expect_silence(client, 100);
}

STORY(retained_message_comes_at_each_subscribe)
{
	struct client *publisher = join("publisher clean"), *client = join("a clean");

	retain(publisher, 1, "t kept");
	for (int i = 0; i < 3; i++) {
		subscribe(client, "t:0");
		expect(client, "PUBLISH retain q0 t kept");
	}
	unsubscribe(client, "t");
	subscribe(client, "t:0");
	expect(client, "PUBLISH retain q0 t kept");
}

/* A SUBSCRIBE of a kept session, not its return, asks for it. */
STORY(retained_message_does_not_come_at_a_return)
{
	struct client *publisher = join("publisher clean"), *client = join_new("a");

	retain(publisher, 1, "t kept");
	subscribe(client, "t:1");
	expect_received(client, "t kept");
	leave(client);
	client = resume("a");
	expect_silence(client, 200);
}

STORY(retained_and_live_are_in_order, .timeout = 20)
{
	struct client *publisher = join("publisher clean");

	/* Who subscribes while numbers are retained sees one of them, and all behind it. */
	for (int round = 0; round < 20; round++) {
		struct client *client = join("a clean");
		int next = -1, number;

		for (int i = 0; i < 50; i++) {
			say(publisher, "PUBLISH retain q0 t %d", round * 50 + i);
			if (i == 20 + round % 5)
				say(client, "SUBSCRIBE 1 t:0");
		}
		while (next != round * 50 + 50) {
			const char *got = client_next(client, story_limit(CLIENT_PATIENCE_MS));

			/* Live ones may come before it. */
			if (got != NULL && strcmp(got, "SUBACK 1 0") == 0)
				continue;
			check(got != NULL && sscanf(strrchr(got, ' '), "%d", &number) == 1,
			      "expected %d, got %s", next, got != NULL ? got : "nothing");
			/* The first may be the previous round's. */
			check(next < 0 || number == next, "%d came, not %d", number, next);
			next = number + 1;
		}
		leave(client);
		ping(publisher);
	}
}

/* More than its queue may hold, and than is buffered: it reads, and is to know them all. */
STORY(retained_messages_come_all_of_them, .timeout = 30)
{
	enum { COUNT = 5000 };
	struct client *publisher, *client;

	start_server(server_is_mosquitto() ? "" : "--max-buffered 1K --max-queued 10");
	publisher = join("publisher clean");
	for (int i = 0; i < COUNT; i++)
		say(publisher, "PUBLISH retain q1 id%d all/%d %d", i + 1, i, i);
	for (int i = 0; i < COUNT; i++)
		expect(publisher, "PUBACK %d", i + 1);
	for (unsigned int qos = 0; qos < 3; qos++) {
		client = join("a clean");
		say(client, "SUBSCRIBE 1 all/+:%u", qos);
		expect(client, "SUBACK 1 %u", qos);
		for (int i = 0; i < COUNT; i++)
			receive(client);
		leave(client);
	}
}

/* While they wait, they take no places of messages that have to wait, too. */
STORY(retained_messages_take_nobodys_place, .timeout = 30, .mosquitto = "counts all that waits")
{
	enum { COUNT = 100 };
	struct client *publisher, *client;

	start_server("--max-buffered 1K --max-queued 1 --max-inflight 10");
	publisher = join("publisher clean");
	for (int i = 0; i < COUNT; i++)
		say(publisher, "PUBLISH retain q1 id%d all/%d x", i + 1, i);
	for (int i = 0; i < COUNT; i++)
		expect(publisher, "PUBACK %d", i + 1);
	client = join("a clean");
	say(client, "SUBSCRIBE 1 all/+:1 live:1");
	expect(client, "SUBACK 1 1 1");
	receive(client);
	story_sleep(story_scaled(200)); /* the others wait now */
	publish(publisher, 1, "live news");
	for (int i = 1; i < COUNT; i++)
		receive(client);
	expect_received(client, "live news");
}

STORY(retained_messages_by_the_thousand, .timeout = 20)
{
	struct client *publisher = join("publisher clean"), *client = join("a clean");
	int count = 0;

	for (int i = 0; i < 1000; i++)
		say(publisher, "PUBLISH retain q1 id%d many/%d/x %d", i + 1, i, i);
	for (int i = 0; i < 1000; i++)
		check(client_next(publisher, story_limit(CLIENT_PATIENCE_MS)) != NULL,
		      "%d acknowledged", i);
	subscribe(client, "many/+/x:0");
	while (count < 1000 && client_next(client, story_limit(CLIENT_PATIENCE_MS)) != NULL)
		count++;
	check(count == 1000, "%d came", count);
	expect_silence(client, 200);
}
