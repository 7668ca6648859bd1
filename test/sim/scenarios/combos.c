/* SPDX-License-Identifier: MIT */
/*
 * Where modules meet on one resource: lanes and windows and awaits; timers and bounds and
 * finalisers.
 */
#include "stamped.h"

#include <baton/timer.h>
#include <baton/timers.h>
#include <baton/manual.h>
#include <baton/window.h>

#include "../../parts.h"

#define TICK 1024U

/* ---- A task that its window has kept comes back to a resource with lanes ---- */

static struct baton_window window;
static struct windowed letters[2];
static struct windowed *const in_flight = &letters[0];
static struct windowed *const waits = &letters[1];

static int detaches(struct baton_task *task)
{
	struct windowed *windowed = baton_container_of(task, struct windowed, task);

	sim_require(baton_detach(&windowed->part.token, 0) == 0);
	return 0;
}

static int ends_at_once(struct baton_task *task)
{
	return 0;
}

static void submits_what_waits(struct sim_piece *piece)
{
	sim_require(baton_submit(&sim_scene.topic.resource, &waits->task) == 0);
}

static void makes_room_and_awaits(void *piece)
{
	sim_require(sim_piece_submit(piece) == 0);
	sim_require(baton_detached_complete(&in_flight->part.token, 0, NULL) == 0);
	sim_does_await(NULL);
}

SIM_SCENARIO(combos_window_lanes_await,
             "await, while a kept task is picked, admitted and put back: waits for what is older")
{
	struct sim_piece *first;

	sim_calm(true);
	sim_scene_init(2, 1, 1, NULL);
	baton_window_init(&window, &sim_scene.topic.resource, 1);
	windowed_init(in_flight, &window, detaches, NULL);
	windowed_init(waits, &window, ends_at_once, NULL);
	sim_require(baton_submit(&sim_scene.topic.resource, &in_flight->task) == 0);
	first = sim_piece_init(0, 0, false);
	first->body = submits_what_waits;
	sim_calm(false);
	sim_start(makes_room_and_awaits, sim_piece_init(1, 0, false));
	sim_require(sim_piece_submit(first) == 0);
	sim_drive(sim_scene.manual);
	sim_join_all();
	sim_scene_end();
	baton_window_deinit(&window);
}

/* ---- A timer whose run a full bound drops, against the end of its resource ---- */

static struct baton_timers *timers;
static struct baton_timer timer;
static struct baton_resource bounded;
static struct baton_bound bound;
static struct baton_task session;
static struct baton_task filler;
static struct baton_task finaliser;
static unsigned runs;
static unsigned told;

static int count(struct baton_timer *unused)
{
	runs++;
	return 0;
}

/* Fills the resource, stops the timer, and has both freed. */
static int ends_session(struct baton_task *unused)
{
	BATON_IGNORE(baton_submit(&bounded, &filler)); /* or the timer's task does */
	BATON_IGNORE(baton_timer_stop(&timer).met);
	told = runs;
	sim_require(baton_resource_close_then(&bounded, &finaliser) == 0);
	return 0;
}

static int frees(struct baton_task *unused)
{
	sim_retire(&timer, sizeof(timer));
	sim_retire(&bounded, sizeof(bounded));
	return 0;
}

static void does_end_session(void *unused)
{
	sim_require(baton_submit(&bounded, &session) == 0);
}

static void session_ends(enum baton_bound_policy policy)
{
	static struct baton_bound_config limits;

	sim_calm(true);
	limits = (struct baton_bound_config)BATON_BOUND_CONFIG_INIT;
	limits.tasks_max = 1;
	limits.policy = policy;
	sim_require(
		baton_timers_create(&(struct baton_timers_options){.source = BATON_TIMERS_VIRTUAL},
	                            &timers) == 0);
	baton_resource_init(&bounded, NULL);
	baton_bound_init(&bound, &limits);
	baton_resource_set_bound(&bounded, &bound);
	baton_timer_init(&timer, timers, &bounded, count);
	baton_task_init(&session, ends_session, NULL);
	baton_task_init(&filler, ends_at_once, NULL);
	baton_task_init(&finaliser, frees, NULL);
	sim_require(baton_timer_arm_every(&timer, TICK, TICK, BATON_TIMER_SKIP) == 0);
	sim_calm(false);
	sim_start(does_end_session, NULL);
	sim_require(baton_timers_advance(timers, (uint64_t)2 * TICK) >= 0);
	sim_join_all();
	sim_require(runs == told);
	sim_require(baton_timers_destroy(timers) == 0);
	sim_no_leaks();
}

SIM_SCENARIO(combos_timer_dropped,
             "a repeated timer's run is dropped, while a task stops it and has it freed")
{
	session_ends(BATON_BOUND_DROP_NEWEST);
}

SIM_SCENARIO(combos_timer_refused, "the same where the bound refuses the run")
{
	session_ends(BATON_BOUND_REFUSE);
}

/* ---- Completions that a batch holds back, in a cycle of waits ---- */

static struct sim_topic hooked;
static struct sim_topic plain;
static struct sim_note held_back;
static struct sim_note behind;  /* of the same batch: waits for `wanted` */
static struct sim_note waiting; /* of `plain`: waits for `held_back` */
static struct sim_note wanted;  /* of `plain` */
static uint32_t refused;

static int batch_end(struct baton_resource *unused)
{
	return 0;
}

static void wait_inside(struct sim_note *note)
{
	int status = baton_future_wait(&note->future);

	sim_require(status == 0 || status == -EDEADLK);
	if (status)
		(void)add_relaxed(&refused, 1);
}

static void waits_for_wanted(struct sim_note *unused)
{
	sim_require(sim_note_submit(&wanted) == 0);
	wait_inside(&wanted);
}

static void waits_for_held_back(struct sim_note *unused)
{
	wait_inside(&held_back);
}

static void does_batch(void *unused)
{
	struct baton_task *tasks[] = {&held_back.task, &behind.task};

	sim_note_begin(&held_back);
	sim_note_begin(&behind);
	sim_require(baton_submit_batch(&hooked.resource, tasks, 2) == 0);
	(void)sim_note_end(&held_back, 0);
	(void)sim_note_end(&behind, 0);
}

SIM_SCENARIO(combos_held_cycle,
             "a task waits for a completion held back in a batch that waits for it: one is told")
{
	struct baton_manual *manual;

	sim_calm(true);
	sim_require(baton_manual_create(&manual) == 0);
	sim_topic_init(&hooked, 10, 10, baton_manual_executor(manual));
	sim_topic_init(&plain, 10, 10, baton_manual_executor(manual));
	hooked.config.batch_end = batch_end;
	hooked.config.delay_completions = true;
	baton_resource_init(&hooked.resource, &hooked.config);
	sim_note_init(&held_back, &hooked, true);
	sim_note_init(&behind, &hooked, true);
	sim_note_init(&waiting, &plain, true);
	sim_note_init(&wanted, &plain, true);
	behind.body = waits_for_wanted;
	waiting.body = waits_for_held_back;
	sim_calm(false);
	sim_start(does_batch, NULL);
	sim_start(sim_does_submit, &waiting);
	sim_drive(manual);
	sim_join_all();
	sim_require(load_relaxed(&refused) <= 1);
	sim_topic_close(&hooked);
	sim_topic_close(&plain);
	baton_manual_destroy(manual);
	sim_settled(&hooked);
	sim_settled(&plain);
}
