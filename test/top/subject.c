/* SPDX-License-Identifier: MIT */
/*
 * A program for baton-top to look at: subject [FILE]. Seven resources: `hot` runs tasks all the
 * time; `slow` has a consumer that takes 5 ms for a task, so that tasks wait, and one of its tasks
 * fails; `stuck` runs a task that waits for a promise that nobody completes; `quiet` does nothing;
 * `laned` has two lanes, and a consumer that sleeps in its tasks; of `windowed` one task waits in
 * the window, and nobody completes the one in flight; a task of `windowed` has suspended
 * `withheld`. Two more are on no board: one runs such a task as `stuck` does, and such a task has
 * suspended the other one, which a thread calls. Prints a line when all of that goes on, and then
 * runs until it is killed.
 */
#include <baton/all.h>

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "../parts.h"

static struct baton_board *board;
static struct baton_resource hot, slow, stuck, quiet, laned, windowed, withheld, looked;
static struct baton_future promise;
static struct baton_suspension suspensions[2];

/* At most so many tasks of two submitters wait for `laned`. */
#define LANED_MAX 200U

/* What has run so far. */
static atomic_uint hot_runs, slow_runs, laned_runs, stuck_runs;

static void nap(long ns)
{
	struct timespec pause = {0, ns};

	(void)nanosleep(&pause, NULL);
}

static void *hot_task(void *arg)
{
	atomic_fetch_add(&hot_runs, 1);
	return arg;
}

static void *slow_task(void *arg)
{
	nap(5000000);
	atomic_fetch_add(baton_current() == &slow ? &slow_runs : &laned_runs, 1);
	return arg;
}

static void *stuck_task(void *arg)
{
	atomic_fetch_add(&stuck_runs, 1);
	if (baton_future_wait(&promise))
		abort();
	return arg;
}

static int fail(struct baton_task *task)
{
	(void)task;
	return -EIO;
}

static void *be_hot(void *arg)
{
	for (;;)
		BATON_IGNORE(baton_call(&hot, hot_task, NULL, NULL));
	return arg;
}

static void *be_stuck(void *arg)
{
	BATON_IGNORE(baton_call(&stuck, stuck_task, NULL, NULL));
	return arg;
}

/* It is on no board, either. */
static struct baton_resource hidden;

static struct baton_readers readers = BATON_READERS_INIT(&looked);
static struct baton_resource unlisted_looked = BATON_RESOURCE_INIT(NULL);
static struct baton_readers unlisted_readers = BATON_READERS_INIT(&unlisted_looked);
static atomic_uint looking;

/* Reads both for ever. */
static void *be_looking(void *arg)
{
	static struct baton_shared_hold holds[2][2];
	struct baton_shared_hold *own = holds[atomic_load(&looking) % 2];

	if (baton_hold_shared(&readers, &own[0]) || baton_hold_shared(&unlisted_readers, &own[1]))
		abort();
	atomic_fetch_add(&looking, 1);
	for (;;)
		(void)pause();
	return arg;
}

static void *withhold_task(void *arg)
{
	if (baton_resource_suspend(arg, &suspensions[arg == &hidden]))
		abort();
	return NULL;
}

static void *be_hidden(void *arg)
{
	static const struct baton_resource_config config = {.capture_max = 1, .name = "hidden"};

	baton_resource_init(&hidden, &config);
	(void)withhold_task(&hidden);
	BATON_IGNORE(baton_call(&hidden, slow_task, NULL, NULL));
	return arg;
}

/* It is on no board: its name is known from its config. */
static struct unlisted {
	struct baton_resource resource;
	char name[12];
} unlisted;

static const char *unlisted_name(const struct baton_resource *resource)
{
	return baton_container_of(resource, const struct unlisted, resource)->name;
}

static void *be_unlisted(void *arg)
{
	static const struct baton_resource_config config = {
		.capture_max = 1, .name = "unlisted", .name_of = unlisted_name};

	(void)snprintf(unlisted.name, sizeof(unlisted.name), "unlisted/%d", 7);
	baton_resource_init(&unlisted.resource, &config);
	BATON_IGNORE(baton_call(&unlisted.resource, stuck_task, NULL, NULL));
	return arg;
}

/* It has the longest queue: more than `laned` ever has, from the beginning. */
static void *be_slow(void *arg)
{
	for (unsigned i = 0;; i++) {
		BATON_IGNORE(baton_post(&slow, slow_task, NULL));
		if (i >= LANED_MAX)
			nap(1000000);
	}
	return arg;
}

/* Urgent tasks, and more others than the consumer can do. */
static void *be_laned(void *arg)
{
	static const struct baton_label labels[] = {{.lane = 0}, {.lane = 1}};

	for (unsigned i = 0;; i++) {
		while (2 * i > laned_runs + LANED_MAX)
			nap(2000000);
		const struct baton_call_options options = {.fn = slow_task,
		                                           .label = &labels[i % 9 != 0]};
		struct baton_future *future;

		if (baton_async_with(&laned, &options, &future))
			abort();
		baton_future_unref(future);
		nap(2000000);
	}
	return arg;
}

static int never_complete(struct baton_task *task)
{
	struct windowed *entry = baton_container_of(task, struct windowed, task);

	return baton_detach(&entry->part.token, 0);
}

static void fill_window(void)
{
	static struct baton_window window = BATON_WINDOW_INIT(&windowed, 1);
	static struct windowed entries[2];

	for (int i = 0; i < 2; i++) {
		windowed_init(&entries[i], &window, never_complete, NULL);
		if (baton_submit(&windowed, &entries[i].task))
			exit(1);
	}
}

static void begin(struct baton_resource *resource, const char *name)
{
	baton_resource_init(resource, NULL);
	if (baton_board_join(board, resource, name, NULL))
		exit(1);
}

/* Has each resource run so much that its figures are there? */
static bool goes_on(void)
{
	return hot_runs >= 10000 && slow_runs >= 20 && laned_runs >= 40 && stuck_runs == 2;
}

int main(int argc, char **argv)
{
	struct baton_board_options options = {.path = argc > 1 ? argv[1] : NULL, .resources = 9};
	struct baton_watchdog_options watchdog = {.every_ns = 20000000};
	static struct baton_task failing = BATON_TASK_INIT(fail, NULL);
	pthread_t threads[10];
	static struct baton_lane lanes_array[2];
	static struct baton_lanes lanes;
	struct baton_pool *pool;

	baton_promise_init(&promise);
	if (baton_board_create(&options, &board) || baton_pool_create(NULL, &pool))
		return 1;
	begin(&hot, "hot");
	begin(&slow, "slow \"\x1b[31mconsumer");
	begin(&stuck, "stuck");
	begin(&quiet, "quiet");
	begin(&laned, "laned");
	begin(&windowed, "windowed");
	begin(&withheld, "withheld");
	begin(&looked, "looked");
	if (baton_call(&windowed, withhold_task, &withheld, NULL) ||
	    baton_post(&withheld, slow_task, NULL))
		return 1;
	fill_window();
	baton_lanes_init(&lanes, lanes_array, 2, NULL);
	baton_resource_set_lanes(&laned, &lanes);
	if (baton_board_pool_join(board, pool, "wor\x1b[1mkers") || baton_submit(&slow, &failing))
		return 1;
	(void)pthread_create(&threads[0], NULL, be_hot, NULL);
	(void)pthread_create(&threads[1], NULL, be_slow, NULL);
	(void)pthread_create(&threads[2], NULL, be_slow, NULL);
	(void)pthread_create(&threads[3], NULL, be_stuck, NULL);
	(void)pthread_create(&threads[4], NULL, be_laned, NULL);
	(void)pthread_create(&threads[5], NULL, be_laned, NULL);
	(void)pthread_create(&threads[6], NULL, be_unlisted, NULL);
	(void)pthread_create(&threads[7], NULL, be_hidden, NULL);
	for (unsigned i = 0; i < 2; i++) {
		(void)pthread_create(&threads[8 + i], NULL, be_looking, NULL);
		while (looking <= i)
			nap(1000000);
	}
	(void)pthread_setname_np(threads[3], "stuck\x1b[31m one");
	watchdog.board = board;
	if (baton_watchdog_create(&watchdog, &(struct baton_watchdog *){NULL}))
		return 1;
	while (!goes_on())
		nap(5000000);
	(void)puts("ready");
	(void)fflush(stdout);
	for (;;)
		nap(20000000);
}
