/* SPDX-License-Identifier: MIT */
/*
 * Waiters that find others in their way: at a future that somebody visits, at a resource that
 * somebody helps. Nobody drives the executor meanwhile, so whoever can help has to.
 */
#include "support.h"

static struct sim_topic topic;
static struct sim_note notes[4];
static struct baton_future promise;
static struct baton_manual *manual;
static struct sim_shelf shelf; /* in its place, where a wait for any of several helps */

static void begin(struct sim_topic *which, uint32_t limit)
{
	sim_require(baton_manual_create(&manual) == 0);
	sim_topic_init(which, limit, 1, baton_manual_executor(manual));
	baton_promise_init(&promise);
}

/* Leaves the topic queued, with nothing in it. */
static void queue_empty(struct sim_note *note)
{
	sim_note_init(note, &topic, true);
	sim_note_begin(note);
	sim_require(sim_note_end(note, baton_submit_later(&topic.resource, &note->task)) == 0);
	sim_note_wait(note);
}

static void end(struct sim_topic *which)
{
	while (baton_manual_run(manual, 1))
		;
	sim_topic_close(which);
	sim_settled(which);
}

/* Time does not pass while somebody is awake. */
static void until_all_sleep(void)
{
	uint64_t deadline = sim_in(1000000000);

	sim_require(baton_future_wait_until(&promise, deadline) == -ETIMEDOUT);
}

static void wait_for_promise(struct sim_note *note)
{
	sim_require(baton_future_wait(&promise) == 0);
}

static void wait_for(void *argument)
{
	struct sim_note *note = argument;

	sim_require(baton_future_wait(&note->future) == 0);
}

/* ---- All of several: obstructed at another than the first ---- */

static void wait_for_all(void *argument)
{
	struct sim_note *note = argument;
	struct baton_future *futures[] = {&promise, &note->future};

	sim_require(baton_future_wait_all(futures, 2) == 0);
}

SIM_SCENARIO(obstructed_all, "who waits for all sleeps while another helps with the last",
             .bound = 1)
{
	begin(&topic, 10);
	sim_note_init(&notes[0], &topic, false);
	sim_note_init(&notes[1], &topic, true);
	notes[0].body = wait_for_promise;
	for (int i = 0; i < 2; i++) {
		struct sim_note *note = &notes[i];
		int status;

		sim_note_begin(note);
		status = baton_submit_later(&topic.resource, &note->task);
		sim_require(sim_note_end(note, status) == 0);
	}
	sim_start(wait_for, &notes[1]);
	sim_start(wait_for_all, &notes[1]);
	until_all_sleep();
	sim_require(baton_future_complete(&promise, 0, NULL) == 0);
	sim_join_all();
	sim_note_over(&notes[1]);
	end(&topic);
	baton_manual_destroy(manual);
}

/* ---- Any of several: obstructed by one that does nothing ---- */

static void submit_and_wait_for_any(void *argument)
{
	struct sim_note *note = argument;
	struct baton_future *futures[] = {&promise, &note->future};
	size_t index = 0;

	sim_require(sim_note_submit(note) == 0);
	sim_require(baton_future_wait_any(futures, 2, &index) == 0);
	sim_require(index == 1);
}

SIM_SCENARIO(obstructed_any, "who waits for any looks again when another has left it undone")
{
	sim_shelf_init(&shelf, 1, 0);
	sim_topic_init(&topic, 10, 1, &shelf.executor);
	baton_promise_init(&promise);
	queue_empty(&notes[0]);
	sim_note_init(&notes[1], &topic, true);
	sim_start(wait_for, &notes[1]);
	sim_start(submit_and_wait_for_any, &notes[1]);
	sim_join_all();
	sim_note_over(&notes[1]);
	while (sim_shelf_run(&shelf))
		continue;
	sim_topic_close(&topic);
	sim_settled(&topic);
}

/* ---- A push while a helper that has found nothing holds the baton ---- */

static void wait_a_while(void *argument)
{
	struct sim_note *note = argument;
	uint64_t deadline = sim_in(1000000000);
	int status = baton_future_wait_until(&note->future, deadline);

	sim_require(status == 0 || status == -ETIMEDOUT);
}

static void submit(void *argument)
{
	sim_require(sim_note_submit(argument) == 0);
}

static void submit_and_wait(void *argument)
{
	submit(argument);
	sim_note_wait(argument);
}

SIM_SCENARIO(obstructed_push, "a helper in vain tells of what was pushed meanwhile", .bound = 1)
{
	begin(&topic, 10);
	queue_empty(&notes[0]);
	sim_note_init(&notes[1], &topic, true);
	sim_note_init(&notes[2], &topic, true);
	sim_start(wait_a_while, &notes[1]);
	sim_start(submit, &notes[1]);
	sim_start(submit_and_wait, &notes[2]);
	sim_join_all();
	end(&topic);
	baton_manual_destroy(manual);
}

/* ---- The only worker waits for what is submitted to its pool afterwards ---- */

static struct baton_pool *pool;
static struct baton_plain_job job;

static void wait_as_a_worker(struct baton_plain_job *this_job)
{
	wait_for(&notes[0]);
}

SIM_SCENARIO(obstructed_worker,
             "the only worker runs what it waits for, submitted to its pool later", .ordered = true)
{
	struct baton_pool_options options = BATON_POOL_OPTIONS_INIT;

	options.workers = 1;
	sim_require(baton_pool_create(&options, &pool) == 0);
	sim_topic_init(&topic, 0, 1, baton_pool_executor(pool));
	baton_promise_init(&promise);
	sim_note_init(&notes[0], &topic, true);
	baton_plain_job_init(&job, wait_as_a_worker, NULL);
	sim_require(baton_pool_submit(pool, &job) == 0);
	if (sim_pick(2))
		until_all_sleep();
	submit(&notes[0]);
	sim_require(baton_pool_destroy(pool) == 0);
	sim_note_over(&notes[0]);
	sim_topic_close(&topic);
	sim_settled(&topic);
}
