/* SPDX-License-Identifier: MIT */
/* Clients that do not read: they harm nobody but themselves. */
#include "client.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server.h"

/* Publishes more than fits into sockets, to one who reads and to one who does not. */
static void flood(struct client *publisher, struct client *reader)
{
	enum { PAYLOAD = 16000, COUNT = 2500 };

	for (int i = 0; i < COUNT; i++) {
		client_publish_large(publisher, "t", PAYLOAD);
		client_expect(reader, "PUBLISH q0 t <%d bytes>", PAYLOAD);
	}
}

STORY(who_does_not_read_delays_nobody, .timeout = 30)
{
	struct client *publisher, *reader, *stuck;
	size_t before;

	/* mosquitto bounds messages, not bytes. */
	start_server(server_is_mosquitto() ? "--max-queued 100" : "");
	publisher = join("publisher clean");
	reader = join("reader clean");
	stuck = join("stuck clean alive=0");
	subscribe(reader, "t:0");
	subscribe(stuck, "t:0");
	before = server_memory();
	story_here(__FILE__, __LINE__);
	flood(publisher, reader);
	/* Sanitizers take a multiple. */
	check(server_memory() < before + (story_scaled(1) > 1 ? 64U << 20 : 16U << 20),
	      "%zu KiB more", (server_memory() - before) >> 10);
	ping(publisher);
	check(server_is_mosquitto() || strstr(server_said(), "dropped") != NULL, "says %s",
	      server_said());
}

/*
 * The broker finds a burst from many publishers, each of them small, in one turn: then it is the
 * broker that is behind, not who reads, and nothing is lost.
 */
STORY(who_reads_loses_nothing_of_a_burst, .timeout = 30)
{
	enum { PUBLISHERS = 50, EACH = 400 };
	struct client *reader, *publishers[PUBLISHERS];

	start_server("");
	reader = join("reader clean alive=0");
	subscribe(reader, "t:0");
	for (int i = 0; i < PUBLISHERS; i++)
		publishers[i] = join("- clean alive=0");
	kill(server_pid(), SIGSTOP);
	for (int i = 0; i < PUBLISHERS * EACH; i++)
		say(publishers[i % PUBLISHERS], "PUBLISH q0 t %d", i);
	kill(server_pid(), SIGCONT);
	for (int i = 0; i < PUBLISHERS * EACH; i++)
		check(client_next(reader, story_limit(CLIENT_PATIENCE_MS)) != NULL, "%d of %d came",
		      i, PUBLISHERS * EACH);
}

/*
 * What waits for it is bounded by what it takes of memory, of which messages take more than their
 * bytes; so is what waits for its session.
 */
static void flood_small(const char *options, int qos, int count, size_t most)
{
	enum { STEP = 100 };
	struct client *publisher, *stuck;
	char filter[8];
	size_t before, more;

	start_server(options);
	publisher = join("publisher clean");
	stuck = join("stuck alive=0");
	snprintf(filter, sizeof(filter), "t:%d", qos);
	subscribe(stuck, filter);
	before = server_memory();
	for (int i = 0; i < count; i++) {
		say(publisher, qos == 0 ? "PUBLISH q0 t %020d" : "PUBLISH q1 id1 t %020d", i);
		if (qos > 0)
			expect(publisher, "PUBACK 1");
		else if (i % STEP == 0)
			ping(publisher);
	}
	more = server_memory() - before;
	/* Sanitizers take a multiple for each block, and keep what was freed. */
	if (more > (story_scaled(1) > 1 ? 10 * most : most))
		story_fail("%zu KiB more", more >> 10);
}

STORY(who_does_not_read_is_charged_for_memory, .timeout = 60,
      .mosquitto = "bounds messages, not bytes")
{
	/* It begins with what the sockets hold, of which there is some 4 MiB. */
	story_here(__FILE__, __LINE__);
	flood_small("--max-buffered 1M", 0, 500000, 3U << 20);
}

STORY(who_is_slow_is_charged_for_memory, .timeout = 60, .mosquitto = "bounds messages, not bytes")
{
	story_here(__FILE__, __LINE__);
	flood_small("--max-queued 1000000 --max-queued-bytes 1M", 1, 40000, 3U << 20);
}

/* QoS 1 is kept for it, as much as the session's queue may hold; nobody else's is touched. */
STORY(who_does_not_read_keeps_its_queue, .timeout = 30)
{
	struct client *publisher, *reader, *stuck;
	int count = 0;

	start_server("--max-queued 50 --max-inflight 10");
	publisher = join("publisher clean");
	reader = join("reader clean");
	stuck = join("stuck alive=0");
	subscribe(reader, "t:1");
	subscribe(stuck, "t:1");
	for (int i = 0; i < 500; i++) {
		char words[32];

		publish(publisher, 1, "t %d", i);
		snprintf(words, sizeof(words), "t %d", i);
		expect_received(reader, words);
	}
	client_kill(stuck);
	stuck = resume("stuck alive=0");
	while (client_next(stuck, 300) != NULL)
		count++;
	check(count == 10, "%d on their way at a time", count);
}

/*
 * Says a packet again and again for a while, and reads none of the answers, which are bounded like
 * all that waits for a client: it may be read no more, or be disconnected.
 */
static void never_read(const char *packet, size_t size)
{
	enum { SIZE = 20000, MOST = 40000000 };
	struct client *client = join("a clean"), *stuck = join("stuck clean");
	const size_t before = server_memory();
	static char packets[SIZE + 100];
	size_t sent = 0;
	long long end;

	for (size_t i = 0; i < sizeof(packets); i++)
		packets[i] = packet[i % size];
	end = story_clock() + story_scaled(2000);
	while (sent < MOST && story_clock() < end) {
		const ssize_t now =
			send(stuck->fd, packets + sent % size, SIZE, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (now < 0 && errno != EAGAIN)
			break;
		if (now < 0)
			story_sleep(5);
		else
			sent += (size_t)now;
	}
	ping(client);
	check(server_memory() < before + (16U << 20), "%zu KiB more for %zu KiB said",
	      (server_memory() - before) >> 10, sent >> 10);
}

STORY(who_does_not_read_its_pings, .timeout = 20)
{
	start_server("");
	never_read("\xc0\0", 2);
}

STORY(who_does_not_read_its_acknowledgements, .timeout = 20)
{
	start_server("");
	never_read("\x32\x6\0\1t\0\7x", 8);
}

STORY(who_does_not_read_its_subacks, .timeout = 20)
{
	start_server("");
	never_read("\x82\x6\0\1\0\1t\0", 8);
}

/* SUBSCRIBEs that cost much, from several at once: they wait in the sockets, not in the broker. */
STORY(who_subscribes_too_fast_takes_no_memory, .timeout = 30,
      .mosquitto = "keeps the answers that are not read")
{
	enum { TOPICS = 1000, FILTERS = 1500, CLIENTS = 4 };
	struct client *publisher, *clients[CLIENTS];
	unsigned char packet[FILTERS * 6 + 5] = {0x82, 0x80 | ((FILTERS * 6 + 2) & 127),
	                                         (FILTERS * 6 + 2) >> 7, 0, 1};
	size_t before, at[CLIENTS] = {0}, sent = 0;
	long long end;

	for (int i = 0; i < FILTERS; i++)
		memcpy(packet + 5 + 6 * i, i % 2 == 0 ? "\0\3+/x\0" : "\0\3+/y\0", 6);
	start_server("");
	publisher = join("publisher clean");
	for (int i = 0; i < TOPICS; i++)
		say(publisher, "PUBLISH retain q0 topic/%d x", i);
	ping(publisher);
	for (int i = 0; i < CLIENTS; i++)
		clients[i] = join("- clean");
	before = server_memory();
	for (end = story_clock() + story_scaled(2000); story_clock() < end; story_sleep(1))
		for (int i = 0; i < CLIENTS; i++) {
			const ssize_t now = send(clients[i]->fd, packet + at[i],
			                         sizeof(packet) - at[i], MSG_DONTWAIT);

			sent += now > 0 ? (size_t)now : 0;
			at[i] = now > 0 ? (at[i] + (size_t)now) % sizeof(packet) : at[i];
		}
	check(server_memory() < before + (16U << 20), "%zu KiB more for %zu KiB said",
	      (server_memory() - before) >> 10, sent >> 10);
}

/* A publisher's PUBLISH with QoS 1 that is longer than words can be. */
static void publish_long(struct client *client, const char *topic, unsigned int id, size_t payload)
{
	char name[64];
	const size_t name_size = (size_t)snprintf(name, sizeof(name), "%s/%s", story_name(), topic);
	const size_t rest = 2 + name_size + 2 + payload;
	unsigned char *bytes = calloc(1, 4 + rest), *at = bytes + 6 + name_size;

	memcpy(bytes,
	       (unsigned char[]){0x32, 0x80 | (rest & 127), 0x80 | (rest >> 7 & 127),
	                         rest >> 14 & 127, 0, (unsigned char)name_size},
	       6);
	memcpy(bytes + 6, name, name_size);
	at[0] = (unsigned char)(id >> 8);
	at[1] = (unsigned char)id;
	memset(at + 2, 'x', payload);
	client_send(client, bytes, 4 + rest);
	client_expect(client, "PUBACK %u", id);
	free(bytes);
}

/*
 * It does not read its pings until it is read no more; then it reads some of what waits, and is
 * gone. How far the rest has come nobody knows: it may be a duplicate.
 */
STORY(who_did_not_read_is_told_again_with_dup, .timeout = 30)
{
	enum { PAYLOAD = 60000, COUNT = 300, READ = 150, PINGS = 10000 };
	static unsigned char pings[2 * PINGS];
	struct client *publisher, *slow;

	start_server(server_is_mosquitto() ? "--max-inflight 1000"
	                                   : "--max-inflight 1000 --max-buffered 32M");
	publisher = join("publisher clean");
	slow = join("slow alive=0");
	subscribe(slow, "t:1");
	for (unsigned int i = 1; i <= COUNT; i++)
		publish_long(publisher, "t", i, PAYLOAD);
	for (size_t i = 0; i < sizeof(pings); i += 2)
		pings[i] = 0xc0;
	client_send(slow, pings, sizeof(pings));
	story_sleep(story_scaled(300));
	for (int i = 1; i <= READ; i++)
		expect(slow, "PUBLISH q1 id%d t <%d bytes>", i, PAYLOAD);
	client_kill(slow);
	slow = resume("slow alive=0");
	for (int i = 1; i <= READ; i++)
		expect(slow, "PUBLISH dup q1 id%d t <%d bytes>", i, PAYLOAD);
}

/*
 * A message that was never written is no duplicate: with DUP the client would drop it as a message
 * that has come already.
 */
STORY(who_did_not_read_is_told_without_dup_what_was_not_written, .timeout = 30,
      .mosquitto = "says DUP with all that it had in flight")
{
	enum { PAYLOAD = 60000, COUNT = 400 };
	struct client *publisher, *stuck;
	int duplicates = 0;

	start_server("--max-inflight 1000 --max-buffered 64M");
	publisher = join("publisher clean");
	stuck = join("stuck alive=0");
	subscribe(stuck, "t:1");
	for (unsigned int i = 1; i <= COUNT; i++)
		publish_long(publisher, "t", i, PAYLOAD);
	client_kill(stuck);
	stuck = resume("stuck alive=0");
	for (int i = 1; i <= COUNT; i++) {
		const char *got = client_next(stuck, story_limit(CLIENT_PATIENCE_MS));
		const bool duplicate = got != NULL && strncmp(got, "PUBLISH dup", 11) == 0;

		check(got != NULL, "nothing came after %d", i - 1);
		check(!duplicate || duplicates == i - 1, "a duplicate behind a new one: %s", got);
		duplicates += duplicate;
	}
	check(duplicates > 0 && duplicates < COUNT, "%d of %d are duplicates", duplicates, COUNT);
}

/* Its output was full when it went: what it is told when it comes back does not stop there. */
STORY(who_did_not_read_and_comes_back_gets_all, .timeout = 30)
{
	enum { PAYLOAD = 60000, COUNT = 400 };
	struct client *publisher, *stuck;

	start_server(server_is_mosquitto() ? "--max-inflight 1000"
	                                   : "--max-inflight 1000 --max-buffered 100K");
	publisher = join("publisher clean");
	stuck = join("stuck alive=0");
	subscribe(stuck, "t:1");
	for (int round = 0; round < 3; round++) {
		for (unsigned int i = 1; i <= COUNT / 2; i++)
			publish_long(publisher, "t", i, PAYLOAD);
		client_kill(stuck);
		stuck = resume("stuck alive=0");
	}
	for (int i = 1; i <= 3 * COUNT / 2; i++) {
		const char *got = client_next(stuck, story_limit(CLIENT_PATIENCE_MS));

		check(got != NULL, "nothing came after %d", i - 1);
	}
	expect_silence(stuck, 100);
}

/* It must read again some time; else it is disconnected. */
STORY(who_does_not_read_is_disconnected_in_the_end, .timeout = 40,
      .mosquitto = "waits for as long as the keep alive is kept")
{
	struct client *publisher, *reader, *stuck;
	const char *got = "";
	unsigned int before;

	start_server("--stuck-timeout 2 --stats-interval 1");
	publisher = join("publisher clean");
	reader = join("reader clean");
	ping(publisher);
	before = server_files();
	stuck = join("stuck clean alive=0");
	subscribe(reader, "t:0");
	subscribe(stuck, "t:0");
	story_here(__FILE__, __LINE__);
	flood(publisher, reader);
	await_files(before, 6000);
	ping(reader);
	subscribe(reader, "^$SYS/broker/clients/evicted:0");
	while (got != NULL && strstr(got, "evicted 1") == NULL)
		got = client_next(reader, story_limit(3000));
	check(got != NULL, "it is not counted");
	await_said("\n"); /* some line of the log says so */
}
