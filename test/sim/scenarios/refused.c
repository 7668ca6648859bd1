/* SPDX-License-Identifier: MIT */
/*
 * Submits that are refused, while others look at their futures: who visits the resource that the
 * future was bound to, and who the next one's.
 */
#include "support.h"

#include "base/atomic.h"

static struct sim_shelf shelf;
static struct sim_topic topics[2];
static struct sim_note notes[3];
static struct baton_future unfit = BATON_PROMISE_INIT;
static struct baton_task unfit_task;

static void begin(void)
{
	sim_shelf_init(&shelf, 1, 0);
	for (int i = 0; i < 2; i++)
		sim_topic_init(&topics[i], 10, 64, &shelf.executor);
	baton_task_init(&unfit_task, NULL, &unfit);
	sim_note_init(&notes[0], &topics[0], true);
	for (int i = 1; i < 3; i++)
		sim_note_init(&notes[i], &topics[i - 1], false);
	sim_require(sim_note_submit_later(&notes[1]) == 0);
	sim_require(sim_note_submit_later(&notes[2]) == 0);
}

/* Both are awaited: a visit too many would never end. */
static void end(void)
{
	sim_shelf_drive(&shelf);
	for (int i = 0; i < 2; i++) {
		sim_settled(&topics[i]);
		sim_topic_close(&topics[i]);
	}
	sim_no_leaks();
}

/* Refused by the first resource: all or none. -EINVAL; -ECANCELED if it was cancelled. */
static int batch_refused(void)
{
	struct baton_task *const tasks[] = {&notes[0].task, &unfit_task};

	sim_require(baton_submit_batch(&topics[0].resource, tasks, 2) == -EINVAL);
	return baton_future_is_complete(&notes[0].future) ? -ECANCELED : 0;
}

static void refused_then_accepted(void *argument)
{
	if (batch_refused())
		return;
	notes[0].topic = &topics[1];
	sim_does_submit(&notes[0]);
}

static void wait(void *argument)
{
	sim_require(baton_future_wait(&notes[0].future) == 0);
}

static void cancel(void *argument)
{
	int status = baton_future_cancel(&notes[0].future);

	sim_require(status == 0 || status == -EINVAL || status == -EALREADY ||
	            status == -EINPROGRESS);
}

SIM_SCENARIO(refused_2_waiters, "two waiters, one of each generation", .bound = 1)
{
	begin();
	sim_start(refused_then_accepted, NULL);
	sim_start(wait, NULL);
	sim_start(wait, NULL);
	end();
}

SIM_SCENARIO(refused_canceller, "a canceller and a waiter", .bound = 1)
{
	begin();
	sim_start(refused_then_accepted, NULL);
	sim_start(wait, NULL);
	sim_start(cancel, NULL);
	end();
}

/* ---- A closed resource ---- */

static void submit_until_accepted(void *argument)
{
	int status;

	status = sim_note_submit(&notes[0]);
	sim_require(status == 0 || status == -EPIPE || status == -ECANCELED);
	if (status != -EPIPE)
		return;
	topics[0].note_count--;
	notes[0].topic = &topics[1];
	sim_does_submit(&notes[0]);
}

static void close_first(void *argument)
{
	sim_require(baton_resource_close(&topics[0].resource) == 0);
}

SIM_SCENARIO(refused_closed, "refused by a closed resource, accepted by another; a waiter",
             .bound = 1)
{
	begin();
	sim_start(submit_until_accepted, NULL);
	sim_start(wait, NULL);
	sim_start(close_first, NULL);
	end();
}

SIM_SCENARIO(refused_closed_canceller, "refused by a closed resource; a canceller")
{
	begin();
	sim_start(submit_until_accepted, NULL);
	sim_start(cancel, NULL);
	sim_start(close_first, NULL);
	end();
}

/* ---- Its visitor goes on for the runner ---- */

static struct baton_manual *manual;

static void submit_closing(void *argument)
{
	int status = sim_note_submit(&notes[0]);

	sim_require(status == 0 || status == -EPIPE || status == -ECANCELED);
	/* A finaliser, where no submit or close can meet it any more. */
	sim_join(3);
	sim_require(sim_topic_close_then(&topics[0]) == 0);
	if (status == -EPIPE) {
		topics[0].note_count = 0;
		notes[0].topic = &topics[1];
		sim_does_submit(&notes[0]);
	}
}

static void drive_and_destroy(uint32_t limit)
{
	sim_require(baton_manual_create(&manual) == 0);
	sim_topic_init(&topics[0], limit, 64, baton_manual_executor(manual));
	sim_topic_init(&topics[1], 10, 64, NULL);
	sim_note_init(&notes[0], &topics[0], true);
	sim_start(submit_closing, NULL);
	sim_start(wait, NULL);
	sim_start(close_first, NULL);
	while (!load_acquire(&topics[0].over)) {
		if (!baton_manual_run(manual, 1))
			sim_yield();
	}
	/* With the finaliser, says baton_manual_destroy, all use of it is over. */
	baton_manual_destroy(manual);
	sim_join_all();
	sim_settled(&topics[1]);
	sim_topic_close(&topics[1]);
	sim_no_leaks();
}

SIM_SCENARIO(refused_finaliser, "the visitor is the last to leave: it calls the finaliser",
             .bound = 1)
{
	drive_and_destroy(10);
}

SIM_SCENARIO(refused_finaliser_later, "limit 0: it hands off, and looks at nothing afterwards",
             .bound = 1)
{
	drive_and_destroy(0);
}
