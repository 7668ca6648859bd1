/* SPDX-License-Identifier: MIT */
/*
 * Suspending, resuming, quiescing. While a topic is suspended its suspender writes what
 * otherwise only tasks write: an edge that is missing is a race.
 */
#include "support.h"

#include <baton/suspend.h>

#include "base/atomic.h"

static struct sim_stage stage;
static struct sim_note *const notes = stage.notes;
static struct sim_topic *const topic = &stage.topic;
static struct baton_suspension suspensions[2];
static struct sim_topic others[2];
static int results[2];

static void suspended(struct sim_topic *held)
{
	int before = ++held->changes;

	sim_require(!baton_held(&held->resource));
	sim_point();
	sim_require(held->changes == before);
}

static void suspend_wait_resume(void *argument)
{
	struct baton_suspension *suspension = argument;

	sim_require(baton_resource_suspend(&topic->resource, suspension) == 0);
	sim_require(baton_suspension_wait(suspension, NULL) == 0);
	suspended(topic);
	sim_require(baton_resource_resume(suspension) == 0);
}

SIM_SCENARIO(suspend_submit, "suspending beside submitters, inline", .bound = 2)
{
	sim_stage_init(&stage, 10, 64, 0);
	sim_note_init(&notes[0], topic, false);
	sim_note_init(&notes[1], topic, false);
	sim_start(suspend_wait_resume, &suspensions[0]);
	sim_start(sim_does_submit_two, &notes[0]);
	sim_drive(stage.manual);
	sim_stage_end(&stage);
}

SIM_SCENARIO(suspend_submit_future, "the same, of a task with a future", .bound = 2)
{
	sim_stage_init(&stage, 10, 64, 0);
	sim_note_init(&notes[0], topic, true);
	sim_start(suspend_wait_resume, &suspensions[0]);
	sim_start(sim_does_submit_and_wait, &notes[0]);
	sim_drive(stage.manual);
	sim_stage_end(&stage);
}

SIM_SCENARIO(suspend_queued, "a queued resource: the suspender, its executor and a helper",
             .bound = 1)
{
	sim_stage_init(&stage, 10, 1, 2);
	sim_start(suspend_wait_resume, &suspensions[0]);
	sim_start(sim_does_wait, &notes[1]);
	sim_drive(stage.manual);
	sim_note_over(&notes[0]);
	sim_stage_end(&stage);
}

SIM_SCENARIO(suspend_overtakes, "nothing that was queued before runs, whoever comes to the mark")
{
	sim_stage_init(&stage, 10, 64, 2);
	sim_require(baton_resource_suspend(&topic->resource, &suspensions[0]) == 0);
	sim_start(sim_does_wait, &notes[1]);
	sim_require(baton_suspension_wait(&suspensions[0], NULL) == 0);
	sim_require(sim_left(topic, SIM_THREADS_MAX) == 2);
	suspended(topic);
	sim_require(baton_resource_resume(&suspensions[0]) == 0);
	sim_drive(stage.manual);
	sim_note_over(&notes[0]);
	sim_stage_end(&stage);
}

static void wait_in_time(void *none)
{
	struct timespec deadline = sim_in(1000000000);

	sim_require(baton_suspension_wait(&suspensions[0], &deadline) == 0);
	sim_require(sim_left(topic, SIM_THREADS_MAX) == 2);
}

SIM_SCENARIO(suspend_in_time, "a wait with a deadline obeys the mark, and enters no task")
{
	sim_stage_init(&stage, 10, 64, 2);
	sim_require(baton_resource_suspend(&topic->resource, &suspensions[0]) == 0);
	/* The only thread that drives the executor waits for the wait. */
	sim_join(sim_start(wait_in_time, NULL));
	suspended(topic);
	sim_require(baton_resource_resume(&suspensions[0]) == 0);
	sim_drive(stage.manual);
	sim_note_over(&notes[0]);
	sim_stage_end(&stage);
}

SIM_SCENARIO(suspend_later, "limit 0: only the executor's thread comes to the mark", .bound = 1)
{
	sim_stage_init(&stage, 0, 1, 2);
	sim_start(suspend_wait_resume, &suspensions[0]);
	sim_drive(stage.manual);
	sim_note_over(&notes[0]);
	sim_note_over(&notes[1]);
	sim_stage_end(&stage);
}

SIM_SCENARIO(suspend_twice, "two suspenders have it one after the other", .bound = 2)
{
	sim_stage_init(&stage, 10, 64, 0);
	sim_note_init(&notes[0], topic, false);
	sim_start(suspend_wait_resume, &suspensions[0]);
	sim_start(suspend_wait_resume, &suspensions[1]);
	sim_start(sim_does_submit, &notes[0]);
	sim_drive(stage.manual);
	sim_stage_end(&stage);
}

/* Perhaps before it has taken effect. */
static void suspend_resume(void *argument)
{
	struct baton_suspension *suspension = argument;

	sim_require(baton_resource_suspend(&topic->resource, suspension) == 0);
	if (baton_suspension_is_effective(suspension))
		suspended(topic);
	sim_require(baton_resource_resume(suspension) == 0);
	sim_require(!baton_suspension_is_effective(suspension));
}

SIM_SCENARIO(suspend_withdraw, "resumed before or after it has taken effect", .bound = 2)
{
	sim_stage_init(&stage, 10, 64, 0);
	sim_note_init(&notes[0], topic, false);
	sim_note_init(&notes[1], topic, false);
	sim_start(suspend_resume, &suspensions[0]);
	sim_start(sim_does_submit_two, &notes[0]);
	sim_drive(stage.manual);
	sim_stage_end(&stage);
}

SIM_SCENARIO(suspend_withdraw_queued, "the same, of a queued resource, beside another", .bound = 1)
{
	sim_stage_init(&stage, 10, 64, 2);
	sim_start(suspend_resume, &suspensions[0]);
	sim_start(suspend_resume, &suspensions[1]);
	sim_drive(stage.manual);
	sim_note_over(&notes[0]);
	sim_note_over(&notes[1]);
	sim_stage_end(&stage);
}

static void close_and_await(void *argument)
{
	(void)baton_resource_close(&topic->resource);
	sim_require(baton_resource_await(&topic->resource, NULL) == 0);
	/* A suspension that was accepted is over, too. */
	sim_require(load_relaxed(&topic->resource._word) == BATON__WORD_CLOSED);
}

static void suspend_if_open(void *argument)
{
	struct baton_suspension *suspension = argument;
	int status = baton_resource_suspend(&topic->resource, suspension);

	sim_require(status == 0 || status == -EPIPE);
	if (status)
		return;
	sim_require(baton_suspension_wait(suspension, NULL) == 0);
	suspended(topic);
	sim_require(baton_resource_resume(suspension) == 0);
}

SIM_SCENARIO(suspend_close, "a close and an await beside a suspension", .bound = 1)
{
	sim_stage_init(&stage, 10, 64, 2);
	sim_start(suspend_if_open, &suspensions[0]);
	sim_start(close_and_await, NULL);
	sim_drive(stage.manual);
	sim_note_over(&notes[0]);
	sim_note_over(&notes[1]);
	sim_stage_end(&stage);
}

static struct baton_task finaliser;
static unsigned finals;

static int count_final(struct baton_task *task)
{
	finals++;
	/* An accepted suspension is over. */
	sim_require(load_relaxed(&topic->resource._word) == BATON__WORD_CLOSED);
	return 0;
}

static void closes_then(struct sim_note *note)
{
	baton_task_init(&finaliser, count_final, NULL);
	sim_require(baton_resource_close_then(&note->topic->resource, &finaliser) == 0);
}

SIM_SCENARIO(suspend_finalised, "the suspension comes when the finaliser has been postponed",
             .bound = 2)
{
	sim_topic_init(topic, 10, 64, NULL);
	sim_note_init(&notes[0], topic, false);
	notes[0].body = closes_then;
	sim_start(suspend_if_open, &suspensions[0]);
	sim_does_submit(&notes[0]);
	sim_join_all();
	sim_require(finals == 1);
	sim_settled(topic);
	sim_no_leaks();
}

static void cancel_all(void *argument)
{
	sim_require(baton_resource_cancel_pending(&topic->resource) == 0);
	(void)sim_note_cancel(&notes[1]);
}

SIM_SCENARIO(suspend_cancel, "cancels, of all and of one task, beside a suspension", .bound = 1)
{
	sim_stage_init(&stage, 10, 64, 2);
	sim_start(suspend_wait_resume, &suspensions[0]);
	sim_start(cancel_all, NULL);
	sim_drive(stage.manual);
	sim_note_over(&notes[0]);
	sim_note_over(&notes[1]);
	sim_stage_end(&stage);
}

static void suspend_in_order(void *argument)
{
	for (int i = 0; i < 2; i++)
		sim_require(baton_resource_suspend(&topic->resource, &suspensions[i]) == 0);
	sim_require(baton_suspension_wait(&suspensions[0], NULL) == 0);
	sim_require(!baton_suspension_is_effective(&suspensions[1]));
	sim_require(baton_resource_resume(&suspensions[0]) == 0);
	sim_require(baton_suspension_wait(&suspensions[1], NULL) == 0);
	suspended(topic);
	sim_require(baton_resource_resume(&suspensions[1]) == 0);
}

SIM_SCENARIO(suspend_order, "two suspensions take effect in their order, beside cancels that look",
             .bound = 2)
{
	sim_stage_init(&stage, 10, 64, 2);
	sim_start(suspend_in_order, NULL);
	sim_start(cancel_all, NULL);
	sim_drive(stage.manual);
	sim_note_over(&notes[0]);
	sim_note_over(&notes[1]);
	sim_stage_end(&stage);
}

/* ---- From inside ---- */

static void wait_and_resume(void *argument)
{
	sim_require(baton_suspension_wait(argument, NULL) == 0);
	suspended(topic);
	sim_require(baton_resource_resume(argument) == 0);
}

static void suspends(struct sim_note *note)
{
	sim_require(baton_resource_suspend(&note->topic->resource, &suspensions[0]) == 0);
	sim_require(!baton_suspension_is_effective(&suspensions[0]));
	sim_require(baton_suspension_wait(&suspensions[0], NULL) == -EDEADLK);
	sim_start(wait_and_resume, &suspensions[0]);
}

SIM_SCENARIO(suspend_inside, "a task suspends its resource, another thread resumes it", .bound = 2)
{
	sim_stage_init(&stage, 10, 64, 0);
	sim_note_init(&notes[0], topic, false);
	sim_note_init(&notes[1], topic, false);
	notes[0].body = suspends;
	sim_start(sim_does_submit_two, &notes[0]);
	sim_drive(stage.manual);
	sim_stage_end(&stage);
}

/* The task that was submitted before the suspension, and has not run. */
static void wait_before_task(void *argument)
{
	sim_require(baton_suspension_wait(argument, NULL) == 0);
	sim_require(sim_left(topic, SIM_THREADS_MAX) == 1);
	suspended(topic);
	sim_require(baton_resource_resume(argument) == 0);
}

static void submits_and_suspends(struct sim_note *note)
{
	sim_require(sim_note_submit(&notes[1]) == 0);
	sim_require(baton_resource_suspend(&note->topic->resource, &suspensions[0]) == 0);
	sim_start(wait_before_task, &suspensions[0]);
}

SIM_SCENARIO(suspend_overtakes_inbox, "the mark overtakes a task that is in the inbox, too",
             .bound = 1)
{
	sim_stage_init(&stage, 10, 64, 0);
	sim_note_init(&notes[0], topic, false);
	sim_note_init(&notes[1], topic, false);
	notes[0].body = submits_and_suspends;
	sim_start(sim_does_submit, &notes[0]);
	sim_drive(stage.manual);
	sim_stage_end(&stage);
}

/* ---- Quiescing ---- */

static void quiesce(void *argument)
{
	int *result = argument;
	struct baton_suspension held[3];
	/* Against each other's order. */
	struct baton_resource *forth[] = {&others[0].resource, &others[1].resource,
	                                  &others[0].resource};
	struct baton_resource *back[] = {&others[1].resource, &others[0].resource};
	bool first = result == &results[0];
	size_t count = first ? 3 : 2;

	sim_require(baton_quiesce(first ? forth : back, count, held, NULL) == 0);
	sim_require(others[0].changes == others[1].changes);
	suspended(&others[0]);
	suspended(&others[1]);
	sim_require(baton_quiesce_end(held, count) == 0);
	*result = 1;
}

static void begin_quiesce(void)
{
	sim_require(baton_manual_create(&stage.manual) == 0);
	for (int i = 0; i < 2; i++)
		sim_topic_init(&others[i], 10, 64, baton_manual_executor(stage.manual));
}

static void end_quiesce(void)
{
	sim_drive(stage.manual);
	for (int i = 0; i < 2; i++)
		sim_settled(&others[i]);
	for (int i = 0; i < 2; i++)
		sim_topic_close(&others[i]);
	baton_manual_destroy(stage.manual);
	sim_no_leaks();
}

SIM_SCENARIO(quiesce_two, "two overlapping quiesces", .bound = 1)
{
	begin_quiesce();
	sim_start(quiesce, &results[0]);
	sim_start(quiesce, &results[1]);
	end_quiesce();
	sim_require(results[0] && results[1]);
}

/* A task that changes both: the second one by a nested submit. */
static void changes_both(struct sim_note *note)
{
	sim_require(sim_note_submit(&notes[1]) == 0);
}

static void quiesce_in_time(void *argument)
{
	struct baton_resource *both[] = {&others[0].resource, &others[1].resource};
	struct baton_suspension held[2];
	struct timespec deadline = sim_in(3000);
	int status = baton_quiesce(both, 2, held, &deadline);

	sim_require(status == 0 || status == -ETIMEDOUT);
	if (status)
		return;
	suspended(&others[0]);
	suspended(&others[1]);
	sim_require(baton_quiesce_end(held, 2) == 0);
}

SIM_SCENARIO(quiesce_deadline, "a quiesce in time or not, beside tasks of both", .bound = 1)
{
	begin_quiesce();
	sim_note_init(&notes[0], &others[0], false);
	sim_note_init(&notes[1], &others[1], false);
	notes[0].body = changes_both;
	sim_start(quiesce_in_time, NULL);
	sim_start(sim_does_submit, &notes[0]);
	end_quiesce();
}
