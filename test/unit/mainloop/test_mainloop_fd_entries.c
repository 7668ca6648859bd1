/* SPDX-License-Identifier: MIT */
/* What the kernel knows of a main loop's descriptors: duplicates, many that are ready, a
 * forked child's calls. */
#include "mainloop_fd_support.h"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static const struct baton_source_config once = {
	.fn = watched_run, .kind = BATON_SOURCE_READABLE, .level = 2};
static const struct baton_source_config again = {
	.fn = watched_run, .kind = BATON_SOURCE_READABLE, .level = 2, .again = true};

static int ends[2];
static struct watched reader;

static int closes(struct watched *watched)
{
	return close(watched->watch.fd);
}

static int stops_and_closes(struct watched *watched)
{
	cr_assert_eq(baton_source_stop(&watched->watch.source).met, BATON_STOP_RUNNING);
	return closes(watched);
}

static int stops_and_closes_another(struct lettered *lettered)
{
	(void)lettered;
	cr_assert_eq(baton_source_stop(&reader.watch.source).met, BATON_STOP_PREVENTED);
	return closes(&reader);
}

/*
 * A function of the loop closes the descriptor of a source that is not active, while a duplicate is
 * open, as a child of a fork has them. The descriptor is ready: nobody hears of it any more, nor is
 * a file that gets its number ready.
 */
Test(mainloop_fd_entries, a_descriptor_with_a_duplicate_is_gone_when_it_is_closed, .timeout = 5)
{
	static const struct {
		const struct baton_source_config *config;
		int (*act)(struct watched *watched);
	} cases[] = {{&once, closes},
	             {&once, stops_and_closes},
	             {&again, stops_and_closes},
	             {&again, NULL}};
	struct lettered closer = LETTERED(idle, c);

	closer.act = stops_and_closes_another;
	real_loop();
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int others[2];
		int duplicate;

		make_pipe(ends);
		duplicate = dup(ends[0]);
		MUST(duplicate >= 0);
		reader = (struct watched)WATCHED(*cases[i].config, r, ends[0]);
		reader.reads = 0;
		reader.act = cases[i].act;
		cr_assert_eq(baton_source_start(&reader.watch.source), 0);
		if (reader.act)
			put_bytes(ends[1], 1);
		else
			cr_assert_eq(baton_source_start(&closer.source), 0);
		cr_assert_eq(baton_mainloop_run(&loop, 10), 1);
		put_bytes(ends[1], 1);
		cr_assert(!loop_readable(0), "case %zu", i);
		make_pipe(others);
		cr_assert_eq(others[0], ends[0]);
		reader = (struct watched)WATCHED(once, r, others[0]);
		cr_assert_eq(baton_source_start(&reader.watch.source), 0);
		cr_assert_eq(baton_mainloop_run(&loop, 10), 0);
		cr_assert_eq(baton_source_stop(&reader.watch.source).met, BATON_STOP_PREVENTED);
		MUST(!close(duplicate) && !close(ends[1]) && !close(others[0]) &&
		     !close(others[1]));
	}
	loop_end(0);
}

static int entries_told;

int epoll_ctl(int epoll, int operation, int fd, struct epoll_event *event)
{
	entries_told++;
	return (int)syscall(SYS_epoll_ctl, epoll, operation, fd, event);
}

/* Its entry stays in the kernel, disabled. */
Test(mainloop_fd_entries, a_source_that_runs_once_costs_one_call_of_the_kernel_for_each_start,
     .timeout = 5)
{
	real_loop();
	make_pipe(ends);
	reader = (struct watched)WATCHED(once, r, ends[0]);
	entries_told = 0;
	for (int starts = 1; starts <= 10; starts++) {
		cr_assert_eq(baton_source_start(&reader.watch.source), 0);
		put_bytes(ends[1], 2);
		cr_assert_eq(baton_mainloop_run(&loop, 1), 1);
		cr_assert(!loop_readable(0), "a byte is left, and nobody waits for it");
		cr_assert_eq(entries_told, starts);
	}
	loop_end(0);
}

/* More descriptors are ready than the kernel tells of in one call. */
Test(mainloop_fd_entries, the_most_important_of_many_ready_descriptors_is_the_first, .timeout = 5)
{
	enum { MANY = 300 };
	static const struct baton_source_config late = {
		.fn = watched_run, .kind = BATON_SOURCE_READABLE, .level = 10};
	static struct watched readers[MANY];
	static int pipes[MANY][2];

	real_loop();
	for (int i = 0; i < MANY; i++) {
		make_pipe(pipes[i]);
		readers[i] = (struct watched)WATCHED(late, l, pipes[i][0]);
		if (i == MANY - 1)
			readers[i] = (struct watched)WATCHED(once, f, pipes[i][0]);
		cr_assert_eq(baton_source_start(&readers[i].watch.source), 0);
		put_bytes(pipes[i][1], 1);
	}
	cr_assert_eq(baton_mainloop_run(&loop, MANY), MANY);
	cr_assert_eq(log_take()[0], 'f');
	loop_end(0);
}

/* The child of a fork has the parent's loop, and the kernel's entries. */
Test(mainloop_fd_entries, a_stop_in_a_forked_child_does_not_concern_the_parent, .timeout = 5)
{
	struct baton_pool *pool = pool_of(1);
	pid_t child;
	int status;

	real_loop();
	make_pipe(ends);
	reader = (struct watched)WATCHED(again, r, ends[0]);
	cr_assert_eq(baton_source_start(&reader.watch.source), 0);
	cr_assert_eq(baton_mainloop_run(&loop, 10), 0);
	child = fork();
	cr_assert_geq(child, 0);
	if (child == 0)
		_exit(baton_source_stop(&reader.watch.source).met == BATON_STOP_CHILD ? 0 : 1);
	cr_assert_eq(waitpid(child, &status, 0), child);
	cr_assert_eq(status, 0);
	put_bytes(ends[1], 1);
	cr_assert(loop_readable(0));
	cr_assert_eq(baton_mainloop_run(&loop, 10), 1);
	loop_end(1);
	cr_assert_eq(baton_pool_destroy(pool), 0);
}

/* Bytes that nobody reads, since other sources are more important, do not hide the other side. */
Test(mainloop_fd_entries, a_side_whose_source_has_no_turn_leaves_the_other_watched, .timeout = 5)
{
	static const struct baton_source_config least = {
		.fn = watched_run, .kind = BATON_SOURCE_READABLE, .level = 9};
	static const struct baton_source_config writes = {
		.fn = watched_run, .kind = BATON_SOURCE_WRITABLE, .level = 3};
	static struct lettered busy = LETTERED(idle_again, i);
	struct watched writer;
	int pair[2];
	char bytes[64];

	real_loop();
	MUST(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair) == 0);
	reader = (struct watched)WATCHED(least, r, pair[0]);
	writer = (struct watched)WATCHED(writes, w, pair[0]);
	writer.reads = 0;
	while (write(pair[0], bytes, sizeof(bytes)) > 0)
		continue;
	cr_assert_eq(baton_source_start(&reader.watch.source), 0);
	cr_assert_eq(baton_source_start(&writer.watch.source), 0);
	cr_assert_eq(baton_source_start(&busy.source), 0);
	put_bytes(pair[1], 1);
	cr_assert_eq(baton_mainloop_run(&loop, 2), 2);
	cr_assert_str_eq(log_take(), "ii");
	while (read(pair[1], bytes, sizeof(bytes)) > 0)
		continue;
	cr_assert_eq(baton_mainloop_run(&loop, 2), 2);
	cr_assert_str_eq(log_take(), "wi");
	cr_assert_eq(baton_source_stop(&busy.source).met, BATON_STOP_PREVENTED);
	cr_assert_eq(baton_mainloop_run(&loop, 2), 1);
	cr_assert_str_eq(log_take(), "r");
	loop_end(0);
}

/* The kernel tells of an error alone: a pipe is full, and nobody will read it any more. */
Test(mainloop_fd_entries, a_descriptor_that_has_an_error_alone_is_ready, .timeout = 5)
{
	static const struct baton_source_config writes = {
		.fn = watched_run, .kind = BATON_SOURCE_WRITABLE, .level = 3};
	struct watched writer;
	char bytes[4096] = "";

	real_loop();
	make_pipe(ends);
	while (write(ends[1], bytes, sizeof(bytes)) > 0)
		continue;
	writer = (struct watched)WATCHED(writes, w, ends[1]);
	writer.reads = 0;
	cr_assert_eq(baton_source_start(&writer.watch.source), 0);
	cr_assert_eq(baton_mainloop_run(&loop, 1), 0);
	(void)close(ends[0]);
	cr_assert(loop_readable(60000));
	cr_assert_eq(baton_mainloop_run(&loop, 1), 1);
	cr_assert_str_eq(log_take(), "w");
	loop_end(0);
}
