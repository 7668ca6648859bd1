/* SPDX-License-Identifier: MIT */
/*
 * Tags: a cancel races with the runner; the end of a tag's memory.
 */
#include "stamped.h"

static struct baton_tag tag;

/* `count` stamped pieces of lane 1 in the queue. */
static void init_stamped(unsigned count, bool futures, bool hold)
{
	sim_scene_init(10, 64, 2, NULL);
	sim_calm(true);
	baton_tag_init(&tag);
	for (unsigned i = 0; i < count; i++) {
		struct sim_piece *piece = sim_piece_init(i, 1, futures);

		if (hold)
			baton_stamp_hold_tag(&piece->stamped.stamp, &tag);
		else
			baton_stamp_set_tag(&piece->stamped.stamp, &tag);
		sim_require(sim_piece_submit_later(piece) == 0);
	}
	sim_calm(false);
}

/* A later stamp, in a higher lane: after it nothing of the old ones runs. */
static void cancel_and_submit(void *argument)
{
	struct sim_piece *piece = argument;

	baton_tag_cancel(&tag);
	baton_stamp_set_tag(&piece->stamped.stamp, &tag);
	sim_require(sim_piece_submit(piece) == 0);
}

SIM_UNSEEN static void check_none_after(const struct sim_piece *urgent)
{
	sim_require(urgent->fate == SIM_RAN);
	for (int i = 0; i < 2; i++)
		if (sim_scene.pieces[i].fate == SIM_RAN &&
		    sim_scene.pieces[i].entered > urgent->entered)
			sim_fail("a task runs after its tag was cancelled");
}

SIM_SCENARIO(tag_cancel, "a task entered after the cancel was stamped after it")
{
	init_stamped(2, false, false);
	sim_start(cancel_and_submit, sim_piece_init(2, 0, false));
	sim_drive(sim_scene.manual);
	check_none_after(&sim_scene.pieces[2]);
	sim_scene_end();
}

static void poll_until_over(void *argument)
{
	struct sim_piece *piece = argument;
	bool running = false;
	enum baton_future_state state;

	/* Ends: the runner completes it. */
	while ((state = baton_future_state(&piece->future)) == BATON_PENDING ||
	       state == BATON_RUNNING) {
		running |= state == BATON_RUNNING;
		sim_yield();
	}
	sim_require(state == BATON_DONE || !running);
	sim_piece_wait(piece);
}

SIM_SCENARIO(tag_futures, "a future that ends as cancelled has never been running", .bound = 1)
{
	init_stamped(2, true, false);
	sim_start(cancel_and_submit, sim_piece_init(2, 0, false));
	sim_start(poll_until_over, &sim_scene.pieces[0]);
	sim_drive(sim_scene.manual);
	check_none_after(&sim_scene.pieces[2]);
	sim_scene_end();
}

static unsigned written; /* by the canceller, before */

static void write_and_cancel(void *none)
{
	written = 1;
	baton_tag_cancel(&tag);
}

SIM_SCENARIO(tag_tells,
             "[tag.generation] who finds a task cancelled sees what its canceller did before")
{
	init_stamped(2, true, false);
	sim_start(write_and_cancel, NULL);
	(void)baton_manual_run(sim_scene.manual, 0);
	if (baton_future_state(&sim_scene.pieces[0].future) == BATON_CANCELLED)
		sim_require(written == 1);
	sim_drive(sim_scene.manual);
	sim_scene_end();
}

static void cancel_and_give_back(void *none)
{
	baton_tag_cancel(&tag);
	/* Ends: the runner comes to all that hold it. */
	while (baton_tag_held(&tag))
		sim_yield();
	sim_retire(&tag, sizeof(tag));
}

SIM_SCENARIO(tag_held, "a tag that nobody holds is the caller's again")
{
	init_stamped(2, false, true);
	sim_start(cancel_and_give_back, NULL);
	sim_drive(sim_scene.manual);
	sim_scene_end();
}

static void cancel_future(void *argument)
{
	struct sim_piece *piece = argument;

	(void)baton_future_cancel(&piece->future);
	sim_piece_wait(piece);
}

SIM_SCENARIO(tag_held_cancels, "cancelled twice over, each holder lets go once", .bound = 1)
{
	init_stamped(2, true, true);
	sim_start(cancel_and_give_back, NULL);
	sim_start(cancel_future, &sim_scene.pieces[1]);
	sim_drive(sim_scene.manual);
	sim_scene_end();
}
