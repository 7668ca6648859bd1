/* SPDX-License-Identifier: MIT */
/*
 * Law L4: thread 1 is stopped at each of its steps in turn, and delays nobody, save who needs a
 * resource whose baton it holds.
 */
#include "support.h"

static struct sim_stage stage;
static struct sim_note *const notes = stage.notes;
static struct sim_topic *const topic = &stage.topic;
static struct sim_topic other;
static struct sim_note mine[3];   /* thread 1's */
static struct sim_note theirs[4]; /* of `other` */
static bool ended;                /* thread 2 */

SIM_UNSEEN static void has_ended(void)
{
	ended |= sim_thread() == 2;
}

/* Others submit to the same resource, wait for another one's task. */
static void submit_and_go_on(void *argument)
{
	sim_does_submit_two(argument);
	sim_does_submit(&theirs[0]);
	sim_does_submit_and_wait(&theirs[1]);
	has_ended();
}

SIM_UNSEEN static void nobody_else_is_delayed(void)
{
	sim_not_delayed(topic);
	sim_not_delayed(&other);
	sim_require(ended);
}

/* A stage with `count` queued notes, and from notes[4] on two of the other thread's. */
static void begin(uint32_t limit, unsigned count, void (*frozen)(void *argument), void *argument)
{
	sim_stage_init(&stage, limit, 64, count);
	sim_topic_init(&other, 10, 64, baton_manual_executor(stage.manual));
	for (int i = 0; i < 3; i++)
		sim_note_init(&mine[i], topic, i == 2);
	for (int i = 4; i < 6; i++)
		sim_note_init(&notes[i], topic, false);
	sim_note_init(&theirs[0], &other, false);
	sim_note_init(&theirs[1], &other, true);
	sim_start(frozen, argument);
	sim_start(submit_and_go_on, &notes[4]);
}

static void end(void)
{
	sim_settled(&other);
	sim_topic_close(&other);
	sim_stage_end(&stage);
}

#define FREEZING .bound = 1, .freeze = 1, .frozen = nobody_else_is_delayed

/* ---- Submitters ---- */

static void submit(void *argument)
{
	sim_does_submit_two(mine);
}

SIM_SCENARIO(freeze_submit, "a stopped submitter: capture, push, hand-off", FREEZING)
{
	begin(1, 0, submit, NULL);
	sim_drive(stage.manual);
	end();
}

SIM_SCENARIO(freeze_submit_inline, "a stopped submitter that drains", FREEZING)
{
	begin(10, 0, submit, NULL);
	sim_drive(stage.manual);
	end();
}

SIM_SCENARIO(freeze_submit_later, "a stopped submitter, limit 0", FREEZING)
{
	begin(0, 0, submit, NULL);
	sim_drive(stage.manual);
	end();
}

static void submit_with_future(void *argument)
{
	sim_does_submit(&mine[0]);
	sim_does_submit_and_wait(&mine[2]);
}

SIM_SCENARIO(freeze_submit_future, "a stopped submitter with a future, for which it waits",
             FREEZING)
{
	begin(1, 0, submit_with_future, NULL);
	sim_drive(stage.manual);
	end();
}

static void submit_batch(void *argument)
{
	struct baton_task *const tasks[] = {&mine[0].task, &mine[1].task};

	sim_note_begin(&mine[0]);
	sim_note_begin(&mine[1]);
	sim_require(baton_submit_batch(&topic->resource, tasks, 2) == 0);
	(void)sim_note_end(&mine[0], 0);
	(void)sim_note_end(&mine[1], 0);
}

SIM_SCENARIO(freeze_batch, "a stopped submitter of a batch", FREEZING)
{
	begin(1, 0, submit_batch, NULL);
	sim_drive(stage.manual);
	end();
}

static void post(void *argument)
{
	sim_require(sim_note_post(&mine[0]) == 0);
	sim_require(sim_note_post(&mine[1]) == 0);
}

SIM_SCENARIO(freeze_post, "a stopped thread in post, and at its exit", FREEZING)
{
	begin(1, 0, post, NULL);
	sim_drive(stage.manual);
	end();
}

/* ---- Others ---- */

SIM_SCENARIO(freeze_waiter, "a stopped waiter: it spins, helps, sleeps", FREEZING)
{
	begin(10, 1, sim_does_wait, &notes[0]);
	sim_drive(stage.manual);
	end();
}

SIM_SCENARIO(freeze_waiter_later, "a stopped waiter, limit 0", FREEZING)
{
	begin(0, 1, sim_does_wait, &notes[0]);
	sim_drive(stage.manual);
	end();
}

SIM_SCENARIO(freeze_canceller, "a stopped canceller", FREEZING)
{
	begin(10, 2, sim_does_cancel, &notes[0]);
	sim_drive(stage.manual);
	sim_note_over(&notes[0]);
	sim_note_over(&notes[1]);
	end();
}

static void cancel_all(void *argument)
{
	sim_require(baton_resource_cancel_pending(&topic->resource) == 0);
}

SIM_SCENARIO(freeze_cancel_pending, "a stopped thread in cancel_pending", FREEZING)
{
	begin(10, 1, cancel_all, NULL);
	sim_drive(stage.manual);
	sim_note_over(&notes[0]);
	end();
}

static void await(void *argument)
{
	sim_require(baton_resource_await(&topic->resource, NULL) == 0);
}

SIM_SCENARIO(freeze_awaiter, "a stopped awaiter", FREEZING)
{
	begin(10, 1, await, NULL);
	sim_drive(stage.manual);
	sim_note_over(&notes[0]);
	end();
}

/* ---- Closers: the others' submits may be refused ---- */

static void submit_if_open(void *argument)
{
	struct sim_note *note = argument;
	int status;

	status = sim_note_submit(note);
	sim_require(status == 0 || status == -EPIPE);
	sim_does_submit(&theirs[0]);
	sim_does_submit_and_wait(&theirs[1]);
	has_ended();
}

static void begin_closing(void (*frozen)(void *argument))
{
	sim_stage_init(&stage, 10, 64, 1);
	topic->stays = true;
	sim_topic_init(&other, 10, 64, baton_manual_executor(stage.manual));
	sim_note_init(&notes[1], topic, false);
	sim_note_init(&theirs[0], &other, false);
	sim_note_init(&theirs[1], &other, true);
	sim_start(frozen, NULL);
	sim_start(submit_if_open, &notes[1]);
	sim_drive(stage.manual);
	sim_note_over(&notes[0]);
	sim_settled(&other);
	sim_topic_close(&other);
}

static void close_topic(void *argument)
{
	sim_require(baton_resource_close(&topic->resource) == 0);
}

SIM_SCENARIO(freeze_closer, "a stopped closer", FREEZING)
{
	begin_closing(close_topic);
	sim_stage_end(&stage);
}

static void close_then(void *argument)
{
	sim_require(sim_topic_close_then(topic) == 0);
}

SIM_SCENARIO(freeze_close_then, "a stopped thread in close_then", FREEZING)
{
	begin_closing(close_then);
	sim_stage_end_finalised(&stage);
}

/* ---- Futures ---- */

static struct baton_future promise;
static struct baton_continuation continuation;

static void wait_for_promise(void *argument)
{
	sim_require(baton_future_wait(&promise, NULL) == 0);
	has_ended();
}

SIM_UNSEEN static void waiter_is_not_delayed(void)
{
	sim_require(ended);
}

static void then(void *argument)
{
	sim_note_begin(&mine[0]);
	baton_continuation_task(&continuation, &topic->resource, &mine[0].task);
	baton_future_then(&promise, &continuation);
	(void)sim_note_end(&mine[0], 0);
}

SIM_SCENARIO(freeze_then, "a stopped thread in then", .bound = 1, .freeze = 1,
             .frozen = waiter_is_not_delayed)
{
	sim_stage_init(&stage, 10, 64, 0);
	baton_promise_init(&promise);
	sim_note_init(&mine[0], topic, false);
	sim_start(then, NULL);
	sim_start(wait_for_promise, NULL);
	sim_require(baton_future_complete(&promise, 0, NULL) == 0);
	sim_drive(stage.manual);
	sim_stage_end(&stage);
}

SIM_SCENARIO(freeze_promise_waiter, "a stopped waiter beside another one", .bound = 1, .freeze = 1,
             .frozen = waiter_is_not_delayed)
{
	baton_promise_init(&promise);
	sim_start(wait_for_promise, NULL);
	sim_start(wait_for_promise, NULL);
	sim_require(baton_future_complete(&promise, 0, NULL) == 0);
	sim_join_all();
}

static void unref(void *argument)
{
	baton_future_unref(argument);
}

static void wait_and_unref(void *argument)
{
	sim_require(baton_future_wait(argument, NULL) == 0);
	has_ended();
	baton_future_unref(argument);
}

SIM_UNSEEN static void async_is_not_delayed(void)
{
	sim_not_delayed(topic);
	sim_require(ended);
}

SIM_SCENARIO(freeze_unref, "a stopped thread in unref", .bound = 1, .freeze = 1,
             .frozen = async_is_not_delayed)
{
	struct baton_future *future = NULL;

	sim_stage_init(&stage, 0, 64, 1);
	sim_note_init(&notes[1], topic, false);
	sim_note_begin(&notes[1]);
	sim_require(sim_note_end(&notes[1], baton_async(&topic->resource, sim_note_run, &notes[1],
	                                                &future)) == 0);
	sim_start(unref, baton_future_ref(future));
	sim_start(wait_and_unref, future);
	sim_drive(stage.manual);
	sim_note_over(&notes[0]);
	sim_stage_end(&stage);
}
