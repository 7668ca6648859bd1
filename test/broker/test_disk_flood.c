/* SPDX-License-Identifier: MIT */
/* --store: a client that says the same again and again while nothing is committed. */
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "client.h"
#include "disk.h"
#include "server.h"
#include "store_file.h"

#define OURS .mosquitto = "has a store of its own", .timeout = 60

/* The broker reads some of it, and no more. */
static void flood(const char *hex)
{
	enum { PACKETS = 1000000 };
	static unsigned char bytes[4 * PACKETS];
	struct client *client;
	struct pollfd ready;
	size_t size = 0, before;
	ssize_t sent;

	(void)disk_use();
	store_start("");
	client = join_new("a");
	subscribe(client, "t:2");
	publish(join("publisher clean"), 2, "t one");
	expect(client, "PUBLISH q2 id1 t one");
	disk_always(DISK_FULL);
	before = server_memory();
	for (size_t i = 0; i < PACKETS; i++)
		memcpy(bytes + 4 * i, hex, 4);
	ready = (struct pollfd){.fd = client->fd, .events = POLLOUT};
	while (size < sizeof(bytes) && poll(&ready, 1, 500) == 1) {
		sent = send(client->fd, bytes + size, sizeof(bytes) - size, MSG_DONTWAIT);
		size += sent > 0 ? (size_t)sent : 0;
	}
	story_sleep(300);
	check(server_memory() < before + ((size_t)24 << 20), "%zu MiB more",
	      (server_memory() - before) >> 20);
}

STORY(disk_is_full_and_a_client_releases, OURS)
{
	flood("\x62\x02\x00\x07");
}

STORY(disk_is_full_and_a_client_has_received, OURS)
{
	flood("\x50\x02\x00\x01");
}

STORY(disk_is_full_and_a_client_has_received_nothing, OURS)
{
	flood("\x50\x02\x00\x09");
}
