/* SPDX-License-Identifier: MIT */
/* --store: what is there again after kill -9. */
#include "client.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "server.h"
#include "store_file.h"

/*
 * All that the client has said is committed: its session has handled it before the first UNSUBACK,
 * and the second one comes after a commit of all that.
 */
static void settle(struct client *client)
{
	for (int i = 1; i <= 2; i++) {
		char answer[16];
		const char *next;

		snprintf(answer, sizeof(answer), "UNSUBACK %d", 60000 + i);
		say(client, "UNSUBSCRIBE %d nothing", 60000 + i);
		do
			next = client_next(client, story_limit(CLIENT_PATIENCE_MS));
		while (next != NULL && strcmp(next, answer) != 0);
		check(next != NULL, "no %s", answer);
	}
}

#define OURS .mosquitto = "is started without its persistence"

STORY(store_keeps_a_session_and_what_waits_for_it, OURS)
{
	struct client *publisher, *client;

	store_start("");
	client = join_new("a");
	subscribe(client, "t:1 u/+:2 v:0");
	leave(client);
	publisher = join("publisher clean");
	publish(publisher, 1, "t one");
	publish(publisher, 2, "u/x two");
	publish(publisher, 1, "u/y three");
	publish(publisher, 1, "v lost");
	store_kill();
	store_start("");
	client = resume("a");
	expect_received(client, "t one");
	expect_received(client, "u/x two");
	expect_received(client, "u/y three");
	publisher = join("publisher clean");
	publish(publisher, 1, "v four");
	expect_received(client, "v four");
	expect_silence(client, 200);
}

/* Acknowledged messages are not there again, once a later commit has taken this along. */
STORY(store_forgets_what_was_acknowledged, OURS)
{
	struct client *publisher, *client;

	store_start("");
	publisher = join("publisher");
	client = join_new("a");
	subscribe(client, "t:2");
	publish(publisher, 1, "t one");
	publish(publisher, 2, "t two");
	expect_received(client, "t one");
	expect_received(client, "t two");
	settle(client);
	store_kill();
	store_start("");
	client = resume("a");
	expect_silence(client, 300);
	subscribe(client, "w:1");
}

STORY(store_says_again_with_the_same_packet_ids, OURS)
{
	struct client *publisher, *client;

	store_start("");
	publisher = join("publisher");
	client = join_new("a");
	subscribe(client, "t:2");
	publish(publisher, 1, "t one");
	publish(publisher, 2, "t two");
	publish(publisher, 2, "t three");
	expect(client, "PUBLISH q1 id1 t one");
	expect(client, "PUBLISH q2 id2 t two");
	expect(client, "PUBLISH q2 id3 t three");
	say(client, "PUBREC 2");
	expect(client, "PUBREL 2");
	store_kill();
	store_start("");
	client = resume("a");
	expect(client, "PUBREL 2");
	expect(client, "PUBLISH dup q1 id1 t one");
	expect(client, "PUBLISH dup q2 id3 t three");
	say(client, "PUBCOMP 2");
	say(client, "PUBACK 1");
	say(client, "PUBREC 3");
	expect(client, "PUBREL 3");
	say(client, "PUBCOMP 3");
	publisher = join("publisher");
	publish(publisher, 1, "t four");
	expect(client, "PUBLISH q1 id4 t four");
}

/* A publisher repeats a PUBLISH whose PUBREC it has not seen, and then uses the id again. */
STORY(store_knows_a_repetition_at_qos_2, OURS)
{
	struct client *publisher, *client;

	store_start("");
	client = join("a");
	subscribe(client, "t:1");
	publisher = join("publisher");
	say(publisher, "PUBLISH q2 id5 t one");
	expect(publisher, "PUBREC 5");
	store_kill();
	store_start("");
	publisher = resume("publisher");
	say(publisher, "PUBLISH dup q2 id5 t one");
	expect(publisher, "PUBREC 5");
	say(publisher, "PUBREL 5");
	expect(publisher, "PUBCOMP 5");
	store_kill();
	store_start("");
	publisher = resume("publisher");
	say(publisher, "PUBREL 5");
	expect(publisher, "PUBCOMP 5");
	say(publisher, "PUBLISH q2 id5 t two");
	expect(publisher, "PUBREC 5");
	client = resume("a");
	expect(client, "PUBLISH dup q1 id1 t one");
	expect(client, "PUBLISH q1 id2 t two");
	expect_silence(client, 200);
}

STORY(store_keeps_retained_messages, OURS)
{
	struct client *publisher, *client;

	store_start("");
	publisher = join("publisher clean");
	publish(publisher, 1, "kept/x old");
	say(publisher, "PUBLISH retain q1 id9 kept/x old");
	expect(publisher, "PUBACK 9");
	say(publisher, "PUBLISH retain q0 kept/x new");
	say(publisher, "PUBLISH retain q0 kept/y gone");
	say(publisher, "PUBLISH retain q0 kept/y");
	say(publisher, "PUBLISH retain q2 id10 kept/z two");
	expect(publisher, "PUBREC 10");
	store_kill();
	store_start("");
	client = join("a clean");
	subscribe(client, "kept/x:0");
	expect(client, "PUBLISH retain q0 kept/x new");
	subscribe(client, "kept/y:0 kept/z:2");
	expect(client, "PUBLISH retain q2 id1 kept/z two");
	expect_silence(client, 200);
	/* And a second time: what was read is what is written. */
	publisher = join("publisher clean");
	say(publisher, "PUBLISH retain q1 id9 kept/x newest");
	expect(publisher, "PUBACK 9");
	store_kill();
	store_start("");
	client = join("a clean");
	subscribe(client, "kept/+:0");
	check(strstr(client_receive(client), "kept/") != NULL, "no retained message");
	check(strstr(client_receive(client), "kept/") != NULL, "no retained message");
	expect_silence(client, 200);
}

/* A retained message for a session that is away before it has taken it. */
STORY(store_keeps_a_retained_message_on_its_way, OURS)
{
	struct client *publisher, *client;

	store_start("");
	publisher = join("publisher clean");
	say(publisher, "PUBLISH retain q1 id9 t kept");
	expect(publisher, "PUBACK 9");
	client = join_new("a");
	subscribe(client, "t:1");
	expect(client, "PUBLISH retain q1 id1 t kept");
	publish(publisher, 1, "t live"); /* a commit behind it */
	store_kill();
	store_start("");
	client = resume("a");
	expect(client, "PUBLISH dup retain q1 id1 t kept");
	expect(client, "PUBLISH dup q1 id2 t live");
}

STORY(store_forgets_sessions_and_subscriptions_that_have_ended, OURS)
{
	struct client *publisher, *client;

	store_start("");
	client = join_new("a");
	subscribe(client, "t:1 u:1 #:0");
	unsubscribe(client, "t #");
	publisher = join_new("b");
	subscribe(publisher, "t:1");
	leave(publisher);
	publisher = join("publisher clean");
	publish(publisher, 1, "t for b");
	client_vanish(join("b clean"));
	store_kill();
	store_start("");
	client_vanish(join_new("b"));
	publisher = join("publisher clean");
	publish(publisher, 1, "t lost");
	publish(publisher, 1, "u got");
	client = resume("a");
	expect_received(client, "u got");
	expect_silence(client, 200);
}

STORY(store_survives_sigterm, OURS)
{
	struct client *publisher, *client;
	int status;

	store_start("");
	client = join_new("a");
	subscribe(client, "t:2");
	publisher = join("publisher");
	publish(publisher, 2, "t one");
	expect(client, "PUBLISH q2 id1 t one");
	status = server_stop();
	check(WIFEXITED(status) && WEXITSTATUS(status) == 0, "wait status %d", status);
	store_start("");
	client = resume("a");
	expect(client, "PUBLISH dup q2 id1 t one");
	say(client, "PUBREC 1");
	expect(client, "PUBREL 1");
}

/* The queue of a client that is away, larger than its window; each message once and in order. */
STORY(store_keeps_a_long_queue_in_order, .timeout = 60, OURS)
{
	enum { COUNT = 500 };
	struct client *publisher, *client;
	char words[16];

	store_start("--max-inflight 20");
	client = join_new("a");
	subscribe(client, "+:2");
	publisher = join("publisher");
	for (int i = 0; i < COUNT; i++) {
		say(publisher, "PUBLISH q1 id%d t %d", i + 1, i);
		if (i % 100 == 99)
			for (int k = 0; k < 100; k++)
				(void)client_next(publisher, story_limit(CLIENT_PATIENCE_MS));
	}
	for (int i = 0; i < COUNT / 2; i++) {
		snprintf(words, sizeof(words), "t %d", i);
		expect_received(client, words);
	}
	settle(client);
	store_kill();
	store_start("--max-inflight 20");
	client = resume("a");
	for (int i = COUNT / 2; i < COUNT; i++) {
		snprintf(words, sizeof(words), "t %d", i);
		expect_received(client, words);
	}
	expect_silence(client, 200);
}

STORY(store_in_batches_is_there_after_batch_ms, OURS)
{
	static const char *const words[] = {"batch", "none"};
	struct client *publisher, *client;
	char options[64];

	for (int i = 0; i < 2; i++) {
		store_remove();
		snprintf(options, sizeof(options), "--durability %s --batch-ms 200", words[i]);
		store_start(options);
		client = join_new("a");
		subscribe(client, "t:2");
		publisher = join("publisher");
		publish(publisher, 2, "t one");
		expect(client, "PUBLISH q2 id1 t one");
		story_sleep(story_scaled(2000));
		store_kill();
		store_start("");
		client = resume("a");
		expect(client, "PUBLISH dup q2 id1 t one");
		store_kill();
	}
}

/* Messages that are gone leave no file behind that is as large as they were. */
STORY(store_gives_room_back, .timeout = 60, OURS)
{
	enum { COUNT = 1600, PAYLOAD = 4000, AHEAD = 100, COMMITS = 700 };
	struct client *publisher, *client;
	char payload[PAYLOAD + 1] = "";
	struct stat found;

	store_start("--max-inflight 2000");
	client = join_new("a");
	subscribe(client, "t:1");
	leave(client);
	publisher = join("publisher clean");
	memset(payload, 'x', PAYLOAD);
	for (int i = 1; i <= COUNT; i++) {
		say(publisher, "PUBLISH q1 id%d t %s", i, payload);
		for (int k = i - AHEAD + 1; i % AHEAD == 0 && k <= i; k++)
			expect(publisher, "PUBACK %d", k);
	}
	client = resume("a");
	for (int i = 0; i < COUNT; i++)
		(void)receive(client);
	settle(client);
	check(stat(store_path(), &found) == 0 && found.st_size > COUNT * PAYLOAD / 2, "%lld bytes",
	      (long long)found.st_size);
	for (int i = 1; i <= COMMITS; i++)
		publish(publisher, 1, "t %d", i);
	check(server_stop() == 0, "no end");
	check(stat(store_path(), &found) == 0 && found.st_size < COUNT * PAYLOAD / 4,
	      "%lld bytes are left", (long long)found.st_size);
}

/* In that version sessions had no user name. */
STORY(store_of_the_first_version, OURS)
{
	static const char tables[] =
		"CREATE TABLE sessions (id INTEGER PRIMARY KEY, client BLOB NOT NULL);"
		"CREATE TABLE subscriptions (session INTEGER, filter BLOB, qos INTEGER NOT NULL,"
		" PRIMARY KEY (session, filter)) WITHOUT ROWID;"
		"CREATE TABLE messages (id INTEGER PRIMARY KEY, qos INTEGER NOT NULL,"
		" topic BLOB NOT NULL, payload BLOB NOT NULL);"
		"CREATE TABLE queue (session INTEGER, row INTEGER, message INTEGER NOT NULL,"
		" qos INTEGER NOT NULL, retain INTEGER NOT NULL, state INTEGER NOT NULL,"
		" packet_id INTEGER NOT NULL, PRIMARY KEY (session, row)) WITHOUT ROWID;"
		"CREATE TABLE received (session INTEGER, packet_id INTEGER,"
		" PRIMARY KEY (session, packet_id)) WITHOUT ROWID;"
		"CREATE TABLE retained (message INTEGER PRIMARY KEY);"
		"PRAGMA user_version = 1; PRAGMA application_id = 0x6261746f;";
	char command[2048];
	struct client *client;

	if (system("command -v sqlite3 >/dev/null") != 0)
		story_skip("no sqlite3");
	snprintf(command, sizeof(command),
	         "sqlite3 %s \"%s"
	         "INSERT INTO sessions VALUES (1, CAST('%s/c' AS BLOB));"
	         "INSERT INTO subscriptions VALUES (1, CAST('%s/t' AS BLOB), 1);"
	         "INSERT INTO messages VALUES (2, 1, CAST('%s/t' AS BLOB), CAST('old' AS BLOB));"
	         "INSERT INTO queue VALUES (1, 3, 2, 1, 0, 0, 0);\"",
	         store_path(), tables, story_name(), story_name(), story_name());
	check(system(command) == 0, "%s", command);
	for (int i = 0; i < 2; i++) {
		store_start("");
		client = resume("c");
		expect(client, "PUBLISH dup q1 id1 t old");
		store_kill();
	}
	store_start("");
	client = resume("c user=ann"); /* without an access file a name is nothing */
	expect(client, "PUBLISH dup q1 id1 t old");
	say(client, "PUBACK 1");
	publish(join("publisher clean"), 1, "t new");
	expect_received(client, "t new");
}

/* In it is what only some clients may read. */
STORY(store_is_its_owners_alone, OURS)
{
	char wal[512];
	struct stat file, log;

	store_start("");
	publish(join("publisher clean"), 1, "t one");
	snprintf(wal, sizeof(wal), "%s-wal", store_path());
	check(stat(store_path(), &file) == 0 && stat(wal, &log) == 0, "no files");
	check((file.st_mode & 077) == 0, "mode %o", (unsigned int)file.st_mode);
	check((log.st_mode & 077) == 0, "mode %o of the WAL", (unsigned int)log.st_mode);
}

STORY(store_refuses_what_it_may_not_write, OURS)
{
	store_start("");
	check(server_stop() == 0, "no end");
	check(chmod(store_path(), 0444) == 0, "no chmod");
	if (geteuid() == 0) /* may write all */
		check(setuid(65534) == 0, "cannot be another user");
	if (access(store_path(), R_OK) != 0 || access(server_path(), X_OK) != 0)
		story_skip("the tree is not another user's to read");
	store_start_refused("reason=\"this process may not write it\"");
}
