/* SPDX-License-Identifier: MIT */
/* Kept sessions: for how long, and how many. */
#include "client.h"

#include <stdio.h>
#include <string.h>

#include "server.h"

STORY(kept_session_ends_when_its_client_stays_away, .timeout = 20,
      .mosquitto = "counts days, and looks once an hour")
{
	struct client *publisher, *client;

	start_server("--session-expiry 1");
	publisher = join("publisher clean");
	client = join_new("a");
	subscribe(client, "t:1");
	leave(client);
	story_sleep(story_scaled(5000));
	publish(publisher, 1, "t lost");
	client = join_new("a");
	expect_silence(client, 300);
	subscribe(client, "t:1");
	publish(publisher, 1, "t now");
	expect_received(client, "t now");
}

STORY(kept_session_does_not_end_while_its_client_is_there, .timeout = 20)
{
	struct client *publisher, *client;

	start_server(server_is_mosquitto() ? "" : "--session-expiry 2");
	publisher = join("publisher clean");
	client = join_new("a");
	subscribe(client, "t:1");
	/* Also the time that it was away before counts no more. */
	for (int i = 0; i < 3; i++) {
		client_vanish(client);
		client = resume("a");
	}
	story_sleep(5000);
	publish(publisher, 1, "t still");
	expect_received(client, "t still");
	leave(client);
	publish(publisher, 1, "t away");
	client = resume("a");
	expect_received(client, "t away");
}

/* Who comes back at just that time finds a session that works: the old one or a new one. */
STORY(kept_session_or_a_new_one, .timeout = 30, .mosquitto = "as above")
{
	struct client *publisher, *client;
	char words[16];

	start_server("--session-expiry 1");
	publisher = join("publisher clean");
	for (int i = 0; i < 8; i++) {
		client = open_client("a");
		say(client, "CONNECT a");
		(void)client_next(client, story_limit(CLIENT_PATIENCE_MS));
		subscribe(client, "t:1");
		snprintf(words, sizeof(words), "t %d", i);
		publish(publisher, 1, "%s", words);
		expect_received(client, words);
		client_vanish(client);
		story_sleep(900 + i * 60);
	}
}

STORY(kept_sessions_are_limited, .mosquitto = "has no such limit")
{
	struct client *first, *second, *third;

	start_server("--max-sessions 2");
	first = join_new("first");
	second = join_new("second");
	leave(second);
	third = open_client("third");
	say(third, "CONNECT third");
	expect(third, "CONNACK 0 3");
	expect_closed(third);
	ping(join("fourth clean")); /* is not kept */
	second = resume("second");
	ping(second);
	/* One that ends makes room: by a clean session of that client. */
	leave(first);
	join("first clean");
	third = join_new("third");
	ping(third);
	/* The one with a clean session may not keep one now. */
	first = open_client("first");
	say(first, "CONNECT first");
	expect(first, "CONNACK 0 3");
	expect_closed(first);
}

/* All that waits is limited together; who takes what is his makes room for others. */
STORY(kept_messages_are_limited_together, .timeout = 20, .mosquitto = "has no such limit")
{
	struct client *publisher, *client;
	int counts[2] = {0}, more = 0;

	start_server("--max-queued-total 64K --max-inflight 1000");
	publisher = join("publisher clean");
	for (int i = 0; i < 2; i++) {
		client = join_new(i == 0 ? "a" : "b");
		subscribe(client, i == 0 ? "a:1" : "b:1");
		leave(client);
	}
	for (int i = 0; i < 300; i++) {
		publish(publisher, 1, "a %d", i);
		publish(publisher, 1, "b %d", i);
	}
	for (int i = 0; i < 2; i++) {
		client = resume(i == 0 ? "a" : "b");
		while (client_next(client, 1500) != NULL)
			counts[i]++;
		if (i == 0)
			leave(client);
	}
	/* Those of a are unacknowledged now, and wait no more: nor do they count. */
	check(counts[0] > 30 && counts[1] > 30, "%d and %d came", counts[0], counts[1]);
	check(counts[0] + counts[1] < 300, "%d and %d came", counts[0], counts[1]);
	leave(client);
	for (int i = 0; i < 200; i++)
		publish(publisher, 1, "b %d", i);
	client = resume("b");
	while (client_next(client, 1500) != NULL)
		more++;
	/* What it has not acknowledged comes again; of the rest a's share is b's now, too. */
	check(more > 2 * counts[1] + counts[0] / 2, "%d and %d came, then %d", counts[0], counts[1],
	      more);
}

/* That would be a look at each topic for each filter of each session, and for nobody. */
STORY(kept_sessions_do_not_hold_up_the_end, .timeout = 60, .mosquitto = "has other options")
{
	enum { SESSIONS = 2000, FILTERS = 60, TOPICS = 5000 };
	char words[FILTERS * 10] = "";
	struct client *client;
	int status;

	for (int i = 0; i < FILTERS; i++)
		snprintf(words + strlen(words), sizeof(words) - strlen(words), "%s^+/x%d:0",
		         i > 0 ? " " : "", i);
	start_server("");
	for (int i = 0; i < SESSIONS; i++) {
		char name[16];

		snprintf(name, sizeof(name), "k%d", i);
		client = join_new(name);
		subscribe(client, words);
		leave(client);
	}
	client = join("publisher clean");
	for (int i = 0; i < TOPICS; i++)
		say(client, "PUBLISH retain q0 ^topic/%d x", i);
	ping(client);
	status = server_stop();
	check(status == 0, "wait status %d", status);
}
