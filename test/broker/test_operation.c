/* SPDX-License-Identifier: MIT */
/* The command line, passwords, TLS. */
#include "client.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "server.h"

/* "secret", as our broker and as mosquitto has it in a file. */
#define HASHED                                                                                     \
	"alice:$6$batonbaton$Pr/VD0QDrFnM/C00dLZZRyQsooB3GH7Bs4NY00o63KvZHl"                       \
	"xsiS/xj8D.spBZI3zslAmkaoR/HKhSU9kd48jfK.\n"
#define HASHED_MOSQUITTO                                                                           \
	"alice:$7$101$FAr3bilWgn8ZhH0y$hMHvfyuG81aCQ61H3nCxnrQHIzNcBKU5pKluGO"                     \
	"3uIoA6eI1TnxgyomzGaWZVbEsp/6M/AFUHKH82owIQ+R/1eQ==\n"

/* What a command says on either stream, until the next call. */
static const char *run(const char *command, int *status)
{
	static char said[16384];
	FILE *output = popen(command, "r");
	size_t size;

	check(output != NULL, "cannot run %s", command);
	size = fread(said, 1, sizeof(said) - 1, output);
	said[size] = '\0';
	*status = pclose(output);
	return said;
}

/* Runs the broker with these arguments, for so many seconds, and then ends it; what it says. */
static const char *run_broker_for(long long seconds, const char *arguments, int *status)
{
	char command[1024];

	snprintf(command, sizeof(command), "exec 2>&1; timeout --preserve-status %lld %s %s",
	         story_scaled(seconds), server_path(), arguments);
	return run(command, status);
}

static const char *run_broker(const char *arguments, int *status)
{
	return run_broker_for(5, arguments, status);
}

STORY(help_tells_every_option, .mosquitto = "has other options")
{
	static const char *const options[] = {
		"--host",          "--port",           "--threads",          "--max-packet",
		"--max-queued",    "--max-inflight",   "--deny-subscribe",   "--allow-anonymous",
		"--tls-cert",      "--tls-key",        "--stats-interval",   "--log-level",
		"--password-file", "mosquitto_sub",    "mosquitto_pub",      "--tls-port",
		"--max-sessions",  "--session-expiry", "--max-queued-total",
	};
	int status;
	const char *said = run_broker("--help", &status);

	check(status == 0, "status %d", status);
	for (size_t i = 0; i < sizeof(options) / sizeof(*options); i++)
		check(strstr(said, options[i]) != NULL, "--help does not mention %s", options[i]);
}

/* Status 2, and one line that has these words. */
static void complains(const char *arguments, const char *words)
{
	int status;
	const char *said = run_broker(arguments, &status);

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
	complains("--port 65536", "65536");
	complains("--port x", "--port");
	complains("--threads 0", "--threads");
	complains("--max-packet nothing", "--max-packet");
	complains("--max-queued -1", "--max-queued");
	complains("--max-inflight 0", "--max-inflight");
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
	said = run_broker(arguments, &status);
	check(WIFEXITED(status) && WEXITSTATUS(status) == 1, "wait status %d", status);
	check(strstr(said, "in use") != NULL, "says %s", said);
}

STORY(an_address_of_ipv6_is_told_in_brackets, .mosquitto = "has other options")
{
	int status;
	const char *said = run_broker_for(1, "--host ::1 --port 0", &status);

	if (strstr(said, "ssign") != NULL || strstr(said, "not supported") != NULL)
		story_skip("there is no IPv6");
	check(strncmp(said, "listening on [::1]:", 19) == 0, "says %s", said);
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
	said = run(command, &status);
	if (status != 0) {
		unlink(path);
		story_skip("hosts cannot be named here: %s", said);
	}
	snprintf(command, sizeof(command),
	         "exec 2>&1; timeout --preserve-status %lld %s exec %s --host twice --port 0'",
	         story_scaled(1), with, server_path());
	said = run(command, &status);
	unlink(path);
	check(status == 0, "wait status %d: %s", status, said);
	check(strstr(said, "listening on 127.0.1.1:") == said, "says %s", said);
}

/* The log says why the broker has closed a connection, and not that the client has. */
static void told_why(const char *connect, const char *words)
{
	const long long end = story_clock() + story_scaled(CLIENT_PATIENCE_MS);
	struct client *client = open_client("stranger");

	say(client, "%s", connect);
	while (strstr(server_said(), words) == NULL && story_clock() < end)
		story_sleep(10);
	check(strstr(server_said(), words) != NULL, "%s: says %s", connect, server_said());
}

STORY(who_is_refused_is_told_in_the_log, .mosquitto = "has other words for it")
{
	start_server("--max-sessions 0");
	told_why("CONNECT me level=5 clean", "version");
	told_why("CONNECT -", "no client id");
	told_why("CONNECT me", "--max-sessions");
}

/* Else a client's socket, or the loop's, would have the number of stderr. */
STORY(streams_may_be_closed, .mosquitto = "has other options")
{
	int status;

	run_broker_for(1, "--port 0 <&- >&- 2>&-", &status);
	check(WIFEXITED(status) && WEXITSTATUS(status) == 0, "wait status %d", status);
}

/* A file of this process's, gone when it ends. */
static const char *write_file(const char *text)
{
	static char path[64];
	int fd = memfd_open();

	check(write(fd, text, strlen(text)) == (ssize_t)strlen(text), "no file");
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)getpid(), fd);
	return path;
}

static void start_with_passwords(const char *more)
{
	char options[128];

	snprintf(options, sizeof(options), "--password-file %s%s",
	         write_file(server_is_mosquitto() ? HASHED_MOSQUITTO : HASHED), more);
	start_server(options);
}

/* The standard has 4 for a wrong password and 5 for who may not; mosquitto always says 5. */
static void refused(const char *words)
{
	struct client *client = open_client("stranger");
	const char *answer;

	say(client, "CONNECT %s", words);
	answer = client_next(client, story_scaled(CLIENT_PATIENCE_MS));
	check(answer != NULL &&
	              (strcmp(answer, "CONNACK 0 4") == 0 || strcmp(answer, "CONNACK 0 5") == 0),
	      "%s: got %s", words, answer != NULL ? answer : "nothing");
	expect_closed(client);
}

/* What is there in place of a hash may be the password: nobody could ever log in. */
STORY(passwords_are_hashed, .mosquitto = "has other options")
{
	char arguments[128];
	const char *said;
	int status;

	snprintf(arguments, sizeof(arguments), "--port 0 --password-file %s",
	         write_file("# users\nalice:secret\n"));
	said = run_broker(arguments, &status);
	check(WIFEXITED(status) && WEXITSTATUS(status) == 1, "wait status %d", status);
	check(strstr(said, "line 2") != NULL, "says %s", said);
}

STORY(passwords_are_asked_for)
{
	start_with_passwords("");
	join("a clean user=alice password=secret");
	refused("b clean user=alice password=Secret");
	refused("c clean user=alice password=");
	refused("d clean user=alice");
	refused("e clean user=bob password=secret");
	refused("f clean");
}

STORY(passwords_and_strangers)
{
	start_with_passwords(" --allow-anonymous");
	join("a clean user=alice password=secret");
	join("b clean");
	refused("c clean user=alice password=wrong");
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
	path = write_file(empty);
	snprintf(options, sizeof(options), "--password-file %s", path);
	start_server(options);
	refused("a clean user=alice password=secret");
	file = fopen(path, "r+");
	check(file != NULL && fputs(text, file) > 0 && fclose(file) == 0, "cannot write");
	kill(server_pid(), SIGHUP);
	story_sleep(story_scaled(500));
	client = join("a clean user=alice password=secret");
	/* What cannot be read changes nothing. */
	check(truncate(path, 3) == 0, "cannot truncate");
	if (!server_is_mosquitto())
		kill(server_pid(), SIGHUP);
	story_sleep(story_scaled(300));
	ping(client);
	if (!server_is_mosquitto())
		join("b clean user=alice password=secret");
}

/* Whose password is not looked at any more is not told that it is wrong: it would give up. */
STORY(passwords_are_not_wrong_because_of_the_end)
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
	refused("a clean user=alice password=wrong will=w message=bye");
	refused("a clean");
	expect_silence(client, 200);
	ping(client);
}

STORY(passwords_of_strangers_matter_nowhere_else)
{
	join("a clean user=anybody password=anything");
	join("b clean user=anybody");
}

/* Status 1, and these words. */
static void starts_not(const char *folder, const char *cert, const char *key, const char *words)
{
	char arguments[256];
	const char *said;
	int status;

	snprintf(arguments, sizeof(arguments), "--port 0 --tls-cert %s/%s --tls-key %s/%s", folder,
	         cert, folder, key);
	said = run_broker(arguments, &status);
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
		starts_not(folder, "none", "key", "none: no certificate: No such file");
		starts_not(folder, "cert", "none", "none: no private key");
		starts_not(folder, "key", "key", "key: no certificate");
		starts_not(folder, "cert", "other", "other: not the private key");
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
		got = client_next(client, story_scaled(CLIENT_PATIENCE_MS));
		check(got != NULL, "not all figures came: %u", seen);
		for (unsigned int i = 0; i < 3; i++)
			if (strstr(got, expected[i]) != NULL)
				seen |= 1U << i;
	}
}
