/* SPDX-License-Identifier: MIT */
/* Mistakes, and what the library prints. A child process makes each. */
#ifndef BATON_TEST_UNIT_MISUSE_H
#define BATON_TEST_UNIT_MISUSE_H

#include "child.h"
#include "support.h"

#include <signal.h>
#include <sys/wait.h>

static struct baton_resource topic = BATON_RESOURCE_INIT(&FILE_NAMED("topic/7"));

struct mistake {
	void (*make)(void);
	const char *line; /* the beginning of the printed line, behind "baton: " */
};

static inline int idle_run(struct baton_task *task)
{
	return 0;
}

static inline void in_a_task(baton_task_fn run)
{
	struct baton_task task = BATON_TASK_INIT(run, NULL);

	BATON_IGNORE(baton_submit(&topic, &task));
}

/* A child process makes the mistake, and its output goes to `printed`. False: it did not abort. */
static inline bool mistake_made(const struct mistake *mistake, char *printed, size_t size)
{
	size_t length = 0;
	ssize_t got;
	int status;
	int ends[2];
	pid_t child;

	MUST(pipe(ends) == 0);
	child = fork();
	MUST(child >= 0);
	if (child == 0) {
		MUST(dup2(ends[1], STDERR_FILENO) >= 0);
		signal(SIGABRT, SIG_DFL); /* a sanitizer's, or the test's */
		child_begins();
		mistake->make();
		_exit(0);
	}
	MUST(close(ends[1]) == 0);
	while ((got = read(ends[0], printed + length, size - 1 - length)) > 0)
		length += (size_t)got;
	printed[length] = 0;
	MUST(close(ends[0]) == 0);
	MUST(waitpid(child, &status, 0) == child);
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

static inline void mistakes_are_said(const struct mistake *mistakes, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		char printed[512];
		char expected[256];

		cr_expect(mistake_made(&mistakes[i], printed, sizeof(printed)), "no abort: %s",
		          mistakes[i].line);
		snprintf(expected, sizeof(expected), "baton: %s", mistakes[i].line);
		cr_expect(strncmp(printed, expected, strlen(expected)) == 0, "%s\nprinted: %s",
		          expected, printed);
	}
}

#endif
