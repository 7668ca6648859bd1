/* SPDX-License-Identifier: MIT */
/* SIGHUP: what of a changed file holds then, what does not, and what the log says about it. */
#include "client.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "server.h"

static char conf[64]; /* the file's path */

/* Starts a broker with a file of this text, and more options. */
static void start_with(const char *text, const char *more)
{
	char options[256];

	snprintf(conf, sizeof(conf), "%s", file_write(text));
	snprintf(options, sizeof(options), "-c %s %s", conf, more);
	start_server(options);
}

static void rewrite(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	check(file != NULL && fputs(text, file) >= 0 && fclose(file) == 0, "cannot write %s", path);
}

/* Gives the file this text and waits until the log has these words. */
static void reload(const char *text, const char *words)
{
	rewrite(conf, text);
	kill(server_pid(), SIGHUP);
	server_await_said(words);
}

STORY(reload_takes_a_limit_over, .mosquitto = "has other options")
{
	struct client *client;

	start_with("max_packet_size 1000\nlog_level notice\n", "");
	client = join("a clean");
	client_publish_large(client, "t", 800);
	ping(client);
	reload("max_packet_size 500\nlog_level notice\n",
	       "event=option_changed option=max_packet_size");
	await_said("event=reloaded");
	client_publish_large(client, "t", 800);
	expect_closed(client);
	await_said("reason=\"packet larger than --max-packet\"");
}

/* The limit goes below what is there already. */
STORY(reload_of_a_limit_that_is_passed_already, .timeout = 20, .mosquitto = "has other options")
{
	struct client *reader, *writer;

	start_with("log_level notice\n", "");
	reader = join("reader");
	writer = join("writer clean");
	subscribe(reader, "t:1 b:1");
	leave(reader);
	for (int i = 0; i < 5; i++)
		publish(writer, 1, "t %d", i);
	reload("log_level notice\nmax_queued_messages 2\nmax_inflight_messages 1\n"
	       "max_filters 1\nmax_filter_bytes 10\nmax_sessions 0\nmax_retained 0\n"
	       "max_queued_bytes 10\nmax_queued_total 10\n",
	       "event=reloaded");
	publish(writer, 1, "t dropped");
	reader = resume("reader");
	for (int i = 0; i < 5; i++)
		expect_received(reader, i == 0   ? "t 0"
		                        : i == 1 ? "t 1"
		                        : i == 2 ? "t 2"
		                        : i == 3 ? "t 3"
		                                 : "t 4");
	expect_silence(reader, 200);
	say(reader, "SUBSCRIBE 9 c:1");
	expect(reader, "SUBACK 9 128");
	reload("log_level notice\nmax_filter_bytes 10\nbatch_ms 11\n",
	       "event=option_changed option=batch_ms");
	say(reader, "SUBSCRIBE 10 c:1");
	expect(reader, "SUBACK 10 128");
	ping(writer);
}

STORY(reload_with_an_error_changes_nothing, .timeout = 20, .mosquitto = "has other options")
{
	struct client *client;

	start_with("max_packet_size 1000\n", "");
	client = join("a clean");
	reload("max_packet_size 500\nsys_interval x\nnothing 1\n", "event=reload_failed");
	await_said("sys_interval x: expected");
	await_said("nothing: unknown");
	reload("max_packet_size 500\npassword_file /none/at/all\n", "event=passwords_failed");
	reload("max_packet_size 500\nlog_dest file /none/at/all\n", "event=log_file_failed");
	/* Each of the three says at its end that all stays. */
	for (int i = 0; i < 500 && server_said_lines() < 7; i++)
		story_sleep(10);
	check(server_said_lines() == 7, "%u lines", server_said_lines());
	client_publish_large(client, "t", 800);
	ping(client);
	/* What is right again holds. */
	reload("max_packet_size 500\nlog_level notice\n", "event=reloaded");
	client_publish_large(client, "t", 800);
	expect_closed(client);
}

STORY(reload_names_what_needs_a_restart, .mosquitto = "has other options")
{
	start_with("threads 1\nlog_level notice\n", "");
	reload("threads 3\nlog_level notice\nmax_logins 5\npassword_file /dev/null\n",
	       "event=reload_failed"); /* no regular file */
	rewrite(conf, "");
	reload("threads 3\nlog_level notice\nmax_logins 5\n",
	       "event=option_kept option=max_logins reason=\"its change needs a restart\"");
	await_said("event=option_kept option=threads");
	await_said("event=reloaded");
}

/* What the command line says holds on. */
/* What was read is in the log if it holds from now on, also at the start. */
STORY(reload_says_what_was_read, .mosquitto = "has other options")
{
	static char passwords[64];
	char options[256];
	unsigned int lines;
	FILE *file;

	snprintf(passwords, sizeof(passwords), "%s", file_write(SERVER_ALICE));
	snprintf(options, sizeof(options), "--log-level info --password-file %s --access-file %s",
	         passwords, file_write("topic read a\n"));
	start_server(options);
	await_said("event=passwords_read");
	await_said("event=access_read");
	lines = server_said_lines();
	file = fopen(strrchr(options, ' ') + 1, "r+");
	check(file != NULL && fputs("wrong", file) > 0 && fclose(file) == 0, "cannot write");
	kill(server_pid(), SIGHUP);
	await_said("event=reload_failed");
	check(server_said_lines() == lines + 2, "%u lines of an error and its end",
	      server_said_lines() - lines);
}

STORY(reload_leaves_the_command_line, .mosquitto = "has other options")
{
	struct client *client;

	start_with("log_level notice\n", "--max-packet 1000");
	client = join("a clean");
	reload("log_level notice\nmax_packet_size 500\nmax_filters 3\n", "event=reloaded");
	client_publish_large(client, "t", 800);
	ping(client);
}

STORY(reload_of_the_level_of_the_log, .mosquitto = "has other options")
{
	start_with("log_level error\n", "");
	leave(join("first clean"));
	reload("log_level notice\n", "event=reloaded");
	leave(join("second clean"));
	await_said("event=connected client=reload_of_the_level_of_the_log/second");
	reload("log_type warning\n", "event=option_changed option=log_type");
	for (int i = 0; i < 2; i++) { /* the second says that the first is done */
		say(join("third clean"), "CONNECT third clean");
		await_said("a second CONNECT");
	}
	check(server_said_lines() > 0 && strstr(server_said(), "event=closed") != NULL, "says %s",
	      server_said());
}

/* Nobody opens a broker to everybody by a line that he takes away. */
STORY(reload_does_not_open_the_broker, .timeout = 20, .mosquitto = "has other options")
{
	char users[64], text[256];
	struct client *client;

	snprintf(users, sizeof(users), "%s", file_write(SERVER_ALICE));
	snprintf(text, sizeof(text), "password_file %s\nlog_level notice\n", users);
	start_with(text, "");
	join("a clean user=alice password=secret");
	reload("log_level notice\n", "event=reloaded");
	await_said("event=option_kept option=password_file");
	await_said("event=option_kept option=allow_anonymous");
	client = open_client("b");
	say(client, "CONNECT b clean");
	expect(client, "CONNACK 0 5");
	expect_closed(client);
	/* It may be said. */
	snprintf(text, sizeof(text), "password_file %s\nlog_level notice\nallow_anonymous true\n",
	         users);
	reload(text, "event=option_changed option=allow_anonymous");
	await_said("event=reloaded");
	join("c clean");
}

/* Nor does it close one by a line that is added: that needs a restart, as the log says. */
STORY(reload_begins_nothing_that_needs_a_file, .timeout = 20, .mosquitto = "has other options")
{
	char users[64], text[256];
	struct client *client;

	start_with("log_level notice\n", "");
	client = join("a clean user=alice password=wrong");
	subscribe(client, "t:1");
	snprintf(users, sizeof(users), "%s", file_write(SERVER_ALICE));
	snprintf(text, sizeof(text), "log_level notice\npassword_file %s\nacl_file %s\n", users,
	         file_write("user bob\ntopic a\n"));
	reload(text, "event=reloaded");
	await_said("event=option_kept option=password_file");
	await_said("event=option_kept option=acl_file");
	publish(join("b clean user=alice password=wrong"), 1, "t x");
	expect_received(client, "t x");
}

STORY(reload_of_another_password_file, .timeout = 20, .mosquitto = "has other options")
{
	char first[64], text[256];
	struct client *alice;

	snprintf(first, sizeof(first), "%s", file_write(SERVER_ALICE));
	snprintf(text, sizeof(text), "password_file %s\nlog_level notice\n", first);
	start_with(text, "");
	alice = join("a clean user=alice password=secret");
	snprintf(text, sizeof(text), "password_file %s\nlog_level notice\n",
	         file_write("bob:" SERVER_ALICE_HASH));
	reload(text, "event=option_changed option=password_file");
	expect_closed(alice);
	join("b clean user=bob password=secret");
}

STORY(reload_of_the_interval_of_figures, .timeout = 20, .mosquitto = "has other options")
{
	struct client *client;

	start_with("sys_interval 0\nlog_level notice\n", "");
	client = join("a clean");
	subscribe(client, "^$SYS/broker/uptime:0");
	expect_silence(client, 300);
	reload("sys_interval 1\nlog_level notice\n", "event=reloaded");
	for (int i = 0; i < 2; i++)
		check(strstr(receive(client), "seconds") != NULL, "no uptime");
	reload("sys_interval 0\n", "option=log_level");
}

/* Many changes, while clients use what changes. */
STORY(reload_beside_clients, .timeout = 30, .mosquitto = "has other options")
{
	enum { RELOADS = 40 };
	struct client *reader, *writer;
	char text[512];

	start_with("log_level notice\n", "");
	reader = join("reader clean");
	writer = join("writer clean");
	subscribe(reader, "t:1");
	for (int i = 0; i < RELOADS; i++) {
		snprintf(text, sizeof(text),
		         "log_level %s\nmax_queued_messages %d\nmax_inflight_messages %d\n"
		         "max_packet_size %d\nmax_filters %d\nmax_retained %d\nconnect_timeout %d\n"
		         "queue_qos0_messages %s\npersistent_client_expiration %d\n",
		         i % 2 == 0 ? "notice" : "info", 100 + i, 10 + i, 2000 + i, 50 + i, 500 + i,
		         100 + i, i % 2 == 0 ? "true" : "false", i);
		rewrite(conf, text);
		kill(server_pid(), SIGHUP);
		for (int message = 0; message < 5; message++) {
			publish(writer, 1, "t %d", message);
			check(receive(reader)[2] == '0' + message, "another message");
		}
		leave(join("guest"));
	}
	ping(reader);
	ping(writer);
}
