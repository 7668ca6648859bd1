/* SPDX-License-Identifier: MIT */
/* Shared subscriptions: what a member leaves behind, and who gets it. */
#include "client.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "server.h"
#include "shared.h"

#define OURS .mosquitto = "keeps it for the client, or drops it"

/* Two members; the first one has been sent the even messages, the second one the odd ones. */
static void deal(struct client *members[2], unsigned int qos, int count)
{
	struct client *publisher = join("publisher clean");
	char filter[16];

	snprintf(filter, sizeof(filter), "t:%u", qos);
	for (int i = 0; i < 2; i++)
		subscribe(members[i], shared("g", filter));
	for (int i = 0; i < count; i++)
		publish(publisher, qos, "t %d", i);
	for (int i = 0; i < count; i++)
		expect(members[i % 2], "PUBLISH q%u id%d t %d", qos, i / 2 + 1, i);
	client_vanish(publisher);
}

/* The second member gets what the first one has not acknowledged: in order, and as new. */
static void hand_on(struct client *first)
{
	struct client *members[2] = {first, join("second clean")};

	deal(members, 1, 8);
	say(first, "PUBACK 2");
	ping(first);
	client_vanish(first);
	expect(members[1], "PUBLISH q1 id5 t 0");
	expect(members[1], "PUBLISH q1 id6 t 4");
	expect(members[1], "PUBLISH q1 id7 t 6");
	expect_silence(members[1], 50);
}

STORY(shared_qos_1_of_a_clean_session_goes_to_another, OURS)
{
	hand_on(join("first clean"));
}

STORY(shared_qos_1_of_a_kept_session_goes_to_another, OURS)
{
	hand_on(join_new("first"));
	expect_silence(resume("first"), 50);
}

STORY(shared_qos_1_comes_back_to_the_only_member, OURS)
{
	struct client *publisher = join("publisher clean"), *member = join_new("a");

	subscribe(member, shared("g", "t:1"));
	publish(publisher, 1, "t one");
	publish(publisher, 1, "t two");
	expect(member, "PUBLISH q1 id1 t one");
	expect(member, "PUBLISH q1 id2 t two");
	client_vanish(member);
	member = resume("a");
	expect(member, "PUBLISH q1 id3 t one");
	expect(member, "PUBLISH q1 id4 t two");
	publish(publisher, 1, "t three");
	expect(member, "PUBLISH q1 id5 t three");
}

/* MQTT-4.8.2-4, -5: what was begun at QoS 2 is this client's; no other client ever gets it. */
STORY(shared_qos_2_stays_with_a_kept_session, OURS)
{
	struct client *members[2] = {join_new("first"), join("second clean")};

	deal(members, 2, 6);
	say(members[0], "PUBREC 2");
	expect(members[0], "PUBREL 2");
	client_vanish(members[0]);
	expect_silence(members[1], 100);
	members[0] = resume("first");
	expect(members[0], "PUBREL 2");
	expect(members[0], "PUBLISH dup q2 id1 t 0");
	expect(members[0], "PUBLISH dup q2 id3 t 4");
	say(members[0], "PUBREC 1");
	expect(members[0], "PUBREL 1");
	say(members[0], "PUBCOMP 1");
	say(members[0], "PUBCOMP 2");
	ping(members[0]);
	client_vanish(members[0]);
	leave(join("first clean"));
	expect_silence(members[1], 100);
}

STORY(shared_qos_2_of_a_clean_session_is_lost_with_it, OURS)
{
	struct client *members[2] = {join("first clean"), join("second clean")};
	struct client *publisher = join("other clean");

	deal(members, 2, 4);
	client_vanish(members[0]);
	expect_silence(members[1], 100);
	publish(publisher, 2, "t next");
	expect(members[1], "PUBLISH q2 id3 t next");
}

/* Messages that are larger than what sockets hold: the rest of those was not begun to be sent. */
static void not_begun(unsigned int qos, const char *first_words)
{
	enum { COUNT = 40, SIZE = 500000 };
	struct client *publisher, *members[2];
	unsigned int came[2] = {0};
	char filter[16];

	start_server("--stuck-timeout 3 --max-inflight 100 --max-queued-bytes 1G");
	publisher = join("publisher clean");
	members[0] = join(first_words);
	members[1] = join("second clean alive=0");
	snprintf(filter, sizeof(filter), "t:%u", qos);
	for (int i = 0; i < 2; i++)
		subscribe(members[i], shared("g", filter));
	for (int i = 0; i < COUNT; i++)
		client_publish_large(publisher, "t", SIZE);
	/* The first one reads nothing, until it is closed. */
	for (const char *got; (got = client_next(members[1], 6000)) != NULL; came[1]++)
		check(strstr(got, "bytes>") != NULL, "got %s", got);
	check(came[1] > COUNT / 2, "the other one got %u", came[1]);
	while (client_next(members[0], 500) != NULL)
		came[0]++;
	check(members[0]->ended, "the stuck one was not closed");
	check(came[0] + came[1] >= COUNT - 1, "%u and %u of %d came", came[0], came[1], COUNT);
	check(qos == 1 || came[0] + came[1] <= COUNT, "%u and %u of %d came", came[0], came[1],
	      COUNT);
}

STORY(shared_qos_0_goes_round_a_stuck_member, .timeout = 60, OURS)
{
	not_begun(0, "first clean alive=0");
}

/* MQTT 3.1.1, 3.10.4: the client completes what was begun; it is not given to others. */
STORY(shared_unsubscribe_completes_what_has_begun, OURS)
{
	struct client *members[2] = {join_new("first"), join("second clean")};
	struct client *publisher = join("other clean");

	deal(members, 1, 4);
	unsubscribe(members[0], shared("g", "t"));
	expect_silence(members[1], 50);
	say(members[0], "PUBACK 1");
	ping(members[0]);
	client_vanish(members[0]);
	expect_silence(members[1], 50);
	members[0] = resume("first");
	expect(members[0], "PUBLISH dup q1 id2 t 2");
	say(members[0], "PUBACK 2");
	publish(publisher, 1, "t next");
	expect(members[1], "PUBLISH q1 id3 t next");
	expect_silence(members[0], 50);
}

/* A worker that goes in good order, with work that it has not done. */
static void unsubscribe_and_leave(struct client *first)
{
	struct client *members[2] = {first, join("second clean")};

	deal(members, 1, 6);
	unsubscribe(first, shared("g", "t"));
	subscribe(first, shared("g", "t:1"));
	unsubscribe(first, shared("g", "t"));
	say(first, "PUBACK 2");
	ping(first);
	expect_silence(members[1], 50);
	leave(first);
	expect(members[1], "PUBLISH q1 id4 t 0");
	expect(members[1], "PUBLISH q1 id5 t 4");
	expect_silence(members[1], 50);
}

STORY(shared_unsubscribe_of_a_clean_session_gives_back, OURS)
{
	unsubscribe_and_leave(join("first clean"));
}

/* It was kept until now, and ends with this connection. */
STORY(shared_unsubscribe_of_a_session_that_ends_gives_back, OURS)
{
	client_vanish(join("first v5 expiry=100"));
	unsubscribe_and_leave(resume("first v5"));
}

/* The newcomer is the same member; what the old connection had comes to whoever has room. */
STORY(shared_member_is_taken_over, OURS)
{
	struct client *publisher = join("publisher clean"), *old = join_new("a"), *member;

	subscribe(old, shared("g", "t:2"));
	publish(publisher, 1, "t one");
	publish(publisher, 2, "t two");
	expect(old, "PUBLISH q1 id1 t one");
	expect(old, "PUBLISH q2 id2 t two");
	member = resume("a");
	expect_closed(old);
	expect(member, "PUBLISH dup q2 id2 t two");
	expect(member, "PUBLISH q1 id3 t one");
	publish(publisher, 1, "t three");
	expect(member, "PUBLISH q1 id4 t three");
}

/* Its own messages fill its window: those of the group go to another. */
STORY(shared_goes_round_a_member_whose_window_is_full, OURS)
{
	struct client *publisher, *members[2];
	bool seen[5] = {false};
	const char *got;
	int number;

	start_server("--max-inflight 4");
	publisher = join("publisher clean");
	members[0] = join("first clean");
	members[1] = join("second clean");
	subscribe(members[0], "own:1");
	for (int i = 0; i < 2; i++)
		subscribe(members[i], shared("g", "t:1"));
	for (int i = 1; i <= 4; i++) {
		publish(publisher, 1, "own %d", i);
		expect(members[0], "PUBLISH q1 id%d own %d", i, i);
	}
	for (int i = 1; i <= 4; i++)
		publish(publisher, 1, "t %d", i);
	for (int i = 1; i <= 4; i++) { /* in any order: some were given back */
		got = client_next(members[1], story_limit(CLIENT_PATIENCE_MS));
		check(got != NULL && sscanf(got, "PUBLISH q1 id%*d t %d", &number) == 1 &&
		              number > 0 && number <= 4 && !seen[number],
		      "got %s", got);
		seen[number] = true;
	}
	publish(publisher, 1, "t five");
	expect_silence(members[1], 50);
	say(members[0], "PUBACK 2");
	expect(members[0], "PUBLISH q1 id5 t five");
	publish(publisher, 1, "t six");
	expect_silence(members[0], 50);
	say(members[1], "PUBACK 1");
	expect(members[1], "PUBLISH q1 id5 t six");
}

/* Who subscribes and unsubscribes all the time keeps the subscription tree busy. */
static pid_t disturb(unsigned int number)
{
	char words[32], filter[16], name[16];
	const pid_t child = fork();
	struct client *client;

	if (child != 0)
		return child;
	snprintf(words, sizeof(words), "busy%u clean", number);
	snprintf(name, sizeof(name), "busy%u/+", number);
	snprintf(filter, sizeof(filter), "%s:0", name);
	client = join(words);
	for (;;) {
		subscribe(client, filter);
		unsubscribe(client, name);
	}
}

/* A thread handles the UNSUBSCRIBE while the loop's thread ends the connection. */
STORY(shared_member_unsubscribes_and_is_gone, .timeout = 30, OURS)
{
	struct client *publisher = join("publisher clean"), *member;
	pid_t children[2];

	for (unsigned int i = 0; i < 2; i++)
		children[i] = disturb(i);
	for (unsigned int round = 0; round < 100; round++) {
		char words[32];

		snprintf(words, sizeof(words), "m%u clean", round);
		member = join(words);
		snprintf(words, sizeof(words), "g%u", round); /* a group of its own */
		subscribe(member, shared(words, "t:1"));
		publish(publisher, 1, "t one");
		expect(member, "PUBLISH q1 id1 t one");
		say(member, "UNSUBSCRIBE 9 %s", shared(words, "t"));
		client_kill(member);
	}
	for (unsigned int i = 0; i < 2; i++)
		kill(children[i], SIGKILL);
	ping(publisher);
}
