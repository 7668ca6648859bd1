/* SPDX-License-Identifier: MIT */
/* What must not harm a broker: each of these stories has one of its own to try it on. */
#include "client.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server.h"

#define MANY 2000

/* Whatever a broker opens once has been opened. */
static unsigned int warm_up(void)
{
	struct client *clients[20];

	for (int i = 0; i < 20; i++)
		clients[i] = join("- clean");
	for (int i = 0; i < 20; i++)
		client_vanish(clients[i]);
	story_sleep(300);
	return server_files();
}

static void check_alive(void)
{
	int status = 0;

	check(server_alive(&status), "the broker has ended, wait status %d: %s", status,
	      server_said());
}

/* ---- descriptors ---- */

STORY(connects_and_disconnects_leak_no_descriptor, .timeout = 20)
{
	unsigned int before;

	start_server("");
	before = warm_up();
	for (int i = 0; i < 1000; i++) {
		struct client *client = i % 3 == 0 ? open_client("mute") : join("a clean");

		if (i % 3 == 1)
			leave(client);
		else if (i % 3 == 2)
			client_kill(client);
		else
			client_vanish(client);
	}
	await_files(before, 3000);
	check_alive();
}

STORY(malformed_clients_leak_no_descriptor, .timeout = 20)
{
	unsigned int before;

	start_server("");
	before = warm_up();
	for (int i = 0; i < 300; i++) {
		struct client *client = i % 2 ? join("a clean will=w") : open_client("bad");

		say_hex(client, i % 3 ? "f0 00" : "30 ff ff ff ff ff");
		expect_closed(client);
		client_vanish(client);
	}
	await_files(before, 3000);
}

STORY(many_connections_at_once, .timeout = 40)
{
	static struct client *clients[MANY];
	struct rlimit limit;
	unsigned int before;
	size_t memory;

	getrlimit(RLIMIT_NOFILE, &limit);
	if (limit.rlim_cur < MANY + 100)
		story_skip("this process may have %lu descriptors", (unsigned long)limit.rlim_cur);
	start_server("");
	before = warm_up();
	memory = server_memory();
	for (int i = 0; i < MANY; i++) {
		char words[32];

		snprintf(words, sizeof(words), "c%d clean", i);
		clients[i] = join(words);
	}
	memory = server_memory() - memory;
	/* Instrumentation takes its own. */
	check(story_scaled(1) > 1 || memory <= MANY * (size_t)8192,
	      "%zu bytes for each idle connection", memory / MANY);
	subscribe(clients[MANY - 1], "t:1");
	publish(clients[0], 1, "t x");
	expect(clients[MANY - 1], "PUBLISH q1 id1 t x");
	for (int i = 0; i < MANY; i++)
		say(clients[i], "PINGREQ");
	for (int i = 0; i < MANY; i++)
		expect(clients[i], "PINGRESP");
	for (int i = 0; i < MANY; i++)
		client_vanish(clients[i]);
	await_files(before, 3000);
}

/* Nor is it more for who has once published at QoS 2, and only pings since. */
STORY(idle_connections_are_small_after_qos_2, .timeout = 20)
{
	enum { COUNT = 500 };
	size_t memory;

	start_server("");
	warm_up();
	memory = server_memory();
	for (int i = 0; i < COUNT; i++) {
		char words[32];
		struct client *client;

		snprintf(words, sizeof(words), "c%d clean", i);
		client = join(words);
		publish(client, 2, "t x");
		ping(client);
	}
	memory = server_memory() - memory;
	check(story_scaled(1) > 1 || memory <= COUNT * (size_t)8192, "%zu bytes for each",
	      memory / COUNT);
}

STORY(full_descriptor_table_is_survived, .timeout = 30)
{
	enum { FILES = 50, CLIENTS = 80 };
	struct client *early, *clients[CLIENTS], *late = NULL;
	const long long deadline = story_clock() + story_limit(10000);

	server_start("", FILES);
	early = join("early clean");
	subscribe(early, "t:0");
	for (int i = 0; i < CLIENTS; i++) {
		clients[i] = open_client("crowd");
		say(clients[i], "CONNECT - clean");
	}
	story_sleep(500);
	publish(early, 0, "t still");
	expect(early, "PUBLISH q0 t still");
	for (int i = 0; i < CLIENTS; i++)
		client_vanish(clients[i]);
	/* mosquitto closes at once whom it has no descriptor for. */
	do {
		const char *answer;

		check(story_clock() < deadline, "nobody was let in again");
		late = open_client("late");
		say(late, "CONNECT late clean");
		answer = client_next(late, story_limit(CLIENT_PATIENCE_MS));
		if (answer == NULL)
			client_vanish(late);
	} while (late->ended);
	publish(late, 0, "t again");
	expect(early, "PUBLISH q0 t again");
}

/* Many a connection is taken over in the very moment in which it is let in. */
STORY(connections_are_counted_out_again, .timeout = 20)
{
	enum { ROUNDS = 50, CLIENTS = 20 };
	struct client *watch;
	char count[16] = "nobody";

	start_server(server_is_mosquitto() ? "" : "--stats-interval 1");
	for (int round = 0; round < ROUNDS; round++) {
		struct client *clients[CLIENTS];

		for (int i = 0; i < CLIENTS; i++) {
			clients[i] = open_client("a");
			say(clients[i], "CONNECT a clean");
		}
		for (int i = 0; i < CLIENTS; i++)
			client_vanish(clients[i]);
	}
	story_sleep(story_scaled(1500));
	watch = join("watch clean");
	subscribe(watch, "^$SYS/broker/clients/connected:0");
	while (strcmp(count, "1") != 0) {
		const char *got = client_next(watch, story_limit(3000));

		check(got != NULL, "counted: %s", count);
		snprintf(count, sizeof(count), "%s", strrchr(got, ' ') + 1);
	}
}

/* ---- packet size ---- */

STORY(packet_limit_is_enforced)
{
	struct client *client, *subscriber;

	start_server("--max-packet 1000");
	subscriber = join("subscriber clean");
	client = join("a clean");
	subscribe(subscriber, "t:0");
	client_publish_large(client, "t", 900);
	expect(subscriber, "PUBLISH q0 t <900 bytes>");
	client_publish_large(client, "t", 1001);
	expect_closed(client);
	expect_silence(subscriber, 100);
	ping(subscriber);
}

/* At its header, not when it has come; and the memory for it is not taken before. */
STORY(packet_limit_is_enforced_before_memory_is_taken)
{
	struct client *clients[20];
	size_t before;

	start_server("--max-packet 1048576");
	before = server_memory();
	for (int i = 0; i < 20; i++) {
		clients[i] = open_client("greedy");
		say(clients[i], "CONNECT - clean");
		expect(clients[i], "CONNACK 0 0");
		say_hex(clients[i], "30 ff ff ff 7f 00 01");
	}
	for (int i = 0; i < 20; i++)
		expect_closed(clients[i]);
	check(server_memory() < before + (16U << 20), "%zu KiB more",
	      (server_memory() - before) >> 10);
}

/* Whoever only announces large packets does not get the memory for them. */
STORY(packets_announced_take_no_memory, .timeout = 20,
      .mosquitto = "takes the memory of a packet at its header")
{
	struct client *client;
	size_t before;

	start_server("");
	client = join("a clean");
	before = server_memory();
	for (int i = 0; i < 200; i++) {
		struct client *greedy = join("- clean");

		/* 1 MiB less a bit. */
		say_hex(greedy, "30 80 80 3f 00 01 't' 'x'");
	}
	ping(client);
	story_sleep(200);
	check(server_memory() < before + (64U << 20), "%zu KiB more",
	      (server_memory() - before) >> 10);
}

STORY(packet_limit_by_default_lets_a_megabyte_pass)
{
	struct client *client = join("a clean");

	subscribe(client, "t:0");
	client_publish_large(client, "t", (1U << 20) - 200);
	expect(client, "PUBLISH q0 t <%u bytes>", (1U << 20) - 200);
}

STORY(packet_limit_by_default_is_a_megabyte, .mosquitto = "has none by default")
{
	struct client *client = join("a clean");

	client_publish_large(client, "t", 1U << 20);
	expect_closed(client);
}

/* Two of one name that throw each other out for ever are told, but not each time. */
STORY(noise_does_not_fill_the_log, .timeout = 40, .mosquitto = "logs all of it")
{
	const long long begin = story_clock();
	struct client *client = NULL, *last;

	start_server("");
	for (int i = 0; i < 3000; i++) {
		last = client;
		client = join("a clean");
		if (last != NULL)
			client_vanish(last);
	}
	story_sleep(1500);
	say_hex(client, "f0 00");
	expect_closed(client);
	await_said("malformed");
	/* For each second that has begun 100 lines, and one that counts the rest. */
	check(server_said_lines() < 110 * ((story_clock() - begin) / 1000 + 2), "%u lines",
	      server_said_lines());
}

/* ---- idle ---- */

STORY(idle_cpu_is_near_zero)
{
	double before;

	start_server("");
	for (int i = 0; i < 50; i++) {
		struct client *client = join("- clean");

		subscribe(client, "t:1");
	}
	story_sleep(1000);
	before = server_cpu_seconds();
	story_sleep(2000);
	check(server_cpu_seconds() - before <= 0.05, "%.2f s of 2", server_cpu_seconds() - before);
}

/* ---- noise ---- */

STORY(noise_harms_nobody, .timeout = 30)
{
	struct client *witness;
	unsigned int seed = 20240611;
	unsigned char noise[256];

	start_server("");
	witness = join("witness clean");
	subscribe(witness, "t:0");
	for (int i = 0; i < 1000; i++) {
		struct client *client = i % 2 ? join("- clean") : open_client("noise");
		const size_t size = 1 + (size_t)rand_r(&seed) % sizeof(noise);

		for (size_t k = 0; k < size; k++)
			noise[k] = (unsigned char)rand_r(&seed);
		client_send(client, noise, size);
		if (i % 100 == 0) {
			publish(witness, 0, "t %d", i);
			expect(witness, "PUBLISH q0 t %d", i);
		}
		client_vanish(client);
	}
	ping(witness);
	check_alive();
}
