/* SPDX-License-Identifier: MIT */
/*
 * Counters, and the table. Allocations and system calls are counted where the library, which is
 * linked statically, calls libc: the linker's --wrap sends these calls here. (Its system calls:
 * syscall() for futexes, sched_yield, eventfd, read, write. Creating threads is not counted.)
 */
#include "counters.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/types.h>

#define TOLERANCE 0.005

__thread struct bench_counts bench_counts;

static FILE *json;
static unsigned rows;
static unsigned failures;

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void *__real_mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset);
long __real_syscall(long number, ...);
int __real_sched_yield(void);
int __real_eventfd(unsigned value, int flags);
ssize_t __real_read(int fd, void *buffer, size_t size);
ssize_t __real_write(int fd, const void *buffer, size_t size);

void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
void *__wrap_mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset);
long __wrap_syscall(long number, ...);
int __wrap_sched_yield(void);
int __wrap_eventfd(unsigned value, int flags);
ssize_t __wrap_read(int fd, void *buffer, size_t size);
ssize_t __wrap_write(int fd, const void *buffer, size_t size);

void *__wrap_malloc(size_t size)
{
	bench_counts.allocations++;
	return __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
	bench_counts.allocations++;
	return __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size)
{
	bench_counts.allocations++;
	return __real_realloc(old, size);
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
	bench_counts.allocations++;
	return __real_aligned_alloc(alignment, size);
}

void *__wrap_mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset)
{
	bench_counts.allocations++;
	return __real_mmap(address, size, protection, flags, fd, offset);
}

/* Six arguments, as libc's own takes from the registers, given or not. */
long __wrap_syscall(long number, ...)
{
	long arguments[6];
	va_list list;

	va_start(list, number);
	for (int i = 0; i < 6; i++)
		arguments[i] = va_arg(list, long);
	va_end(list);
	bench_counts.syscalls++;
	return __real_syscall(number, arguments[0], arguments[1], arguments[2], arguments[3],
	                      arguments[4], arguments[5]);
}

int __wrap_sched_yield(void)
{
	bench_counts.syscalls++;
	return __real_sched_yield();
}

int __wrap_eventfd(unsigned value, int flags)
{
	bench_counts.syscalls++;
	return __real_eventfd(value, flags);
}

ssize_t __wrap_read(int fd, void *buffer, size_t size)
{
	bench_counts.syscalls++;
	return __real_read(fd, buffer, size);
}

ssize_t __wrap_write(int fd, const void *buffer, size_t size)
{
	bench_counts.syscalls++;
	return __real_write(fd, buffer, size);
}

struct counts counts_since(const struct bench_counts *since, double tasks)
{
	return (struct counts){
		(double)(bench_counts.rmws - since->rmws) / tasks,
		(double)(bench_counts.allocations - since->allocations) / tasks,
		(double)(bench_counts.syscalls - since->syscalls) / tasks,
	};
}

struct counts counts_slope(struct counts more, struct counts less, double tasks)
{
	return (struct counts){
		(more.rmws - less.rmws) / tasks,
		(more.allocations - less.allocations) / tasks,
		(more.syscalls - less.syscalls) / tasks,
	};
}

void counts_begin(const char *path)
{
	if (path) {
		json = fopen(path, "w");
		if (!json) {
			perror(path);
			exit(2);
		}
		fprintf(json, "[");
	}
	printf("budget of the hot paths: measured/allowed per task\n%-58s %11s %11s %11s\n", "",
	       "atomic RMWs", "allocations", "syscalls");
}

static bool within(double limit, double measured)
{
	return isnan(limit) || measured <= limit + TOLERANCE;
}

static void print_cell(double limit, double measured)
{
	char text[32];

	if (isnan(limit))
		(void)snprintf(text, sizeof(text), "%.3g", measured);
	else
		(void)snprintf(text, sizeof(text), "%.3g/%g", measured, limit);
	printf(" %11s", text);
}

static void json_cell(const char *name, double limit, double measured)
{
	fprintf(json, ", \"%s\": %.4g", name, measured);
	if (!isnan(limit))
		fprintf(json, ", \"%s_max\": %g", name, limit);
}

void counts_row(const char *path, struct counts limit, struct counts measured)
{
	bool pass = within(limit.rmws, measured.rmws) &&
	            within(limit.allocations, measured.allocations) &&
	            within(limit.syscalls, measured.syscalls);

	printf("%-58s", path);
	print_cell(limit.rmws, measured.rmws);
	print_cell(limit.allocations, measured.allocations);
	print_cell(limit.syscalls, measured.syscalls);
	printf("  %s\n", pass ? "PASS" : "FAIL");
	failures += !pass;
	if (!json)
		return;
	fprintf(json, "%s\n    {\"path\": \"%s\"", rows++ ? "," : "", path);
	json_cell("rmws", limit.rmws, measured.rmws);
	json_cell("allocations", limit.allocations, measured.allocations);
	json_cell("syscalls", limit.syscalls, measured.syscalls);
	fprintf(json, ", \"pass\": %s}", pass ? "true" : "false");
}

unsigned counts_end(void)
{
	if (json) {
		fprintf(json, "\n  ]\n");
		(void)fclose(json);
	}
	return failures;
}
