/* SPDX-License-Identifier: MIT */
/* What a process has used; see process.h. */
#include "process.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static bool read_file(pid_t pid, const char *name, char *text, int size)
{
	char path[64];
	FILE *file;
	size_t got;

	snprintf(path, sizeof(path), "/proc/%ld/%s", (long)pid, name);
	file = fopen(path, "re");
	if (file == NULL)
		return false;
	got = fread(text, 1, (size_t)size - 1, file);
	text[got] = '\0';
	fclose(file);
	return got > 0;
}

double process_cpu(pid_t pid)
{
	unsigned long user, system;
	char text[1024];
	const char *behind;

	if (!read_file(pid, "stat", text, sizeof(text)))
		return -1;
	behind = strrchr(text, ')'); /* a name may hold anything */
	if (behind == NULL ||
	    sscanf(behind + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user,
	           &system) != 2)
		return -1;
	return (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
}

double process_own_cpu(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
	       (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

long process_rss(pid_t pid)
{
	char text[256];
	long pages;

	if (!read_file(pid, "statm", text, sizeof(text)) || sscanf(text, "%*d %ld", &pages) != 1)
		return 0;
	return pages * sysconf(_SC_PAGESIZE);
}
