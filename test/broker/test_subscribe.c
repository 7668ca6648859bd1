/* SPDX-License-Identifier: MIT */
/* SUBSCRIBE and UNSUBSCRIBE: what matches what, overlaps, changes. */
#include "client.h"

#include <stdio.h>
#include <string.h>

#include "server.h"

/* Filters are behind the story's name, which is a level of its own. */
static const struct {
	const char *filter;
	const char *name;
	bool matches;
} matches[] = {
	{"a", "a", true},
	{"a", "b", false},
	{"a", "A", false},
	{"a", "a/", false},
	{"a", "/a", false},
	{"a/", "a/", true},
	{"a/", "a", false},
	{"/a", "/a", true},
	{"+", "a", true},
	{"+", "a/b", false},
	{"+", "/", false},
	{"+/+", "/", true},
	{"+/+", "a/b", true},
	{"+/+", "a", false},
	{"+/+", "a/b/c", false},
	{"/+", "/a", true},
	{"a/+", "a/", true},
	{"a/+", "a/b", true},
	{"a/+", "a", false},
	{"a/+/c", "a/b/c", true},
	{"a/+/c", "a//c", true},
	{"a/+/c", "a/b/d", false},
	{"a/+/c", "a/b/b/c", false},
	{"#", "a", true},
	{"#", "a/b/c", true},
	{"#", "/", true},
	{"a/#", "a", true},
	{"a/#", "a/", true},
	{"a/#", "a/b", true},
	{"a/#", "a/b/c/d/e/f/g/h", true},
	{"a/#", "ab", false},
	{"a/#", "b/a", false},
	{"+/b/#", "a/b", true},
	{"+/b/#", "a/b/c", true},
	{"+/b/#", "a/c/b", false},
	{"a/+/#", "a", false},
	{"a/+/#", "a/b", true},
	{"a//#", "a/", true},
	{"a//#", "a/b", false},
};

#define MATCHES (sizeof(matches) / sizeof(*matches))

/* Each filter under a level of its own: r7/a/+ and r7/a/b. Subscribed before the publishing. */
static void try_matches(bool retained)
{
	struct client *publisher = join("publisher clean"), *client = join("a clean");
	char filter[64], got[256];

	for (size_t i = 0; i < MATCHES; i++) {
		snprintf(filter, sizeof(filter), "r%zu/%s:0 e%zu:0", i, matches[i].filter, i);
		if (!retained)
			subscribe(client, filter);
		publisher->last_id = 7;
		say(publisher, "PUBLISH %sq1 id8 r%zu/%s x", retained ? "retain " : "", i,
		    matches[i].name);
		expect(publisher, "PUBACK 8");
		if (retained)
			subscribe(client, filter);
		snprintf(got, sizeof(got), "PUBLISH %sq0 r%zu/%s x", retained ? "retain " : "", i,
		         matches[i].name);
		if (matches[i].matches)
			client_expect(client, "%s", got);
	}
	/* What must not have come would come now. */
	client_expect_silence(client, 300);
}

STORY(wildcards_match, .timeout = 20)
{
	story_here(__FILE__, __LINE__);
	try_matches(false);
}

STORY(wildcards_match_what_is_retained, .timeout = 20)
{
	story_here(__FILE__, __LINE__);
	try_matches(true);
}

STORY(wildcards_do_not_match_dollar)
{
	struct client *publisher, *wild, *exact;

	start_server(""); /* # is about all topics of a broker */
	publisher = join("publisher clean");
	wild = join("wild clean");
	exact = join("exact clean");
	subscribe(wild, "^#:0 ^+/x:0 ^+/+:0 ^+/#:0");
	subscribe(exact, "^$own/#:0 ^$own/+:0 ^$own/x:0");
	publish(publisher, 1, "^$own/x secret");
	expect(exact, "PUBLISH q0 $own/x secret");
	publish(publisher, 1, "^mine/x public");
	expect(wild, "PUBLISH q0 mine/x public");
	expect_silence(wild, 300);
	expect_silence(exact, 0);
}

STORY(wildcards_do_not_match_retained_dollar)
{
	struct client *client;

	start_server("");
	client = join("a clean");
	say(client, "PUBLISH retain q1 id1 ^$own/x secret");
	expect(client, "PUBACK 1");
	subscribe(client, "^#:0 ^+/x:0");
	expect_silence(client, 300);
	subscribe(client, "^$own/#:0");
	expect(client, "PUBLISH retain q0 $own/x secret");
}

STORY(dollar_is_common_in_lower_levels)
{
	struct client *publisher = join("publisher clean"), *client = join("a clean");

	subscribe(client, "+:0");
	publish(publisher, 1, "$x seen");
	expect(client, "PUBLISH q0 $x seen");
}

STORY(subscribe_answers_each_filter_in_order)
{
	struct client *client = join("a clean");

	subscribe(client, "a:2 b:0 c:1 d/+:2 e/#:0");
	subscribe(client, "a:0 a:1 a:2");
}

STORY(subscribe_again_replaces)
{
	struct client *publisher = join("publisher clean"), *client = join("a clean");

	subscribe(client, "t:2");
	subscribe(client, "t:0");
	publish(publisher, 2, "t one");
	expect(client, "PUBLISH q0 t one");
	subscribe(client, "t:1");
	publish(publisher, 2, "t two");
	expect(client, "PUBLISH q1 id1 t two");
	subscribe(client, "t:0 t:1 t:2");
	publish(publisher, 2, "t three");
	expect(client, "PUBLISH q2 id2 t three");
	expect_silence(client, 100);
}

/* The standard lets a broker deliver once per filter; mosquitto as configured here does, once. */
STORY(overlapping_filters_deliver_once_at_the_highest_qos,
      .mosquitto = "takes the QoS of whichever filter it finds first")
{
	struct client *publisher = join("publisher clean");
	struct client *one = join("one clean"), *two = join("two clean");

	subscribe(one, "t/#:0 t/a:2 t/+:1");
	subscribe(two, "t/a:0 t/+:1 t/#:1 +/a:1");
	publish(publisher, 2, "t/a x");
	expect(one, "PUBLISH q2 id1 t/a x");
	expect(two, "PUBLISH q1 id1 t/a x");
	publish(publisher, 2, "t/b y");
	expect(one, "PUBLISH q1 id2 t/b y");
	expect(two, "PUBLISH q1 id2 t/b y");
	unsubscribe(one, "t/a");
	publish(publisher, 2, "t/a z");
	expect(one, "PUBLISH q1 id3 t/a z");
	publish(publisher, 0, "t/a end");
	expect(one, "PUBLISH q0 t/a end");
}

STORY(overlapping_filters_deliver_once)
{
	struct client *publisher = join("publisher clean"), *client = join("a clean");

	subscribe(client, "t/#:0 t/a:0 t/+:0 +/a:0 #:0");
	for (int i = 0; i < 20; i++)
		publish(publisher, 1, "t/a %d", i);
	for (int i = 0; i < 20; i++)
		expect(client, "PUBLISH q0 t/a %d", i);
	expect_silence(client, 100);
}

STORY(unsubscribe_ends_deliveries)
{
	struct client *publisher = join("publisher clean"), *client = join("a clean");

	subscribe(client, "t:0 u/+:0 v/#:0 end:0");
	unsubscribe(client, "t u/+");
	unsubscribe(client, "v/#");
	publish(publisher, 1, "t x");
	publish(publisher, 1, "u/x x");
	publish(publisher, 1, "v/x x");
	publish(publisher, 1, "end x");
	expect(client, "PUBLISH q0 end x");
	expect_silence(client, 200);
}

STORY(unsubscribe_is_about_the_same_filter_only)
{
	struct client *publisher = join("publisher clean"), *client = join("a clean");

	subscribe(client, "t/+:0");
	unsubscribe(client, "t/a t/# #");
	publish(publisher, 0, "t/a x");
	expect(client, "PUBLISH q0 t/a x");
}

STORY(unsubscribe_of_nothing_is_answered)
{
	struct client *client = join("a clean");

	unsubscribe(client, "never");
	unsubscribe(client, "never/+ ever/#");
}

STORY(subscribe_is_refused_where_denied, .mosquitto = "needs a plugin for it")
{
	struct client *publisher, *client;

	start_server("--deny-subscribe secret/# --deny-subscribe +/hidden");
	publisher = join("publisher clean");
	client = join("a clean");
	say(client, "SUBSCRIBE 3 ^secret/x:2 ^open/x:1 ^secret/#:0 ^a/hidden:0");
	expect(client, "SUBACK 3 128 1 128 128");
	publish(publisher, 1, "^secret/x no");
	publish(publisher, 1, "^a/hidden no");
	publish(publisher, 0, "^open/x yes");
	expect(client, "PUBLISH q0 open/x yes");
	expect_silence(client, 200);
}

/* The standard has no limit but a topic's length. --max-filter-bytes bounds the memory. */
STORY(subscribe_to_any_number_of_levels, .mosquitto = "has a limit")
{
	enum { LEVELS = 5000 };
	struct client *client = join("client clean"), *publisher = join("publisher clean");
	static char filter[2 * LEVELS + 2], topic[2 * LEVELS + 2];
	static unsigned char packet[2 * LEVELS + 64];
	size_t size = 0;

	for (size_t i = 0; i < LEVELS; i++) {
		memcpy(topic + 2 * i, "a/", 2);
		memcpy(filter + 2 * i, i % 2 == 0 ? "a/" : "+/", 2);
	}
	strcpy(topic + 2 * (size_t)LEVELS, "a");
	strcpy(filter + 2 * (size_t)LEVELS, "#");
	memcpy(packet, "\x82\x96\x4e\x00\x07\x27\x11", 7);
	size = 7 + 2 * (size_t)LEVELS + 1;
	memcpy(packet + 7, filter, size - 7);
	packet[size++] = 0;
	client_send(client, packet, size);
	expect(client, "SUBACK 7 0");
	memcpy(packet, "\x30\x93\x4e\x27\x11", 5);
	memcpy(packet + 5, topic, 2 * (size_t)LEVELS + 1);
	client_send(publisher, packet, 5 + 2 * (size_t)LEVELS + 1);
	check(client_next(client, story_limit(CLIENT_PATIENCE_MS)) != NULL, "no message");
	ping(client);
}

/* Filters without the story's name in front, all in one packet. */
static void subscribe_to_many(struct client *client, const char *format, unsigned int count)
{
	static unsigned char body[1000000];
	unsigned char header[] = {0x82, 0, 0, 0, 0, 1};
	size_t size = 0, rest;

	for (unsigned int i = 0; i < count; i++) {
		const int length = sprintf((char *)body + size + 2, format, i);

		body[size] = 0;
		body[size + 1] = (unsigned char)length;
		size += 2 + (size_t)length;
		body[size++] = 0;
	}
	rest = size + 2;
	header[1] = (unsigned char)((rest & 127) | 128);
	header[2] = (unsigned char)((rest >> 7 & 127) | 128);
	header[3] = (unsigned char)(rest >> 14);
	client_send(client, header, sizeof(header));
	client_send(client, body, size);
}

STORY(subscribe_to_many_filters_delays_nobody, .timeout = 30)
{
	struct client *greedy, *other;

	start_server("");
	greedy = join("greedy clean");
	other = join("other clean");
	for (int i = 0; i < 2; i++) /* the second time each of them is there */
		subscribe_to_many(greedy, "a/%u", 50000);
	for (int i = 0; i < 20; i++)
		subscribe(other, "t:0 u/+:0");
	for (int i = 0; i < 2; i++)
		check(client_next(greedy, story_limit(CLIENT_PATIENCE_MS)) != NULL, "no SUBACK");
	for (int i = 0; i < 20; i++)
		unsubscribe(other, "t u/+");
	/* Not by the clock: others may use the machine. */
	check(server_cpu_seconds() < (double)story_scaled(2), "it took %.1f s of CPU",
	      server_cpu_seconds());
}

/* Each filter with a wildcard is held against each topic that there is. */
STORY(subscribe_to_many_wildcards_delays_nobody, .timeout = 30)
{
	struct client *greedy, *publisher;
	double began;

	start_server("");
	greedy = join("greedy clean");
	publisher = join("publisher clean");
	for (int i = 0; i < 2000; i++)
		say(publisher, "PUBLISH retain q0 ^t/%d x", i);
	ping(publisher);
	subscribe_to_many(greedy, "+/+/%u", 30000);
	for (int i = 0; client_next(greedy, 5) == NULL; i++) {
		began = server_cpu_seconds();
		publish(publisher, 1, "^new/%d x", i);
		/* Many enough to be interrupted themselves. */
		say(publisher, "SUBSCRIBE 1 a/+:0 b/+:0 c/+:0 d/+:0 e/+:0 f/+:0 g/+:0 h/+:0");
		say(publisher, "UNSUBSCRIBE 2 a/+ b/+ c/+ d/+ e/+ f/+ g/+ h/+");
		expect(publisher, "SUBACK 1 0 0 0 0 0 0 0 0");
		expect(publisher, "UNSUBACK 2");
		/* Not by the clock, as above. */
		check(server_cpu_seconds() - began < (double)story_scaled(2),
		      "it took %.1f s of CPU", server_cpu_seconds() - began);
	}
}

STORY(subscribe_to_a_thousand_filters, .timeout = 30)
{
	struct client *publisher = join("publisher clean"), *client = join("a clean");
	char filter[32];

	for (int i = 0; i < 1000; i++) {
		snprintf(filter, sizeof(filter), i % 2 ? "n%d/+:0" : "n%d/#:0", i);
		subscribe(client, filter);
	}
	for (int i = 0; i < 1000; i += 37) {
		publish(publisher, 1, "n%d/x %d", i, i);
		expect(client, "PUBLISH q0 n%d/x %d", i, i);
	}
	leave(client);
}

/* [MQTT-3.10.4-3]: what has been begun is brought to its end. */
STORY(unsubscribe_completes_what_has_begun,
      .mosquitto = "says PUBREL and messages again in the order of the messages")
{
	struct client *publisher = join("publisher clean"), *client = join_new("a");

	subscribe(client, "t:2");
	publish(publisher, 1, "t one");
	publish(publisher, 2, "t two");
	publish(publisher, 2, "t three");
	expect(client, "PUBLISH q1 id1 t one");
	expect(client, "PUBLISH q2 id2 t two");
	expect(client, "PUBLISH q2 id3 t three");
	say(client, "PUBREC 2");
	expect(client, "PUBREL 2");
	unsubscribe(client, "t");
	publish(publisher, 2, "t no");
	say(client, "PUBREC 3");
	expect(client, "PUBREL 3");
	client_vanish(client);
	client = resume("a");
	expect(client, "PUBREL 2");
	expect(client, "PUBREL 3");
	expect(client, "PUBLISH dup q1 id1 t one");
	say(client, "PUBACK 1");
	say(client, "PUBCOMP 2");
	say(client, "PUBCOMP 3");
	ping(client);
	client_vanish(client);
	expect_silence(resume("a"), 100);
}

/* [MQTT-3.8.4-3] */
STORY(subscribe_again_interrupts_nothing, .timeout = 20)
{
	struct client *publisher = join("publisher clean"), *client = join("a clean");
	int next = 0, number, answers = 0;

	subscribe(client, "t:1");
	for (int i = 0; i < 500; i++) {
		say(publisher, "PUBLISH q1 id%d t %d", i + 1, i);
		if (i % 5 == 0)
			say(client, "SUBSCRIBE %d t:%d", i + 2, 1 + i / 5 % 2);
	}
	while (next < 500 || answers < 100) {
		const char *got = client_next(client, story_limit(CLIENT_PATIENCE_MS));

		check(got != NULL, "got nothing after %d", next);
		if (strncmp(got, "SUBACK", 6) == 0) {
			answers++;
			continue;
		}
		check(sscanf(got, "PUBLISH q1 id%*d t %d", &number) == 1, "got %s", got);
		check(number == next, "%d came, not %d", number, next);
		say(client, "PUBACK %d", ++next);
	}
}
