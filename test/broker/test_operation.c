/* SPDX-License-Identifier: MIT */
/* The command line, passwords and TLS: what is accepted, and what is refused with which words. */
#include "client.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "server.h"

STORY(help_tells_every_option, .mosquitto = "has other options")
{
	static const char *const options[] = {
		"--host",
		"--port",
		"--threads",
		"--max-packet",
		"--max-queued",
		"--max-inflight",
		"--deny-subscribe",
		"--allow-anonymous",
		"--tls-cert",
		"--tls-key",
		"--stats-interval",
		"--log-level",
		"--password-file",
		"mosquitto_sub",
		"mosquitto_pub",
		"--tls-port",
		"--max-sessions",
		"--session-expiry",
		"--max-queued-total",
		"--max-connect",
		"--max-strangers",
		"--max-logins",
		"--access-file",
		"--tls-ca",
		"--tls-crl",
		"--require-certificate",
		"--use-identity-as-username",
	};
	int status;
	const char *said = server_run(5, "--help", &status);

	check(status == 0, "status %d", status);
	for (size_t i = 0; i < sizeof(options) / sizeof(*options); i++)
		check(strstr(said, options[i]) != NULL, "--help does not mention %s", options[i]);
}

/* Status 2, and one line that has these words. */
static void complains(const char *arguments, const char *words)
{
	int status;
	const char *said = server_run(5, arguments, &status);

	if (!WIFEXITED(status) || WEXITSTATUS(status) != 2)
		story_fail("%s: wait status %d: %s", arguments, status, said);
	if (strstr(said, words) == NULL)
		story_fail("%s: says nothing of %s: %s", arguments, words, said);
}

STORY(bad_options_are_told, .mosquitto = "has other options")
{
	story_here(__FILE__, __LINE__);
	complains("--unknown", "--unknown");
	complains("--port", "--port");
	complains("--tls-port 1", "--tls-cert");
	complains("--port 7 --tls-port 7 --tls-cert x --tls-key x", "the same");
	complains("--tls-port 1883 --tls-cert x --tls-key x", "the same");
	complains("--tls-ca x", "--tls-cert");
	complains("--require-certificate", "--tls-ca");
	complains("--use-identity-as-username --tls-cert x --tls-key x", "--tls-ca");
	complains("--tls-crl x --tls-cert x --tls-key x", "--tls-ca");
	complains("--port 65536", "65536");
	complains("--port x", "--port");
	complains("--threads 0", "--threads");
	complains("--max-packet nothing", "--max-packet");
	complains("--max-queued -1", "--max-queued");
	complains("--max-inflight 32768", "--max-inflight");
	complains("--max-buffered 1025G", "1025G");
	complains("--max-buffered 1KK", "1KK");
	complains("--max-buffered K", "--max-buffered");
	/* The product of number and suffix is 1 GiB modulo 2^64. */
	complains("--max-buffered 17179869185G", "17179869185G");
	complains("--max-buffered 18446744073709551616", "18446744073709551616");
	complains("--deny-subscribe a/#/b", "a/#/b");
	complains("--log-level loud", "loud");
	complains("something", "something");
}

STORY(a_port_in_use_is_told, .mosquitto = "has other options")
{
	char arguments[64];
	int status;
	const char *said;

	snprintf(arguments, sizeof(arguments), "--host 127.0.0.1 --port %u", server_port());
	said = server_run(5, arguments, &status);
	check(WIFEXITED(status) && WEXITSTATUS(status) == 1, "wait status %d", status);
	check(strstr(said, "in use") != NULL, "says %s", said);
}

STORY(an_address_of_ipv6_is_told_in_brackets, .mosquitto = "has other options")
{
	int status;
	const char *said = server_run(3, "--host ::1 --port 0", &status);

	if (strstr(said, "ssign") != NULL || strstr(said, "not supported") != NULL)
		story_skip("there is no IPv6");
	check(strncmp(said, "listening on [::1]:", 19) == 0, "says %s", said);
}

/* Nobody opens a broker to everybody by chance: somebody has to say who may come. */
STORY(a_host_that_all_can_reach_needs_passwords_or_consent, .timeout = 30,
      .mosquitto = "has other options")
{
	static const char *const hosts[] = {"0.0.0.0", "::", "::ffff:0.0.0.0"};
	char arguments[128];
	const char *said;
	int status;

	for (size_t i = 0; i < sizeof(hosts) / sizeof(*hosts); i++) {
		snprintf(arguments, sizeof(arguments), "--host %s --port 0", hosts[i]);
		said = server_run(5, arguments, &status);
		if (strstr(said, "not supported") != NULL)
			continue; /* there is no IPv6 */
		check(WIFEXITED(status) && WEXITSTATUS(status) == 1, "%s: wait status %d: %s",
		      hosts[i], status, said);
		check(strstr(said, "open to everybody") != NULL, "says %s", said);
		check(strstr(said, "listening") == NULL, "says %s", said);
		strcat(arguments, " --allow-anonymous");
		said = server_run(3, arguments, &status);
		check(strstr(said, "listening") != NULL, "says %s", said);
	}
}

/* Hosts are often named in two lines of /etc/hosts; here in one of our own. */
STORY(an_address_that_a_host_has_twice_is_taken_once, .timeout = 20,
      .mosquitto = "has other options")
{
	static const char hosts[] = "127.0.1.1 twice\n127.0.1.1 twice.local twice\n";
	char path[] = "/tmp/baton-e2e.XXXXXX", with[128], command[512];
	const int fd = mkstemp(path);
	const char *said;
	int status;

	check(fd >= 0 && write(fd, hosts, strlen(hosts)) > 0, "no file");
	close(fd);
	snprintf(with, sizeof(with), "unshare -rm sh -c 'mount --bind %s /etc/hosts && ", path);
	snprintf(command, sizeof(command), "exec 2>&1; %s getent ahosts twice'", with);
	said = server_shell(command, &status);
	if (status != 0) {
		unlink(path);
		story_skip("hosts cannot be named here: %s", said);
	}
	snprintf(command, sizeof(command),
	         "exec 2>&1; timeout --preserve-status %lld %s exec %s --host twice --port 0'",
	         story_scaled(3), with, server_path());
	said = server_shell(command, &status);
	unlink(path);
	check(status == 0, "wait status %d: %s", status, said);
	check(strstr(said, "listening on 127.0.1.1:") == said, "says %s", said);
}

/* The log says why the broker has closed a connection, and not that the client has. */
static void told_why(const char *connect, const char *words)
{
	const long long end = story_clock() + story_limit(CLIENT_PATIENCE_MS);
	struct client *client = open_client("stranger");

	say(client, "%s", connect);
	while (strstr(server_said(), words) == NULL && story_clock() < end)
		story_sleep(10);
	check(strstr(server_said(), words) != NULL, "%s: says %s", connect, server_said());
}

STORY(who_is_refused_is_told_in_the_log,
      .mosquitto = "has other words for it", .five = "MQTT 5 assigns an id")
{
	start_server("--max-sessions 0");
	told_why("CONNECT me level=7 clean", "version");
	told_why("CONNECT -", "no client id");
	told_why("CONNECT me", "--max-sessions");
}

/* Else a client's socket, or the loop's, would have the number of stderr. */
STORY(streams_may_be_closed, .mosquitto = "has other options")
{
	int status;

	server_run(3, "--port 0 <&- >&- 2>&-", &status);
	check(WIFEXITED(status) && WEXITSTATUS(status) == 0, "wait status %d", status);
}

/* What is there in place of a hash may be the password: nobody could ever log in. */
STORY(passwords_are_hashed, .mosquitto = "has other options")
{
	char arguments[128];
	const char *said;
	int status;

	snprintf(arguments, sizeof(arguments), "--port 0 --password-file %s",
	         file_write("# users\nalice:secret\n"));
	said = server_run(5, arguments, &status);
	check(WIFEXITED(status) && WEXITSTATUS(status) == 1, "wait status %d", status);
	check(strstr(said, "line=2") != NULL, "says %s", said);
}

/* Status 1, and these words. */
static void starts_not(const char *folder, const char *cert, const char *key, const char *words)
{
	char arguments[256];
	const char *said;
	int status;

	snprintf(arguments, sizeof(arguments), "--port 0 --tls-cert %s/%s --tls-key %s/%s", folder,
	         cert, folder, key);
	said = server_run(5, arguments, &status);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 1 || strstr(said, words) == NULL)
		story_fail("%s, %s: wait status %d: %s", cert, key, status, said);
}

STORY(tls_files_that_are_no_good_are_told, .timeout = 30, .mosquitto = "has other options")
{
	char folder[] = "/tmp/baton-e2e.XXXXXX", command[512];
	int status;

	check(mkdtemp(folder) != NULL, "no folder");
	snprintf(command, sizeof(command),
	         "cd %s && openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes "
	         "-keyout key -out cert -days 2 -subj /CN=localhost 2>/dev/null && "
	         "openssl genrsa -out other 2048 2>/dev/null && "
	         "openssl ec -in key -aes128 -passout pass:x -out locked 2>/dev/null",
	         folder);
	status = system(command);
	story_here(__FILE__, __LINE__);
	if (status == 0) {
		starts_not(folder, "none", "key",
		           "none reason=\"no certificate\" detail=\"No such file");
		starts_not(folder, "cert", "none", "none reason=\"no private key");
		starts_not(folder, "key", "key", "key reason=\"no certificate");
		starts_not(folder, "cert", "other", "other reason=\"not the private key");
		starts_not(folder, "cert", "locked", "pass phrase");
	}
	snprintf(command, sizeof(command), "rm -r %s", folder);
	check(system(command) == 0, "cannot remove %s", folder);
	if (status != 0)
		story_skip("openssl cannot make certificates here");
}

/* What an operator looks at first, by the names that mosquitto gave them. */
STORY(figures_of_the_broker, .timeout = 20)
{
	static const char *const expected[] = {"clients/total 2", "retained messages/count",
	                                       "subscriptions/count 4"};
	struct client *client;
	const char *got;
	unsigned int seen = 0;

	start_server(server_is_mosquitto() ? "" : "--stats-interval 1");
	client = join("keeper");
	subscribe(client, "a/#:1 b:0");
	leave(client);
	client = join("a clean");
	subscribe(client, "^$SYS/broker/+/count:0 ^$SYS/broker/clients/total:0");
	while (seen != 7) {
		got = client_next(client, story_limit(CLIENT_PATIENCE_MS));
		check(got != NULL, "not all figures came: %u", seen);
		for (unsigned int i = 0; i < 3; i++)
			if (strstr(got, expected[i]) != NULL)
				seen |= 1U << i;
	}
}

/* Few messages, so that a loop sleeps when the other one has something for it. */
STORY(a_loop_that_sleeps_is_visited, .timeout = 30, .mosquitto = "has one loop")
{
	struct client *readers[2], *writer, *watcher;
	int visits = 0;

	start_server("--threads 2 --stats-interval 1");
	watcher = join("watcher");
	subscribe(watcher, "^$SYS/broker/baton/visits:0");
	for (int i = 0; i < 2; i++) {
		readers[i] = join(i == 0 ? "a" : "b");
		subscribe(readers[i], "t:0");
	}
	writer = join("writer");
	while (visits == 0) {
		for (int message = 0; message < 20; message++) {
			publish(writer, 0, "t x");
			expect_received(readers[0], "t x");
			expect_received(readers[1], "t x");
			story_sleep(2);
		}
		visits = atoi(strrchr(receive(watcher), ' ') + 1);
	}
}

/* Reads figures until `all/tasks` has come twice; were any of sessions among them? */
static bool sessions_are_counted(const char *options)
{
	struct client *client;
	const char *got;
	unsigned int rounds = 0;
	bool seen = false;

	start_server(options);
	client = join("a clean");
	subscribe(client, "^$SYS/broker/baton/+/tasks:0");
	while (rounds < 2) {
		got = client_next(client, story_limit(CLIENT_PATIENCE_MS));
		check(got != NULL, "not all figures came");
		rounds += strstr(got, "baton/all/tasks") != NULL;
		seen = seen || strstr(got, "baton/sessions/tasks") != NULL;
	}
	return seen;
}

STORY(tasks_of_sessions_are_counted_with_stats, .timeout = 20, .mosquitto = "has no tasks")
{
	check(sessions_are_counted("--stats-interval 1 --stats"), "no figures of sessions");
}

STORY(tasks_of_sessions_cost_nothing_without_stats, .timeout = 20, .mosquitto = "has no tasks")
{
	check(!sessions_are_counted("--stats-interval 1"), "figures of sessions");
}

/* Of all topics on the board in this file, as baton-top shows it: how many tasks have run. */
static unsigned long long tasks_on_board(const char *file)
{
	static const char name[] = "{\"name\": \"topic ", count[] = "\"executed\": ";
	unsigned long long sum = 0;
	char command[200], line[4096];
	FILE *shown;

	snprintf(command, sizeof(command), "build/baton-top --json --delay 0.05 %s", file);
	shown = popen(command, "r");
	check(shown != NULL, "cannot run %s", command);
	while (fgets(line, sizeof(line), shown) != NULL) {
		const char *at = strstr(line, name) != NULL ? strstr(line, count) : NULL;

		if (at != NULL)
			sum += strtoull(at + sizeof(count) - 1, NULL, 10);
	}
	check(pclose(shown) == 0, "%s has failed", command);
	return sum;
}

/* What the broker says of its topics is what the board says. */
STORY(figures_of_topics_are_those_of_the_board, .timeout = 20, .mosquitto = "has no board")
{
	static const char topic[] = "$SYS/broker/baton/topics/tasks ";
	unsigned long long before, said = 0, after;
	struct client *client;
	char options[200], file[64];

	if (access("build/baton-top", X_OK) != 0)
		story_skip("baton-top is not built here");
	snprintf(file, sizeof(file), "build/broker/board.%d", getpid());
	snprintf(options, sizeof(options), "--stats-interval 1 --board %s", file);
	start_server(options);
	client = join("a clean");
	for (int i = 0; i < 100; i++)
		publish(client, 1, "a/topic text");
	before = tasks_on_board(file);
	check(before >= 100, "%llu tasks on the board", before);
	subscribe(client, "^$SYS/broker/baton/topics/tasks:0");
	/* The first may be retained, and the second counted before `before`. */
	for (int i = 0; i < 3; i++) {
		const char *got = client_next(client, story_limit(CLIENT_PATIENCE_MS));

		check(got != NULL && strstr(got, topic) != NULL, "no figures came");
		said = strtoull(strstr(got, topic) + sizeof(topic) - 1, NULL, 10);
	}
	after = tasks_on_board(file);
	(void)remove(file);
	check(before <= said && said <= after, "%llu <= %llu <= %llu", before, said, after);
}
