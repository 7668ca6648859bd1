/* SPDX-License-Identifier: MIT */
/* Statements of MQTT 5 (musts.txt) that belong to none of the other files. */
#include "client.h"

#include <stdio.h>
#include <string.h>

#include "server.h"

/* [MQTT-3.1.2-4] */
STORY(five_clean_start_ends_a_kept_session)
{
	struct client *publisher = join("publisher v5 clean"), *client = join("a v5 expiry=100");

	subscribe(client, "t:1");
	leave(client);
	publish(publisher, 1, "t one");
	client = join_new("a v5 clean expiry=100");
	publish(publisher, 1, "t two");
	expect_silence(client, 100);
	/* The new one is kept as the old one was. */
	subscribe(client, "t:1");
	leave(client);
	publish(publisher, 1, "t three");
	expect_received(resume("a v5 expiry=100"), "t three");
}

/* [MQTT-3.2.2-18] */
STORY(five_no_alias_where_the_broker_takes_none, .mosquitto = "has other options")
{
	struct client *client;

	start_server("--max-topic-alias 0");
	client = open_client("a");
	say(client, "CONNECT a v5 clean");
	check(strstr(client_next(client, story_limit(CLIENT_PATIENCE_MS)), "alias-max") == NULL,
	      "CONNACK offers aliases");
	say(client, "PUBLISH q0 alias=1 t x");
	check(strncmp(client_next(client, story_limit(CLIENT_PATIENCE_MS)), "DISCONNECT 0x94",
	              15) == 0,
	      "another reason");
	expect_closed(client);
}

/* [MQTT-4.3.2-5] */
STORY(five_qos_1_with_a_packet_id_again_is_a_new_message)
{
	struct client *publisher = join("publisher v5 clean"), *client = join("a v5 clean");

	subscribe(client, "t:0");
	say(publisher, "PUBLISH q1 id7 t one");
	expect(publisher, "PUBACK 7");
	say(publisher, "PUBLISH dup q1 id7 t one");
	expect(publisher, "PUBACK 7");
	expect(client, "PUBLISH q0 t one");
	expect(client, "PUBLISH q0 t one");
}

/* [MQTT-4.3.3-13] */
STORY(five_qos_2_that_has_expired_is_acknowledged_to_its_end)
{
	struct client *publisher = join("publisher v5 clean"), *client = join("a v5 expiry=100");

	subscribe(client, "t:2");
	leave(client);
	say(publisher, "PUBLISH q2 id7 expiry=1 t short");
	expect(publisher, "PUBREC 7");
	story_sleep(1500);
	say(publisher, "PUBLISH dup q2 id7 expiry=1 t short");
	expect(publisher, "PUBREC 7");
	say(publisher, "PUBREL 7");
	expect(publisher, "PUBCOMP 7");
	expect_silence(resume("a v5 expiry=100"), 100);
}

/* [MQTT-3.3.4-10], [MQTT-4.9.0-3] */
STORY(five_full_window_holds_back_nothing_but_messages, .mosquitto = "holds back QoS 0, too")
{
	struct client *publisher = join("publisher v5 clean");
	struct client *client = join("a v5 clean receive=1");

	subscribe(client, "t:1");
	publish(publisher, 1, "t one");
	publish(publisher, 1, "t two");
	expect(client, "PUBLISH q1 id1 t one");
	ping(client);
	subscribe(client, "u:1");
	unsubscribe(client, "u");
	publish(client, 2, "v of its own");
	expect_silence(client, 100);
	say(client, "PUBACK 1");
	expect(client, "PUBLISH q1 id2 t two");
}

/* [MQTT-4.8.2-6] */
STORY(five_message_that_a_member_refuses_goes_to_no_other)
{
	struct client *publisher = join("publisher v5 clean");
	struct client *members[] = {join("a v5 clean"), join("b v5 clean")};
	static const char *const refusals[] = {"PUBACK", "PUBREC"};

	for (int i = 0; i < 2; i++)
		subscribe(members[i], "$share/g/t:2");
	for (unsigned int qos = 1; qos <= 2; qos++) {
		const char *got = NULL;
		int chosen = 0;
		char *at;

		publish(publisher, qos, "t %u", qos);
		for (; chosen < 2 && got == NULL; chosen++)
			got = client_next(members[chosen], 500);
		check(got != NULL && (at = strstr(got, " id")) != NULL, "nobody got it");
		chosen--;
		say(members[chosen], "%s %s 0x80", refusals[qos - 1],
		    strndup(at + 3, strcspn(at + 3, " ")));
		expect_silence(members[0], 200);
		expect_silence(members[1], 200);
		ping(members[chosen]);
	}
}
