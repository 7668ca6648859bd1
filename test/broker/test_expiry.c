/* SPDX-License-Identifier: MIT */
/* Sessions of MQTT 5: clean start, and for how long a session outlives its connection. */
#include "client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server.h"
#include "store_file.h"

#define OURS .mosquitto = "is started without its persistence"

/* As leave(), with these words. */
static void leave_by(struct client *client, const char *words)
{
	say(client, "%s", words);
	expect_closed(client);
}

STORY(expiry_0_ends_the_session_with_its_connection)
{
	leave(join_new("a v5"));
	leave(join_new("a v5"));
	client_vanish(join_new("a v5"));
	story_sleep(story_scaled(300)); /* the broker has to see that */
	join_new("a v5");
}

STORY(expiry_keeps_the_session)
{
	struct client *client = join_new("a v5 expiry=100");

	leave(client);
	client = resume("a v5 expiry=100");
	client_vanish(client);
	leave(resume("a v5 expiry=4294967295"));
	leave(join_new("a v5 clean expiry=100"));
	leave(resume("a v5"));
	join_new("a v5");
}

STORY(expiry_is_in_seconds, .timeout = 20, .mosquitto = "looks every few seconds")
{
	leave(join_new("a v5 expiry=1"));
	leave(join_new("b v5 expiry=20"));
	leave(resume("a v5 expiry=1"));
	story_sleep(story_scaled(3500));
	join_new("a v5");
	resume("b v5");
}

STORY(expiry_can_be_changed_by_disconnect, .timeout = 20, .mosquitto = "looks every few seconds")
{
	leave_by(join_new("a v5 expiry=100"), "DISCONNECT expiry=0");
	leave_by(join_new("a v5 expiry=100"), "DISCONNECT expiry=1");
	leave_by(join_new("b v5 expiry=1"), "DISCONNECT expiry=100");
	story_sleep(story_scaled(3500));
	join_new("a v5");
	resume("b v5");
}

STORY(expiry_0_cannot_be_changed_by_disconnect)
{
	struct client *heir = join("heir clean"), *client = join_new("a v5 will=w message=bye");

	subscribe(heir, "w:0");
	say(client, "DISCONNECT expiry=1");
	expect_end(client, "DISCONNECT 0x82");
	expect(heir, "PUBLISH q0 w bye"); /* it was none */
	join_new("a v5");
}

STORY(expiry_is_limited, .timeout = 20, .mosquitto = "has other options")
{
	struct client *client;

	start_server("--session-expiry 1");
	client = join_new("a v5 expiry=100");
	leave_by(client, "DISCONNECT expiry=1000");
	story_sleep(story_scaled(3500));
	join_new("a v5");
}

/* A newcomer does not find the session of a connection that it ends, if that was to end with it. */
STORY(expiry_0_leaves_nothing_to_take_over)
{
	struct client *publisher = join("publisher clean"), *old, *young;

	leave(join_new("a v5 expiry=100"));
	old = resume("a v5");
	subscribe(publisher, "t:0");
	young = join_new("a v5 expiry=100");
	ping(young);
	(void)old;
	leave(young);
	resume("a v5 expiry=100");
	/* Many at a time: in the end there is one, and it works. */
	for (int round = 0; round < 20; round++) {
		struct client *twins[4];
		int alive = 0;

		for (int i = 0; i < 4; i++)
			twins[i] = open_client("a");
		for (int i = 0; i < 4; i++)
			say(twins[i], "CONNECT a v5%s%s", (round + i) & 1 ? " expiry=100" : "",
			    (round + i) & 4 ? " clean" : "");
		for (int i = 0; i < 4; i++)
			(void)client_next(twins[i], story_limit(CLIENT_PATIENCE_MS));
		for (int i = 0; i < 4; i++) {
			const char *got;

			say(twins[i], "PINGREQ");
			do
				got = client_next(twins[i], story_limit(CLIENT_PATIENCE_MS));
			while (got != NULL && strcmp(got, "PINGRESP") != 0);
			alive += got != NULL;
		}
		check(alive == 1, "%d are alive", alive);
	}
}

/* In the store of a broker that does not run: the client went at another time. */
static void shift(const char *id, const char *seconds)
{
	char line[512];

	snprintf(line, sizeof(line),
	         "sqlite3 %s \"UPDATE sessions SET away = away %s"
	         " WHERE CAST(client AS TEXT) = '%s/%s'\"",
	         store_path(), seconds, story_name(), id);
	check(system(line) == 0, "%s", line);
}

STORY(expiry_goes_on_while_the_broker_is_away, .timeout = 30, OURS)
{
	if (system("command -v sqlite3 >/dev/null") != 0)
		story_skip("no sqlite3");
	store_start("");
	leave(join_new("gone v5 expiry=100"));
	leave(join_new("back v5 expiry=100"));
	leave(join_new("future v5 expiry=100"));
	leave(join_new("clock v5 expiry=1"));
	leave(join_new("kept"));
	join_new("there v5 expiry=100");
	leave(join_new("late v5 expiry=1000"));
	client_vanish(resume("late v5 expiry=1")); /* the last word counts */
	check(server_stop() == 0, "no end");
	shift("back", "- 99");
	shift("gone", "- 101");
	shift("future", "+ 10000");
	shift("clock", "+ 10000");
	shift("kept", "- 1000000000");
	store_start("");
	leave(join_new("gone v5 expiry=100"));
	resume("kept");
	resume("future v5 expiry=100");
	resume("there v5 expiry=100");
	story_sleep(story_scaled(3500));
	join_new("late v5");
	join_new("back v5");
	join_new("clock v5"); /* one that was set back makes its time begin anew */
}

STORY(expiry_0_ends_the_session_with_the_broker, OURS)
{
	store_start("");
	leave(join_new("a v5 expiry=100"));
	resume("a v5");
	join_new("b v5 expiry=100"); /* a commit */
	store_kill();
	store_start("");
	join_new("a v5 expiry=100");
	resume("b v5 expiry=100");
}
