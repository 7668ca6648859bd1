/* SPDX-License-Identifier: MIT */
/*
 * Each reason for which the broker closes a client, or refuses what the client asks for, is in the
 * log: a table with a row for each reason of common/why.h, and what a client does for it.
 */
#include "client.h"
#include "server.h"

#include "common/why.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LOGINS 20

/* What a client that is not let in says; `words` may be NULL: nothing. */
static void say_first(const char *words)
{
	struct client *client = open_client("stranger");

	if (words != NULL)
		say(client, "%s", words);
}

static void send_first(const char *hex)
{
	say_hex(open_client("stranger"), hex);
}

/* What a client says that was let in. */
static void say_then(const char *words)
{
	say(join("a clean"), "%s", words);
}

static void send_then(const char *hex)
{
	say_hex(join("a clean"), hex);
}

/* What a client of MQTT 5 says that was let in; its CONNECT has an expiry of 0. */
static void send_five(const char *hex)
{
	struct client *client = open_client("five");

	say_hex(client, "10 0e 00 04 'MQTT' 05 02 00 3c 00 00 01 'a'");
	check(client_next(client, story_limit(CLIENT_PATIENCE_MS)) != NULL, "no CONNACK");
	say_hex(client, hex);
}

static void subscribe_twice(const char *words)
{
	struct client *client = join("a clean");

	say(client, "SUBSCRIBE 1 a:0");
	say(client, "%s", words);
	expect(client, "SUBACK 1 0");
	expect(client, "SUBACK 2 128");
}

static void log_in_often(const char *words)
{
	for (int i = 0; i < LOGINS; i++)
		say_first(words);
}

static const char *passwords; /* the file's path */

static void change_passwords(const char *words)
{
	struct client *client = join(words);

	check(truncate(passwords, 0) == 0, "cannot truncate");
	kill(server_pid(), SIGHUP);
	expect_closed(client);
}

static void join_twice(const char *words)
{
	join("a");
	say_first(words);
}

static void hold_much(const char *hex)
{
	static const unsigned char rest[40000];

	for (int i = 0; i < 3; i++) {
		struct client *client = open_client("stranger");

		say_hex(client, hex);
		client_send(client, rest, sizeof(rest));
	}
}

static void publish_large(const char *topic)
{
	client_publish_large(join("a clean"), topic, 5000);
}

static void acknowledge_wrongly(const char *words)
{
	struct client *client = join("a clean");

	subscribe(client, "t:1");
	say(client, "PUBLISH q0 t x");
	say(client, "PUBLISH q1 id1 t x");
	client_next(client, story_limit(CLIENT_PATIENCE_MS));
	expect(client, "PUBACK 1");
	expect(client, "PUBLISH q1 id1 t x");
	say(client, "%s", words);
	expect_closed(client);
}

static void end_the_broker(const char *words)
{
	join(words);
	check(server_stop() == 0, "the broker did not end well");
}

static const struct row {
	enum why why;
	void (*act)(const char *arg); /* NULL: see `arg` */
	const char *arg;
	const char *options;
	bool passwords;
} rows[] = {
	{WHY_ANONYMOUS, say_first, "CONNECT a clean", "", true},
	{WHY_NO_PASSWORD, say_first, "CONNECT a clean user=alice", "", true},
	{WHY_WRONG_PASSWORD, say_first, "CONNECT a clean user=alice password=x", "", true},
	{WHY_MAX_LOGINS, log_in_often, "CONNECT a clean user=alice password=x", "--max-logins 1",
         true},
	{WHY_FILE_CHANGED, change_passwords, "a clean user=alice password=secret", "", true},
	{WHY_IDENTITY, NULL, "the stories of test_certificates.c", "", false},
	{WHY_CERTIFICATE, NULL, "the stories of test_certificates.c", "", false},
	{WHY_VERSION, say_first, "CONNECT a clean level=6", "", false},
	{WHY_PROTOCOL, say_first, "CONNECT a clean name=MQTX", "", false},
	{WHY_NO_ID, say_first, "CONNECT -", "", false},
	{WHY_MAX_SESSIONS, join_twice, "CONNECT b", "--max-sessions 1", false},
	{WHY_MAX_STRANGERS, hold_much, "10 d0 86 03", "--threads 1 --max-strangers 64K", false},
	{WHY_MAX_CONNECT, send_first, "10 e8 07", "--max-connect 300", false},
	{WHY_NO_CONNECT, send_first, "c0 00", "", false},
	{WHY_CONNECT_AGAIN, say_then, "CONNECT a clean", "", false},
	{WHY_MALFORMED, send_then, "c1 00", "", false},
	{WHY_MAX_PACKET, publish_large, "t", "--max-packet 4000", false},
	{WHY_AGAINST, send_five, "30 03 00 00 00", "", false},
	{WHY_TOPIC, send_five, "30 04 00 01 '#' 00", "", false},
	{WHY_FILTER, send_five, "82 08 00 01 00 00 02 '#a' 00", "", false},
	{WHY_ALIAS, send_five, "30 07 00 01 't' 03 23 00 0b", "", false},
	{WHY_RECEIVE_MAXIMUM, send_five, "34 06 00 01 't' 00 01 00 34 06 00 01 't' 00 02 00",
         "--receive-maximum 1", false},
	{WHY_METHOD, send_first, "10 12 00 04 'MQTT' 05 02 00 3c 04 15 00 01 'm' 00 01 'a'", "",
         false},
	{WHY_AUTH, send_five, "f0 06 18 04 15 00 01 'm'", "", false},
	{WHY_EXPIRY, send_five, "e0 07 00 05 11 00 00 00 01", "", false},
	{WHY_WRONG_ACK, acknowledge_wrongly, "PUBREC 1", "", false},
	{WHY_TAKEN_OVER, join_twice, "CONNECT a", "", false},
	{WHY_TLS_HANDSHAKE, NULL, "tls_with_real_clients", "", false},
	{WHY_TLS_BROKEN, NULL, "needs a client that breaks its own TLS", "", false},
	{WHY_NETWORK, NULL, "needs an error of the network", "", false},
	{WHY_LATE_CONNECT, say_first, NULL, "--connect-timeout 1", false},
	{WHY_LATE_PACKET, send_then, "30 10 00", "--packet-timeout 1", false},
	{WHY_SILENT, join_twice, "CONNECT b clean alive=1", "", false},
	{WHY_STUCK, NULL, "the stories of test_slow.c count these", "", false},
	{WHY_NO_MEMORY, NULL, "a client cannot bring it about", "", false},
	{WHY_STORE, NULL, "the stories of test_disk.c fill the disk", "", false},
	{WHY_SHUTDOWN, end_the_broker, "a clean", "--log-level info", false},
	{WHY_DENIED, subscribe_twice, "SUBSCRIBE 2 ^secret/x:0", "--deny-subscribe secret/#",
         false},
	{WHY_ACCESS, say_then, "PUBLISH q1 id1 t x", "--access-file /dev/null", false},
	{WHY_SHARED, subscribe_twice, "SUBSCRIBE 2 ^$share/group/t:1", "", false},
	{WHY_MAX_FILTERS, subscribe_twice, "SUBSCRIBE 2 b:0", "--max-filters 1", false},
	{WHY_MAX_FILTER_BYTES, subscribe_twice, "SUBSCRIBE 2 b:0", "--max-filter-bytes 600", false},
	{WHY_OWN_TOPIC, say_then, "PUBLISH q1 id1 ^$SYS/broker/uptime x", "", false},
	{WHY_OWN_TOPIC, say_first, "CONNECT a clean will=^$SYS/x message=x", "", false},
};

static const char *const texts[] = {NULL,
#define WHY_TEXT(name, return_code, reason, text) text,
                                    WHY_LIST(WHY_TEXT)
#undef WHY_TEXT
};

static void tell_row(const struct row *row)
{
	char options[256];

	passwords = row->passwords ? file_write(SERVER_ALICE) : NULL;
	snprintf(options, sizeof(options), "%s%s %s", passwords != NULL ? "--password-file " : "",
	         passwords != NULL ? passwords : "", row->options);
	server_start(options, 0);
	row->act(row->arg);
	server_await_said(texts[row->why]);
}

STORY(refused_and_closed_clients_are_in_the_log, .timeout = 60, .mosquitto = "has a log of its own")
{
	for (enum why why = 1; why < sizeof(texts) / sizeof(texts[0]); why++) {
		bool found = false;

		for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++)
			found = found || rows[k].why == why;
		check(found, "no row for \"%s\"", texts[why]);
	}
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].act != NULL)
			AT(tell_row(&rows[i]));
}
