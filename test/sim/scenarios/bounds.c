/* SPDX-License-Identifier: MIT */
/*
 * Bounds: never exceeded, never short of what they allow, and balanced whatever becomes of a task.
 */
#include "stamped.h"

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
	if (policy == BATON_BOUND_DROP_OLDEST || policy == BATON_BOUND_DROP_LOWEST) {
		limits.tasks_hard = max + 1;
		/* Besides, what each of two submitters drops for next. */
		most = max + 3;
	}
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
	limits.timeout_ns = 1000;
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

/* As init_bounded, with one limit. */
static void init_lent(unsigned queued, uint32_t max)
{
	init_bounded(BATON_BOUND_DROP_OLDEST, 0, max, 2);
	limits.tasks_hard = 0;
	most = max + 2;
	sim_calm(true);
	for (unsigned i = 0; i < queued; i++)
		sim_require(sim_piece_submit_later(sim_piece_init(i, 0, true)) == 0);
	sim_calm(false);
}

static void submit_own(struct sim_piece *piece)
{
	submit_maybe(piece + 1);
}

static void submit_three(void *arg)
{
	struct sim_piece *piece = arg;

	for (int i = 0; i < 3; i++)
		submit_maybe(piece + i);
}

SIM_SCENARIO(bound_lent, "two drop for their tasks while a task runs, or in the queue")
{
	init_lent(2, 2);
	sim_start(submit_maybe, sim_piece_init(2, 0, false));
	sim_start(submit_maybe, sim_piece_init(3, 1, true));
	sim_drive(sim_scene.manual);
	sim_scene_end();
}

SIM_SCENARIO(bound_lent_own, "a task drops for its own submit, beside a submitter")
{
	init_lent(2, 1);
	sim_scene.pieces[1].body = submit_own;
	(void)sim_piece_init(2, 0, false);
	sim_start(submit_maybe, sim_piece_init(3, 0, false));
	sim_drive(sim_scene.manual);
	sim_scene_end();
}

static void fills_and_asks(struct sim_piece *piece)
{
	submit_maybe(piece + 1);
	(void)baton_should_yield();
}

SIM_SCENARIO(bound_lent_yield, "a task looks at the queue that it has lent")
{
	init_lent(1, 1);
	sim_scene.pieces[0].body = fills_and_asks;
	(void)sim_piece_init(1, 0, false);
	sim_start(submit_maybe, sim_piece_init(2, 0, false));
	sim_drive(sim_scene.manual);
	sim_scene_end();
}

static void *called(void *arg)
{
	sim_scene.topic.changes++;
	return arg;
}

static void calls(void *none)
{
	int status = baton_try_call(&sim_scene.topic.resource, called, NULL, NULL);

	sim_require(status == 0 || status == -EAGAIN || status == -EPIPE);
}

SIM_SCENARIO(bound_lent_call, "a call that runs at once lends the queue, too", .bound = 1)
{
	init_lent(0, 1);
	sim_start(calls, NULL);
	sim_start(submit_maybe, sim_piece_init(0, 0, false));
	submit_maybe(sim_piece_init(1, 0, false));
	submit_maybe(sim_piece_init(2, 0, false));
	sim_drive(sim_scene.manual);
	sim_scene_end();
}

static void suspends(void *none)
{
	struct baton_suspension suspension = BATON_SUSPENSION_INIT;

	sim_require(baton_resource_suspend(&sim_scene.topic.resource, &suspension) == 0);
	submit_maybe(sim_piece_init(2, 0, false));
	sim_require(baton_resource_resume(&suspension) == 0);
}

SIM_SCENARIO(bound_lent_shelf, "dropped from a suspended resource while it is resumed", .bound = 1)
{
	init_lent(1, 1);
	sim_start(suspends, NULL);
	sim_start(submit_maybe, sim_piece_init(1, 0, false));
	sim_drive(sim_scene.manual);
	sim_scene_end();
}

SIM_SCENARIO(bound_lent_resume, "dropped from a full resource while it is resumed")
{
	struct baton_suspension suspension = BATON_SUSPENSION_INIT;

	init_lent(0, 1);
	sim_calm(true);
	sim_require(baton_resource_suspend(&sim_scene.topic.resource, &suspension) == 0);
	submit_maybe(sim_piece_init(0, 0, false));
	sim_calm(false);
	sim_start(submit_maybe, sim_piece_init(1, 0, false));
	sim_require(baton_resource_resume(&suspension) == 0);
	sim_drive(sim_scene.manual);
	sim_scene_end();
}

static struct baton_detached held;
static bool holds;

static void detaches(struct sim_piece *piece)
{
	holds = true;
	sim_require(baton_detach(&held, BATON_DETACH_EXCLUSIVE) == 0);
}

static void is_not_held(struct sim_piece *piece)
{
	sim_require(!holds);
}

/* The first task detaches itself while a thread runs `body`. Then the token is completed. */
static void detach_beside(void (*body)(void *), unsigned pieces)
{
	init_lent(1, 1);
	baton_detached_init(&held);
	holds = false;
	sim_scene.pieces[0].body = detaches;
	for (unsigned i = 1; i <= pieces; i++) {
		(void)sim_piece_init(i, 0, false);
		sim_scene.pieces[i].body = is_not_held;
	}
	sim_start(body, &sim_scene.pieces[1]);
	sim_drive(sim_scene.manual);
	sim_join_all();
	holds = false;
	/* Or it has been dropped. */
	BATON_IGNORE(baton_detached_complete(&held, 0, NULL));
	sim_drive(sim_scene.manual);
	sim_scene_end();
}

SIM_SCENARIO(bound_lent_detach, "dropped while the task that runs asks for the shelf", .bound = 2)
{
	detach_beside(submit_maybe, 1);
}

/* The first submit fills the bound. The second submit takes the queue, and the runner may leave the
 * resource to it. The third submit borrows the baton, if it finds the resource queued. */
SIM_SCENARIO(bound_lent_detach_again, "the same, and dropped again behind the first drop",
             .bound = 2)
{
	detach_beside(submit_three, 3);
}

SIM_UNSEEN static void nobody_waits_for_a_stopped_one(void)
{
	sim_not_delayed(&sim_scene.topic);
}

SIM_SCENARIO(bound_lent_frozen, "who is stopped with the queue delays no thread", .bound = 1,
             .freeze = 1, .frozen = nobody_waits_for_a_stopped_one)
{
	init_lent(1, 1);
	sim_start(submit_maybe, sim_piece_init(1, 0, false));
	sim_start(submit_maybe, sim_piece_init(2, 0, false));
	sim_drive(sim_scene.manual);
	sim_scene_end();
}

static void close_it(void *none)
{
	(void)baton_resource_close(&sim_scene.topic.resource);
}

static void cancel_all(void *none)
{
	sim_require(baton_resource_cancel_pending(&sim_scene.topic.resource) == 0);
}

/* What it has submitted, and what another thread submits beside it, is accepted before the close,
 * and cancelled; or refused. */
static void closes_and_cancels(struct sim_piece *piece)
{
	submit_maybe(piece + 1);
	sim_start(submit_maybe, piece + 2);
	close_it(NULL);
	cancel_all(NULL);
}

static void must_not_run(struct sim_piece *piece)
{
	sim_require(false);
}

SIM_SCENARIO(bound_lent_close, "dropped for while the resource is closed, and all is cancelled")
{
	init_lent(1, 1);
	sim_scene.pieces[0].body = closes_and_cancels;
	(void)sim_piece_init(1, 0, false);
	(void)sim_piece_init(2, 0, false);
	sim_scene.pieces[1].body = must_not_run;
	sim_scene.pieces[2].body = must_not_run;
	sim_drive(sim_scene.manual);
	sim_scene_end();
}

SIM_SCENARIO(bound_lent_cancel, "dropped for while all that waits is cancelled, or one task",
             .bound = 1)
{
	init_lent(2, 2);
	sim_start(cancel_all, NULL);
	sim_start(cancel_future, &sim_scene.pieces[1]);
	sim_start(submit_maybe, sim_piece_init(2, 0, true));
	sim_drive(sim_scene.manual);
	sim_scene_end();
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
