/* SPDX-License-Identifier: MIT */
/* What clients can write into the log, and what they cannot. */
#include "client.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "server.h"

/* A terminal would obey it, or show the line in another order than it is written in. */
STORY(log_has_no_control_characters, .mosquitto = "refuses such client ids")
{
	static const char *const bad[] = {
		"\x01",
		"\x07",
		"\x1b[2J",
		"\x7f", /* C0, DEL */
		"\xc2\x85",
		"\xc2\x9b"
		"31m",
		"\xc2\x9d"
		"0;", /* C1 */
		"\xe2\x80\xae",
		"\xe2\x80\xad",
		"\xe2\x81\xa6", /* overrides, an isolate */
		"\xe2\x80\xa8",
		"\xe2\x80\x8f",
		"\xd8\x9c",
	};
	char id[64], tag[16], cut[600];

	start_server("--log-level info");
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		snprintf(id, sizeof(id), "a%sn%zun clean", bad[i], i);
		snprintf(tag, sizeof(tag), "n%zun", i);
		leave(join(id));
		check(strstr(await_said(tag), bad[i]) == NULL, "%zu is in the log", i);
	}
	/* An id that the log cuts short, in the midst of a character. */
	for (size_t at = 0; at < 3; at++) {
		size_t size = (size_t)snprintf(cut, sizeof(cut), "%zucut%.*s", at, (int)at, "xx");

		snprintf(tag, sizeof(tag), "%zucut", at);
		while (size < 400) {
			memcpy(cut + size, "\xe2\x82\xac", 3);
			size += 3;
		}
		strcpy(cut + size, " clean");
		leave(join(cut));
		for (const char *c = await_said(tag); (c = strchr(c, '\xe2')) != NULL; c++)
			check(memcmp(c, "\xe2\x82\xac", 3) == 0, "cut: %s", server_said());
	}
}

/* One line of key=value pairs, whatever a client has for an id. */
STORY(log_has_pairs_that_a_client_cannot_make, .mosquitto = "has a log of its own")
{
	struct client *client;
	const char *line;

	start_server("--log-level notice");
	client = open_client("a");
	/* CONNECT, with an id of 25 bytes behind its length. */
	say_hex(client, "10 25 00 04 'MQTT' 04 02 00 3c 00 19 'a\" level=error reason=\"x\\'");
	expect(client, "CONNACK 0 0");
	say(client, "CONNECT - clean");
	line = await_said("a second CONNECT");
	check(strstr(line, " level=warning event=closed client=\"a\\\" level=error "
	                   "reason=\\\"x\\\\\" address=127.0.0.1:") != NULL,
	      "says %s", line);
	check(strncmp(line, "time=20", 7) == 0 && line[28] == 'Z' && line[29] == ' ', "says %s",
	      line);
	check(strstr(line, " reason=\"a second CONNECT\"") != NULL, "says %s", line);
}

/* What a file holds, until the next call. */
static const char *contents(const char *path)
{
	static char text[65536];
	FILE *file = fopen(path, "r");

	text[0] = '\0';
	if (file == NULL)
		return text;
	text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
	fclose(file);
	return text;
}

static void await_in_file(const char *path, const char *words)
{
	const long long end = story_clock() + story_limit(CLIENT_PATIENCE_MS);

	while (strstr(contents(path), words) == NULL) {
		check(story_clock() < end, "%s has no \"%s\": %s", path, words, contents(path));
		story_sleep(10);
	}
}

/* logrotate renames the file, and sends SIGHUP. */
STORY(log_file_is_opened_again_at_sighup, .mosquitto = "has a log of its own")
{
	char path[64], old[64], options[256];

	snprintf(path, sizeof(path), "build/broker/log.%d", getpid());
	snprintf(old, sizeof(old), "build/broker/log.%d.1", getpid());
	snprintf(options, sizeof(options), "log_dest file %s\nlog_dest stderr\n", path);
	snprintf(options, sizeof(options), "--log-level notice -c %s", file_write(options));
	start_server(options);
	leave(join("first clean"));
	AT(await_in_file(path, "event=closed client=log_file_is_opened_again_at_sighup/first"));
	check(rename(path, old) == 0, "cannot rename");
	leave(join("second clean"));
	AT(await_in_file(old, "event=closed client=log_file_is_opened_again_at_sighup/second"));
	kill(server_pid(), SIGHUP);
	AT(await_in_file(path, "event=reloaded"));
	leave(join("third clean"));
	AT(await_in_file(path, "event=closed client=log_file_is_opened_again_at_sighup/third"));
	check(strstr(contents(old), "third") == NULL, "the old file is still used");
	check(strstr(contents(path), "first") == NULL, "the new file has what is old");
	await_said("event=closed client=log_file_is_opened_again_at_sighup/third"); /* stderr */
	unlink(path);
	unlink(old);
}

STORY(log_goes_nowhere, .mosquitto = "has a log of its own")
{
	start_server("--log-level notice --log-dest none");
	leave(join("a clean"));
	check(server_stop() == 0, "the broker did not end well");
	check(server_said_lines() == 0, "says %s", server_said());
}

STORY(log_has_the_types_that_are_asked_for, .mosquitto = "has a log of its own")
{
	struct client *client;

	start_server("--log-type notice --log-type debug");
	client = join("a clean");
	say(client, "CONNECT a clean"); /* a warning */
	expect_closed(client);
	leave(join("b clean"));
	check(server_stop() == 0, "the broker did not end well");
	await_said("event=accepted");
	await_said("event=closed client=log_has_the_types_that_are_asked_for/b");
	await_said("event=stopping");
	check(strstr(server_said(), "level=notice") != NULL, "says %s", server_said());
	/* With a store of its own it has a line more. */
	check(server_said_lines() == 6 + (strstr(server_path(), "stored.sh") != NULL),
	      "%u lines, the last: %s", server_said_lines(), server_said());
}

/* /dev/log is this story's, in a file system of the broker's own. */
STORY(log_goes_to_syslog, .timeout = 20, .mosquitto = "has a log of its own")
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	char folder[] = "/tmp/baton-e2e.XXXXXX", command[512], line[2048];
	const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	ssize_t size;
	int status;

	check(fd >= 0 && mkdtemp(folder) != NULL, "no folder");
	snprintf(address.sun_path, sizeof(address.sun_path), "%s/log", folder);
	check(bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0, "cannot bind");
	snprintf(command, sizeof(command),
	         "unshare -rm sh -c 'mount -t tmpfs none /dev && touch /dev/null && "
	         "ln -s %s/log /dev/log && exec timeout --preserve-status %lld %s --port 0 "
	         "--log-level notice --log-dest syslog' 2>&1",
	         folder, story_scaled(2), server_path());
	(void)server_shell(command, &status);
	do {
		size = recv(fd, line, sizeof(line) - 1, 0);
		line[size > 0 ? size : 0] = '\0';
	} while (strstr(line, "event=store_restored") != NULL);
	snprintf(command, sizeof(command), "rm -r %s", folder);
	check(system(command) == 0, "cannot remove %s", folder);
	if (status != 0)
		story_skip("no file system of its own here");
	check(size > 0, "nothing came");
	check(strstr(line, ": level=notice event=stopping signal=15") != NULL, "got %s", line);
	check(strncmp(line, "<29>", 4) == 0, "got %s", line); /* daemon, notice */
	check(strstr(line, "time=") == NULL, "got %s", line);
}

/* stderr takes nothing: what it has not got is counted in what stdout gets. */
STORY(log_counts_what_a_place_does_not_take, .timeout = 20, .mosquitto = "has a log of its own")
{
	char command[512];
	const char *said;
	int status;

	snprintf(command, sizeof(command),
	         "%s --port 0 --log-level notice --log-dest stdout --log-dest stderr 2>/dev/full & "
	         "for signal in HUP HUP HUP TERM; do sleep %lld; kill -$signal $!; done; wait $!",
	         server_path(), story_scaled(1));
	said = server_shell(command, &status);
	check(status == 0, "wait status %d: %s", status, said);
	check(strstr(said, "event=lines_lost lines=1") != NULL, "says %s", said);
	check(strstr(said, "event=lines_lost lines=3") != NULL, "says %s", said);
	check(strstr(said, "event=stopping") != NULL, "says %s", said);
}
