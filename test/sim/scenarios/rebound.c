/* SPDX-License-Identifier: MIT */
/*
 * Waiters for a future whose submit is refused: who visits it meanwhile, or finds a visitor, looks
 * again when the task is submitted elsewhere; and ends what the refusal has left to it.
 */
#include "support.h"

static struct sim_topic first;
static struct sim_topic second;
static struct sim_note note;
static struct baton_manual *manual;

/* As a thread of the executor, so that it also is told of what comes when it sleeps. */
static void wait_for_note(void *argument)
{
	sim_require(baton__thread_attach() == 0);
	store_relaxed(&baton__self->member, baton_manual_executor(manual));
	sim_require(baton_future_wait(&note.future) == 0);
}

/* Binds the note's future to the first topic, and unbinds it again. */
static void submit_in_vain(void)
{
	struct baton_future unfit = BATON_PROMISE_INIT;
	struct baton_task task = BATON_TASK_INIT(NULL, &unfit);
	struct baton_task *batch[] = {&note.task, &task};

	sim_require(baton_submit_batch(&first.resource, batch, 2) == -EINVAL);
}

static void submit_elsewhere(void)
{
	sim_note_begin(&note);
	sim_require(sim_note_end(&note, baton_submit_later(&second.resource, &note.task)) == 0);
}

/* The others may have come to their last look. */
static void yield_for(unsigned times)
{
	while (times--)
		sim_yield();
}

/* Nobody drives the executor before the waiters have ended: they help. */
static void waiters(unsigned count)
{
	sim_require(baton_manual_create(&manual) == 0);
	sim_topic_init(&first, 10, 1, baton_manual_executor(manual));
	sim_topic_init(&second, 10, 1, baton_manual_executor(manual));
	sim_note_init(&note, &second, true);
	for (unsigned i = 0; i < count; i++)
		sim_start(wait_for_note, NULL);
	yield_for(sim_pick(4));
	submit_in_vain();
	submit_elsewhere();
	sim_join_all();
	sim_note_over(&note);
	while (baton_manual_run(manual, 1))
		;
	sim_topic_close(&first);
	sim_topic_close(&second);
	sim_settled(&second);
	baton_manual_destroy(manual);
}

SIM_SCENARIO(rebound_1, "a waiter for a refused task helps when it is accepted elsewhere",
             .ordered = true)
{
	waiters(1);
}

SIM_SCENARIO(rebound_2, "two of them, one in the other's way", .bound = 1, .ordered = true)
{
	waiters(2);
}

/* ---- The last visitor hands the resource off, and its executor ends ---- */

static void wait_outside(void *argument)
{
	sim_require(baton_future_wait(&note.future) == 0);
}

SIM_SCENARIO(rebound_last_visitor, "who hands off a resource that it visits touches no executor")
{
	sim_require(baton_manual_create(&manual) == 0);
	sim_topic_init(&first, 0, 1, baton_manual_executor(manual));
	sim_topic_init(&second, 10, 1, NULL);
	sim_note_init(&note, &second, true);
	sim_start(wait_outside, NULL);
	yield_for(sim_pick(4));
	submit_in_vain();
	sim_require(sim_topic_close_then(&first) == 0);
	while (!first.finalised)
		if (!baton_manual_run(manual, 1))
			sim_yield();
	baton_manual_destroy(manual);
	sim_require(sim_note_submit(&note) == 0);
	sim_join_all();
	sim_note_over(&note);
	sim_topic_close(&second);
	sim_settled(&second);
}
