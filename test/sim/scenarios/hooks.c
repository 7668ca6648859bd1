/* SPDX-License-Identifier: MIT */
/*
 * Drain hooks: whoever sees a future complete finds that its batch has ended. What the hooks write
 * is protected by the baton alone, and read by waiters because of the completion alone.
 */
#include "support.h"

#include <baton/hooks.h>
#include <baton/suspend.h>

#define NOTES 4

static struct sim_topic topic;
static struct sim_note notes[NOTES];
static struct baton_manual *manual;

/* Protected by the baton. */
static struct sim_note *batch[NOTES];
static unsigned batch_count;
static unsigned batches;
static bool open;
static int end_status;

/* By the baton, then by the note's completion. */
static bool committed[NOTES];

static int begin(struct baton_resource *resource)
{
	sim_require(resource == &topic.resource);
	sim_require(!open);
	open = true;
	batch_count = 0;
	batches++;
	return 0;
}

static int end(struct baton_resource *resource)
{
	sim_require(resource == &topic.resource);
	sim_require(open);
	open = false;
	for (unsigned i = 0; i < batch_count; i++) {
		committed[batch[i] - notes] = true;
		batch[i]->status = end_status;
	}
	/* Where others have their say: nobody may have been told yet. */
	sim_point();
	return end_status;
}

static void join_batch(struct sim_note *note)
{
	sim_require(open);
	batch[batch_count++] = note;
}

/* `queued` of the notes lie in the executor's queue. */
static void stage(uint32_t limit, uint32_t quantum, unsigned queued)
{
	sim_calm(true);
	sim_require(baton_manual_create(&manual) == 0);
	sim_topic_init(&topic, limit, quantum, baton_manual_executor(manual));
	topic.config.batch_begin = begin;
	topic.config.batch_end = end;
	topic.config.hold_completions = true;
	baton_resource_init(&topic.resource, &topic.config);
	for (unsigned i = 0; i < NOTES; i++) {
		sim_note_init(&notes[i], &topic, true);
		notes[i].body = join_batch;
	}
	for (unsigned i = 0; i < queued; i++)
		sim_require(sim_note_submit_later(&notes[i]) == 0);
	sim_calm(false);
}

/* It is complete: if it has run its batch has ended. */
static void told(struct sim_note *note)
{
	if (baton_future_state(&note->future) != BATON_CANCELLED)
		sim_require(committed[note - notes]);
	sim_note_over(note);
}

static void wait_for(void *note)
{
	struct sim_note *mine = note;

	sim_require(baton_future_wait(&mine->future, NULL) == 0);
	told(mine);
}

static void submit_and_wait(void *note)
{
	sim_require(sim_note_submit(note) == 0);
	wait_for(note);
}

static void finish(void)
{
	sim_drive(manual);
	sim_join_started();
	sim_require(!open);
	sim_settled(&topic);
	sim_topic_close(&topic);
	baton_manual_destroy(manual);
	sim_no_leaks();
}

SIM_SCENARIO(hooks_waiters, "two submit and wait; they are told after the end of their batch",
             .bound = 1)
{
	stage(10, 64, 0);
	sim_start(submit_and_wait, &notes[0]);
	sim_start(submit_and_wait, &notes[1]);
	finish();
}

SIM_SCENARIO(hooks_limit, "limit 1: a batch ends before the hand-off", .bound = 1)
{
	stage(1, 1, 0);
	sim_start(submit_and_wait, &notes[0]);
	sim_start(submit_and_wait, &notes[1]);
	finish();
}

SIM_SCENARIO(hooks_helper, "a helper's batch, beside the executor's thread", .bound = 1)
{
	stage(10, 64, 2);
	sim_start(wait_for, &notes[0]);
	finish();
	told(&notes[1]);
}

SIM_SCENARIO(hooks_helpers, "two helpers, and one more is submitted", .bound = 1)
{
	stage(10, 2, 2);
	sim_start(wait_for, &notes[0]);
	sim_start(wait_for, &notes[1]);
	sim_start(submit_and_wait, &notes[2]);
	finish();
}

SIM_SCENARIO(hooks_fails, "a batch that fails", .bound = 1)
{
	stage(10, 64, 1);
	end_status = -EIO;
	sim_start(wait_for, &notes[0]);
	sim_start(submit_and_wait, &notes[1]);
	finish();
}

static int results[2];

static void cancel_second(void *argument)
{
	results[0] = sim_note_cancel(&notes[1]);
}

SIM_SCENARIO(hooks_cancel, "a cancel meets a task before its batch, in it, or after it")
{
	stage(10, 64, 2);
	sim_start(cancel_second, NULL);
	finish();
	sim_require(results[0] == 0 || results[0] == -EALREADY || results[0] == -EINPROGRESS);
	told(&notes[0]);
	told(&notes[1]);
}

static void cancel_pending(void *argument)
{
	sim_require(baton_resource_cancel_pending(&topic.resource) == 0);
}

SIM_SCENARIO(hooks_cancel_pending, "what has not run is cancelled, what has run is not", .bound = 1)
{
	stage(10, 64, 2);
	sim_start(cancel_pending, NULL);
	sim_start(wait_for, &notes[1]);
	finish();
	told(&notes[0]);
}

/* Everything that had been accepted is over, and its future complete. */
static void await(void *argument)
{
	sim_require(baton_resource_await(&topic.resource, NULL) == 0);
	sim_require(baton_future_is_complete(&notes[0].future));
	sim_require(committed[0]);
}

SIM_SCENARIO(hooks_await, "an awaiter is told after the batch", .bound = 1)
{
	stage(10, 64, 1);
	sim_start(await, NULL);
	sim_start(submit_and_wait, &notes[1]);
	finish();
	told(&notes[0]);
}

static void close_then(void *argument)
{
	sim_require(sim_topic_close_then(&topic) == 0);
}

SIM_SCENARIO(hooks_finaliser, "the finaliser comes after the batch", .bound = 1)
{
	stage(10, 64, 2);
	sim_start(close_then, NULL);
	sim_start(wait_for, &notes[0]);
	sim_drive(manual);
	sim_join_started();
	sim_require(load_acquire(&topic.over) == 1);
	sim_require(!open);
	told(&notes[1]);
	baton_manual_destroy(manual);
	sim_no_leaks();
}

static void call(void *note)
{
	struct sim_note *mine = note;

	sim_require(sim_note_call(mine) == 0);
	sim_require(committed[mine - notes]);
}

static struct baton_future answered = BATON_PROMISE_INIT;

static void suspend_until_answered(void *unused)
{
	struct baton_suspension suspension = BATON_SUSPENSION_INIT;

	sim_require(baton_resource_suspend(&topic.resource, &suspension) == 0);
	sim_require(baton_future_wait(&answered, NULL) == 0);
	sim_require(baton_resource_resume(&suspension) == 0);
}

static void try_call(void *note)
{
	struct sim_note *mine = note;
	int status;

	sim_note_begin(mine);
	status = baton_try_call(&topic.resource, sim_note_run, mine, NULL);
	if (status)
		sim_require(status == -EAGAIN);
	else
		sim_require(committed[mine - notes]);
	(void)sim_note_end(mine, status);
	sim_require(baton_future_complete(&answered, 0, NULL) == 0);
}

SIM_SCENARIO(hooks_try_call, "a try_call does not wait for a resume")
{
	stage(10, 64, 0);
	notes[0].own_future = false;
	sim_start(try_call, &notes[0]);
	sim_start(suspend_until_answered, NULL);
	finish();
}

static void async_and_drop(void *note)
{
	struct baton_future *future;

	sim_note_begin(note);
	sim_require(sim_note_end(note, baton_async(&topic.resource, sim_note_run, note, &future)) ==
	            0);
	baton_future_unref(future);
}

SIM_SCENARIO(hooks_calls, "a call returns after its batch; a dropped future is freed", .bound = 1)
{
	stage(10, 64, 0);
	notes[0].own_future = notes[1].own_future = false;
	sim_start(call, &notes[0]);
	sim_start(async_and_drop, &notes[1]);
	finish();
}

static struct baton_continuation continuation;
static struct sim_topic other;

static void after_batch(struct sim_note *note)
{
	sim_require(committed[0]);
	sim_retire(&continuation, sizeof(continuation));
}

static void then(void *argument)
{
	baton_continuation_task(&continuation, &other.resource, &notes[3].task);
	baton_future_then(&notes[0].future, &continuation);
}

SIM_SCENARIO(hooks_then, "a continuation fires once, after the batch", .bound = 1)
{
	stage(10, 64, 1);
	sim_topic_init(&other, 10, 64, baton_manual_executor(manual));
	sim_note_init(&notes[3], &other, false);
	notes[3].body = after_batch;
	sim_note_begin(&notes[3]);
	sim_start(then, NULL);
	sim_start(submit_and_wait, &notes[1]);
	finish();
	told(&notes[0]);
	sim_settled(&other);
	sim_topic_close(&other);
}

static void flush(struct sim_note *note)
{
	bool before = committed[0];

	join_batch(note);
	sim_require(!before);
	sim_require(baton_batch_flush() == 0);
	sim_require(committed[0] && committed[1]);
	sim_require(baton_future_is_complete(&notes[0].future));
	join_batch(note);
}

SIM_SCENARIO(hooks_flush, "a flush completes what is before it", .bound = 1)
{
	stage(0, 64, 3);
	notes[1].body = flush;
	sim_start(wait_for, &notes[2]);
	finish();
	told(&notes[0]);
	told(&notes[1]);
}

SIM_SCENARIO(hooks_no_memory, "what cannot be remembered ends its batch")
{
	unsigned failing;

	stage(10, 64, 3);
	failing = sim_pick(2);
	sim_fail_allocation(failing);
	finish();
	sim_fail_allocation(0);
	sim_require(batches == 1 + failing);
	for (unsigned i = 0; i < 3; i++)
		told(&notes[i]);
}

/* ---- A call with a deadline ---- */

static bool called;

static void *call_it(void *argument)
{
	called = true;
	return argument;
}

static void call_late(void *argument)
{
	struct timespec deadline = sim_in(1000);
	const struct baton_call_options options = {.fn = call_it, .deadline = &deadline};
	int status = baton_call_with(&topic.resource, &options, argument);

	sim_require(called ? status == -EIO : status == -ETIMEDOUT);
}

SIM_SCENARIO(hooks_call_late, "a call whose time is over beside the end of its failing batch")
{
	stage(0, 64, 0);
	end_status = -EIO;
	sim_start(call_late, NULL);
	finish();
}
