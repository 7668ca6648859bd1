/* SPDX-License-Identifier: MIT */
/* The verbs that most scripts use. */
#include "script.h"

static struct sim_topic *const topic = &sim_script_stage.topic;
static struct sim_note *const notes = sim_script_stage.notes;

/* ---- The stage ---- */

SIM_VERB(futures, SIM_OK)
{
	sim_script_renew(note, true);
	return 0;
}

SIM_VERB(queued, SIM_OK)
{
	sim_script_renew(note, true);
	return sim_note_submit_later(note);
}

SIM_VERB(drive, SIM_OK)
{
	sim_script_drive();
	return 0;
}

SIM_VERB(run_one, SIM_OK)
{
	sim_require(baton_manual_run(sim_script_stage.manual, 1));
	return 0;
}

/* The thread's next call is not its first one, which takes the long way. */
SIM_VERB(attach, SIM_OK)
{
	return baton_thread_attach();
}

/* All threads, or the one of this number. */
SIM_VERB(join, SIM_OK)
{
	if (number)
		sim_join(number);
	else
		sim_join_started();
	return 0;
}

static struct sim_topic *const other = &sim_script_other;

static void close_other(void)
{
	sim_settled(other);
	sim_topic_close(other);
}

SIM_VERB(other, SIM_OK)
{
	sim_topic_init(other, number, 64, topic->config.executor);
	sim_script_after_close(close_other);
	return 0;
}

SIM_VERB(elsewhere, SIM_OK)
{
	note->topic = other;
	return 0;
}

/* ---- Tasks ---- */

SIM_VERB(submit, SIM_OK)
{
	return sim_note_submit(note);
}

SIM_VERB(later, SIM_OK)
{
	return sim_note_submit_later(note);
}

SIM_VERB(post, SIM_OK)
{
	return sim_note_post(note);
}

SIM_VERB(call, SIM_OK)
{
	return sim_note_call(note);
}

SIM_VERB(try_call, SIM_OK)
{
	sim_note_begin(note);
	return sim_note_end(note, baton_try_call(&topic->resource, sim_note_run, note, NULL));
}

SIM_VERB(async_and_drop, SIM_OK)
{
	struct baton_future *future = NULL;
	int status;

	sim_note_begin(note);
	status = sim_note_end(note, baton_async(&topic->resource, sim_note_run, note, &future));
	baton_future_unref(future);
	return status;
}

SIM_VERB(cancel, SIM_OK | SIM_ALREADY | SIM_RUNNING)
{
	return sim_note_cancel(note);
}

SIM_VERB(cancel_all, SIM_OK)
{
	sim_script_mark(&sim_script_marks.cancels);
	return baton_resource_cancel_pending(&topic->resource);
}

/* Task a and those up to it, at once. */
SIM_VERB(batch_to, SIM_OK)
{
	struct baton_task *tasks[SIM_SCRIPT_NOTES];
	size_t count = (size_t)(note - notes) + 1;
	int status;

	for (size_t i = 0; i < count; i++) {
		tasks[i] = notes[i].entry;
		sim_note_begin(&notes[i]);
	}
	status = baton_submit_batch(&topic->resource, tasks, count);
	for (size_t i = 0; i < count; i++)
		(void)sim_note_end(&notes[i], status);
	return status;
}

/* Its future says what became of it; the memory is given back. */
SIM_VERB(over, SIM_OK)
{
	sim_script_mark(&sim_script_marks.over[note - notes]);
	sim_note_over(note);
	return 0;
}

SIM_VERB(wait, SIM_OK)
{
	sim_script_mark(&sim_script_marks.over[note - notes]);
	sim_note_wait(note);
	return 0;
}

SIM_VERB(until_complete, SIM_OK)
{
	return baton_future_wait(&note->future);
}

SIM_VERB(is_complete, SIM_OK)
{
	sim_require(baton_future_is_complete(&note->future));
	return 0;
}

SIM_VERB(was_cancelled, SIM_OK)
{
	sim_require(note->fate == SIM_CANCELLED);
	return 0;
}

SIM_VERB(has_not_run, SIM_OK)
{
	sim_require(note->fate == SIM_ACCEPTED);
	return 0;
}

/* Another thread has run it, or it has not run. */
SIM_VERB(not_mine, SIM_OK)
{
	sim_require(note->fate != SIM_RAN || note->runner != sim_thread());
	return 0;
}

SIM_VERB(ran, SIM_OK)
{
	sim_require(note->fate == SIM_RAN);
	return 0;
}

/* A plain write, seen or not yet done where it is looked at; a missing edge is a race. */
static int data;

SIM_VERB(write, SIM_OK)
{
	data = 1;
	return 0;
}

SIM_VERB(written, SIM_OK)
{
	sim_require(data == 1);
	return 0;
}

SIM_VERB(unwritten, SIM_OK)
{
	sim_require(data == 0);
	return 0;
}

/* A promise, and continuations that submit tasks. */
static struct baton_future promise = BATON_PROMISE_INIT;
static struct baton_continuation continuations[SIM_SCRIPT_NOTES];

SIM_VERB(fulfil, SIM_OK)
{
	return baton_future_complete(&promise, 0, NULL);
}

SIM_VERB(until_fulfilled, SIM_OK)
{
	return baton_future_wait(&promise);
}

static int continue_with(struct sim_note *note, struct baton_future *future)
{
	struct baton_continuation *continuation = &continuations[note - notes];

	sim_note_begin(note);
	baton_continuation_task(continuation, &note->topic->resource, &note->task);
	baton_future_then(future, continuation);
	return 0;
}

/* When the promise is fulfilled. */
SIM_VERB(then, SIM_OK)
{
	return continue_with(note, &promise);
}

/* When the task before it (in the alphabet) is complete. */
SIM_VERB(follow, SIM_OK)
{
	return continue_with(note, &note[-1].future);
}

SIM_VERB(give_back_continuation, SIM_OK)
{
	sim_retire(&continuations[note - notes], sizeof(continuations[0]));
	return 0;
}

SIM_VERB(give_back_promise, SIM_OK)
{
	sim_retire(&promise, sizeof(promise));
	return 0;
}

/* So many tasks have not met their fate. */
SIM_VERB(left, SIM_OK)
{
	sim_require(sim_left(topic, SIM_THREADS_MAX) == number);
	return 0;
}

/* ---- The resource's end ---- */

SIM_UNSEEN static void note_close(int status)
{
	if (!status && sim_script_marks.closed)
		sim_fail("two closes succeed");
	sim_script_marks.closed |= !status;
	sim_script_marks.refused |= status == -EALREADY;
}

SIM_VERB(close, SIM_OK)
{
	int status = baton_resource_close(&topic->resource);

	note_close(status);
	return status;
}

/* By a finaliser, which gives the resource's memory back; `stays`: or does not. */
SIM_VERB(close_then, SIM_OK)
{
	sim_script_mark(&sim_script_marks.finalised);
	note_close(0);
	return sim_topic_close_then(topic);
}

SIM_VERB(finalised_here, SIM_OK)
{
	sim_require(topic->finalised && topic->finalised_by == sim_thread());
	return 0;
}

SIM_VERB(stays, SIM_OK)
{
	topic->stays = true;
	return 0;
}

/* Closes and awaits; the resource's memory is given back. */
SIM_VERB(end, SIM_OK)
{
	sim_script_mark(&sim_script_marks.ended);
	sim_topic_close(topic);
	return 0;
}

/* With a number: no longer than so many nanoseconds. */
SIM_VERB(await, SIM_OK)
{
	uint64_t deadline = sim_in(number);
	const uint64_t known = sim_notes_known(topic);
	int status =
		baton_resource_await_until(&topic->resource, number ? deadline : BATON_FOREVER);

	if (!status)
		sim_awaited(topic, known);
	return status;
}
