/* SPDX-License-Identifier: MIT */
/*
 * As edges.c, for nudges: two sleep, one of whom is to help; the runner hands off to an executor
 * that nobody drives. Whom the nudge finds first must not keep it from the other.
 */
#include "support.h"

#include "base/atomic.h"

static struct baton_manual *manual;
static struct sim_topic topic;
static struct sim_note notes[3];
static struct baton_future promises[2];
static uint32_t begun;

/* Until the others sleep, or nearly. */
static void linger(struct sim_note *note)
{
	store_release(&begun, 1);
	for (int i = 0; i < 12; i++)
		sim_yield();
}

static void run_and_hand_off(void *argument)
{
	sim_require(sim_note_submit(&notes[0]) == 0);
}

static void await_begun(void)
{
	while (!load_acquire(&begun))
		sim_yield();
}

static void wait_for_second(void *argument)
{
	await_begun();
	sim_require(sim_note_submit(&notes[2]) == 0);
	sim_note_wait(&notes[2]);
	sim_require(baton_future_complete(&promises[0], 0, NULL) == 0);
}

static void wait_for_first(void *argument)
{
	await_begun();
	sim_require(sim_note_submit(&notes[1]) == 0);
	sim_note_wait(&notes[1]);
}

static void wait_for_first_and_on(void *argument)
{
	wait_for_first(argument);
	sim_require(baton_future_wait(&promises[0]) == 0);
}

static void wait_for_any(void *argument)
{
	struct baton_future *both[] = {&promises[0], &promises[1]};

	await_begun();
	sim_require(baton_future_wait_any(both, 2, NULL) == 0);
}

static void play(uint32_t limit, void (*other)(void *))
{
	sim_require(baton_manual_create(&manual) == 0);
	sim_topic_init(&topic, limit, 64, baton_manual_executor(manual));
	for (int i = 0; i < 3; i++)
		sim_note_init(&notes[i], &topic, i > 0);
	notes[0].body = linger;
	for (int i = 0; i < 2; i++)
		baton_promise_init(&promises[i]);
	sim_start(wait_for_second, NULL);
	sim_start(other, NULL);
	sim_start(run_and_hand_off, NULL);
	sim_join_all();
	(void)baton_manual_run(manual, 0);
	baton_manual_destroy(manual);
}

SIM_SCENARIO(edge_nudge_leaver, "[thread.nudge] T3: the one who is found has just left", .bound = 2)
{
	play(2, wait_for_first);
}

SIM_SCENARIO(edge_nudge_moved, "T3: the one who is found has gone on to another wait", .bound = 2)
{
	play(2, wait_for_first_and_on);
}

SIM_SCENARIO(edge_nudge_several, "the one who is found waits for several, none of them this one's",
             .bound = 1)
{
	play(1, wait_for_any);
}

/* ---- What no executor would take, deep in a thread's stack: somebody else has to help ---- */

static struct sim_shelf shelf; /* refuses */
static struct sim_topic inner;
static uint32_t done;

static void submit_inner(struct sim_note *note)
{
	sim_require(sim_note_submit(&notes[1]) == 0);
	/* The other one's task is left, and not by this thread's doing: its stack stands. */
	while (!load_acquire(&done))
		sim_yield();
}

static void wait_for_inner(void *argument)
{
	await_begun();
	sim_require(sim_note_submit(&notes[2]) == 0);
	sim_note_wait(&notes[2]);
	store_release(&done, 1);
}

SIM_SCENARIO(edge_deferred,
             "[turn.baton] [thread.asleep] a deferred resource is helped, its sleepers are nudged",
             .bound = 2)
{
	sim_shelf_init(&shelf, 0, 1);
	sim_topic_init(&topic, 10, 64, NULL);
	sim_topic_init(&inner, 10, 64, &shelf.executor);
	sim_note_init(&notes[0], &topic, false);
	notes[0].body = submit_inner;
	sim_note_init(&notes[1], &inner, false);
	notes[1].body = linger;
	sim_note_init(&notes[2], &inner, true);
	sim_start(wait_for_inner, NULL);
	sim_require(sim_note_submit(&notes[0]) == 0);
	sim_join_all();
	sim_require(notes[2].runner == 1); /* L7: not nested in ours */
}
