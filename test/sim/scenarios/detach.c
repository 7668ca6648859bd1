/* SPDX-License-Identifier: MIT */
/*
 * Detached completion: complete, deadline, cancel, the resource's end and a held queue against one
 * another. A token is given back when its future is complete: who touches it after that is wrong.
 */
#include "support.h"

#include <baton/detach.h>

#define TICK 1024U

static struct sim_topic topic;
static struct sim_note notes[3]; /* [0] detaches */
static struct baton_detached token;
static struct baton_deadline deadline;
static struct baton_timers *timers;
static unsigned flags;
static uint32_t told; /* the token is known */
static int results[2];
static int data; /* written by the completer */
static uint32_t limit = 10;

static void detach(struct sim_note *note)
{
	sim_require(baton_detach(&token, flags) == 0);
	store_release(&told, 1);
}

static void detach_within(struct sim_note *note)
{
	sim_require(baton_detach_within(&token, flags, TICK, &deadline) == 0);
	/* Its memory may have been given back; `told` has not. */
	store_release(&told, 1);
}

static void begin(void (*body)(struct sim_note *note), struct baton_executor *executor)
{
	sim_calm(true);
	baton_detached_init(&token);
	sim_topic_init(&topic, limit, 64, executor);
	for (int i = 0; i < 3; i++)
		sim_note_init(&notes[i], &topic, i == 0);
	notes[0].body = body;
	sim_calm(false);
}

/* False: the task was cancelled before it was entered. */
static bool until_told(void)
{
	while (!load_acquire(&told)) {
		if (baton_future_state(&notes[0].future) == BATON_CANCELLED)
			return load_acquire(&told);
		sim_yield();
	}
	return true;
}

static void complete(void *argument)
{
	int *result = argument;

	if (until_told())
		*result = baton_detached_complete(&token, 0, &data);
}

static void write_and_complete(void *argument)
{
	(void)until_told();
	data = 1;
	complete(argument);
}

static void submit_first(void *argument)
{
	sim_require(sim_note_submit(&notes[0]) == 0);
}

static void give_back(void)
{
	sim_retire(&token, sizeof(token));
	sim_retire(&deadline, sizeof(deadline));
}

SIM_SCENARIO(detach_complete, "the waiter sees what the completer did, and has the memory back")
{
	begin(detach, NULL);
	sim_start(submit_first, NULL);
	sim_start(write_and_complete, &results[0]);
	sim_require(baton_future_wait(&notes[0].future, NULL) == 0);
	sim_require(data == 1);
	sim_require(baton_future_value(&notes[0].future) == &data);
	give_back();
	sim_join_all(); /* the note is looked at when its function has detached */
	sim_note_over(&notes[0]);
	sim_require(results[0] == 0);
	sim_topic_close(&topic);
	sim_settled(&topic);
}

SIM_SCENARIO(detach_complete_twice, "of two completers one succeeds")
{
	begin(detach, NULL);
	sim_start(complete, &results[0]);
	sim_start(complete, &results[1]);
	submit_first(NULL);
	sim_join_all();
	sim_require(results[0] + results[1] == -EALREADY);
	sim_note_over(&notes[0]);
	sim_topic_close(&topic);
	sim_settled(&topic);
}

static void cancel(void *argument)
{
	int *result = argument;

	*result = sim_note_cancel(&notes[0]);
}

SIM_SCENARIO(detach_cancel, "a cancel beside the detach and the completion: it never fails")
{
	begin(detach, NULL);
	sim_start(cancel, &results[1]);
	submit_first(NULL);
	complete(&results[0]);
	sim_require(baton_future_is_complete(&notes[0].future));
	sim_join_all();
	sim_require(results[0] == 0);
	/* 0: it was never entered. -EINVAL: it was not submitted yet. */
	sim_require(results[1] == 0 || results[1] == -EINPROGRESS || results[1] == -EALREADY ||
	            results[1] == -EINVAL);
	sim_note_over(&notes[0]);
	sim_topic_close(&topic);
}

static void cancel_entered(void *argument)
{
	(void)until_told();
	cancel(argument);
}

SIM_SCENARIO(detach_cancel_entered, "who cancels what has been entered is never told that it was "
                                    "not submitted")
{
	begin(detach, NULL);
	sim_start(cancel_entered, &results[1]);
	sim_start(complete, &results[0]);
	/* A thread's first submit takes the long way. */
	sim_require(baton_thread_attach() == 0);
	submit_first(NULL);
	sim_join_all();
	sim_require(results[0] == 0);
	sim_require(results[1] == -EINPROGRESS || results[1] == -EALREADY);
	sim_note_over(&notes[0]);
	sim_topic_close(&topic);
}

SIM_SCENARIO(detach_cancel_queued,
             "who cancels what was submitted before is never told that it was "
             "not")
{
	struct baton_manual *manual;

	sim_require(baton_manual_create(&manual) == 0);
	begin(detach, baton_manual_executor(manual));
	sim_require(sim_note_submit_later(&notes[0]) == 0);
	sim_start(cancel, &results[1]);
	sim_drive(manual);
	complete(&results[0]);
	sim_require(results[0] == 0);
	sim_require(results[1] == 0 || results[1] == -EINPROGRESS || results[1] == -EALREADY);
	sim_note_over(&notes[0]);
	sim_topic_close(&topic);
	baton_manual_destroy(manual);
}

/* ---- The deadline ---- */

static void begin_with_deadline(struct baton_executor *executor)
{
	sim_calm(true);
	sim_require(
		baton_timers_create(&(struct baton_timers_options){.source = BATON_TIMERS_VIRTUAL},
	                            &timers) == 0);
	baton_deadline_init(&deadline, timers);
	begin(detach_within, executor);
	sim_calm(false);
}

static void advance(void *argument)
{
	sim_require(baton_timers_advance(timers, 2 * TICK) >= 0);
}

static void require_one_winner(int result)
{
	sim_require(result == 0 || result == -EALREADY);
	sim_require(baton_future_status(&notes[0].future) == (result ? -ETIMEDOUT : 0));
	sim_require(baton_future_value(&notes[0].future) == (result ? NULL : &data));
	notes[0].status = result ? -ETIMEDOUT : 0;
}

SIM_SCENARIO(detach_deadline,
             "complete beside the deadline: one of the two; then the memory is back", .bound = 2)
{
	begin_with_deadline(NULL);
	submit_first(NULL);
	sim_start(complete, &results[0]);
	sim_start(advance, NULL);
	sim_require(baton_future_wait(&notes[0].future, NULL) == 0);
	/* The completer may still be about to look at the token's state. */
	sim_retire(&deadline, sizeof(deadline));
	sim_join_all();
	require_one_winner(results[0]);
	sim_note_over(&notes[0]);
	sim_retire(&token, sizeof(token));
	sim_topic_close(&topic);
	sim_require(baton_timers_destroy(timers) == 0);
	sim_no_leaks();
}

SIM_SCENARIO(detach_deadline_arming, "the deadline passes while it is armed", .bound = 2)
{
	begin_with_deadline(NULL);
	sim_start(advance, NULL);
	submit_first(NULL);
	sim_join_all();
	advance(NULL);
	sim_require(baton_future_wait(&notes[0].future, NULL) == 0);
	require_one_winner(-EALREADY);
	sim_note_over(&notes[0]);
	give_back();
	sim_topic_close(&topic);
	sim_require(baton_timers_destroy(timers) == 0);
}

static void close_then(void *argument)
{
	sim_require(sim_topic_close_then(&topic) == 0);
}

SIM_SCENARIO(detach_deadline_close, "counted: the finaliser comes after complete, or the deadline",
             .bound = 2)
{
	flags = BATON_DETACH_COUNTED;
	begin_with_deadline(NULL);
	submit_first(NULL);
	sim_start(complete, &results[0]);
	sim_start(close_then, NULL);
	advance(NULL);
	sim_join_all();
	sim_require(load_acquire(&topic.over));
	require_one_winner(results[0]);
	sim_note_over(&notes[0]);
	give_back();
	sim_require(baton_timers_destroy(timers) == 0);
}

/* ---- The resource's end ---- */

SIM_SCENARIO(detach_counted_close, "counted: the finaliser comes after the completion")
{
	flags = BATON_DETACH_COUNTED;
	begin(detach, NULL);
	submit_first(NULL);
	sim_start(complete, &results[0]);
	sim_start(close_then, NULL);
	sim_join_all();
	sim_require(results[0] == 0);
	sim_require(load_acquire(&topic.over));
	sim_note_over(&notes[0]);
	give_back();
}

static void await_closed(void *argument)
{
	sim_require(baton_resource_close(&topic.resource) == 0);
	sim_topic_close(&topic);
}

SIM_SCENARIO(detach_counted_await, "counted: await on a closed resource waits for it")
{
	flags = BATON_DETACH_COUNTED;
	begin(detach, NULL);
	submit_first(NULL);
	sim_start(complete, &results[0]);
	await_closed(NULL);
	sim_require(baton_future_is_complete(&notes[0].future));
	sim_join_all();
	sim_note_over(&notes[0]);
}

static void await_in_time(void *argument)
{
	struct timespec end = sim_in(3000);
	int status = baton_resource_await(&topic.resource, &end);

	sim_require(status == 0 || status == -ETIMEDOUT);
}

static struct baton_manual *driven;

/* The token's completer may not release the topic, which lies in this thread's queue then. */
static void begin_driven(void)
{
	flags = BATON_DETACH_COUNTED;
	limit = 0;
	sim_require(baton_manual_create(&driven) == 0);
	begin(detach, baton_manual_executor(driven));
	submit_first(NULL);
	sim_require(baton_manual_run_until_idle(driven) == 1);
	sim_start(complete, &results[0]);
}

static void await_driven(void)
{
	sim_require(baton_resource_await(&topic.resource, NULL) == 0);
	sim_require(baton_future_is_complete(&notes[0].future));
	sim_join_all();
	sim_note_over(&notes[0]);
}

static void end_driven(void)
{
	sim_topic_close(&topic);
	baton_manual_destroy(driven);
	sim_no_leaks();
}

SIM_SCENARIO(detach_counted_driven, "counted, limit 0: who drives the executor awaits")
{
	begin_driven();
	sim_require(baton_resource_close(&topic.resource) == 0);
	await_driven();
	end_driven();
}

SIM_SCENARIO(detach_counted_driven_beside, "the same, beside an await with a deadline", .bound = 1)
{
	begin_driven();
	sim_require(baton_resource_close(&topic.resource) == 0);
	sim_start(await_in_time, NULL);
	await_driven();
	end_driven();
}

SIM_SCENARIO(detach_counted_driven_final, "the same with a finaliser")
{
	begin_driven();
	topic.stays = true;
	close_then(NULL);
	await_driven();
	(void)baton_manual_run_until_idle(driven);
	sim_require(load_acquire(&topic.over));
	baton_manual_destroy(driven);
}

/* ---- A held queue ---- */

static void require_complete(struct sim_note *note)
{
	sim_require(baton_future_is_complete(&notes[0].future));
	sim_require(data == 1);
}

SIM_SCENARIO(detach_hold,
             "held: what is submitted meanwhile runs after the completion, and sees "
             "what it did",
             .bound = 2)
{
	flags = BATON_DETACH_HOLD;
	begin(detach, NULL);
	notes[1].body = require_complete;
	notes[2].body = require_complete;
	submit_first(NULL);
	sim_start(write_and_complete, &results[0]);
	sim_start(sim_does_submit, &notes[1]);
	sim_require(sim_note_submit(&notes[2]) == 0);
	sim_join_all();
	sim_require(results[0] == 0);
	sim_note_over(&notes[0]);
	sim_topic_close(&topic);
	sim_settled(&topic);
}

SIM_SCENARIO(detach_hold_deadline, "held: the deadline lets it go, too", .bound = 1)
{
	struct baton_manual *manual;

	flags = BATON_DETACH_HOLD;
	sim_require(baton_manual_create(&manual) == 0);
	begin_with_deadline(baton_manual_executor(manual));
	submit_first(NULL);
	sim_start(complete, &results[0]);
	sim_start(sim_does_submit, &notes[1]);
	advance(NULL);
	sim_drive(manual);
	require_one_winner(results[0]);
	sim_note_over(&notes[0]);
	give_back();
	sim_topic_close(&topic);
	sim_settled(&topic);
	sim_require(baton_timers_destroy(timers) == 0);
	baton_manual_destroy(manual);
}
