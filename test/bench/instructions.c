/* SPDX-License-Identifier: MIT */
/* Reads the CPU's own counter of the instructions that a thread has run in user space. */
#include "instructions.h"

#include <math.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/perf_event.h>

/* NAN: there is none, or it had to share its place in the CPU with another one's. */
static double now(int fd)
{
	uint64_t count = 0;

	return fd >= 0 && read(fd, &count, sizeof(count)) == sizeof(count) ? (double)count : NAN;
}

struct instructions instructions_begin(void)
{
	struct perf_event_attr event = {
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(event),
		.config = PERF_COUNT_HW_INSTRUCTIONS,
		.pinned = 1, /* all the time, or reading it fails */
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};
	struct instructions result;

	result.fd = (int)syscall(SYS_perf_event_open, &event, 0, -1, -1, 0);
	result.before = now(result.fd);
	return result;
}

double instructions_end(struct instructions *instructions, double operations)
{
	double count = now(instructions->fd) - instructions->before;

	if (instructions->fd >= 0)
		(void)close(instructions->fd);
	instructions->fd = -1;
	return count / operations;
}
