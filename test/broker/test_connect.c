/* SPDX-License-Identifier: MIT */
/* CONNECT: who is welcome, what it is answered, keep alive, take-over. */
#include "client.h"

#include <stdio.h>
#include <string.h>

#include "server.h"

STORY(connect_is_answered)
{
	struct client *client = open_client("a");

	say(client, "CONNECT a clean");
	expect(client, "CONNACK 0 0");
	ping(client);
}

/* Refused by return code 1, or at least closed. */
static void refused_protocol(const char *words)
{
	struct client *client = open_client("stranger");

	say(client, "%s", words);
	expect(client, "CONNACK 0 1");
	expect_closed(client);
}

STORY(connect_level_3_is_refused, .mosquitto = "speaks MQTT 3.1")
{
	refused_protocol("CONNECT a clean level=3");
}

/* A later MQTT knows the CONNACK of 5. */
STORY(connect_later_level_is_refused, .mosquitto = "answers as MQTT 3.1.1 does")
{
	struct client *client = open_client("stranger");

	say(client, "CONNECT a clean level=6");
	expect(client, "CONNACK 0 132 0");
	expect_closed(client);
}

STORY(connect_level_0_is_refused)
{
	refused_protocol("CONNECT a clean level=0");
}

/* [MQTT-3.1.4-1]: return code 1 is for the level alone; another protocol has other answers. */
STORY(connect_unknown_protocol_name_is_closed_without_a_word)
{
	static const char *const names[] = {"MQTX", "Mqtt", "MQT", "MQTTT", "AMQP"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		struct client *client = open_client("stranger");

		say(client, "CONNECT a clean name=%s", names[i]);
		expect_closed(client);
	}
}

STORY(connect_mqtt_3_1_is_closed_without_a_word, .mosquitto = "speaks MQTT 3.1")
{
	struct client *client = open_client("stranger");

	say(client, "CONNECT a clean name=MQIsdp level=3");
	expect_closed(client);
}

STORY(connect_empty_id_is_accepted_with_clean_session)
{
	struct client *one = open_client("one"), *two = open_client("two");

	say(one, "CONNECT - clean");
	expect(one, "CONNACK 0 0");
	say(two, "CONNECT - clean");
	expect(two, "CONNACK 0 0");
	ping(one); /* they are not the same client */
	subscribe(one, "t:0");
	publish(two, 1, "t hello");
	expect(one, "PUBLISH q0 t hello");
}

STORY(connect_empty_id_is_refused_with_a_session_to_keep, .five = "MQTT 5 assigns an id")
{
	struct client *client = open_client("nobody");

	say(client, "CONNECT -");
	expect(client, "CONNACK 0 2");
	expect_closed(client);
}

STORY(connect_long_id_is_accepted)
{
	char id[600];

	for (int i = 0; i < 599; i++)
		id[i] = (char)('a' + i % 26);
	id[599] = '\0';
	resume((leave(join_new(id)), id));
}

STORY(connect_in_pieces_is_understood)
{
	static const char bytes[] = "\x10\x12\0\4MQTT\4\2\0\x3c\0\6pieces\xc0\0";
	struct client *client = open_client("pieces");

	for (size_t i = 0; i < sizeof(bytes) - 1; i++) {
		client_send(client, bytes + i, 1);
		if (i % 5 == 0)
			story_sleep(5);
	}
	expect(client, "CONNACK 0 0");
	expect(client, "PINGRESP");
}

STORY(connect_and_more_in_one_piece)
{
	struct client *client = open_client("hasty");

	say_hex(client, "10 11 00 04 'MQTT' 04 02 00 3c 00 05 'hasty'"
	                " 82 0c 00 01 00 07 'hasty/t' 01"
	                " 32 0d 00 07 'hasty/t' 00 02 'hi' c0 00");
	expect(client, "CONNACK 0 0");
	/* Answers to packets of different kinds are in no particular order. */
	for (int seen = 0; seen != 15;) {
		const char *got = client_next(client, story_limit(CLIENT_PATIENCE_MS));

		check(got != NULL, "got nothing after %d", seen);
		seen |= strcmp(got, "SUBACK 1 1") == 0                  ? 1
		        : strcmp(got, "PUBACK 2") == 0                  ? 2
		        : strcmp(got, "PINGRESP") == 0                  ? 4
		        : strcmp(got, "PUBLISH q1 id1 hasty/t hi") == 0 ? 8
		                                                        : 16;
	}
}

STORY(connect_disconnect_is_answered_by_closing)
{
	struct client *client = join("a clean");

	say(client, "DISCONNECT");
	expect_closed(client);
}

/* ---- keep alive ---- */

/* A keep alive of 1 s may take 1.5 s and one more; mosquitto looks every 5 s. */
static long long patience(void)
{
	return story_limit(server_is_mosquitto() ? 8000 : 2700);
}

/* Not before 1.5 times the keep alive, from before the last packet of the client on. */
static void check_timeout(long long since)
{
	const long long took = story_clock() - since;

	check(took >= 1400, "disconnected after %lld ms", took);
}

STORY(keep_alive_is_enforced)
{
	const long long begin = story_clock();
	struct client *client = join("silent clean alive=1");

	client_expect_closed(client, patience());
	check_timeout(begin);
}

STORY(keep_alive_is_enforced_on_subscribers)
{
	struct client *publisher = join("publisher clean");
	struct client *client = join("silent clean alive=1");
	const long long begin = story_clock();

	/* What it is sent is no sign of life. */
	subscribe(client, "t:0");
	while (!client->ended && story_clock() < begin + patience()) {
		publish(publisher, 0, "t x");
		(void)client_next(client, story_limit(CLIENT_PATIENCE_MS));
		story_sleep(50);
	}
	check(client->ended, "still connected");
	check_timeout(begin);
}

STORY(keep_alive_is_kept_by_any_packet)
{
	struct client *client = join("alive clean alive=3");

	/* Longer than 4.5 s, and no pause is near to that. */
	for (int i = 0; i < 40; i++) {
		story_sleep(150);
		ping(client);
	}
}

STORY(keep_alive_0_means_never)
{
	struct client *client = join("patient clean alive=0");

	expect_silence(client, 3000);
	ping(client);
}

/* A byte is no packet: [MQTT-3.1.2-24] is about packets. */
STORY(keep_alive_is_not_kept_by_half_a_packet)
{
	struct client *client = join("slow clean alive=1");
	const long long begin = story_clock();

	client_send(client, "\x30\x40\0\3", 4);
	while (!client->ended && story_clock() < begin + patience()) {
		client_send(client, "x", 1);
		check(client_next(client, 200) == NULL, "got something");
	}
	check(client->ended, "still connected");
}

/* ---- take-over ---- */

STORY(take_over_closes_the_old_connection)
{
	struct client *old = join("twin clean"), *young = join("twin clean");

	expect_closed(old);
	ping(young);
}

STORY(take_over_keeps_the_session)
{
	struct client *publisher = join("publisher clean");
	struct client *old = join_new("twin"), *young;

	subscribe(old, "t:1");
	young = resume("twin");
	expect_closed(old);
	publish(publisher, 1, "t hello");
	expect(young, "PUBLISH q1 id1 t hello");
}

STORY(take_over_by_a_clean_session_ends_the_kept_one)
{
	struct client *publisher = join("publisher clean");
	struct client *old = join_new("twin"), *young;

	subscribe(old, "t:1");
	young = join_new("twin clean");
	expect_closed(old);
	publish(publisher, 1, "t hello");
	expect_silence(young, 200);
	leave(young);
	join_new("twin");
}

STORY(take_over_many_times)
{
	struct client *clients[50];

	for (int i = 0; i < 50; i++)
		clients[i] = join("many clean");
	for (int i = 0; i < 49; i++)
		expect_closed(clients[i]);
	ping(clients[49]);
}

STORY(take_over_by_many_at_once_leaves_one)
{
	enum { TWINS = 30 };
	struct client *clients[TWINS];
	bool welcome[TWINS];
	int alive = 0;

	for (int i = 0; i < TWINS; i++)
		clients[i] = open_client("twin");
	for (int i = 0; i < TWINS; i++)
		say(clients[i], "CONNECT twin");
	for (int i = 0; i < TWINS; i++) {
		const char *got = client_next(clients[i], story_limit(CLIENT_PATIENCE_MS));

		/* Who was taken over before it was welcome may not have been told. */
		welcome[i] = got != NULL;
		check(got == NULL || strncmp(got, "CONNACK", 7) == 0, "got %s", got);
	}
	for (int i = 0; i < TWINS; i++)
		if (welcome[i])
			say(clients[i], "PINGREQ");
	for (int i = 0; i < TWINS; i++) {
		const char *got;

		if (!welcome[i])
			continue;
		got = client_next(clients[i], story_limit(CLIENT_PATIENCE_MS));
		check(got == NULL || strcmp(got, "PINGRESP") == 0, "got %s", got);
		alive += got != NULL;
	}
	check(alive == 1, "%d are alive", alive);
	resume("twin");
}

STORY(take_over_publishes_the_will)
{
	struct client *heir = join("heir clean");

	subscribe(heir, "w:0");
	join("twin clean will=w message=bye");
	join("twin clean");
	expect(heir, "PUBLISH q0 w bye");
}

/* Three with one id at a time, in both kinds of session: in the end there is one. */
STORY(take_over_by_sessions_of_both_kinds, .timeout = 20)
{
	for (int round = 0; round < 40; round++) {
		struct client *twins[3];
		int alive = 0;

		twins[0] = join(round & 1 ? "twin clean" : "twin");
		subscribe(twins[0], "t:1");
		twins[1] = open_client("second");
		twins[2] = open_client("third");
		say(twins[1], "CONNECT twin%s", round & 2 ? " clean" : "");
		story_sleep(round & 8 ? 1 : 0);
		say(twins[2], "CONNECT twin%s", round & 4 ? " clean" : "");
		expect_closed(twins[0]);
		/* Who was taken over before it was welcome is closed without a word. */
		for (int i = 1; i < 3; i++)
			(void)client_next(twins[i], story_limit(CLIENT_PATIENCE_MS));
		for (int i = 1; i < 3; i++) {
			const char *got;

			say(twins[i], "PINGREQ");
			got = client_next(twins[i], story_limit(CLIENT_PATIENCE_MS));
			check(got != NULL || twins[i]->ended, "no answer");
			check(got == NULL || strcmp(got, "PINGRESP") == 0, "got %s", got);
			alive += got != NULL;
		}
		check(alive == 1, "%d are alive", alive);
		leave(join_new("twin clean"));
		leave(join_new("twin"));
		leave(resume("twin"));
	}
}

/* [MQTT-3.1.4-5], [MQTT-3.1.0-1]: nothing behind a CONNECT that was refused, or before any. */
STORY(connect_refused_nothing_else_is_heard)
{
	static const char *const beginnings[] = {
		"10 0d 00 04 'MQTT' 06 02 00 3c 00 01 'c'", /* level */
		"10 0c 00 04 'MQTT' 04 00 00 3c 00 00",     /* no id */
		"10 0d 00 04 'MQTT' 04 03 00 3c 00 01 'c'", /* malformed */
		"",                                         /* no CONNECT */
	};
	struct client *witness = join("witness clean");

	subscribe(witness, "t:0");
	for (int i = 0; i < 4; i++) {
		struct client *client = open_client("refused");
		char hex[200];

		snprintf(hex, sizeof(hex), "%s 30 %02zx 00 %02zx '%s/t' 'no'", beginnings[i],
		         strlen(story_name()) + 6, strlen(story_name()) + 2, story_name());
		say_hex(client, hex);
		while (client_next(client, story_limit(CLIENT_PATIENCE_MS)) != NULL)
			continue;
		check(client->ended, "still connected");
	}
	expect_silence(witness, 200);
}
