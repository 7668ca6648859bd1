/* SPDX-License-Identifier: MIT */
/* Histograms: where a time is counted, and what a quantile says of the times. And which function is
 * shown while a task runs: the program's, not the library's that calls it. */
#include "support.h"

#include "inspect/board.h"

#include <baton/admission.h>
#include <baton/board.h>
#include <baton/io.h>
#include <baton/labelled.h>
#include <baton/timer.h>
#include <baton/trigger.h>
#include <baton/window.h>

Test(gauge, each_bucket_begins_where_the_last_one_ends, .timeout = 10)
{
	for (size_t i = 0; i + 1 < BATON__HISTOGRAM_BUCKETS; i++) {
		uint64_t lowest = baton__histogram_lowest(i), end = baton__histogram_lowest(i + 1);

		cr_assert_lt(lowest, end);
		cr_assert_eq(baton__histogram_bucket(lowest), i);
		cr_assert_eq(baton__histogram_bucket(end - 1), i);
		/* The middle is within a sixteenth of all times of the bucket. */
		cr_assert_leq((end - lowest) * 8, lowest < 8 ? 8 : lowest);
	}
	cr_assert_eq(baton__histogram_lowest(BATON__HISTOGRAM_BUCKETS), (uint64_t)1 << 38);
	cr_assert_eq(baton__histogram_bucket((uint64_t)1 << 38), BATON__HISTOGRAM_BUCKETS - 1);
	cr_assert_eq(baton__histogram_bucket(UINT64_MAX), BATON__HISTOGRAM_BUCKETS - 1);
}

Test(gauge, quantiles_are_within_a_sixteenth, .timeout = 10)
{
	static struct baton__histogram histogram;
	static const unsigned parts[] = {1, 10, 250, 500, 990, 999, 1000};

	cr_assert_eq(baton__histogram_quantile(&histogram, 500), 0);
	for (uint64_t ns = 1; ns <= 1000000; ns++)
		baton__histogram_record(&histogram, ns);
	cr_assert_eq(histogram.max_ns, 1000000);
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		double exact = parts[i] * 1000.0;
		double shown = (double)baton__histogram_quantile(&histogram, parts[i]);

		cr_assert_leq(shown, exact * (1 + 1.0 / 16) + 1);
		cr_assert_geq(shown, exact * (1 - 1.0 / 16) - 1);
	}
}

Test(gauge, no_quantile_is_beyond_the_longest_time, .timeout = 10)
{
	static struct baton__histogram histogram;

	baton__histogram_record(&histogram, 1024);
	cr_assert_eq(baton__histogram_quantile(&histogram, 500), 1024);
	baton__histogram_record(&histogram, UINT64_MAX);
	cr_assert_eq(baton__histogram_quantile(&histogram, 500), 1024 + 64);
	cr_assert_eq(baton__histogram_quantile(&histogram, 1000), UINT64_MAX);
}

Test(gauge, times_of_0_count, .timeout = 10)
{
	static struct baton__histogram histogram;

	for (int i = 0; i < 50; i++)
		baton__histogram_record(&histogram, 0);
	cr_assert_eq(baton__histogram_quantile(&histogram, 1000), 0);
	for (int i = 0; i < 50; i++)
		baton__histogram_record(&histogram, 1024);
	cr_assert_eq(baton__histogram_quantile(&histogram, 500), 0);
	cr_assert_eq(baton__histogram_quantile(&histogram, 501), 1024);
}

static void *lasts(void *arg)
{
	const uint64_t until = now_ns() + *(uint64_t *)arg;

	while (now_ns() < until)
		continue;
	return NULL;
}

Test(gauge, a_run_is_as_long_as_its_function, .timeout = 10)
{
	struct baton_resource resource = BATON_RESOURCE_INIT(NULL);
	struct baton_board *board = NULL;
	uint64_t least = 1000000, began;
	const struct baton__histogram *ran;

	cr_assert_eq(baton_board_create(NULL, &board), 0);
	cr_assert_eq(baton_board_join(board, &resource, NULL, NULL), 0);
	ran = &board->file->line[0].gauge.times->ran;
	began = now_ns();
	cr_assert_eq(baton_call(&resource, lasts, &least, NULL), 0);
	cr_assert_leq(ran->max_ns, now_ns() - began);
	cr_assert_geq(ran->max_ns, least);
	cr_assert_eq(baton_resource_close(&resource), 0);
	cr_assert_eq(baton_resource_await(&resource, NULL), 0);
	baton_board_leave(board, &resource);
	baton_board_destroy(board);
}

static struct baton_resource shown;
static struct baton_resource_stats *stats;
static _Atomic uintptr_t seen;

static int look(void)
{
	seen = stats->_function;
	return 0;
}

static int task_runs(struct baton_task *task)
{
	(void)task;
	return look();
}

static int timer_runs(struct baton_timer *timer)
{
	(void)timer;
	return look();
}

static int io_runs(struct baton_io *io)
{
	(void)io;
	return look();
}

static void trigger_runs(struct baton_trigger *trigger, uint64_t fires)
{
	(void)trigger;
	(void)fires;
	(void)look();
}

static void expect_seen(uintptr_t function, const char *what)
{
	while (!seen)
		sched_yield();
	cr_expect_eq(seen, function, "%s", what);
	cr_assert_eq(baton_resource_await(&shown, NULL), 0);
	seen = 0;
}

/* The function of an entry that an admission gives to a resource of its own. */
static void expect_admitted(void)
{
	static const struct baton_admission_config config = {.rules = {.limit = {1, 1, 1}}};
	struct baton_admission admission;
	struct baton_admitted admitted;

	cr_assert_eq(baton_admission_init(&admission, &config), 0);
	baton_admitted_init(&admitted, 0, task_runs);
	admitted.resource = &shown;
	cr_assert_eq(baton_admission_arrive(&admission, &admitted), 0);
	expect_seen((uintptr_t)task_runs, "admitted");
	cr_assert_eq(baton_admission_close(&admission, BATON_ADMISSION_RUN), 0);
	cr_assert_eq(baton_admission_await(&admission, NULL), 0);
	baton_admission_deinit(&admission);
}

Test(gauge, the_programs_function_is_shown, .timeout = 20)
{
	struct baton_labelled labelled;
	struct baton_windowed windowed;
	struct baton_trigger trigger;
	struct baton_window window;
	struct baton_board *board;
	struct baton_timer timer;
	struct baton_io io;
	int fds[2];

	cr_assert_eq(baton_board_create(NULL, &board), 0);
	baton_resource_init(&shown, NAMED("shown"));
	cr_assert_eq(baton_board_join(board, &shown, NULL, &stats), 0);
	baton_labelled_init(&labelled, task_runs, NULL);
	cr_assert_eq(baton_submit(&shown, &labelled.task), 0);
	expect_seen((uintptr_t)task_runs, "labelled");
	baton_window_init(&window, &shown, 1);
	baton_windowed_init(&windowed, &window, task_runs, NULL);
	cr_assert_eq(baton_submit_later(&shown, &windowed.task), 0);
	expect_seen((uintptr_t)task_runs, "windowed");
	baton_window_deinit(&window);
	baton_trigger_init(&trigger, &shown, trigger_runs, NULL);
	cr_assert_eq(baton_trigger_fire(&trigger), 0);
	expect_seen((uintptr_t)trigger_runs, "trigger");
	baton_timer_init(&timer, NULL, &shown, timer_runs);
	cr_assert_eq(baton_timer_arm_after(&timer, 1), 0);
	expect_seen((uintptr_t)timer_runs, "timer");
	expect_admitted();
	cr_assert_eq(pipe(fds), 0);
	baton_io_init(&io, &shown, io_runs);
	cr_assert_eq(baton_io_start(&io, fds[1], BATON_IO_WRITE), 0);
	expect_seen((uintptr_t)io_runs, "io");
	cr_assert_eq(baton_resource_close(&shown), 0);
	cr_assert_eq(baton_resource_await(&shown, NULL), 0);
	baton_board_leave(board, &shown);
	baton_board_destroy(board);
	(void)close(fds[0]);
	(void)close(fds[1]);
}

/* ---- Lanes ---- */

static uint64_t oldest_in(const struct baton__gauge_lane *lane)
{
	struct baton__lane_queue queue;

	baton__gauge_lane_read(lane, &queue);
	return queue.oldest_ns;
}

/* A younger task, which has the mark, is cancelled while an older one waits. */
Test(gauge, a_lanes_oldest_time_is_not_that_of_a_younger_task_that_was_cancelled, .timeout = 10)
{
	static struct baton__times times;
	struct baton__gauge gauge = {.lanes = 1, .times = &times};
	struct baton_labelled tasks[4];
	uint64_t first = 0;

	for (int i = 0; i < 4; i++)
		baton_labelled_init(&tasks[i], task_runs, NULL);
	baton__gauge_pushed(&gauge, &tasks[0].task, 1);
	baton__gauge_pushed(&gauge, &tasks[1].task, 1);
	first = oldest_in(&times.lane[0]);
	cr_assert_neq(first, 0);
	/* What is left behind the mark has waited no longer than the mark's task. */
	baton__gauge_left(&gauge, &tasks[0].task);
	for (int i = 2; i < 4; i++) {
		while (now_ns() <= first + 1)
			; /* the clock's step */
		baton__gauge_pushed(&gauge, &tasks[i].task, 1);
		cr_assert_eq(times.lane[0].marked, &tasks[i].task);
		cr_assert_gt(times.lane[0].marked_ns, first);
		cr_assert_eq(oldest_in(&times.lane[0]), first);
		baton__gauge_unlinked(&gauge, &tasks[i].task);
		baton__gauge_left(&gauge, &tasks[i].task);
		cr_assert_eq(oldest_in(&times.lane[0]), first);
	}
	baton__gauge_left(&gauge, &tasks[1].task);
	cr_assert_eq(oldest_in(&times.lane[0]), 0);
}
