/* SPDX-License-Identifier: MIT */
/*
 * Bounds: never exceeded, never short of what they allow, and balanced whatever becomes of a task.
 */
#include "labelled.h"

#include "module/bound.h"

static struct baton_bound_config limits;
static uint32_t most;
static unsigned answers[3]; /* accepted, refused, closed */

/* What waits never exceeds the limit, at no reservation. */
SIM_UNSEEN static void watch_pushed(const void *word, unsigned thread, uint64_t before,
                                    uint64_t after)
{
	uint64_t waiting = (after - sim_scene.bound._gone) / BATON__BOUND_TASK;

	if (waiting > most)
		sim_fail("%u tasks wait, and %u may", (unsigned)waiting, most);
}

/* `queued` pieces in the queue, and room for `max`. */
static void init_bounded(enum baton_bound_policy policy, unsigned queued, uint32_t max,
                         uint32_t lanes)
{
	limits = (struct baton_bound_config)BATON_BOUND_CONFIG_INIT;
	limits.policy = policy;
	limits.tasks_max = max;
	most = max;
	if (policy == BATON_BOUND_DROP_OLDEST || policy == BATON_BOUND_DROP_LOWEST)
		limits.tasks_hard = most = max + 1;
	sim_scene_init(10, 64, lanes, &limits);
	sim_watch(&sim_scene.bound._pushed, watch_pushed);
	sim_calm(true);
	for (unsigned i = 0; i < queued; i++)
		sim_require(sim_piece_submit_later(sim_piece_init(i, 0, true)) == 0);
	sim_calm(false);
}

SIM_UNSEEN static void answer(int status)
{
	sim_require(status == 0 || status == -EAGAIN || status == -EPIPE);
	answers[status == 0 ? 0 : status == -EAGAIN ? 1 : 2]++;
}

static void submit_maybe(void *piece)
{
	answer(sim_piece_submit(piece));
}

SIM_SCENARIO(bound_refuse, "two for one place: not both wait")
{
	init_bounded(BATON_BOUND_REFUSE, 1, 2, 0);
	sim_start(submit_maybe, sim_piece_init(1, 0, false));
	sim_start(submit_maybe, sim_piece_init(2, 0, true));
	sim_drive(sim_scene.manual);
	sim_require(answers[0] >= 1 && answers[2] == 0);
	sim_scene_end();
}

static void read_counts(void *none)
{
	struct baton_bound_stats counts;

	baton_bound_stats_read(&sim_scene.bound, &counts);
	sim_require(counts.tasks <= most);
}

SIM_SCENARIO(bound_counts, "what is read of a bound is never less than nothing")
{
	init_bounded(BATON_BOUND_REFUSE, 1, 2, 0);
	sim_start(submit_maybe, sim_piece_init(1, 0, false));
	sim_start(read_counts, NULL);
	sim_drive(sim_scene.manual);
	sim_scene_end();
}

static void submit_next(struct sim_piece *piece)
{
	submit_maybe(piece + 2);
}

SIM_SCENARIO(bound_counts_full, "what is read of a bound is never more than the limit")
{
	init_bounded(BATON_BOUND_REFUSE, 2, 2, 0);
	/* The task has left, and another takes its place. */
	sim_scene.pieces[0].body = submit_next;
	(void)sim_piece_init(2, 0, false);
	sim_start(read_counts, NULL);
	sim_drive(sim_scene.manual);
	sim_scene_end();
}

/* A task's place is free before its future is complete. */
static void twice(void *argument)
{
	struct sim_piece *piece = argument;

	for (int i = 0; i < 2; i++) {
		sim_does_piece_and_wait(piece);
		if (i == 0)
			(void)sim_piece_init((unsigned)(piece - sim_scene.pieces), 0, true);
	}
}

SIM_SCENARIO(bound_room, "who has one task at a time waiting is never refused its place")
{
	init_bounded(BATON_BOUND_REFUSE, 1, 3, 0);
	sim_start(twice, sim_piece_init(1, 0, true));
	sim_start(twice, sim_piece_init(2, 0, true));
	sim_drive(sim_scene.manual);
	sim_scene_end();
}

SIM_SCENARIO(bound_wait, "two submitters wait for one place, and both get it", .bound = 1)
{
	init_bounded(BATON_BOUND_WAIT, 1, 1, 0);
	sim_start(sim_does_piece, sim_piece_init(1, 0, false));
	sim_start(sim_does_piece, sim_piece_init(2, 0, false));
	sim_drive(sim_scene.manual);
	sim_scene_end();
}

static bool given_up_or_through;

static void submits_or_times_out(void *piece)
{
	int error = sim_piece_submit(piece);

	sim_require(error == 0 || error == -ETIMEDOUT);
}

static void waits_for_room(void *argument)
{
	submits_or_times_out(argument);
	given_up_or_through = true;
}

SIM_UNSEEN static void no_wait_is_longer_than_it_may_be(void)
{
	sim_require(given_up_or_through);
}

SIM_SCENARIO(bound_wait_frozen, "a stopped submitter, and one with a deadline that waits for room",
             .bound = 1, .freeze = 1, .frozen = no_wait_is_longer_than_it_may_be)
{
	init_bounded(BATON_BOUND_WAIT, 1, 1, 0);
	limits.wait_ns = 1000;
	given_up_or_through = false;
	sim_start(submits_or_times_out, sim_piece_init(1, 0, false));
	sim_start(waits_for_room, sim_piece_init(2, 0, false));
	sim_drive(sim_scene.manual);
	sim_scene_end();
}

SIM_SCENARIO(bound_wait_close, "a submitter waits for room in a resource that is closed",
             .bound = 1)
{
	init_bounded(BATON_BOUND_WAIT, 1, 1, 0);
	sim_start(submit_maybe, sim_piece_init(1, 0, false));
	sim_require(baton_resource_close(&sim_scene.topic.resource) == 0);
	sim_drive(sim_scene.manual);
	sim_require(answers[1] == 0);
	sim_scene_end();
}

SIM_SCENARIO(bound_newest, "what is too much is complete when its submit returns", .bound = 1)
{
	init_bounded(BATON_BOUND_DROP_NEWEST, 1, 1, 0);
	sim_start(sim_does_piece_and_wait, sim_piece_init(1, 0, true));
	sim_start(sim_does_piece, sim_piece_init(2, 0, false));
	sim_drive(sim_scene.manual);
	sim_scene_end();
}

static void cancel_future(void *argument)
{
	struct sim_piece *piece = argument;
	int status = baton_future_cancel(&piece->future);

	sim_require(status == 0 || status == -EALREADY || status == -EINPROGRESS ||
	            status == -EINVAL);
}

SIM_SCENARIO(bound_newest_cancel, "dropped while somebody cancels it")
{
	init_bounded(BATON_BOUND_DROP_NEWEST, 1, 1, 0);
	sim_start(sim_does_piece_and_wait, sim_piece_init(1, 0, true));
	sim_start(cancel_future, &sim_scene.pieces[1]);
	sim_drive(sim_scene.manual);
	sim_scene_end();
}

SIM_SCENARIO(bound_oldest, "the oldest go, at the runner's look; beyond the second limit none come")
{
	init_bounded(BATON_BOUND_DROP_OLDEST, 1, 1, 2);
	sim_start(submit_maybe, sim_piece_init(1, 0, false));
	sim_start(submit_maybe, sim_piece_init(2, 1, false));
	sim_drive(sim_scene.manual);
	sim_scene_end();
}

static void close_it(void *none)
{
	(void)baton_resource_close(&sim_scene.topic.resource);
}

SIM_SCENARIO(bound_close, "a reservation that meets a close is taken back")
{
	init_bounded(BATON_BOUND_REFUSE, 1, 2, 0);
	sim_start(close_it, NULL);
	sim_start(submit_maybe, sim_piece_init(1, 0, true));
	sim_start(submit_maybe, sim_piece_init(2, 0, false));
	sim_drive(sim_scene.manual);
	sim_scene_end();
}

static void cancel_all(void *none)
{
	sim_require(baton_resource_cancel_pending(&sim_scene.topic.resource) == 0);
}

SIM_SCENARIO(bound_cancels, "counted through cancels of every kind", .bound = 1)
{
	init_bounded(BATON_BOUND_REFUSE, 2, 4, 2);
	sim_start(cancel_all, NULL);
	sim_start(cancel_future, &sim_scene.pieces[1]);
	sim_start(submit_maybe, sim_piece_init(2, 1, false));
	sim_drive(sim_scene.manual);
	sim_scene_end();
}

static unsigned highs;
static unsigned lows;

static void rises(struct baton_resource *resource, void *arg)
{
	sim_require(baton_held(resource));
	sim_require(highs++ == lows);
}

static void falls(struct baton_resource *resource, void *arg)
{
	sim_require(baton_held(resource));
	sim_require(++lows == highs);
}

SIM_SCENARIO(bound_marks, "high, low, high, low: under the baton, and low in the end")
{
	init_bounded(BATON_BOUND_REFUSE, 0, 8, 0);
	limits.tasks_high = 2;
	limits.high = rises;
	limits.low = falls;
	sim_require(sim_piece_submit_later(sim_piece_init(0, 0, false)) == 0);
	sim_start(sim_does_piece, sim_piece_init(1, 0, false));
	sim_start(sim_does_piece, sim_piece_init(2, 0, false));
	sim_drive(sim_scene.manual);
	sim_require(highs == lows);
	sim_scene_end();
}
