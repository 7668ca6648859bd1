/* SPDX-License-Identifier: MIT */
/* Signals: what ends a broker, how, and what does not. */
#include "client.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "server.h"

STORY(sigterm_ends_it_with_status_0)
{
	struct client *publisher, *client;
	int status;

	start_server("");
	publisher = join("publisher clean");
	client = join("a will=w message=bye wq=1");
	open_client("silent");
	subscribe(client, "t:1");
	for (int i = 1; i < 100; i++)
		say(publisher, "PUBLISH q1 id%d t %d", i, i);
	status = server_stop();
	check(WIFEXITED(status) && WEXITSTATUS(status) == 0, "wait status %d", status);
}

/* There is nothing to wait for: the will waits for the end of its connection itself. */
STORY(sigterm_waits_for_no_will)
{
	int status;

	start_server(server_is_mosquitto() ? "" : "--stop-timeout 60");
	join("a clean will=w message=bye");
	status = server_stop();
	check(WIFEXITED(status) && WEXITSTATUS(status) == 0, "wait status %d", status);
}

STORY(sigterm_ends_an_idle_one)
{
	int status;

	start_server("");
	status = server_stop();
	check(WIFEXITED(status) && WEXITSTATUS(status) == 0, "wait status %d", status);
}

/*
 * The first signal waits for a client that does not take what waits for it, for as long as
 * --stop-timeout; so does a broker that has no idea what a second one is.
 */
static void end_by_two(int first, int second, const char *options)
{
	struct client *publisher, *stuck;
	long long end;
	int status = 0;

	start_server(options);
	publisher = join("publisher clean");
	stuck = join("stuck clean alive=0");
	subscribe(stuck, "t:0");
	for (int i = 0; i < 400; i++)
		client_publish_large(publisher, "t", 60000);
	ping(publisher);
	kill(server_pid(), first);
	await_said("event=stopping");
	story_sleep(600);
	check(server_alive(&status), "ended by the first, wait status %d", status);
	kill(server_pid(), second);
	end = story_clock() + story_limit(CLIENT_PATIENCE_MS);
	while (server_alive(&status))
		check((story_sleep(5), story_clock() < end), "it did not end");
	check(WIFSIGNALED(status) && WTERMSIG(status) == second, "wait status %d", status);
	await_said("ended at once");
}

STORY(a_second_signal_ends_it_at_once, .timeout = 40, .mosquitto = "ends by the first")
{
	static const char options[] = "--stop-timeout 60 --log-level info --max-buffered 64M";

	end_by_two(SIGTERM, SIGTERM, options);
	end_by_two(SIGINT, SIGTERM, options);
	end_by_two(SIGTERM, SIGINT, options);
}

/* From its start on, and each of them twice: they are one, and it ends as it should. */
STORY(signals_in_a_row_are_one, .timeout = 40, .mosquitto = "may be killed by one")
{
	for (int round = 0; round < 30; round++) {
		int status;

		start_server("");
		for (int i = 0; i < 3; i++) {
			kill(server_pid(), SIGHUP);
			kill(server_pid(), round % 3 == i ? SIGINT : SIGTERM);
			for (volatile int spin = 0; spin < round * 1000; spin++)
				continue;
		}
		while (server_alive(&status))
			kill(server_pid(), SIGHUP);
		check(status == 0, "wait status %d, says %s", status, server_said());
	}
}

STORY(sighup_does_not_end_it)
{
	struct client *client;
	int status = 0;

	start_server("");
	client = join("a clean");
	subscribe(client, "t:0");
	for (int i = 0; i < 5; i++) {
		kill(server_pid(), SIGHUP);
		story_sleep(20);
		publish(client, 0, "t %d", i);
		expect(client, "PUBLISH q0 t %d", i);
	}
	check(server_alive(&status), "the broker has ended, wait status %d", status);
}
