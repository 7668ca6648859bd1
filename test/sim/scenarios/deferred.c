/* SPDX-License-Identifier: MIT */
/*
 * Waits for a resource whose job no executor has taken, so that the job lies in the deferred list
 * of a thread, which waits, too. The first thread's task of `outer` has resumed `inner`.
 */
#include "support.h"

#include <baton/suspend.h>

#include "base/atomic.h"
#include "module/shelf.h"

static struct sim_topic outer;
static struct sim_topic inner;
static struct sim_note notes[3];
static uint32_t begun;

/* An executor that has ended, and whose threads need no help. */
static int refuse(struct baton_executor *executor, struct baton_job *job)
{
	(void)executor;
	(void)job;
	return -ESHUTDOWN;
}

static int need_no_help(struct baton_executor *executor)
{
	(void)executor;
	return 0;
}

static const struct baton_executor_ops ended_ops = {.schedule = refuse, .returned = need_no_help};
static struct baton_executor ended = BATON_EXECUTOR_INIT(&ended_ops);

static void begin(uint32_t limit, struct baton_executor *executor, void (*body)(struct sim_note *))
{
	sim_topic_init(&outer, 10, 64, NULL);
	sim_topic_init(&inner, limit, 1, executor);
	inner.only = SIM_NOBODY;
	sim_note_init(&notes[0], &outer, false);
	notes[0].body = body;
	sim_note_init(&notes[1], &inner, true);
	sim_note_init(&notes[2], &inner, true);
}

static void end(void)
{
	sim_settled(&outer);
	sim_settled(&inner);
	sim_topic_close(&outer);
	sim_topic_close(&inner);
	sim_no_leaks();
}

/* ---- Only waiters can run the tasks ---- */

static struct baton_suspension suspension;

/* The first task is accepted, and waits. */
static void suspend(void)
{
	sim_calm(true);
	sim_require(baton_resource_suspend(&inner.resource, &suspension) == 0);
	sim_require(sim_note_submit(&notes[1]) == 0);
	sim_calm(false);
}

static void resume_and_wait(struct sim_note *note)
{
	(void)note;
	sim_require(baton_resource_resume(&suspension) == 0);
	store_release(&begun, 1);
	sim_require(baton_future_wait(&notes[1].future) == 0);
}

/* With limit 0 an idle resource refuses what its executor refuses. */
static void submit_when_begun(void *argument)
{
	struct sim_note *note = argument;
	int status;

	while (!load_acquire(&begun))
		sim_yield();
	status = sim_note_submit(note);
	sim_require(status == 0 || status == -ESHUTDOWN);
	if (!status)
		sim_note_wait(note);
}

static struct baton_future promise = BATON_PROMISE_INIT;

static void resume_and_wait_for_any(struct sim_note *note)
{
	struct baton_future *both[] = {&promise, &notes[1].future};

	(void)note;
	sim_require(baton_resource_resume(&suspension) == 0);
	store_release(&begun, 1);
	sim_require(baton_future_wait_any(both, 2, NULL) == 0);
}

static void resume_and_await(struct sim_note *note)
{
	(void)note;
	sim_require(baton_resource_resume(&suspension) == 0);
	store_release(&begun, 1);
	sim_require(baton_resource_await(&inner.resource) == 0);
}

/* `beside`: another thread waits, too. */
static void wait_alone(void (*body)(struct sim_note *), bool beside)
{
	begin(0, &ended, body);
	suspend();
	if (beside)
		sim_start(submit_when_begun, &notes[2]);
	sim_require(sim_note_submit(&notes[0]) == 0);
	sim_join_all();
	sim_note_over(&notes[1]);
	end();
}

SIM_SCENARIO(deferred_alone, "limit 0: the thread that has the job waits, and another thread",
             .bound = 2)
{
	wait_alone(resume_and_wait, true);
}

SIM_SCENARIO(deferred_any, "the same, in a wait for any", .bound = 2)
{
	wait_alone(resume_and_wait_for_any, true);
}

SIM_SCENARIO(deferred_any_alone, "the same, without the other thread")
{
	wait_alone(resume_and_wait_for_any, false);
}

SIM_SCENARIO(deferred_await, "the same, in an await", .bound = 2)
{
	wait_alone(resume_and_await, true);
}

/* ---- An executor takes the job after all ---- */

static struct sim_shelf shelf;

static void resume_refused(struct sim_note *note)
{
	(void)note;
	shelf.refuse = 1;
	sim_require(baton_resource_resume(&suspension) == 0);
	shelf.refuse = 0;
	store_release(&begun, 1);
	/* Until the other thread is about to help. */
	for (int i = 0; i < 4; i++)
		sim_yield();
}

/* The second thread may run the task while the job is deferred, not while an executor has it. */
static void look_at_shelf(struct sim_note *note)
{
	sim_require(note->runner == 0 || !load_relaxed(&shelf.jobs));
}

SIM_SCENARIO(deferred_taken, "limit 0: a helper, while an executor takes the job after all",
             .bound = 2)
{
	sim_shelf_init(&shelf, 0, 0);
	begin(0, &shelf.executor, resume_refused);
	suspend();
	notes[2].body = look_at_shelf;
	sim_start(submit_when_begun, &notes[2]);
	sim_require(sim_note_submit(&notes[0]) == 0);
	sim_shelf_drive(&shelf);
	sim_note_over(&notes[1]);
	end();
}

/* ---- The waiter shelves the baton that it has borrowed ---- */

static void unshelve(void *argument)
{
	(void)argument;
	/* This thread's first call: it needs a record. */
	sim_require(baton__thread_attach() == 0);
	baton__unshelve(&inner.resource, false);
}

static void shelves(struct sim_note *note)
{
	baton__shelve(&note->topic->resource, BATON__DETACHED_TASK);
	sim_start(unshelve, NULL);
}

static void resume_two_and_wait(struct sim_note *note)
{
	(void)note;
	sim_require(sim_note_submit(&notes[2]) == 0);
	sim_require(baton_resource_resume(&suspension) == 0);
	sim_require(baton_future_wait(&notes[2].future) == 0);
}

SIM_SCENARIO(deferred_shelved, "the unsheller's nudge alone wakes the waiter", .bound = 2)
{
	begin(10, &ended, resume_two_and_wait);
	notes[1].body = shelves;
	suspend();
	sim_require(sim_note_submit(&notes[0]) == 0);
	sim_join_all();
	for (int i = 1; i < 3; i++)
		sim_note_over(&notes[i]);
	end();
}
