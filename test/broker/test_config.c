/* SPDX-License-Identifier: MIT */
/* The configuration file: what is read, what wins, and what is said about errors. */
#include "client.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "server.h"

/* What the broker says about a file with this text, and more arguments; its exit status. */
static const char *run_with(const char *text, const char *more, int *status)
{
	char arguments[512];
	const char *said;

	snprintf(arguments, sizeof(arguments), "--config %s %s", file_write(text), more);
	said = server_run(3, arguments, status);
	*status = WIFEXITED(*status) ? WEXITSTATUS(*status) : -1;
	return said;
}

static void complains(const char *text, const char *words)
{
	int status;
	const char *said = run_with(text, "", &status);

	if (status != 2 || strstr(said, words) == NULL || strstr(said, "listening") != NULL)
		story_fail("%s: status %d, no \"%s\": %s", text, status, words, said);
}

/* A row of --help begins with two spaces and two dashes; the key may stand in brackets behind. */
static bool next_key(const char **help, char *key, size_t size)
{
	const char *row = strstr(*help, "\n  --"), *end, *bracket;
	size_t length;

	if (row == NULL)
		return false;
	row += 5;
	*help = row;
	end = strstr(row, "\n  --");
	bracket = strchr(row, '[');
	if (bracket != NULL && islower(bracket[1]) && (end == NULL || bracket < end)) {
		bracket++;
		snprintf(key, size, "%.*s", (int)strcspn(bracket, "]"), bracket);
		return true;
	}
	length = strcspn(row, " \n");
	snprintf(key, size, "%.*s", (int)length, row);
	for (char *dash = key; (dash = strchr(dash, '-')) != NULL;)
		*dash = '_';
	return true;
}

STORY(config_has_a_key_for_each_option, .mosquitto = "has other options")
{
	static const char *const alone[] = {"config", "check_config", "check_store", "help"};
	static char help[32768], text[8192];
	const char *at = help, *said;
	unsigned int keys = 0;
	char key[64];
	int status;

	snprintf(help, sizeof(help), "%s", server_run(3, "--help", &status));
	while (next_key(&at, key, sizeof(key))) {
		bool only = false;

		for (size_t i = 0; i < sizeof(alone) / sizeof(alone[0]); i++)
			only = only || strcmp(key, alone[i]) == 0;
		if (!only)
			snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s\n", key);
		keys += !only;
	}
	check(keys > 35, "%u keys in %s", keys, help);
	said = run_with(text, "", &status);
	check(status == 2, "status %d: %s", status, said);
	check(strstr(said, "unknown") == NULL, "a key is unknown: %s", said);
	for (at = said; (at = strstr(at, ": expected ")) != NULL; at++)
		keys--;
	check(keys <= 1, "%u keys were taken without a value: %s", keys,
	      said); /* true, if a flag */
}

STORY(config_errors_are_told, .timeout = 30, .mosquitto = "has other options")
{
	story_here(__FILE__, __LINE__);
	complains("\n# c\n  max_packet_size x\n",
	          ":3: max_packet_size x: expected a number from 64 to 268435460, also with K");
	complains("port 70000\n", ":1: port 70000: expected a number from 0 to 65535\n");
	complains("sys_interval 5\nsys_interval 5\n", ":2: sys_interval: stands in line 1 already");
	complains("max_queued_message 5\n", "is max_queued_messages meant?");
	complains("frobnicate 5\n", ":1: frobnicate: unknown\n");
	complains("persistence true\n", "mosquitto has it, this broker has not: use `store FILE`");
	complains("bridge_insecure true\n", "there are no bridges");
	complains("connection a\ntopic # out 0\nremote_username c\n",
	          ":3: remote_username: mosquitto has it, this broker has not: there are no");
	complains("address b:1883\n", ":1: address: mosquitto has it, this broker has not");
	complains("topic # out 0\n", ":1: topic: mosquitto has it, this broker has not");
	complains("queue_qos0_messages yes\n", "expected true or false");
	complains("password_file\n", "expected a value behind it");
	complains("persistent_client_expiration 2q\n", "with h, d, w, m or y");
	complains("log_level loud\n", "one of: error warning notice info debug");
	complains("log_type subscribe\n", "one of: error warning notice information debug");
	complains("log_dest topic\n", "one of: stderr stdout syslog file none");
	complains("log_dest file\n", "expected file PATH");
	complains("log_dest file /tmp/a\nlog_dest file /tmp/b\n", ":2: log_dest file /tmp/b: "
	                                                          "expected one file");
	complains("log_level error\nlog_type error\n", "only one of them");
	complains("durability commit batch\n", "one of: commit batch none");
	complains("deny_subscribe a/#/b\n", "expected a topic filter");
	complains("listener 1883x\n", "expected a port from 0 to 65535");
	complains("listener 1883 a b\n", "expected a port from 0 to 65535");
	complains("listener 1883\nlistener 1883\n", "two listeners have the same");
	complains("listener 1\ncertfile x\n", "need each other");
	complains("listener 1\ncertfile x\nkeyfile y\nlistener 2\ncertfile z\nkeyfile y\n",
	          ":5: certfile z: expected x as in line 2");
	complains("listener 1\ncertfile x\nkeyfile y\nlistener 2\ncertfile x\n",
	          "listener 2: needs both, certfile and keyfile, or none");
	complains("certfile x\nkeyfile y\nlistener 1\n", "certfile: belongs behind its listener");
	complains("help\n", ":1: help: unknown");
	complains("port 1\x01\x1b[2J\n", "port 1??[2J: expected");
}

STORY(config_errors_are_told_all_at_once, .mosquitto = "has other options")
{
	static const char *const words[] = {":1: ", ":2: ", ":4: ", "--max-filters", "--unheard"};
	int status;
	const char *said = run_with("port x\nunheard_of 1\nthreads 2\nthreads 3\n",
	                            "--max-filters y --unheard-of", &status);

	check(status == 2, "status %d: %s", status, said);
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		check(strstr(said, words[i]) != NULL, "no %s: %s", words[i], said);
	check(strstr(said, "listening") == NULL, "it has started: %s", said);
}

STORY(config_without_its_file_does_not_start, .mosquitto = "has other options")
{
	int status;
	const char *said = server_run(3, "-c /none/at/all", &status);

	check(WIFEXITED(status) && WEXITSTATUS(status) == 2, "wait status %d", status);
	check(strstr(said, "/none/at/all: No such file") != NULL, "says %s", said);
	said = server_run(3, "-c /tmp", &status);
	check(WIFEXITED(status) && WEXITSTATUS(status) == 2, "wait status %d", status);
	check(strstr(said, "/tmp: Is a directory") != NULL, "says %s", said);
}

/* How many messages wait for a client that is away, of ten. The broker has one loop: so the reader
 * has left its session before the writer is read. */
static int kept_of_ten(void)
{
	struct client *reader = join("reader"), *writer = join("writer clean");
	int kept = 0;

	subscribe(reader, "t:1");
	leave(reader);
	for (int i = 0; i < 10; i++)
		publish(writer, 1, "t x");
	reader = resume("reader");
	while (client_next(reader, story_limit(300)) != NULL)
		kept++;
	return kept;
}

STORY(config_is_what_the_broker_does, .timeout = 20, .mosquitto = "has other options")
{
	char options[128];

	snprintf(options, sizeof(options), "--threads 1 -c %s",
	         file_write("# comment\r\n\n\tmax_queued_messages \t 3  \r\n"));
	start_server(options);
	check(kept_of_ten() == 3, "the limit of the file does not hold");
}

STORY(config_without_a_limit_is_a_limit_of_0, .timeout = 20, .mosquitto = "has other options")
{
	char options[128];

	snprintf(options, sizeof(options), "--threads 1 -c %s",
	         file_write("max_queued_messages 0\n"));
	start_server(options);
	check(kept_of_ten() == 10, "0 is a limit");
}

STORY(config_loses_against_the_command_line, .timeout = 20, .mosquitto = "has other options")
{
	char options[128];

	snprintf(options, sizeof(options), "--threads 1 -c %s --max-queued 4",
	         file_write("max_queued_messages 7\nlistener 1\n"));
	start_server(options);
	check(kept_of_ten() == 4, "the limit of the command line does not hold");
}

STORY(config_says_who_may_come, .timeout = 20, .mosquitto = "has other options")
{
	struct client *client;
	char options[128];

	/* Nobody: mosquitto, too, refuses everybody then. */
	snprintf(options, sizeof(options), "-c %s", file_write("allow_anonymous false\n"));
	start_server(options);
	client = open_client("a");
	say(client, "CONNECT a clean");
	expect(client, "CONNACK 0 5");
	expect_closed(client);
	/* The command line can take that back. */
	strcat(options, " --allow-anonymous");
	start_server(options);
	join("a clean");
}

/* Writes a file as mosquitto's users have one, with two listeners, into the folder. */
static void write_mosquittos(const char *folder, const unsigned int ports[2])
{
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "%s/conf", folder);
	file = fopen(path, "w");
	check(file != NULL, "no file");
	fprintf(file,
	        "# a comment\nlistener %u 127.0.0.1\nlistener %u 127.0.0.1\n"
	        "certfile %s/cert\nkeyfile %s/key\nallow_anonymous true\n"
	        "max_inflight_messages 20\nmax_queued_messages 1000\nmax_queued_bytes 0\n"
	        "max_packet_size 100000\nsys_interval 10\npersistent_client_expiration 2m\n"
	        "queue_qos0_messages true\nlog_dest file %s/log\nlog_dest stderr\n"
	        "log_type error\nlog_type warning\nlog_type notice\nlog_type information\n",
	        ports[0], ports[1], folder, folder, folder);
	fclose(file);
}

static bool in_use(const char *said)
{
	return strstr(said, "in use") != NULL;
}

/* What both brokers say to the file. */
static void understood_by_both(const char *folder)
{
	const unsigned int ports[] = {server_free_port(), server_free_port()};
	char line[256];
	const char *said;
	int status;

	write_mosquittos(folder, ports);
	snprintf(line, sizeof(line), "--config %s/conf", folder);
	said = server_run(3, line, &status);
	if (in_use(said)) {
		understood_by_both(folder); /* somebody was faster */
		return;
	}
	check(WIFEXITED(status) && WEXITSTATUS(status) == 0, "status %d: %s", status, said);
	for (int i = 0; i < 2; i++) {
		snprintf(line, sizeof(line), "listening on 127.0.0.1:%u%s\n", ports[i],
		         i == 1 ? " TLS" : "");
		check(strstr(said, line) != NULL, "no %s: %s", line, said);
	}
	check(strstr(said, "level=notice event=stopping") != NULL, "says %s", said);
	snprintf(line, sizeof(line), "%s/log", folder);
	check(unlink(line) == 0, "no log in a file");
	snprintf(line, sizeof(line),
	         "exec 2>&1; PATH=$PATH:/usr/sbin; timeout 2 mosquitto -c %s/conf", folder);
	said = server_shell(line, &status);
	check(strstr(said, "not found") != NULL || strstr(said, "running") != NULL || in_use(said),
	      "mosquitto: %s", said);
}

STORY(config_of_mosquitto_is_understood, .timeout = 60, .mosquitto = "has other options")
{
	char folder[] = "/tmp/baton-e2e.XXXXXX", command[512];

	check(mkdtemp(folder) != NULL, "no folder");
	snprintf(command, sizeof(command),
	         "cd %s && openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes "
	         "-keyout key -out cert -days 2 -subj /CN=localhost 2>/dev/null && "
	         "chmod -R a+rwX .",
	         folder);
	check(system(command) == 0, "openssl makes no certificate");
	understood_by_both(folder);
	snprintf(command, sizeof(command), "rm -r %s", folder);
	check(system(command) == 0, "cannot remove %s", folder);
}

/* As mosquitto's: all addresses of this machine; but somebody has to say who may come. */
STORY(config_of_a_listener_without_a_host, .timeout = 20, .mosquitto = "has other options")
{
	unsigned int first = 0, second = 0;
	const char *said, *other;
	int status;

	said = run_with("listener 0\nallow_anonymous true\n", "", &status);
	check(status == 0, "status %d: %s", status, said);
	check(sscanf(said, "listening on 0.0.0.0:%u", &first) == 1, "says %s", said);
	other = strstr(said, "listening on [::]:");
	check(other == NULL || sscanf(other, "listening on [::]:%u", &second) == 1, "says %s",
	      said);
	check(other == NULL || first == second, "two ports: %s", said);
	said = run_with("listener 0\n", "", &status);
	check(status == 1 && strstr(said, "open to everybody") != NULL, "status %d: %s", status,
	      said);
	check(strstr(said, "listening") == NULL, "it has started: %s", said);
}

STORY(config_is_checked_without_a_start, .mosquitto = "has other options")
{
	int status;
	const char *said = run_with("max_sessions 5\n", "--check-config", &status);

	check(status == 0 && strstr(said, "no errors") != NULL, "status %d: %s", status, said);
	check(strstr(said, "listening") == NULL, "it has started: %s", said);
	said = run_with("queue_qos0_messages 1\nrequire_certificate 0\n", "--check-config",
	                &status);
	check(status == 0, "status %d: %s", status, said);
	said = run_with("max_sessions x\n", "--check-config", &status);
	check(status == 2 && strstr(said, "max_sessions x") != NULL, "status %d: %s", status, said);
	said = run_with("password_file /none/at/all\n", "--check-config", &status);
	check(status == 2 && strstr(said, "/none/at/all") != NULL, "status %d: %s", status, said);
	said = run_with("listener 0\nlistener 0 127.0.0.1\n", "--check-config", &status);
	check(status == 2 && strstr(said, "open to everybody") != NULL, "status %d: %s", status,
	      said);
	said = run_with("listener 0\nallow_anonymous true\n", "--check-config", &status);
	check(status == 0, "status %d: %s", status, said);
	said = run_with("listener 0 localhost\n", "--check-config", &status);
	check(status == 0, "status %d: %s", status, said);
	said = run_with("certfile /none/at/all\nkeyfile /none/at/all\n", "--check-config", &status);
	check(status == 2 && strstr(said, "/none/at/all") != NULL, "status %d: %s", status, said);
}
