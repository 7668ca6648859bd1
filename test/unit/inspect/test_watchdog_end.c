/* SPDX-License-Identifier: MIT */
/* A watchdog that is destroyed where its end cannot be waited for. */
#include "misuse.h"

#include <baton/board.h>
#include <baton/watchdog.h>

static struct baton_watchdog *watchdog;

static void destroys(void *arg)
{
	baton_watchdog_destroy(watchdog);
}

static void reports(const struct baton_stuck *stuck, void *arg)
{
	destroys(arg);
}

static struct baton_board *watched(void)
{
	struct baton_watchdog_options options = {
		.limit_ns = BATON_MILLISECOND, .every_ns = BATON_MILLISECOND, .report = reports};

	MUST(baton_board_create(NULL, &options.board) == 0);
	MUST(baton_watchdog_create(&options, &watchdog) == 0);
	return options.board;
}

static void in_a_told_function(void)
{
	struct baton_continuation continuation;
	struct baton_future promise;

	(void)watched();
	baton_promise_init(&promise);
	baton_continuation_function(&continuation, destroys, NULL);
	baton_future_then(&promise, &continuation);
	BATON_IGNORE(baton_future_complete(&promise, 0, NULL));
}

static int lasts(struct baton_task *task)
{
	(void)pause(); /* until the process ends */
	return 0;
}

static void in_its_report(void)
{
	struct baton_task task = BATON_TASK_INIT(lasts, NULL);

	MUST(baton_board_join(watched(), &topic, NULL, NULL) == 0);
	BATON_IGNORE(baton_submit(&topic, &task));
}

static const struct mistake mistakes[] = {
	{in_a_told_function,
         "baton_watchdog_destroy: this thread is inside a function that is told of an end"},
	{in_its_report, "baton_watchdog_destroy: the watchdog would wait for itself"},
};

Test(watchdog_end, is_refused_where_it_cannot_be_waited_for, .timeout = 20)
{
	mistakes_are_said(mistakes, 2);
}
