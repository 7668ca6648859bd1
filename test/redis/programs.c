/* SPDX-License-Identifier: MIT */
#include "programs.h"

#include <criterion/criterion.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define WORDS_MAX 24

/* ---- Running programs ---- */

void pause_5_ms(void)
{
	usleep(5000);
}

static _Noreturn void become(const struct program *self, const char **words)
{
	const char *folder = getenv("QUEUE_PROGRAMS");
	char path[256];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	snprintf(path, sizeof(path), "%s/%s", folder ? folder : "build/examples/queue", words[0]);
	dup2(open(self->out, O_WRONLY | O_CREAT | O_APPEND, 0600), 1);
	dup2(open(self->err, O_WRONLY | O_CREAT | O_APPEND, 0600), 2);
	execv(path, (char **)(uintptr_t)words);
	perror(path);
	_exit(126);
}

/* The words end with NULL. */
struct program launch(const char **words)
{
	static int count;
	struct program self;

	count++;
	snprintf(self.out, sizeof(self.out), "%s/%d.out", server.directory, count);
	snprintf(self.err, sizeof(self.err), "%s/%d.err", server.directory, count);
	self.pid = fork();
	if (self.pid == 0)
		become(&self, words);
	cr_assert_gt(self.pid, 0);
	return self;
}

static struct program start_list(const char *socket, const char *patience, const char *name,
                                 va_list list)
{
	const char *words[WORDS_MAX] = {name, "--socket", socket, "--patience", patience};

	for (int i = 5; i < WORDS_MAX - 1 && (words[i] = va_arg(list, const char *)); i++)
		;
	return launch(words);
}

/* The program `name` on the test's server, and its further words, which end with NULL. */
struct program start(const char *name, ...)
{
	struct program self;
	va_list list;

	va_start(list, name);
	self = start_list(server.socket, "10", name, list);
	va_end(list);
	return self;
}

/* The same, where no server is. */
struct program start_nowhere(const char *name, ...)
{
	struct program self;
	va_list list;

	va_start(list, name);
	self = start_list("/no/redis", "0", name, list);
	va_end(list);
	return self;
}

/* Its exit status; 1000 and more: the signal that ended it. */
int await_end(const struct program *self)
{
	int status = 0;

	for (int ms = 0; waitpid(self->pid, &status, WNOHANG) == 0; ms += 5) {
		cr_assert_lt(ms, PATIENCE_MS, "a program does not end");
		pause_5_ms();
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

const char *contents(const char *path)
{
	static char text[8192];
	FILE *file = fopen(path, "r");
	size_t size = file ? fread(text, 1, sizeof(text) - 1, file) : 0;

	if (file)
		fclose(file);
	text[size] = '\0';
	return text;
}

void await_text(const char *path, const char *text)
{
	for (int ms = 0; !strstr(contents(path), text); ms += 5) {
		cr_assert_lt(ms, PATIENCE_MS, "no '%s' in: %s", text, contents(path));
		pause_5_ms();
	}
}

void says(const struct program *self, const char *text)
{
	cr_assert(strstr(contents(self->err), text), "no '%s' in: %s", text, contents(self->err));
}

/* The program says why, and ends with this status. */
void fails(const struct program *self, int status, const char *text)
{
	int is = await_end(self);

	says(self, text);
	cr_assert_eq(is, status, "%d: %s", is, contents(self->err));
}

void await_number(long long number, const char *command)
{
	long long is;

	for (int ms = 0; (is = server_number(&server, command)) != number; ms += 5) {
		cr_assert_lt(ms, PATIENCE_MS, "%s: %lld", command, is);
		pause_5_ms();
	}
}

/* ---- A queue with one backend ---- */

struct program queue_scheduler;
struct program queue_backend;

void start_queue(const char *durations)
{
	static char address[128];

	snprintf(address, sizeof(address), "unix:%s/backend", server.directory);
	queue_scheduler = start("scheduler", "--limits", "1,1,1", "--durations", durations, NULL);
	queue_backend = start("backend", "--listen", address, "--name", "one", NULL);
	await_text(queue_scheduler.out, "leads");
	await_number(1, "ZCARD {baton}:backends");
}

/* Both leave their queue in order. */
void end_queue(void)
{
	kill(queue_backend.pid, SIGTERM);
	cr_assert_eq(await_end(&queue_backend), 0);
	cr_assert_eq(server_number(&server, "ZCARD {baton}:backends"), 0);
	kill(queue_scheduler.pid, SIGINT);
	cr_assert_eq(await_end(&queue_scheduler), 0);
	cr_assert_eq(server_number(&server, "EXISTS {baton}:lease:scheduler"), 0);
}

void no_task_is_left(void)
{
	await_number(0, "ZCARD {baton}:queue");
	await_number(0, "HLEN {baton}:run");
	cr_assert_eq(server_number(&server, "EVAL %s 0",
	                           "return #redis.call('KEYS', '{baton}:task:*') + "
	                           "#redis.call('KEYS', '{baton}:files:*') + "
	                           "#redis.call('KEYS', '{baton}:note:*')"),
	             0);
}
