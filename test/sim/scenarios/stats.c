/* SPDX-License-Identifier: MIT */
/*
 * Statistics: what waits is counted and has a time, also beside submits, runners and readers.
 */
#include "support.h"

#include "base/atomic.h"

static struct sim_topic topic;
static struct sim_note notes[4];
static struct baton_resource_stats stats;
static struct sim_shelf shelf;

static void begin(uint32_t limit)
{
	sim_shelf_init(&shelf, 0, 0);
	stats = (struct baton_resource_stats){0};
	sim_topic_init(&topic, limit, limit, &shelf.executor);
	baton__set_stats(&topic.resource, &stats);
	for (int i = 0; i < 4; i++)
		sim_note_init(&notes[i], &topic, false);
}

static struct baton_resource_stats look(void)
{
	struct baton_resource_stats copy;

	baton_resource_stats_read(&stats, &copy);
	return copy;
}

/* Nobody submits: what waits has a time. */
static void require(uint64_t submitted)
{
	struct baton_resource_stats copy = look();

	sim_require(copy.submitted == submitted);
	sim_require(copy.outstanding == copy.submitted - copy.executed - copy.cancelled);
	sim_require(copy.waiting <= submitted);
	sim_require((copy.oldest_ns != 0) == (copy.waiting > 0));
}

static void finish(uint64_t submitted)
{
	struct baton_resource_stats copy;

	while (sim_shelf_run(&shelf))
		require(submitted);
	copy = look();
	sim_require(copy.waiting == 0);
	sim_require(copy.oldest_ns == 0);
	sim_require(copy.submitted == submitted);
	sim_require(copy.submitted == copy.executed + copy.cancelled);
	/* No time is left for those who come next. */
	sim_require(!stats._marked && !stats._marked_ns && !stats._passed_ns);
	sim_settled(&topic);
}

static void submit_one_and_start(struct sim_note *note)
{
	sim_does_submit(&notes[1]);
	sim_start(sim_does_submit, &notes[2]);
}

/* The marked task leaves beside a submit; the stay ends with it. */
SIM_SCENARIO(stats_leaves, "what is pushed when the marked task leaves has a time", .bound = 2)
{
	begin(2);
	notes[0].body = submit_one_and_start;
	sim_does_submit(&notes[0]);
	sim_join_started();
	require(3);
	finish(3);
}

SIM_SCENARIO(stats_marked, "the same, from three threads", .bound = 2)
{
	begin(2);
	sim_start(sim_does_submit, &notes[0]);
	sim_start(sim_does_submit, &notes[1]);
	sim_does_submit(&notes[2]);
	sim_join_started();
	require(3);
	finish(3);
}

SIM_SCENARIO(stats_marked_4, "the same, from four", .walk_only = true)
{
	begin(2);
	for (int i = 0; i < 3; i++)
		sim_start(sim_does_submit, &notes[i]);
	sim_does_submit(&notes[3]);
	sim_join_started();
	require(4);
	finish(4);
}

/* ---- A reader ---- */

static void reads(void *argument)
{
	/* Nothing is submitted any more. */
	require(3);
	require(3);
}

static void submit_two_and_start(struct sim_note *note)
{
	sim_does_submit(&notes[1]);
	sim_does_submit(&notes[2]);
	sim_start(reads, NULL);
}

SIM_SCENARIO(stats_read, "a reader beside the runner sees a time while tasks wait", .bound = 2)
{
	begin(10);
	notes[0].body = submit_two_and_start;
	sim_does_submit(&notes[0]);
	sim_join_started();
	finish(3);
}

static void reads_beside(void *argument)
{
	for (int i = 0; i < 2; i++) {
		struct baton_resource_stats copy = look();

		sim_require(copy.submitted <= 2);
		sim_require(copy.waiting <= copy.submitted);
		sim_require(copy.outstanding <= copy.submitted);
	}
}

SIM_SCENARIO(stats_beside, "a reader beside submits does not see more leave than came", .bound = 2)
{
	begin(10);
	sim_start(sim_does_submit, &notes[0]);
	sim_start(reads_beside, NULL);
	sim_does_submit(&notes[1]);
	sim_join_started();
	finish(2);
}

static void reads_idle(void *argument)
{
	for (int i = 0; i < 2; i++) {
		struct baton_resource_stats copy = look();

		sim_require(copy.submitted == copy.executed + copy.outstanding);
		sim_require(copy.outstanding <= 1 && copy.waiting == 0);
		sim_require(copy.captures == copy.submitted);
	}
}

SIM_SCENARIO(stats_idle, "a reader finds idle runs begun and ended as of one moment", .bound = 2)
{
	begin(10);
	/* A thread's first submit takes the long way. */
	sim_does_submit(&notes[0]);
	sim_start(reads_idle, NULL);
	sim_does_submit(&notes[1]);
	sim_does_submit(&notes[2]);
	sim_join_started();
	finish(3);
}

/* ---- A refusal ---- */

static void submits_beside(void *note)
{
	(void)sim_note_submit(note);
}

SIM_SCENARIO(stats_refused, "a submit that a close refuses is not counted", .bound = 2)
{
	struct baton_resource_stats copy;

	begin(10);
	sim_start(submits_beside, &notes[0]);
	sim_start(submits_beside, &notes[1]);
	sim_require(baton_resource_close(&topic.resource) == 0);
	sim_join_started();
	while (sim_shelf_run(&shelf))
		;
	copy = look();
	sim_require(copy.waiting == 0);
	sim_require(copy.oldest_ns == 0);
	sim_require(copy.submitted == copy.executed);
	sim_require(copy.executed ==
	            (uint64_t)(notes[0].fate == SIM_RAN) + (notes[1].fate == SIM_RAN));
	sim_settled(&topic);
}
