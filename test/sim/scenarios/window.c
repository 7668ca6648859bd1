/* SPDX-License-Identifier: MIT */
/*
 * Windows: completions against submits, cancels, other limits and the resource's end. An execution
 * fails when more are in flight than the limit allows; when they start out of order; when one that
 * was accepted never starts although there is room, and is not cancelled; when the library touches
 * the window or its resource after the finaliser.
 */
#include "support.h"

#include <baton/window.h>

#define PARCELS_MAX 4

static struct sim_topic topic;
static struct baton_window window;

static struct parcel {
	struct baton_windowed windowed;
	struct baton_future future;
	uint32_t told; /* 1: it is in flight; 2: it never will be */
	bool stays;    /* does not detach */
} parcels[PARCELS_MAX];

static unsigned in_flight_max;
static unsigned started; /* under the baton */
static uint32_t completed;
static int results[2];

static int run(struct baton_task *task)
{
	struct parcel *parcel = baton_container_of(task, struct parcel, windowed.task);
	unsigned before = started++;

	sim_require(baton_held(&topic.resource));
	/* All that have begun, this one included, less those known to be complete. */
	sim_require(before + 1 - load_relaxed(&completed) <= in_flight_max);
	for (int i = 0; &parcels[i] < parcel; i++)
		sim_require(load_relaxed(&parcels[i].told) ||
		            baton_future_poll(&parcels[i].future) == BATON_CANCELLED);
	if (parcel->stays) {
		(void)add_relaxed(&completed, 1);
		store_release(&parcel->told, 2);
		return 0;
	}
	sim_require(baton_detach(&parcel->windowed.token, 0) == 0);
	store_release(&parcel->told, 1);
	return 0;
}

static void begin(uint32_t limit, unsigned futures, struct baton_executor *executor)
{
	sim_calm(true);
	sim_topic_init(&topic, 10, 64, executor);
	baton_window_init(&window, &topic.resource, limit);
	in_flight_max = limit;
	for (unsigned i = 0; i < PARCELS_MAX; i++) {
		baton_future_init(&parcels[i].future);
		baton_windowed_init(&parcels[i].windowed, &window, run,
		                    i < futures ? &parcels[i].future : NULL);
	}
	sim_calm(false);
}

static int submit(unsigned number)
{
	return baton_submit(&topic.resource, &parcels[number].windowed.task);
}

static void submit_2(void *argument)
{
	(void)argument;
	sim_require(submit(0) == 0);
	sim_require(submit(1) == 0);
}

static void submit_3(void *argument)
{
	submit_2(argument);
	sim_require(submit(2) == 0);
}

/* Waits until it is in flight, completes it. False: it will not be. */
static bool acknowledge(unsigned number)
{
	uint32_t told;

	while (!(told = load_acquire(&parcels[number].told)))
		sim_yield();
	if (told == 2)
		return false;
	/* Before: a start that the completion allows may come before it returns. */
	(void)add_relaxed(&completed, 1);
	sim_require(baton_detached_complete(&parcels[number].windowed.token, 0, NULL) == 0);
	return true;
}

static void acknowledge_0(void *argument)
{
	(void)argument;
	(void)acknowledge(0);
}

static void acknowledge_1(void *argument)
{
	(void)argument;
	(void)acknowledge(1);
}

static void acknowledge_2(void *argument)
{
	(void)argument;
	(void)acknowledge(2);
}

static void acknowledge_all(void *argument)
{
	for (unsigned i = 0; i < (uintptr_t)argument; i++)
		(void)acknowledge(i);
}

static void end(unsigned count)
{
	sim_join_all();
	sim_require(started == count);
	sim_require(baton_window_waiting(&window) == 0);
	sim_topic_close(&topic);
	baton_window_deinit(&window);
	sim_retire(&window, sizeof(window));
}

SIM_SCENARIO(window_submit_complete, "a submitter beside a completer: none is left waiting")
{
	begin(1, 1, NULL);
	sim_start(acknowledge_all, (void *)2);
	submit_2(NULL);
	end(2);
}

SIM_SCENARIO(window_complete_2, "two completers: room for two, four tasks", .bound = 2)
{
	begin(2, 2, NULL);
	sim_calm(true);
	submit_3(NULL);
	sim_require(submit(3) == 0);
	sim_calm(false);
	sim_start(acknowledge_0, NULL);
	sim_start(acknowledge_1, NULL);
	(void)acknowledge(2);
	(void)acknowledge(3);
	end(4);
}

SIM_SCENARIO(window_stays, "those that give their place back by returning make room, too",
             .bound = 2)
{
	begin(1, 4, NULL);
	parcels[1].stays = true;
	parcels[2].stays = true;
	sim_start(acknowledge_0, NULL);
	submit_3(NULL);
	sim_require(baton_future_wait(&parcels[2].future) == 0);
	end(3);
}

static void raise_limit(void *argument)
{
	in_flight_max = 2;
	(void)argument;
	sim_require(baton_window_set_limit(&window, 2) == 0);
}

SIM_SCENARIO(window_limit, "raised from 0 beside a submitter: none is left waiting")
{
	begin(0, 1, NULL);
	in_flight_max = 2;
	sim_start(raise_limit, NULL);
	submit_2(NULL);
	(void)acknowledge(0);
	(void)acknowledge(1);
	end(2);
}

/* ---- Cancelling ---- */

/* A waiting one that is complete has been cancelled, and says so to its completer. */
static void is_over(unsigned number)
{
	enum baton_state state;

	sim_require(baton_future_wait(&parcels[number].future) == 0);
	state = baton_future_poll(&parcels[number].future);
	sim_require(state == BATON_DONE || state == BATON_CANCELLED);
	sim_require((state == BATON_DONE) == (load_acquire(&parcels[number].told) == 1));
}

static void cancel_waiting(void *argument)
{
	(void)argument;
	sim_require(baton_window_cancel(&window) == 0);
}

static void acknowledge_if_started(unsigned number)
{
	while (!baton_future_complete_p(&parcels[number].future)) {
		if (load_acquire(&parcels[number].told)) {
			(void)acknowledge(number);
			return;
		}
		sim_yield();
	}
}

static void acknowledge_started_1(void *argument)
{
	(void)argument;
	acknowledge_if_started(1);
}

static void begin_to_cancel(void)
{
	begin(1, 3, NULL);
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
	end(started);
}

static void cancel_1(void *argument)
{
	int *result = argument;

	*result = baton_windowed_cancel(&parcels[1].windowed);
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
	if (baton_future_poll(&parcels[1].future) == BATON_CANCELLED)
		sim_require(results[0] == 0);
	else
		sim_require(results[0] == -EINPROGRESS || results[0] == -EALREADY);
	end(started);
}

static void cancel_future_1(void *argument)
{
	int *result = argument;

	*result = baton_future_cancel(&parcels[1].future);
}

SIM_SCENARIO(window_cancel_future,
             "cancelled by its future alone: it completes at its turn, whose "
             "place the next one gets",
             .bound = 1)
{
	begin_to_cancel();
	sim_calm(true);
	sim_require(submit(2) == 0);
	sim_calm(false);
	sim_start(cancel_future_1, &results[0]);
	sim_start(acknowledge_0, NULL);
	sim_start(acknowledge_started_1, NULL);
	is_over(1);
	(void)acknowledge(2);
	end(started);
	sim_require(baton_future_poll(&parcels[2].future) == BATON_DONE);
}

static void cancel_pending(void *argument)
{
	(void)argument;
	sim_require(baton_resource_cancel_pending(&topic.resource) == 0);
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
	end(started);
}

/* ---- The resource's end ---- */

static void close_then(void *argument)
{
	(void)argument;
	topic.stays = false;
	sim_require(sim_topic_close_then(&topic) == 0);
}

static void require_finalised(unsigned count)
{
	sim_join_all();
	sim_require(load_acquire(&topic.over));
	sim_require(started == count);
	baton_window_deinit(&window);
	sim_retire(&window, sizeof(window));
}

SIM_SCENARIO(window_close_then,
             "closed beside completions: all accepted ones run, then the finaliser", .bound = 2)
{
	begin(1, 0, NULL);
	sim_calm(true);
	submit_2(NULL);
	sim_calm(false);
	sim_start(close_then, NULL);
	sim_start(acknowledge_1, NULL);
	(void)acknowledge(0);
	require_finalised(2);
}

SIM_SCENARIO(window_close_then_2, "closed beside two completions, with room for two", .bound = 1)
{
	begin(2, 0, NULL);
	sim_calm(true);
	submit_3(NULL);
	sim_require(submit(3) == 0);
	sim_calm(false);
	sim_start(close_then, NULL);
	sim_start(acknowledge_0, NULL);
	sim_start(acknowledge_1, NULL);
	sim_start(acknowledge_2, NULL);
	(void)acknowledge(3);
	require_finalised(4);
}

SIM_SCENARIO(window_close_await, "await on the closed resource comes after all of them", .bound = 2)
{
	begin(1, 1, NULL);
	sim_calm(true);
	submit_2(NULL);
	sim_calm(false);
	sim_start(acknowledge_all, (void *)2);
	sim_topic_close(&topic);
	sim_require(started == 2);
	baton_window_deinit(&window);
	sim_join_all();
}

SIM_SCENARIO(window_close_cancel, "closed with a limit of 0: what waits is cancelled, then the "
                                  "finaliser")
{
	begin(0, 2, NULL);
	sim_calm(true);
	submit_2(NULL);
	sim_calm(false);
	sim_start(close_then, NULL);
	cancel_waiting(NULL);
	sim_join_all();
	sim_require(baton_future_poll(&parcels[0].future) == BATON_CANCELLED);
	sim_require(baton_future_poll(&parcels[1].future) == BATON_CANCELLED);
	require_finalised(0);
}

/* ---- With an executor: hand-offs, helpers ---- */

static void submit_3_and_wait(void *argument)
{
	submit_3(argument);
	sim_require(baton_future_wait(&parcels[2].future) == 0);
}

SIM_SCENARIO(window_help, "queued behind a limit of 1 task per stay, with a helper", .bound = 1)
{
	struct baton_manual *manual;

	sim_require(baton_manual_create(&manual) == 0);
	begin(1, 3, baton_manual_executor(manual));
	topic.config.quantum = 1;
	topic.config.capture_limit = 1;
	sim_start(submit_3_and_wait, NULL);
	sim_start(acknowledge_all, (void *)3);
	sim_drive(manual);
	end(3);
	baton_manual_destroy(manual);
}
