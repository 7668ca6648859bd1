/* SPDX-License-Identifier: MIT */
/* Wills of MQTT 5: which DISCONNECT publishes them, their delay, and what cancels it. */
#include "client.h"

#include <string.h>

#include "server.h"
#include "store_file.h"

#define OURS .mosquitto = "is started without its persistence"

static void say_and_go(struct client *client, const char *words)
{
	say(client, "%s", words);
	expect_closed(client);
}

/* The will comes, and not before that time. */
static void expect_will(struct client *heir, const char *words, long long begin, long long after)
{
	const long long end = story_clock() + story_limit(10000);
	const char *got;

	do
		got = client_next(heir, 100);
	while (got == NULL && story_clock() < end);
	check(got != NULL && strcmp(got, words) == 0, "got %s", got);
	check(story_clock() - begin >= after, "after %lld ms", story_clock() - begin);
}

STORY(will_5_is_published_by_reason)
{
	struct client *heir = join("heir clean");

	subscribe(heir, "w:0");
	say_and_go(join("a v5 clean will=w message=0"), "DISCONNECT");
	say_and_go(join("a v5 clean will=w message=1"), "DISCONNECT 0");
	say_and_go(join("a v5 clean will=w message=4"), "DISCONNECT 4");
	expect(heir, "PUBLISH q0 w 4");
	say_and_go(join("a v5 will=w message=kept"), "DISCONNECT 4");
	expect(heir, "PUBLISH q0 w kept");
}

/* [MQTT-3.14.4-3]: reason 0 alone drops it. */
STORY(will_5_is_published_after_an_error_of_the_client, .mosquitto = "looks for reason 4 alone")
{
	struct client *heir = join("heir clean");

	subscribe(heir, "w:0");
	say_and_go(join("a v5 clean will=w message=bye"), "DISCONNECT 0x80");
	expect(heir, "PUBLISH q0 w bye");
}

STORY(will_5_waits_for_its_delay, .timeout = 30)
{
	struct client *heir = join("heir clean"), *client;
	long long begin;

	subscribe(heir, "w:0");
	client = join("a v5 will=w message=bye will-delay=2 expiry=100");
	begin = story_clock();
	client_vanish(client);
	expect_will(heir, "PUBLISH q0 w bye", begin, 1900);
	resume("a v5");
	expect_silence(heir, 200);
}

STORY(will_5_does_not_wait_longer_than_its_session, .timeout = 30,
      .mosquitto = "lets the delay of an ended session run")
{
	struct client *heir = join("heir clean"), *client;
	long long begin;

	subscribe(heir, "w:0");
	/* A session that ends with its connection. */
	client_vanish(join("a v5 will=w message=one will-delay=100"));
	expect(heir, "PUBLISH q0 w one");
	say_and_go(join("a v5 will=w message=two will-delay=100 expiry=100"),
	           "DISCONNECT 4 expiry=0");
	expect(heir, "PUBLISH q0 w two");
	/* A session that ends before the delay. */
	client = join("a v5 will=w message=three will-delay=100 expiry=1");
	begin = story_clock();
	client_vanish(client);
	expect_will(heir, "PUBLISH q0 w three", begin, 900);
	/* A session that another client ends. */
	client_vanish(join("a v5 will=w message=four will-delay=100 expiry=100"));
	story_sleep(story_scaled(200));
	expect_silence(heir, 100);
	join_new("a v5 clean");
	expect(heir, "PUBLISH q0 w four");
}

STORY(will_5_is_cancelled_by_who_comes_back, .timeout = 30)
{
	struct client *heir = join("heir clean");

	subscribe(heir, "w:0");
	client_vanish(join("a v5 will=w message=bye will-delay=2 expiry=100"));
	story_sleep(story_scaled(300));
	resume("a v5 expiry=100");
	expect_silence(heir, 5000);
}

STORY(will_5_at_a_take_over, .mosquitto = "drops the will of a kept session")
{
	struct client *heir = join("heir clean");

	subscribe(heir, "w:0");
	/* Without a delay the will is published in any case. */
	join("a v5 will=w message=one expiry=100");
	resume("a v5 expiry=100 will=w message=two will-delay=1");
	expect(heir, "PUBLISH q0 w one");
	/* With one it is not, if the session goes on. */
	resume("a v5 expiry=100 will=w message=three will-delay=100");
	expect_silence(heir, 3000);
	/* It is, if that ends. */
	join_new("a v5 clean");
	expect(heir, "PUBLISH q0 w three");
}

/* The time of a will's message begins when the will is published. */
STORY(will_5_expires_after_its_publication, .timeout = 30)
{
	struct client *heir = join("heir clean"),
		      *client = join("a v5 clean will=w message=bye will-expiry=2");

	subscribe(heir, "w:0");
	story_sleep(3500);
	client_vanish(client);
	expect(heir, "PUBLISH q0 w bye");
}

STORY(will_5_delay_goes_on_after_a_crash, .timeout = 40, OURS)
{
	struct client *heir;
	long long begin;

	store_start("");
	client_vanish(join("gone v5 will=w message=gone will-delay=2 expiry=100"));
	client_vanish(join("back v5 will=w message=no will-delay=3 expiry=100"));
	join("there v5 will=w message=there will-delay=2 expiry=100");
	join("over v5 will=w message=over will-delay=100");
	story_sleep(story_scaled(300));
	join_new("x"); /* a commit */
	store_kill();
	begin = story_clock();
	store_start("");
	heir = join("heir clean");
	subscribe(heir, "w:0");
	resume("back v5 expiry=100");
	for (int i = 0; i < 2; i++) {
		const char *got = client_next(heir, story_limit(10000));

		check(got != NULL && (strcmp(got, "PUBLISH q0 w gone") == 0 ||
		                      strcmp(got, "PUBLISH q0 w there") == 0),
		      "got %s", got);
	}
	check(story_clock() - begin >= 1500, "after %lld ms", story_clock() - begin);
	expect_silence(heir, 3000);
	join_new("y");
	store_kill();
	store_check(0, "0 wills");
}

STORY(will_5_has_properties)
{
	struct client *heir = join("heir v5 clean"), *client;

	subscribe(heir, "w:1");
	client =
		join("a v5 clean will=w message=bye wq=1 will-delay=0 will-expiry=100 will-format=1"
	             " will-type=text will-response=r will-correlation=c will-user:a=b");
	client_vanish(client);
	expect(heir, "PUBLISH q1 id1 expiry=100 format=1 type=text response=r correlation=c"
	             " user:a=b w bye");
}

STORY(will_5_has_properties_after_a_crash, OURS)
{
	struct client *heir;

	store_start("");
	heir = join("heir v5 expiry=100");
	subscribe(heir, "w:1");
	join("a v5 clean will=w message=bye wq=1 will-expiry=1000 will-type=text will-user:a=b");
	store_kill();
	store_start("");
	heir = resume("heir v5 expiry=100");
	expect(heir, "PUBLISH q1 id1 expiry=1000 type=text user:a=b w bye");
}
