/* SPDX-License-Identifier: MIT */
/*
 * Attacks by clients that were let in, with what MQTT 5 gives them: a pair that behaves goes on
 * beside them, and memory is bounded.
 */
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

static void put_u16(unsigned char **at, size_t number)
{
	*(*at)++ = (unsigned char)(number >> 8);
	*(*at)++ = (unsigned char)number;
}

static void put_length(unsigned char **at, size_t length)
{
	do {
		*(*at)++ = (unsigned char)((length & 0x7f) | (length > 0x7f ? 0x80 : 0));
		length >>= 7;
	} while (length > 0);
}

static size_t length_size(size_t length)
{
	return length < 0x80 ? 1 : length < 0x4000 ? 2 : 3;
}

/* A PUBLISH of MQTT 5; the properties are user properties of 41 bytes, and an alias. */
struct bomb {
	unsigned char first; /* byte of the header */
	size_t topic;        /* its size */
	unsigned int number; /* at the topic's end */
	unsigned int properties;
	unsigned int alias;
};

static size_t put_bomb(unsigned char *bytes, const struct bomb *bomb)
{
	const size_t alias = bomb->alias > 0 ? 3 : 0, id = (bomb->first & 6) != 0 ? 2 : 0;
	const size_t properties = (size_t)bomb->properties * 41 + alias;
	unsigned char *at = bytes;
	char number[16];

	*at++ = bomb->first;
	put_length(&at, 2 + bomb->topic + id + length_size(properties) + properties + 4);
	put_u16(&at, bomb->topic);
	memset(at, 'x', bomb->topic);
	if (bomb->topic > 8) {
		snprintf(number, sizeof(number), "/%07u", bomb->number % 10000000);
		memcpy(at + bomb->topic - 8, number, 8);
		memcpy(at, "bomb/", bomb->topic > 13 ? 5 : 0);
	}
	at += bomb->topic;
	if (id > 0)
		put_u16(&at, bomb->number % 60000 + 1);
	put_length(&at, properties);
	if (alias > 0) {
		*at++ = 0x23;
		put_u16(&at, bomb->alias);
	}
	for (unsigned int i = 0; i < bomb->properties; i++) {
		*at++ = 0x26;
		put_u16(&at, 16);
		memset(at, 'n', 16);
		at += 16;
		put_u16(&at, 20);
		memset(at, 'v', 20);
		at += 20;
	}
	memcpy(at, "bomb", 4);
	return (size_t)(at + 4 - bytes);
}

/* Sends all of it, and takes what comes meanwhile. False: the broker has closed. */
static bool pour(struct client *client, const unsigned char *bytes, size_t size)
{
	static char answers[1U << 16];

	while (size > 0) {
		struct pollfd ready = {.fd = client->fd, .events = POLLIN | POLLOUT};
		ssize_t moved;

		(void)poll(&ready, 1, 1000);
		if ((ready.revents & POLLIN) != 0 &&
		    recv(client->fd, answers, sizeof(answers), MSG_DONTWAIT) == 0)
			return false;
		moved = send(client->fd, bytes, size, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (moved < 0 && errno != EAGAIN)
			return false;
		bytes += moved > 0 ? moved : 0;
		size -= moved > 0 ? (size_t)moved : 0;
	}
	return true;
}

/* ---- Properties ---- */

/* Each PUBLISH has hundreds of them, to a topic of its own now and then. */
static void publish_properties(unsigned int number)
{
	struct client *client = client_join("- v5 clean receive=10");
	static unsigned char bytes[100000];

	for (unsigned int i = 0;; i++) {
		const struct bomb bomb = {.first = i % 2 == 0 ? 0x30 : 0x32,
		                          .topic = 20,
		                          .number = i / 100 * 10 + number,
		                          .properties = i % 700};

		if (!pour(client, bytes, put_bomb(bytes, &bomb)))
			_exit(1);
	}
}

/* One reads them, one does not, one comes at times; and all are behind by queues. */
STORY(attack_of_properties, .timeout = 60, OURS)
{
	struct client *stuck, *away;
	struct pair *pair;

	start_server("--log-level error --max-buffered 1M --max-queued-bytes 4M");
	pair = start_pair("v5 clean");
	stuck = join("stuck v5 clean alias-max=20");
	say(stuck, "SUBSCRIBE 1 ^bomb/#:1");
	expect(stuck, "SUBACK 1 1");
	away = join("away v5 expiry=100");
	say(away, "SUBSCRIBE 1 sid=7 ^bomb/#:1");
	expect(away, "SUBACK 1 1");
	leave(away);
	pair_attack_by(pair, publish_properties, 2, 2000);
	end_pair(pair, 40 * MEBI);
	ping(join("late v5 clean"));
}

/* ---- Aliases ---- */

/* Each alias is given again and again, to long topics that nobody has seen. */
static void redefine(unsigned int number)
{
	struct client *clients[10];
	static unsigned char bytes[100000];

	for (int i = 0; i < 10; i++)
		clients[i] = client_join("- v5 clean");
	for (unsigned int i = number;; i += 4) {
		const struct bomb given = {.first = 0x30,
		                           .topic = 50 + i * 37 % 60000,
		                           .number = i,
		                           .alias = i % 10 + 1};
		const struct bomb used = {.first = 0x30, .alias = i % 10 + 1};
		struct client *client = clients[i / 4 % 10];

		if (!pour(client, bytes, put_bomb(bytes, &given)) ||
		    !pour(client, bytes, put_bomb(bytes, &used)))
			_exit(1);
	}
}

/* 20 clients have 10 aliases each, of up to 60 KB. */
STORY(attack_of_aliases_that_change, .timeout = 60, OURS)
{
	struct pair *pair;

	start_server("--log-level error");
	pair = start_pair("v5 clean");
	pair_attack_by(pair, redefine, 2, 2000);
	end_pair(pair, 40 * MEBI);
}

/* No alias that is none, too large or not given is taken for a topic. */
static void misuse(unsigned int number)
{
	static const char *const wrong[] = {"alias=0 ^bomb/x x", "alias=11 ^bomb/x x",
	                                    "alias=65535 ^bomb/x x", "alias=1 ^ x", "alias=10 ^ x"};

	for (unsigned int i = number;; i++) {
		struct client *client = client_try("misuser");
		const char *got;

		client_say(client, "CONNECT - v5 clean");
		(void)client_next(client, 1000);
		client_say(client, "PUBLISH q0 alias=2 ^bomb/right x");
		client_say(client, "PUBLISH q%u id1 %s", 1 + i % 2, wrong[i % 5]);
		while ((got = client_next(client, 1000)) != NULL)
			if (strncmp(got, "PUB", 3) == 0)
				abort();
		client_vanish(client);
		free(client->bytes);
		free(client);
	}
}

STORY(attack_of_aliases_that_are_none, .timeout = 60, OURS)
{
	struct client *reader;
	struct pair *pair;
	const char *got;
	int right = 0;

	start_server("--log-level error");
	reader = join("reader v5 clean");
	subscribe(reader, "^bomb/#:2");
	pair = start_pair("v5 clean");
	pair_attack_by(pair, misuse, 3, 1500);
	end_pair(pair, 16 * MEBI);
	while ((got = client_next(reader, 100)) != NULL) {
		check(strcmp(got, "PUBLISH q0 bomb/right x") == 0, "got %s", got);
		right++;
	}
	check(right > 10, "%d were right", right);
}

/* ---- Filters ---- */

enum { LEVELS = 11, FILTERS = 1 << LEVELS };

/* All filters of a and + in so many levels, each with an identifier of its own. */
static void subscribe_to_all(struct client *client)
{
	char filter[4 * LEVELS];

	for (unsigned int i = 0; i < FILTERS; i++) {
		for (unsigned int level = 0; level < LEVELS; level++) {
			filter[2 * level] = (i >> level & 1) != 0 ? '+' : 'a';
			filter[2 * level + 1] = level + 1 < LEVELS ? '/' : '\0';
		}
		client_say(client, "SUBSCRIBE %u sid=%u ^%s:1", i + 1, i + 100000, filter);
		client_expect(client, "SUBACK %u 1", i + 1);
	}
}

/* Topics that match all of them, none at the last level, or one more. */
static void publish_to_all(unsigned int number)
{
	struct client *client = client_join("- v5 clean");

	for (unsigned int i = number;; i += 4) {
		client_say(client, "PUBLISH q0 ^a/a/a/a/a/a/a/a/a/a/a bomb");
		client_say(client, "PUBLISH q0 ^a/a/a/a/a/a/a/a/a/a/%u bomb", i);
		client_say(client, "PUBLISH q0 ^a/a/a/a/a/a/a/a/a/%u/a bomb", i);
		client_say(client, "PUBLISH retain q0 ^a/a/a/a/a/a/a/a/a/a/a/%u bomb", i % 500);
	}
}

/* A message has 2,048 identifiers, for each of them. One of them takes nothing. */
STORY(attack_of_filters_that_all_match, .timeout = 120, OURS)
{
	struct client *client;
	struct pair *pair;

	start_server("--log-level error --max-buffered 1M");
	for (int i = 0; i < 3; i++)
		subscribe_to_all(join("- v5 clean"));
	pair = start_pair("v5 clean");
	pair_attack_by(pair, publish_to_all, 2, 2000);
	end_pair(pair, 64 * MEBI);
	client = join("late v5 clean");
	subscribe(client, "^a/+/a/#:1");
}

/* ---- What is kept ---- */

/* Retained messages of a few KB, on more topics than may be kept. */
static void retain(unsigned int number)
{
	struct client *client = client_join("- v5 clean");
	static unsigned char bytes[100000];

	for (unsigned int i = number;; i += 4) {
		const struct bomb bomb = {
			.first = 0x31, .topic = 40, .number = i % 30000, .properties = i % 100};

		if (!pour(client, bytes, put_bomb(bytes, &bomb)))
			_exit(1);
	}
}

/* Asks for all of them again and again, and reads nothing, or little. */
static void ask_for_all(unsigned int number)
{
	for (unsigned int i = number;; i++) {
		struct client *client = client_join("- v5 clean alias-max=10");

		for (unsigned int again = 1; again < 20; again++)
			client_say(client, "SUBSCRIBE %u sid=%u ^bomb/#:1 ^+/+/#:0", again, again);
		for (unsigned int read = 0; read < i % 100; read++)
			(void)client_next(client, 100);
		client_vanish(client);
	}
}

static void retain_or_ask(unsigned int number)
{
	if (number % 2 == 0)
		retain(number);
	else
		ask_for_all(number);
}

STORY(attack_of_retained_messages, .timeout = 60, OURS)
{
	struct pair *pair;

	start_server("--log-level error --max-retained-bytes 8M --max-buffered 1M"
	             " --max-queued-bytes 4M --max-queued-total 16M");
	pair = start_pair("v5 clean");
	pair_attack_by(pair, retain_or_ask, 4, 3000);
	end_pair(pair, 64 * MEBI);
	ping(join("late v5 clean"));
}

/* ---- Who takes nothing ---- */

static void publish_bombs(unsigned int number)
{
	struct client *client = client_join("- v5 clean");
	static unsigned char bytes[10000];

	for (unsigned int i = 0;; i++) {
		const struct bomb bomb = {
			.first = 0x32, .topic = 14, .number = i, .properties = 20};
		const size_t size = put_bomb(bytes, &bomb);

		memcpy(bytes + size - 4, number == 0 ? "one." : "two.", 4);
		memcpy(bytes + 5, "bomb/x/x/x/x/x", 14); /* one topic */
		if (!pour(client, bytes, size))
			_exit(1);
	}
}

/* Members that never acknowledge have what they may have; the one that does gets all others. */
STORY(attack_of_members_that_are_stuck, .timeout = 60, OURS)
{
	enum { STUCK = 60, WINDOW = 10, MORE = 50 };
	struct client *publisher, *good;
	struct pair *pair;
	const char *got;
	unsigned int id;
	int came = 0;

	start_server("--log-level error --max-queued-bytes 8M");
	publisher = join("publisher v5 clean");
	for (int i = 0; i < STUCK; i++) {
		struct client *stuck = join("- v5 clean receive=10");

		say(stuck, "SUBSCRIBE 1 ^$share/g/bomb/#:%d", i % 2 + 1);
		expect(stuck, "SUBACK 1 %d", i % 2 + 1);
	}
	for (int i = 0; i < STUCK * WINDOW + MORE; i++)
		publish(publisher, 2, "^bomb/x first");
	good = join("good v5 clean");
	say(good, "SUBSCRIBE 1 ^$share/g/bomb/#:1");
	pair = start_pair("v5 clean");
	pair_attack_by(pair, publish_bombs, 2, 1500);
	while ((got = client_next(good, 500)) != NULL) {
		if (strcmp(got, "SUBACK 1 1") == 0) /* the group has waited for a member */
			continue;
		check(sscanf(got, "PUBLISH q1 id%u ", &id) == 1, "got %s", got);
		say(good, "PUBACK %u", id);
		came += strcmp(strstr(got, " bomb"), " bomb/x first") == 0;
	}
	check(came == MORE, "%d came", came);
	publish(publisher, 1, "^bomb/x over");
	got = client_next(good, story_limit(CLIENT_PATIENCE_MS));
	check(got != NULL && strstr(got, "bomb/x over") != NULL, "got %s", got);
	end_pair(pair, 48 * MEBI);
}

/* Subscribers with all that costs memory, identifiers, aliases, windows; and none reads. */
STORY(attack_of_subscribers_that_take_nothing, .timeout = 60, OURS)
{
	enum { STUCK = 100 };
	struct pair *pair;

	start_server("--log-level error --max-buffered 100K --max-queued-bytes 300K");
	for (int i = 0; i < STUCK; i++) {
		struct client *stuck = join("- v5 expiry=5 receive=100 alias-max=100");

		say(stuck, "SUBSCRIBE 1 sid=%d ^bomb/#:2 ^+/#:1 ^bomb/+/+/+/+/x:0", i + 1);
		expect(stuck, "SUBACK 1 2 1 0");
	}
	pair = start_pair("v5 clean");
	pair_attack_by(pair, publish_bombs, 2, 3000);
	end_pair(pair, 80 * MEBI);
}
