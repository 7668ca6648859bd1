/* SPDX-License-Identifier: MIT */
/* Wills: published when a client is gone without DISCONNECT, and only then. */
#include "client.h"

#include <unistd.h>

#include "server.h"

STORY(will_of_who_vanishes)
{
	struct client *heir = join("heir clean"), *client = join("a clean will=w message=bye");

	subscribe(heir, "w:2");
	client_vanish(client);
	expect(heir, "PUBLISH q0 w bye");
}

STORY(will_of_who_is_killed)
{
	struct client *heir = join("heir clean"), *client = join("a clean will=w message=bye");

	subscribe(heir, "w:2");
	client_kill(client);
	expect(heir, "PUBLISH q0 w bye");
}

STORY(will_has_a_qos)
{
	struct client *heir = join("heir clean");

	subscribe(heir, "w:2");
	client_vanish(join("a clean will=w message=one wq=1"));
	expect(heir, "PUBLISH q1 id1 w one");
	say(heir, "PUBACK 1");
	client_vanish(join("a clean will=w message=two wq=2"));
	expect(heir, "PUBLISH q2 id2 w two");
	say(heir, "PUBREC 2");
	expect(heir, "PUBREL 2");
}

STORY(will_without_a_message_is_empty)
{
	struct client *heir = join("heir clean");

	subscribe(heir, "w:0");
	client_vanish(join("a clean will=w"));
	expect(heir, "PUBLISH q0 w");
}

STORY(will_can_be_retained)
{
	struct client *heir = join("heir clean"), *late = join("late clean");

	subscribe(heir, "w:0");
	client_vanish(join("a clean will=w message=bye wr wq=1"));
	expect(heir, "PUBLISH q0 w bye");
	subscribe(late, "w:1");
	expect(late, "PUBLISH retain q1 id1 w bye");
}

STORY(will_is_not_published_after_disconnect)
{
	struct client *heir = join("heir clean");

	subscribe(heir, "w:0");
	leave(join("a clean will=w message=bye"));
	leave(join("b will=w message=bye"));
	expect_silence(heir, 300);
}

STORY(will_is_published_at_a_keep_alive_time_out)
{
	struct client *heir = join("heir clean");
	const long long begin = story_clock();
	struct client *client = join("a clean alive=1 will=w message=bye");
	long long took;
	const char *got;

	subscribe(heir, "w:0");
	got = client_next(heir, story_limit(8000)); /* mosquitto looks every 5 s */
	took = story_clock() - begin;
	check(got != NULL, "no will");
	check(took >= 1400, "after %lld ms", took);
	expect_closed(client);
}

STORY(will_is_published_at_a_protocol_error)
{
	struct client *heir = join("heir clean"), *client = join("a clean will=w message=bye");

	subscribe(heir, "w:0");
	say_hex(client, "f0 00");
	expect(heir, "PUBLISH q0 w bye");
}

/* A DISCONNECT that is none. */
STORY(will_is_published_at_a_malformed_disconnect)
{
	struct client *heir = join("heir clean"), *client = join("a clean will=w message=bye");

	subscribe(heir, "w:0");
	say_hex(client, "e1 00");
	expect(heir, "PUBLISH q0 w bye");
}

STORY(will_is_published_once)
{
	struct client *heir = join("heir clean");

	subscribe(heir, "w:0");
	client_vanish(join("a will=w message=bye"));
	expect(heir, "PUBLISH q0 w bye");
	client_vanish(join("a")); /* this connection has none */
	leave(join("a will=w message=new"));
	expect_silence(heir, 200);
}

STORY(will_of_a_refused_client_is_not_published, .five = "MQTT 5 assigns an id")
{
	struct client *heir = join("heir clean"), *client = open_client("nobody");

	subscribe(heir, "w:0");
	say(client, "CONNECT - will=w message=bye");
	expect(client, "CONNACK 0 2");
	expect_closed(client);
	expect_silence(heir, 200);
}

STORY(will_comes_behind_the_last_words)
{
	struct client *heir = join("heir clean"), *client;

	subscribe(heir, "t:0");
	for (int round = 0; round < 10; round++) {
		client = join("a clean will=t message=bye");
		for (int i = 0; i < 20; i++)
			publish(client, 0, "t %d", i);
		client_vanish(client);
		for (int i = 0; i < 20; i++)
			expect(heir, "PUBLISH q0 t %d", i);
		expect(heir, "PUBLISH q0 t bye");
	}
}

STORY(will_waits_in_a_session_that_is_away)
{
	struct client *heir = join_new("heir");

	subscribe(heir, "w:1");
	leave(heir);
	story_sleep(story_scaled(300)); /* as in leave_session */
	client_vanish(join("a clean will=w message=bye wq=1"));
	story_sleep(200);
	heir = resume("heir");
	expect(heir, "PUBLISH q1 id1 w bye");
}

STORY(will_goes_to_its_own_client_s_session)
{
	struct client *client = join_new("a will=w message=bye wq=1");

	subscribe(client, "w:1");
	client_vanish(client);
	story_sleep(200);
	client = resume("a");
	/* With or without dup: it may have been sent to who was gone. */
	expect_received(client, "w bye");
}

/* [MQTT-3.1.2-16] */
STORY(will_is_retained_only_if_asked)
{
	struct client *heir = join("heir clean"), *late = join("late clean");

	subscribe(heir, "w:0");
	client_vanish(join("a clean will=w message=bye wq=1"));
	expect(heir, "PUBLISH q0 w bye");
	subscribe(late, "w:1");
	expect_silence(late, 200);
}

/* What is below $SYS/ is the broker's to say: a will is a way to say something like any other. */
STORY(will_below_sys_goes_nowhere, .mosquitto = "lets its configuration decide")
{
	struct client *heir;

	start_server("--stats-interval 0");
	heir = join("heir clean");
	subscribe(heir, "^$SYS/#:1 ^w:0");
	client_vanish(join("a clean will=^$SYS/broker/version message=forged wq=1 wr"));
	client_vanish(join("b clean will=^$SYS message=forged"));
	client_vanish(join("c clean will=^w message=bye"));
	expect(heir, "PUBLISH q0 w bye");
	expect_silence(heir, 200);
	subscribe(heir, "^$SYS/#:1");
	expect_silence(heir, 100);
}

/* A process of its own that publishes as fast as it can. */
static void flood(void)
{
	struct client *publisher;

	if (fork() != 0)
		return; /* it ends with the story */
	publisher = join("flood clean");
	for (;;)
		say(publisher, "PUBLISH q0 t 0123456789012345678901234567890123456789");
}

/*
 * Who closes its socket with something unread in it resets the connection. The broker, which is
 * about to write, may learn of that before it has read the DISCONNECT.
 */
STORY(will_is_not_published_after_disconnect_and_a_reset, .timeout = 20,
      .mosquitto = "looks at its write error first")
{
	struct client *heir;

	start_server("");
	heir = join("heir clean");
	subscribe(heir, "w:0");
	flood();
	for (int i = 0; i < 100; i++) {
		struct client *client = join("a clean will=w message=bye");

		say(client, "SUBSCRIBE 1 t:0");
		story_sleep(2);
		say(client, "DISCONNECT");
		client_vanish(client);
	}
	expect_silence(heir, 300);
}
