/* SPDX-License-Identifier: MIT */
/* Closing a resource beside submitters: awaits end, the finaliser runs once and last. */
#include "support.h"

static struct sim_stage stage;
static struct sim_note *const notes = stage.notes;
static struct sim_topic *const topic = &stage.topic;
static int results[2];

static void submit_if_open(void *argument)
{
	int status = sim_note_submit(argument);

	sim_require(status == 0 || status == -EPIPE);
}

static void close_topic(void *argument)
{
	int *result = argument;

	*result = baton_resource_close(&topic->resource);
}

static void close_and_await(void *argument)
{
	sim_topic_close(topic);
}

static void close_then(void *argument)
{
	int *result = argument;

	*result = sim_topic_close_then(topic);
}

static void await(void *argument)
{
	sim_require(baton_resource_await(&topic->resource, NULL) == 0);
}

SIM_SCENARIO(close_submit, "beside a close a submit is refused, or its task runs")
{
	sim_stage_init(&stage, 1, 64, 0);
	for (int i = 0; i < 2; i++) {
		sim_note_init(&notes[i], topic, i == 1);
		sim_start(submit_if_open, &notes[i]);
	}
	sim_start(close_topic, &results[0]);
	sim_drive(stage.manual);
	if (notes[1].fate == SIM_RAN)
		sim_note_over(&notes[1]);
	sim_stage_end(&stage);
}

static void cancel_pending(void *argument)
{
	sim_require(baton_resource_cancel_pending(&topic->resource) == 0);
}

SIM_SCENARIO(close_cancel_pending, "a cancel mark beside a close does not open it again")
{
	sim_stage_init(&stage, 10, 64, 1);
	sim_start(cancel_pending, NULL);
	sim_start(close_topic, &results[0]);
	sim_drive(stage.manual);
	sim_require(baton_resource_close(&topic->resource) == -EALREADY);
	sim_note_over(&notes[0]);
	sim_stage_end(&stage);
}

SIM_SCENARIO(close_twice, "one of two closers")
{
	sim_stage_init(&stage, 10, 64, 1);
	sim_start(close_topic, &results[0]);
	sim_start(close_topic, &results[1]);
	sim_drive(stage.manual);
	sim_require((results[0] == 0) + (results[1] == 0) == 1);
	sim_note_over(&notes[0]);
	sim_stage_end(&stage);
}

SIM_SCENARIO(close_await_run, "close and await beside the runner; then the memory is the owner's")
{
	sim_stage_init(&stage, 10, 1, 2);
	sim_start(close_and_await, NULL);
	sim_drive(stage.manual);
	sim_note_over(&notes[0]);
	sim_note_over(&notes[1]);
	baton_manual_destroy(stage.manual);
	sim_no_leaks();
}

static bool told[2];

static void asks(struct sim_note *note)
{
	*(bool *)note->argument = baton_should_yield();
}

SIM_SCENARIO(close_await_yield, "a task asks whether it should yield, beside close and await")
{
	sim_stage_init(&stage, 10, 64, 2);
	for (int i = 0; i < 2; i++) {
		notes[i].body = asks;
		notes[i].argument = &told[i];
	}
	sim_start(close_and_await, NULL);
	sim_drive(stage.manual);
	sim_require(told[0] && !told[1]);
	sim_note_over(&notes[0]);
	sim_note_over(&notes[1]);
	baton_manual_destroy(stage.manual);
	sim_no_leaks();
}

/* Whoever is a visitor when await returns has not touched the resource since. */
SIM_SCENARIO(close_await_visitor, "close and await beside a helper", .bound = 1)
{
	sim_stage_init(&stage, 10, 64, 2);
	sim_start(close_and_await, NULL);
	sim_start(sim_does_wait, &notes[0]);
	sim_drive(stage.manual);
	sim_note_over(&notes[1]);
	baton_manual_destroy(stage.manual);
	sim_no_leaks();
}

SIM_SCENARIO(close_await_canceller, "close and await beside a canceller", .bound = 1)
{
	sim_stage_init(&stage, 10, 64, 2);
	sim_start(close_and_await, NULL);
	sim_start(sim_does_cancel, &notes[0]);
	sim_drive(stage.manual);
	sim_note_over(&notes[0]);
	sim_note_over(&notes[1]);
	baton_manual_destroy(stage.manual);
	sim_no_leaks();
}

SIM_SCENARIO(await_submit, "an awaiter beside submitters, inline", .bound = 1)
{
	sim_stage_init(&stage, 10, 64, 0);
	sim_note_init(&notes[0], topic, false);
	sim_note_init(&notes[1], topic, false);
	sim_start(sim_does_submit, &notes[0]);
	sim_start(sim_does_submit, &notes[1]);
	sim_start(await, NULL);
	sim_drive(stage.manual);
	sim_stage_end(&stage);
}

static void submit_and_await(void *argument)
{
	sim_does_submit(argument);
	await(NULL);
	sim_require(notes[0].fate == SIM_RAN);
}

SIM_SCENARIO(await_own, "await waits for what its caller has submitted", .bound = 1)
{
	sim_stage_init(&stage, 1, 64, 0);
	for (int i = 0; i < 3; i++)
		sim_note_init(&notes[i], topic, false);
	sim_start(submit_and_await, &notes[0]);
	sim_start(sim_does_submit_two, &notes[1]);
	sim_drive(stage.manual);
	sim_stage_end(&stage);
}

SIM_SCENARIO(await_twice, "two awaiters of a queued resource", .bound = 1)
{
	sim_stage_init(&stage, 10, 64, 1);
	sim_start(await, NULL);
	sim_start(await, NULL);
	sim_drive(stage.manual);
	sim_note_over(&notes[0]);
	sim_stage_end(&stage);
}

static void await_in_time(void *argument)
{
	struct timespec deadline = sim_in(3000);
	int status = baton_resource_await(&topic->resource, &deadline);

	sim_require(status == 0 || status == -ETIMEDOUT);
}

SIM_SCENARIO(await_deadline, "an await that times out leaves nothing behind")
{
	sim_stage_init(&stage, 10, 64, 1);
	sim_start(await_in_time, NULL);
	sim_drive(stage.manual);
	sim_note_over(&notes[0]);
	sim_stage_end(&stage);
}

SIM_SCENARIO(await_closed_deadline, "an await on a closed resource, behind those that timed out",
             .bound = 1)
{
	sim_stage_init(&stage, 10, 64, 1);
	sim_require(baton_resource_close(&topic->resource) == 0);
	sim_start(await_in_time, NULL);
	sim_start(await_in_time, NULL);
	sim_start(await, NULL);
	sim_drive(stage.manual);
	sim_note_over(&notes[0]);
	sim_stage_end(&stage);
}

/* ---- Finalisers ---- */

SIM_SCENARIO(close_then_submit, "beside close_then a submit is refused, or runs before it",
             .bound = 1)
{
	sim_stage_init(&stage, 1, 64, 0);
	topic->stays = true;
	for (int i = 0; i < 2; i++) {
		sim_note_init(&notes[i], topic, i == 1);
		sim_start(submit_if_open, &notes[i]);
	}
	sim_start(close_then, &results[0]);
	sim_drive(stage.manual);
	if (notes[1].fate == SIM_RAN)
		sim_note_over(&notes[1]);
	sim_stage_end_finalised(&stage);
}

static struct baton_task finalisers[2];
static unsigned finals;

static int count_final(struct baton_task *task)
{
	finals++;
	sim_retire(task, sizeof(*task));
	sim_retire(&topic->resource, sizeof(topic->resource));
	return 0;
}

static void close_then_count(void *argument)
{
	struct baton_task *finaliser = argument;

	baton_task_init(finaliser, count_final, NULL);
	results[finaliser - finalisers] = baton_resource_close_then(&topic->resource, finaliser);
}

static void ends_twice(struct sim_note *note)
{
	close_then_count(&finalisers[0]);
	close_then_count(&finalisers[1]);
}

SIM_SCENARIO(close_then_twice, "one of two finalisers", .bound = 1)
{
	sim_stage_init(&stage, 10, 64, 1);
	/* Neither has to fear that the other's finaliser frees what it closes. */
	notes[0].body = ends_twice;
	sim_start(sim_does_wait, &notes[0]);
	sim_drive(stage.manual);
	sim_require(results[0] == 0 && results[1] == -EALREADY && finals == 1);
	baton_manual_destroy(stage.manual);
	sim_no_leaks();
}

static void close_then_race(void *argument)
{
	int *result = argument;

	baton_task_init(&finalisers[result - results], count_final, NULL);
	*result = baton_resource_close_then(&topic->resource, &finalisers[result - results]);
}

static void holds(struct sim_note *note)
{
	sim_start(close_then_race, &results[0]);
	sim_start(close_then_race, &results[1]);
	sim_join_all();
}

SIM_SCENARIO(close_then_race, "one of two finalisers, from two threads, while a task runs")
{
	sim_topic_init(topic, 10, 64, NULL);
	sim_note_init(&notes[0], topic, false);
	notes[0].body = holds;
	sim_does_submit(&notes[0]);
	sim_require((results[0] == 0) + (results[1] == 0) == 1 && finals == 1);
	sim_require(results[0] + results[1] == -EALREADY);
	sim_no_leaks();
}

static void ends_itself(struct sim_note *note)
{
	sim_require(sim_topic_close_then(note->topic) == 0);
}

SIM_SCENARIO(close_then_inside, "a task ends its own resource, beside one that is submitted")
{
	sim_stage_init(&stage, 10, 64, 0);
	topic->stays = true;
	sim_note_init(&notes[0], topic, false);
	sim_note_init(&notes[1], topic, false);
	notes[0].body = ends_itself;
	sim_start(submit_if_open, &notes[0]);
	sim_start(submit_if_open, &notes[1]);
	sim_drive(stage.manual);
	sim_stage_end_finalised(&stage);
}

SIM_SCENARIO(close_then_inside_waiter, "the same, queued, beside one who waits", .bound = 1)
{
	sim_stage_init(&stage, 10, 1, 2);
	notes[0].body = ends_itself;
	sim_start(sim_does_wait, &notes[1]);
	sim_drive(stage.manual);
	sim_note_over(&notes[0]);
	sim_stage_end_finalised(&stage);
}

SIM_SCENARIO(close_then_await, "an awaiter on a resource with a finaliser goes first", .bound = 1)
{
	sim_stage_init(&stage, 10, 64, 1);
	topic->stays = true;
	sim_start(await, NULL);
	sim_start(close_then, &results[0]);
	sim_drive(stage.manual);
	sim_note_over(&notes[0]);
	sim_stage_end_finalised(&stage);
}
