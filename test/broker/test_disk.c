/* SPDX-License-Identifier: MIT */
/*
 * A broker with a store that is killed, or whose disk fails, at each call by which it changes the
 * store, and at reads and writes of sockets between them. A ledger judges. E2E_DEEP=1: at each such
 * call, otherwise at some.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client.h"
#include "disk.h"
#include "ledger.h"
#include "server.h"
#include "shared.h"
#include "store_file.h"

#define OURS .mosquitto = "has a store of its own", .timeout = 1200

static unsigned int stride(unsigned int usual)
{
	return getenv("E2E_DEEP") != NULL ? 1 : usual;
}

static bool struck_once; /* the broker has been killed */

static void revive(void)
{
	struck_once = true;
	disk_at(0, DISK_NOTHING);
	store_begin("");
}

/* Runs the ledger once; the n-th call does that. False: there are fewer calls. */
static bool strike(uint64_t call, enum disk_action action, ledger_revive_fn fn)
{
	const bool kills = action == DISK_KILL || action == DISK_KILL_TORN;
	struct ledger *ledger;
	unsigned int deaths;
	bool struck;

	struck_once = false;
	store_begin("");
	disk_at(call, action);
	ledger = ledger_run(fn);
	struck = struck_once || disk_struck();
	disk_at(0, DISK_NOTHING);
	deaths = ledger_judge(ledger);
	store_kill();
	store_remove();
	check((deaths > 0) == (kills && struck), "it has died %u times", deaths);
	return struck;
}

STORY(disk_killed_at_each_call, OURS)
{
	uint64_t call = 1;

	(void)disk_use();
	while (strike(call, call % 2 == 0 ? DISK_KILL : DISK_KILL_TORN, revive))
		call += stride(5);
	check(call > 20, "only %u calls", (unsigned int)call);
}

STORY(disk_killed_at_reads_and_writes_of_sockets, OURS)
{
	uint64_t call = 1;

	disk_use()->sockets = 1;
	while (strike(call, DISK_KILL, revive))
		call += stride(17);
	check(call > 100, "only %u calls", (unsigned int)call);
}

static uint64_t seed;

static void revive_after_power_loss(void)
{
	disk_lose(seed);
	revive();
}

STORY(disk_loses_what_was_not_synced, OURS)
{
	uint64_t call = 1;
	bool more = true;

	(void)disk_use();
	for (; more; call += stride(5))
		for (seed = call; more && seed < call + 2; seed++) {
			disk_watch();
			more = strike(call, DISK_KILL, revive_after_power_loss);
		}
	check(call > 20, "only %u calls", (unsigned int)call);
}

/* Starts a broker that is killed at the n-th call. False: it has come up first. */
static bool die_in_start(uint64_t call, enum disk_action action)
{
	char line[512] = "";
	FILE *out;
	int pid = 0;

	snprintf(line, sizeof(line), "echo $$; exec %s --port 0 --store %s", server_path(),
	         store_path());
	disk_at(call, action);
	out = popen(line, "r");
	check(out != NULL && fgets(line, sizeof(line), out) != NULL, "no shell");
	pid = atoi(line);
	if (fgets(line, sizeof(line), out) == NULL) {
		(void)pclose(out);
		return true;
	}
	kill(pid, SIGKILL);
	(void)pclose(out);
	return false;
}

/* First without a file, then with one that a killed broker has left. */
STORY(disk_killed_in_the_start, OURS)
{
	uint64_t call = 1;
	bool more = true;

	(void)disk_use();
	for (; more; call++) {
		store_remove();
		more = die_in_start(call, DISK_KILL);
		revive();
		client_vanish(join_new("a"));
		store_kill();
		(void)die_in_start(call, DISK_KILL);
		revive();
		client_vanish(resume("a"));
		store_kill();
	}
	check(call > 5, "only %u calls", (unsigned int)call);
}

STORY(disk_fails_once_at_each_call, OURS)
{
	uint64_t call = 1;

	(void)disk_use();
	while (strike(call, call % 2 == 0 ? DISK_EIO : DISK_FULL, revive))
		call += stride(5);
	check(call > 20, "only %u calls", (unsigned int)call);
}

/* Nothing is acknowledged while the disk is full; then all is. */
STORY(disk_is_full_and_then_has_room, OURS)
{
	static const enum disk_action actions[] = {DISK_FULL, DISK_EIO};
	struct client *publisher, *client;

	(void)disk_use();
	for (int i = 0; i < 2; i++) {
		store_start("");
		client = join_new("a");
		subscribe(client, "t:2");
		leave(client);
		publisher = join("publisher");
		publish(publisher, 1, "t one");
		disk_always(actions[i]);
		say(publisher, "PUBLISH q1 id2 t two");
		say(publisher, "PUBLISH q2 id3 t three");
		expect_silence(publisher, 300);
		await_said("nothing is acknowledged meanwhile");
		disk_always(DISK_NOTHING);
		expect(publisher, "PUBACK 2");
		expect(publisher, "PUBREC 3");
		await_said("event=store_goes_on");
		store_kill();
		store_start("");
		client = resume("a");
		expect_received(client, "t one");
		expect_received(client, "t two");
		expect_received(client, "t three");
		store_kill();
		store_remove();
	}
}

/* --durability batch: while commits fail, nothing is acknowledged at once either. */
STORY(disk_is_full_for_batches, OURS)
{
	struct client *publisher, *client;

	(void)disk_use();
	store_start("--durability batch");
	client = join_new("a");
	subscribe(client, "t:1");
	leave(client);
	publisher = join("publisher clean");
	disk_always(DISK_FULL);
	publish(publisher, 1, "t one");
	await_said("nothing is acknowledged meanwhile");
	say(publisher, "PUBLISH q1 id7 t two");
	expect_silence(publisher, 300);
	disk_always(DISK_NOTHING);
	expect(publisher, "PUBACK 7");
	store_kill();
	store_start("");
	client = resume("a");
	expect_received(client, "t one");
	expect_received(client, "t two");
}

/* A publisher that comes back and repeats itself is told no earlier. */
STORY(disk_is_full_and_a_publisher_repeats_itself, OURS)
{
	struct client *publisher, *client;

	(void)disk_use();
	store_start("");
	client = join_new("a");
	subscribe(client, "t:1");
	publisher = join("publisher");
	disk_always(DISK_FULL);
	for (int i = 0; i < 2; i++) {
		say(publisher, "PUBLISH %sq2 id5 t one", i > 0 ? "dup " : "");
		expect_silence(publisher, 100);
		client_vanish(publisher);
		publisher = resume("publisher");
	}
	store_kill();
	disk_always(DISK_NOTHING);
	store_start("");
	publisher = resume("publisher");
	publish(publisher, 2, "t two");
	client = resume("a");
	expect(client, "PUBLISH q1 id1 t two");
}

/*
 * Who publishes is disconnected after a while, or told so by MQTT 5; who wants a session or a will
 * to be kept is refused.
 */
STORY(disk_is_full_for_long, OURS, .five = "MQTT 5 has a PUBACK for it")
{
	struct client *publisher, *client, *five;

	(void)disk_use();
	store_start("");
	client = join("a clean");
	subscribe(client, "t:0");
	publisher = join("publisher");
	five = join("five v5");
	disk_always(DISK_FULL);
	say(publisher, "PUBLISH retain q1 id2 t one");
	expect(client, "PUBLISH q0 t one");
	story_sleep(7000);
	say(publisher, "PUBLISH q1 id3 t two");
	expect_closed(publisher);
	await_said("the store takes nothing");
	say(five, "PUBLISH q1 id3 t two");
	expect(five, "PUBACK 3 0x97");
	say(five, "PUBLISH q2 id3 t two");
	expect(five, "PUBREC 3 0x97");
	ping(five);
	publisher = open_client("new");
	say(publisher, "CONNECT new");
	expect(publisher, "CONNACK 0 3");
	publisher = open_client("will");
	say(publisher, "CONNECT will clean will=w");
	expect(publisher, "CONNACK 0 3");
	five = open_client("six");
	say(five, "CONNECT six v5 clean expiry=1 problem=0");
	expect(five, "CONNACK 0 0x97");
	publisher = join("other clean");
	say(publisher, "PUBLISH q0 t still");
	expect(client, "PUBLISH q0 t still");
	disk_always(DISK_NOTHING);
	await_said("event=store_goes_on");
	publisher = join("publisher");
	publish(publisher, 1, "t two");
	expect(client, "PUBLISH q0 t two");
}

/* The broker can be ended, and what was acknowledged is there. */
STORY(disk_is_full_until_the_end, OURS)
{
	struct client *publisher, *client;
	int status;

	(void)disk_use();
	store_start("--stop-timeout 1");
	client = join_new("a");
	subscribe(client, "t:2");
	leave(client);
	publisher = join("publisher");
	publish(publisher, 1, "t one");
	disk_always(DISK_FULL);
	say(publisher, "PUBLISH q1 id2 t two");
	say(publisher, "PUBLISH q2 id3 t three");
	say(publisher, "SUBSCRIBE 4 t:1");
	say(publisher, "PUBREL 7");
	say(open_client("late"), "CONNECT late");
	expect_silence(publisher, 200);
	status = server_stop();
	check(WIFEXITED(status) && WEXITSTATUS(status) == 0, "wait status %d", status);
	expect_closed(publisher);
	disk_always(DISK_NOTHING);
	store_start("");
	client = resume("a");
	expect_received(client, "t one");
	expect_silence(client, 200);
}

static void sqlite(const char *sql)
{
	char line[512];

	snprintf(line, sizeof(line), "sqlite3 %s \"%s\" >/dev/null", store_path(), sql);
	if (system("command -v sqlite3 >/dev/null") != 0)
		story_skip("no sqlite3");
	check(system(line) == 0, "%s", line);
}

STORY(store_refuses_a_file_of_a_newer_version, OURS)
{
	store_start("");
	check(server_stop() == 0, "no end");
	sqlite("PRAGMA user_version = 1000");
	store_start_refused("a store of a newer version of this broker");
}

STORY(store_refuses_a_file_of_another_program, OURS)
{
	store_path();
	sqlite("CREATE TABLE accounts (id)");
	store_start_refused("not a store of this broker");
}

STORY(store_refuses_a_damaged_file, OURS)
{
	char words[8192];
	FILE *file;

	store_start("");
	check(server_stop() == 0, "no end");
	file = fopen(store_path(), "r+");
	check(file != NULL, "no file");
	memset(words, 'x', sizeof(words));
	check(fwrite(words, 1, sizeof(words), file) == sizeof(words), "no write");
	(void)fclose(file);
	store_start_refused("file is not a database");
	store_check(1, "file is not a database");
}

#define FILE_PAGE 4096
/* In a new file each table begins on a page of its own. */
#define QUEUE_PAGE 5L

/* Exchanges the page of the queues. */
static void swap_queue(char page[FILE_PAGE])
{
	char old[FILE_PAGE];
	FILE *file = fopen(store_path(), "r+");

	check(file != NULL, "no file");
	check(fseek(file, QUEUE_PAGE * FILE_PAGE, SEEK_SET) == 0 &&
	              fread(old, 1, FILE_PAGE, file) == FILE_PAGE &&
	              fseek(file, QUEUE_PAGE * FILE_PAGE, SEEK_SET) == 0 &&
	              fwrite(page, 1, FILE_PAGE, file) == FILE_PAGE && fclose(file) == 0,
	      "no exchange");
	memcpy(page, old, FILE_PAGE);
}

STORY(store_refuses_a_damaged_file_and_leaves_what_is_in_it, OURS)
{
	char page[FILE_PAGE];
	struct client *publisher, *client;

	store_start("");
	client = join_new("a");
	subscribe(client, "t:1");
	leave(client);
	publisher = join("publisher clean");
	publish(publisher, 1, "t one");
	publish(publisher, 1, "t two");
	check(server_stop() == 0, "no end");
	memset(page, 'x', sizeof(page));
	swap_queue(page);
	store_start_refused("malformed");
	swap_queue(page);
	store_start("");
	client = resume("a");
	expect_received(client, "t one");
	expect_received(client, "t two");
}

STORY(store_refuses_what_is_no_file, OURS)
{
	store_path_refused(":memory:", "not a file");
	store_path_refused("/", "unable to open");
	store_path_refused("/none/at/all", "detail=\"No such file or directory\"");
}

STORY(store_says_what_has_come_back, OURS)
{
	struct client *publisher, *client;

	store_start("");
	client = join_new("a");
	subscribe(client, "t:1");
	publisher = join("publisher clean");
	leave(client);
	publish(publisher, 1, "t one");
	store_kill();
	store_start("--log-level info");
	await_said("sessions=1 messages=1 ");
}

STORY(store_refuses_a_file_that_another_broker_has, OURS)
{
	store_start("");
	store_start_refused("database is locked");
	ping(join("a"));
}

STORY(store_checks_its_file, OURS)
{
	char words[4096];
	struct client *publisher, *client;
	FILE *file;

	store_start("");
	client = join_new("a");
	subscribe(client, "t:1 u:1");
	leave(client);
	publisher = join("publisher clean");
	publish(publisher, 1, "t one");
	publish(publisher, 1, "u two");
	store_check(1, "database is locked");
	store_kill();
	store_check(0, "1 sessions\n2 subscriptions\n2 messages\n2 rows of queues\n");
	file = fopen(store_path(), "r+");
	memset(words, 'x', sizeof(words));
	check(file != NULL && fseek(file, 2L * sizeof(words), SEEK_SET) == 0 &&
	              fwrite(words, 1, sizeof(words), file) == sizeof(words) && fclose(file) == 0,
	      "no write");
	store_check(1, "damaged: ");
}

/*
 * A message of QoS 2 of a group waits for a commit; another one, which is not in the store, comes
 * to the same client meanwhile. When that client has gone the group's message goes to another.
 */
STORY(disk_is_full_and_a_member_goes, OURS)
{
	struct client *publisher, *members[2];

	(void)disk_use();
	store_start("");
	members[0] = join("a clean");
	members[1] = join("b clean");
	for (int i = 0; i < 2; i++)
		subscribe(members[i], shared("g", "t:2"));
	subscribe(members[0], "u:2");
	publisher = join("publisher clean");
	disk_always(DISK_FULL);
	say(publisher, "PUBLISH q2 id1 t one");
	await_said("nothing is acknowledged meanwhile");
	say(publisher, "PUBLISH q2 id2 u two");
	story_sleep(300);
	client_vanish(members[0]);
	story_sleep(100);
	disk_always(DISK_NOTHING);
	expect(publisher, "PUBREC 1");
	expect(publisher, "PUBREC 2");
	expect(members[1], "PUBLISH q2 id1 t one");
}
