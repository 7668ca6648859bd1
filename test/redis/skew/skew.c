/* SPDX-License-Identifier: MIT */
/*
 * For LD_PRELOAD of a redis-server: its clock of the day is off by as many ns as the file $SKEW
 * says, which a test changes meanwhile.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define SECOND INT64_C(1000000000)

static int64_t skew_ns(void)
{
	static const int64_t none;
	static const volatile int64_t *skew;

	if (!skew) {
		const char *path = getenv("SKEW");
		int fd = path ? open(path, O_RDONLY) : -1;
		void *map = fd < 0 ? MAP_FAILED
		                   : mmap(NULL, sizeof(int64_t), PROT_READ, MAP_SHARED, fd, 0);

		skew = map == MAP_FAILED ? &none : map;
		if (fd >= 0)
			close(fd);
	}
	return *skew;
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
	int status = (int)syscall(SYS_clock_gettime, clock, now);

	if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE) {
		int64_t ns = now->tv_sec * SECOND + now->tv_nsec + skew_ns();

		now->tv_sec = ns / SECOND;
		now->tv_nsec = ns % SECOND;
	}
	return status;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
	struct timespec time;

	(void)zone;
	clock_gettime(CLOCK_REALTIME, &time);
	now->tv_sec = time.tv_sec;
	now->tv_usec = time.tv_nsec / 1000;
	return 0;
}

time_t time(time_t *now)
{
	struct timespec time;

	clock_gettime(CLOCK_REALTIME, &time);
	if (now)
		*now = time.tv_sec;
	return time.tv_sec;
}
