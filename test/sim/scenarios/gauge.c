/* SPDX-License-Identifier: MIT */
/* A gauge with lanes: each lane's slot for the task whose time in the queue is measured. */
#include "stamped.h"

#include "core/gauge.h"

static struct baton_resource_stats stats;
static struct baton__gauge gauge;
static struct baton__times times;

static void begin(uint32_t quantum)
{
	sim_scene_init(10, quantum, 2, NULL);
	times = (struct baton__times){.waited = {.max_ns = 0}};
	gauge = (struct baton__gauge){.lanes = 2, .times = &times};
	stats = (struct baton_resource_stats){._gauge = &gauge};
	baton__set_stats(&sim_scene.topic.resource, &stats);
}

static void later(unsigned index, unsigned lane)
{
	sim_calm(true);
	sim_require(sim_piece_submit_later(sim_piece_init(index, lane, false)) == 0);
	sim_calm(false);
}

/*
 * Nothing waits: no slot is taken, or no task of that lane would ever be measured again. `refused`:
 * a submit may have been refused while the last task left; then a time may stay in the lane, of
 * which no task waits, and to which none comes.
 */
static void finish(uint64_t pieces, bool refused)
{
	uint64_t left = 0;

	sim_scene_end();
	for (int i = 0; i < 2; i++) {
		const struct baton__gauge_lane *lane = &times.lane[i];
		struct baton__lane_queue queue;

		baton__gauge_lane_read(lane, &queue);
		sim_require(queue.waiting == 0 && queue.oldest_ns == 0);
		sim_require(!lane->marked && !lane->marked_ns && (refused || !lane->passed_ns));
		left += lane->left;
	}
	sim_require(left <= pieces);
}

SIM_SCENARIO(gauge_slot, "a slot that is emptied beside pushes is taken by one of them", .bound = 2)
{
	begin(10);
	later(0, 1);
	sim_start(sim_does_piece, sim_piece_init(1, 1, false));
	sim_start(sim_does_piece, sim_piece_init(2, 1, false));
	sim_drive(sim_scene.manual);
	finish(3, false);
}

SIM_SCENARIO(gauge_slots, "two lanes have slots of their own", .bound = 1)
{
	begin(1);
	later(0, 1);
	later(1, 0);
	sim_start(sim_does_piece, sim_piece_init(2, 0, false));
	sim_start(sim_does_piece, sim_piece_init(3, 1, false));
	sim_drive(sim_scene.manual);
	finish(4, false);
}

static void submits_perhaps(void *piece)
{
	(void)sim_piece_submit(piece);
}

/* A close beside a submit: what is refused is taken back, and its slot with it. */
SIM_SCENARIO(gauge_taken_back, "a submit that a close refuses leaves no slot behind", .bound = 2)
{
	begin(10);
	later(0, 1);
	sim_start(submits_perhaps, sim_piece_init(1, 1, false));
	sim_start(submits_perhaps, sim_piece_init(2, 1, false));
	sim_require(baton_resource_close(&sim_scene.topic.resource) == 0);
	sim_drive(sim_scene.manual);
	finish(3, true);
}
