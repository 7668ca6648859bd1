/* SPDX-License-Identifier: MIT */
/*
 * The lower lanes are suspended: their tasks stand still, the tasks of lane 0 run, and no entry is
 * left on a resource that rests. While the lower lanes are suspended the suspender writes what
 * otherwise only their tasks write: an edge that is missing is a race.
 */
#include "labelled.h"

#include <baton/suspend.h>

#include "base/atomic.h"

static struct baton_suspension suspensions[2];
static int lower_changes;

static void lower_body(struct sim_piece *piece)
{
	lower_changes++;
}

/* Piece `index` of lane 1. */
static struct sim_piece *lower_piece(unsigned index, bool with_future)
{
	struct sim_piece *piece = sim_piece_init(index, 1, with_future);

	piece->body = lower_body;
	return piece;
}

static void suspend_wait_resume(void *argument)
{
	struct baton_suspension *suspension = argument;
	int before;

	sim_require(baton_resource_suspend_lower(&sim_scene.topic.resource, suspension) == 0);
	sim_require(baton_suspension_wait(suspension, NULL) == 0);
	before = ++lower_changes;
	sim_point();
	sim_require(lower_changes == before);
	sim_require(baton_resource_resume(suspension) == 0);
}

SIM_SCENARIO(lower_submit, "beside submitters to both lanes, inline", .bound = 2)
{
	sim_scene_init(10, 64, 2, NULL);
	sim_start(suspend_wait_resume, &suspensions[0]);
	sim_start(sim_does_piece, lower_piece(0, false));
	sim_start(sim_does_piece, sim_piece_init(1, 0, false));
	sim_drive(sim_scene.manual);
	sim_scene_end();
}

SIM_SCENARIO(lower_queued, "a queued resource: the suspender, its executor and a helper",
             .bound = 1)
{
	sim_scene_init(10, 1, 2, NULL);
	sim_calm(true);
	sim_require(sim_piece_submit_later(lower_piece(0, false)) == 0);
	sim_require(sim_piece_submit_later(sim_piece_init(1, 0, true)) == 0);
	sim_calm(false);
	sim_start(suspend_wait_resume, &suspensions[0]);
	sim_start(sim_does_piece_and_wait, lower_piece(2, true));
	sim_drive(sim_scene.manual);
	sim_scene_end();
}

SIM_SCENARIO(lower_later, "limit 0: only the executor's thread comes to the mark", .bound = 1)
{
	sim_scene_init(0, 1, 2, NULL);
	sim_start(suspend_wait_resume, &suspensions[0]);
	sim_start(sim_does_piece, sim_piece_init(0, 0, false));
	sim_start(sim_does_piece, lower_piece(1, false));
	sim_drive(sim_scene.manual);
	sim_scene_end();
}

/* Perhaps before it has taken effect. */
static void suspend_resume(void *argument)
{
	struct baton_suspension *suspension = argument;

	sim_require(baton_resource_suspend_lower(&sim_scene.topic.resource, suspension) == 0);
	sim_require(baton_resource_resume(suspension) == 0);
}

SIM_SCENARIO(lower_withdraw, "resumed before or after it has taken effect", .bound = 2)
{
	sim_scene_init(10, 64, 2, NULL);
	sim_start(suspend_resume, &suspensions[0]);
	sim_start(sim_does_piece, lower_piece(0, false));
	sim_start(sim_does_piece, sim_piece_init(1, 0, false));
	sim_drive(sim_scene.manual);
	sim_scene_end();
}

SIM_SCENARIO(lower_twice, "two suspensions, and a submitter that waits for a lower task",
             .bound = 1)
{
	sim_scene_init(10, 64, 2, NULL);
	sim_start(suspend_resume, &suspensions[0]);
	sim_start(suspend_resume, &suspensions[1]);
	sim_start(sim_does_piece_and_wait, lower_piece(0, true));
	sim_drive(sim_scene.manual);
	sim_scene_end();
}

static void resume(void *argument)
{
	sim_require(baton_resource_resume(argument) == 0);
}

SIM_SCENARIO(lower_await, "an await on a resource that rests, beside a submit and the resume",
             .bound = 2)
{
	sim_scene_init(10, 64, 2, NULL);
	sim_require(baton_resource_suspend_lower(&sim_scene.topic.resource, &suspensions[0]) == 0);
	sim_require(sim_piece_submit(lower_piece(0, false)) == 0);
	sim_start(resume, &suspensions[0]);
	sim_start(sim_does_piece, lower_piece(1, false));
	sim_start(sim_does_await, NULL);
	sim_drive(sim_scene.manual);
	sim_scene_end();
}

static void close_and_await(void *none)
{
	struct baton_resource *resource = &sim_scene.topic.resource;

	(void)baton_resource_close(resource);
	sim_require(baton_resource_await(resource, NULL) == 0);
	/* A suspension that was accepted is over, too. */
	sim_require(load_relaxed(&resource->_word) == BATON__WORD_CLOSED);
}

SIM_SCENARIO(lower_close_driven,
             "limit 0: who drives the executor awaits until another thread resumes", .bound = 2)
{
	sim_scene_init(0, 64, 2, NULL);
	sim_require(baton_resource_suspend_lower(&sim_scene.topic.resource, &suspensions[0]) == 0);
	sim_start(resume, &suspensions[0]);
	close_and_await(NULL);
	sim_join_all();
	sim_scene_end();
}

static void suspend_if_open(void *argument)
{
	struct baton_suspension *suspension = argument;
	int status = baton_resource_suspend_lower(&sim_scene.topic.resource, suspension);

	sim_require(status == 0 || status == -EPIPE);
	if (!status)
		sim_require(baton_resource_resume(suspension) == 0);
}

SIM_SCENARIO(lower_close, "a close and an await beside a suspension", .bound = 2)
{
	sim_scene_init(10, 64, 2, NULL);
	sim_calm(true);
	sim_require(sim_piece_submit_later(lower_piece(0, false)) == 0);
	sim_require(sim_piece_submit_later(sim_piece_init(1, 0, false)) == 0);
	sim_calm(false);
	sim_start(suspend_if_open, &suspensions[0]);
	sim_start(close_and_await, NULL);
	sim_drive(sim_scene.manual);
	sim_scene_end();
}

static void cancel_pending(void *none)
{
	sim_require(baton_resource_cancel_pending(&sim_scene.topic.resource) == 0);
}

SIM_SCENARIO(lower_cancel, "a cancel of what waits beside a submitter and a resume", .bound = 2)
{
	sim_scene_init(10, 64, 2, NULL);
	sim_start(suspend_resume, &suspensions[0]);
	sim_start(cancel_pending, NULL);
	sim_start(sim_does_piece, lower_piece(0, false));
	sim_drive(sim_scene.manual);
	sim_scene_end();
}

static void suspend_and_wait(void *argument)
{
	struct baton_suspension *suspension = argument;

	sim_require(baton_resource_suspend_lower(&sim_scene.topic.resource, suspension) == 0);
	sim_require(baton_suspension_wait(suspension, NULL) == 0);
}

SIM_SCENARIO(lower_cancel_one, "a task that has captured the resource waits, and is cancelled",
             .bound = 1)
{
	struct sim_piece *piece;
	int status;

	sim_scene_init(10, 64, 2, NULL);
	piece = lower_piece(0, true);
	sim_start(sim_does_piece, piece);
	sim_start(suspend_and_wait, &suspensions[0]);
	sim_drive(sim_scene.manual);
	/* The canceller can take the baton of a queued resource. */
	sim_require(sim_piece_submit_later(sim_piece_init(1, 0, false)) == 0);
	status = baton_future_cancel(&piece->future);
	sim_require(status == 0 || status == -EALREADY);
	sim_require(baton_future_is_complete(&piece->future));
	sim_require(baton_resource_resume(&suspensions[0]) == 0);
	sim_drive(sim_scene.manual);
	sim_scene_end();
}

static void suspend_whole(void *argument)
{
	struct baton_suspension *suspension = argument;

	sim_require(baton_resource_suspend(&sim_scene.topic.resource, suspension) == 0);
	sim_require(baton_suspension_wait(suspension, NULL) == 0);
	sim_require(baton_resource_resume(suspension) == 0);
}

SIM_SCENARIO(lower_and_whole, "beside a suspension of the whole resource", .bound = 2)
{
	sim_scene_init(10, 64, 2, NULL);
	sim_start(suspend_resume, &suspensions[0]);
	sim_start(suspend_whole, &suspensions[1]);
	sim_start(sim_does_piece, sim_piece_init(0, 0, false));
	sim_drive(sim_scene.manual);
	sim_scene_end();
}
