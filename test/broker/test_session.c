/* SPDX-License-Identifier: MIT */
/* Sessions that outlive their connections: what is kept, and what is said again. */
#include "client.h"

#include <stdio.h>
#include <string.h>

#include "server.h"

/* A session with a subscription, whose client is away. */
static void leave_session(const char *id, const char *filters)
{
	struct client *client = join_new(id);

	subscribe(client, filters);
	leave(client);
	story_sleep(story_scaled(300)); /* the socket is closed; but is the session told? */
}

STORY(session_present_is_told)
{
	leave(join_new("a"));
	leave(resume("a"));
	leave(join_new("a clean")); /* which ends the kept one */
	leave(join_new("a"));
	client_vanish(resume("a"));
	leave(resume("a"));
}

STORY(session_clean_is_not_kept)
{
	struct client *publisher = join("publisher clean"), *client = join_new("a clean");

	subscribe(client, "t:1");
	leave(client);
	publish(publisher, 1, "t lost");
	client = join_new("a");
	publish(publisher, 1, "t lost, too");
	expect_silence(client, 200);
}

STORY(session_keeps_subscriptions)
{
	struct client *publisher = join("publisher clean"), *client;

	leave_session("a", "t:0 u/+:1 v/#:2");
	client = resume("a");
	publish(publisher, 1, "t one");
	expect_received(client, "t one");
	publish(publisher, 1, "u/x two");
	expect_received(client, "u/x two");
	publish(publisher, 2, "v three");
	expect_received(client, "v three");
}

STORY(session_keeps_unsubscriptions)
{
	struct client *publisher = join("publisher clean"), *client = join_new("a");

	subscribe(client, "t:1 u:1");
	unsubscribe(client, "t");
	leave(client);
	publish(publisher, 1, "t no");
	publish(publisher, 1, "u yes");
	client = resume("a");
	publish(publisher, 1, "t no");
	publish(publisher, 1, "u end");
	expect_received(client, "u yes");
	expect_received(client, "u end");
}

STORY(session_queues_while_away)
{
	struct client *publisher = join("publisher clean"), *client;

	leave_session("a", "t:2");
	publish(publisher, 1, "t one");
	publish(publisher, 2, "t two");
	publish(publisher, 1, "t three");
	client = resume("a");
	/* For the first time: not a duplicate. */
	expect(client, "PUBLISH q1 id1 t one");
	expect(client, "PUBLISH q2 id2 t two");
	expect(client, "PUBLISH q1 id3 t three");
}

STORY(session_queues_at_the_subscription_s_qos)
{
	struct client *publisher = join("publisher clean"), *client;

	leave_session("a", "t:1");
	publish(publisher, 2, "t one");
	client = resume("a");
	expect(client, "PUBLISH q1 id1 t one");
}

/* Whether QoS 0 is kept is the broker's choice; but once only, and in order. */
STORY(session_may_queue_qos_0)
{
	struct client *publisher = join("publisher clean"), *client;
	const char *got;

	leave_session("a", "t:1");
	publish(publisher, 0, "t maybe");
	publish(publisher, 1, "t sure");
	client = resume("a");
	got = client_receive(client);
	if (got[2] == 'm')
		expect_received(client, "t sure");
	else
		check(got[2] == 's', "got %s", got);
	expect_silence(client, 100);
}

STORY(session_says_again_with_dup_in_order)
{
	struct client *publisher = join("publisher clean"), *client = join_new("a");

	subscribe(client, "t:2");
	publish(publisher, 1, "t one");
	publish(publisher, 2, "t two");
	publish(publisher, 1, "t three");
	publish(publisher, 1, "t four");
	expect(client, "PUBLISH q1 id1 t one");
	expect(client, "PUBLISH q2 id2 t two");
	expect(client, "PUBLISH q1 id3 t three");
	expect(client, "PUBLISH q1 id4 t four");
	say(client, "PUBACK 3");
	ping(client); /* so that it has been read */
	client_kill(client);
	story_sleep(story_scaled(500)); /* else five is sent, and said again, too */
	publish(publisher, 1, "t five");
	client = resume("a");
	expect(client, "PUBLISH dup q1 id1 t one");
	expect(client, "PUBLISH dup q2 id2 t two");
	expect(client, "PUBLISH dup q1 id4 t four");
	expect(client, "PUBLISH q1 id5 t five");
	for (int id = 1; id <= 5; id += 3)
		say(client, "PUBACK %d", id);
	say(client, "PUBACK 5");
	say(client, "PUBREC 2");
	expect(client, "PUBREL 2");
	say(client, "PUBCOMP 2");
	leave(client);
	client = resume("a");
	expect_silence(client, 100);
}

STORY(session_says_it_again_each_time)
{
	struct client *publisher = join("publisher clean"), *client = join_new("a");

	subscribe(client, "t:1");
	publish(publisher, 1, "t one");
	expect(client, "PUBLISH q1 id1 t one");
	for (int i = 0; i < 5; i++) {
		client_vanish(client);
		client = resume("a");
		expect(client, "PUBLISH dup q1 id1 t one");
	}
	say(client, "PUBACK 1");
	ping(client);
	client_vanish(client);
	expect_silence(resume("a"), 100);
}

/* At no other time: [MQTT-4.4.0-1] has no retransmission on a living connection. */
STORY(session_says_nothing_again_while_connected)
{
	struct client *publisher = join("publisher clean"), *client = join_new("a");

	subscribe(client, "t:2");
	publish(publisher, 2, "t one");
	expect(client, "PUBLISH q2 id1 t one");
	expect_silence(client, 3000);
}

STORY(session_says_pubrel_again)
{
	struct client *publisher = join("publisher clean"), *client = join_new("a");

	subscribe(client, "t:2");
	publish(publisher, 2, "t one");
	publish(publisher, 2, "t two");
	expect(client, "PUBLISH q2 id1 t one");
	expect(client, "PUBLISH q2 id2 t two");
	say(client, "PUBREC 1");
	expect(client, "PUBREL 1");
	client_kill(client);
	client = resume("a");
	expect(client, "PUBREL 1");
	expect(client, "PUBLISH dup q2 id2 t two");
	client_kill(client);
	client = resume("a");
	expect(client, "PUBREL 1");
	say(client, "PUBCOMP 1");
	expect(client, "PUBLISH dup q2 id2 t two");
	say(client, "PUBREC 2");
	expect(client, "PUBREL 2");
	say(client, "PUBCOMP 2");
	ping(client);
	client_vanish(client);
	expect_silence(resume("a"), 100);
}

STORY(session_remembers_what_it_has_received)
{
	struct client *subscriber = join("subscriber clean"), *client = join_new("a");

	subscribe(subscriber, "t:2");
	say(client, "PUBLISH q2 id7 t one");
	expect(client, "PUBREC 7");
	client_kill(client);
	client = resume("a");
	say(client, "PUBLISH dup q2 id7 t one");
	expect(client, "PUBREC 7");
	say(client, "PUBREL 7");
	client_kill(client); /* PUBREL may have come, or not */
	client = resume("a");
	say(client, "PUBREL 7");
	expect(client, "PUBCOMP 7");
	publish(client, 2, "t two");
	expect_received(subscriber, "t one");
	expect_received(subscriber, "t two");
}

STORY(session_killed_before_pubrec_is_delivered_once)
{
	struct client *subscriber = join("subscriber clean"), *client;

	subscribe(subscriber, "t:2");
	for (int i = 0; i < 20; i++) {
		client = join("a");
		say(client, "PUBLISH q2 id%d t %d", i + 1, i);
		client_vanish(client); /* it comes with the end of the stream, or not at all */
		client = join("a");
		say(client, "PUBLISH dup q2 id%d t %d", i + 1, i);
		expect(client, "PUBREC %d", i + 1);
		say(client, "PUBREL %d", i + 1);
		expect(client, "PUBCOMP %d", i + 1);
		client_vanish(client);
	}
	for (int i = 0; i < 20; i++) {
		char words[32];

		snprintf(words, sizeof(words), "t %d", i);
		expect_received(subscriber, words);
	}
	expect_silence(subscriber, 100);
}

STORY(session_killed_while_it_receives_loses_nothing, .timeout = 20)
{
	enum { TOTAL = 200 };
	struct client *publisher = join("publisher clean"), *client;
	int next = 0;

	leave_session("a", "t:2");
	for (int i = 0; i < TOTAL; i++)
		publish(publisher, 2, "t %d", i);
	/* Each connection does a bit and is killed, at another point of the handshake each time. */
	for (int round = 0; next < TOTAL; round++) {
		check(round < 1000, "no end: %d came", next);
		client = resume("a");
		for (int step = 0; step < 7 + round % 4; step++) {
			const char *got = client_next(client, story_limit(CLIENT_PATIENCE_MS));
			unsigned int id;
			int number;

			check(got != NULL, "got nothing after %d", next);
			if (sscanf(got, "PUBREL %u", &id) == 1) {
				say(client, "PUBCOMP %u", id);
				continue;
			}
			check(sscanf(got, "PUBLISH q2 id%u t %d", &id, &number) == 2 ||
			              sscanf(got, "PUBLISH dup q2 id%u t %d", &id, &number) == 2,
			      "got %s", got);
			/* Exactly once is the receiver's part, too: those behind `next` are new. */
			check(number <= next, "%d came before %d", number, next);
			if (number == next)
				next++;
			if (number + 1 == next || number < next)
				say(client, "PUBREC %u", id);
			if (next == TOTAL)
				break;
		}
		/* Closing may take back what it has said last: every other time it must not. */
		if (round % 2 == 1)
			say(client, "PINGREQ");
		for (const char *got = ""; round % 2 == 1 && strcmp(got, "PINGRESP") != 0;) {
			got = client_next(client, story_limit(CLIENT_PATIENCE_MS));
			check(got != NULL, "no PINGRESP");
		}
		client_vanish(client);
	}
}

STORY(session_window_is_bounded)
{
	struct client *publisher, *client;

	start_server("--max-inflight 3");
	publisher = join("publisher clean");
	client = join("a clean");
	subscribe(client, "t:1");
	for (int i = 1; i <= 6; i++)
		publish(publisher, 1, "t %d", i);
	for (int i = 1; i <= 3; i++)
		expect(client, "PUBLISH q1 id%d t %d", i, i);
	expect_silence(client, 200);
	for (int i = 1; i <= 3; i++) {
		say(client, "PUBACK %d", i);
		expect(client, "PUBLISH q1 id%d t %d", i + 3, i + 3);
	}
}

STORY(session_window_holds_qos_2_to_its_end)
{
	struct client *publisher, *client;

	start_server("--max-inflight 1");
	publisher = join("publisher clean");
	client = join("a clean");
	subscribe(client, "t:2");
	publish(publisher, 2, "t one");
	publish(publisher, 2, "t two");
	expect(client, "PUBLISH q2 id1 t one");
	say(client, "PUBREC 1");
	expect(client, "PUBREL 1");
	expect_silence(client, 200);
	say(client, "PUBCOMP 1");
	expect(client, "PUBLISH q2 id2 t two");
}

/* Which are dropped, the oldest or the newest, is the broker's choice. */
STORY(session_queue_is_bounded)
{
	struct client *publisher, *client;
	int first = -1, count = 0;
	unsigned int id;
	int number;

	start_server("--max-inflight 5 --max-queued 10");
	publisher = join("publisher clean");
	leave_session("a", "t:1");
	for (int i = 0; i < 100; i++)
		publish(publisher, 1, "t %d", i);
	client = resume("a");
	for (;;) {
		const char *got = client_next(client, 300);

		if (got == NULL)
			break;
		check(sscanf(got, "PUBLISH q1 id%u t %d", &id, &number) == 2, "got %s", got);
		first = first < 0 ? number : first;
		check(number == first + count, "%d came as number %d from %d", number, count,
		      first);
		say(client, "PUBACK %u", id);
		count++;
	}
	check(count >= 10 && count <= 15, "%d were kept", count);
	check(first == 0 || first + count == 100, "%d to %d were kept", first, first + count - 1);
	publish(publisher, 1, "t end");
	expect_received(client, "t end");
}

/* Nor is it bounded by the default: some thousand must do. */
STORY(session_queue_holds_a_hundred, .timeout = 20)
{
	struct client *publisher = join("publisher clean"), *client;
	char words[32];

	leave_session("a", "t:1");
	for (int i = 0; i < 100; i++)
		publish(publisher, 1, "t %d", i);
	client = resume("a");
	for (int i = 0; i < 100; i++) {
		snprintf(words, sizeof(words), "t %d", i);
		expect_received(client, words);
	}
}
