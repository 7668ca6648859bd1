/* SPDX-License-Identifier: MIT */
/*
 * What the tests of a main loop's descriptors share: sources that write their letter into the log,
 * and read.
 */
#ifndef BATON_TEST_UNIT_MAINLOOP_FD_SUPPORT_H
#define BATON_TEST_UNIT_MAINLOOP_FD_SUPPORT_H

#include "mainloop_support.h"

#include <fcntl.h>
#include <unistd.h>

struct watched {
	struct baton_source_fd watch;
	char letter;
	int reads; /* bytes that its function reads */
	int runs;
	int (*act)(struct watched *watched);
};

static inline struct watched *watched_of(struct baton_source *source)
{
	return baton_container_of(source, struct watched, watch.source);
}

static inline int watched_run(struct baton_source *source)
{
	struct watched *watched = watched_of(source);
	char byte;

	baton_assert_held(baton_mainloop_resource(&loop));
	watched->runs++;
	log_letter(watched->letter);
	for (int i = 0; i < watched->reads; i++)
		(void)!read(watched->watch.fd, &byte, 1);
	return watched->act ? watched->act(watched) : 0;
}

#define WATCHED(config, letter, fd)                                                                \
	{                                                                                          \
		BATON_SOURCE_FD_INIT(&loop, &(config), #letter, fd), #letter[0], 1, 0, NULL        \
	}

static inline void make_pipe(int *pair)
{
	MUST(pipe2(pair, O_NONBLOCK | O_CLOEXEC) == 0);
}

static inline void put_bytes(int fd, size_t count)
{
	static const char bytes[64];

	MUST(write(fd, bytes, count) == (ssize_t)count);
}

#endif
