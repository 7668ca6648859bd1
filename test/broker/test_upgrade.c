/* SPDX-License-Identifier: MIT */
/* --store: a file of an older version of the broker, and nothing of it is lost. */
#include "client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server.h"
#include "store_file.h"

#define OURS .mosquitto = "is started without its persistence"

/*
 * As version 1 has written it. Session 1 has received message 4 (its PUBREL is due), was sent
 * message 5, and message 6 waits for it. Session 2 has begun to publish at QoS 2. Message 7 is
 * retained.
 */
static const char version_1[] =
	"PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL; BEGIN;"
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
	"INSERT INTO sessions VALUES (1, CAST('a' AS BLOB)), (2, CAST('b' AS BLOB));"
	"INSERT INTO subscriptions VALUES (1, CAST('t' AS BLOB), 1),"
	" (1, CAST('u/+' AS BLOB), 2), (2, CAST('t' AS BLOB), 0);"
	"INSERT INTO messages VALUES (5, 2, CAST('u/x' AS BLOB), CAST('sent' AS BLOB)),"
	" (6, 1, CAST('t' AS BLOB), x''),"
	" (7, 1, CAST('kept' AS BLOB), CAST('retained' AS BLOB));"
	"INSERT INTO queue VALUES (1, 10, 4, 2, 0, 2, 21), (1, 11, 5, 2, 1, 1, 22),"
	" (1, 12, 6, 1, 0, 0, 0);"
	"INSERT INTO received VALUES (2, 5);"
	"INSERT INTO retained VALUES (7);"
	"PRAGMA user_version = 1; PRAGMA application_id = 1650553967; COMMIT;";

static void make_version_1(void)
{
	char line[4096];

	snprintf(line, sizeof(line), "sqlite3 %s \"%s\" >/dev/null", store_path(), version_1);
	if (system("command -v sqlite3 >/dev/null") != 0)
		story_skip("no sqlite3");
	check(system(line) == 0, "%s", line);
}

STORY(store_of_version_1_is_there_as_it_was, OURS)
{
	struct client *publisher, *a, *b;

	make_version_1();
	store_start("");
	b = resume("^b");
	say(b, "PUBLISH dup q2 id5 ^t again"); /* it was passed on before */
	expect(b, "PUBREC 5");
	say(b, "PUBREL 5");
	expect(b, "PUBCOMP 5");
	a = resume("^a");
	expect(a, "PUBREL 21");
	expect(a, "PUBLISH dup retain q2 id22 u/x sent");
	expect(a, "PUBLISH dup q1 id23 t");
	say(a, "PUBCOMP 21");
	say(a, "PUBREC 22");
	expect(a, "PUBREL 22");
	say(a, "PUBCOMP 22");
	say(a, "PUBACK 23");
	publisher = join("publisher clean");
	publish(publisher, 2, "^t live");
	expect_received(b, "t live");
	expect_received(a, "t live");
	subscribe(a, "^kept:2");
	expect(a, "PUBLISH retain q1 id25 kept retained");
	publish(publisher, 1, "^t behind"); /* a commit behind it */
	expect(a, "PUBLISH q1 id26 t behind");
	/* What is added to it is there as it was, too. */
	store_kill();
	store_start("");
	a = resume("^a");
	expect(a, "PUBLISH dup retain q1 id25 kept retained");
	expect(a, "PUBLISH dup q1 id26 t behind");
	publish(join("publisher clean"), 2, "^u/y live");
	expect_received(a, "u/y live");
}

STORY(store_of_version_1_can_be_checked, OURS)
{
	make_version_1();
	store_check(0, "version 1 of ");
	store_check(0, "3 rows of queues");
	store_start("");
	check(server_stop() == 0, "no end");
	store_check(0, "3 messages\n3 rows of queues\n1 QoS 2 packet ids received\n"
	               "1 retained messages\n0 wills\n");
}
