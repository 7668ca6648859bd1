/* SPDX-License-Identifier: MIT */
/* Lanes: the holder sorts the tasks beside pushers, awaits, cancels, helpers and the end. */
#include "labelled.h"

/* Three pieces in the queue, of lanes 1, 0, 1, and one run of them at a time. */
static void init_queued(uint32_t quantum, bool futures)
{
	sim_scene_init(10, quantum, 2, NULL);
	sim_calm(true);
	for (unsigned i = 0; i < 3; i++)
		sim_require(sim_piece_submit_later(sim_piece_init(i, i != 1, futures)) == 0);
	sim_calm(false);
}

SIM_SCENARIO(lanes_push, "two who push into two lanes: all run, each lane in order")
{
	init_queued(1, false);
	sim_start(sim_does_piece, sim_piece_init(3, 0, false));
	sim_start(sim_does_piece, sim_piece_init(4, 1, false));
	sim_drive(sim_scene.manual);
	sim_scene_end();
}

SIM_SCENARIO(lanes_await, "await waits for all lanes, beside a pusher and its runner")
{
	init_queued(1, false);
	sim_start(sim_does_await, NULL);
	sim_start(sim_does_piece, sim_piece_init(3, 0, false));
	sim_drive(sim_scene.manual);
	sim_scene_end();
}

SIM_SCENARIO(lanes_await_two, "two awaits, each for what it has submitted", .bound = 1)
{
	init_queued(1, false);
	sim_start(sim_does_await, NULL);
	sim_start(sim_does_await, NULL);
	sim_start(sim_does_piece, sim_piece_init(3, 1, false));
	sim_drive(sim_scene.manual);
	sim_scene_end();
}

SIM_SCENARIO(lanes_helper, "who waits for a low one helps with the higher ones")
{
	init_queued(1, true);
	sim_start(sim_does_piece_and_wait, sim_piece_init(3, 1, true));
	sim_start(sim_does_piece, sim_piece_init(4, 0, false));
	sim_drive(sim_scene.manual);
	sim_scene_end();
}

static void cancel_all_then_submit(void *piece)
{
	sim_require(baton_resource_cancel_pending(&sim_scene.topic.resource) == 0);
	sim_does_piece(piece);
}

SIM_UNSEEN static void check_none_after(const struct sim_piece *later)
{
	sim_require(later->fate == SIM_RAN);
	for (int i = 0; i < 3; i++)
		if (sim_scene.pieces[i].fate == SIM_RAN &&
		    sim_scene.pieces[i].entered > later->entered)
			sim_fail("an older task runs after a cancel_pending was obeyed");
}

SIM_SCENARIO(lanes_cancel_pending, "what is older is cancelled or has run; what comes later runs")
{
	init_queued(1, false);
	sim_start(cancel_all_then_submit, sim_piece_init(3, 0, false));
	sim_start(sim_does_piece, sim_piece_init(4, 1, false));
	sim_drive(sim_scene.manual);
	check_none_after(&sim_scene.pieces[3]);
	sim_scene_end();
}

SIM_SCENARIO(lanes_everything, "pushers, an await, cancel_pending and a helper", .bound = 1)
{
	init_queued(1, true);
	sim_start(cancel_all_then_submit, sim_piece_init(3, 1, false));
	sim_start(sim_does_piece_and_wait, sim_piece_init(4, 1, true));
	sim_start(sim_does_await, NULL);
	sim_drive(sim_scene.manual);
	sim_scene_end();
}

static void cancel_one(void *piece)
{
	int status = baton_future_cancel(&((struct sim_piece *)piece)->future);

	sim_require(status == 0 || status == -EALREADY || status == -EINPROGRESS);
	sim_piece_wait(piece);
}

SIM_SCENARIO(lanes_cancel_one, "one is taken out of the middle of its lane")
{
	init_queued(1, true);
	sim_start(cancel_one, &sim_scene.pieces[0]);
	sim_start(cancel_one, &sim_scene.pieces[2]);
	sim_drive(sim_scene.manual);
	sim_scene_end();
}

SIM_SCENARIO(lanes_cancel_await, "a cancel in a lane that an await counts", .bound = 1)
{
	init_queued(1, true);
	sim_start(sim_does_await, NULL);
	sim_start(cancel_one, &sim_scene.pieces[2]);
	sim_start(sim_does_piece, sim_piece_init(3, 1, false));
	sim_drive(sim_scene.manual);
	sim_scene_end();
}

static void cancel_two(void *none)
{
	cancel_one(&sim_scene.pieces[0]);
	cancel_one(&sim_scene.pieces[2]);
}

SIM_SCENARIO(lanes_cancel_neighbours, "two tasks side by side are cancelled one after the other",
             .bound = 1)
{
	init_queued(1, true);
	sim_start(cancel_two, NULL);
	sim_drive(sim_scene.manual);
	sim_scene_end();
}

static void submit_and_cancel(void *piece)
{
	sim_require(sim_piece_submit(piece) == 0);
	cancel_one(piece);
}

SIM_SCENARIO(lanes_cancel_behind_await, "a cancel in a lane that an await does not count",
             .bound = 1)
{
	init_queued(1, true);
	sim_start(sim_does_await, NULL);
	sim_start(submit_and_cancel, sim_piece_init(3, 1, true));
	sim_drive(sim_scene.manual);
	sim_scene_end();
}

static void close_then(void *none)
{
	sim_scene.topic.stays = true;
	sim_require(sim_topic_close_then(&sim_scene.topic) == 0);
}

static void submit_or_not(void *piece)
{
	int status = sim_piece_submit(piece);

	sim_require(status == 0 || status == -EPIPE);
}

SIM_SCENARIO(lanes_finaliser, "the finaliser comes after every lane", .bound = 1)
{
	init_queued(1, true);
	sim_start(close_then, NULL);
	sim_start(submit_or_not, sim_piece_init(3, 1, false));
	sim_start(cancel_one, &sim_scene.pieces[2]);
	sim_drive(sim_scene.manual);
	sim_require(sim_scene.topic.finalised);
	sim_scene_end();
}

/* A batch of both lanes, captured, whose rest is handed off. */
SIM_SCENARIO(lanes_batch, "a batch captured beside a pusher")
{
	struct baton_task *tasks[3];

	sim_scene_init(1, 1, 2, NULL);
	for (unsigned i = 0; i < 3; i++) {
		struct sim_piece *piece = sim_piece_init(i, i != 1, false);

		piece->fate = SIM_ACCEPTED;
		tasks[i] = &piece->labelled.task;
	}
	sim_start(sim_does_piece, sim_piece_init(3, 0, false));
	sim_start(sim_does_piece, sim_piece_init(4, 1, false));
	sim_require(baton_submit_batch(&sim_scene.topic.resource, tasks, 3) == 0);
	sim_drive(sim_scene.manual);
	sim_scene_end();
}
