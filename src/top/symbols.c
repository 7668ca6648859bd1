/* SPDX-License-Identifier: MIT */
/* Names of the program's functions, from its symbol table, by addr2line where that is installed. */
#include "top/top.h"

#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

#define KNOWN 256

static struct known {
	uintptr_t function;
	char name[64];
} known[KNOWN];

static size_t known_count;

/* Runs addr2line. False: it is not there, or does not know the place. */
static bool ask_addr2line(const char *program, uintptr_t place, char *name, size_t size)
{
	char number[32], *arguments[] = {(char[]){"addr2line"},      (char[]){"-f"}, (char[]){"-e"},
	                                 (char *)(uintptr_t)program, number,         NULL};
	posix_spawn_file_actions_t actions;
	int pipes[2], status = -1;
	ssize_t length = -1;
	pid_t child;

	(void)snprintf(number, sizeof(number), "0x%lx", (unsigned long)place);
	if (pipe(pipes))
		return false;
	(void)posix_spawn_file_actions_init(&actions);
	(void)posix_spawn_file_actions_adddup2(&actions, pipes[1], STDOUT_FILENO);
	(void)posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", 1, 0);
	(void)posix_spawn_file_actions_addclose(&actions, pipes[0]);
	if (!posix_spawnp(&child, arguments[0], &actions, NULL, arguments, environ)) {
		(void)close(pipes[1]);
		pipes[1] = -1;
		length = read(pipes[0], name, size - 1); /* a short answer comes in one piece */
		(void)waitpid(child, &status, 0);
	}
	(void)posix_spawn_file_actions_destroy(&actions);
	(void)close(pipes[0]);
	if (pipes[1] >= 0)
		(void)close(pipes[1]);
	if (length <= 0 || status)
		return false;
	name[length] = '\0';
	name[strcspn(name, "\n")] = '\0';
	return name[0] && name[0] != '?';
}

const char *top_function(const struct top_board *board, uintptr_t function)
{
	const struct baton__board_file *file = board->file;
	const uintptr_t place = function - (uintptr_t)file->program_base;
	struct known *entry;

	if (!function)
		return "";
	for (size_t i = 0; i < known_count; i++)
		if (known[i].function == function)
			return known[i].name;
	entry = &known[known_count < KNOWN ? known_count++ : KNOWN - 1];
	entry->function = function;
	if (function < file->program_base ||
	    !ask_addr2line(file->program, place, entry->name, sizeof(entry->name)))
		(void)snprintf(entry->name, sizeof(entry->name), "0x%lx", (unsigned long)place);
	return entry->name;
}
