/* SPDX-License-Identifier: MIT */
/*
 * The counters add up: each accepted task is exactly one of executed and cancelled, and only an
 * executed task is failed. A table: every sort of task that the library has, every way in which a
 * task of that sort can end, on resources with each of the modules that change the queue.
 */
#include "one_task.h"

#include <baton/call.h>

/* What the statistics say of the one task. */
static const struct counts {
	unsigned submitted, executed, cancelled, failed;
} expected[ENDS] = {
	[RUNS] = {1, 1, 0, 0},       [RUNS_AT_ONCE] = {1, 1, 0, 0},
	[FAILS] = {1, 1, 0, 1},      [FAILS_AT_ONCE] = {1, 1, 0, 1},
	[DETACHES] = {1, 1, 0, 0},   [DETACHES_BADLY] = {1, 1, 0, 0},
	[BY_FUTURE] = {1, 0, 1, 0},  [BY_TAG] = {1, 0, 1, 0},
	[BY_PENDING] = {1, 0, 1, 0}, [BY_STOP] = {1, 0, 1, 0},
	[DROPPED] = {1, 0, 1, 0},    [PUSHED_OUT] = {1, 0, 1, 0},
	[AT_ONCE] = {1, 0, 1, 0},    [REFUSED] = {0, 0, 0, 0},
};

/* ---- Beginning and end of a case ---- */

static int hook(struct baton_resource *resource)
{
	return 0;
}

static bool has_bound(void)
{
	return one.setting == BOUND || one.setting == BOTH;
}

static void add_modules(void)
{
	if (one.setting == BOARD) {
		MUST(baton_board_create(NULL, &one.board) == 0);
		MUST(baton_board_join(one.board, &one.resource, NULL, &one.stats) == 0);
	} else {
		one.stats = &one.own_stats;
		baton_resource_set_stats(&one.resource, one.stats);
	}
	if (one.setting == LANES || one.setting == BOTH) {
		baton_lanes_init(&one.lanes, one.lane, 2, NULL);
		baton_resource_set_lanes(&one.resource, &one.lanes);
	}
	if (!has_bound())
		return;
	one.bound_config = (struct baton_bound_config)BATON_BOUND_CONFIG_INIT;
	one.bound_config.tasks_max = 1;
	one.bound_config.policy =
		one.end == PUSHED_OUT ? BATON_BOUND_DROP_OLDEST : BATON_BOUND_DROP_NEWEST;
	baton_bound_init(&one.bound, &one.bound_config);
	baton_resource_set_bound(&one.resource, &one.bound);
}

static void case_begin(enum setting setting, enum end end)
{
	memset(&one, 0, sizeof(one));
	one.setting = setting;
	one.end = end;
	one.status = end == FAILS || end == FAILS_AT_ONCE ? -EIO : 0;
	one.detaches = end == DETACHES || end == DETACHES_BADLY;
	MUST(baton_manual_create(&one.manual) == 0);
	one.config = (struct baton_resource_config)BATON_RESOURCE_CONFIG_INIT;
	one.config.executor = baton_manual_executor(one.manual);
	if (end != RUNS_AT_ONCE && end != FAILS_AT_ONCE && end != AT_ONCE)
		one.config.capture_max = BATON_CAPTURE_NONE;
	if (setting == HOOKS || setting == HELD)
		one.config.batch_begin = one.config.batch_end = hook;
	one.config.delay_completions = setting == HELD;
	baton_resource_init(&one.resource, &one.config);
	add_modules();
	baton_tag_init(&one.tag);
	one.label = (struct baton_label)BATON_LABEL_INIT;
	one.label.tag = &one.tag;
	one.call = (struct baton_call_options){.fn = run_function, .label = &one.label};
	baton_future_init(&one.future);
	baton_detached_init(&one.token);
}

static void case_end(const struct sort *sort)
{
	if (one.fan_out)
		baton_fan_out_unref(one.fan_out);
	if (one.made)
		baton_future_unref(one.made);
	if (sort->put == put_io) {
		BATON_IGNORE(baton_io_stop(&one.io).met);
		(void)baton_manual_run(one.manual, 0);
		MUST(close(one.ends[0]) == 0 && close(one.ends[1]) == 0);
	}
	if (one.timers) {
		BATON_IGNORE(baton_timer_stop(&one.timer).met);
		MUST(baton_timers_destroy(one.timers) == 0);
	}
	if (one.board) {
		BATON_IGNORE(baton_resource_close(&one.resource)); /* perhaps already */
		MUST(baton_resource_await(&one.resource) == 0);
		baton_board_leave(one.board, &one.resource);
	}
	resource_end(&one.resource);
	if (one.board)
		baton_board_destroy(one.board);
	baton_manual_destroy(one.manual);
}

/* A task that is not the table's, in the queue before or after the table's task. */
static void put_filler(struct baton_task *filler)
{
	baton_task_init(filler, run, NULL);
	MUST(baton_submit(&one.resource, filler) == 0);
}

static void end_it(const struct sort *sort, struct baton_task *filler)
{
	struct baton_future *future = one.made ? one.made : sort->future;

	switch (one.end) {
	case BY_FUTURE:
		cr_assert_eq(baton_future_cancel(future), 0);
		break;
	case BY_TAG:
		baton_tag_cancel(&one.tag);
		break;
	case BY_PENDING:
		cr_assert_eq(baton_resource_cancel_pending(&one.resource), 0);
		break;
	case BY_STOP:
		sort->stop();
		break;
	case PUSHED_OUT:
		put_filler(filler);
		break;
	default:
		break;
	}
}

static void complete_detached(const struct sort *sort)
{
	struct baton_detached *token =
		sort->put == put_windowed ? &one.windowed.part.token : &one.token;
	const int status = one.end == DETACHES_BADLY ? -EIO : 0;

	cr_assert_eq(baton_detached_complete(token, status, NULL), 0);
	(void)baton_manual_run(one.manual, 0);
}

static void judge(const struct sort *sort)
{
	struct counts want = expected[one.end];
	struct baton_resource_stats counts = resource_counts(one.stats);
	struct baton_bound_stats bound;

	/* The filler of PUSHED_OUT runs; that of DROPPED, too. */
	if (one.end == PUSHED_OUT || one.end == DROPPED) {
		want.submitted++;
		want.executed++;
	}
	cr_expect(counts.submitted == want.submitted && counts.executed == want.executed &&
	                  counts.cancelled == want.cancelled && counts.failed == want.failed,
	          "%s, setting %d, end %d: %llu are %llu run, %llu cancelled; %llu failed",
	          sort->name, (int)one.setting, (int)one.end, (unsigned long long)counts.submitted,
	          (unsigned long long)counts.executed, (unsigned long long)counts.cancelled,
	          (unsigned long long)counts.failed);
	cr_expect_eq((unsigned)one.entered, want.executed, "%s, setting %d, end %d: entered %d",
	             sort->name, (int)one.setting, (int)one.end, one.entered);
	cr_expect(counts.outstanding == 0 && counts.waiting == 0, "%s, setting %d, end %d",
	          sort->name, (int)one.setting, (int)one.end);
	if (one.setting == LANES || one.setting == BOTH)
		cr_expect_eq(
			baton_lanes_waiting(&one.lanes, 0) + baton_lanes_waiting(&one.lanes, 1), 0);
	if (!has_bound())
		return;
	baton_bound_stats_read(&one.bound, &bound);
	cr_expect(bound.tasks == 0 && bound.bytes == 0, "%s, setting %d, end %d", sort->name,
	          (int)one.setting, (int)one.end);
	cr_expect_eq(bound.dropped, one.end == PUSHED_OUT || one.end == DROPPED);
}

static void run_case(const struct sort *sort, enum setting setting, enum end end)
{
	struct baton_task filler;
	int error;

	case_begin(setting, end);
	if (end == DROPPED)
		put_filler(&filler);
	if (end == REFUSED)
		cr_assert_eq(baton_resource_close(&one.resource), 0);
	error = sort->put();
	cr_expect_eq(error, end == REFUSED ? -EPIPE : 0, "%s, setting %d, end %d: %d", sort->name,
	             (int)setting, (int)end, error);
	end_it(sort, &filler);
	(void)baton_manual_run(one.manual, 0);
	if (one.detaches)
		complete_detached(sort);
	judge(sort);
	case_end(sort);
}

static void run_setting(enum setting setting)
{
	for (size_t i = 0; i < sizeof(sorts) / sizeof(sorts[0]); i++)
		for (enum end end = 0; end < ENDS; end++) {
			if (end == DROPPED && setting != BOUND && setting != BOTH)
				continue;
			if (end == PUSHED_OUT && setting != BOTH)
				continue;
			if (sorts[i].can & CAN(end))
				run_case(&sorts[i], setting, end);
		}
}

Test(counts, each_task_is_executed_or_cancelled_on_a_plain_resource, .timeout = 10)
{
	run_setting(PLAIN);
}

Test(counts, the_same_with_lanes, .timeout = 10)
{
	run_setting(LANES);
}

Test(counts, the_same_with_a_bound, .timeout = 10)
{
	run_setting(BOUND);
	run_setting(BOTH);
}

Test(counts, the_same_with_hooks, .timeout = 10)
{
	run_setting(HOOKS);
	run_setting(HELD);
}

Test(counts, the_same_on_a_board, .timeout = 10)
{
	run_setting(BOARD);
}
