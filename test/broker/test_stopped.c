/* SPDX-License-Identifier: MIT */
/*
 * A broker that is itself late: it is stopped, or gets no CPU. Clients that have sent in time,
 * while the broker could not look, are not closed.
 *
 * The stop hurts most where the loop has looked at its sockets and has not yet judged who is late.
 * The story stops the loop's thread just there: by ptrace, at the end of an epoll_wait() that does
 * not sleep, which is the look before the deadlines.
 */
#include "client.h"
#include "server.h"

#include <dirent.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define CLIENTS 3
#define STOPPED_MS 2500
#define PING_MS 250

static const unsigned char pingreq[] = {0xc0, 0x00};

static void ping_all(struct client **clients)
{
	for (int i = 0; i < CLIENTS; i++)
		client_send(clients[i], pingreq, sizeof(pingreq));
}

static void expect_pingresp(struct client **clients, int count)
{
	for (int i = 0; i < CLIENTS; i++)
		for (int k = 0; k < count; k++)
			expect(clients[i], "PINGRESP");
}

/* The broker's only loop. */
static pid_t loop_thread(void)
{
	char path[300], name[32] = "";
	struct dirent *entry;
	pid_t found = 0;
	DIR *tasks;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)server_pid());
	tasks = opendir(path);
	check(tasks != NULL, "no %s", path);
	while (found == 0 && (entry = readdir(tasks)) != NULL) {
		FILE *file;

		snprintf(path, sizeof(path), "/proc/%d/task/%s/comm", (int)server_pid(),
		         entry->d_name);
		file = fopen(path, "re");
		if (file != NULL && fgets(name, sizeof(name), file) != NULL &&
		    strcmp(name, "loop-0\n") == 0)
			found = atoi(entry->d_name);
		if (file != NULL)
			fclose(file);
	}
	closedir(tasks);
	check(found != 0, "the broker has no thread loop-0");
	return found;
}

/* 1: the thread enters an epoll_wait that does not sleep; 2: it leaves any call; 0: neither. */
static int what_call(pid_t thread)
{
	struct __ptrace_syscall_info info = {0};

	if (ptrace(PTRACE_GET_SYSCALL_INFO, thread, (void *)sizeof(info), &info) <= 0)
		return 0;
	if (info.op == PTRACE_SYSCALL_INFO_EXIT)
		return 2;
	if (info.op != PTRACE_SYSCALL_INFO_ENTRY)
		return 0;
#ifdef SYS_epoll_wait
	if (info.entry.nr == SYS_epoll_wait && (int)info.entry.args[3] == 0)
		return 1;
#endif
	return info.entry.nr == SYS_epoll_pwait && (int)info.entry.args[3] == 0;
}

static void stop_behind_a_look(pid_t thread)
{
	int status, call, before = 0;

	if (ptrace(PTRACE_SEIZE, thread, NULL, (void *)PTRACE_O_TRACESYSGOOD) != 0)
		story_skip("ptrace is not allowed");
	check(ptrace(PTRACE_INTERRUPT, thread, NULL, NULL) == 0, "no interrupt");
	for (;;) {
		check(waitpid(thread, &status, __WALL) == thread && WIFSTOPPED(status),
		      "the loop has ended");
		call = what_call(thread);
		if (before == 1 && call == 2)
			return;
		before = call;
		check(ptrace(PTRACE_SYSCALL, thread, NULL, NULL) == 0, "the loop is lost");
	}
}

/*
 * Keep alive is 3 s, so that 4.5 s of silence are the most. The alarm for the CONNECT, at 4.5 s, is
 * too early after the first PINGREQ, at 1 s: nobody is late then. The broker is stopped from then
 * until 7 s.
 */
STORY(stopped_broker_closes_nobody_who_has_sent_in_time, .timeout = 20,
      .mosquitto = "has no thread loop-0")
{
	struct client *clients[CLIENTS];
	char words[32];
	pid_t thread;
	int pings = 0;

	start_server("--threads 1");
	for (int i = 0; i < CLIENTS; i++) {
		snprintf(words, sizeof(words), "a%d clean alive=3", i);
		clients[i] = join(words);
	}
	story_sleep(1000);
	ping_all(clients);
	expect_pingresp(clients, 1);
	thread = loop_thread();
	stop_behind_a_look(thread);
	for (int at = 0; at < STOPPED_MS; at += PING_MS) {
		ping_all(clients);
		pings++;
		story_sleep(PING_MS);
	}
	ptrace(PTRACE_DETACH, thread, NULL, NULL);
	expect_pingresp(clients, pings);
	/* Who is silent is closed all the same. */
	for (int i = 0; i < CLIENTS; i++)
		expect_closed(clients[i]);
}
