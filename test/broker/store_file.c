/* SPDX-License-Identifier: MIT */
/* A story's own store; see store_file.h. */
#include "store_file.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "server.h"

#define FOLDER "build/e2e-store"

void store_remove(void)
{
	static const char *const ends[] = {"", "-wal", "-shm", "-journal", ".trace"};
	char path[256];

	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
		snprintf(path, sizeof(path), FOLDER "/%s.db%s", story_name(), ends[i]);
		(void)unlink(path);
	}
}

const char *store_path(void)
{
	static char path[256];

	if (path[0] == '\0') {
		if (mkdir(FOLDER, 0777) != 0 && errno != EEXIST)
			story_fail(FOLDER ": %s", strerror(errno));
		store_remove();
		snprintf(path, sizeof(path), FOLDER "/%s.db", story_name());
	}
	return path;
}

void store_begin(const char *options)
{
	char all[512];

	snprintf(all, sizeof(all), "--store %s %s", store_path(), options);
	server_start(all, 0);
}

void store_kill(void)
{
	int status;

	kill(server_pid(), SIGKILL);
	waitpid(server_pid(), &status, 0);
}

void store_run(const char *path, const char *options, int expected, const char *words)
{
	char line[512], said[4096] = "";
	size_t size = 0;
	FILE *out;
	int status;

	snprintf(line, sizeof(line), "timeout 20 %s %s --store '%s' 2>&1", server_path(), options,
	         path);
	out = popen(line, "r");
	if (out == NULL)
		story_fail("popen: %s", strerror(errno));
	size = fread(said, 1, sizeof(said) - 1, out);
	said[size] = '\0';
	status = pclose(out);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != expected)
		story_fail("wait status %d: %s", status, said);
	if (strstr(said, words) == NULL)
		story_fail("expected \"%s\": %s", words, said);
}
