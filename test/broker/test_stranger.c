/* SPDX-License-Identifier: MIT */
/* Those who have not been let in yet: what they may hold, and for how long they are listened to. */
#include "client.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "server.h"

enum { FIELD = 65535, LARGE = 600000 };

/* Two bytes of length, and so many letters. */
static unsigned char *put_field(unsigned char *at, size_t size)
{
	at[0] = (unsigned char)(size >> 8);
	at[1] = (unsigned char)size;
	memset(at + 2, 'x', size);
	return at + 2 + size;
}

/* A packet's first byte, and its remaining length in three bytes. */
static unsigned char *put_header(unsigned char *at, unsigned char first, size_t remaining)
{
	at[0] = first;
	at[1] = (unsigned char)(remaining | 0x80);
	at[2] = (unsigned char)(remaining >> 7 | 0x80);
	at[3] = (unsigned char)(remaining >> 14);
	return at + 4;
}

/* A clean CONNECT without an id, of so many bytes: a will, and a user's name of the rest. */
static void put_connect(unsigned char *bytes, size_t size)
{
	static const unsigned char begin[] = "\0\4MQTT\4\x86\0\x3c\0\0\0\1w";
	const size_t left = size - 4 - (sizeof(begin) - 1) - 4;
	const size_t will = left < FIELD ? left / 2 : FIELD;
	unsigned char *at = put_header(bytes, 0x10, size - 4);

	memcpy(at, begin, sizeof(begin) - 1);
	at = put_field(at + sizeof(begin) - 1, will);
	put_field(at, left - will);
}

/* As much as the socket and the broker take. */
static void send_some(struct client *client, const unsigned char *bytes, size_t size)
{
	const long long end = story_clock() + 200;

	while (size > 0 && story_clock() < end) {
		const ssize_t sent = send(client->fd, bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (sent < 0 && errno != EAGAIN)
			return;
		bytes += sent > 0 ? sent : 0;
		size -= sent > 0 ? (size_t)sent : 0;
	}
}

STORY(strangers_who_announce_much_hold_nothing, .timeout = 60,
      .mosquitto = "lets each hold a whole packet")
{
	enum { COUNT = 200 };
	static unsigned char bytes[LARGE];
	struct client *bystander;
	size_t before;

	put_header(bytes, 0x10, LARGE);
	memcpy(bytes + 4, "\0\4MQTT\4\2\0\x3c\xff\xff", 12);
	start_server(server_is_mosquitto() ? "" : "--connect-timeout 60");
	bystander = join("bystander clean");
	before = server_memory();
	for (int i = 0; i < COUNT; i++)
		send_some(open_client("stranger"), bytes, LARGE);
	ping(bystander);
	check(server_memory() < before + ((size_t)story_scaled(24) << 20), "%zu KiB more",
	      (server_memory() - before) >> 10);
	join("late clean");
}

/* All of them together: those who hold the most go, and whoever wants little gets in. */
STORY(strangers_hold_no_more_than_their_share, .timeout = 60, .mosquitto = "has no such limit")
{
	enum { COUNT = 1000, SIZE = 80000 };
	static unsigned char bytes[SIZE];
	static struct client *strangers[COUNT];
	struct client *slow[4];
	size_t before;

	put_connect(bytes, SIZE);
	start_server("--max-strangers 8M --connect-timeout 60 --log-level error");
	before = server_memory();
	for (int i = 0; i < COUNT; i++) {
		strangers[i] = open_client("stranger");
		client_send(strangers[i], bytes, SIZE - 1);
		if (i % (COUNT / 4) == 0) {
			slow[i / (COUNT / 4)] = open_client("slow");
			client_send(slow[i / (COUNT / 4)], "\x10\xc\0\4MQTT\4", 9);
		}
	}
	check(server_memory() < before + ((size_t)story_scaled(40) << 20), "%zu KiB more",
	      (server_memory() - before) >> 10);
	for (int i = 0; i < 4; i++) {
		client_send(slow[i], "\2\0\x3c\0\0", 5);
		expect(slow[i], "CONNACK 0 0");
	}
	/* One of those who have stayed is let in, too, when it comes to its end. */
	client_send(strangers[COUNT - 1], "x", 1);
	expect(strangers[COUNT - 1], "CONNACK 0 0");
}

/* It goes by the size, and when that is known. */
static void connects_up_to(size_t most)
{
	static unsigned char bytes[LARGE];
	struct client *client = client_open("large");

	put_connect(bytes, most);
	client_send(client, bytes, most);
	client_expect(client, "CONNACK 0 0");
	put_connect(bytes, most + 1);
	client = client_open("too large");
	client_send(client, bytes, 4);
	client_expect_closed(client, CLIENT_PATIENCE_MS);
}

STORY(strangers_connect_with_so_much_and_no_more, .mosquitto = "has other limits")
{
	start_server("");
	AT(connects_up_to(80 << 10));
	start_server("--max-connect 20K");
	AT(connects_up_to(20 << 10));
	start_server("--max-connect 30000 --max-packet 20000");
	AT(connects_up_to(20000));
	start_server("--max-connect 130000");
	AT(connects_up_to(130000));
}

/* Nobody waits for the rest of what will never be a CONNECT. */
STORY(strangers_say_connect_first, .mosquitto = "waits for the end of the packet")
{
	static const char *const firsts[] = {"20", "30", "32 ff", "c0", "e0", "f0"};

	for (size_t i = 0; i < sizeof(firsts) / sizeof(*firsts); i++) {
		struct client *client = open_client("stranger");

		say_hex(client, firsts[i]);
		expect_closed(client);
	}
}
