/* SPDX-License-Identifier: MIT */
/* What is said again to a client that has come back: how it is marked, and in which order. */
#include "client.h"

#include <stdio.h>
#include <string.h>

#include "server.h"

/* [MQTT-4.6.0-4], [MQTT-4.4.0-1]: in the order of the PUBRECs. */
STORY(again_pubrels_are_in_the_order_of_the_pubrecs,
      .mosquitto = "says them in the order of the messages")
{
	static const int order[] = {3, 1, 4, 2};
	struct client *publisher = join("publisher clean"), *client = join_new("a");

	subscribe(client, "t:2");
	for (int i = 1; i <= 6; i++)
		publish(publisher, 2, "t %d", i);
	for (int i = 1; i <= 6; i++)
		expect(client, "PUBLISH q2 id%d t %d", i, i);
	for (int i = 0; i < 4; i++)
		say(client, "PUBREC %d", order[i]);
	for (int i = 0; i < 4; i++)
		expect(client, "PUBREL %d", order[i]);
	for (int round = 0; round < 2; round++) {
		client_vanish(client);
		client = resume("a");
		for (int i = 0; i < 4; i++)
			expect(client, "PUBREL %d", order[i]);
		for (int i = 5; i <= 6; i++)
			expect(client, "PUBLISH dup q2 id%d t %d", i, i);
	}
}

/* With a window of one and acknowledgements lost: one at a time, each under its own id. */
STORY(again_one_at_a_time)
{
	struct client *publisher, *client;

	start_server("--max-inflight 1");
	publisher = join("publisher clean");
	client = join_new("a");
	subscribe(client, "t:2");
	for (int i = 1; i <= 3; i++)
		publish(publisher, i == 2 ? 1 : 2, "t %d", i);
	expect(client, "PUBLISH q2 id1 t 1");
	client_vanish(client);
	client = resume("a");
	expect(client, "PUBLISH dup q2 id1 t 1");
	say(client, "PUBREC 1");
	expect(client, "PUBREL 1");
	client_vanish(client);
	client = resume("a");
	expect(client, "PUBREL 1");
	expect_silence(client, 100);
	say(client, "PUBCOMP 1");
	expect(client, "PUBLISH q1 id2 t 2");
	expect_silence(client, 100);
	say(client, "PUBACK 2");
	expect(client, "PUBLISH q2 id3 t 3");
}

enum { PAYLOAD = 60000, COUNT = 300, READ = 200, PINGS = 20000 };

/* QoS 1, and its PUBACK. */
static void publish_large(struct client *publisher, int id)
{
	static char packet[PAYLOAD + 100];
	const size_t name = strlen(story_name()) + 2, rest = 2 + name + 2 + PAYLOAD;
	size_t at = 0;

	packet[at++] = 0x32;
	packet[at++] = (char)(rest % 128 + 128);
	packet[at++] = (char)(rest / 128 % 128 + 128);
	packet[at++] = (char)(rest / 128 / 128);
	packet[at++] = (char)(name / 256);
	packet[at++] = (char)(name % 256);
	at += (size_t)sprintf(packet + at, "%s/t", story_name());
	packet[at++] = (char)(id / 256);
	packet[at++] = (char)(id % 256);
	client_send(publisher, packet, at + PAYLOAD);
	expect(publisher, "PUBACK %d", id);
}

/*
 * [MQTT-3.3.1-1]: also what a client got of a write that never came to its end. The broker reads
 * this one no more, as it leaves too many answers unread; so it is the writing that fails.
 */
STORY(again_with_dup_what_was_half_written, .timeout = 20, .mosquitto = "has other limits")
{
	static char bytes[2 * PINGS];
	struct client *publisher, *client;

	start_server("--max-inflight 1000 --max-buffered 64M");
	publisher = join("publisher clean");
	client = join_new("a");
	subscribe(client, "t:1");
	for (int i = 1; i <= COUNT; i++)
		publish_large(publisher, i);
	for (int i = 0; i < PINGS; i++)
		bytes[2 * i] = (char)0xc0;
	client_send(client, bytes, sizeof(bytes));
	for (int i = 1; i <= READ; i++)
		expect(client, "PUBLISH q1 id%d t <%d bytes>", i, PAYLOAD);
	client_kill(client);
	client = resume("a");
	for (int i = 1; i <= READ; i++)
		expect(client, "PUBLISH dup q1 id%d t <%d bytes>", i, PAYLOAD);
}
