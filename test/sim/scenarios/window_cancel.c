/* SPDX-License-Identifier: MIT */
/*
 * Windows: cancels of what waits, against completions, submits, helpers and the resource's end. An
 * execution fails as in windows.h.
 */
#include "windows.h"

static int results[2];

static void acknowledge_0(void *argument)
{
	(void)sim_parcel_acknowledge(0);
}

static void submit_2(void *argument)
{
	sim_require(sim_parcel_submit(0) == 0);
	sim_require(sim_parcel_submit(1) == 0);
}

/* A waiting one that is complete has been cancelled, and says so to its completer. */
static void is_over(unsigned number)
{
	enum baton_future_state state;

	sim_require(baton_future_wait(&sim_parcels[number].future, NULL) == 0);
	state = baton_future_state(&sim_parcels[number].future);
	sim_require(state == BATON_DONE || state == BATON_CANCELLED);
	sim_require((state == BATON_DONE) == (load_acquire(&sim_parcels[number].told) == 1));
}

static void cancel_waiting(void *argument)
{
	sim_require(baton_window_cancel(&sim_window) == 0);
}

static void acknowledge_if_started(unsigned number)
{
	while (!baton_future_is_complete(&sim_parcels[number].future)) {
		if (load_acquire(&sim_parcels[number].told)) {
			(void)sim_parcel_acknowledge(number);
			return;
		}
		sim_yield();
	}
}

static void acknowledge_started_1(void *argument)
{
	acknowledge_if_started(1);
}

static void begin_to_cancel(void)
{
	sim_window_begin(1, 3, NULL);
	sim_calm(true);
	submit_2(NULL);
	sim_calm(false);
}

SIM_SCENARIO(window_cancel, "cancel beside a completion: each is complete once, in either way",
             .bound = 2)
{
	begin_to_cancel();
	sim_start(cancel_waiting, NULL);
	sim_start(acknowledge_0, NULL);
	acknowledge_if_started(1);
	is_over(1);
	sim_join_all();
	sim_window_end(sim_started_parcels);
}

static struct baton_tag tag;

static void cancel_tag(void *argument)
{
	baton_tag_cancel(&tag);
}

SIM_SCENARIO(window_tag,
             "a label in a window: its tag is cancelled beside a completion, and let go",
             .bound = 2)
{
	const struct baton_label label = {.tag = &tag, .hold = true};

	sim_window_begin(1, 3, NULL);
	sim_calm(true);
	baton_tag_init(&tag);
	baton_stamp_set(&sim_parcels[0].windowed.stamp, &label);
	baton_stamp_set(&sim_parcels[1].windowed.stamp, &label);
	submit_2(NULL);
	sim_calm(false);
	sim_start(cancel_tag, NULL);
	sim_start(acknowledge_0, NULL);
	acknowledge_if_started(1);
	is_over(1);
	sim_join_all();
	sim_require(baton_tag_held(&tag) == 0);
	sim_window_end(sim_started_parcels);
}

static void cancel_1(void *argument)
{
	int *result = argument;

	*result = baton_windowed_cancel(&sim_parcels[1].windowed);
}

SIM_SCENARIO(window_cancel_one, "one that waits is cancelled beside the completion it waits for",
             .bound = 2)
{
	begin_to_cancel();
	sim_start(cancel_1, &results[0]);
	sim_start(acknowledge_0, NULL);
	acknowledge_if_started(1);
	is_over(1);
	sim_join_all();
	if (baton_future_state(&sim_parcels[1].future) == BATON_CANCELLED)
		sim_require(results[0] == 0);
	else
		sim_require(results[0] == -EINPROGRESS || results[0] == -EALREADY);
	sim_window_end(sim_started_parcels);
}

static void cancel_future_1(void *argument)
{
	int *result = argument;

	*result = baton_future_cancel(&sim_parcels[1].future);
}

SIM_SCENARIO(window_cancel_future,
             "cancelled by its future alone: it completes at its turn, whose "
             "place the next one gets",
             .bound = 1)
{
	begin_to_cancel();
	sim_calm(true);
	sim_require(sim_parcel_submit(2) == 0);
	sim_calm(false);
	sim_start(cancel_future_1, &results[0]);
	sim_start(acknowledge_0, NULL);
	sim_start(acknowledge_started_1, NULL);
	is_over(1);
	(void)sim_parcel_acknowledge(2);
	sim_window_end(sim_started_parcels);
	sim_require(baton_future_state(&sim_parcels[2].future) == BATON_DONE);
}

static void cancel_pending(void *argument)
{
	sim_require(baton_resource_cancel_pending(&sim_window_topic.resource) == 0);
}

SIM_SCENARIO(window_cancel_pending, "cancel_pending meets one whose turn has come, or does not",
             .bound = 2)
{
	begin_to_cancel();
	sim_start(cancel_pending, NULL);
	sim_start(acknowledge_0, NULL);
	acknowledge_if_started(1);
	is_over(1);
	sim_join_all();
	sim_window_end(sim_started_parcels);
}

static void submit_1(void *argument)
{
	sim_require(sim_parcel_submit(1) == 0);
}

static void wait_for(unsigned number)
{
	sim_require(baton_future_wait(&sim_parcels[number].future, NULL) == 0);
}

SIM_SCENARIO(window_cancel_kept, "cancelled while it comes to the window: it does not stay there")
{
	sim_window_begin(0, 2, NULL);
	sim_start(submit_1, NULL);
	/* -EINVAL: it has not been submitted yet. */
	while (baton_windowed_cancel(&sim_parcels[1].windowed) == -EINVAL)
		sim_yield();
	wait_for(1);
	sim_window_end(0);
}

static void cancel_number(void *argument)
{
	sim_require(baton_windowed_cancel(&sim_parcels[(uintptr_t)argument].windowed) == 0);
	/* Its memory is not the library's any more. */
	wait_for((unsigned)(uintptr_t)argument);
	sim_retire(&sim_parcels[(uintptr_t)argument], sizeof(sim_parcels[0]));
}

/* Two of three that wait are cancelled, beside a fourth one that comes. */
static void cancel_2_beside_submit(uint32_t capture_limit, struct baton_executor *executor)
{
	sim_window_begin(0, 4, executor);
	sim_calm(true);
	sim_topic_init(&sim_window_topic, capture_limit, 64, executor);
	sim_require(sim_parcel_submit(0) == 0);
	sim_require(sim_parcel_submit(2) == 0);
	sim_require(sim_parcel_submit(3) == 0);
	sim_calm(false);
	sim_start(cancel_number, (void *)2);
	sim_start(cancel_number, (void *)3);
	sim_require(sim_parcel_submit(1) == 0);
}

/* The other two start. */
static void start_2(void)
{
	sim_join_all();
	sim_require(baton_window_waiting(&sim_window) == 2);
	sim_in_flight_max = 2;
	sim_require(baton_window_set_limit(&sim_window, 2) == 0);
}

static void submit_0(void *argument)
{
	sim_require(sim_parcel_submit(0) == 0);
}

SIM_SCENARIO(window_cancel_beside, "a cancel of what waits in an idle resource, and a submitter",
             .bound = 2)
{
	sim_window_begin(0, 4, NULL);
	sim_calm(true);
	sim_require(sim_parcel_submit(2) == 0);
	sim_calm(false);
	sim_start(cancel_number, (void *)2);
	sim_start(submit_0, NULL);
	sim_join_all();
	sim_require(baton_window_waiting(&sim_window) == 1);
	sim_in_flight_max = 1;
	sim_require(baton_window_set_limit(&sim_window, 1) == 0);
	(void)sim_parcel_acknowledge(0);
	sim_window_end(1);
}

SIM_SCENARIO(window_cancel_2, "two that wait are cancelled beside a submitter: both complete",
             .bound = 2)
{
	cancel_2_beside_submit(10, NULL);
	start_2();
	(void)sim_parcel_acknowledge(0);
	(void)sim_parcel_acknowledge(1);
	sim_window_end(2);
}

SIM_SCENARIO(window_cancel_both, "one that waits is cancelled, and all that wait", .bound = 2)
{
	int result;

	sim_window_begin(0, 2, NULL);
	sim_calm(true);
	submit_2(NULL);
	sim_calm(false);
	sim_start(cancel_waiting, NULL);
	result = baton_windowed_cancel(&sim_parcels[1].windowed);
	sim_require(result == 0 || result == -EALREADY);
	wait_for(1);
	sim_retire(&sim_parcels[1], sizeof(sim_parcels[1]));
	wait_for(0);
	sim_window_end(0);
}

SIM_SCENARIO(window_cancel_emptied,
             "the list becomes empty while a cancel of all is on its way, another task comes, and "
             "room is made: the kick is sent once",
             .bound = 2)
{
	int result;

	sim_window_begin(0, 2, NULL);
	sim_calm(true);
	submit_1(NULL);
	sim_calm(false);
	sim_start(cancel_waiting, NULL);
	result = baton_windowed_cancel(&sim_parcels[1].windowed);
	sim_require(result == 0 || result == -EALREADY);
	sim_require(sim_parcel_submit(0) == 0);
	sim_in_flight_max = 1;
	sim_require(baton_window_set_limit(&sim_window, 1) == 0);
	acknowledge_if_started(0);
	is_over(0);
	sim_join_all();
	sim_window_end(sim_started_parcels);
}

SIM_SCENARIO(window_cancel_again, "cancelled while it comes to the window, submitted again, and "
                                  "cancelled again")
{
	sim_window_begin(0, 2, NULL);
	sim_start(submit_1, NULL);
	while (baton_windowed_cancel(&sim_parcels[1].windowed) == -EINVAL)
		sim_yield();
	wait_for(1);
	sim_join_all();
	baton_future_init(&sim_parcels[1].future);
	sim_start(submit_1, NULL);
	while (baton_windowed_cancel(&sim_parcels[1].windowed) == -EINVAL)
		sim_yield();
	wait_for(1);
	sim_window_end(0);
}

/* ---- The resource's end ---- */

SIM_SCENARIO(window_cancel_close,
             "the last that wait are cancelled beside a close: the finaliser "
             "comes after both, and once",
             .bound = 2)
{
	sim_window_begin(0, 4, NULL);
	sim_calm(true);
	sim_require(sim_parcel_submit(2) == 0);
	sim_require(sim_parcel_submit(3) == 0);
	sim_calm(false);
	sim_start(sim_window_close_then, NULL);
	sim_start(cancel_number, (void *)2);
	cancel_number((void *)3);
	sim_window_finalised(0);
}

SIM_SCENARIO(window_cancel_await,
             "the last one that waits is cancelled beside an await of the "
             "closed resource",
             .bound = 2)
{
	sim_window_begin(0, 4, NULL);
	sim_calm(true);
	sim_require(sim_parcel_submit(2) == 0);
	sim_calm(false);
	sim_start(cancel_number, (void *)2);
	sim_topic_close(&sim_window_topic);
	sim_require(sim_started_parcels == 0);
	baton_window_deinit(&sim_window);
	sim_join_all();
}

SIM_SCENARIO(window_close_cancel, "closed with a limit of 0: what waits is cancelled, then the "
                                  "finaliser")
{
	sim_window_begin(0, 2, NULL);
	sim_calm(true);
	submit_2(NULL);
	sim_calm(false);
	sim_start(sim_window_close_then, NULL);
	cancel_waiting(NULL);
	sim_join_all();
	sim_require(baton_future_state(&sim_parcels[0].future) == BATON_CANCELLED);
	sim_require(baton_future_state(&sim_parcels[1].future) == BATON_CANCELLED);
	sim_window_finalised(0);
}

/* ---- Two callers at once ---- */

static unsigned said[2];
static uint32_t asked;

static void say_and_cancel(void *argument)
{
	*(unsigned *)argument = 1;
	cancel_waiting(NULL);
	(void)add_relaxed(&asked, 1); /* orders nothing */
}

static int holds_until_asked(struct baton_task *task)
{
	sim_start(say_and_cancel, &said[0]);
	sim_start(say_and_cancel, &said[1]);
	while (load_relaxed(&asked) < 2)
		sim_yield();
	return 0;
}

SIM_SCENARIO(window_cancel_twice,
             "the tasks are cancelled after what each of two callers did before its call",
             .bound = 2)
{
	struct baton_task task = BATON_TASK_INIT(holds_until_asked, NULL);

	sim_window_begin(0, 1, NULL);
	sim_calm(true);
	sim_require(sim_parcel_submit(0) == 0);
	sim_calm(false);
	/* This thread runs the kick, too. */
	sim_require(baton_submit(&sim_window_topic.resource, &task) == 0);
	sim_require(baton_future_state(&sim_parcels[0].future) == BATON_CANCELLED);
	sim_require(said[0] && said[1]);
	sim_window_end(0);
}

/* ---- With an executor ---- */

SIM_SCENARIO(window_cancel_queued,
             "cancels of what waits in the window of a queued resource, beside "
             "the one that comes with its job",
             .bound = 1)
{
	struct baton_manual *manual;

	sim_require(baton_manual_create(&manual) == 0);
	cancel_2_beside_submit(0, baton_manual_executor(manual));
	sim_drive(manual);
	start_2();
	sim_drive(manual);
	(void)sim_parcel_acknowledge(0);
	(void)sim_parcel_acknowledge(1);
	sim_window_end(2);
	baton_manual_destroy(manual);
}
