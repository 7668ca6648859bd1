/* SPDX-License-Identifier: MIT */
/* Shared subscriptions (MQTT 5, 4.8.2), of clients of 3.1.1: who gets which message. */
#include "client.h"

#include <stdio.h>
#include <string.h>

#include "server.h"
#include "shared.h"

enum { MEMBERS = 3 };

/* Clients with clean sessions, each a member at that QoS. */
static void join_members(struct client *members[], int count, unsigned int qos)
{
	char words[32], filter[16];

	for (int i = 0; i < count; i++) {
		snprintf(words, sizeof(words), "member%d clean", i);
		snprintf(filter, sizeof(filter), "t:%u", qos);
		members[i] = join(words);
		subscribe(members[i], shared("g", filter));
	}
}

static void each_once(unsigned int qos)
{
	struct client *publisher = join("publisher clean"), *members[MEMBERS];
	char words[32];

	join_members(members, MEMBERS, qos);
	for (int i = 0; i < 5 * MEMBERS; i++) {
		publish(publisher, qos, "t %d", i);
		ping(publisher);
		snprintf(words, sizeof(words), "t %d", i);
		expect_received(members[i % MEMBERS], words);
		ping(members[i % MEMBERS]); /* what it has acknowledged has been read */
	}
	for (int i = 0; i < MEMBERS; i++)
		expect_silence(members[i], 50);
}

STORY(shared_goes_to_one_member_at_qos_0)
{
	each_once(0);
}

STORY(shared_goes_to_one_member_at_qos_1)
{
	each_once(1);
}

STORY(shared_goes_to_one_member_at_qos_2)
{
	each_once(2);
}

STORY(shared_comes_at_the_qos_that_the_member_was_granted)
{
	struct client *publisher = join("publisher clean"), *client = join("a clean");

	subscribe(client, shared("g", "t:0"));
	publish(publisher, 2, "t zero");
	expect(client, "PUBLISH q0 t zero");
	subscribe(client, shared("g", "t:1"));
	publish(publisher, 2, "t one");
	expect(client, "PUBLISH q1 id1 t one");
	subscribe(client, shared("g", "t:2"));
	publish(publisher, 1, "t one");
	expect(client, "PUBLISH q1 id2 t one");
	publish(publisher, 2, "t two");
	expect(client, "PUBLISH q2 id3 t two");
}

STORY(shared_groups_and_other_subscribers_each_get_all,
      .mosquitto = "gives a client in two groups a message once")
{
	struct client *publisher = join("publisher clean"), *client = join("a clean");
	struct client *both = join("b clean");

	subscribe(client, shared("g", "t:1"));
	subscribe(client, shared("h", "+:1"));
	subscribe(both, "t:1");
	publish(publisher, 1, "t x");
	for (int i = 0; i < 2; i++)
		expect_received(client, "t x");
	expect_received(both, "t x");
	subscribe(both, shared("i", "t:1"));
	publish(publisher, 1, "t y");
	for (int i = 0; i < 2; i++)
		expect_received(client, "t y");
	for (int i = 0; i < 2; i++)
		expect_received(both, "t y");
	expect_silence(client, 50);
	expect_silence(both, 50);
}

/* A group is its name and its filter. */
STORY(shared_filters_of_one_name_are_groups_of_their_own)
{
	struct client *publisher = join("publisher clean"), *client = join("a clean");
	struct client *other = join("b clean");

	subscribe(client, shared("g", "t/+:1"));
	subscribe(other, shared("g", "t/#:1"));
	publish(publisher, 1, "t/a x");
	expect_received(client, "t/a x");
	expect_received(other, "t/a x");
	publish(publisher, 1, "t/a/b y");
	expect_received(other, "t/a/b y");
	expect_silence(client, 50);
}

STORY(shared_subscriptions_get_nothing_retained, .mosquitto = "sends what is retained")
{
	struct client *publisher = join("publisher clean"), *client = join("a clean");

	publish(publisher, 1, "t x");
	say(publisher, "PUBLISH retain q1 id100 t kept");
	expect(publisher, "PUBACK 100");
	subscribe(client, shared("g", "t:1"));
	expect_silence(client, 100);
	subscribe(client, shared("g", "t:1"));
	expect_silence(client, 100);
	say(publisher, "PUBLISH retain q1 id101 t live");
	expect_received(client, "t live");
	subscribe(client, "t:0");
	expect(client, "PUBLISH retain q0 t live");
}

STORY(shared_ends_with_unsubscribe)
{
	struct client *publisher = join("publisher clean"), *members[2];

	join_members(members, 2, 1);
	unsubscribe(members[0], shared("g", "t"));
	unsubscribe(members[0], shared("g", "t"));
	for (int i = 0; i < 3; i++) {
		publish(publisher, 1, "t one");
		expect_received(members[1], "t one");
	}
	unsubscribe(members[1], shared("g", "t"));
	publish(publisher, 1, "t nobody");
	subscribe(members[0], shared("g", "t:1"));
	publish(publisher, 1, "t two");
	expect_received(members[0], "t two");
	expect_silence(members[0], 50);
	expect_silence(members[1], 50);
}

/* SUBACK is not behind the group's readiness: a message right after it has its member. */
STORY(shared_is_there_when_suback_is, .timeout = 30)
{
	struct client *publisher = join("publisher clean"), *client;

	for (int i = 0; i < 200; i++) {
		client = join("a clean");
		subscribe(client, shared("g", "t:0"));
		say(publisher, "PUBLISH q0 t %d", i);
		expect(client, "PUBLISH q0 t %d", i);
		if (i % 2 == 0)
			leave(client);
		else
			unsubscribe(client, shared("g", "t"));
	}
}

STORY(shared_filters_without_a_group_or_a_filter_are_refused,
      .mosquitto = "takes some of them for other filters", .five = "MQTT 5 has a DISCONNECT for it")
{
	static const char *const wrong[] = {"^$share//t", "^$share/g", "^$share/g/", "^$share/"};
	struct client *client;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		client = join("a clean");
		say(client, "SUBSCRIBE 7 %s:1 x:1", wrong[i]);
		expect(client, "SUBACK 7 128 1");
		leave(client);
	}
}

STORY(shared_filters_are_denied_like_others, .mosquitto = "has no such option")
{
	struct client *client;

	start_server("--deny-subscribe secret/#");
	client = join("a clean");
	say(client, "SUBSCRIBE 7 ^$share/g/secret/x:1 ^$share/g/open/x:1");
	expect(client, "SUBACK 7 128 1");
}

STORY(shared_filters_count_among_a_client_s_filters, .mosquitto = "has no such option")
{
	struct client *client;

	start_server("--max-filters 2");
	client = join("a clean");
	subscribe(client, shared("g", "t:1"));
	subscribe(client, shared("h", "t:1"));
	subscribe(client, shared("h", "t:2"));
	say(client, "SUBSCRIBE 99 x:1");
	expect(client, "SUBACK 99 128");
	unsubscribe(client, shared("g", "t"));
	subscribe(client, "x:1");
}

/* The tree has a member at its whole filter, where no topic may find it. */
STORY(shared_filters_are_no_topics)
{
	struct client *publisher = join("publisher clean"), *client = join("a clean");
	char topic[128];

	subscribe(client, shared("g", "t:1"));
	snprintf(topic, sizeof(topic), "%s", shared("g", "t"));
	say(publisher, "PUBLISH q1 id1 %s x", topic);
	expect(publisher, "PUBACK 1");
	expect_silence(client, 100);
}

STORY(shared_waits_for_members_that_are_away)
{
	struct client *publisher = join("publisher clean"), *member = join_new("a");

	subscribe(member, shared("g", "t:2"));
	leave(member);
	publish(publisher, 0, "t zero");
	publish(publisher, 1, "t one");
	publish(publisher, 2, "t two");
	member = resume("a");
	expect_received(member, "t one");
	expect_received(member, "t two");
	publish(publisher, 0, "t three");
	expect_received(member, "t three");
	expect_silence(member, 50);
}

/* One that is away does not keep what another could have. */
STORY(shared_goes_to_those_that_are_there, .mosquitto = "gives those that are away their share")
{
	struct client *publisher = join("publisher clean"), *away = join_new("away");
	struct client *here = join("here clean");
	char words[32];

	subscribe(away, shared("g", "t:2"));
	subscribe(here, shared("g", "t:2"));
	leave(away);
	for (int i = 0; i < 10; i++) {
		publish(publisher, 1 + (unsigned int)i % 2, "t %d", i);
		snprintf(words, sizeof(words), "t %d", i);
		expect_received(here, words);
	}
	away = resume("away");
	publish(publisher, 1, "t a");
	publish(publisher, 1, "t b");
	(void)receive(here);
	(void)receive(away);
	expect_silence(away, 50);
}

STORY(shared_of_a_session_that_has_ended_is_over)
{
	struct client *publisher = join("publisher clean"), *member = join_new("a"), *other;

	subscribe(member, shared("g", "t:1"));
	leave(member);
	publish(publisher, 1, "t lost");
	leave(join("a clean")); /* ends the session, and with its last member the group */
	other = join("b clean");
	subscribe(other, shared("g", "t:1"));
	publish(publisher, 1, "t x");
	expect_received(other, "t x");
	expect_silence(other, 50);
}

/* With an access file (--access-file): of the members that have room, one that may read it. */
STORY(shared_goes_to_a_member_that_may_read_it,
      .mosquitto = "loses what the member that it has chosen may not read")
{
	struct client *publisher, *ann, *bob;
	char rules[512], options[128];

	snprintf(rules, sizeof(rules),
	         "topic write %s/#\nuser ann\ntopic read %s/a\nuser bob\ntopic read %s/#\n",
	         story_name(), story_name(), story_name());
	snprintf(options, sizeof(options), "--access-file %s", file_write(rules));
	start_server(options);
	publisher = join("publisher clean");
	ann = join("ann clean user=ann");
	bob = join("bob clean user=bob");
	subscribe(ann, shared("g", "#:1"));
	subscribe(bob, shared("g", "#:1"));
	for (int i = 0; i < 5; i++) {
		publish(publisher, 1, "b x");
		expect_received(bob, "b x");
		ping(bob);
	}
	publish(publisher, 1, "a x"); /* whose turn is longest ago */
	expect_received(ann, "a x");
	ping(ann);
	publish(publisher, 1, "a y");
	expect_received(bob, "a y");
	leave(bob);
	publish(publisher, 1, "b nobody");
	expect_silence(ann, 200);
	publish(publisher, 1, "a z");
	expect_received(ann, "a z");
}

/* As mosquitto has it: each member, and not among the other subscriptions. */
STORY(shared_subscriptions_are_counted, .timeout = 20)
{
	struct client *client, *other, *reader;
	const char *got;

	start_server("--stats-interval 1");
	client = join("a clean");
	other = join("b clean");
	subscribe(client, shared("g", "t:1"));
	subscribe(client, shared("h", "t:1"));
	subscribe(client, shared("h", "t:0"));
	subscribe(other, shared("g", "t:1"));
	subscribe(other, "t:1");
	unsubscribe(client, shared("h", "t"));
	story_sleep(story_scaled(2500));
	reader = join("reader clean");
	subscribe(reader, "^$SYS/broker/shared_subscriptions/count:0");
	got = client_next(reader, story_limit(CLIENT_PATIENCE_MS));
	check(got != NULL && strstr(got, "subscriptions/count 2") != NULL, "got %s", got);
	subscribe(reader, "^$SYS/broker/subscriptions/count:0");
	got = client_next(reader, story_limit(CLIENT_PATIENCE_MS));
	check(got != NULL && strstr(got, "subscriptions/count 1") != NULL, "got %s", got);
}
