/* SPDX-License-Identifier: MIT */
/* Boards: what a line shows of its resource, and that lines and files come and go. */
#include "support.h"

#include "base/atomic.h"
#include "base/futex.h"
#include "inspect/board.h"

#include <baton/call.h>
#include <baton/label.h>
#include <baton/lane.h>

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../parts.h"

static struct baton_board *board_of(uint32_t resources, const char *path)
{
	struct baton_board_options options = {.path = path, .resources = resources};
	struct baton_board *board = NULL;

	cr_assert_eq(baton_board_create(&options, &board), 0);
	return board;
}

static void leave(struct baton_board *board, struct baton_resource *resource)
{
	cr_assert_eq(baton_resource_close(resource), 0);
	cr_assert_eq(baton_resource_await(resource), 0);
	baton_board_leave(board, resource);
}

struct looked {
	const struct baton_resource_stats *stats;
	uintptr_t function;
	uint64_t thread, entered;
};

static void look(struct looked *looked)
{
	looked->function = looked->stats->_function;
	looked->thread = looked->stats->_thread;
	looked->entered = baton__gauge_entered(looked->stats);
}

struct looking {
	struct baton_task task;
	struct looked looked;
};

static int look_task(struct baton_task *task)
{
	look(&baton_container_of(task, struct looking, task)->looked);
	return 0;
}

static void *look_call(void *arg)
{
	look(arg);
	return NULL;
}

Test(board, a_line_shows_what_runs_and_by_whom, .timeout = 10)
{
	struct baton_resource resource = BATON_RESOURCE_INIT(NAMED("topic"));
	struct baton_board *board = board_of(4, NULL);
	struct looking looking = {.task = BATON_TASK_INIT(look_task, NULL)};
	struct baton_resource_stats *stats;
	struct occupant occupant;

	cr_assert_eq(baton_board_join(board, &resource, NULL, &stats), 0);
	cr_assert_str_eq(board->file->line[0].name, "topic");
	cr_assert_eq(board->file->line[0].resource, &resource);
	cr_assert_eq(stats, &board->file->line[0].stats);
	looking.looked.stats = stats;
	/* Inside submit, inside call, as a post that has waited. */
	cr_assert_eq(baton_submit(&resource, &looking.task), 0);
	cr_assert_eq(looking.looked.function, (uintptr_t)look_task);
	cr_assert_eq(looking.looked.thread, (uint64_t)gettid());
	cr_assert_eq(looking.looked.entered, 1);
	cr_assert_eq(stats->_function, 0);
	cr_assert_eq(baton_call(&resource, look_call, &looking.looked, NULL), 0);
	cr_assert_eq(looking.looked.function, (uintptr_t)look_call);
	cr_assert_eq(looking.looked.entered, 2);
	cr_assert_eq(stats->_function, 0);
	occupy(&occupant, &resource);
	cr_assert_eq(baton_post(&resource, look_call, &looking.looked), 0);
	release(&occupant);
	cr_assert_eq(baton_resource_await(&resource), 0);
	cr_assert_eq(looking.looked.function, (uintptr_t)look_call);
	cr_assert_eq(looking.looked.entered, 4);
	leave(board, &resource);
	baton_board_destroy(board);
}

/* Calls and asyncs that have waited show the user's function, not baton's. */
Test(board, of_an_async_and_a_call_the_function_is_shown, .timeout = 10)
{
	struct baton_resource resource = BATON_RESOURCE_INIT(NAMED("topic"));
	const struct baton_label label = {.lane = 1};
	struct baton_board *board = board_of(1, NULL);
	struct looked looked[3];
	const struct baton_call_options stamped = {
		.fn = look_call, .arg = &looked[1], .label = &label};
	struct baton_future *futures[2];
	struct occupant occupant;

	cr_assert_eq(baton_board_join(board, &resource, NULL, NULL), 0);
	for (int i = 0; i < 3; i++)
		looked[i] = (struct looked){.stats = &board->file->line[0].stats};
	occupy(&occupant, &resource);
	cr_assert_eq(baton_async(&resource, look_call, &looked[0], &futures[0]), 0);
	cr_assert_eq(baton_async_with(&resource, &stamped, &futures[1]), 0);
	release(&occupant);
	cr_assert_eq(baton_resource_await(&resource), 0);
	cr_assert_eq(looked[0].function, (uintptr_t)look_call);
	cr_assert_eq(looked[1].function, (uintptr_t)look_call);
	baton_future_unref(futures[0]);
	baton_future_unref(futures[1]);
	leave(board, &resource);
	baton_board_destroy(board);
}

struct calling {
	struct baton_resource *resource;
	struct looked looked;
};

static void *call_look(void *arg)
{
	struct calling *calling = arg;

	cr_assert_eq(baton_call(calling->resource, look_call, &calling->looked, NULL), 0);
	return NULL;
}

Test(board, of_a_call_that_has_waited_the_function_is_shown, .timeout = 10)
{
	struct baton_resource resource = BATON_RESOURCE_INIT(NAMED("topic"));
	struct baton_board *board = board_of(1, NULL);
	struct calling calling = {.resource = &resource};
	struct baton_resource_stats *stats, copy;
	struct occupant occupant;
	pthread_t caller;

	cr_assert_eq(baton_board_join(board, &resource, NULL, &stats), 0);
	calling.looked.stats = stats;
	occupy(&occupant, &resource);
	caller = thread_start(call_look, &calling);
	do
		baton_resource_stats_read(stats, &copy);
	while (copy.waiting == 0);
	release(&occupant);
	thread_join(caller);
	cr_assert_eq(calling.looked.function, (uintptr_t)look_call);
	leave(board, &resource);
	baton_board_destroy(board);
}

static uint64_t recorded(const struct baton__histogram *histogram)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < BATON__HISTOGRAM_BUCKETS; i++)
		sum += histogram->counts[i];
	return sum;
}

static void *nothing(void *arg)
{
	return arg;
}

Test(board, of_waiting_tasks_one_at_a_time_is_measured_of_running_ones_each_64th, .timeout = 10)
{
	struct baton_resource resource = BATON_RESOURCE_INIT(NULL);
	struct baton_board *board = board_of(1, NULL);
	struct occupant occupant;
	struct baton__gauge *gauge;
	uint64_t began;

	cr_assert_eq(baton_board_join(board, &resource, NULL, NULL), 0);
	gauge = &board->file->line[0].gauge;
	for (unsigned i = 0; i < 2 * BATON__GAUGE_EVERY; i++)
		cr_assert_eq(baton_call(&resource, nothing, NULL, NULL), 0);
	cr_assert_eq(recorded(&gauge->times->ran), 2);
	cr_assert_eq(recorded(&gauge->times->waited), 0);
	/* Also in a trace, which takes the times of more tasks. */
	cr_assert_eq(baton_board_trace_start(board), 0);
	for (unsigned i = 0; i < BATON__GAUGE_EVERY; i++)
		cr_assert_eq(baton_call(&resource, nothing, NULL, NULL), 0);
	cr_assert_eq(baton_board_trace_stop(board, "/dev/null"), 0);
	cr_assert_eq(recorded(&gauge->times->ran), 3);
	occupy(&occupant, &resource);
	for (int i = 0; i < 3; i++)
		cr_assert_eq(baton_post(&resource, nothing, NULL), 0);
	began = baton__now_ns();
	while (baton__now_ns() < began + 1000000)
		continue;
	release(&occupant);
	cr_assert_eq(baton_resource_await(&resource), 0);
	cr_assert_geq(recorded(&gauge->times->waited), 1);
	cr_assert_geq(gauge->times->waited.max_ns, 1000000);
	leave(board, &resource);
	baton_board_destroy(board);
}

static void post_in_lane(struct baton_resource *resource, uint8_t lane)
{
	const struct baton_label label = {.lane = lane};
	const struct baton_call_options options = {.fn = nothing, .label = &label};

	cr_assert_eq(baton_post_with(resource, &options), 0);
}

static void expect_lane(const struct baton__gauge *gauge, unsigned lane, uint64_t waiting)
{
	struct baton__lane_queue queue;

	baton__gauge_lane_read(&gauge->times->lane[lane], &queue);
	cr_assert_eq(queue.waiting, waiting, "lane %u: %lu", lane, queue.waiting);
	cr_assert_eq(queue.oldest_ns != 0, waiting != 0);
}

/* Lanes that are given before and after the join; the lanes beyond the shown ones are the last. */
Test(board, each_lane_has_its_own_times, .timeout = 10)
{
	struct baton_resource resource = BATON_RESOURCE_INIT(NULL);
	struct baton_board *board = board_of(1, NULL);
	struct baton_lane array[6];
	struct baton_lanes lanes;
	struct occupant occupant;
	struct baton__gauge *gauge = &board->file->line[0].gauge;
	uint64_t began;

	for (int first = 0; first < 2; first++) {
		baton_resource_init(&resource, NULL);
		baton_lanes_init(&lanes, array, 6, NULL);
		if (first)
			baton_resource_set_lanes(&resource, &lanes);
		cr_assert_eq(baton_board_join(board, &resource, NULL, NULL), 0);
		if (!first)
			baton_resource_set_lanes(&resource, &lanes);
		cr_assert_eq(gauge->lanes, 6);
		expect_lane(gauge, 0, 0);
		post_in_lane(&resource, 1);
		occupy(&occupant, &resource);
		post_in_lane(&resource, 0);
		post_in_lane(&resource, 3);
		post_in_lane(&resource, 5);
		began = baton__now_ns();
		while (baton__now_ns() < began + 1000000)
			continue;
		expect_lane(gauge, 0, 1);
		expect_lane(gauge, 1, 0);
		expect_lane(gauge, 3, 2);
		release(&occupant);
		cr_assert_eq(baton_resource_await(&resource), 0);
		for (unsigned lane = 0; lane < BATON__GAUGE_LANES; lane++)
			expect_lane(gauge, lane, 0);
		cr_assert_eq(recorded(&gauge->times->lane[0].waited), 1);
		cr_assert_eq(recorded(&gauge->times->lane[1].waited), 0);
		cr_assert_eq(recorded(&gauge->times->lane[3].waited), 1);
		cr_assert_geq(gauge->times->lane[0].waited.max_ns, 1000000);
		cr_assert_geq(gauge->times->lane[3].waited.max_ns, 1000000);
		leave(board, &resource);
	}
	baton_board_destroy(board);
}

/* What is left behind a marked task has waited since that task's submit at most. */
Test(board, a_lane_knows_its_oldest_also_behind_the_mark, .timeout = 10)
{
	struct baton_resource resource = BATON_RESOURCE_INIT(NULL);
	struct baton_board *board = board_of(1, NULL);
	struct baton__gauge *gauge = &board->file->line[0].gauge;
	struct stamped tasks[3];

	cr_assert_eq(baton_board_join(board, &resource, NULL, NULL), 0);
	gauge->lanes = 2;
	for (int i = 0; i < 3; i++) {
		stamped_init(&tasks[i], look_task, NULL);
		baton_stamp_set_lane(&tasks[i].stamp, 1);
		tasks[i].task._next = i < 2 ? &tasks[i + 1].task : NULL;
	}
	baton__gauge_pushed(gauge, &tasks[0].task, 3);
	expect_lane(gauge, 1, 3);
	baton__gauge_left(gauge, &tasks[0].task);
	expect_lane(gauge, 1, 2);
	/* A task overtakes. */
	baton__gauge_unlinked(gauge, &tasks[2].task);
	baton__gauge_left(gauge, &tasks[2].task);
	expect_lane(gauge, 1, 1);
	baton__gauge_left(gauge, &tasks[1].task);
	expect_lane(gauge, 1, 0);
	/* A submit that is not accepted leaves nothing. */
	baton__gauge_pushed(gauge, &tasks[0].task, 3);
	baton__gauge_unpushed(gauge, &tasks[0].task, 3);
	expect_lane(gauge, 1, 0);
	baton__gauge_pushed(gauge, &tasks[1].task, 1);
	expect_lane(gauge, 1, 1);
	baton__gauge_unlinked(gauge, &tasks[1].task);
	baton__gauge_left(gauge, &tasks[1].task);
	expect_lane(gauge, 1, 0);
	cr_assert_eq(recorded(&gauge->times->lane[1].waited), 2);
	gauge->lanes = 0;
	leave(board, &resource);
	baton_board_destroy(board);
}

Test(board, a_full_board_refuses_and_a_line_serves_again, .timeout = 10)
{
	struct baton_resource resources[3];
	struct baton_board *board = board_of(2, NULL);
	struct baton_resource_stats *stats, copy;

	for (int i = 0; i < 3; i++)
		baton_resource_init(&resources[i], i < 2 ? NAMED("old") : NAMED("new"));
	cr_assert_eq(baton_board_join(board, &resources[0], NULL, NULL), 0);
	cr_assert_eq(baton_call(&resources[0], nothing, NULL, NULL), 0);
	cr_assert_eq(baton_board_join(board, &resources[1], NULL, NULL), 0);
	cr_assert_eq(baton_board_join(board, &resources[2], NULL, NULL), -ENOSPC);
	/* Refused, the resource works as before. */
	cr_assert_eq(baton_call(&resources[2], nothing, NULL, NULL), 0);
	baton_board_leave(board, &resources[2]);
	leave(board, &resources[0]);
	baton_resource_init(&resources[2], NAMED("new"));
	cr_assert_eq(baton_board_join(board, &resources[2], "newer", &stats), 0);
	cr_assert_str_eq(board->file->line[0].name, "newer");
	baton_resource_stats_read(stats, &copy);
	cr_assert_eq(copy.executed, 0);
	cr_assert_eq(baton__gauge_entered(stats), 0);
	leave(board, &resources[1]);
	leave(board, &resources[2]);
	baton_board_destroy(board);
}

Test(board, long_names_are_cut_and_missing_ones_are_empty, .timeout = 10)
{
	char name[200];
	const struct baton_resource_config named = BATON_RESOURCE_CONFIG_NAMED(name);
	struct baton_resource resources[2];
	struct baton_board *board = board_of(2, NULL);

	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	baton_resource_init(&resources[0], &named);
	baton_resource_init(&resources[1], NULL);
	for (int i = 0; i < 2; i++)
		cr_assert_eq(baton_board_join(board, &resources[i], NULL, NULL), 0);
	cr_assert_eq(strlen(board->file->line[0].name), BATON_BOARD_NAME_MAX);
	cr_assert_str_eq(board->file->line[1].name, "");
	for (int i = 0; i < 2; i++)
		leave(board, &resources[i]);
	baton_board_destroy(board);
}

Test(board, a_file_is_private_replaced_and_removed, .timeout = 10)
{
	char path[] = "/tmp/baton-test-board-XXXXXX";
	struct baton_board *board;
	struct stat stat_old, stat_new;
	int fd = mkstemp(path);

	cr_assert_geq(fd, 0);
	cr_assert_eq(fstat(fd, &stat_old), 0);
	board = board_of(1, path);
	cr_assert_eq(stat(path, &stat_new), 0);
	cr_assert_neq(stat_new.st_ino, stat_old.st_ino);
	cr_assert_eq(stat_new.st_mode & 0777, 0600);
	cr_assert_eq(memcmp(board->file->magic, BATON__BOARD_MAGIC, 8), 0);
	baton_board_destroy(board);
	cr_assert_eq(access(path, F_OK), -1);
	close(fd);
}

Test(board, bad_options_are_refused, .timeout = 10)
{
	struct baton_board_options options = {.resources = (1U << 20) + 1};
	struct baton_board *board = NULL;

	cr_assert_eq(baton_board_create(&options, &board), -EINVAL);
	options = (struct baton_board_options){.path = "/nowhere/at/all"};
	cr_assert_eq(baton_board_create(&options, &board), -ENOENT);
	options.path = "/proc/version/board";
	cr_assert_eq(baton_board_create(&options, &board), -ENOTDIR);
	cr_assert_null(board);
	cr_assert_eq(baton_board_create(NULL, &board), 0);
	cr_assert_eq(board->file->lines_max, 1024);
	cr_assert_eq(sizeof(board->file->line[0]), 384);
	cr_assert(offsetof(struct baton__times, lane) > 4500 &&
	          sizeof(struct baton__times) < 15000);
	baton_board_destroy(board);
}

static struct baton_future promise = BATON_FUTURE_INIT;

static void *wait_for_promise(void *arg)
{
	cr_assert_eq(baton_future_wait(&promise), 0);
	return arg;
}

static void *wait_in_task(void *arg)
{
	cr_assert_eq(baton_call(arg, wait_for_promise, NULL, NULL), 0);
	return NULL;
}

Test(board, a_refresh_shows_pools_and_who_waits, .timeout = 10)
{
	struct baton_resource resource = BATON_RESOURCE_INIT(NULL);
	struct baton_pool *pools[BATON_BOARD_POOLS_MAX + 1];
	struct baton_board *board = board_of(1, NULL);
	const struct baton__board_wait *wait = &board->file->wait[0];
	pthread_t holder, waiter;

	for (int i = 0; i <= BATON_BOARD_POOLS_MAX; i++) {
		pools[i] = pool_of(1);
		cr_assert_eq(baton_board_pool_join(board, pools[i], "workers"),
		             i < BATON_BOARD_POOLS_MAX ? 0 : -ENOSPC);
	}
	cr_assert_eq(board->file->pools[0].workers, 1);
	cr_assert_str_eq(board->file->pools[0].name, "workers");
	cr_assert_eq(baton_board_join(board, &resource, NULL, NULL), 0);
	baton_promise_init(&promise);
	baton_board_refresh(board);
	cr_assert_eq(board->file->waits, 0);
	holder = thread_start(wait_in_task, &resource);
	while (board->file->waits != 1)
		baton_board_refresh(board);
	cr_assert(wait->promise);
	cr_assert_eq(wait->future, &promise);
	cr_assert_eq(wait->line, UINT32_MAX);
	cr_assert_eq(wait->thread, load_relaxed(&board->file->line[0].stats._thread));
	waiter = thread_start(wait_in_task, &resource);
	while (board->file->waits != 2)
		baton_board_refresh(board);
	if (wait->promise)
		wait++;
	cr_assert_not(wait->promise);
	cr_assert_eq(wait->resource, &resource);
	cr_assert_eq(wait->line, 0);
	cr_assert_geq(board->file->refreshed_ns, wait->since_ns);
	cr_assert_eq(baton_future_complete(&promise, 0, NULL), 0);
	thread_join(holder);
	thread_join(waiter);
	baton_board_refresh(board);
	cr_assert_eq(board->file->waits, 0);
	baton_board_pool_leave(board, pools[0]);
	cr_assert_eq(baton_board_pool_join(board, pools[BATON_BOARD_POOLS_MAX], "late"), 0,
	             "the place is free again");
	cr_assert_str_eq(board->file->pools[0].name, "late");
	for (int i = 0; i <= BATON_BOARD_POOLS_MAX; i++) {
		baton_board_pool_leave(board, pools[i]);
		cr_assert_eq(baton_pool_destroy(pools[i]), 0);
	}
	leave(board, &resource);
	baton_board_destroy(board);
}

Test(board, who_waits_for_a_resource_that_is_not_on_the_board_is_shown_without_a_line,
     .timeout = 10)
{
	struct baton_resource resource = BATON_RESOURCE_INIT(NULL);
	struct baton_board *board = board_of(1, NULL);
	pthread_t threads[2];

	baton_promise_init(&promise);
	for (int i = 0; i < 2; i++)
		threads[i] = thread_start(wait_in_task, &resource);
	while (board->file->waits != 2)
		baton_board_refresh(board);
	for (int i = 0; i < 2; i++)
		cr_assert_eq(board->file->wait[i].line, UINT32_MAX);
	cr_assert_eq(baton_future_complete(&promise, 0, NULL), 0);
	for (int i = 0; i < 2; i++)
		thread_join(threads[i]);
	resource_end(&resource);
	baton_board_destroy(board);
}

Test(board, to_destroy_a_board_with_a_resource_is_a_mistake, .signal = SIGABRT, .timeout = 10)
{
	struct baton_resource resource = BATON_RESOURCE_INIT(NULL);
	struct baton_board *board = board_of(1, NULL);

	cr_assert_eq(baton_board_join(board, &resource, NULL, NULL), 0);
	baton_board_destroy(board);
}
