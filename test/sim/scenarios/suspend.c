/* SPDX-License-Identifier: MIT */
/*
 * Suspending, resuming, quiescing. While a topic is suspended its suspender writes what
 * otherwise only tasks write: an edge that is missing is a race.
 */
#include "script.h"

#include <baton/manual.h>
#include <baton/suspend.h>

#include "base/atomic.h"

static struct sim_note *const notes = sim_script_stage.notes;
static struct sim_topic *const topic = &sim_script_stage.topic;
static struct baton_suspension suspensions[2];

static void suspended(struct sim_topic *held)
{
	int before = ++held->changes;

	sim_require(!baton_held(&held->resource));
	sim_point();
	sim_require(held->changes == before);
}

SIM_VERB(suspend, SIM_OK)
{
	return baton_resource_suspend(&topic->resource, &suspensions[number]);
}

SIM_VERB(suspend_lower, SIM_OK)
{
	return baton_resource_suspend_lower(&topic->resource, &suspensions[number]);
}

SIM_VERB(resume, SIM_OK)
{
	return baton_resource_resume(&suspensions[number]);
}

SIM_VERB(effective, SIM_OK)
{
	return baton_suspension_wait(&suspensions[number]);
}

SIM_VERB(effective_soon, SIM_OK)
{
	uint64_t deadline = sim_in(1000000000);

	return baton_suspension_wait_until(&suspensions[number], deadline);
}

SIM_VERB(ineffective, SIM_OK)
{
	sim_require(!baton_suspension_is_effective(&suspensions[number]));
	return 0;
}

/* Only the suspender touches what the tasks write. */
SIM_VERB(alone, SIM_OK)
{
	suspended(topic);
	return 0;
}

SIM_VERB(alone_if_effective, SIM_OK)
{
	if (baton_suspension_is_effective(&suspensions[number]))
		suspended(topic);
	return 0;
}

SIM_SCRIPT(suspend_submit, 2, "suspending beside submitters, inline",
           "| A: suspend 0; effective 0; alone; resume 0 | B: submit a b")

SIM_SCRIPT(suspend_submit_future, 2, "the same, of a task with a future",
           "futures a | A: suspend 0; effective 0; alone; resume 0 | B: submit a; wait a")

SIM_SCRIPT(suspend_queued, 1, "a queued resource: the suspender, its executor and a helper",
           "quantum 1; queued a b | A: suspend 0; effective 0; alone; resume 0 | B: wait b")

SIM_SCRIPT(suspend_overtakes, 0, "nothing that was queued before runs, whoever comes to the mark",
           "queued a b; suspend 0 | A: wait b | effective 0; left 2; alone; resume 0")

/* The only thread that drives the executor waits for the wait. */
SIM_SCRIPT(suspend_in_time, 0, "a wait with a deadline obeys the mark, and enters no task",
           "queued a b; suspend 0 | A: effective_soon 0; left 2 | join; alone; resume 0")

SIM_SCRIPT(suspend_later, 1, "limit 0: only the executor's thread comes to the mark",
           "limit 0; quantum 1; queued a b | A: suspend 0; effective 0; alone; resume 0")

SIM_SCRIPT(suspend_twice, 2, "two suspenders have it one after the other",
           "| A: suspend 0; effective 0; alone; resume 0"
           "| B: suspend 1; effective 1; alone; resume 1"
           "| C: submit a")

SIM_SCRIPT(suspend_withdraw, 2, "resumed before or after it has taken effect",
           "| A: suspend 0; alone_if_effective 0; resume 0; ineffective 0 | B: submit a b")

SIM_SCRIPT(suspend_withdraw_queued, 1, "the same, of a queued resource, beside another",
           "queued a b"
           "| A: suspend 0; alone_if_effective 0; resume 0; ineffective 0"
           "| B: suspend 1; alone_if_effective 1; resume 1; ineffective 1")

/* A suspension that was accepted is over, too. */
SIM_VERB(settled, SIM_OK)
{
	sim_require(load_relaxed(&topic->resource._word) == BATON__WORD_CLOSED);
	return 0;
}

SIM_SCRIPT(suspend_close, 1, "a close and an await beside a suspension",
           "queued a b"
           "| A: suspend 0 = ok / closed; effective 0; alone; resume 0"
           "| B: close; await; settled")

static struct baton_task finaliser;
static unsigned finals;

static int count_final(struct baton_task *task)
{
	finals++;
	return sim_verb_settled(NULL, 0);
}

static void one_final(void)
{
	sim_require(finals == 1);
}

SIM_VERB(close_then_settled, SIM_OK)
{
	sim_script_mark(&sim_script_marks.ended);
	sim_script_before_close(one_final);
	baton_task_init(&finaliser, count_final, NULL);
	return baton_resource_close_then(&topic->resource, &finaliser);
}

SIM_SCRIPT(suspend_finalised, 2, "the suspension comes when the finaliser has been postponed",
           "bare"
           "| A: suspend 0 = ok / closed; effective 0; alone; resume 0"
           "| a: close_then_settled"
           "| submit a")

SIM_SCRIPT(suspend_cancel, 1, "cancels, of all and of one task, beside a suspension",
           "queued a b"
           "| A: suspend 0; effective 0; alone; resume 0"
           "| B: cancel_all; cancel b")

SIM_SCRIPT(suspend_order, 2, "two suspensions take effect in their order, beside cancels that look",
           "queued a b"
           "| A: suspend 0 1; effective 0; ineffective 1; resume 0; effective 1; alone; resume 1"
           "| B: cancel_all; cancel b")

/* ---- From inside ---- */

SIM_SCRIPT(suspend_inside, 2, "a task suspends its resource, another thread resumes it",
           "| a: suspend 0; ineffective 0; effective 0 = deadlock; start B"
           "| B: effective 0; alone; resume 0"
           "| A: submit a b")

/* The last task, and one that others follow; what ends the resource waits for the resume. */
SIM_SCRIPT(suspend_closed, 2, "a task of a closed resource suspends it: the await waits",
           "queued a b"
           "| a: close; start A; suspend 0; ineffective 0; start B"
           "| B: effective 0; left 1; alone; resume 0"
           "| A: await; settled")

SIM_SCRIPT(suspend_closed_last, 2, "the same, by the last task, which closes; and the finaliser",
           "bare"
           "| a: close_then_settled; suspend 0; ineffective 0; start B"
           "| B: effective 0; alone; resume 0"
           "| submit a")

SIM_SCRIPT(suspend_closed_beside, 1, "the same, beside a close by another thread",
           "bare"
           "| a: suspend 0; start B"
           "| B: effective 0; alone; resume 0"
           "| C: close_then_settled"
           "| submit a = ok / closed")

/* Task b was submitted before the suspension, and has not run. */
SIM_SCRIPT(suspend_overtakes_inbox, 1, "the mark overtakes a task that is in the inbox, too",
           "| a: submit b; suspend 0; start B"
           "| B: effective 0; left 1; alone; resume 0"
           "| A: submit a")

/* ---- Quiescing ---- */

static struct sim_topic others[2];
static int results[2];

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

	sim_require(baton_quiesce(first ? forth : back, count, held) == 0);
	sim_require(others[0].changes == others[1].changes);
	suspended(&others[0]);
	suspended(&others[1]);
	sim_require(baton_quiesce_end(held, count) == 0);
	*result = 1;
}

static void begin_quiesce(void)
{
	sim_require(baton_manual_create(&sim_script_stage.manual) == 0);
	for (int i = 0; i < 2; i++)
		sim_topic_init(&others[i], 10, 64, baton_manual_executor(sim_script_stage.manual));
}

static void end_quiesce(void)
{
	sim_drive(sim_script_stage.manual);
	for (int i = 0; i < 2; i++)
		sim_settled(&others[i]);
	for (int i = 0; i < 2; i++)
		sim_topic_close(&others[i]);
	baton_manual_destroy(sim_script_stage.manual);
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
	uint64_t deadline = sim_in(3000);
	int status = baton_quiesce_until(both, 2, held, deadline);

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
