/* SPDX-License-Identifier: MIT */
/* The line that a mistake prints: each packet of the pipe is one write. */
#include "support.h"

#include <fcntl.h>
#include <sys/wait.h>

static struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;

/* A mistake in a process of its own, with a stderr that keeps what is printed. */
static _Noreturn void make_mistake(int fd)
{
	static char kept[65536];
	struct baton_resource resource;

	MUST(dup2(fd, STDERR_FILENO) == STDERR_FILENO);
	MUST(setvbuf(stderr, kept, _IOFBF, sizeof(kept)) == 0);
	baton_resource_init(&resource, &config);
	baton_resource_deinit(&resource);
	_exit(0);
}

/* Returns the only packet that the mistake writes. */
static void line_of_mistake(char *line, size_t size)
{
	ssize_t length;
	char more;
	int ends[2];
	pid_t child;
	int status;

	MUST(pipe2(ends, O_DIRECT | O_CLOEXEC) == 0);
	child = fork();
	MUST(child >= 0);
	if (child == 0)
		make_mistake(ends[1]);
	MUST(close(ends[1]) == 0);
	MUST(waitpid(child, &status, 0) == child);
	cr_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT, "status %d", status);
	length = read(ends[0], line, size - 1);
	cr_assert(length > 0, "nothing was printed");
	line[length] = 0;
	cr_assert_eq(read(ends[0], &more, 1), 0, "a second write");
	MUST(close(ends[0]) == 0);
}

Test(print, a_mistakes_line_is_one_write_however_stderr_is_buffered, .timeout = 5)
{
	char line[4096];

	config.name = "topic/7";
	line_of_mistake(line, sizeof(line));
	cr_assert(strstr(line, "baton: baton_resource_deinit: \"topic/7\" is not closed"), "%s",
	          line);
	cr_assert_eq(strchr(line, '\n'), line + strlen(line) - 1, "%s", line);
}

Test(print, a_line_that_is_too_long_is_cut_and_still_one_line, .timeout = 5)
{
	static char name[2000];
	char line[4096];

	memset(name, 'n', sizeof(name) - 1);
	config.name = name;
	line_of_mistake(line, sizeof(line));
	cr_assert(strstr(line, "baton: baton_resource_deinit: \"nnnn"), "%s", line);
	cr_assert_eq(strchr(line, '\n'), line + strlen(line) - 1, "%s", line);
}
