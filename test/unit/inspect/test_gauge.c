/* SPDX-License-Identifier: MIT */
/* Histograms: where a time is counted, and what a quantile says of the times. And which function is
 * shown while a task runs: the program's, not the library's that calls it. */
#include "support.h"

#include "inspect/board.h"

#include <baton/admission.h>
#include <baton/board.h>
#include <baton/io.h>
#include <baton/label.h>
#include <baton/timer.h>
#include <baton/trigger.h>
#include <baton/window.h>

#include "../parts.h"

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

static int by_size(const void *a, const void *b)
{
	const uint64_t first = *(const uint64_t *)a, second = *(const uint64_t *)b;

	return (first > second) - (first < second);
}

/* The time below which `part` of 1,000 of the sorted times lie, as a histogram tells it. */
static uint64_t quantile_of(const uint64_t *sorted, size_t count, unsigned part)
{
	size_t before = (count * part + 999) / 1000;
	size_t bucket = baton__histogram_bucket(sorted[before ? before - 1 : 0]);
	uint64_t middle =
		(baton__histogram_lowest(bucket) + baton__histogram_lowest(bucket + 1)) / 2;
	uint64_t max = sorted[count - 1];

	return middle < max && bucket < BATON__HISTOGRAM_BUCKETS - 1 ? middle : max;
}

Test(gauge, quantiles_of_random_times_are_those_of_the_sorted_times, .timeout = 10)
{
	static const unsigned parts[] = {0, 1, 10, 250, 500, 501, 990, 999, 1000};
	uint64_t state = rng_fork(test_seed(), 1);

	for (int round = 0; round < 300; round++) {
		struct baton__histogram histogram = {0};
		size_t count = 1 + rng_below(&state, 40);
		uint64_t times[40];

		for (size_t i = 0; i < count; i++) {
			times[i] = (uint64_t)rng_below(&state, 1000) << rng_below(&state, 33);
			times[i] *= rng_below(&state, 8) > 0;
			baton__histogram_record(&histogram, times[i]);
		}
		qsort(times, count, sizeof(times[0]), by_size);
		cr_assert_eq(histogram.max_ns, times[count - 1]);
		for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
			cr_assert_eq(baton__histogram_quantile(&histogram, parts[i]),
			             quantile_of(times, count, parts[i]), "round %d, part %u",
			             round, parts[i]);
	}
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
	cr_assert_eq(baton_resource_await(&resource), 0);
	baton_board_leave(board, &resource);
	baton_board_destroy(board);
}

static void *nothing(void *arg)
{
	return arg;
}

/* If the system has stopped the thread in some runs, so that they were long, a round says nothing,
 * and another one follows. */
Test(gauge, of_short_runs_a_trace_has_few, .timeout = 20)
{
	struct baton_resource resource = BATON_RESOURCE_INIT(NULL);
	const uint64_t runs = 20 * BATON__SHORT_ALL;
	struct baton_board *board = NULL;
	uint64_t kept = runs;

	cr_assert_eq(baton_board_create(NULL, &board), 0);
	cr_assert_eq(baton_board_join(board, &resource, NULL, NULL), 0);
	for (int round = 0; round < 50 && kept > runs / 4; round++) {
		cr_assert_eq(baton_board_trace_start(board), 0);
		for (uint64_t i = 0; i < runs; i++)
			cr_assert_eq(baton_call(&resource, nothing, NULL, NULL), 0);
		kept = baton__self->ring->head;
		cr_assert_gt(kept, BATON__SHORT_ALL);
		cr_assert_eq(baton_board_trace_stop(board, "/dev/null"), 0);
	}
	cr_assert_leq(kept, runs / 4);
	resource_end(&resource);
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

static int another_runs(struct baton_task *task)
{
	(void)task;
	return 0;
}

/* Shows another function, and then its own again. */
static int shower_runs(struct baton_task *task)
{
	const baton_shown_fn own = baton_board_show(&shown, (baton_shown_fn)another_runs);
	const uintptr_t function = stats->_function;

	(void)task;
	if (own == (baton_shown_fn)shower_runs &&
	    baton_board_show(&shown, own) == (baton_shown_fn)another_runs)
		seen = function;
	return 0;
}

static int io_runs(struct baton_io *io)
{
	(void)io;
	return look();
}

static int trigger_runs(struct baton_trigger *trigger, uint64_t fires)
{
	(void)trigger;
	(void)fires;
	(void)look();
	return 0;
}

static void expect_seen(uintptr_t function, const char *what)
{
	while (!seen)
		sched_yield();
	cr_expect_eq(seen, function, "%s", what);
	cr_assert_eq(baton_resource_await(&shown), 0);
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
	cr_assert_eq(baton_admission_await(&admission), 0);
	baton_admission_deinit(&admission);
}

Test(gauge, the_programs_function_is_shown, .timeout = 20)
{
	struct stamped stamped;
	struct windowed windowed;
	struct baton_trigger trigger;
	struct baton_window window;
	struct baton_board *board;
	struct baton_timer timer;
	struct baton_task task;
	struct baton_io io;
	int fds[2];

	cr_assert_eq(baton_board_create(NULL, &board), 0);
	baton_resource_init(&shown, NAMED("shown"));
	cr_assert_eq(baton_board_join(board, &shown, NULL, &stats), 0);
	stamped_init(&stamped, task_runs, NULL);
	cr_assert_eq(baton_submit(&shown, &stamped.task), 0);
	expect_seen((uintptr_t)task_runs, "stamped");
	baton_task_init(&task, shower_runs, NULL);
	cr_assert_eq(baton_submit(&shown, &task), 0);
	expect_seen((uintptr_t)another_runs, "shown by the task");
	baton_window_init(&window, &shown, 1);
	windowed_init(&windowed, &window, task_runs, NULL);
	cr_assert_eq(baton_submit_later(&shown, &windowed.task), 0);
	expect_seen((uintptr_t)task_runs, "windowed");
	baton_window_deinit(&window);
	baton_trigger_init(&trigger, &shown, trigger_runs);
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
	cr_assert_eq(baton_resource_await(&shown), 0);
	baton_board_leave(board, &shown);
	baton_board_destroy(board);
	(void)close(fds[0]);
	(void)close(fds[1]);
}

/* ---- Lanes ---- */

#define WAITING_MAX 24

/* The queue of a resource with lanes, as it is, beside what the gauge shows of it. */
struct queue {
	struct baton__times times;
	struct baton__gauge gauge;
	struct stamped tasks[WAITING_MAX];
	struct stamped *waiting[WAITING_MAX]; /* oldest first */
	size_t count;
	size_t shown; /* lanes with times of their own */
	const struct baton_task *marked[BATON__GAUGE_LANES];
	uint64_t recorded[BATON__GAUGE_LANES];
	uint64_t passed_ns[BATON__GAUGE_LANES];
};

static size_t lane_in(const struct queue *queue, const struct baton_task *task)
{
	const size_t lane = baton_container_of(task, struct stamped, task)->stamp._lane;

	return lane < queue->shown ? lane : queue->shown - 1;
}

static struct stamped *unused(struct queue *queue)
{
	for (size_t i = 0; i < WAITING_MAX; i++) {
		bool used = false;

		for (size_t j = 0; j < queue->count; j++)
			used |= queue->waiting[j] == &queue->tasks[i];
		if (!used)
			return &queue->tasks[i];
	}
	return NULL;
}

/* A chain of up to three is pushed; sometimes it is not accepted. */
static void push(struct queue *queue, uint64_t *state)
{
	size_t first = queue->count, count = 1 + rng_below(state, 3);

	for (size_t i = 0; i < count; i++) {
		struct stamped *task = unused(queue);

		stamped_init(task, task_runs, NULL);
		baton_stamp_set_lane(&task->stamp, (uint8_t)rng_below(state, 6));
		if (i)
			queue->waiting[queue->count - 1]->task._next = &task->task;
		queue->waiting[queue->count++] = task;
		if (queue->shown && !queue->marked[lane_in(queue, &task->task)])
			queue->marked[lane_in(queue, &task->task)] = &task->task;
	}
	baton__gauge_pushed(&queue->gauge, &queue->waiting[first]->task, (uint32_t)count);
	if (rng_below(state, 4))
		return;
	baton__gauge_unpushed(&queue->gauge, &queue->waiting[first]->task, (uint32_t)count);
	for (; queue->count > first; queue->count--)
		for (size_t lane = 0; lane < queue->shown; lane++)
			if (queue->marked[lane] == &queue->waiting[queue->count - 1]->task)
				queue->marked[lane] = NULL;
}

static uint64_t waiting_in(const struct queue *queue, size_t lane)
{
	uint64_t waiting = 0;

	for (size_t i = 0; i < queue->count; i++)
		waiting += lane_in(queue, &queue->waiting[i]->task) == lane;
	return waiting;
}

/* The task at this place of the queue leaves. */
static void leave(struct queue *queue, size_t at)
{
	const struct baton_task *task = &queue->waiting[at]->task;
	const size_t lane = queue->shown ? lane_in(queue, task) : 0;

	if (queue->marked[lane] == task) {
		queue->marked[lane] = NULL;
		queue->recorded[lane]++;
		if (at == 0 || !queue->passed_ns[lane])
			queue->passed_ns[lane] = queue->times.lane[lane].marked_ns;
	}
	if (at > 0)
		baton__gauge_unlinked(&queue->gauge, task);
	baton__gauge_left(&queue->gauge, task);
	memmove(queue->waiting + at, queue->waiting + at + 1,
	        (--queue->count - at) * sizeof(queue->waiting[0]));
	if (!waiting_in(queue, lane))
		queue->passed_ns[lane] = 0;
}

static void compare(const struct queue *queue)
{
	for (size_t lane = 0; lane < queue->shown; lane++) {
		const struct baton__gauge_lane *gauge_lane = &queue->times.lane[lane];
		struct baton__lane_queue read;
		const uint64_t waiting = waiting_in(queue, lane);
		uint64_t recorded = 0, oldest = queue->passed_ns[lane];

		if (waiting && !oldest)
			oldest = gauge_lane->marked_ns;
		for (size_t i = 0; i < BATON__HISTOGRAM_BUCKETS; i++)
			recorded += gauge_lane->waited.counts[i];
		baton__gauge_lane_read(gauge_lane, &read);
		cr_assert_eq(read.waiting, waiting, "lane %zu", lane);
		cr_assert_eq(read.oldest_ns, oldest, "lane %zu", lane);
		cr_assert_eq(gauge_lane->marked, queue->marked[lane], "lane %zu", lane);
		cr_assert_eq(gauge_lane->marked_ns != 0, gauge_lane->marked != NULL);
		cr_assert_eq(recorded, queue->recorded[lane], "lane %zu", lane);
	}
}

/* Without lanes nothing is touched. */
Test(gauge, each_lane_is_shown_as_the_queue_is, .timeout = 10)
{
	static const struct baton__times untouched;
	uint64_t state = rng_fork(test_seed(), 2);

	for (size_t lanes = 0; lanes <= 6; lanes++) {
		static struct queue queue;

		queue = (struct queue){.gauge = {lanes, &queue.times}};
		queue.shown = lanes < BATON__GAUGE_LANES ? lanes : BATON__GAUGE_LANES;
		for (int step = 0; step < 300; step++) {
			const uint32_t at =
				queue.count ? rng_below(&state, (uint32_t)queue.count) : 0;

			if (queue.count + 3 < WAITING_MAX && rng_below(&state, 2))
				push(&queue, &state);
			else if (queue.count)
				leave(&queue, rng_below(&state, 2) ? at : 0);
			if (!queue.count) {
				baton__gauge_captured(&queue.gauge, &queue.tasks[0].task);
				baton__gauge_left(&queue.gauge, &queue.tasks[0].task);
			}
			compare(&queue);
		}
		cr_assert(lanes || memcmp(&queue.times, &untouched, sizeof(untouched)) == 0);
	}
}

/* The second mark is from another CPU, whose clock is a little ahead. */
Test(gauge, a_task_has_waited_since_its_mark_and_for_no_time_if_that_is_yet_to_come, .timeout = 10)
{
	static struct baton__times times;
	struct baton__gauge gauge = {.lanes = 1, .times = &times};
	const uint64_t begin = now_ns() - 1000000;
	struct stamped task;
	uint64_t lasted;

	stamped_init(&task, task_runs, NULL);
	for (int i = 0; i < 2; i++) {
		baton__gauge_pushed(&gauge, &task.task, 1);
		times.lane[0].marked_ns = i ? UINT64_MAX : begin;
		baton__gauge_left(&gauge, &task.task);
		baton__gauge_waited(&gauge, i ? UINT64_MAX : begin);
	}
	lasted = now_ns() - begin;
	cr_assert(times.lane[0].waited.max_ns >= 1000000 && times.lane[0].waited.max_ns <= lasted);
	cr_assert(times.waited.max_ns >= 1000000 && times.waited.max_ns <= lasted);
	cr_assert_eq(times.lane[0].waited.counts[0], 1);
	cr_assert_eq(times.waited.counts[0], 1);
}
