/* SPDX-License-Identifier: MIT */
/* --store: what of MQTT 5 is there again after kill -9. */
#include "client.h"

#include <stdio.h>
#include <string.h>

#include "server.h"
#include "shared.h"
#include "store_file.h"

#define OURS .mosquitto = "is started without its persistence"
#define ALL "format=1 type=text response=answers correlation=12 user:b=1 user:a=2"

/* What waits, what was sent, what is retained: each with its properties and identifiers. */
STORY(store_keeps_properties_and_identifiers, OURS)
{
	struct client *publisher, *client;

	store_start("");
	client = join("a v5 clean expiry=1000 receive=2");
	say(client, "SUBSCRIBE 1 sid=300 t/+:2");
	expect(client, "SUBACK 1 2");
	say(client, "SUBSCRIBE 2 sid=1 t/x:1");
	expect(client, "SUBACK 2 1");
	publisher = join("publisher v5 clean");
	publish(publisher, 1, ALL " t/x one");
	publish(publisher, 2, ALL " t/y two");
	publish(publisher, 1, ALL " t/x three");
	say(publisher, "PUBLISH retain q1 id9 " ALL " kept four");
	expect(publisher, "PUBACK 9 16");
	expect(client, "PUBLISH q1 id1 sid=300 sid=1 " ALL " t/x one");
	expect(client, "PUBLISH q2 id2 sid=300 " ALL " t/y two");
	store_kill();
	store_start("");
	client = join("a v5 expiry=1000");
	expect(client, "PUBLISH dup q1 id1 sid=300 sid=1 " ALL " t/x one");
	expect(client, "PUBLISH dup q2 id2 sid=300 " ALL " t/y two");
	expect(client, "PUBLISH dup q1 id3 sid=300 sid=1 " ALL " t/x three");
	say(client, "SUBSCRIBE 3 sid=5 kept:0");
	expect(client, "SUBACK 3 0");
	expect(client, "PUBLISH retain q0 sid=5 " ALL " kept four");
	/* Subscriptions have their identifiers, too. */
	publisher = join("publisher clean");
	publish(publisher, 0, "t/x five");
	expect(client, "PUBLISH q0 sid=300 sid=1 t/x five");
}

STORY(store_keeps_options_of_subscriptions, OURS)
{
	struct client *publisher, *client;

	store_start("");
	client = join("a v5 clean expiry=1000");
	subscribe(client, "t:1,nl u:2,rap v:0");
	leave(client);
	store_kill();
	store_start("");
	client = join("a v5 expiry=1000");
	say(client, "PUBLISH q0 t own");
	say(client, "PUBLISH retain q0 u one");
	expect(client, "PUBLISH retain q0 u one");
	say(client, "PUBLISH retain q0 v two");
	expect(client, "PUBLISH q0 v two");
	publisher = join("publisher clean");
	say(publisher, "PUBLISH retain q1 id1 t three");
	expect(publisher, "PUBACK 1");
	expect(client, "PUBLISH q1 id1 t three");
	publish(publisher, 1, "u four");
	expect(client, "PUBLISH q1 id2 u four");
	/* The row of a queue knows the flag. */
	leave(client);
	say(publisher, "PUBLISH retain q1 id2 u five");
	expect(publisher, "PUBACK 2");
	store_kill();
	store_start("");
	client = join("a v5 expiry=1000");
	(void)client_next(client, story_limit(CLIENT_PATIENCE_MS));
	(void)client_next(client, story_limit(CLIENT_PATIENCE_MS));
	expect(client, "PUBLISH dup retain q1 id3 u five");
}

/* The next message has that payload, and at most so many seconds left. */
static void expect_left(struct client *client, const char *words, unsigned int most)
{
	const char *next = client_next(client, story_limit(CLIENT_PATIENCE_MS));
	const char *expiry = next != NULL ? strstr(next, " expiry=") : NULL;
	unsigned int left = 0;
	int end = 0;

	check(expiry != NULL && sscanf(expiry, " expiry=%u %n", &left, &end) == 1 && end > 0 &&
	              strcmp(expiry + end, words) == 0,
	      "%s", next);
	check(left <= most && left > 900, "%u seconds are left", left);
}

/* The time without the broker counts, and there is no use in what has expired. */
STORY(store_keeps_the_time_of_messages, .timeout = 20, OURS)
{
	struct client *publisher, *client;

	store_start("");
	publisher = join("publisher v5 clean");
	subscribe(publisher, "gone:0");
	client = join("a v5 clean expiry=1000 will=gone message=x");
	subscribe(client, "t:1");
	say(client, "DISCONNECT 4");
	expect(publisher, "PUBLISH q0 gone x"); /* its session is away */
	publish(publisher, 1, "expiry=2 t short");
	publish(publisher, 1, "expiry=1000 t long");
	say(publisher, "PUBLISH retain q1 id8 expiry=2 kept/short x");
	expect(publisher, "PUBACK 8 16");
	say(publisher, "PUBLISH retain q1 id9 expiry=1000 kept/long x");
	expect(publisher, "PUBACK 9 16");
	store_kill();
	story_sleep(3200);
	store_start("");
	client = join("a v5 expiry=1000");
	expect_left(client, "t long", 997);
	subscribe(client, "kept/+:0");
	expect_left(client, "kept/long x", 997);
	expect_silence(client, 100);
	check(server_stop() == 0, "no end");
	store_check(0, "1 retained messages");
}

/* A message of QoS 2 that a member has got at QoS 1, and has left its group with. */
STORY(store_keeps_what_is_no_longer_a_group_s, OURS)
{
	struct client *publisher, *client;

	store_start("");
	client = join("a v5 clean expiry=1000");
	say(client, "SUBSCRIBE 1 sid=7 %s", shared("g", "t:1,rap"));
	expect(client, "SUBACK 1 1");
	publisher = join("publisher v5 clean");
	say(publisher, "PUBLISH retain q2 id1 t one");
	expect(publisher, "PUBREC 1");
	expect(client, "PUBLISH retain q1 id1 sid=7 t one");
	client->last_id = 1;
	unsubscribe(client, shared("g", "t"));
	subscribe(client, "u:1"); /* its SUBACK comes behind a commit */
	store_kill();
	store_start("");
	client = join("a v5 expiry=1000");
	expect(client, "PUBLISH dup retain q1 id1 sid=7 t one");
}

STORY(store_knows_whose_will_it_publishes, OURS)
{
	struct client *client;

	store_start("");
	client = join("a v5 clean expiry=1000 will=t message=bye wq=1");
	subscribe(client, "t:1,nl u:1");
	store_kill();
	store_start("");
	client = join("a v5 expiry=1000");
	expect_silence(client, 200);
}

/* The CONNACK waits until the will is committed, and nothing comes before the CONNACK. */
STORY(store_welcomes_before_what_waits, OURS)
{
	struct client *publisher, *client;

	store_start("");
	client = join_new("a");
	subscribe(client, "t:1");
	leave(client);
	publisher = join("publisher clean");
	for (unsigned int i = 1; i <= 10; i++) {
		publish(publisher, 1, "t one");
		client = resume("a will=w message=bye");
		expect(client, "PUBLISH q1 id%u t one", i);
		say(client, "PUBACK %u", i);
		leave(client);
	}
}

/* The process ends while the client is there, and again while the delay of its will runs. */
STORY(store_begins_the_delay_of_a_will_once, .timeout = 20, OURS)
{
	struct client *watcher;

	store_start("");
	join("a v5 clean expiry=1000 will=t message=bye wq=1 will-delay=4");
	store_kill();
	store_start("");
	story_sleep(3000);
	store_kill();
	store_start("");
	watcher = join("watcher clean");
	subscribe(watcher, "t:0");
	check(client_next(watcher, 2500) != NULL, "the delay has begun again");
}
