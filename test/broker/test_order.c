/* SPDX-License-Identifier: MIT */
/* In which order messages come: each publisher's own, and one for all subscribers of a topic. */
#include "client.h"
#include "server.h"

#include <stdio.h>
#include <string.h>

#define PUBLISHERS 2
#define SUBSCRIBERS 4
#define EACH 250
#define ALL (PUBLISHERS * EACH)

/* What a subscriber of QoS `qos` gets: "publisher number", checked for each publisher's order. */
static void collect(struct client *client, int order[ALL])
{
	int next[PUBLISHERS] = {0};
	int publisher, number;

	for (int i = 0; i < ALL; i++) {
		const char *got = client_receive(client);

		check(sscanf(got, "t %d %d", &publisher, &number) == 2, "got %s", got);
		check(number == next[publisher], "%s: of publisher %d came %d, not %d",
		      client->name, publisher, number, next[publisher]);
		next[publisher]++;
		order[i] = publisher * EACH + number;
	}
	expect_silence(client, 0);
}

static void common_order(unsigned int in, unsigned int out)
{
	static int order[SUBSCRIBERS][ALL];
	struct client *publishers[PUBLISHERS], *subscribers[SUBSCRIBERS];
	static const char *const filters[SUBSCRIBERS] = {"t", "+", "#", "t"};
	char words[64];

	for (int i = 0; i < SUBSCRIBERS; i++) {
		snprintf(words, sizeof(words), "subscriber%d clean", i);
		subscribers[i] = join(words);
		snprintf(words, sizeof(words), "%s:%u", filters[i], out);
		subscribe(subscribers[i], words);
	}
	for (int i = 0; i < PUBLISHERS; i++) {
		snprintf(words, sizeof(words), "publisher%d clean", i);
		publishers[i] = join(words);
	}
	for (int i = 0; i < EACH; i++) {
		for (int k = 0; k < PUBLISHERS; k++) {
			if (in == 2)
				publish(publishers[k], 2, "t %d %d", k, i);
			else if (in == 1)
				say(publishers[k], "PUBLISH q1 id%d t %d %d", i + 1, k, i);
			else
				say(publishers[k], "PUBLISH q0 t %d %d", k, i);
		}
	}
	for (int i = 0; i < SUBSCRIBERS; i++)
		collect(subscribers[i], order[i]);
	for (int i = 1; i < SUBSCRIBERS; i++)
		check(memcmp(order[i], order[0], sizeof(order[0])) == 0,
		      "subscriber%d has another order than subscriber0", i);
}

STORY(order_is_common_at_qos_0, .timeout = 20)
{
	common_order(0, 0);
}

STORY(order_is_common_at_qos_1, .timeout = 20)
{
	common_order(1, 1);
}

STORY(order_is_common_at_qos_2, .timeout = 30)
{
	common_order(2, 2);
}

STORY(order_is_common_at_mixed_qos, .timeout = 20)
{
	common_order(1, 0);
}

/* [MQTT-4.6.0-6] */
STORY(order_of_a_publisher_is_kept_at_a_qos)
{
	struct client *publisher = join("publisher clean"), *client = join("a clean");
	char words[32];

	subscribe(client, "t:2");
	for (int i = 0; i < 60; i += 2) {
		say(publisher, "PUBLISH q1 id%d t %d", i + 1, i);
		say(publisher, "PUBLISH q1 id%d t %d", i + 2, i + 1);
	}
	for (int i = 0; i < 60; i++) {
		snprintf(words, sizeof(words), "t %d", i);
		expect_received(client, words);
	}
}

/* The standard has it so for messages of the same QoS; here, also when they differ. */
STORY(order_of_a_publisher_is_kept_in_a_topic,
      .mosquitto = "lets QoS 0 pass when the window of QoS 1 is full")
{
	struct client *publisher = join("publisher clean"), *client = join("a clean");
	char words[32];

	subscribe(client, "t:2");
	for (int i = 0; i < 60; i += 2) {
		say(publisher, "PUBLISH q0 t %d", i);
		say(publisher, "PUBLISH q1 id%d t %d", i + 1, i + 1);
	}
	for (int i = 0; i < 60; i++) {
		snprintf(words, sizeof(words), "t %d", i);
		expect_received(client, words);
	}
}

STORY(order_of_acknowledgements_is_that_of_a_topic_s_messages)
{
	struct client *client = join("a clean");

	for (int i = 1; i <= 300; i++)
		say(client, "PUBLISH q1 id%d t x", i);
	for (int i = 1; i <= 300; i++)
		expect(client, "PUBACK %d", i);
}

/* [MQTT-4.6.0-2], [MQTT-4.6.0-3]: in all topics. Some topics are quick, one is slow: it has many
 * subscribers, and other clients publish to it, too. */
STORY(order_of_acknowledgements_is_that_of_a_client_s_messages, .timeout = 30)
{
	enum { SUBSCRIBERS_HOT = 60, ROUNDS = 150, BURST = 40 };
	struct client *client, *others[2];
	char words[32];
	int id = 0;

	start_server("--threads 2");
	for (int i = 0; i < SUBSCRIBERS_HOT; i++) {
		snprintf(words, sizeof(words), "reader%d clean", i);
		subscribe(join(words), "hot:0");
	}
	client = join("a clean");
	for (int i = 0; i < 2; i++) {
		snprintf(words, sizeof(words), "other%d clean", i);
		others[i] = join(words);
	}
	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < BURST; i++) {
			const int qos = 1 + round % 2;

			say(others[i % 2], "PUBLISH q0 hot x");
			say(client, "PUBLISH q%d id%d %s x", qos, id + i + 1,
			    i % 2 == 0   ? "hot"
			    : i % 4 == 1 ? "cool"
			                 : "^$SYS/none");
		}
		for (int i = 0; i < BURST; i++)
			expect(client, "%s %d", round % 2 == 0 ? "PUBACK" : "PUBREC", ++id);
	}
}

STORY(each_message_is_acknowledged_once)
{
	struct client *client = join("a clean");
	bool seen[301] = {false};
	unsigned int id;

	for (int i = 1; i <= 300; i++)
		say(client, "PUBLISH q1 id%d t%d x", i, i % 7);
	for (int i = 1; i <= 300; i++) {
		const char *got = client_next(client, story_limit(CLIENT_PATIENCE_MS));

		check(got != NULL && sscanf(got, "PUBACK %u", &id) == 1, "no PUBACK");
		check(id <= 300 && !seen[id], "PUBACK %u", id);
		seen[id] = true;
	}
	ping(client);
}

STORY(order_is_not_disturbed_by_who_comes_and_goes, .timeout = 20)
{
	struct client *publisher = join("publisher clean"), *steady = join("steady clean");
	char words[32];

	subscribe(steady, "t/+:1");
	for (int round = 0; round < 50; round++) {
		struct client *fickle = join("fickle clean");

		say(fickle, "SUBSCRIBE 1 t/a:1 t/#:0 +/a:2");
		for (int i = 0; i < 20; i++)
			say(publisher, "PUBLISH q1 id%d t/a %d", i + 1, round * 20 + i);
		say(fickle, "UNSUBSCRIBE 2 t/#");
		if (round % 2 == 0)
			client_vanish(fickle);
		for (int i = 0; i < 20; i++) {
			expect(publisher, "PUBACK %d", i + 1);
			snprintf(words, sizeof(words), "t/a %d", round * 20 + i);
			expect_received(steady, words);
		}
	}
}
