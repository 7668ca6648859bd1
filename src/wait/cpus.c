/* SPDX-License-Identifier: MIT */
/*
 * How many CPUs this process may use: the smaller of sched_getaffinity's answer and the quota of
 * the process's cgroup, version 2 (cpu.max) or 1 (cpu.cfs_quota_us). In a container, affinity often
 * says 64 where the quota says 2. Of 64 workers most would then be stopped most of the time,
 * holding batons.
 */
#include "wait/cpus.h"

#include "base/atomic.h"

#include <errno.h>
#include <sched.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The kernel refuses a set that is too small. No kernel has more than CPUS_MAX CPUs. */
#define CPUS_FIRST 1024
#define CPUS_MAX (1 << 20)

/* Where a hierarchy with the cpu controller is mounted. */
struct mount {
	char *point;
	char *top; /* the cgroup that is visible at the mount point */
	bool is_v2;
};

/* The formatted text, malloc'ed; NULL: no memory. */
__attribute__((format(printf, 1, 2))) static char *text(const char *format, ...)
{
	va_list arguments;
	char *result;

	va_start(arguments, format);
	if (vasprintf(&result, format, arguments) < 0)
		result = NULL;
	va_end(arguments);
	return result;
}

/* Is `name` among the comma-separated words? */
static bool has_word(const char *words, const char *name)
{
	size_t length = strlen(name);

	for (const char *word = words; word; word = strchr(word, ',')) {
		if (*word == ',')
			word++;
		if (!strncmp(word, name, length) && (word[length] == ',' || !word[length]))
			return true;
	}
	return false;
}

/* Copies word n of the line, counted from 0, into malloc'ed memory. NULL: the line has fewer words,
 * or there is no memory. */
static char *nth_word(const char *line, int n)
{
	line += strspn(line, " ");
	for (; n > 0; n--) {
		line += strcspn(line, " ");
		line += strspn(line, " ");
	}
	return *line ? strndup(line, strcspn(line, " \n")) : NULL;
}

/* Parses a line of mountinfo: ids, device, root, mount point, options, ..., " - ", type, source,
 * options. True: `mount` is filled; the caller frees its strings. */
static bool parse_mount(const char *line, struct mount *mount)
{
	const char *rest = strstr(line, " - ");
	char type[16];
	char options[256];
	bool is_v1;

	if (!rest || sscanf(rest, " - %15s %*s %255s", type, options) != 2)
		return false;
	mount->is_v2 = !strcmp(type, "cgroup2");
	is_v1 = !strcmp(type, "cgroup") && has_word(options, "cpu");
	if (!mount->is_v2 && !is_v1)
		return false;
	mount->top = nth_word(line, 3);
	mount->point = nth_word(line, 4);
	if (mount->top && mount->point)
		return true;
	free(mount->top);
	free(mount->point);
	return false;
}

/* The process's cgroup in the hierarchy of that version, malloc'ed; NULL: not found. */
static char *own_cgroup(const char *root, bool is_v2)
{
	char *name = text("%s/proc/self/cgroup", root);
	FILE *file = name ? fopen(name, "re") : NULL;
	char *line = NULL;
	char *found = NULL;
	size_t size = 0;

	free(name);
	if (!file)
		return NULL;
	while (!found && getline(&line, &size, file) > 0) { /* bounded by the file */
		char *controllers = strchr(line, ':');
		char *path = controllers ? strchr(controllers + 1, ':') : NULL;

		if (!path)
			continue;
		*controllers++ = *path++ = '\0';
		path[strcspn(path, "\n")] = '\0';
		if (is_v2 ? !*controllers : has_word(controllers, "cpu"))
			found = strdup(path);
	}
	free(line);
	(void)fclose(file);
	return found;
}

/* Reads up to two numbers; returns how many there are. The word "max" is no number. */
static int read_numbers(const char *name, long long *first, long long *second)
{
	FILE *file = name ? fopen(name, "re") : NULL;
	int count;

	if (!file)
		return 0;
	count = fscanf(file, "%lld %lld", first, second);
	(void)fclose(file);
	return count;
}

/* The quota of the cgroup with this directory; 0: none. */
static size_t quota_of(const char *directory, bool is_v2)
{
	char *name = text(is_v2 ? "%s/cpu.max" : "%s/cpu.cfs_quota_us", directory);
	long long quota = 0;
	long long period = 0;
	long long unused;
	bool known;

	if (is_v2) {
		known = read_numbers(name, &quota, &period) == 2;
	} else {
		known = read_numbers(name, &quota, &unused) >= 1;
		free(name);
		name = text("%s/cpu.cfs_period_us", directory);
		known = known && read_numbers(name, &period, &unused) >= 1;
	}
	free(name);
	if (!known || quota <= 0 || period <= 0)
		return 0;
	return (size_t)(quota / period + (quota % period != 0));
}

static size_t smaller_quota(size_t one, size_t other)
{
	if (!one || !other)
		return one + other;
	return one < other ? one : other;
}

/* The smallest quota on the way from the process's cgroup up to the mount point; 0: none. */
static size_t quota_in(const char *root, const struct mount *mount)
{
	char *cgroup = own_cgroup(root, mount->is_v2);
	const char *below = cgroup;
	size_t top_length = strlen(mount->top);
	size_t quota = 0;
	char *directory;
	size_t length;

	if (!cgroup)
		return 0;
	if (top_length > 1 && !strncmp(cgroup, mount->top, top_length) &&
	    (cgroup[top_length] == '/' || !cgroup[top_length]))
		below += top_length;
	directory = text("%s%s%s", root, mount->point, below);
	free(cgroup);
	if (!directory)
		return 0;
	length = strlen(root) + strlen(mount->point);
	/* Bounded by the path's length. */
	for (;;) {
		char *slash;

		quota = smaller_quota(quota, quota_of(directory, mount->is_v2));
		slash = strrchr(directory + length, '/');
		if (!slash)
			break;
		*slash = '\0';
	}
	free(directory);
	return quota;
}

size_t baton__cpus_quota(const char *root)
{
	char *name = text("%s/proc/self/mountinfo", root);
	FILE *file = name ? fopen(name, "re") : NULL;
	char *line = NULL;
	size_t size = 0;
	size_t quota = 0;
	struct mount mount;

	free(name);
	if (!file)
		return 0;
	while (getline(&line, &size, file) > 0) { /* bounded by the file */
		if (!parse_mount(line, &mount))
			continue;
		quota = smaller_quota(quota, quota_in(root, &mount));
		free(mount.top);
		free(mount.point);
	}
	free(line);
	(void)fclose(file);
	return quota;
}

size_t baton__cpus_allowed(void)
{
	for (size_t cpus = CPUS_FIRST; cpus <= CPUS_MAX; cpus *= 2) {
		size_t size = CPU_ALLOC_SIZE(cpus);
		cpu_set_t *set = CPU_ALLOC(cpus);
		int count = 0;
		bool too_small = false;

		if (!set)
			return 1;
		/* The affinity of the process, since the calling thread may be pinned. */
		if (!sched_getaffinity(getpid(), size, set))
			count = CPU_COUNT_S(size, set);
		else
			too_small = errno == EINVAL;
		CPU_FREE(set);
		if (!too_small)
			return count > 0 ? (size_t)count : 1;
	}
	return 1;
}

size_t baton__cpus_available(const char *root)
{
	size_t allowed = baton__cpus_allowed();
	size_t quota = baton__cpus_quota(root);

	return quota && quota < allowed ? quota : allowed;
}

size_t baton__cpus_known(void)
{
	static uint32_t known; /* 0: not known yet */
	uint32_t cpus = load_relaxed(&known);

	if (!cpus) {
		cpus = (uint32_t)baton__cpus_available("");
		/* Relaxed: the number publishes nothing, and every thread finds the same. */
		store_relaxed(&known, cpus);
	}
	return cpus;
}
