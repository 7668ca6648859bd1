/* SPDX-License-Identifier: MIT */
/* PUBLISH at QoS 0, 1 and 2, in and out: handshakes, packet ids, what precedes what. */
#include "client.h"

#include <stdio.h>

#include "server.h"

/* Published at `in`, subscribed at `out`: delivered at the lower of both. */
static void delivered_at(unsigned int in, unsigned int out)
{
	struct client *publisher = join("publisher clean"), *subscriber = join("subscriber clean");
	char filter[] = "t:0";
	const unsigned int qos = in < out ? in : out;

	filter[2] = (char)('0' + out);
	subscribe(subscriber, filter);
	publish(publisher, in, "t hello");
	if (qos == 0)
		expect(subscriber, "PUBLISH q0 t hello");
	else
		expect(subscriber, "PUBLISH q%u id1 t hello", qos);
	if (qos == 1)
		say(subscriber, "PUBACK 1");
	if (qos == 2) {
		say(subscriber, "PUBREC 1");
		expect(subscriber, "PUBREL 1");
		say(subscriber, "PUBCOMP 1");
	}
	ping(subscriber);
	ping(publisher);
}

#define DELIVERED(in, out)                                                                         \
	STORY(publish_at_##in##_to_##out)                                                          \
	{                                                                                          \
		delivered_at(in, out);                                                             \
	}
DELIVERED(0, 0)
DELIVERED(0, 1)
DELIVERED(0, 2)
DELIVERED(1, 0)
DELIVERED(1, 1)
DELIVERED(1, 2)
DELIVERED(2, 0)
DELIVERED(2, 1)
DELIVERED(2, 2)

STORY(publish_without_subscribers_is_acknowledged)
{
	struct client *client = join("a clean");

	publish(client, 1, "nowhere x");
	publish(client, 2, "nowhere x");
}

STORY(publish_empty_payload)
{
	struct client *client = join("a clean");

	subscribe(client, "t:0");
	say(client, "PUBLISH q0 t ");
	expect(client, "PUBLISH q0 t");
}

STORY(publish_keeps_every_byte)
{
	static const size_t sizes[] = {1, 100, 127, 128, 16383, 16384, 100000, 1000000};
	struct client *client = join("a clean");

	subscribe(client, "t:0");
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		client_publish_large(client, "t", sizes[i]);
		if (sizes[i] > 80)
			expect(client, "PUBLISH q0 t <%zu bytes>", sizes[i]);
		else
			expect(client, "PUBLISH q0 t x");
	}
}

STORY(packet_ids_start_at_1_in_each_session)
{
	struct client *publisher = join("publisher clean");
	struct client *one = join("one clean"), *two = join("two clean");

	subscribe(one, "t:1");
	publish(publisher, 1, "t a");
	subscribe(two, "t:2");
	publish(publisher, 2, "t b");
	expect(one, "PUBLISH q1 id1 t a");
	expect(one, "PUBLISH q1 id2 t b");
	expect(two, "PUBLISH q2 id1 t b");
	leave(one);
	one = join("one clean");
	subscribe(one, "t:1");
	publish(publisher, 1, "t c");
	expect(one, "PUBLISH q1 id1 t c");
}

STORY(packet_ids_of_both_directions_are_apart)
{
	struct client *publisher = join("publisher clean"), *client = join("a clean");

	subscribe(client, "t:1");
	publish(publisher, 1, "t a");
	expect(client, "PUBLISH q1 id1 t a");
	say(client, "PUBLISH q2 id1 u b");
	expect(client, "PUBREC 1");
	say(client, "PUBACK 1");
	say(client, "PUBREL 1");
	expect(client, "PUBCOMP 1");
}

STORY(packet_ids_go_round, .timeout = 60)
{
	struct client *publisher = join("publisher clean"), *subscriber = join("subscriber clean");
	const unsigned int total = 65535 + 10, batch = 50;
	unsigned int id = 0;

	subscribe(subscriber, "t:1");
	subscribe(publisher, "u:0"); /* takes packet id 1 */
	for (unsigned int i = 0; i < total; i += batch) {
		for (unsigned int k = 0; k < batch; k++)
			say(publisher, "PUBLISH q1 id%u t x", k + 2);
		for (unsigned int k = 0; k < batch; k++)
			expect(publisher, "PUBACK %u", k + 2);
		for (unsigned int k = 0; k < batch; k++) {
			id = id % 65535 + 1;
			expect(subscriber, "PUBLISH q1 id%u t x", id);
			say(subscriber, "PUBACK %u", id);
		}
	}
}

/* ---- acknowledgements precede deliveries ---- */

STORY(puback_precedes_the_delivery, .timeout = 20, .mosquitto = "delivers first")
{
	struct client *client = join("a clean");

	subscribe(client, "t:0");
	for (unsigned int i = 1; i <= 200; i++) {
		say(client, "PUBLISH q1 id%u t %u", i, i);
		expect(client, "PUBACK %u", i);
		expect(client, "PUBLISH q0 t %u", i);
	}
}

/* Whether PUBLISH or PUBREL makes it a delivery is the broker's choice. */
STORY(pubrec_precedes_the_delivery, .timeout = 20)
{
	struct client *client = join("a clean");

	subscribe(client, "t:0");
	for (unsigned int i = 1; i <= 100; i++) {
		const char *got;

		say(client, "PUBLISH q2 id%u t %u", i, i);
		expect(client, "PUBREC %u", i);
		say(client, "PUBREL %u", i);
		got = client_next(client, story_limit(CLIENT_PATIENCE_MS));
		check(got != NULL, "expected PUBCOMP or a message");
		if (got[3] == 'C')
			expect(client, "PUBLISH q0 t %u", i);
		else
			expect(client, "PUBCOMP %u", i);
	}
}

STORY(suback_precedes_what_is_retained, .timeout = 20)
{
	struct client *client = join("a clean");

	publish(client, 1, "t x");
	say(client, "PUBLISH retain q1 id1 t kept");
	expect(client, "PUBACK 1");
	for (int i = 0; i < 100; i++) {
		subscribe(client, "t:0");
		expect(client, "PUBLISH retain q0 t kept");
	}
}

/* ---- QoS 2 from a client ---- */

STORY(qos_2_said_again_is_delivered_once)
{
	struct client *publisher = join("publisher clean"), *subscriber = join("subscriber clean");

	subscribe(subscriber, "t:2");
	say(publisher, "PUBLISH q2 id5 t once");
	expect(publisher, "PUBREC 5");
	say(publisher, "PUBLISH dup q2 id5 t once");
	expect(publisher, "PUBREC 5");
	say(publisher, "PUBREL 5");
	expect(publisher, "PUBCOMP 5");
	say(publisher, "PUBREL 5"); /* again: its PUBCOMP may have been lost */
	expect(publisher, "PUBCOMP 5");
	publish(publisher, 2, "t next");
	expect_received(subscriber, "t once");
	expect_received(subscriber, "t next");
}

STORY(qos_2_id_is_free_after_pubcomp)
{
	struct client *publisher = join("publisher clean"), *subscriber = join("subscriber clean");

	subscribe(subscriber, "t:0");
	for (int i = 0; i < 3; i++) {
		say(publisher, "PUBLISH q2 id9 t %d", i);
		expect(publisher, "PUBREC 9");
		say(publisher, "PUBREL 9");
		expect(publisher, "PUBCOMP 9");
	}
	for (int i = 0; i < 3; i++)
		expect(subscriber, "PUBLISH q0 t %d", i);
}

STORY(qos_2_several_at_a_time)
{
	struct client *publisher = join("publisher clean"), *subscriber = join("subscriber clean");

	subscribe(subscriber, "t:2");
	for (int i = 1; i <= 10; i++)
		say(publisher, "PUBLISH q2 id%d t %d", i, i);
	for (int i = 1; i <= 10; i++)
		expect(publisher, "PUBREC %d", i);
	for (int i = 1; i <= 10; i++)
		say(publisher, "PUBREL %d", i);
	for (int i = 1; i <= 10; i++)
		expect(publisher, "PUBCOMP %d", i);
	for (int i = 1; i <= 10; i++)
		expect(subscriber, "PUBLISH q2 id%d t %d", i, i);
	for (int i = 1; i <= 10; i++)
		say(subscriber, "PUBREC %d", i);
	for (int i = 1; i <= 10; i++)
		expect(subscriber, "PUBREL %d", i);
	for (int i = 1; i <= 10; i++)
		say(subscriber, "PUBCOMP %d", i);
	ping(subscriber);
}

/* ---- QoS 2 to a client ---- */

STORY(qos_2_pubrec_said_again_gets_pubrel_again)
{
	struct client *publisher = join("publisher clean"), *client = join("a clean");

	subscribe(client, "t:2");
	publish(publisher, 2, "t x");
	expect(client, "PUBLISH q2 id1 t x");
	say(client, "PUBREC 1");
	expect(client, "PUBREL 1");
	say(client, "PUBREC 1");
	expect(client, "PUBREL 1");
	say(client, "PUBCOMP 1");
	say(client, "PUBCOMP 1");
	ping(client);
}

/*
 * [MQTT-4.8.0-1]: an acknowledgement of the wrong kind for its packet id closes the connection, has
 * no answer, and does not end the handshake. `begun`: the PUBREC of QoS 2 has been said before.
 */
static void wrong_kind(unsigned int qos, bool begun, const char *wrong)
{
	struct client *publisher = join("publisher clean"), *client = join_new("a");
	char filter[8];

	snprintf(filter, sizeof(filter), "t:%u", qos);
	subscribe(client, filter);
	publish(publisher, 1, "t x");
	publish(publisher, qos, "t y");
	expect(client, "PUBLISH q1 id1 t x");
	say(client, "PUBACK 1");
	expect(client, "PUBLISH q%u id2 t y", qos);
	if (begun) {
		say(client, "PUBREC 2");
		expect(client, "PUBREL 2");
	}
	say(client, "%s 2", wrong);
	client_expect_closed(client, CLIENT_PATIENCE_MS);
	client = resume("a");
	if (begun)
		expect(client, "PUBREL 2");
	else
		expect(client, "PUBLISH dup q%u id2 t y", qos);
	leave(client);
	leave(join("a clean"));
	ping(publisher);
}

STORY(an_acknowledgement_of_the_wrong_kind_closes)
{
	story_here(__FILE__, __LINE__);
	wrong_kind(1, false, "PUBREC");
	wrong_kind(1, false, "PUBCOMP");
	wrong_kind(2, false, "PUBACK");
	wrong_kind(2, false, "PUBCOMP");
	wrong_kind(2, true, "PUBACK");
}

/* Nobody knows any more what it was for: an answer that was under way when its client went. */
STORY(an_acknowledgement_of_nothing_is_no_harm)
{
	struct client *client = join("a clean");

	say(client, "PUBACK 7");
	say(client, "PUBCOMP 7");
	ping(client);
	say(client, "PUBREC 7");
	expect(client, "PUBREL 7");
	ping(client);
}

/* [MQTT-3.3.1-3]: it is about one sender's attempts, and is not passed on. */
STORY(dup_is_not_passed_on)
{
	struct client *publisher = join("publisher clean"), *subscriber = join("subscriber clean");

	subscribe(subscriber, "t:2");
	say(publisher, "PUBLISH dup q1 id5 t one");
	expect(publisher, "PUBACK 5");
	expect(subscriber, "PUBLISH q1 id1 t one");
	say(publisher, "PUBLISH dup q2 id6 t two");
	expect(publisher, "PUBREC 6");
	say(publisher, "PUBREL 6");
	expect(publisher, "PUBCOMP 6");
	expect(subscriber, "PUBLISH q2 id2 t two");
	say(publisher, "PUBLISH dup retain q1 id7 t three");
	expect(publisher, "PUBACK 7");
	expect(subscriber, "PUBLISH q1 id3 t three");
}

/* [MQTT-3.3.5-2]: it may not say that, and cannot be told so; so it is acknowledged. */
STORY(publish_below_sys_is_acknowledged_and_goes_nowhere,
      .mosquitto = "lets its configuration decide")
{
	static const char *const names[] = {"^$SYS/broker/version", "^$SYS/", "^$SYS"};
	struct client *client;

	start_server("--stats-interval 0");
	client = join("a clean");
	subscribe(client, "^$SYS/#:2 ^$SYSTEM:0");
	for (int i = 0; i < 3; i++) {
		publish(client, 0, "%s forged", names[i]);
		publish(client, 1, "%s forged", names[i]);
		publish(client, 2, "%s forged", names[i]);
		say(client, "PUBLISH retain q1 id77 %s forged", names[i]);
		expect(client, "PUBACK 77");
	}
	publish(client, 0, "^$SYSTEM another");
	expect(client, "PUBLISH q0 $SYSTEM another");
	subscribe(client, "^$SYS/#:2");
	expect_silence(client, 200);
}
