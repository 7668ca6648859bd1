/* SPDX-License-Identifier: MIT */
/*
 * The library's tasks and futures: post, async, call; their nodes, which go home.
 */
#include "support.h"

static struct sim_stage stage;
static struct sim_note *const notes = stage.notes;
static struct sim_topic *const topic = &stage.topic;
static struct baton_future *futures[2];

static void init(unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		sim_note_init(&notes[i], topic, false);
}

static void post(void *argument)
{
	sim_require(sim_note_post(argument) == 0);
}

static void post_two(void *argument)
{
	struct sim_note *note = argument;

	post(&note[0]);
	post(&note[1]);
}

SIM_SCENARIO(post_2, "two threads post; each frees nodes of the other's")
{
	sim_stage_init(&stage, 10, 64, 0);
	init(4);
	sim_start(post_two, &notes[0]);
	sim_start(post_two, &notes[2]);
	sim_drive(stage.manual);
	sim_stage_end(&stage);
}

SIM_SCENARIO(post_later, "limit 0: nodes go home from the executor's thread")
{
	sim_stage_init(&stage, 0, 64, 0);
	init(4);
	sim_start(post_two, &notes[0]);
	sim_start(post_two, &notes[2]);
	sim_drive(stage.manual);
	sim_stage_end(&stage);
}

static void post_four(void *argument)
{
	post_two(&notes[0]);
	post_two(&notes[2]);
}

SIM_SCENARIO(post_alloc, "a node comes back while its owner allocates the next")
{
	sim_stage_init(&stage, 0, 64, 0);
	init(4);
	sim_start(post_four, NULL);
	sim_drive(stage.manual);
	sim_stage_end(&stage);
}

SIM_SCENARIO(post_adopted, "a record is adopted while nodes still come home to it")
{
	unsigned first;

	sim_stage_init(&stage, 0, 64, 0);
	init(4);
	first = sim_start(post_two, &notes[0]);
	sim_start(post, &notes[3]);
	while (!baton_manual_run_one(stage.manual))
		sim_yield();
	sim_join(first);
	sim_start(post, &notes[2]);
	sim_drive(stage.manual);
	sim_stage_end(&stage);
}

static void cancel_all(void *argument)
{
	int status = baton_resource_cancel_pending(&topic->resource);

	sim_require(status == 0 || status == -ENOMEM);
}

static void *count_up(void *argument)
{
	unsigned *count = argument;

	++*count;
	return NULL;
}

static void post_counted(void *argument)
{
	sim_require(baton_post(&topic->resource, count_up, argument) == 0);
}

static unsigned count;

SIM_SCENARIO(post_cancelled, "a cancelled post frees its node", .bound = 1)
{
	sim_stage_init(&stage, 0, 64, 0);
	sim_start(post_counted, &count);
	sim_start(post_counted, &count);
	sim_start(cancel_all, NULL);
	sim_drive(stage.manual);
	sim_require(count <= 2);
	sim_stage_end(&stage);
}

/* ---- async ---- */

static void async_and_wait(void *argument)
{
	struct sim_note *note = argument;
	struct baton_future *future = NULL;

	sim_note_begin(note);
	sim_require(sim_note_end(note,
	                         baton_async(&topic->resource, sim_note_run, note, &future)) == 0);
	sim_require(baton_future_wait(future, NULL) == 0);
	sim_require(baton_future_value(future) == note);
	baton_future_unref(future);
}

SIM_SCENARIO(async_2, "two threads wait for futures of the library's", .bound = 1)
{
	sim_stage_init(&stage, 1, 64, 0);
	init(2);
	sim_start(async_and_wait, &notes[0]);
	sim_start(async_and_wait, &notes[1]);
	sim_drive(stage.manual);
	sim_stage_end(&stage);
}

static void unref(void *argument)
{
	baton_future_unref(argument);
}

static void wait_and_unref(void *argument)
{
	sim_require(baton_future_wait(argument, NULL) == 0);
	sim_require(baton_future_value(argument) == &notes[0]);
	baton_future_unref(argument);
}

static void cancel_and_unref(void *argument)
{
	int status = baton_future_cancel(argument);

	sim_require(status == 0 || status == -EALREADY || status == -EINPROGRESS);
	baton_future_unref(argument);
}

/* A queued task of the library's: a reference of this thread's. */
static void begin_async(uint32_t limit)
{
	sim_stage_init(&stage, limit, 64, 0);
	init(2);
	/* Busy: it does not run at once. */
	sim_require(sim_note_submit_later(&notes[1]) == 0);
	sim_note_begin(&notes[0]);
	sim_require(sim_note_end(&notes[0], baton_async(&topic->resource, sim_note_run, &notes[0],
	                                                &futures[0])) == 0);
}

SIM_SCENARIO(async_dropped, "the last reference goes beside the completion: freed once")
{
	begin_async(10);
	sim_start(unref, futures[0]);
	sim_drive(stage.manual);
	sim_stage_end(&stage);
}

SIM_SCENARIO(async_ref, "a waiter's reference and another's, beside the completion", .bound = 1)
{
	begin_async(10);
	sim_start(unref, baton_future_ref(futures[0]));
	sim_start(wait_and_unref, futures[0]);
	sim_drive(stage.manual);
	sim_stage_end(&stage);
}

SIM_SCENARIO(async_cancel, "cancelled and dropped, beside a reference that goes")
{
	begin_async(10);
	topic->note_count = 0; /* notes[0] runs or does not */
	sim_start(cancel_and_unref, baton_future_ref(futures[0]));
	sim_start(unref, futures[0]);
	sim_drive(stage.manual);
	sim_stage_end(&stage);
}

/* ---- call ---- */

static void call(void *argument)
{
	sim_require(sim_note_call(argument) == 0);
}

static void try_call(void *argument)
{
	struct sim_note *note = argument;
	int status;

	sim_note_begin(note);
	status = sim_note_end(note, baton_try_call(&topic->resource, sim_note_run, note, NULL));
	sim_require(status == 0 || status == -EAGAIN);
}

SIM_SCENARIO(call_2, "two callers, each has its value", .bound = 1)
{
	sim_stage_init(&stage, 1, 64, 0);
	init(3);
	sim_start(call, &notes[0]);
	sim_start(call, &notes[1]);
	sim_drive(stage.manual);
	sim_stage_end(&stage);
}

SIM_SCENARIO(call_try, "try_call runs its function at once, or not at all")
{
	sim_stage_init(&stage, 10, 64, 0);
	init(3);
	sim_start(try_call, &notes[0]);
	sim_start(try_call, &notes[1]);
	sim_start(sim_does_submit, &notes[2]);
	sim_drive(stage.manual);
	sim_stage_end(&stage);
}

static void call_or_cancelled(void *argument)
{
	int status = sim_note_call(argument);

	sim_require(status == 0 || status == -ECANCELED);
}

SIM_SCENARIO(call_cancelled, "a waiting call that cancel_pending meets", .bound = 1)
{
	sim_stage_init(&stage, 1, 64, 0);
	init(2);
	sim_start(call_or_cancelled, &notes[0]);
	sim_start(sim_does_submit, &notes[1]);
	sim_start(cancel_all, NULL);
	sim_drive(stage.manual);
	sim_stage_end(&stage);
}

static void call_closed(void *argument)
{
	int status = sim_note_call(argument);

	sim_require(status == 0 || status == -EPIPE);
}

static void close_topic(void *argument)
{
	sim_require(baton_resource_close(&topic->resource) == 0);
}

SIM_SCENARIO(call_close, "a call beside a close", .bound = 1)
{
	sim_stage_init(&stage, 1, 64, 0);
	init(2);
	sim_start(call_closed, &notes[0]);
	sim_start(call_closed, &notes[1]);
	sim_start(close_topic, NULL);
	sim_drive(stage.manual);
	sim_stage_end(&stage);
}

/* ---- No memory ---- */

static void post_without_memory(void *argument)
{
	struct sim_note *note = argument;
	int status;

	sim_fail_allocation(1 + sim_pick(3));
	status = sim_note_post(note);
	sim_fail_allocation(0);
	sim_require(status == 0 || status == -ENOMEM);
}

static void wait_without_memory(void *argument)
{
	struct sim_note *note = argument;
	int status;

	sim_fail_allocation(1);
	status = baton_future_wait(&note->future, NULL);
	sim_fail_allocation(0);
	sim_require(status == 0 || status == -ENOMEM);
}

SIM_SCENARIO(post_no_memory, "an allocation fails: the function has not run", .bound = 1)
{
	sim_stage_init(&stage, 0, 64, 0);
	init(2);
	sim_start(post_without_memory, &notes[0]);
	sim_start(post_without_memory, &notes[1]);
	sim_drive(stage.manual);
	sim_stage_end(&stage);
}

SIM_SCENARIO(wait_no_memory, "a waiter without memory for its record delays nobody", .bound = 1)
{
	sim_stage_init(&stage, 10, 64, 1);
	sim_start(wait_without_memory, &notes[0]);
	sim_drive(stage.manual);
	sim_note_over(&notes[0]);
	sim_stage_end(&stage);
}
