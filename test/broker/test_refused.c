/* SPDX-License-Identifier: MIT */
/*
 * Each reason for which the broker closes a client, or refuses what the client asks for, is in the
 * log, and the client is told, as far as its MQTT has words for that: a table with a row for each
 * reason of common/why.h, and what a client does for it.
 */
#include "client.h"
#include "packet.h"
#include "server.h"

#include "common/why.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define LOGINS 20

/* Clients that a row has refused, and what their CONNECT says of their version: "" or " v5". */
static struct client *refused[LOGINS];
static unsigned int refused_count;
static const char *version;

static struct client *refuse(struct client *client)
{
	refused[refused_count++] = client;
	return client;
}

static struct client *connected(const char *words)
{
	char all[128];

	snprintf(all, sizeof(all), "%s%s", words, version);
	return client_join(all);
}

/* What a client that is not let in says; `words` may be NULL: nothing. */
static void say_first(const char *words)
{
	struct client *client = refuse(open_client("stranger"));

	if (words != NULL)
		say(client, "%s%s", words, version);
}

static void send_first(const char *hex)
{
	say_hex(refuse(open_client("stranger")), hex);
}

/* What a client says that was let in. */
static void say_then(const char *words)
{
	say(refuse(connected("a clean")), "%s", words);
}

/* As a client that is killed. */
static void vanish(const char *words)
{
	shutdown(refuse(connected(words))->fd, SHUT_RDWR);
}

static void send_then(const char *hex)
{
	say_hex(refuse(connected("a clean")), hex);
}

static void subscribe_twice(const char *words)
{
	struct client *client = refuse(connected("a clean"));

	say(client, "SUBSCRIBE 1 a:0");
	say(client, "%s", words);
	expect(client, "SUBACK 1 0");
}

static void log_in_often(const char *words)
{
	for (int i = 0; i < LOGINS; i++)
		say_first(words);
}

static const char *passwords; /* the file's path */

static void change_passwords(const char *words)
{
	refuse(connected(words));
	check(truncate(passwords, 0) == 0, "cannot truncate");
	kill(server_pid(), SIGHUP);
}

/* Sessions that are kept. */
static void join_twice(const char *words)
{
	const char *kept = version[0] != '\0' ? " expiry=9" : "";
	char first[32];

	snprintf(first, sizeof(first), "a%s%s", version, kept);
	client_join(first);
	say(refuse(open_client("second")), "%s%s%s", words, version, kept);
}

static void take_over(const char *words)
{
	refuse(connected("a"));
	connected(words);
}

static void hold_much(const char *hex)
{
	static const unsigned char rest[40000];

	for (int i = 0; i < 3; i++) {
		struct client *client = refuse(open_client("stranger"));

		say_hex(client, hex);
		client_send(client, rest, sizeof(rest));
	}
}

static void publish_large(const char *topic)
{
	client_publish_large(refuse(connected("a clean")), topic, 5000);
}

static void acknowledge_wrongly(const char *words)
{
	struct client *client = refuse(connected("a clean"));

	subscribe(client, "t:1");
	say(client, "PUBLISH q0 t x");
	say(client, "PUBLISH q1 id1 t x");
	client_next(client, story_limit(CLIENT_PATIENCE_MS));
	expect(client, "PUBACK 1");
	expect(client, "PUBLISH q1 id1 t x");
	say(client, "%s", words);
}

static void end_the_broker(const char *words)
{
	refuse(connected(words));
	check(server_stop() == 0, "the broker did not end well");
}

static const struct row {
	enum why why;
	void (*act)(const char *arg); /* NULL: see `arg` */
	const char *arg;
	const char *options;
	bool passwords;
	enum { BOTH, MQTT_3, MQTT_5, MUTE } who; /* MUTE: both, and MQTT 5, too, is told nothing */
} rows[] = {
	{WHY_ANONYMOUS, say_first, "CONNECT a clean", "", true, BOTH},
	{WHY_NO_PASSWORD, say_first, "CONNECT a clean user=alice", "", true, BOTH},
	{WHY_WRONG_PASSWORD, say_first, "CONNECT a clean user=alice password=x", "", true, BOTH},
	{WHY_MAX_LOGINS, log_in_often, "CONNECT a clean user=alice password=x", "--max-logins 1",
         true, BOTH},
	{WHY_FILE_CHANGED, change_passwords, "a clean user=alice password=secret", "", true, BOTH},
	{WHY_IDENTITY, NULL, "the stories of test_certificates.c", "", false, BOTH},
	{WHY_CERTIFICATE, NULL, "the stories of test_certificates.c", "", false, BOTH},
	{WHY_VERSION, say_first, "CONNECT a clean level=3", "", false, MQTT_3},
	{WHY_PROTOCOL, say_first, "CONNECT a clean name=MQTX", "", false, MUTE},
	{WHY_NO_ID, say_first, "CONNECT -", "", false, MQTT_3},
	{WHY_MAX_SESSIONS, join_twice, "CONNECT b", "--max-sessions 1", false, BOTH},
	{WHY_MAX_STRANGERS, hold_much, "10 d0 86 03", "--threads 1 --max-strangers 64K", false,
         MQTT_3},
	{WHY_MAX_CONNECT, send_first, "10 e8 07", "--max-connect 300", false, MQTT_3},
	{WHY_NO_CONNECT, send_first, "c0 00", "", false, MQTT_3},
	{WHY_CONNECT_AGAIN, send_then, "10 0d 00 04 'MQTT' 04 02 00 3c 00 01 'a'", "", false, BOTH},
	{WHY_MALFORMED, send_then, "c1 00", "", false, BOTH},
	{WHY_MAX_PACKET, publish_large, "t", "--max-packet 4000", false, BOTH},
	{WHY_AGAINST, say_then, "PUBLISH q0 ^ x", "", false, MQTT_5},
	{WHY_TOPIC, say_then, "PUBLISH q0 ^# x", "", false, MQTT_5},
	{WHY_FILTER, say_then, "SUBSCRIBE 1 ^#a:0", "", false, MQTT_5},
	{WHY_ALIAS, say_then, "PUBLISH q0 alias=11 t x", "", false, MQTT_5},
	{WHY_RECEIVE_MAXIMUM, send_then, "34 06 00 01 't' 00 01 00 34 06 00 01 't' 00 02 00",
         "--receive-maximum 1", false, MQTT_5},
	{WHY_METHOD, say_first, "CONNECT a clean method=m", "", false, MQTT_5},
	{WHY_AUTH, say_then, "AUTH 0x18 method=m", "", false, MQTT_5},
	{WHY_EXPIRY, say_then, "DISCONNECT expiry=1", "", false, MQTT_5},
	{WHY_RETAIN, say_then, "PUBLISH retain q0 t x", "--retain-available=false", false, BOTH},
	{WHY_RETAIN, say_first, "CONNECT a clean will=t message=x wr", "--retain-available=false",
         false, BOTH},
	{WHY_WRONG_ACK, acknowledge_wrongly, "PUBREC 1", "", false, BOTH},
	{WHY_TAKEN_OVER, take_over, "a", "", false, BOTH},
	{WHY_TLS_HANDSHAKE, NULL, "tls_with_real_clients", "", false, BOTH},
	{WHY_TLS_BROKEN, NULL, "needs a client that breaks its own TLS", "", false, BOTH},
	{WHY_LOST, vanish, "a clean", "--log-level notice", false, MUTE},
	{WHY_NETWORK, NULL, "needs an error of the network", "", false, BOTH},
	{WHY_LATE_CONNECT, say_first, NULL, "--connect-timeout 1", false, MQTT_3},
	{WHY_LATE_PACKET, send_then, "30 10 00", "--packet-timeout 1", false, BOTH},
	{WHY_SILENT, join_twice, "CONNECT b clean alive=1", "", false, BOTH},
	{WHY_STUCK, NULL, "the stories of test_slow.c count these", "", false, BOTH},
	{WHY_NO_MEMORY, NULL, "a client cannot bring it about", "", false, BOTH},
	{WHY_STORE, NULL, "the stories of test_disk.c fill the disk", "", false, BOTH},
	{WHY_SHUTDOWN, end_the_broker, "a clean", "--log-level info", false, BOTH},
	{WHY_DENIED, subscribe_twice, "SUBSCRIBE 2 ^secret/x:0", "--deny-subscribe secret/#", false,
         BOTH},
	{WHY_ACCESS, say_then, "PUBLISH q1 id1 t x", "--access-file /dev/null", false, BOTH},
	{WHY_SHARED, subscribe_twice, "SUBSCRIBE 2 ^$share//t:1", "", false, MQTT_3},
	{WHY_MAX_FILTERS, subscribe_twice, "SUBSCRIBE 2 b:0", "--max-filters 1", false, BOTH},
	{WHY_MAX_FILTER_BYTES, subscribe_twice, "SUBSCRIBE 2 b:0", "--max-filter-bytes 600", false,
         BOTH},
	{WHY_OWN_TOPIC, say_then, "PUBLISH q1 id1 ^$SYS/broker/uptime x", "", false, BOTH},
	{WHY_OWN_TOPIC, say_first, "CONNECT a clean will=^$SYS/x message=x", "", false, MUTE},
};

static const struct {
	const char *text;
	unsigned int return_code;
	unsigned int reason;
} reasons[] = {{NULL, 0, 0},
#define WHY_ROW(name, return_code, reason, text) {text, return_code, reason},
               WHY_LIST(WHY_ROW)
#undef WHY_ROW
};

/* Does the packet tell a client of MQTT 5 the reason? A packet that ends all has the text, too. */
static bool tells(const char *packet, enum why why)
{
	char code[16], text[160] = " text=";
	const size_t size = strlen(text);

	snprintf(code, sizeof(code), " 0x%02x", reasons[why].reason);
	if (strstr(packet, code) == NULL)
		return false;
	snprintf(text + size, sizeof(text) - size, "%s", reasons[why].text);
	for (char *c = text + size; *c != '\0'; c++)
		*c = *c == ' ' ? '_' : *c;
	return strstr(packet, "ACK") == packet + 3 || strstr(packet, text) != NULL;
}

/* One of the clients that were refused is told why, unless it cannot be told. */
static void check_told(const struct row *row)
{
	const bool five = version[0] != '\0';
	const bool mute = five ? row->who == MUTE : reasons[row->why].return_code == 0;
	char connack[32], last[PACKET_WORDS_MAX] = "nothing";

	snprintf(connack, sizeof(connack), "CONNACK 0 %u", reasons[row->why].return_code);
	for (unsigned int i = 0; i < refused_count && !mute; i++) {
		const char *packet;

		while ((packet = client_next(refused[i], story_limit(CLIENT_PATIENCE_MS))) !=
		       NULL) {
			snprintf(last, sizeof(last), "%s", packet);
			if (five ? tells(packet, row->why) : strcmp(packet, connack) == 0)
				return;
		}
	}
	check(mute, "\"%s\"%s: the client is not told: %s", reasons[row->why].text, version, last);
}

static void tell_row(const struct row *row)
{
	char options[256];

	refused_count = 0;
	passwords = row->passwords ? file_write(SERVER_ALICE) : NULL;
	snprintf(options, sizeof(options), "%s%s %s", passwords != NULL ? "--password-file " : "",
	         passwords != NULL ? passwords : "", row->options);
	server_start(options, 0);
	row->act(row->arg);
	server_await_said(reasons[row->why].text);
	check_told(row);
}

static void tell_rows(const char *words, int but)
{
	version = words;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].act != NULL && (int)rows[i].who != but)
			AT(tell_row(&rows[i]));
}

STORY(refused_and_closed_clients_are_in_the_log, .timeout = 60, .mosquitto = "has a log of its own",
      .five = "is of both versions")
{
	for (enum why why = 1; why < sizeof(reasons) / sizeof(reasons[0]); why++) {
		bool found = false;

		for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++)
			found = found || rows[k].why == why;
		check(found, "no row for \"%s\"", reasons[why].text);
	}
	tell_rows("", MQTT_5);
}

STORY(refused_and_closed_clients_of_mqtt_5_are_told_why, .timeout = 60,
      .mosquitto = "has a log of its own")
{
	tell_rows(" v5", MQTT_3);
}
