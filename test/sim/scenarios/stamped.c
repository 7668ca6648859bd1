/* SPDX-License-Identifier: MIT */
/* Stamped tasks and their topics; what they remember is the explorer's, as in support.c. */
#include "stamped.h"

#include "../../parts.h"

struct sim_scene sim_scene;

SIM_UNSEEN static bool settled(const struct sim_piece *piece)
{
	return piece->fate != SIM_ACCEPTED ||
	       (piece->own_future &&
	        (piece->future._state & BATON__FUTURE_STATE) == BATON__FUTURE_CANCELLED);
}

/* A cancelled one is over when its runner comes to it, in whatever order. */
SIM_UNSEEN static bool waits(const struct sim_piece *piece)
{
	return !settled(piece) &&
	       (piece->future._state & BATON__FUTURE_STATE) != BATON__FUTURE_CANCELLING;
}

SIM_UNSEEN static void enter_piece(struct sim_piece *piece)
{
	for (int i = 0; i < SIM_LABELLED_MAX; i++) {
		const struct sim_piece *other = &sim_scene.pieces[i];

		if (other != piece && other->stamped.stamp._lane == piece->stamped.stamp._lane &&
		    waits(other) && other->ended && other->ended < piece->began)
			sim_fail("order: a task runs before an earlier one of its lane");
	}
	if (piece->fate != SIM_ACCEPTED)
		sim_fail("a task of fate %d runs", piece->fate);
	if (sim_scene.topic.holder != (int)sim_thread())
		sim_fail("a task runs on thread %u, the holder is %d", sim_thread(),
		         sim_scene.topic.holder);
	piece->fate = SIM_RAN;
	piece->entered = sim_step();
}

static int run_piece(struct baton_task *task)
{
	struct sim_piece *piece = baton_container_of(task, struct sim_piece, stamped.task);

	enter_piece(piece);
	sim_scene.topic.changes++;
	if (piece->body)
		piece->body(piece);
	return 0;
}

SIM_UNSEEN static void cancel_piece(struct baton_task *task)
{
	struct sim_piece *piece = baton_container_of(task, struct sim_piece, stamped.task);

	if (piece->fate != SIM_ACCEPTED)
		sim_fail("a task of fate %d is cancelled", piece->fate);
	piece->fate = SIM_CANCELLED;
}

void sim_scene_init(uint32_t limit, uint32_t quantum, uint32_t lanes,
                    const struct baton_bound_config *limits)
{
	struct sim_scene *scene = &sim_scene;

	sim_require(baton_manual_create(&scene->manual) == 0);
	sim_topic_init(&scene->topic, limit, quantum, baton_manual_executor(scene->manual));
	scene->topic.config.cancelled = cancel_piece;
	if (limits) {
		baton_bound_init(&scene->bound, limits);
		sim_topic_bound(&scene->topic, &scene->bound);
	}
	if (lanes) {
		baton_lanes_init(&scene->lanes, scene->array, lanes, NULL);
		baton_resource_set_lanes(&scene->topic.resource, &scene->lanes);
	}
}

SIM_UNSEEN static void check_over(void)
{
	for (int i = 0; i < SIM_LABELLED_MAX; i++)
		if (!settled(&sim_scene.pieces[i]))
			sim_fail("task %d was accepted and has never run", i);
	if (sim_scene.bound._pushed != sim_scene.bound._gone || sim_scene.bound._sorted)
		sim_fail("the bound counts something that is not there");
	if (sim_scene.lanes._busy || sim_scene.lanes._older || sim_scene.lanes._marks)
		sim_fail("something is left in the lanes");
}

void sim_scene_end(void)
{
	sim_topic_close(&sim_scene.topic);
	check_over();
	baton_manual_destroy(sim_scene.manual);
}

struct sim_piece *sim_piece_init(unsigned index, unsigned lane, bool with_future)
{
	struct sim_piece *piece = &sim_scene.pieces[index];

	*piece = (struct sim_piece){.own_future = with_future};
	baton_future_init(&piece->future);
	stamped_init(&piece->stamped, run_piece, with_future ? &piece->future : NULL);
	baton_stamp_set_lane(&piece->stamped.stamp, lane);
	return piece;
}

SIM_UNSEEN static void begin(struct sim_piece *piece)
{
	piece->fate = SIM_ACCEPTED;
	piece->began = sim_step();
	piece->ended = 0;
}

SIM_UNSEEN static int end(struct sim_piece *piece, int status)
{
	piece->ended = sim_step();
	if (status && piece->fate != SIM_ACCEPTED)
		sim_fail("a task was refused (%d), and has fate %d", status, piece->fate);
	if (status)
		piece->fate = SIM_REFUSED;
	return status;
}

int sim_piece_submit(struct sim_piece *piece)
{
	begin(piece);
	return end(piece, baton_submit(&sim_scene.topic.resource, &piece->stamped.task));
}

int sim_piece_submit_later(struct sim_piece *piece)
{
	begin(piece);
	return end(piece, baton_submit_later(&sim_scene.topic.resource, &piece->stamped.task));
}

SIM_UNSEEN static void piece_is(const struct sim_piece *piece, enum baton_future_state state)
{
	if (state == BATON_CANCELLED ? piece->fate == SIM_RAN : piece->fate != SIM_RAN)
		sim_fail("a future says %d of a task of fate %d", state, piece->fate);
}

void sim_piece_wait(struct sim_piece *piece)
{
	sim_require(baton_future_wait(&piece->future) == 0);
	piece_is(piece, baton_future_state(&piece->future));
}

void sim_does_piece(void *piece)
{
	sim_require(sim_piece_submit(piece) == 0);
}

void sim_does_piece_and_wait(void *piece)
{
	sim_does_piece(piece);
	sim_piece_wait(piece);
}

SIM_UNSEEN static void check_older(uint32_t began)
{
	for (int i = 0; i < SIM_LABELLED_MAX; i++)
		if (sim_scene.pieces[i].ended && sim_scene.pieces[i].ended < began &&
		    !settled(&sim_scene.pieces[i]))
			sim_fail("await has not waited for task %d", i);
}

void sim_does_await(void *none)
{
	uint32_t began = sim_step();

	sim_require(baton_resource_await(&sim_scene.topic.resource) == 0);
	check_older(began);
}
