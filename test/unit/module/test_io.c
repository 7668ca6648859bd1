/* SPDX-License-Identifier: MIT */
/* Watches of descriptors: runs, re-arming, both directions, stop, closed descriptors, refusals. */
#include "support.h"

#include <baton/executor.h>
#include <baton/io.h>

#include <fcntl.h>
#include <limits.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

struct watch {
	struct baton_io io;
	atomic_int runs;
	atomic_int dropped;
	int error;
	int take;    /* bytes that a run reads */
	bool again;  /* the function starts its watch again */
	bool active; /* the watch was active in its last run */
	int status;  /* of that start */
};

/* A pair of connected sockets, and a resource whose tasks run when the test says so. */
static int ends[2];
static struct baton_manual *manual;
static struct baton_resource resource;

static int run_watch(struct baton_io *io)
{
	struct watch *watch = baton_container_of(io, struct watch, io);
	char bytes[16];

	watch->active = baton_io_is_active(io);
	if (watch->take)
		(void)!read(io->fd, bytes, (size_t)watch->take);
	if (watch->again)
		watch->status = baton_io_start(io, io->fd, BATON_IO_READ);
	(void)atomic_fetch_add(&watch->runs, 1);
	return 0;
}

static void note_dropped(struct baton_io *io, int error)
{
	struct watch *watch = baton_container_of(io, struct watch, io);

	watch->error = error;
	(void)atomic_fetch_add(&watch->dropped, 1);
}

static struct watch fresh(void)
{
	struct watch watch = {.io = BATON_IO_INIT(&resource, run_watch)};

	baton_io_set_dropped(&watch.io, note_dropped);
	return watch;
}

static void begin(void)
{
	static struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;

	MUST(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) == 0);
	MUST(baton_manual_create(&manual) == 0);
	config.executor = baton_manual_executor(manual);
	config.name = "io";
	baton_resource_init(&resource, &config);
}

static void end(void)
{
	cr_assert_eq(baton_resource_close(&resource), 0);
	cr_assert_eq(baton_resource_await(&resource), 0);
	baton_manual_destroy(manual);
	cr_assert_eq(baton_io_destroy(), 0);
	(void)close(ends[0]);
	(void)close(ends[1]);
}

static void write_bytes(int count)
{
	for (int i = 0; i < count; i++)
		MUST(write(ends[1], "x", 1) == 1);
}

/* Runs the resource's tasks until the count has reached `value`. */
static void until(atomic_int *count, int value)
{
	while (atomic_load(count) < value) {
		(void)baton_manual_run(manual, 0);
		(void)sched_yield();
	}
}

Test(io, a_watch_runs_once_and_may_start_itself_again, .timeout = 10, .init = begin, .fini = end)
{
	struct watch watch = fresh();

	cr_assert_eq(baton_io_start(&watch.io, ends[0], BATON_IO_READ), 0);
	cr_assert(baton_io_is_active(&watch.io));
	cr_assert_eq(baton_io_start(&watch.io, ends[0], BATON_IO_READ), -EALREADY);
	write_bytes(2);
	watch.take = 1;
	until(&watch.runs, 1);
	cr_assert(!watch.active);
	cr_assert(!baton_io_is_active(&watch.io));
	watch.again = true;
	cr_assert_eq(baton_io_start(&watch.io, ends[0], BATON_IO_READ), 0);
	until(&watch.runs, 2); /* the byte that was left unread */
	cr_assert_eq(watch.status, 0);
	write_bytes(1);
	until(&watch.runs, 3);
	cr_assert_lt(baton_io_stop(&watch.io).met, BATON_STOP_QUEUED);
}

/* The table of watches grows to these descriptors. */
Test(io, a_watch_may_be_of_any_descriptor, .timeout = 10, .init = begin, .fini = end)
{
	static const int descriptors[] = {63, 64, 65, 127, 128, 256};
	struct watch watch = fresh();

	for (int i = 0; i < 6; i++) {
		MUST(dup2(ends[0], descriptors[i]) == descriptors[i]);
		cr_assert_eq(baton_io_start(&watch.io, descriptors[i], BATON_IO_WRITE), 0);
		until(&watch.runs, i + 1);
		(void)close(descriptors[i]);
	}
}

Test(io, a_watch_that_leaves_data_runs_again, .timeout = 10, .init = begin, .fini = end)
{
	struct watch watch = fresh();

	watch.take = 1;
	write_bytes(5);
	cr_assert_eq(baton_io_start(&watch.io, ends[0], BATON_IO_READ | BATON_IO_AGAIN), 0);
	until(&watch.runs, 5);
	cr_assert(watch.active);
	write_bytes(1);
	until(&watch.runs, 6);
	cr_assert_eq(baton_io_destroy(), -EBUSY);
	cr_assert_lt(baton_io_stop(&watch.io).met, BATON_STOP_QUEUED);
	write_bytes(1);
	cr_assert_eq(baton_manual_run(manual, 0), 0);
	cr_assert_eq(watch.runs, 6);
}

Test(io, the_sides_of_a_descriptor_are_independent, .timeout = 10, .init = begin, .fini = end)
{
	struct watch reads = fresh();
	struct watch writes = fresh();
	struct watch other = fresh();

	cr_assert_eq(baton_io_start(&reads.io, ends[0], BATON_IO_READ), 0);
	cr_assert_eq(baton_io_start(&writes.io, ends[0], BATON_IO_WRITE), 0);
	cr_assert_eq(baton_io_start(&other.io, ends[0], BATON_IO_READ), -EEXIST);
	until(&writes.runs, 1);
	cr_assert_eq(reads.runs, 0);
	cr_assert_eq(baton_io_start(&other.io, ends[0], BATON_IO_WRITE), 0, "it has run");
	until(&other.runs, 1);
	write_bytes(1);
	until(&reads.runs, 1);
}

Test(io, a_stopped_watch_does_not_run, .timeout = 10, .init = begin, .fini = end)
{
	struct watch watch = fresh();
	struct watch last = fresh();

	cr_assert_eq(baton_io_stop(&watch.io).met, BATON_STOP_NOTHING, "never started");
	cr_assert_eq(baton_io_start(&watch.io, ends[0], BATON_IO_READ), 0);
	cr_assert_eq(baton_io_stop(&watch.io).met, BATON_STOP_PREVENTED);
	write_bytes(1);
	cr_assert_eq(baton_io_start(&watch.io, ends[0], BATON_IO_READ | BATON_IO_AGAIN), 0);
	/* Queued: the executor has the resource's job. */
	while (baton_resource_is_idle(&resource))
		(void)sched_yield();
	cr_assert_eq(baton_io_stop(&watch.io).met, BATON_STOP_QUEUED);
	cr_assert(!baton_io_is_active(&watch.io));
	cr_assert_eq(baton_io_start(&last.io, ends[0], BATON_IO_READ), 0);
	until(&last.runs, 1);
	cr_assert_eq(watch.runs, 0);
	cr_assert_eq(baton_io_stop(&watch.io).met, BATON_STOP_NOTHING, "that run is over");
}

Test(io, a_watch_of_a_closed_descriptor_harms_no_other, .timeout = 10, .init = begin, .fini = end)
{
	struct watch old = fresh();
	struct watch new = fresh();
	int copy = dup(ends[0]);
	int number = dup(ends[1]);

	cr_assert_eq(baton_io_start(&old.io, number, BATON_IO_READ), 0);
	(void)close(number);
	cr_assert_eq(dup2(copy, number), number);
	cr_assert_eq(baton_io_start(&new.io, number, BATON_IO_READ), 0);
	cr_assert(!baton_io_is_active(&old.io));
	cr_assert_eq(baton_io_stop(&old.io).met, BATON_STOP_NOTHING);
	cr_assert(baton_io_is_active(&new.io));
	write_bytes(1);
	until(&new.runs, 1);
	cr_assert_eq(old.runs, 0);
	(void)close(number);
	(void)close(copy);
}

/* A function that closes its descriptor without a stop. */
static int close_it(struct baton_io *io)
{
	(void)close(io->fd);
	return run_watch(io);
}

Test(io, a_function_may_close_its_descriptor, .timeout = 10, .init = begin, .fini = end)
{
	struct watch watch = fresh();

	baton_io_init(&watch.io, &resource, close_it);
	write_bytes(1);
	cr_assert_eq(baton_io_start(&watch.io, ends[0], BATON_IO_READ | BATON_IO_AGAIN), 0);
	until(&watch.runs, 1);
	cr_assert(!baton_io_is_active(&watch.io));
	cr_assert_lt(baton_io_stop(&watch.io).met, BATON_STOP_QUEUED);
}

static atomic_int freed;

static int free_it(struct baton_io *io)
{
	free(baton_container_of(io, struct watch, io));
	(void)atomic_fetch_add(&freed, 1);
	return BATON_GONE;
}

Test(io, a_function_may_free_its_watch, .timeout = 10, .init = begin, .fini = end)
{
	struct watch *watch = malloc(sizeof(*watch));

	MUST(watch);
	baton_io_init(&watch->io, &resource, free_it);
	write_bytes(1);
	cr_assert_eq(baton_io_start(&watch->io, ends[0], BATON_IO_READ), 0);
	until(&freed, 1);
}

Test(io, a_refused_or_cancelled_run_is_told, .timeout = 10, .init = begin, .fini = end)
{
	struct watch watch = fresh();
	struct baton_resource closed = BATON_RESOURCE_INIT(NAMED("closed"));

	write_bytes(1);
	cr_assert_eq(baton_io_start(&watch.io, ends[0], BATON_IO_READ | BATON_IO_AGAIN), 0);
	while (baton_resource_is_idle(&resource))
		(void)sched_yield();
	cr_assert_eq(baton_resource_cancel_pending(&resource), 0);
	until(&watch.dropped, 1);
	cr_assert_eq(watch.error, -ECANCELED);
	cr_assert(!baton_io_is_active(&watch.io));

	cr_assert_eq(baton_resource_close(&closed), 0);
	watch.io._resource = &closed;
	cr_assert_eq(baton_io_start(&watch.io, ends[0], BATON_IO_READ | BATON_IO_AGAIN), 0);
	until(&watch.dropped, 2);
	cr_assert_eq(watch.error, -EPIPE);
	cr_assert(!baton_io_is_active(&watch.io));
	cr_assert_eq(watch.runs, 0);
	cr_assert_eq(baton_resource_await(&closed), 0);
}

Test(io, is_served_again_after_the_poller_was_destroyed, .timeout = 10, .init = begin, .fini = end)
{
	for (int i = 0; i < 2; i++) {
		struct watch watch = fresh();

		watch.take = 1;
		cr_assert_eq(baton_io_start(&watch.io, ends[0], BATON_IO_READ), 0);
		write_bytes(1);
		until(&watch.runs, 1);
		cr_assert_eq(baton_io_destroy(), 0);
	}
}

static void destroy_the_poller(struct baton_io *io, int error)
{
	struct watch *watch = baton_container_of(io, struct watch, io);

	watch->error = error;
	watch->status = baton_io_destroy();
	(void)atomic_fetch_add(&watch->dropped, 1);
}

Test(io, the_poller_is_not_destroyed_by_what_it_calls, .timeout = 10, .init = begin, .fini = end)
{
	struct baton_resource closed = BATON_RESOURCE_INIT(NULL);
	struct watch watch = {.io = BATON_IO_INIT(&closed, run_watch)};

	cr_assert_eq(baton_resource_close(&closed), 0);
	baton_io_set_dropped(&watch.io, destroy_the_poller);
	cr_assert_eq(baton_io_start(&watch.io, ends[1], BATON_IO_WRITE), 0);
	until(&watch.dropped, 1);
	cr_assert_eq(watch.error, -EPIPE);
	cr_assert_eq(watch.status, -EDEADLK);
	cr_assert_eq(baton_resource_await(&closed), 0);
}

Test(io, a_stop_in_a_forked_child_does_not_concern_the_parent, .timeout = 10, .init = begin,
     .fini = end)
{
	struct watch watch = fresh();
	int status = 0;
	pid_t child;

	watch.take = 1;
	cr_assert_eq(baton_io_start(&watch.io, ends[0], BATON_IO_READ), 0);
	child = fork();
	cr_assert_geq(child, 0);
	if (child == 0)
		_exit(baton_io_stop(&watch.io).met != BATON_STOP_CHILD);
	cr_assert_eq(waitpid(child, &status, 0), child);
	cr_assert_eq(status, 0);
	write_bytes(1);
	until(&watch.runs, 1);
}

Test(io, bad_starts_are_errors, .timeout = 10, .init = begin, .fini = end)
{
	int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	const struct {
		int fd;
		unsigned how;
		int error;
	} cases[] = {
		{ends[0], 0, -EINVAL},
		{ends[0], BATON_IO_AGAIN, -EINVAL},
		{ends[0], BATON_IO_READ | BATON_IO_WRITE, -EINVAL},
		{ends[0], BATON_IO_READ | 8, -EINVAL},
		{-1, BATON_IO_READ, -EBADF},
		{1000, BATON_IO_READ, -EBADF},
		{INT_MAX, BATON_IO_READ, -EBADF},
		{file, BATON_IO_READ, -EPERM},
	};
	struct watch watch = fresh();

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		cr_assert_eq(baton_io_start(&watch.io, cases[i].fd, cases[i].how), cases[i].error,
		             "case %zu", i);
		cr_assert(!baton_io_is_active(&watch.io));
	}
	baton_io_init(&watch.io, &resource, run_watch);
	watch.io._fn = NULL;
	cr_assert_eq(baton_io_start(&watch.io, ends[0], BATON_IO_READ), -EINVAL);
	(void)close(file);
}

/* ---- A stop beside `dropped` ---- */

static atomic_int inside, stopping, left;

static void linger(struct baton_io *io, int error)
{
	struct watch *watch = baton_container_of(io, struct watch, io);

	(void)atomic_fetch_add(&inside, 1);
	until_at_least(&stopping, 1);
	/* The stop has time to come back too early. */
	for (int i = 0; i < 1000; i++)
		(void)sched_yield();
	if (watch->again)
		watch->status = baton_io_start(io, ends[1], BATON_IO_READ);
	watch->error = error;
	(void)atomic_fetch_add(&left, 1);
}

Test(io, a_stop_waits_while_a_refused_run_is_told, .timeout = 10, .init = begin, .fini = end)
{
	struct baton_resource closed = BATON_RESOURCE_INIT(NAMED("closed"));
	struct watch watch = {.io = BATON_IO_INIT(&closed, run_watch)};

	cr_assert_eq(baton_resource_close(&closed), 0);
	baton_io_set_dropped(&watch.io, linger);
	for (int i = 0; i < 2; i++) {
		watch.again = i;
		cr_assert_eq(baton_io_start(&watch.io, ends[0], BATON_IO_WRITE), 0);
		until_at_least(&inside, i + 1);
		atomic_store(&stopping, 1);
		cr_assert_lt(baton_io_stop(&watch.io).met, BATON_STOP_QUEUED);
		cr_assert_eq(atomic_load(&left), i + 1);
		cr_assert_eq(watch.error, -EPIPE);
		cr_assert_eq(watch.status, 0);
		cr_assert(!baton_io_is_active(&watch.io), "`dropped` has started it");
		atomic_store(&stopping, 0);
	}
	cr_assert_eq(baton_resource_await(&closed), 0);
}

struct stopper {
	struct watch *watch;
	enum baton_stop met;
	int left; /* how often `dropped` had returned after the stop */
};

static void *stop_beside(void *arg)
{
	struct stopper *stopper = arg;

	until_at_least(&inside, 1);
	atomic_store(&stopping, 1);
	stopper->met = baton_io_stop(&stopper->watch->io).met;
	stopper->left = atomic_load(&left);
	return NULL;
}

Test(io, a_stop_waits_while_a_cancelled_run_is_told, .timeout = 10, .init = begin, .fini = end)
{
	struct watch watch = fresh();
	struct stopper stopper = {.watch = &watch};
	pthread_t thread;

	baton_io_set_dropped(&watch.io, linger);
	cr_assert_eq(baton_io_start(&watch.io, ends[0], BATON_IO_WRITE), 0);
	while (baton_resource_is_idle(&resource))
		(void)sched_yield();
	cr_assert_eq(baton_resource_cancel_pending(&resource), 0);
	thread = thread_start(stop_beside, &stopper);
	until(&left, 1);
	thread_join(thread);
	cr_assert_lt(stopper.met, BATON_STOP_QUEUED);
	cr_assert_eq(stopper.left, 1);
	cr_assert_eq(watch.error, -ECANCELED);
}

static void stop_it(struct baton_io *io, int error)
{
	struct watch *watch = baton_container_of(io, struct watch, io);

	watch->status = (int)baton_io_stop(io).met;
	note_dropped(io, error);
}

Test(io, the_told_function_may_stop_its_watch, .timeout = 10, .init = begin, .fini = end)
{
	struct watch watch = fresh();

	watch.status = -1;
	baton_io_set_dropped(&watch.io, stop_it);
	cr_assert_eq(baton_io_start(&watch.io, ends[0], BATON_IO_WRITE), 0);
	while (baton_resource_is_idle(&resource))
		(void)sched_yield();
	cr_assert_eq(baton_resource_cancel_pending(&resource), 0);
	until(&watch.dropped, 1);
	cr_assert_eq(watch.status, 0);
}

static struct watch *other;

static void stop_other(struct baton_io *io, int error)
{
	other->status = (int)baton_io_stop(&other->io).met;
	note_dropped(io, error);
}

/* Both are found ready in one look; the first is refused, and is told before the second is handed
 * over. */
Test(io, the_told_function_may_stop_what_is_handed_over_next, .timeout = 10, .init = begin,
     .fini = end)
{
	struct baton_resource closed = BATON_RESOURCE_INIT(NULL);
	struct watch lingering = {.io = BATON_IO_INIT(&closed, run_watch)};
	struct watch refused = {.io = BATON_IO_INIT(&closed, run_watch)};
	struct watch stopped = fresh();
	int pipes[2][2];

	other = &stopped;
	stopped.status = -1;
	cr_assert_eq(baton_resource_close(&closed), 0);
	baton_io_set_dropped(&lingering.io, linger);
	baton_io_set_dropped(&refused.io, stop_other);
	for (int i = 0; i < 2; i++) {
		MUST(pipe2(pipes[i], O_CLOEXEC) == 0);
		cr_assert_eq(
			baton_io_start(i ? &stopped.io : &refused.io, pipes[i][0], BATON_IO_READ),
			0);
	}
	/* The library's thread is inside a call while both become ready. */
	cr_assert_eq(baton_io_start(&lingering.io, ends[0], BATON_IO_WRITE), 0);
	until_at_least(&inside, 1);
	for (int i = 0; i < 2; i++)
		MUST(write(pipes[i][1], "x", 1) == 1);
	atomic_store(&stopping, 1);
	until(&refused.dropped, 1);
	cr_assert_eq(stopped.status, (int)BATON_STOP_PREVENTED);
	cr_assert_eq(baton_io_start(&stopped.io, pipes[1][0], BATON_IO_READ), 0);
	until(&stopped.runs, 1);
	for (int i = 0; i < 4; i++)
		(void)close(pipes[i / 2][i % 2]);
	cr_assert_eq(baton_resource_await(&closed), 0);
}
