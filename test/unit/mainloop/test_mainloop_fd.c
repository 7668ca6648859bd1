/* SPDX-License-Identifier: MIT */
/* Descriptors as sources of a main loop. */
#include "mainloop_fd_support.h"

#include "companion/mainloop/mainloop.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/socket.h>

static const struct baton_source_config once = {
	.fn = watched_run, .kind = BATON_SOURCE_READABLE, .level = 2};
static const struct baton_source_config again = {
	.fn = watched_run, .kind = BATON_SOURCE_READABLE, .level = 2, .again = true};
static const struct baton_source_config writes = {
	.fn = watched_run, .kind = BATON_SOURCE_WRITABLE, .level = 3};

static int ends[2];

/* Begins a test: a loop on the real clock, and a pipe. */
static void start_test(void)
{
	real_loop();
	make_pipe(ends);
}

static void start(struct watched *watched)
{
	cr_assert_eq(baton_source_start(&watched->watch.source), 0);
}

Test(mainloop_fd, a_readable_source_runs_once_when_there_is_data, .timeout = 5)
{
	struct watched reader;

	start_test();
	reader = (struct watched)WATCHED(once, r, ends[0]);
	start(&reader);
	cr_assert_eq(baton_mainloop_next(&loop), BATON_NEVER);
	cr_assert(!loop_readable(0));
	cr_assert_eq(baton_mainloop_run(&loop, 10), 0);
	put_bytes(ends[1], 2);
	cr_assert(loop_readable(60000));
	cr_assert_eq(baton_mainloop_run(&loop, 10), 1);
	cr_assert(!baton_source_is_active(&reader.watch.source));
	/* A byte is left, but nobody waits for it. */
	cr_assert(!loop_readable(0));
	cr_assert_eq(baton_mainloop_run(&loop, 10), 0);
	start(&reader);
	cr_assert(loop_readable(60000));
	cr_assert_eq(baton_mainloop_run(&loop, 10), 1);
	cr_assert_str_eq(log_take(), "rr");
	loop_end(0);
}

Test(mainloop_fd, a_source_that_is_again_runs_until_the_data_is_read, .timeout = 5)
{
	struct watched reader;

	start_test();
	reader = (struct watched)WATCHED(again, r, ends[0]);
	start(&reader);
	put_bytes(ends[1], 3);
	for (int i = 0; i < 3; i++) {
		cr_assert(loop_readable(0));
		cr_assert_eq(baton_mainloop_run(&loop, 10), 1);
	}
	cr_assert(!loop_readable(0));
	cr_assert_eq(baton_mainloop_run(&loop, 10), 0);
	put_bytes(ends[1], 5);
	cr_assert_eq(baton_mainloop_drain_until(&loop, BATON_NEVER), 5);
	cr_assert_eq(baton_source_stop(&reader.watch.source).met, BATON_STOP_PREVENTED);
	put_bytes(ends[1], 1);
	cr_assert(!loop_readable(0));
	cr_assert_eq(baton_mainloop_run(&loop, 10), 0);
	loop_end(0);
}

static int entries_told, epoll_error;

int epoll_ctl(int epoll, int operation, int fd, struct epoll_event *event)
{
	entries_told++;
	errno = epoll_error;
	if (epoll_error)
		return -1;
	return (int)syscall(SYS_epoll_ctl, epoll, operation, fd, event);
}

Test(mainloop_fd, a_descriptor_for_which_the_kernel_has_no_room_is_tried_again, .timeout = 10)
{
	struct watched reader;

	start_test();
	reader = (struct watched)WATCHED(once, r, ends[0]);
	epoll_error = ENOSPC;
	start(&reader);
	cr_assert_eq(baton_mainloop_run(&loop, 10), 0);
	epoll_error = 0;
	put_bytes(ends[1], 1);
	while (!baton_mainloop_run(&loop, 10))
		continue;
	loop_end(0);
}

Test(mainloop_fd, the_kernel_is_told_of_a_start_and_not_of_each_run, .timeout = 5)
{
	struct watched reader;

	start_test();
	reader = (struct watched)WATCHED(again, r, ends[0]);
	entries_told = 0;
	for (int round = 1; round <= 2; round++) {
		start(&reader);
		for (int i = 0; i < 10; i++) {
			put_bytes(ends[1], 1);
			cr_assert_eq(baton_mainloop_run(&loop, 1), 1);
		}
		cr_assert_eq(entries_told, 2 * round - 1);
		cr_assert_eq(baton_source_stop(&reader.watch.source).met, BATON_STOP_PREVENTED);
		cr_assert_eq(baton_mainloop_run(&loop, 1), 0);
		cr_assert_eq(entries_told, 2 * round);
	}
	loop_end(0);
}

Test(mainloop_fd, sources_of_descriptors_have_priorities_like_the_others, .timeout = 5)
{
	static const struct baton_source_config late = {
		.fn = watched_run, .kind = BATON_SOURCE_READABLE, .level = 10};
	struct lettered first = LETTERED(idle, i);
	struct watched important, unimportant;
	int more[2];

	start_test();
	make_pipe(more);
	unimportant = (struct watched)WATCHED(late, u, more[0]);
	important = (struct watched)WATCHED(once, r, ends[0]);
	start(&unimportant);
	start(&important);
	cr_assert_eq(baton_source_start(&first.source), 0);
	put_bytes(more[1], 1);
	put_bytes(ends[1], 1);
	cr_assert_eq(baton_mainloop_run(&loop, 10), 3);
	cr_assert_str_eq(log_take(), "riu");
	/* Ready, and less important than before. */
	start(&unimportant);
	start(&important);
	put_bytes(more[1], 1);
	put_bytes(ends[1], 1);
	cr_assert_eq(baton_source_set_level(&important.watch.source, 16), 0);
	cr_assert_eq(baton_mainloop_run(&loop, 1), 1);
	cr_assert(loop_readable(0));
	cr_assert_eq(baton_mainloop_run(&loop, 1), 1);
	cr_assert_str_eq(log_take(), "ur");
	loop_end(0);
}

Test(mainloop_fd, the_sides_of_a_descriptor_and_its_sources_are_independent, .timeout = 5)
{
	struct watched first, second, writer;
	int pair[2];
	char bytes[64];

	real_loop();
	MUST(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair) == 0);
	first = (struct watched)WATCHED(once, f, pair[0]);
	second = (struct watched)WATCHED(once, s, pair[0]);
	writer = (struct watched)WATCHED(writes, w, pair[0]);
	writer.reads = second.reads = 0;
	start(&first);
	start(&writer);
	cr_assert_eq(baton_mainloop_run(&loop, 10), 1);
	cr_assert_str_eq(log_take(), "w");
	start(&second);
	put_bytes(pair[1], 1);
	cr_assert_eq(baton_mainloop_run(&loop, 10), 2);
	cr_assert_str_eq(log_take(), "fs");
	/* A full socket is not writable, until somebody has read. */
	while (write(pair[0], bytes, sizeof(bytes)) > 0)
		continue;
	start(&writer);
	cr_assert_eq(baton_mainloop_run(&loop, 10), 0);
	while (read(pair[1], bytes, sizeof(bytes)) > 0)
		continue;
	cr_assert(loop_readable(60000));
	cr_assert_eq(baton_mainloop_run(&loop, 10), 1);
	cr_assert_str_eq(log_take(), "w");
	/* A hang-up is for both sides. */
	first.reads = 0;
	start(&first);
	start(&writer);
	cr_assert_eq(baton_mainloop_run(&loop, 10), 1);
	start(&writer);
	(void)close(pair[1]);
	cr_assert_eq(baton_mainloop_run(&loop, 10), 2);
	cr_assert_str_eq(log_take(), "wfw");
	loop_end(0);
}

Test(mainloop_fd, a_closed_descriptor_and_a_regular_file_are_ready, .timeout = 5)
{
	struct watched reader, none;
	FILE *file = tmpfile();

	start_test();
	none = (struct watched)WATCHED(once, n, -1);
	cr_assert_eq(baton_source_start(&none.watch.source), -EBADF);
	cr_assert(!baton_source_is_active(&none.watch.source));
	baton_source_fd_init(&none.watch, &loop, &once, "none");
	cr_assert_eq(baton_source_start_after(&none.watch.source, 0), -EBADF);

	MUST(file);
	reader = (struct watched)WATCHED(once, r, fileno(file));
	start(&reader);
	cr_assert(loop_readable(0));
	cr_assert_eq(baton_mainloop_run(&loop, 10), 1);
	(void)fclose(file);
	start(&reader);
	cr_assert(loop_readable(0));
	cr_assert_eq(baton_mainloop_run(&loop, 10), 1);
	cr_assert_eq(baton_mainloop_run(&loop, 10), 0);

	/* `again`: as often as poll() would say so. */
	reader = (struct watched)WATCHED(again, c, reader.watch.fd);
	start(&reader);
	cr_assert_eq(baton_mainloop_run(&loop, 10), 1);
	cr_assert_eq(baton_mainloop_run(&loop, 10), 1);
	cr_assert_eq(baton_source_stop(&reader.watch.source).met, BATON_STOP_PREVENTED);
	cr_assert_str_eq(log_take(), "rrcc");
	loop_end(0);
}

Test(mainloop_fd, a_number_that_another_file_gets_is_watched_anew, .timeout = 5)
{
	struct watched stale, reader;
	int more[2];

	start_test();
	stale = (struct watched)WATCHED(again, s, ends[0]);
	start(&stale);
	cr_assert_eq(baton_mainloop_run(&loop, 10), 0);
	(void)close(ends[0]);
	make_pipe(more);
	cr_assert_eq(more[0], ends[0], "the kernel gives the lowest number");
	cr_assert_eq(baton_source_stop(&stale.watch.source).met, BATON_STOP_PREVENTED);
	reader = (struct watched)WATCHED(once, r, more[0]);
	start(&reader);
	put_bytes(more[1], 1);
	cr_assert(loop_readable(0));
	cr_assert_eq(baton_mainloop_run(&loop, 10), 1);

	/* The same without a stop: the newer start counts, and both sources are ready. */
	start(&stale);
	cr_assert_eq(baton_mainloop_run(&loop, 10), 0);
	(void)close(more[0]);
	make_pipe(more);
	cr_assert_eq(more[0], ends[0]);
	start(&reader);
	put_bytes(more[1], 1);
	cr_assert(loop_readable(0));
	cr_assert_eq(baton_mainloop_run(&loop, 10), 2);
	cr_assert_str_eq(log_take(), "rsr");
	/* An active source that gets another descriptor watches that one from its start on. */
	stale.watch.fd = ends[1];
	(void)close(ends[1]);
	MUST(dup2(more[1], ends[1]) == ends[1]);
	start(&stale);
	put_bytes(more[1], 1);
	cr_assert_eq(baton_mainloop_run(&loop, 10), 0, "the writing end has nothing to read");
	loop_end(1);
}

/* No memory is made for these numbers, and a closed number that is opened is watched. */
Test(mainloop_fd, a_closed_descriptor_of_any_number_is_ready, .timeout = 5)
{
	struct watched high, reader;

	start_test();
	high = (struct watched)WATCHED(again, h, INT_MAX);
	reader = (struct watched)WATCHED(again, r, 900);
	start(&high);
	start(&reader);
	cr_assert_leq(loop._loop->descriptor_count, 1024);
	cr_assert(loop_readable(0));
	cr_assert_eq(baton_mainloop_run(&loop, 10), 2);
	cr_assert_eq(baton_mainloop_run(&loop, 10), 2);
	cr_assert_eq(baton_source_stop(&high.watch.source).met, BATON_STOP_PREVENTED);
	cr_assert_str_eq(log_take(), "hrhr");
	MUST(dup2(ends[0], 900) == 900);
	start(&reader);
	cr_assert_eq(baton_mainloop_run(&loop, 10), 0);
	put_bytes(ends[1], 1);
	cr_assert(loop_readable(60000));
	cr_assert_eq(baton_mainloop_run(&loop, 10), 1);
	(void)close(900);
	/* A source that is ready because of a closed number gets another one. */
	high.watch.fd = INT_MAX - 1;
	start(&high);
	high.watch.fd = ends[0];
	start(&high);
	cr_assert_eq(baton_mainloop_run(&loop, 10), 0);
	cr_assert_str_eq(log_take(), "r");
	loop_end(2);
}

static void *start_from_elsewhere(void *arg)
{
	start(arg);
	return NULL;
}

static void *start_all(void *arg)
{
	struct watched *readers = arg;

	for (int i = 0; i < 3; i++)
		start(&readers[i]);
	return NULL;
}

Test(mainloop_fd, several_descriptors_change_at_once, .timeout = 5)
{
	struct watched readers[3];
	int pipes[3][2];

	real_loop();
	for (int i = 0; i < 3; i++) {
		make_pipe(pipes[i]);
		readers[i] = (struct watched)WATCHED(once, r, pipes[i][0]);
	}
	thread_join(thread_start(start_all, readers));
	cr_assert_eq(baton_mainloop_run(&loop, 10), 0);
	for (int i = 0; i < 3; i++)
		put_bytes(pipes[i][1], 2);
	cr_assert_eq(baton_mainloop_run(&loop, 10), 3);
	cr_assert(!loop_readable(0), "a byte is left in each, and no source waits for it");
	loop_end(0);
}

Test(mainloop_fd, a_start_of_another_thread_is_watched_after_one_wake, .timeout = 5)
{
	struct baton_mainloop_stats stats;
	struct watched reader;
	pthread_t thread;

	start_test();
	reader = (struct watched)WATCHED(once, r, ends[0]);
	MUST(pthread_create(&thread, NULL, start_from_elsewhere, &reader) == 0);
	cr_assert(loop_readable(60000));
	cr_assert_eq(baton_mainloop_run(&loop, 10), 0);
	pthread_join(thread, NULL);
	cr_assert_eq(baton_mainloop_run(&loop, 10), 0);
	cr_assert(!loop_readable(0));
	put_bytes(ends[1], 1);
	cr_assert(loop_readable(60000));
	cr_assert_eq(baton_mainloop_run(&loop, 10), 1);
	baton_mainloop_stats_read(&loop, &stats);
	cr_assert_eq(stats.wakes, 1);
	loop_end(0);
}

Test(mainloop_fd, start_after_watches_later_and_a_parent_holds_a_watch_back, .timeout = 5)
{
	struct lettered parent = LETTERED(idle, p);
	struct watched reader;

	start_test();
	reader = (struct watched)WATCHED(again, r, ends[0]);
	put_bytes(ends[1], 3);
	cr_assert_eq(baton_source_start_after(&reader.watch.source, BATON_NEVER), 0);
	cr_assert_eq(baton_mainloop_run(&loop, 10), 0);
	cr_assert(!loop_readable(0));
	cr_assert_eq(baton_source_start_after(&reader.watch.source, BATON_MILLISECOND), 0);
	while (baton_mainloop_run(&loop, 10) == 0)
		continue;
	cr_assert_str_eq(log_take(), "r");

	cr_assert_eq(baton_source_depend(&parent.source, &reader.watch.source), 0);
	cr_assert_eq(baton_source_start_after(&parent.source, BATON_NEVER), 0);
	cr_assert(!loop_readable(0), "a source that is held back does not watch");
	cr_assert_eq(baton_mainloop_run(&loop, 10), 0);
	cr_assert_eq(baton_source_stop(&parent.source).met, BATON_STOP_PREVENTED);
	cr_assert(loop_readable(0));
	cr_assert_eq(baton_mainloop_run(&loop, 10), 1);
	/* Ready, and then held back. */
	cr_assert_eq(baton_source_start_after(&parent.source, BATON_NEVER), 0);
	cr_assert_eq(baton_mainloop_run(&loop, 10), 0);
	cr_assert_eq(forget(&parent.source), BATON_STOP_PREVENTED);
	cr_assert_eq(baton_mainloop_run(&loop, 10), 1);
	loop_end(1);
}

Test(mainloop_fd, on_a_virtual_clock_no_descriptor_is_ready, .timeout = 5)
{
	struct watched reader;

	virtual_loop(0);
	make_pipe(ends);
	reader = (struct watched)WATCHED(again, r, ends[0]);
	start(&reader);
	put_bytes(ends[1], 1);
	cr_assert_eq(baton_mainloop_advance_to(&loop, 1000, 10), 0);
	cr_assert(baton_source_is_active(&reader.watch.source));
	cr_assert(!loop_readable(0));
	loop_end(1);
}

static struct watched *urgent;

static int work(struct lettered *lettered)
{
	if (lettered->runs == 1)
		put_bytes(ends[1], 1);
	/* Ended by the descriptor: the slice is an hour. */
	while (urgent->runs == 0 && !baton_mainloop_should_yield(&loop))
		continue;
	return 0;
}

Test(mainloop_fd, a_long_idle_yields_to_a_more_important_descriptor, .timeout = 5)
{
	const struct baton_mainloop_options options = {.slice_ns = 3600 * BATON_SECOND};
	struct lettered worker = LETTERED(idle, w);
	struct watched reader;

	cr_assert_eq(baton_mainloop_init(&loop, &options), 0);
	make_pipe(ends);
	reader = (struct watched)WATCHED(once, r, ends[0]);
	urgent = &reader;
	worker.act = work;
	start(&reader);
	cr_assert_eq(baton_source_start(&worker.source), 0);
	cr_assert_eq(baton_mainloop_run(&loop, 10), 2);
	cr_assert_str_eq(log_take(), "wr");
	loop_end(0);
}

static int poll_inside(struct watched *watched)
{
	if (watched->runs > 1)
		return 0;
	/* The host polls in here: the byte that this source has not read is not for it. */
	cr_assert_eq(baton_mainloop_run(&loop, 10), 0);
	cr_assert(!loop_readable(0));
	return 0;
}

Test(mainloop_fd, a_running_source_watches_nothing_for_nested_runs, .timeout = 5)
{
	struct watched reader;

	start_test();
	reader = (struct watched)WATCHED(again, r, ends[0]);
	reader.act = poll_inside;
	start(&reader);
	put_bytes(ends[1], 2);
	cr_assert_eq(baton_mainloop_run(&loop, 10), 1);
	cr_assert(loop_readable(0));
	cr_assert_eq(baton_mainloop_run(&loop, 10), 1);
	loop_end(1);
}

static int go(struct watched *watched)
{
	(void)close(watched->watch.fd);
	free(watched);
	return BATON_GONE;
}

enum { MANY = 300 };

Test(mainloop_fd, many_descriptors_and_sources_that_free_themselves, .timeout = 20)
{
	int pairs[MANY][2];
	int ran = 0;

	real_loop();
	for (int i = 0; i < MANY; i++) {
		struct watched *reader = malloc(sizeof(*reader));

		MUST(reader);
		make_pipe(pairs[i]);
		*reader = (struct watched)WATCHED(again, r, pairs[i][0]);
		reader->act = go;
		start(reader);
	}
	for (int i = 0; i < MANY; i++)
		put_bytes(pairs[i][1], 1);
	/* Of so many events the kernel names a part each time. */
	while (ran < MANY) {
		cr_assert(loop_readable(60000));
		ran += (int)baton_mainloop_run(&loop, MANY);
		log_length = 0;
	}
	cr_assert(!loop_readable(0));
	loop_end(0);
}
