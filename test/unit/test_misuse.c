/* SPDX-License-Identifier: MIT */
/* A programming error stops the process, and the line that it prints says what to do. */
#include "support.h"

#include <signal.h>
#include <sys/wait.h>

static struct baton_resource topic = BATON_RESOURCE_INIT(NULL, "topic/7", NULL, NULL);

static int idle_run(struct baton_task *task)
{
	(void)task;
	return 0;
}

static struct baton_task a = BATON_TASK_INIT(idle_run, NULL);
static struct baton_task b = BATON_TASK_INIT(idle_run, NULL);

static int submits_twice(struct baton_task *task)
{
	(void)task;
	(void)baton_submit(&topic, &b);
	(void)baton_submit(&topic, &a);
	(void)baton_submit(&topic, &a);
	return 0;
}

static int submits_again(struct baton_task *task)
{
	(void)task;
	(void)baton_submit(&topic, &a);
	(void)baton_submit(&topic, &b);
	(void)baton_submit(&topic, &a);
	return 0;
}

static void in_a_task(baton_task_fn run)
{
	struct baton_task task = BATON_TASK_INIT(run, NULL);

	(void)baton_submit(&topic, &task);
}

static void task_twice_in_a_row(void)
{
	in_a_task(submits_twice);
}

static void task_twice(void)
{
	in_a_task(submits_again);
}

static void batch(size_t count)
{
	struct baton_task *tasks[20];
	struct baton_task others[20];

	for (size_t i = 0; i < count; i++) {
		others[i] = a;
		tasks[i] = &others[i];
	}
	tasks[count - 1] = tasks[0];
	(void)baton_submit_batch(&topic, tasks, count);
}

static void batch_twice(void)
{
	batch(3);
}

static void long_batch_twice(void)
{
	batch(20);
}

static void deinit_open(void)
{
	baton_resource_deinit(&topic);
}

static void deinit_no_name(void)
{
	struct baton_resource resource = BATON_RESOURCE_INIT(NULL, NULL, NULL, NULL);

	baton_resource_deinit(&resource);
}

static void *deinit_inside(void *arg)
{
	(void)baton_resource_close(&topic);
	baton_resource_deinit(&topic);
	return arg;
}

static void deinit_busy(void)
{
	(void)baton_call(&topic, deinit_inside, NULL, NULL);
}

static const struct mistake {
	void (*make)(void);
	const char *line; /* what it begins with, behind "baton: " */
} mistakes[] = {
	{deinit_open, "baton_resource_deinit: \"topic/7\" is not closed: close and await it first"},
	{deinit_no_name, "baton_resource_deinit: \"(no name)\" is not closed"},
	{deinit_busy, "baton_resource_deinit: \"topic/7\" is closed, but not idle yet"},
	{task_twice_in_a_row, "baton_submit: \"topic/7\" was given a task that already waited"},
	{task_twice, "baton_submit: \"topic/7\" was given a task that already waited"},
	{batch_twice, "baton_submit_batch: \"topic/7\" was given the same task twice"},
	{long_batch_twice, "baton_submit_batch: \"topic/7\" was given the same task twice"},
};

/* A child of its own makes the mistake: what it prints; false: it did not abort. */
static bool made(const struct mistake *mistake, char *printed, size_t size)
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
		alarm(5);
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

Test(misuse, is_said_in_the_callers_words, .timeout = 60)
{
	for (size_t i = 0; i < sizeof(mistakes) / sizeof(*mistakes); i++) {
		char printed[512];
		char expected[256];

		cr_expect(made(&mistakes[i], printed, sizeof(printed)), "no abort: %s",
		          mistakes[i].line);
		snprintf(expected, sizeof(expected), "baton: %s", mistakes[i].line);
		cr_expect(strncmp(printed, expected, strlen(expected)) == 0, "%s\nprinted: %s",
		          expected, printed);
	}
}
