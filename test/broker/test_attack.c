/* SPDX-License-Identifier: MIT */
/* Attacks by who connects: a pair that behaves goes on beside them, and memory is bounded. */
#include "client.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "pair.h"
#include "server.h"

#define OURS .mosquitto = "is another broker: what it bears is its own affair"
#define MEBI ((size_t)1 << 20)

/* Closes, and gives back all that a loop of attacks would pile up. */
static void drop(struct client *client)
{
	if (client->fd >= 0)
		client_vanish(client);
	free(client->bytes);
	free(client);
}

/* A field of a packet: two bytes of length, and so many letters. */
static unsigned char *put_field(unsigned char *at, size_t size)
{
	at[0] = (unsigned char)(size >> 8);
	at[1] = (unsigned char)size;
	memset(at + 2, 'x', size);
	return at + 2 + size;
}

/* A length in three bytes. */
static unsigned char *put_length(unsigned char *at, size_t length)
{
	at[0] = (unsigned char)(length | 0x80);
	at[1] = (unsigned char)(length >> 7 | 0x80);
	at[2] = (unsigned char)(length >> 14);
	return at + 3;
}

/* User properties of some 40 bytes each. */
static unsigned char *put_properties(unsigned char *at, unsigned int count)
{
	at = put_length(at, (size_t)count * 41);
	while (count-- > 0) {
		*at++ = 0x26;
		at = put_field(at, 16);
		at = put_field(at, 20);
	}
	return at;
}

/* Of MQTT 5, clean, without an id. */
static size_t put_connect(unsigned char *bytes, unsigned int properties)
{
	const size_t size = 10 + 3 + (size_t)properties * 41 + 2;
	unsigned char *at = bytes;

	*at++ = 0x10;
	at = put_length(at, size);
	memcpy(at, "\0\4MQTT\5\2\0\x3c", 10);
	at = put_properties(at + 10, properties);
	at = put_field(at, 0);
	return (size_t)(at - bytes);
}

/* ---- Who is not let in, or not yet ---- */

enum { MANY_PROPERTIES = 1900 }; /* 78 KB, just below --max-connect */

/* Whole ones, and some that lack the last byte. */
static void connect_with_properties(unsigned int number)
{
	enum { AT_ONCE = 100 };
	static unsigned char bytes[100000];
	const size_t size = put_connect(bytes, MANY_PROPERTIES);
	struct client *clients[AT_ONCE];

	for (;;) {
		for (int i = 0; i < AT_ONCE; i++) {
			clients[i] = client_try("flood");
			client_send(clients[i], bytes, size - (number + (unsigned int)i) % 2);
		}
		for (int i = 0; i < AT_ONCE; i++)
			drop(clients[i]);
	}
}

STORY(attack_connects_with_properties_by_the_thousand, .timeout = 60, OURS)
{
	struct pair *pair;
	struct client *client;

	start_server("--log-level error");
	pair = start_pair("v5 clean");
	pair_attack_by(pair, connect_with_properties, 2, 2000);
	end_pair(pair, 48 * MEBI);
	client = join("late v5 clean");
	ping(client);
}

/* AUTH first; or a method in the CONNECT; or AUTH later: nobody is let in, or stays. */
static void authenticate(unsigned int number)
{
	static const char *const answers[] = {"", "CONNACK 0 0x8c", "CONNACK 0 0 "};

	for (unsigned int i = number;; i++) {
		struct client *client = client_try("flood");
		const char *got;

		if (i % 3 == 0)
			client_send(client, "\xf0\2\x18\0", 4);
		if (i % 3 == 1)
			client_say(client, "CONNECT - v5 clean method=SCRAM data=abc");
		if (i % 3 == 2) {
			client_say(client, "CONNECT - v5 clean");
			client_send(client, "\xf0\5\x18\3\x15\0\0", 7);
		}
		got = i % 3 == 0 ? "" : client_next(client, story_limit(CLIENT_PATIENCE_MS));
		check(got != NULL && strncmp(got, answers[i % 3], strlen(answers[i % 3])) == 0,
		      "got %s", got);
		if (i % 3 == 2)
			client_expect_end(client, "DISCONNECT 0x82");
		else
			client_expect_closed(client, CLIENT_PATIENCE_MS);
		drop(client);
	}
}

STORY(attack_of_auth, .timeout = 60, OURS)
{
	struct pair *pair;
	unsigned int before;

	start_server("--log-level error");
	pair = start_pair("v5 clean");
	before = server_files();
	pair_attack_by(pair, authenticate, 3, 2000);
	end_pair(pair, 24 * MEBI);
	await_files(before, 6000);
}

/* ---- Who is let in ---- */

/* Each holds half a packet, which grows by a byte now and then. */
STORY(attack_of_half_packets, .timeout = 60, OURS)
{
	enum { CLIENTS = 300, HALF = 50000 };
	static unsigned char half[HALF];
	static struct client *clients[CLIENTS];
	struct pair *pair;

	/* Of a PUBLISH of 900 KB, most of it properties. */
	half[0] = 0x30;
	memcpy(put_length(half + 1, 900000), "\0\1t", 3);
	put_properties(half + 7, 1000);
	put_length(half + 7, 890000);
	start_server("--log-level error");
	pair = start_pair("v5 clean");
	pair_attack(pair);
	for (int i = 0; i < CLIENTS; i++) {
		clients[i] = join("- v5 clean");
		client_send(clients[i], half, 20000);
	}
	for (int sent = 20000; sent < 20100; sent++)
		for (int i = 0; i < CLIENTS; i++)
			client_send(clients[i], half + sent, 1);
	end_pair(pair, 24 * MEBI);
	ping(join("late v5 clean"));
}

/* All want one id, with wills and sessions, and some ask for more at once. */
static void take_over(unsigned int number)
{
	struct client *older = NULL;

	for (unsigned int i = number;; i++) {
		struct client *client = client_try("one");

		client_say(client, "CONNECT one v5 %swill=w message=x will-delay=%u expiry=%u",
		           i % 7 == 0 ? "clean " : "", i % 3, i % 5 == 0 ? 0 : 100);
		client_say(client, "SUBSCRIBE 1 sid=%u pair:%u w:0 $share/g/pair:1", i % 9 + 1,
		           i % 2);
		(void)client_next(client, i % 4 == 0 ? 20 : 0);
		if (older != NULL)
			drop(older);
		older = client;
	}
}

STORY(attack_of_take_overs, .timeout = 60, OURS)
{
	struct pair *pair;
	struct client *client;
	unsigned int before;
	const char *got;

	start_server("--log-level error");
	pair = start_pair("v5");
	before = server_files();
	pair_attack_by(pair, take_over, 4, 3000);
	do { /* CONNECTs of the attackers may come behind it, out of their sockets */
		client = open_client("one");
		say(client, "CONNECT one v5 clean");
		got = client_next(client, story_limit(CLIENT_PATIENCE_MS));
		check(got != NULL, "no answer");
	} while (strncmp(got, "CONNACK 0 0 ", 12) != 0);
	end_pair(pair, 32 * MEBI);
	await_files(before + 1, 6000);
}

/* ---- What ends at once ---- */

static int wills_of(struct client *heir, int count)
{
	const char *got;
	int came = 0;

	while (came < count &&
	       (got = client_next(heir, story_limit(CLIENT_PATIENCE_MS))) != NULL) {
		check(strncmp(got, "PUBLISH q0 w ", 13) == 0, "got %s", got);
		came++;
	}
	return came;
}

STORY(attack_of_wills_that_are_due_at_once, .timeout = 60, OURS)
{
	enum { CLIENTS = 2000 };
	static struct client *clients[CLIENTS];
	struct client *heir;
	struct pair *pair;

	start_server("--log-level error");
	heir = join("heir v5 clean alive=0");
	subscribe(heir, "w:0");
	pair = start_pair("v5 clean");
	pair_attack(pair);
	for (int i = 0; i < CLIENTS; i++) {
		clients[i] = client_open("mortal");
		client_say(clients[i],
		           "CONNECT m%d v5 will=w message=%d will-delay=2 expiry=60 wq=1", i, i);
	}
	for (int i = 0; i < CLIENTS; i++) {
		client_expect(clients[i], "CONNACK 0 0 packet-max=1048576 alias-max=10");
		drop(clients[i]);
	}
	check(wills_of(heir, CLIENTS) == CLIENTS, "wills are missing");
	expect_silence(heir, 100);
	end_pair(pair, 48 * MEBI);
}

/* Their filters and what waits for them end with them. */
STORY(attack_of_sessions_that_expire_at_once, .timeout = 90, OURS)
{
	enum { CLIENTS = 3000, WAITING = 10 };
	struct client *publisher, *watcher;
	struct pair *pair;
	unsigned int expired = 0;
	const char *got;

	start_server("--log-level error --stats-interval 1");
	pair = start_pair("v5 clean");
	publisher = join("publisher v5 clean");
	watcher = join("watcher v5 clean");
	subscribe(watcher, "^$SYS/broker/clients/expired:0");
	pair_attack(pair);
	for (int i = 0; i < CLIENTS; i++) {
		struct client *client = client_open("mortal");

		client_say(client, "CONNECT m%d v5 expiry=3", i);
		client_say(client, "SUBSCRIBE 1 sid=9 s:1 %d/+/#:1 $share/g%d/s:1", i, i % 10);
		client_say(client, "DISCONNECT");
		while (client_next(client, story_limit(CLIENT_PATIENCE_MS)) != NULL)
			continue;
		drop(client);
	}
	for (int i = 0; i < WAITING; i++)
		publish(publisher, 1, "user:a=b s some-message-that-waits");
	while (expired < CLIENTS) {
		got = client_next(watcher, story_limit(CLIENT_PATIENCE_MS));
		check(got != NULL, "only %u have expired", expired);
		if (sscanf(strstr(got, "expired"), "expired %u", &expired) != 1)
			fail("got %s", got);
	}
	check(expired == CLIENTS, "%u have expired", expired);
	end_pair(pair, 64 * MEBI);
	/* 16: nobody is subscribed. */
	say(publisher, "PUBLISH q1 id99 s over");
	expect(publisher, "PUBACK 99 16");
}
