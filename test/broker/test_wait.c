/* SPDX-License-Identifier: MIT */
/*
 * Loops do not wait. SUBSCRIBEs with wildcards, each of which costs a pass over many topics, keep
 * the topic table busy. A topic that must be made waits for its turn then, and its publisher waits
 * with it, but no other client of the same loop.
 */
#include "client.h"
#include "server.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>

#define TOPICS 5000
#define FILTERS 10
#define REQUESTS 200
#define ROUNDS 10

static struct client *busy; /* its SUBSCRIBEs are on their way until the story ends */

static void start_with_topics(void)
{
	struct client *maker;

	start_server("--threads 1 --max-retained 10000 --max-filters 20000");
	maker = join("maker clean");
	for (int i = 0; i < TOPICS; i++)
		say(maker, "PUBLISH retain q0 kept/%d/x x", i);
	ping(maker);
	leave(maker);
}

static void keep_the_table_busy(void)
{
	char words[FILTERS * 24];

	busy = join("busy clean");
	for (int i = 0; i < REQUESTS; i++) {
		int size = snprintf(words, sizeof(words), "SUBSCRIBE %d", i + 1);

		for (int k = 0; k < FILTERS; k++)
			size += snprintf(words + size, sizeof(words) - (size_t)size,
			                 " +/+/none%d/%d:0", i, k);
		say(busy, "%s", words);
	}
	/* The first is done, so that the rest is on its way. */
	expect(busy, "SUBACK 1 0 0 0 0 0 0 0 0 0 0");
}

static bool has_come(const struct client *client)
{
	struct pollfd wanted = {.fd = client->fd, .events = POLLIN};

	return poll(&wanted, 1, 0) > 0;
}

/* No time is measured: the PINGRESP comes before the PUBACK, although it was asked for later. */
STORY(wait_of_a_publisher_for_a_new_topic_is_not_that_of_its_loop, .timeout = 60,
      .mosquitto = "has one thread, which makes topics at once")
{
	struct client *publisher, *other;
	int before = 0;

	start_with_topics();
	publisher = join("publisher clean");
	other = join("other clean");
	keep_the_table_busy();
	for (int i = 1; i <= ROUNDS; i++) {
		say(publisher, "PUBLISH q1 id%d new/%d x", i, i);
		ping(other);
		before += !has_come(publisher);
		expect(publisher, "PUBACK %d", i);
	}
	check(before > ROUNDS / 2, "the loop waited in %d of %d rounds", ROUNDS - before, ROUNDS);
}

/* What a client has said is done, although it leaves while its topics are on their way. */
STORY(wait_for_a_topic_keeps_a_client_s_order, .timeout = 60,
      .mosquitto = "has one thread, which makes topics at once")
{
	struct client *reader, *publisher;

	start_with_topics();
	reader = join("reader clean");
	subscribe(reader, "new/#:1");
	publisher = join("publisher clean will=new/a message=gone");
	keep_the_table_busy();
	say(publisher, "PUBLISH q1 id1 new/a 1");
	say(publisher, "PUBLISH q0 new/a 2");
	say(publisher, "PUBLISH q2 id3 new/b 3");
	say(publisher, "PUBLISH q1 id4 new/a 4");
	expect(publisher, "PUBACK 1");
	expect(publisher, "PUBREC 3");
	expect(publisher, "PUBACK 4");
	client_kill(publisher);
	expect_received(reader, "new/a 1");
	expect_received(reader, "new/a 2");
	expect_received(reader, "new/b 3");
	expect_received(reader, "new/a 4");
	expect_received(reader, "new/a gone");
}

STORY(wait_for_a_topic_does_not_lose_a_will_or_a_session, .timeout = 60,
      .mosquitto = "has one thread, which makes topics at once")
{
	struct client *reader, *ill, *again;

	start_with_topics();
	reader = join("reader clean");
	subscribe(reader, "new/#:1");
	ill = join("ill will=new/will message=gone");
	subscribe(ill, "mine:1");
	keep_the_table_busy();
	client_kill(ill);
	/* It comes back while its will waits for a topic. */
	again = resume("ill will=new/will message=again");
	expect_received(reader, "new/will gone");
	say(again, "PUBLISH q0 new/last last");
	say(again, "DISCONNECT");
	expect_closed(again);
	expect_received(reader, "new/last last");
	expect_silence(reader, 100);
}
