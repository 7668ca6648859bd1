/* SPDX-License-Identifier: MIT */
/* Continuations that are registered beside the completion fire once each. */
#include "support.h"

static struct baton_future promise;
static struct baton_continuation continuations[3];
static struct sim_stage stage;
static struct sim_note *const notes = stage.notes;
static struct sim_topic *const topic = &stage.topic;
static int data;

static void complete(void *argument)
{
	data = 1;
	sim_require(baton_future_complete(&promise, 0, NULL) == 0);
}

static void sees_data(struct sim_note *note)
{
	sim_require(data == 1);
	sim_retire(&continuations[note - notes], sizeof(continuations[0]));
}

/* The submit is somebody else's, later. */
static void then(void *argument)
{
	struct sim_note *note = argument;
	size_t i = (size_t)(note - notes);

	baton_continuation_task(&continuations[i], &topic->resource, &note->task);
	baton_future_then(&promise, &continuations[i]);
}

static void begin(unsigned count, bool with_future)
{
	sim_stage_init(&stage, 10, 64, 0);
	baton_promise_init(&promise);
	for (unsigned i = 0; i < count; i++) {
		sim_note_init(&notes[i], topic, with_future);
		notes[i].body = sees_data;
		sim_note_begin(&notes[i]);
	}
}

SIM_SCENARIO(then_1, "registered beside the completion it fires once")
{
	begin(1, false);
	sim_start(then, &notes[0]);
	sim_start(complete, NULL);
	sim_drive(stage.manual);
	sim_stage_end(&stage);
}

SIM_SCENARIO(then_2, "two registrations beside the completion", .bound = 1)
{
	begin(2, false);
	sim_start(then, &notes[0]);
	sim_start(then, &notes[1]);
	sim_start(complete, NULL);
	sim_drive(stage.manual);
	sim_stage_end(&stage);
}

static void then_two(void *argument)
{
	then(&notes[0]);
	then(&notes[1]);
}

SIM_SCENARIO(then_2_wait, "two, one after the other, and a waiter", .bound = 1)
{
	begin(2, true);
	sim_start(then_two, NULL);
	sim_start(complete, NULL);
	sim_start(sim_does_wait, &notes[1]);
	sim_require(baton_future_wait(&promise, NULL) == 0);
	sim_drive(stage.manual);
	sim_note_over(&notes[0]);
	sim_stage_end(&stage);
}

static unsigned fired;

static void in_order(struct sim_note *note)
{
	sim_require(fired == (unsigned)(note - notes));
	fired++;
}

SIM_SCENARIO(then_order, "registered before the completion they fire in that order")
{
	begin(3, false);
	for (int i = 0; i < 3; i++)
		notes[i].body = in_order;
	for (int i = 0; i < 3; i++)
		then(&notes[i]);
	sim_start(complete, NULL);
	sim_require(baton_future_wait(&promise, NULL) == 0);
	sim_drive(stage.manual);
	sim_stage_end(&stage);
}

static void free_promise(struct sim_note *note)
{
	sim_retire(&promise, sizeof(promise));
}

SIM_SCENARIO(then_frees, "a continuation frees the future")
{
	begin(1, false);
	notes[0].body = free_promise;
	then(&notes[0]);
	sim_start(complete, NULL);
	sim_drive(stage.manual);
	sim_stage_end(&stage);
}

/* ---- Refused ---- */

static void close_topic(void *argument)
{
	sim_require(baton_resource_close(&topic->resource) == 0);
}

SIM_SCENARIO(then_refused, "a continuation that a closed resource refuses is cancelled", .bound = 1)
{
	begin(2, false);
	sim_note_init(&notes[1], topic, true);
	sim_note_begin(&notes[1]);
	topic->note_count--;
	then(&notes[0]);
	then(&notes[1]);
	sim_start(complete, NULL);
	sim_start(close_topic, NULL);
	sim_note_wait(&notes[1]);
	sim_drive(stage.manual);
	sim_stage_end(&stage);
}

/* ---- Of tasks ---- */

static struct sim_topic other;

SIM_SCENARIO(then_task, "a task's continuation on another resource, beside its submitter")
{
	sim_stage_init(&stage, 10, 64, 1);
	sim_topic_init(&other, 10, 64, baton_manual_executor(stage.manual));
	sim_note_init(&notes[1], &other, true);
	sim_note_begin(&notes[1]);
	sim_note_init(&notes[2], &other, false);
	baton_continuation_task(&continuations[0], &other.resource, &notes[1].task);
	baton_future_then(&notes[0].future, &continuations[0]);
	sim_start(sim_does_submit, &notes[2]);
	sim_start(sim_does_wait, &notes[1]);
	sim_drive(stage.manual);
	sim_note_over(&notes[0]);
	sim_settled(&other);
	sim_topic_close(&other);
	sim_stage_end(&stage);
}

SIM_SCENARIO(then_cancelled, "the continuation of a task that is cancelled by two hands")
{
	sim_stage_init(&stage, 10, 64, 1);
	sim_topic_init(&other, 10, 64, baton_manual_executor(stage.manual));
	sim_note_init(&notes[1], &other, true);
	sim_note_begin(&notes[1]);
	baton_continuation_task(&continuations[0], &other.resource, &notes[1].task);
	baton_future_then(&notes[0].future, &continuations[0]);
	sim_start(sim_does_cancel, &notes[0]);
	sim_start(sim_does_wait, &notes[1]);
	sim_drive(stage.manual);
	sim_note_over(&notes[0]);
	sim_settled(&other);
	sim_topic_close(&other);
	sim_stage_end(&stage);
}

/* ---- A job ---- */

static struct baton_plain_job job;
static unsigned ran;

static void run_job(struct baton_plain_job *plain)
{
	ran++;
	sim_require(data == 1);
	sim_retire(plain, sizeof(*plain));
}

static void then_job(void *argument)
{
	baton_plain_job_init(&job, run_job, NULL);
	baton_continuation_job(&continuations[0], baton_manual_executor(stage.manual), &job.job);
	baton_future_then(&promise, &continuations[0]);
}

static void *set_data(void *argument)
{
	data = 1;
	return argument;
}

static void async_then_job(void *argument)
{
	struct baton_future *future;

	sim_require(baton_async(&topic->resource, set_data, argument, &future) == 0);
	baton_plain_job_init(&job, run_job, NULL);
	baton_continuation_job(&continuations[0], baton_manual_executor(stage.manual), &job.job);
	baton_future_then(future, &continuations[0]);
	baton_future_unref(future);
}

SIM_SCENARIO(then_dropped, "the continuation of a future that nobody has any more")
{
	sim_stage_init(&stage, 0, 64, 0);
	sim_start(async_then_job, NULL);
	sim_drive(stage.manual);
	sim_require(ran == 1);
	sim_stage_end(&stage);
}

SIM_SCENARIO(then_job, "a job is scheduled once")
{
	begin(0, false);
	sim_start(then_job, NULL);
	sim_start(complete, NULL);
	sim_drive(stage.manual);
	sim_require(ran == 1);
	sim_stage_end(&stage);
}
