/* SPDX-License-Identifier: MIT */
/* Clients that say too slowly what they have begun to say. */
#include "client.h"

#include <string.h>

#include "server.h"

/*
 * The broker closes, not earlier than `least` after `begin`, and in time; something is sent all the
 * while if there is a byte.
 */
static void timed_out(struct client *client, const char *byte, long long begin, long long least)
{
	long long took;

	while (!client->ended && story_clock() < begin + story_limit(2 * least)) {
		client_send(client, byte, strlen(byte));
		if (client_next(client, 200) != NULL)
			story_fail("%s: got something", client->name);
	}
	took = story_clock() - begin;
	if (!client->ended)
		story_fail("%s: still connected after %lld ms", client->name, took);
	if (took < least)
		story_fail("%s: disconnected after %lld ms", client->name, took);
}

STORY(slow_who_says_no_connect, .timeout = 20, .mosquitto = "waits for 90 s")
{
	struct client *silent;
	long long begin;

	start_server("--connect-timeout 2");
	begin = story_clock();
	silent = open_client("silent");
	story_here(__FILE__, __LINE__);
	timed_out(silent, "", begin, 1500);
}

STORY(slow_who_never_ends_a_connect, .timeout = 20, .mosquitto = "waits for 90 s")
{
	struct client *slow;
	long long begin;

	start_server("--connect-timeout 2");
	begin = story_clock();
	slow = open_client("slow");
	client_send(slow, "\x10\x40\0\4MQTT\4\2\0\x3c\0\x34", 14);
	story_here(__FILE__, __LINE__);
	timed_out(slow, "x", begin, 1500);
}

STORY(slow_who_never_ends_a_packet, .timeout = 20, .mosquitto = "has no such time-out")
{
	struct client *slow;
	long long begin;

	start_server("--packet-timeout 2");
	slow = join("slow clean alive=0");
	begin = story_clock();
	client_send(slow, "\x30\x70\0\1t", 5);
	story_here(__FILE__, __LINE__);
	timed_out(slow, "x", begin, 1500);
}

/* Nobody is timed out who says nothing between packets and need not. */
STORY(slow_who_says_nothing_stays, .timeout = 20)
{
	struct client *client;

	start_server(server_is_mosquitto()
	                     ? ""
	                     : "--connect-timeout 2 --packet-timeout 2 --stuck-timeout 2");
	client = join("a clean alive=0");
	expect_silence(client, 4500);
	ping(client);
}
