/* SPDX-License-Identifier: MIT */
/*
 * Descriptor 0 is free in a process without standard input. So whatever the library opens may get
 * the number 0, and a descriptor that the library watches may have it.
 */
#include "mainloop_fd_support.h"

#include <baton/board.h>
#include <baton/io.h>
#include <baton/loop.h>

#include <sys/epoll.h>
#include <sys/socket.h>

static struct baton_resource resource = BATON_RESOURCE_INIT(NULL);

static void board_is_0(void)
{
	struct baton_board *board = NULL;

	cr_assert_eq(baton_board_create(NULL, &board), 0);
	cr_assert_geq(fcntl(0, F_GETFD), 0);
	baton_board_destroy(board);
}

static void file_of_a_board_is_0(void)
{
	struct baton_board_options options = {0};
	struct baton_board *board = NULL;
	char path[64];

	/* The same test may run in other builds now. */
	(void)snprintf(path, sizeof(path), "/tmp/baton-test-0-%d", (int)getpid());
	options.path = path;
	cr_assert_eq(baton_board_create(&options, &board), 0);
	baton_board_destroy(board);
}

static void loop_is_0(void)
{
	struct baton_loop *executor = NULL;

	cr_assert_eq(baton_loop_create(&executor), 0);
	cr_assert_eq(baton_loop_fd(executor), 0);
	baton_loop_destroy(executor);
}

static void source_is_0(void)
{
	static const struct baton_source_config once = {
		.fn = watched_run, .kind = BATON_SOURCE_READABLE, .level = 2};
	struct watched reader = WATCHED(once, r, 0);
	int ends[2];

	make_pipe(ends);
	cr_assert_eq(ends[0], 0);
	real_loop();
	for (int i = 1; i <= 2; i++) {
		cr_assert_eq(baton_source_start(&reader.watch.source), 0);
		put_bytes(ends[1], 1);
		cr_assert(loop_readable(60000));
		cr_assert_eq(baton_mainloop_run(&loop, 10), 1);
		cr_assert_eq(reader.runs, i);
	}
	cr_assert_eq(baton_source_start(&reader.watch.source), 0);
	cr_assert_eq(baton_source_stop(&reader.watch.source).met, BATON_STOP_PREVENTED);
	put_bytes(ends[1], 1);
	cr_assert_eq(baton_mainloop_run(&loop, 10), 0);
	loop_end(0);
	(void)close(0);
	(void)close(ends[1]);
}

static atomic_int read_bytes;

static int reads(struct baton_io *io)
{
	char byte;

	atomic_fetch_add(&read_bytes, (int)read(io->fd, &byte, 1));
	return 0;
}

static void watch_once(const int ends[2])
{
	struct baton_io io = BATON_IO_INIT(&resource, reads);

	atomic_store(&read_bytes, 0);
	cr_assert_eq(baton_io_start(&io, ends[0], BATON_IO_READ), 0);
	put_bytes(ends[1], 1);
	while (!atomic_load(&read_bytes))
		sched_yield();
	while (baton_io_is_active(&io))
		sched_yield();
	BATON_IGNORE(baton_io_stop(&io).met);
	cr_assert_eq(baton_io_destroy(), 0);
	(void)close(ends[0]);
	(void)close(ends[1]);
}

static void watch_is_0(void)
{
	int ends[2];

	MUST(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) == 0);
	cr_assert_eq(ends[0], 0);
	watch_once(ends);
}

/* Before so many calls of epoll_create1() another thread closes descriptor 0. */
static int epolls_before_0 = -1;

int epoll_create1(int flags)
{
	if (epolls_before_0 >= 0 && epolls_before_0-- == 0)
		(void)close(0);
	return (int)syscall(SYS_epoll_create1, flags);
}

static void poller_has_0(int epolls)
{
	int ends[2];

	(void)open("/dev/null", O_RDONLY | O_CLOEXEC);
	MUST(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) == 0);
	cr_assert_gt(ends[0], 0);
	epolls_before_0 = epolls;
	watch_once(ends);
	cr_assert_eq(epolls_before_0, -1, "it was given to the poller");
	cr_assert_lt(fcntl(0, F_GETFD), 0, "which has closed it");
}

static void first_epoll_is_0(void)
{
	poller_has_0(0);
}

static void second_epoll_is_0(void)
{
	poller_has_0(1);
}

Test(descriptor_0, is_a_descriptor_like_any_other, .timeout = 20)
{
	static void (*const ways[])(void) = {
		board_is_0, file_of_a_board_is_0, loop_is_0,        source_is_0,
		watch_is_0, first_epoll_is_0,     second_epoll_is_0};

	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		(void)close(0);
		ways[i]();
	}
	resource_end(&resource);
}
