/* SPDX-License-Identifier: MIT */
/* The access file: what is passed on, what is sent, what changes when the file is read again. */
#include "client.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "server.h"
#include "store_file.h"

/* A user's lines have the story's topics: `@/` is the name in front of them. */
static const char *rules_text(const char *rules)
{
	static char text[2048];
	size_t size = 0;

	for (; *rules != '\0'; rules++)
		if (*rules == '@')
			size += (size_t)snprintf(text + size, sizeof(text) - size, "%s",
			                         story_name());
		else
			text[size++] = *rules;
	text[size] = '\0';
	return text;
}

static char rules_path[64];

static void start_with_rules(const char *rules, const char *more)
{
	char options[256];

	snprintf(rules_path, sizeof(rules_path), "%s", file_write(rules_text(rules)));
	/* mosquitto without such a limit disconnects clients whose messages it refuses. */
	snprintf(options, sizeof(options), "--access-file %s --max-queued 1000 %s", rules_path,
	         more);
	start_server(options);
}

static void change_rules(const char *rules)
{
	FILE *file = fopen(rules_path, "w");

	check(file != NULL && fputs(rules_text(rules), file) >= 0 && fclose(file) == 0,
	      "cannot write");
	kill(server_pid(), SIGHUP);
}

/* A client with that user name, and an id without the story's name in front. */
static struct client *join_as(const char *user)
{
	char words[64];

	snprintf(words, sizeof(words), "%s clean user=%s", user, user);
	return client_join(words);
}

#define WATCHED "topic read @/#\nuser ann\ntopic write @/a\ntopic readwrite @/own/#\n"

/* The standard's only answer to a message that is not passed on is its acknowledgement. */
STORY(access_to_write)
{
	struct client *watcher, *ann, *bob;

	start_with_rules(WATCHED, "");
	watcher = join("watcher clean");
	subscribe(watcher, "#:2");
	ann = join_as("ann");
	bob = join_as("bob");
	for (int i = 0; i < 3; i++) { /* the topic is new, or known */
		publish(ann, 0, "b no");
		publish(ann, 1, "b no");
		publish(ann, 2, "b no");
		publish(bob, 1, "a no");
		publish(watcher, 1, "a no");
		publish(ann, 0, "a zero");
		expect_received(watcher, "a zero");
		publish(ann, 1, "a one");
		expect_received(watcher, "a one");
		publish(ann, 2, "own/x two");
		expect_received(watcher, "own/x two");
	}
	expect_silence(watcher, 200);
	if (!server_is_mosquitto())
		await_said("/b reason=\"the access file does not allow it\"");
}

/* Acknowledgements stay in the order of the messages, whatever becomes of these. */
STORY(access_to_write_and_the_order_of_acknowledgements)
{
	struct client *ann;

	start_with_rules(WATCHED, "");
	ann = join_as("ann");
	say(ann, "PUBLISH q1 id1 a x");
	say(ann, "PUBLISH q1 id2 b x");
	say(ann, "PUBLISH q2 id3 b x");
	say(ann, "PUBLISH q1 id4 a x");
	expect(ann, "PUBACK 1");
	expect(ann, "PUBACK 2");
	expect(ann, "PUBREC 3");
	expect(ann, "PUBACK 4");
	say(ann, "PUBREL 3");
	expect(ann, "PUBCOMP 3");
}

/* A client of MQTT 5 is told, and the exchange has ended. */
STORY(access_to_write_in_mqtt_5)
{
	struct client *ann, *watcher;

	start_with_rules(WATCHED, "");
	watcher = join("watcher clean");
	subscribe(watcher, "#:0");
	ann = open_client("ann");
	say(ann, "CONNECT ann clean user=ann level=5");
	check(strncmp(client_next(ann, story_limit(CLIENT_PATIENCE_MS)), "CONNACK 0 0", 11) == 0,
	      "not welcome");
	for (int i = 0; i < 3; i++) {
		say(ann, "PUBLISH q0 b x");
		say(ann, "PUBLISH q1 id1 b x");
		expect(ann, "PUBACK 1 0x87");
		say(ann, "PUBLISH q2 id2 b x");
		expect(ann, "PUBREC 2 0x87");
		say(ann, "PUBLISH q2 id2 a x");
		expect(ann, "PUBREC 2");
		say(ann, "PUBREL 2");
		expect(ann, "PUBCOMP 2");
		expect_received(watcher, "a x");
	}
}

STORY(access_to_read)
{
	struct client *ann, *bob, *other;

	start_with_rules("topic write @/#\nuser ann\ntopic read @/a\ntopic readwrite @/own\n"
	                 "user bob\ntopic read @/#\ntopic deny @/a\n",
	                 "");
	other = join("other clean");
	ann = join_as("ann");
	bob = join_as("bob");
	subscribe(ann, "#:2 a:0 b:1");
	subscribe(bob, "#:1");
	subscribe(other, "#:1");
	for (int i = 0; i < 3; i++) {
		publish(other, 2, "a to ann");
		publish(other, 2, "b to bob");
		publish(other, 1, "own both");
		expect_received(ann, "a to ann");
		expect_received(ann, "own both");
		expect_received(bob, "b to bob");
		expect_received(bob, "own both");
	}
	expect_silence(ann, 200);
	expect_silence(bob, 1);
	expect_silence(other, 1);
}

STORY(access_to_retained_messages)
{
	struct client *ann;

	start_with_rules("topic write @/#\nuser ann\ntopic read @/a\n", "");
	publish(join("other clean"), 1, "a yes");
	client_say(ann = join("another clean"), "PUBLISH retain q1 id7 b no");
	expect(ann, "PUBACK 7");
	say(ann, "PUBLISH retain q1 id8 a yes");
	expect(ann, "PUBACK 8");
	ann = join_as("ann");
	subscribe(ann, "#:1 b:1");
	expect_received(ann, "a yes");
	expect_silence(ann, 200);
}

STORY(access_of_wills)
{
	struct client *watcher;

	start_with_rules(WATCHED, "");
	watcher = join("watcher clean");
	subscribe(watcher, "#:1");
	client_kill(join("x clean user=ann will=b message=no wq=1"));
	client_kill(join("y clean user=ann will=a message=yes wq=1"));
	expect_received(watcher, "a yes");
	expect_silence(watcher, 200);
}

/* Ids and names are part of a level, whatever is in them. */
STORY(access_by_patterns, .mosquitto = "puts an id with a / into a pattern")
{
	static const char *const hostile[] = {"+", "#", "x/y", "+/+"};
	struct client *watcher, *client;

	start_with_rules("topic read @/#\n"
	                 "pattern write @/of/%u/<%c>/#\n"
	                 "user watcher\ntopic read @/#\n",
	                 "");
	watcher = join_as("watcher");
	subscribe(watcher, "#:1");
	client = join("^c1 clean user=ann");
	publish(client, 1, "of/ann/<c1>/x yes");
	expect_received(watcher, "of/ann/<c1>/x yes");
	publish(client, 1, "of/ann/<c2>/x no");
	publish(client, 1, "of/bob/<c1>/x no");
	publish(client, 1, "of/ann/c1/x no");
	publish(join("^c2 clean"), 1, "of//<c2>/x no");
	for (size_t i = 0; i < sizeof(hostile) / sizeof(hostile[0]); i++) {
		char words[64];

		snprintf(words, sizeof(words), "^c%zu clean user=%s", 10 + i, hostile[i]);
		client = client_join(words);
		publish(client, 1, "of/ann/<c1>/x no");
		publish(client, 1, "of/%s/<c1>/x no", strcmp(hostile[i], "x/y") == 0 ? "x/y" : "x");
		snprintf(words, sizeof(words), "^%s clean user=ann", hostile[i]);
		client = client_join(words);
		publish(client, 1, "of/ann/<c1>/x no");
		publish(client, 1, "of/ann/<x/y>/x no");
	}
	expect_silence(watcher, 200);
}

/* ---- The file is read again ---- */

/* Publishes to the topic until the watcher gets it, or gets it no more: within the time. */
static void await_passed(struct client *publisher, struct client *watcher, const char *topic,
                         bool passed)
{
	const long long deadline = story_clock() + story_limit(CLIENT_PATIENCE_MS);
	char words[64];
	bool came = !passed;

	for (int i = 0; came != passed; i++) {
		const char *next;

		check(story_clock() < deadline, "%s is%s passed on", topic, passed ? " not" : "");
		client_publish(publisher, 1, "%s try", topic);
		client_publish(watcher, 0, "mark %d", i);
		snprintf(words, sizeof(words), "PUBLISH q0 mark %d", i);
		came = false;
		while ((next = client_next(watcher, story_limit(CLIENT_PATIENCE_MS))) != NULL &&
		       strcmp(next, words) != 0)
			came = true;
		check(next != NULL, "no mark");
	}
}

#define WATCHER "user watcher\ntopic readwrite @/#\n"

/* What a connection and a topic have found before is outdated. */
STORY(access_to_write_changes_at_sighup, .timeout = 60)
{
	struct client *watcher, *ann;

	start_with_rules(WATCHER "user ann\ntopic write @/a\n", "");
	watcher = join_as("watcher");
	subscribe(watcher, "#:0");
	ann = join_as("ann");
	for (int i = 0; i < 5; i++) {
		await_passed(ann, watcher, "a", true);
		await_passed(ann, watcher, "b", false);
		change_rules(WATCHER "user ann\ntopic write @/b\n");
		await_passed(ann, watcher, "a", false);
		await_passed(ann, watcher, "b", true);
		change_rules(WATCHER "user ann\ntopic write @/a\n");
		await_passed(ann, watcher, "a", true);
		await_passed(ann, watcher, "b", false);
	}
}

STORY(access_to_read_changes_at_sighup, .timeout = 60)
{
	struct client *watcher, *ann;

	start_with_rules(WATCHER "user ann\ntopic read @/a\ntopic readwrite @/mark\n", "");
	watcher = join_as("watcher");
	ann = join_as("ann");
	subscribe(ann, "a:0 b:0 mark:0");
	for (int i = 0; i < 5; i++) {
		await_passed(watcher, ann, "a", true);
		await_passed(watcher, ann, "b", false);
		change_rules(WATCHER "user ann\ntopic read @/b\ntopic readwrite @/mark\n");
		await_passed(watcher, ann, "a", false);
		await_passed(watcher, ann, "b", true);
		change_rules(WATCHER "user ann\ntopic read @/a\ntopic readwrite @/mark\n");
		await_passed(watcher, ann, "a", true);
		await_passed(watcher, ann, "b", false);
	}
}

STORY(access_stays_as_it_was_when_the_file_is_wrong, .mosquitto = "ends")
{
	struct client *watcher, *ann;

	start_with_rules(WATCHER "user ann\ntopic write @/a\n", "");
	watcher = join_as("watcher");
	subscribe(watcher, "#:0");
	ann = join_as("ann");
	await_passed(ann, watcher, "a", true);
	change_rules(WATCHER "user ann\ntopic write @/b\ntopic write\n");
	await_said("line=5 expected=\"a topic filter");
	await_said("stays as it was");
	await_passed(ann, watcher, "a", true);
	await_passed(ann, watcher, "b", false);
	/* And what comes later is read. */
	change_rules(WATCHER "user ann\ntopic write @/b\n");
	await_passed(ann, watcher, "b", true);
	await_passed(ann, watcher, "a", false);
}

/* Nothing of it starts, and all that is wrong is told. */
STORY(access_files_that_are_wrong_are_told, .mosquitto = "has other words")
{
	char command[256], said[4096];
	FILE *output;
	size_t size;
	int status;

	snprintf(command, sizeof(command), "exec 2>&1; timeout %lld %s --port 0 --access-file %s",
	         story_scaled(5), server_path(),
	         file_write("topics a\nuser ann\ntopic a#\n\nuser\ntopic reed a b\n"));
	output = popen(command, "r");
	check(output != NULL, "cannot run the broker");
	size = fread(said, 1, sizeof(said) - 1, output);
	said[size] = '\0';
	status = pclose(output);
	check(WIFEXITED(status) && WEXITSTATUS(status) == 1, "wait status %d: %s", status, said);
	check(strstr(said, "line=1 expected=\"user, topic, pattern") != NULL, "%s", said);
	check(strstr(said, "line=3 expected=\"a topic filter") != NULL, "%s", said);
	check(strstr(said, "line=5 expected=\"a user name") != NULL, "%s", said);
	check(strstr(said, "line=6 expected=\"read, write") != NULL, "%s", said);
	check(strstr(said, "line=2 ") == NULL && strstr(said, "listening") == NULL, "%s", said);
}

/* New rules while messages are on their way, and topics are being made for them. */
STORY(access_changes_beside_messages, .timeout = 60)
{
	enum { ROUNDS = 30, TOPICS = 40 };
	struct client *watcher, *ann;

	start_with_rules(WATCHER "user ann\ntopic write @/a/#\n", "");
	watcher = join_as("watcher");
	subscribe(watcher, "a/#:0 b/#:0 mark:0");
	ann = join_as("ann");
	for (int i = 0; i < ROUNDS; i++) {
		change_rules(i % 2 == 0 ? WATCHER "user ann\ntopic write @/b/#\n"
		                        : WATCHER "user ann\ntopic write @/a/#\n");
		for (int k = 0; k < TOPICS; k++) {
			say(ann, "PUBLISH q0 a/%d-%d x", i, k);
			say(ann, "PUBLISH q0 b/%d-%d x", i, k);
			say(ann, "PUBLISH q0 %s/%d x", i % 2 == 0 ? "a" : "b", k);
		}
		ping(ann);
	}
	await_passed(ann, watcher, "a/0", true);
	await_passed(ann, watcher, "b/0", false);
	for (int k = 0; k < TOPICS; k++) {
		publish(ann, 1, "b/%d-%d no", ROUNDS - 1, k);
		publish(ann, 1, "b/%d no", k);
	}
	expect_silence(watcher, 200);
}

/* The topic of a message that was allowed is made while the rules change: the next message to it is
 * not. Passes over all topics hold up those that are made. */
STORY(access_changes_while_a_topic_is_made, .timeout = 60, .mosquitto = "has one thread")
{
	enum { ROUNDS = 8, TOPICS = 20000 };
	struct client *watcher, *ann, *busy;

	start_with_rules(WATCHER "user ann\ntopic write @/a/#\n", "");
	watcher = join_as("watcher");
	for (int i = 0; i < TOPICS; i++)
		say(watcher, "PUBLISH retain q0 r/%d x", i);
	subscribe(watcher, "a/#:0 b:0 mark:0");
	ann = join_as("ann");
	busy = join("busy clean");
	for (int i = 0; i < ROUNDS; i++) {
		await_passed(ann, watcher, "a/known", true);
		for (int k = 0; k < 5; k++)
			say(busy, "SUBSCRIBE %d ^+/+/none%d:0", 1 + k, k);
		story_sleep(1);
		say(ann, "PUBLISH q0 a/new%d x", i);
		story_sleep(1);
		change_rules(WATCHER "user ann\ntopic write @/b\n");
		await_passed(ann, watcher, "a/known", false);
		await_passed(ann, watcher, "b", true);
		publish(ann, 1, "a/new%d no", i);
		publish(watcher, 0, "mark end");
		expect(watcher, "PUBLISH q0 mark end");
		change_rules(WATCHER "user ann\ntopic write @/a/#\n");
	}
}

STORY(access_to_the_brokers_own_topics, .timeout = 20)
{
	struct client *ann;
	long long until;

	start_with_rules("user ann\ntopic read $SYS/broker/uptime\ntopic readwrite @/#\n",
	                 server_is_mosquitto() ? "" : "--stats-interval 1");
	ann = join_as("ann");
	subscribe(ann, "^$SYS/broker/#:0");
	for (int i = 0; i < 2; i++)
		check(strstr(receive(ann), "$SYS/broker/uptime ") != NULL, "another topic");
	change_rules("user ann\ntopic readwrite @/#\ntopic read #\n");
	/* One may be on its way. */
	until = story_clock() + story_scaled(1500);
	while (story_clock() < until)
		(void)client_next(ann, 100);
	expect_silence(ann, story_scaled(2500));
}

/* ---- Sessions that are kept ---- */

/* What was subscribed, and waits, by the rights of one user is not another's. */
STORY(access_of_a_kept_session_is_its_users, .mosquitto = "takes what waits out of the session")
{
	struct client *publisher, *client;

	start_with_rules("topic write @/#\nuser ann\ntopic read @/a\n"
	                 "user bob\ntopic read @/#\n",
	                 "--max-sessions 1");
	publisher = join("publisher clean");
	client = join_new("c user=bob");
	subscribe(client, "#:1");
	leave(client);
	publish(publisher, 1, "b for bob");
	client = resume("c user=bob");
	expect_received(client, "b for bob");
	leave(client);
	publish(publisher, 1, "b for bob");
	publish(publisher, 1, "a for bob");
	client = join_new("c user=ann");
	expect_silence(client, 200);
	subscribe(client, "#:1");
	publish(publisher, 1, "b no");
	publish(publisher, 1, "a for ann");
	expect_received(client, "a for ann");
	client_vanish(client);
	client = join_new("c");
	expect_silence(client, 200);
	leave(client);
	client = resume("c");
	/* Also while the other one is still there. */
	client = join_new("c user=bob");
	subscribe(client, "#:1");
	publish(publisher, 1, "b for bob");
	expect_received(client, "b for bob");
}

STORY(access_of_a_session_in_the_store, .mosquitto = "is started without its persistence")
{
	struct client *publisher, *client;
	char options[128];

	snprintf(options, sizeof(options), "--access-file %s",
	         file_write(rules_text("topic write @/#\nuser ann\ntopic read @/a\n")));
	store_start(options);
	client = join_new("c user=ann");
	subscribe(client, "#:1");
	leave(client);
	store_kill();
	store_start(options);
	publisher = join("publisher clean");
	publish(publisher, 1, "a for ann");
	publish(publisher, 1, "b no");
	store_kill();
	store_start(options);
	client = resume("c user=ann");
	expect_received(client, "a for ann");
	expect_silence(client, 200);
	leave(client);
	store_kill();
	store_start(options);
	client = join_new("c user=bob");
	leave(client);
	store_kill();
	store_start(options);
	client = resume("c user=bob");
}
