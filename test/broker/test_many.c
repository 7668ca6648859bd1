/* SPDX-License-Identifier: MIT */
/* Many filters beside many topics: what they cost, and how many there may be. */
#include "client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "server.h"

enum { LEVELS = 12, FILTERS = 1 << LEVELS, PER_PACKET = 512, BURST = 60 };

/*
 * Subscribes to all filters of LEVELS levels, each `a` or `+`, and `#` behind them: every one
 * matches `a/a/.../a/whatever`, in front of which this puts nothing, so the story has a broker of
 * its own.
 */
static void subscribe_to_all(struct client *client)
{
	static unsigned char packet[PER_PACKET * (2 * LEVELS + 4) + 16];

	for (int first = 0; first < FILTERS; first += PER_PACKET) {
		const size_t rest = 2 + PER_PACKET * (2 * LEVELS + 4);
		unsigned char *at = packet;
		const char *answer;

		*at++ = 0x82;
		*at++ = (unsigned char)(0x80 | (rest & 127));
		*at++ = (unsigned char)(rest >> 7);
		*at++ = 0;
		*at++ = 1;
		for (int i = first; i < first + PER_PACKET; i++) {
			*at++ = 0;
			*at++ = 2 * LEVELS + 1;
			for (int level = 0; level < LEVELS; level++) {
				*at++ = i & 1 << level ? '+' : 'a';
				*at++ = '/';
			}
			*at++ = '#';
			*at++ = 0;
		}
		client_send(client, packet, (size_t)(at - packet));
		answer = client_next(client, story_limit(CLIENT_PATIENCE_MS));
		check(answer != NULL && strncmp(answer, "SUBACK 1 0", 10) == 0 &&
		              strchr(answer + 9, '1') == NULL,
		      "expected SUBACK, got %.20s", answer != NULL ? answer : "nothing");
	}
}

/* A PUBLISH with QoS 1 to a topic below `a/a/.../a`; returns its size. */
static size_t put_deep(unsigned char *bytes, unsigned int id)
{
	unsigned char *at = bytes + 2;
	char last[16];
	const size_t last_size = (size_t)snprintf(last, sizeof(last), "%u", id);

	bytes[0] = 0x32;
	*at++ = 0;
	*at++ = (unsigned char)(2 * LEVELS + last_size);
	for (int level = 0; level < LEVELS; level++) {
		*at++ = 'a';
		*at++ = '/';
	}
	memcpy(at, last, last_size);
	at += last_size;
	*at++ = (unsigned char)(id >> 8);
	*at++ = (unsigned char)id;
	bytes[1] = (unsigned char)(at - bytes - 2);
	return (size_t)(at - bytes);
}

/* The subscribers need not read for this. */
static double seconds_of_new_topics(struct client *publisher, unsigned int first, double most)
{
	enum { COUNT = 200 };
	const double before = server_cpu_seconds();
	unsigned char bytes[64];
	unsigned int i = 0;

	while (i < COUNT && server_cpu_seconds() - before < most) {
		client_send(publisher, bytes, put_deep(bytes, first + i));
		expect(publisher, "PUBACK %u", first + i);
		i++;
	}
	return (server_cpu_seconds() - before) * COUNT / (i > 0 ? i : 1);
}

/*
 * A new topic beside four times as many filters that match it costs some four times as much (not 16
 * times). So much that small clocks do not count.
 */
STORY(many_filters_make_new_topics_no_dearer_than_their_number, .timeout = 60)
{
	enum { CLIENTS = 4 };
	struct client *publisher;
	double one, all;

	start_server("");
	publisher = join("publisher clean");
	subscribe_to_all(join("- clean alive=0"));
	one = seconds_of_new_topics(publisher, 1, 20);
	for (int i = 1; i < CLIENTS; i++)
		subscribe_to_all(join("- clean alive=0"));
	all = seconds_of_new_topics(publisher, 1001, 8 * one + 0.5);
	check(all < 8 * one + 0.3, "200 topics: %.2f s of CPU beside %d filters, %.2f beside %d",
	      one, FILTERS, all, CLIENTS * FILTERS);
}

/* How many of the answers to the greedy one come before the bystander's message does. */
static unsigned int answers_before(struct client *greedy, unsigned int first,
                                   struct client *publisher, struct client *reader)
{
	unsigned char bytes[BURST * 64], answers[4 * BURST];
	size_t size = 0, got = 0;
	ssize_t now;

	for (unsigned int i = 0; i < BURST; i++)
		size += put_deep(bytes + size, first + i);
	client_send(greedy, bytes, size);
	say(publisher, "PUBLISH q0 t x");
	expect(reader, "PUBLISH q0 t x");
	now = recv(greedy->fd, answers, sizeof(answers), MSG_DONTWAIT);
	got = now > 0 ? (size_t)now : 0;
	for (size_t rest = got; rest < sizeof(answers); rest += (size_t)now) {
		now = recv(greedy->fd, answers, sizeof(answers) - rest, 0);
		check(now > 0, "%zu answers", rest / 4);
	}
	return (unsigned int)(got / 4);
}

static int compare(const void *left, const void *right)
{
	const unsigned int a = *(const unsigned int *)left, b = *(const unsigned int *)right;

	return (a > b) - (a < b);
}

/* Of many new topics, which cost much, others wait for one, and a few more where all is slow. */
STORY(many_filters_delay_others_by_one_message, .timeout = 60)
{
	enum { ROUNDS = 5, TRIES = 10, CLIENTS = 2 };
	struct client *publisher, *reader, *greedy;
	unsigned int answers[ROUNDS], most = BURST;

	start_server(server_is_mosquitto() ? "" : "--threads 1");
	publisher = join("publisher clean alive=0");
	reader = join("reader clean alive=0");
	greedy = join("greedy clean alive=0");
	subscribe(reader, "t:0");
	for (int i = 0; i < CLIENTS; i++)
		subscribe_to_all(join("- clean alive=0"));
	/* This process looks later than the message comes, where others use the machine. */
	for (unsigned int i = 0; i < TRIES && most > BURST / 4; i++) {
		for (unsigned int k = 0; k < ROUNDS; k++)
			answers[k] = answers_before(greedy, 1 + 1000 * (ROUNDS * i + k), publisher,
			                            reader);
		qsort(answers, ROUNDS, sizeof(answers[0]), compare);
		most = answers[ROUNDS / 2];
	}
	check(most <= BURST / 4, "%u of %d messages came first", most, BURST);
}

/* A topic that only lies there with its message knows nothing of its subscribers. */
STORY(many_filters_and_retained_topics_take_no_memory, .timeout = 60)
{
	enum { TOPICS = 500 };
	struct client *publisher, *reader;
	unsigned char bytes[64];
	size_t before, most;

	start_server("");
	publisher = join("publisher clean");
	reader = join("reader clean alive=0");
	subscribe_to_all(reader);
	before = server_memory();
	for (unsigned int i = 1; i <= TOPICS; i++) {
		size_t size = put_deep(bytes, i);

		bytes[0] |= 1;
		bytes[1]++;
		bytes[size++] = 'x';
		client_send(publisher, bytes, size);
		expect(publisher, "PUBACK %u", i);
		check(client_next(reader, story_limit(CLIENT_PATIENCE_MS)) != NULL, "%u came", i);
	}
	most = before + ((size_t)story_scaled(16) << 20);
	check(server_memory() < most, "%zu KiB more", (server_memory() - before) >> 10);
}

STORY(many_filters_are_refused, .mosquitto = "has no such limit")
{
	struct client *client, *other, *publisher;

	start_server("--max-filters 3");
	publisher = join("publisher clean");
	client = join_new("a");
	other = join("b clean");
	say(client, "SUBSCRIBE 1 a:0 b:1 +/c:2 d:0 e:1");
	expect(client, "SUBACK 1 0 1 2 128 128");
	say(client, "SUBSCRIBE 2 d:0 b:2");
	expect(client, "SUBACK 2 128 2"); /* b is not one more */
	subscribe(other, "d:0");          /* each client has its own */
	publish(publisher, 1, "d x");
	expect(other, "PUBLISH q0 d x");
	expect_silence(client, 100);
	unsubscribe(client, "a");
	subscribe(client, "d:1");
	publish(publisher, 1, "d y");
	expect_received(client, "d y");
	/* They are the session's: no other connection of it has more. */
	leave(client);
	client = resume("a");
	say(client, "SUBSCRIBE 3 e:0");
	expect(client, "SUBACK 3 128");
	leave(client);
	client = join("a clean");
	subscribe(client, "e:0 f:0 g:0");
}

STORY(many_bytes_of_filters_are_refused, .mosquitto = "has no such limit")
{
	char words[1000], x[801];
	struct client *client;

	memset(x, 'x', sizeof(x) - 1);
	x[sizeof(x) - 1] = '\0';
	start_server("--max-filter-bytes 2300");
	client = join("a clean");
	for (int i = 0; i < 3; i++) {
		snprintf(words, sizeof(words), "SUBSCRIBE 1 %d%s:0", i, x);
		say(client, "%s", words);
		expect(client, i < 2 ? "SUBACK 1 0" : "SUBACK 1 128");
	}
	/* Levels count, too. */
	snprintf(words, sizeof(words), "0%s", x);
	unsubscribe(client, words);
	say(client, "SUBSCRIBE 2 a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a:0");
	expect(client, "SUBACK 2 128");
	subscribe(client, "a/a/a:0");
}

STORY(many_retained_messages_are_not_kept, .mosquitto = "has no such limit")
{
	struct client *publisher, *client, *late;

	start_server("--max-retained 2 --stats-interval 1");
	publisher = join("publisher clean");
	client = join("a clean");
	subscribe(client, "+:1");
	for (int i = 0; i < 3; i++) {
		say(publisher, "PUBLISH retain q1 id1 t%d x", i);
		expect(publisher, "PUBACK 1");
		receive(client); /* the third, too */
	}
	late = join("b clean");
	subscribe(late, "t2:0");
	expect_silence(late, 100);
	/* One that is there is replaced; one that goes makes room. */
	say(publisher, "PUBLISH retain q1 id1 t0 y");
	expect(publisher, "PUBACK 1");
	subscribe(late, "t0:0");
	expect(late, "PUBLISH retain q0 t0 y");
	say(publisher, "PUBLISH retain q1 id1 t1 ");
	expect(publisher, "PUBACK 1");
	say(publisher, "PUBLISH retain q1 id1 t2 z");
	expect(publisher, "PUBACK 1");
	expect(late, "PUBLISH q0 t2 z"); /* it is still subscribed */
	late = join("c clean");
	subscribe(late, "t2:0");
	expect(late, "PUBLISH retain q0 t2 z");
	await_said("event=retain_refused messages=1 ");
	/* The broker's own have room all the same. */
	subscribe(late, "^$SYS/broker/version:0");
	check(client_next(late, story_limit(3000)) != NULL, "no $SYS");
}

/* A retained message that cannot be replaced for want of room is dropped, not kept as it was. */
STORY(many_retained_bytes_are_not_kept, .mosquitto = "has no such limit")
{
	char words[901];
	struct client *publisher, *late;

	start_server("--max-retained-bytes 1200");
	publisher = join("publisher clean");
	say(publisher, "PUBLISH retain q1 id1 t x");
	expect(publisher, "PUBACK 1");
	late = join("b clean");
	subscribe(late, "t:0");
	expect(late, "PUBLISH retain q0 t x");
	memset(words, 'y', 900);
	words[900] = '\0';
	say(publisher, "PUBLISH retain q1 id1 t %s", words);
	expect(publisher, "PUBACK 1");
	expect(late, "PUBLISH q0 t <900 bytes>");
	subscribe(late, "t:0");
	expect_silence(late, 100);
}
