/* SPDX-License-Identifier: MIT */
/* Passwords: who is let in, who is not, and whom those delay who try. */
#include "client.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "server.h"

/* "secret", as our broker and as mosquitto has it in a file. */
#define HASHED SERVER_ALICE
#define HASHED_MOSQUITTO                                                                           \
	"alice:$7$101$FAr3bilWgn8ZhH0y$hMHvfyuG81aCQ61H3nCxnrQHIzNcBKU5pKluGO"                     \
	"3uIoA6eI1TnxgyomzGaWZVbEsp/6M/AFUHKH82owIQ+R/1eQ==\n"

static void start_with_passwords(const char *more)
{
	char options[128];

	snprintf(options, sizeof(options), "--password-file %s%s",
	         file_write(server_is_mosquitto() ? HASHED_MOSQUITTO : HASHED), more);
	start_server(options);
}

/* The standard has 4 for a wrong password and 5 for who may not; mosquitto always says 5. */
static void await_refusal(struct client *client)
{
	const char *answer = client_next(client, story_limit(CLIENT_PATIENCE_MS));

	if (answer == NULL ||
	    (strcmp(answer, "CONNACK 0 4") != 0 && strcmp(answer, "CONNACK 0 5") != 0))
		story_fail("got %s", answer != NULL  ? answer
		                     : client->ended ? "disconnected"
		                                     : "nothing");
	client_expect_closed(client, CLIENT_PATIENCE_MS);
}

static void refused(const char *words)
{
	struct client *client = client_open("stranger");

	client_say(client, "CONNECT %s", words);
	await_refusal(client);
}

/* Until the broker has read its passwords again. */
static struct client *join_at_last(const char *words)
{
	for (int i = 0; i < 600; i++) {
		struct client *client = client_open("a");
		const char *answer;

		client_say(client, "CONNECT %s", words);
		answer = client_next(client, story_limit(CLIENT_PATIENCE_MS));
		if (answer != NULL && strcmp(answer, "CONNACK 0 0") == 0)
			return client;
		client_vanish(client);
		story_sleep(100);
	}
	story_fail("%s: is always refused", words);
}

STORY(passwords_are_asked_for)
{
	start_with_passwords("");
	join("a clean user=alice password=secret");
	AT(refused("b clean user=alice password=Secret"));
	AT(refused("c clean user=alice password="));
	AT(refused("d clean user=alice"));
	AT(refused("e clean user=bob password=secret"));
	AT(refused("f clean"));
}

STORY(passwords_and_strangers)
{
	start_with_passwords(" --allow-anonymous");
	join("a clean user=alice password=secret");
	join("b clean");
	AT(refused("c clean user=alice password=wrong"));
}

STORY(passwords_are_read_again_at_sighup)
{
	char empty[sizeof(HASHED_MOSQUITTO)];
	const char *text = server_is_mosquitto() ? HASHED_MOSQUITTO : HASHED;
	const char *path;
	struct client *client;
	char options[128];
	FILE *file;

	memset(empty, '\n', sizeof(empty));
	memcpy(empty, "# nobody", 8);
	empty[strlen(text)] = '\0';
	path = file_write(empty);
	snprintf(options, sizeof(options), "--password-file %s", path);
	start_server(options);
	AT(refused("a clean user=alice password=secret"));
	file = fopen(path, "r+");
	check(file != NULL && fputs(text, file) > 0 && fclose(file) == 0, "cannot write");
	kill(server_pid(), SIGHUP);
	client = AT(join_at_last("a clean user=alice password=secret"));
	/* A file that cannot be read changes nothing. */
	check(truncate(path, 3) == 0, "cannot truncate");
	if (!server_is_mosquitto())
		kill(server_pid(), SIGHUP);
	story_sleep(story_scaled(300));
	ping(client);
	if (!server_is_mosquitto())
		join("b clean user=alice password=secret");
}

/* A line that is there as before keeps its clients; a line that has gone, or has another hash, does
 * not: the password may have changed. */
STORY(passwords_of_a_new_file_close_whom_it_does_not_let_in, .mosquitto = "does not")
{
	static const char alice[] = HASHED, same[] = "bob:" SERVER_ALICE_HASH,
			  other[] = "bob:$6$batonbatom$Pr/VD0QDrFnM/C00dLZZRyQsooB3GH7Bs4NY00o6"
				    "3KvZHlxsiS/xj8D.spBZI3zslAmkaoR/HKhSU9kd48jfK.\n";
	struct client *keeps, *changes, *stranger, *watcher;
	char text[1024], options[128];
	const char *path;
	FILE *file;

	snprintf(text, sizeof(text), "%s%s", alice, same);
	path = file_write(text);
	snprintf(options, sizeof(options), "--password-file %s --allow-anonymous", path);
	start_server(options);
	keeps = join("keeps clean user=alice password=secret");
	watcher = join("watcher clean");
	subscribe(watcher, "will:0");
	changes = join("changes clean user=bob password=secret will=will message=gone");
	stranger = join("stranger clean");
	file = fopen(path, "r+");
	check(file != NULL && fputs(alice, file) > 0 && fputs(other, file) > 0 && fclose(file) == 0,
	      "cannot write");
	kill(server_pid(), SIGHUP);
	expect_closed(changes);
	await_said("reason=\"the password file has no such user and password any more");
	expect(watcher, "PUBLISH q0 will gone");
	ping(keeps);
	ping(stranger);
	/* And whom it has no more: a file that is wrong closes nobody. */
	memset(text, '#', sizeof(alice) - 2);
	text[sizeof(alice) - 2] = '\0';
	file = fopen(path, "r+");
	check(file != NULL && fputs("wrong ", file) > 0 && fclose(file) == 0, "cannot write");
	kill(server_pid(), SIGHUP);
	await_said("stays as it was");
	ping(keeps);
	file = fopen(path, "r+");
	check(file != NULL && fputs(text, file) > 0 && fclose(file) == 0, "cannot write");
	kill(server_pid(), SIGHUP);
	expect_closed(keeps);
	ping(stranger);
}

STORY(passwords_of_mosquitto_passwd)
{
	struct client *client;
	char options[128];

	snprintf(options, sizeof(options), "--password-file %s", file_write(HASHED_MOSQUITTO));
	start_server(options);
	leave(join("a clean user=alice password=secret"));
	client = open_client("b");
	say(client, "CONNECT b clean user=alice password=secreT");
	expect(client, "CONNACK 0 %d", server_is_mosquitto() ? 5 : 4);
	expect_closed(client);
}

/* crypt_checksalt() takes all of these; no password would ever be right. */
STORY(passwords_of_mosquitto_that_are_none, .mosquitto = "takes its older ones")
{
#define SALT "FAr3bilWgn8ZhH0y$"
#define KEY "hMHvfyuG81aCQ61H3nCxnrQHIzNcBKU5pKluGO3uIoA6eI1TnxgyomzGaWZVbEsp/6M/AFUHKH82owIQ+R/1"
	static const struct {
		const char *hash;
		int status;
	} rows[] = {
		{"$6$" SALT KEY "eQ==", 2},          /* mosquitto_passwd before 2.0 */
		{"$7$101$" SALT KEY "==", 2},        /* 61 bytes of a key */
		{"$7$101$FAr3bil?$" KEY "eQ==", 2},  /* no base64 */
		{"$7$10000001$" SALT KEY "eQ==", 2}, /* one iteration too many */
		{"$7$10000000$" SALT KEY "eQ==", 0},
	};
	char arguments[128], line[256];
	const char *said;
	int status;

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		snprintf(line, sizeof(line), "#\nalice:%s\n", rows[i].hash);
		snprintf(arguments, sizeof(arguments), "--check-config --password-file %s",
		         file_write(line));
		said = server_run(3, arguments, &status);
		check(WIFEXITED(status) && WEXITSTATUS(status) == rows[i].status, "says %s", said);
		check(rows[i].status == 0 ||
		              strstr(said, "line=2 reason=\"a hash of an old") != NULL,
		      "says %s", said);
	}
}

/* Who opens a pipe waits for a writer, and who reads it for what comes: the broker would stand
 * still. */
STORY(passwords_are_not_read_again_from_a_pipe)
{
	const char *path;
	struct client *client;
	char options[128];
	int ends[2];

	if (server_is_mosquitto())
		story_skip("mosquitto opens the pipe");
	path = file_write(HASHED);
	snprintf(options, sizeof(options), "--password-file %s", path);
	start_server(options);
	client = join("a clean user=alice password=secret");
	/* The path names a descriptor of this process (file_write). */
	check(pipe(ends) == 0 && dup2(ends[0], atoi(strrchr(path, '/') + 1)) >= 0, "no pipe");
	kill(server_pid(), SIGHUP);
	story_sleep(story_scaled(300));
	ping(client);
	join("b clean user=alice password=secret");
	check(server_stop() == 0, "the broker did not end well");
}

/* Whose password is not looked at any more is not told that it is wrong: it would give up. */
STORY(passwords_are_not_wrong_because_of_the_end, .five = "MQTT 5 tells those who wait")
{
	enum { CLIENTS = 100 };
	struct client *clients[CLIENTS];
	int status;

	start_with_passwords("");
	for (int i = 0; i < CLIENTS; i++) {
		clients[i] = open_client("a");
		say(clients[i], "CONNECT - clean user=alice password=secret");
	}
	story_sleep(50);
	status = server_stop();
	check(WIFEXITED(status) && WEXITSTATUS(status) == 0, "wait status %d", status);
	for (int i = 0; i < CLIENTS; i++) {
		const char *answer = client_next(clients[i], 1000);

		check(answer == NULL || strcmp(answer, "CONNACK 0 0") == 0, "got %s", answer);
	}
}

/* A refused client takes nobody over, and leaves no will. */
STORY(passwords_protect_the_session)
{
	struct client *client;

	start_with_passwords("");
	client = join("a clean user=alice password=secret");
	subscribe(client, "w:0");
	AT(refused("a clean user=alice password=wrong will=w message=bye"));
	AT(refused("a clean"));
	expect_silence(client, 200);
	ping(client);
}

STORY(passwords_of_strangers_matter_nowhere_else)
{
	join("a clean user=anybody password=anything");
	join("b clean user=anybody");
}

/* C ends a password at a NUL, MQTT does not. */
STORY(passwords_do_not_end_at_a_nul, .mosquitto = "takes what precedes it")
{
	struct client *client;
	const char *answer;

	start_with_passwords("");
	client = open_client("a");
	say_hex(client,
	        "10 22 00 04 'MQTT' 04 c2 00 3c 00 01 'a' 00 05 'alice' 00 0c 'secret' 00 'right'");
	answer = client_next(client, story_limit(CLIENT_PATIENCE_MS));
	check(answer != NULL && strncmp(answer, "CONNACK 0 0", 11) != 0, "got %s", answer);
	expect_closed(client);
}

/* Clients need not wait for their CONNACK; this one does not even wait for its end. */
STORY(passwords_hold_back_what_follows, .timeout = 30)
{
	struct client *watch;

	start_with_passwords("");
	watch = join("watch clean user=alice password=secret");
	subscribe(watch, "t:1");
	for (int i = 0; i < 10; i++) {
		struct client *hasty = open_client("hasty");

		say(hasty, "CONNECT h%d clean user=alice password=secret", i);
		say(hasty, "PUBLISH q0 t %d", i);
		say(hasty, "DISCONNECT");
		shutdown(hasty->fd, SHUT_WR);
		expect(watch, "PUBLISH q0 t %d", i);
		expect(hasty, "CONNACK 0 0");
		expect_closed(hasty);
	}
}

static long long log_in(int times)
{
	const long long begin = story_clock();

	for (int i = 0; i < times; i++)
		client_vanish(client_join("good clean user=alice password=secret"));
	return story_clock() - begin;
}

/*
 * Each of those who have gone would cost as much as a good one: a good one must not wait for more
 * than a few of them.
 */
STORY(passwords_of_those_who_have_gone_are_not_checked, .timeout = 60)
{
	enum { GONE = 1500, TURNS = 60 };
	long long undisturbed, took;

	start_with_passwords("");
	undisturbed = log_in(TURNS);
	for (int i = 0; i < GONE; i++) {
		struct client *client = open_client("gone");

		say(client, "CONNECT - clean user=alice password=wrong");
		if (i % 2 == 0)
			client_kill(client);
		else
			client_vanish(client);
	}
	took = log_in(1);
	check(took <= 5 * undisturbed + 1000, "%lld ms for one, %d took %lld before", took, TURNS,
	      undisturbed);
}

/* How many have an answer that they have not read. */
static int answered(struct client *const clients[], int count)
{
	int sum = 0;

	for (int i = 0; i < count; i++) {
		struct pollfd ready = {.fd = clients[i]->fd, .events = POLLIN};

		sum += poll(&ready, 1, 0) > 0;
	}
	return sum;
}

STORY(passwords_are_checked_in_turns_by_address, .timeout = 60,
      .mosquitto = "checks them in the order in which they come")
{
	enum { WRONG = 300 };
	static struct client *wrong[WRONG];
	struct client *good;
	int before, after;

	start_with_passwords(" --connect-timeout 60"); /* the machine may be busy */
	good = client_open_from("good", "127.0.0.2");
	for (int i = 0; i < WRONG; i++)
		wrong[i] = open_client("wrong");
	for (int i = 0; i < WRONG; i++)
		say(wrong[i], "CONNECT - clean user=alice password=wrong");
	before = answered(wrong, WRONG);
	say(good, "CONNECT good clean user=alice password=secret");
	expect(good, "CONNACK 0 0");
	after = answered(wrong, WRONG);
	/* This process may get its CPU later than the broker. */
	check(after - before <= (WRONG - before) / 2, "%d were before it", after - before);
	AT(await_refusal(wrong[0])); /* the last may take long: to check is what comes last */
}

/* The newest of the address that has the most is refused, as one that may come again. */
STORY(passwords_that_wait_are_bounded, .timeout = 30, .mosquitto = "has no such limit")
{
	enum { WRONG = 100, MOST = 10 };
	static struct client *wrong[WRONG];
	struct client *good;
	int unavailable = 0;

	start_with_passwords(" --max-logins 10");
	good = client_open_from("good", "127.0.0.2");
	for (int i = 0; i < WRONG; i++) {
		wrong[i] = open_client("wrong");
		say(wrong[i], "CONNECT - clean user=alice password=wrong");
	}
	say(good, "CONNECT good clean user=alice password=secret");
	expect(good, "CONNACK 0 0");
	for (int i = 0; i < WRONG; i++) {
		const char *answer = client_next(wrong[i], story_limit(CLIENT_PATIENCE_MS));

		check(answer != NULL, "no answer");
		unavailable += strcmp(answer, "CONNACK 0 3") == 0;
		check(strcmp(answer, "CONNACK 0 3") == 0 || strcmp(answer, "CONNACK 0 4") == 0,
		      "got %s", answer);
		expect_closed(wrong[i]);
	}
	check(unavailable > 0, "all were checked");
}

/* ---- Beside a flood of log-ins ---- */

#define PAIR_MESSAGES 500

static int compare_times(const void *a, const void *b)
{
	const long long left = *(const long long *)a, right = *(const long long *)b;

	return (left > right) - (left < right);
}

static long long microseconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000LL + now.tv_nsec / 1000;
}

/* How long a message takes from one client to another, p99 in microseconds. */
static long long measure_pair(struct client *publisher, struct client *subscriber)
{
	static long long took[PAIR_MESSAGES];

	for (int i = 0; i < PAIR_MESSAGES; i++) {
		const long long began = microseconds();

		client_say(publisher, "PUBLISH q0 t x");
		client_expect(subscriber, "PUBLISH q0 t x");
		took[i] = microseconds() - began;
		story_sleep(2);
	}
	qsort(took, PAIR_MESSAGES, sizeof(took[0]), compare_times);
	return took[PAIR_MESSAGES * 99 / 100];
}

/* Log-ins with wrong passwords, as fast as the broker takes them; never returns. */
_Noreturn static void flood(void)
{
	enum { AT_ONCE = 200 };
	struct client *clients[AT_ONCE];

	for (;;) {
		for (int i = 0; i < AT_ONCE; i++) {
			clients[i] = client_open_from("flood", "127.0.0.2");
			client_say(clients[i], "CONNECT - clean user=alice password=wrong");
		}
		for (int i = 0; i < AT_ONCE; i++) {
			(void)client_next(clients[i], story_limit(CLIENT_PATIENCE_MS));
			client_vanish(clients[i]);
			free(clients[i]->bytes);
			free(clients[i]);
		}
	}
}

/* A hash that takes some 50 ms. */
#define SLOW                                                                                       \
	"alice:$6$rounds=100000$batonbaton$Pr/VD0QDrFnM/C00dLZZRyQsooB3GH7Bs4NY00o63KvZHl"         \
	"xsiS/xj8D.spBZI3zslAmkaoR/HKhSU9kd48jfK.\n"

/*
 * Threads of a lower priority than the loops' compute the hashes. Other programs may take the CPUs
 * at any time, so one good round is enough; no round is good if a loop computes hashes.
 */
STORY(passwords_that_come_in_floods_delay_nobody_who_is_there, .timeout = 120,
      .mosquitto = "checks passwords in its only thread")
{
	struct client *publisher, *subscriber;
	long long alone = 0, beside = 1;
	char options[128];
	pid_t child;

	snprintf(options, sizeof(options), "--password-file %s --allow-anonymous --threads 1",
	         file_write(SLOW));
	start_server(options);
	publisher = join("publisher clean");
	subscriber = join("subscriber clean");
	subscribe(subscriber, "t:0");
	for (int i = 0; i < 5 && beside > 20 * alone; i++) {
		alone = AT(measure_pair(publisher, subscriber));
		child = fork();
		check(child >= 0, "no process");
		if (child == 0)
			flood();
		story_sleep(200);
		beside = AT(measure_pair(publisher, subscriber));
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
	}
	check(beside <= 20 * alone, "p99 %lld us, and %lld without a flood", beside, alone);
}
