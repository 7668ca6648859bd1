/* SPDX-License-Identifier: MIT */
/*
 * What no client of MQTT 5 may send: one packet behind a good CONNECT, or in its place. The client
 * is told which kind of error it is, and is closed; nobody else notices.
 */
#include "client.h"

#include <string.h>
#include <unistd.h>

static const char malformed[] = "DISCONNECT 0x81", forbidden[] = "DISCONNECT 0x82",
		  topic_invalid[] = "DISCONNECT 0x90", filter_invalid[] = "DISCONNECT 0x8f",
		  alias_invalid[] = "DISCONNECT 0x94";

struct row {
	const char *words; /* of packet.h, or in hexadecimal */
	const char *told;
};

/* The reason, and perhaps a text behind it. */
static void check_told(struct client *client, const struct row *row)
{
	const char *got = client_next(client, story_limit(CLIENT_PATIENCE_MS));
	const size_t size = strlen(row->told);

	check(got != NULL, "%s: got nothing", row->words);
	check(strncmp(got, row->told, size) == 0 && (got[size] == '\0' || got[size] == ' '),
	      "%s: expected %s, got %s", row->words, row->told, got);
	check(client_next(client, story_limit(CLIENT_PATIENCE_MS)) == NULL && client->ended,
	      "%s: not closed", row->words);
}

static void tell(const struct row *rows, size_t count)
{
	struct client *bystander = join("bystander v5 clean");

	for (size_t i = 0; i < count; i++) {
		struct client *client = join("bad v5 clean");

		if (rows[i].words[0] <= '9' || rows[i].words[0] > 'Z')
			say_hex(client, rows[i].words);
		else
			say(client, "%s", rows[i].words);
		check_told(client, &rows[i]);
		ping(bystander);
		close(client->fd);
	}
}

#define TELL(rows) tell(rows, sizeof(rows) / sizeof(*(rows)))

STORY(malformed5_headers, .mosquitto = "looks at few flags")
{
	static const struct row rows[] = {
		{"00 00", malformed},
		{"c1 00", malformed},
		{"36 07 00 01 't' 00 01 00 'x'", malformed},
		{"38 05 00 01 't' 00 'x'", malformed},
		{"60 02 00 01", malformed},
		{"80 07 00 01 00 00 01 't' 00", malformed},
		{"a0 06 00 01 00 00 01 't'", malformed},
		{"e1 00", malformed},
		{"f1 00", malformed},
		{"c0 80 00", malformed},
		{"30 80 80 80 80 01", malformed},
		{"20 03 00 00 00", malformed},
	};

	TELL(rows);
}

STORY(malformed5_publish, .mosquitto = "has other reasons")
{
	static const struct row rows[] = {
		{"PUBLISH q0 ^a/# x", topic_invalid},
		{"PUBLISH q0 ^+ x", topic_invalid},
		{"PUBLISH q0 ^ x", forbidden},
		{"PUBLISH q0 alias=0 t x", forbidden},
		{"PUBLISH q0 alias=1 alias=1 t x", forbidden},
		{"PUBLISH q0 alias=9 ^ x", forbidden},
		{"PUBLISH q0 alias=65535 t x", alias_invalid},
		{"PUBLISH q1 id0 t x", forbidden},
		{"PUBLISH q0 sid=1 t x", forbidden},
		{"PUBLISH q0 format=2 t x", forbidden},
		{"PUBLISH q0 expiry=1 expiry=1 t x", forbidden},
		{"PUBLISH q0 response=a/# t x", forbidden},
		{"PUBLISH q0 response=\\xff t x", malformed},
		{"PUBLISH q0 type=\\xc0\\x80 t x", malformed},
		{"PUBLISH q0 user:a=\\x00 t x", malformed},
		{"PUBLISH q0 text=x t x", malformed},
		{"PUBLISH q0 raw=\\x7f t x", malformed},
		{"PUBLISH q0 raw=\\x02\\x00 t x", malformed},
		{"30 05 00 01 't' 81 00", malformed},
		{"30 05 00 01 't' 05 00", malformed},
		{"30 05 00 01 ff 00 'x'", malformed},
		{"30 02 00 09", malformed},
	};

	TELL(rows);
}

STORY(malformed5_subscribe, .mosquitto = "has other reasons")
{
	static const struct row rows[] = {
		{"SUBSCRIBE 0 t:0", forbidden},
		{"SUBSCRIBE 1", forbidden},
		{"SUBSCRIBE 1 t:3", forbidden},
		{"SUBSCRIBE 1 t:0,rh3", forbidden},
		{"SUBSCRIBE 1 t:0,0x40", malformed},
		{"SUBSCRIBE 1 t:0,0x80", malformed},
		{"SUBSCRIBE 1 sid=0 t:0", forbidden},
		{"SUBSCRIBE 1 sid=1 sid=1 t:0", forbidden},
		{"SUBSCRIBE 1 raw=\\x0b\\x81\\x00 t:0", malformed},
		{"SUBSCRIBE 1 text=x t:0", malformed},
		{"SUBSCRIBE 1 $share/g/t:0,nl", forbidden},
		{"SUBSCRIBE 1 ^$share//t:0", filter_invalid},
		{"SUBSCRIBE 1 ^$share/g/:0", filter_invalid},
		{"SUBSCRIBE 1 ^$share/g:0", filter_invalid},
		{"SUBSCRIBE 1 ^$share/+/t:0", filter_invalid},
		{"SUBSCRIBE 1 ^a#:0", filter_invalid},
		{"SUBSCRIBE 1 ^:0", filter_invalid},
		{"82 07 00 01 00 00 01 ff 00", malformed},
		{"UNSUBSCRIBE 0 t", forbidden},
		{"UNSUBSCRIBE 1", forbidden},
		{"UNSUBSCRIBE 1 sid=1 t", malformed},
		{"UNSUBSCRIBE 1 ^a+", filter_invalid},
		{"UNSUBSCRIBE 1 ^$share/g/", filter_invalid},
		{"a2 06 00 01 00 00 01 00", malformed},
	};

	TELL(rows);
}

STORY(malformed5_reasons, .mosquitto = "has other reasons")
{
	static const struct row rows[] = {
		{"40 01 00", malformed},
		{"PUBACK 0", forbidden},
		{"PUBACK 1 16", forbidden},
		{"PUBACK 1 0x92", forbidden},
		{"PUBREC 1 0x9b", forbidden},
		{"PUBREL 1 0x80", forbidden},
		{"PUBCOMP 1 1", forbidden},
		{"PUBACK 1 sid=1", malformed},
		{"PUBACK 1 0 text=a text=b", forbidden},
		{"40 05 00 01 00 00 00", malformed},
		{"DISCONNECT 0x8e", forbidden},
		{"DISCONNECT 1", forbidden},
		{"DISCONNECT 0 alias=1", malformed},
		{"DISCONNECT 0 expiry=1 expiry=1", forbidden},
		{"AUTH 0x18 method=m", forbidden},
		{"AUTH 0x19 method=m", forbidden},
		{"AUTH", forbidden},
		{"AUTH 0x18 raw=\\x15", malformed},
		{"CONNECT again v5 clean", forbidden},
		{"c0 01 00", malformed},
	};

	TELL(rows);
}

/* In place of a good CONNECT: CONNACK says what is wrong, unless nobody could tell the version. */
STORY(malformed5_connect, .mosquitto = "has other reasons")
{
	static const struct row rows[] = {
		{"CONNECT a v5 clean receive=0", "CONNACK 0 0x82"},
		{"CONNECT a v5 clean receive=1 receive=1", "CONNACK 0 0x82"},
		{"CONNECT a v5 clean packet-max=0", "CONNACK 0 0x82"},
		{"CONNECT a v5 clean problem=2", "CONNACK 0 0x82"},
		{"CONNECT a v5 clean ask-response=2", "CONNACK 0 0x82"},
		{"CONNECT a v5 clean data=x", "CONNACK 0 0x82"},
		{"CONNECT a v5 clean alias=1", "CONNACK 0 0x81"},
		{"CONNECT a v5 clean user:\\xff=x", "CONNACK 0 0x81"},
		{"CONNECT a v5 clean method=unknown", "CONNACK 0 0x8c"},
		{"CONNECT a v5 clean method=unknown data=x", "CONNACK 0 0x8c"},
		{"CONNECT a v5 clean wq=1", "CONNACK 0 0x81"},
		{"CONNECT a v5 clean wr", "CONNACK 0 0x81"},
		{"CONNECT a v5 clean will=t wq=3", "CONNACK 0 0x81"},
		{"CONNECT a v5 clean will=^a/# message=x", "CONNACK 0 0x90"},
		{"CONNECT a v5 clean will=t will-format=2", "CONNACK 0 0x82"},
		{"CONNECT a v5 clean will=t will-delay=1 will-delay=1", "CONNACK 0 0x82"},
		{"CONNECT a v5 clean will=t will-alias=1", "CONNACK 0 0x81"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct client *client = open_client("bad");

		say(client, "%s", rows[i].words);
		check_told(client, &rows[i]);
		close(client->fd);
	}
}
