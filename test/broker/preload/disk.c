/* SPDX-License-Identifier: MIT */
/*
 * Between the broker and its disk (LD_PRELOAD): counts the calls that change the store, and at the
 * n-th fails, or kills the process; and writes down each call, for a test that makes of it what a
 * disk could have after a power loss. See disk.h. DISK_PLAN names the plan's file.
 */
#include "disk.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define FILES 1024

static struct disk_plan *plan;
static int trace_fd = -1;
static char ends[FILES][16]; /* of the store's files, by descriptor */
static bool opened[FILES];

__attribute__((constructor)) static void disk_begin(void)
{
	const char *path = getenv("DISK_PLAN");
	const int fd = path != NULL ? open(path, O_RDWR | O_CLOEXEC) : -1;
	void *memory;

	if (fd < 0)
		return;
	memory = mmap(NULL, sizeof(*plan), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (memory == MAP_FAILED)
		return;
	plan = memory;
	if (plan->trace[0] != '\0')
		trace_fd = open(plan->trace, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
}

static bool of_store(int fd)
{
	return plan != NULL && fd >= 0 && fd < FILES && opened[fd];
}

/* Counts a call. Returns an errno with which it fails, or 0. `size`: of a write, which is torn. */
static int count(int fd, const void *bytes, size_t size, off_t offset)
{
	const uint64_t call = __atomic_add_fetch(&plan->calls, 1, __ATOMIC_RELAXED);
	const uint32_t action = call == __atomic_load_n(&plan->at, __ATOMIC_RELAXED)
	                                ? plan->action
	                                : __atomic_load_n(&plan->always, __ATOMIC_RELAXED);

	if (action == DISK_KILL_TORN && size > 1 && offset >= 0)
		(void)syscall(SYS_pwrite64, fd, bytes, size / 2, offset);
	if (action == DISK_KILL || action == DISK_KILL_TORN)
		(void)syscall(SYS_kill, getpid(), SIGKILL);
	if (action == DISK_FULL && size > 0)
		return ENOSPC;
	return action == DISK_EIO ? EIO : 0;
}

static void trace(int fd, enum disk_kind kind, const void *bytes, size_t size, off_t offset,
                  const char *end)
{
	struct disk_record record = {(uint32_t)kind, (uint32_t)size, (uint64_t)offset, ""};
	struct iovec parts[2] = {{&record, sizeof(record)}, {(void *)(uintptr_t)bytes, size}};

	if (trace_fd < 0)
		return;
	memcpy(record.end, end != NULL ? end : ends[fd], sizeof(record.end));
	(void)syscall(SYS_writev, trace_fd, parts, bytes != NULL ? 2 : 1);
}

static void note_open(int fd, const char *path)
{
	const size_t size = plan != NULL ? strlen(plan->file) : 0;

	if (fd < 0 || fd >= FILES || plan == NULL)
		return;
	opened[fd] = strncmp(path, plan->file, size) == 0;
	if (opened[fd])
		snprintf(ends[fd], sizeof(ends[fd]), "%s", path + size);
}

/* ---- The calls that libsqlite3 and libuv make ---- */

#define REAL(type, name, ...)                                                                      \
	static type (*real)(__VA_ARGS__);                                                          \
	if (real == NULL)                                                                          \
	*(void **)&real = dlsym(RTLD_NEXT, name)

static int open_real(const char *path, int flags, mode_t mode)
{
	char full[4096];
	const int fd = (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);

	/* SQLite makes names absolute. */
	if (plan != NULL && fd >= 0)
		note_open(fd, realpath(path, full) != NULL ? full : path);
	return fd;
}

int open(const char *path, int flags, ...)
{
	mode_t mode = 0;
	__builtin_va_list arguments;

	__builtin_va_start(arguments, flags);
	if ((flags & O_CREAT) != 0)
		mode = __builtin_va_arg(arguments, mode_t);
	__builtin_va_end(arguments);
	return open_real(path, flags, mode);
}

int open64(const char *path, int flags, ...)
{
	mode_t mode = 0;
	__builtin_va_list arguments;

	__builtin_va_start(arguments, flags);
	if ((flags & O_CREAT) != 0)
		mode = __builtin_va_arg(arguments, mode_t);
	__builtin_va_end(arguments);
	return open_real(path, flags, mode);
}

int close(int fd)
{
	if (fd >= 0 && fd < FILES)
		opened[fd] = false;
	return (int)syscall(SYS_close, fd);
}

static ssize_t change(int fd, const void *bytes, size_t size, off_t offset)
{
	if (of_store(fd)) {
		const int error = count(fd, bytes, size, offset);

		if (error != 0) {
			errno = error;
			return -1;
		}
		trace(fd, DISK_WRITE, bytes, size, offset, NULL);
	}
	return syscall(SYS_pwrite64, fd, bytes, size, offset);
}

ssize_t pwrite(int fd, const void *bytes, size_t size, off_t offset)
{
	return change(fd, bytes, size, offset);
}

ssize_t pwrite64(int fd, const void *bytes, size_t size, off_t offset)
{
	return change(fd, bytes, size, offset);
}

static int truncate_store(int fd, off_t size)
{
	if (of_store(fd)) {
		const int error = count(fd, NULL, 0, -1);

		if (error != 0) {
			errno = error;
			return -1;
		}
		trace(fd, DISK_TRUNCATE, NULL, 0, size, NULL);
	}
	return (int)syscall(SYS_ftruncate, fd, size);
}

int ftruncate(int fd, off_t size)
{
	return truncate_store(fd, size);
}

int ftruncate64(int fd, off_t size)
{
	return truncate_store(fd, size);
}

static int sync_store(int fd, long number)
{
	int status;

	if (of_store(fd)) {
		const int error = count(fd, NULL, 0, -1);

		if (error != 0) {
			errno = error;
			return -1;
		}
	}
	status = (int)syscall(number, fd);
	if (of_store(fd) && status == 0)
		trace(fd, DISK_SYNC, NULL, 0, 0, NULL);
	return status;
}

int fsync(int fd)
{
	return sync_store(fd, SYS_fsync);
}

int fdatasync(int fd)
{
	return sync_store(fd, SYS_fdatasync);
}

int unlink(const char *path)
{
	const size_t size = plan != NULL ? strlen(plan->file) : 0;
	char end[16];

	if (size > 0 && strncmp(path, plan->file, size) == 0) {
		const int error = count(-1, NULL, 0, -1);

		if (error != 0) {
			errno = error;
			return -1;
		}
		snprintf(end, sizeof(end), "%s", path + size);
		trace(-1, DISK_UNLINK, NULL, 0, 0, end);
	}
	return (int)syscall(SYS_unlinkat, AT_FDCWD, path, 0);
}

static void count_socket(int fd)
{
	struct stat found;

	if (plan != NULL && plan->sockets && fstat(fd, &found) == 0 && S_ISSOCK(found.st_mode))
		(void)count(fd, NULL, 0, -1);
}

ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
	REAL(ssize_t, "sendmsg", int, const struct msghdr *, int);
	count_socket(fd);
	return real(fd, message, flags);
}

ssize_t writev(int fd, const struct iovec *parts, int parts_count)
{
	REAL(ssize_t, "writev", int, const struct iovec *, int);
	count_socket(fd);
	return real(fd, parts, parts_count);
}

ssize_t write(int fd, const void *bytes, size_t size)
{
	REAL(ssize_t, "write", int, const void *, size_t);
	count_socket(fd);
	return real(fd, bytes, size);
}

ssize_t read(int fd, void *bytes, size_t size)
{
	REAL(ssize_t, "read", int, void *, size_t);
	count_socket(fd);
	return real(fd, bytes, size);
}
