/* SPDX-License-Identifier: MIT */
/* Clients that ask for more than anybody needs, as fast as they can. */
#include "client.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server.h"

enum { ASKERS = 4, ASKED = 20000 };

/* Clients that say a packet again and again, and read the answers; what that costs is bounded. */
static void ask(struct client *const askers[ASKERS], const char *packet, size_t size)
{
	const size_t before = server_memory();
	static char packets[ASKED + 100], answers[1U << 20];
	size_t sent[ASKERS] = {0}, most = before;
	const long long end = story_clock() + story_scaled(2000);

	for (size_t i = 0; i < sizeof(packets); i++)
		packets[i] = packet[i % size];
	while (story_clock() < end) {
		for (int i = 0; i < ASKERS; i++) {
			const ssize_t now = send(askers[i]->fd, packets + sent[i] % size, ASKED,
			                         MSG_NOSIGNAL | MSG_DONTWAIT);

			sent[i] += now > 0 ? (size_t)now : 0;
			while (recv(askers[i]->fd, answers, sizeof(answers), MSG_DONTWAIT) > 0)
				continue;
		}
		if (server_memory() > most)
			most = server_memory();
	}
	check(most < before + ((size_t)story_scaled(24) << 20), "%zu KiB more",
	      (most - before) >> 10);
}

static void join_all(struct client *askers[ASKERS])
{
	for (int i = 0; i < ASKERS; i++)
		askers[i] = join("- clean alive=0");
}

STORY(who_subscribes_again_and_again_delays_nobody, .timeout = 30)
{
	struct client *askers[ASKERS], *client;

	start_server("");
	client = join("a clean");
	join_all(askers);
	ask(askers, "\x82\xa\0\1\0\5+/x/y\0", 12);
	subscribe(client, "t:0");
	publish(client, 0, "t x");
	expect(client, "PUBLISH q0 t x");
}

/* Its session has enough to do with what it is to deliver. */
STORY(who_acknowledges_again_and_again, .timeout = 30)
{
	struct client *askers[ASKERS];

	start_server("");
	join_all(askers);
	for (int i = 0; i < 2; i++) {
		say(askers[i], "SUBSCRIBE 1 ^t:0");
		if (fork() != 0)
			continue; /* it ends with the story */
		askers[2] = join("- clean");
		for (;;)
			client_send(askers[2], "0\xd\0\1t01234567890\xd\0\1t0123456789", 30);
	}
	ask(askers, "\x50\2\0\7", 4);
}

/* There may be minutes of it to do; when all have been told to close nobody needs it any more. */
STORY(the_end_does_not_wait_for_what_was_asked, .timeout = 60, .mosquitto = "has no --stop-timeout")
{
	enum { TOPICS = 5000, FILTERS = 1500, CLIENTS = 60 };
	static unsigned char packet[FILTERS * 6 + 5] = {0x82, 0x80 | ((FILTERS * 6 + 2) & 127),
	                                                (FILTERS * 6 + 2) >> 7, 0, 1};
	struct client *publisher;
	int status;

	memcpy(packet + 5, "\0\3+/+\0", 6);
	for (int i = 1; i < FILTERS; i++)
		memcpy(packet + 5 + 6 * i, "\0\3+/x\0", 6);
	start_server("--stop-timeout 1");
	publisher = join("publisher clean");
	for (int i = 0; i < TOPICS; i++)
		say(publisher, "PUBLISH retain q0 ^topic/%d x", i);
	ping(publisher);
	for (int i = 0; i < CLIENTS; i++)
		client_send(join("- clean"), packet, sizeof(packet));
	status = server_stop();
	check(status == 0, "wait status %d", status);
}
