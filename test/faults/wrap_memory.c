/* SPDX-License-Identifier: MIT */
/*
 * Allocations, also those that libc makes for the library, fail with ENOMEM, and are kept count of.
 */
#include "fault.h"
#include "live.h"

#include <errno.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void __real_free(void *block);
void *__real_mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset);
int __real_munmap(void *memory, size_t size);
char *__real_strdup(const char *text);
char *__real_strndup(const char *text, size_t size);
int __real_vasprintf(char **text, const char *format, va_list arguments);
cpu_set_t *__real___sched_cpualloc(size_t count);
void __real___sched_cpufree(cpu_set_t *set);
FILE *__real_fopen(const char *name, const char *mode);
ssize_t __real_getline(char **line, size_t *size, FILE *file);

void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
void __wrap_free(void *block);
void *__wrap_mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset);
int __wrap_munmap(void *memory, size_t size);
char *__wrap_strdup(const char *text);
char *__wrap_strndup(const char *text, size_t size);
int __wrap_vasprintf(char **text, const char *format, va_list arguments);
cpu_set_t *__wrap___sched_cpualloc(size_t count);
void __wrap___sched_cpufree(cpu_set_t *set);
FILE *__wrap_fopen(const char *name, const char *mode);
ssize_t __wrap_getline(char **line, size_t *size, FILE *file);

/* A table that grows is larger than what is put into it: there may be memory for that alone. */
#define LARGE 1000

static bool fails(size_t size)
{
	const bool large = size >= LARGE && fault_hit(FAULT_AT_LARGE);

	if (!fault_hit(FAULT_AT_ALLOCATION) && !large)
		return false;
	errno = ENOMEM;
	return true;
}

void *__wrap_malloc(size_t size)
{
	void *block = fails(size) ? NULL : __real_malloc(size);

	live_add(block, size);
	return block;
}

void *__wrap_calloc(size_t count, size_t size)
{
	void *block = fails(count * size) ? NULL : __real_calloc(count, size);

	live_add(block, count * size);
	return block;
}

void *__wrap_realloc(void *old, size_t size)
{
	void *block;

	if (fails(size))
		return NULL;
	live_remove(old);
	block = __real_realloc(old, size);
	live_add(block, size);
	return block;
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
	void *block = fails(size) ? NULL : __real_aligned_alloc(alignment, size);

	live_add(block, size);
	return block;
}

void __wrap_free(void *block)
{
	live_remove(block);
	__real_free(block);
}

/* Slabs are found by way of their records (live.c). The tests' own mappings are shared. */
void *__wrap_mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset)
{
	if (flags & MAP_PRIVATE && fails(size))
		return MAP_FAILED;
	return __real_mmap(address, size, protection, flags, fd, offset);
}

int __wrap_munmap(void *memory, size_t size)
{
	return fails(0) ? -1 : __real_munmap(memory, size);
}

char *__wrap_strdup(const char *text)
{
	char *copy = fails(0) ? NULL : __real_strdup(text);

	live_add(copy, strlen(text) + 1);
	return copy;
}

char *__wrap_strndup(const char *text, size_t size)
{
	char *copy = fails(0) ? NULL : __real_strndup(text, size);

	live_add(copy, size + 1);
	return copy;
}

int __wrap_vasprintf(char **text, const char *format, va_list arguments)
{
	int length = fails(0) ? -1 : __real_vasprintf(text, format, arguments);

	if (length >= 0)
		live_add(*text, (size_t)length + 1);
	return length;
}

cpu_set_t *__wrap___sched_cpualloc(size_t count)
{
	cpu_set_t *set = fails(0) ? NULL : __real___sched_cpualloc(count);

	live_add(set, CPU_ALLOC_SIZE(count));
	return set;
}

void __wrap___sched_cpufree(cpu_set_t *set)
{
	live_remove(set);
	__real___sched_cpufree(set);
}

FILE *__wrap_fopen(const char *name, const char *mode)
{
	FILE *file = fails(0) ? NULL : __real_fopen(name, mode);

	return file;
}

ssize_t __wrap_getline(char **line, size_t *size, FILE *file)
{
	return fails(0) ? -1 : __real_getline(line, size, file);
}
