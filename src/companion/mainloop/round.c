/* SPDX-License-Identifier: MIT */
/*
 * Running a loop's sources: one at a time, each in a task of the loop's resource (the pick). The
 * pick submits itself again while the round goes on, so other tasks of the resource run in between.
 * If the caller of the round holds the baton already, the sources run within the call.
 */
#include "companion/mainloop/mainloop.h"

#include <baton/board.h>

#include "companion/mainloop/depend.h"
#include "companion/mainloop/descriptor.h"
#include "companion/mainloop/places.h"

#include <errno.h>

#define ACTIVE BATON__SOURCE_ACTIVE
#define RUNNING BATON__SOURCE_RUNNING
#define FRESH BATON__SOURCE_FRESH

#define ALL_LEVELS (((uint32_t)1 << BATON_PRIORITIES) - 1)
/* drain asks the CUSTOM sources again after so many runs. */
#define DRAIN_ROUND 64
/* A round ends when the executor has run jobs so often in a row without a run of a source. */
#define PATIENCE 16
#define POSTS_PER_PICK 16
/* If so many last looks of a run have found new posts, the run tells the host to come again. */
#define PUBLISH_TRIES 4
/* The steps of baton__mainloop_absorb in one call of should_yield; a source takes two. */
#define YIELD_STEPS 1024
/* should_yield asks the kernel about descriptors when so long has passed since the last time. */
#define POLL_NS BATON_MILLISECOND

uint64_t baton__mainloop_next_due(const struct baton__mainloop *loop)
{
	return loop->mask || loop->ask_soon ? 0 : baton__places_next(loop);
}

/* ---- One source ---- */

/* Claims the source for a run. False: another thread has stopped it, or put it off, and has posted
 * it. */
static bool claim_source(struct baton__mainloop *loop, struct baton_source *source)
{
	const uint64_t clear = source->_config->again ? FRESH : FRESH | ACTIVE;
	uint64_t word = load_relaxed(&source->_state); /* validated by the CAS */

	baton__source_unlink(loop, source);
	/* Ends: a CAS fails only because of another thread's start, stop or post.
	 * [source.word] acquire: what the starter did; pairs with [source.word] in change_posted
	 */
	do {
		if (!(word & ACTIVE) || baton__source_due(word) > loop->now)
			return false;
		/* Acquire is enough: a thread that stops the source then is told RUNNING, and
		 * relies on no other data because of that. */
	} while (!cas_acq_rel(&source->_state, &word, (word & ~clear) | RUNNING));
	if (clear & ACTIVE)
		baton__descriptor_left(loop, source);
	return true;
}

/* The source's function has returned. A source that is `again` is started anew, unless it was
 * stopped or started meanwhile. */
static void finish_source(struct baton__mainloop *loop, struct baton_source *source)
{
	const struct baton_source_config *config = source->_config;
	uint64_t word = load_relaxed(&source->_state); /* validated by the CAS */
	uint64_t due = 0;
	uint64_t next;

	if (config->again && config->kind == BATON_SOURCE_TIMER)
		due = baton__mainloop_due_after(loop, config->period_ns);
	/* Ends: as in claim_source.
	 * [source.word] acquire: what a starter did; pairs with [source.word] in change_posted */
	do {
		next = word & ~RUNNING;
		if (word & ACTIVE && !(word & FRESH))
			next = (next & BATON__SOURCE_FLAGS) | due << BATON__SOURCE_DUE_SHIFT;
	} while (!cas_acq_rel(&source->_state, &word, next));
	baton__source_settle(loop, source, next);
}

static void enter_source(struct baton__mainloop *loop, struct baton__round *round,
                         struct baton_source *source)
{
	struct baton__source_run run = {
		.below = loop->running,
		.source = source,
		.dependent = source->_dependent,
		.began = loop->now,
		.level = source->_level,
	};
	int status;

	if (!claim_source(loop, source))
		return;
	round->may_run--;
	round->count++;
	if (loop->rest)
		loop->rest--;
	loop->running = &run;
	baton__count(&loop->stats.runs, 1);
	/* A trace reads the shown function when the pick has ended. */
	(void)baton_board_show(&loop->resource, (baton_shown_fn)source->_config->fn);
	status = source->_config->fn(source);
	loop->running = run.below;
	if (status < 0)
		baton__count(&loop->stats.failed, 1);
	if (status != BATON_GONE)
		finish_source(loop, source);
	else if (run.dependent)
		baton__dependent_end(loop, run.dependent);
}

static bool has_input(struct baton__mainloop *loop)
{
	const struct baton_mainloop_options *options = &loop->options;
	const bool asks = loop->asks; /* a `ready` may ask whether to yield */
	bool input;

	if (!options->any_input || options->deterministic)
		return false;
	loop->asks = true;
	input = options->any_input(options->arg,
	                           options->input_kinds ? options->input_kinds : UINT32_MAX);
	loop->asks = asks;
	return input;
}

/*
 * Brings the loop up to date: what other threads have posted, and what is due. After a look at the
 * inbox that took in n posts, n / POSTS_PER_PICK ready sources run before the next look. So threads
 * that start sources faster than the owner takes them in do not stop the loop.
 */
static void catch_up(struct baton__mainloop *loop, uint32_t levels)
{
	if (!loop->rest || !(loop->mask & levels))
		loop->rest = baton__mainloop_absorb(loop, BATON__ABSORB_ALL) / POSTS_PER_PICK;
	baton__places_expire(loop, baton__mainloop_clock(loop));
}

/* Counts the pick of a source for the aging. */
static void count_pick(struct baton__mainloop *loop, const struct baton_source *source,
                       uint32_t levels)
{
	if (!loop->options.aging)
		return;
	loop->picks++;
	if (source->_level == (unsigned)__builtin_ctz(loop->mask & levels))
		return;
	loop->picks = 0;
	baton__count(&loop->stats.out_of_order, 1);
}

/* Runs the next source of the round. False: there is none. The caller holds the baton. */
static bool step(struct baton__mainloop *loop, struct baton__round *round)
{
	struct baton_source *source;

	catch_up(loop, round->levels);
	if (!round->asked) {
		round->asked = true;
		baton__count(&loop->stats.rounds, 1);
		baton__places_ask(loop);
	}
	if (loop->now >= round->deadline)
		round->may_run = 0;
	if (!round->may_run)
		return false;
	source = baton__places_pick(loop, round->levels);
	if (!source)
		return false;
	if (source->_config->kind == BATON_SOURCE_IDLE && has_input(loop)) {
		round->gave_way = true;
		baton__count(&loop->stats.gave_way, 1);
		return false;
	}
	count_pick(loop, source, round->levels);
	enter_source(loop, round, source);
	return true;
}

/* ---- A round ---- */

/* Is there something to do in this round, as far as the loop has looked? */
static bool wants_pick(const struct baton__mainloop *loop, const struct baton__round *round)
{
	if (round->gave_way || round->error)
		return false;
	if (!round->asked && !baton__links_empty(&loop->asking))
		return true;
	return round->may_run && loop->mask & round->levels;
}

static void submit_pick(struct baton__mainloop *loop, struct baton__round *round)
{
	/* Set before the submit: a bound may drop the pick within the submit. */
	loop->pick_queued = true;
	round->error = baton_submit_later(&loop->resource, &loop->pick);
	if (round->error)
		loop->pick_queued = false;
}

static int run_pick(struct baton_task *task)
{
	struct baton__mainloop *loop = baton_container_of(task, struct baton__mainloop, pick);
	struct baton__round *round = loop->round;

	loop->pick_queued = false;
	if (!round)
		/* The resource was suspended when the round ended, or the owner runs this task in a
		 * wait. The host is told to run the loop again. */
		baton_loop_wake(loop->executor);
	else if (step(loop, round) && wants_pick(loop, round))
		submit_pick(loop, round);
	return 0;
}

/*
 * The user may cancel all that is pending on the loop's resource, or give it a bound. A round that
 * is under way submits the pick again. Outside of a round the host begins one: the job that carried
 * out the cancel has made the descriptor readable.
 */
static void pick_cancelled(struct baton_task *task)
{
	baton_container_of(task, struct baton__mainloop, pick)->pick_queued = false;
}

const struct baton_task_type baton__mainloop_pick = {.run = run_pick, .cancelled = pick_cancelled};

/* Runs a round whose caller does not hold the baton: the picks, and the executor's other jobs. */
static void drive_round(struct baton__mainloop *loop, struct baton__round *round)
{
	int64_t count = round->count;
	unsigned patience = PATIENCE;
	bool more = true;

	/* Ends when `may_run` is 0 or nothing is ready. Ends also if the executor runs nothing, or
	 * for too long only tasks of other resources: then the loop's resource is suspended. */
	catch_up(loop, round->levels);
	while (more && patience--) {
		if (!loop->pick_queued && wants_pick(loop, round)) {
			baton_loop_gather(loop->executor);
			submit_pick(loop, round);
		}
		more = baton_loop_run(loop->executor, 0);
		/* Time may have passed in the sources, also virtual time (baton_mainloop_pass). */
		catch_up(loop, round->levels);
		more = more && (loop->pick_queued || wants_pick(loop, round));
		if (round->count > count)
			patience = PATIENCE;
		count = round->count;
	}
}

/* The priorities, as bits, that a round may run if it begins now. */
static uint32_t levels_now(const struct baton__mainloop *loop)
{
	return loop->running ? ((uint32_t)2 << loop->running->level) - 1 : ALL_LEVELS;
}

static bool held(const struct baton__mainloop *loop)
{
	return baton_held(&loop->resource);
}

static void run_round(struct baton__mainloop *loop, struct baton__round *round)
{
	baton_shown_fn shown;

	round->below = loop->round;
	round->depth = loop->round ? loop->round->depth + 1 : 1;
	loop->round = round;
	round->asked = false;
	(void)baton__mainloop_absorb(loop, BATON__ABSORB_ALL);
	baton__descriptors_poll(loop);
	if (held(loop)) {
		/* After this round a board shows the outer source, or task, again. */
		shown = baton_board_show(&loop->resource, NULL);
		/* Ends: `may_run` counts down, or nothing is ready. */
		while (step(loop, round))
			;
		(void)baton_board_show(&loop->resource, shown);
	} else {
		drive_round(loop, round);
	}
	loop->round = round->below;
}

/* The owner begins to run the loop: until publish_alarm, nobody has to wake it. */
static void awake(struct baton__mainloop *loop)
{
	/* Relaxed: a wake too many does no harm. */
	store_relaxed(&loop->alarm, 0);
}

/* The owner stops running the loop: the host comes at the next deadline, or when it is woken. */
static void publish_alarm(struct baton__mainloop *loop)
{
	baton__descriptors_tell(loop);
	if (loop->round)
		return; /* a nested run */
	/* Each round but the first follows another thread's post. */
	for (unsigned tries = 0;; tries++) {
		/* A pick that is queued signals by itself when it runs. Until then (the resource
		 * is suspended) the loop has nothing to do. */
		const uint64_t due =
			loop->pick_queued ? BATON_NEVER : baton__mainloop_next_due(loop);

		if (!due || tries == PUBLISH_TRIES) {
			baton_loop_wake(loop->executor);
			return;
		}
		/* [mainloop.alarm] seq_cst: before the look at the inbox; pairs with
		 * [mainloop.alarm] in wake. Relaxed is enough: `published` is counted. A poster
		 * that loads the new count after its push has acquired this alarm; if the poster
		 * loads an older count, the owner's look at the inbox comes after the push. */
		store_seq_cst(&loop->alarm, due);
		/* Relaxed load: only the owner stores. Seq_cst: between `alarm` and the look
		 * (mainloop.published). */
		store_seq_cst(&loop->published, load_relaxed(&loop->published) + 1);
		/* Seq_cst: mainloop.alarm. */
		if (!load_seq_cst(&loop->inbox))
			return;
		awake(loop);
		(void)baton__mainloop_absorb(loop, BATON__ABSORB_ALL);
		baton__descriptors_tell(loop);
	}
}

/* ---- The calls ---- */

/* The loop, if the caller may run it now. NULL: `*error` says why not. */
static struct baton__mainloop *enter_loop(const struct baton_mainloop *handle, int *error)
{
	struct baton__mainloop *loop = baton__mainloop_of(handle);

	*error = baton_thread_attach();
	if (*error)
		return NULL;
	if (!loop)
		*error = -ESHUTDOWN;
	else if (!baton_loop_is_owner(loop->executor))
		*error = -EPERM;
	else if (loop->asks || (loop->round && loop->round->depth >= BATON_NESTING_MAX))
		*error = -EDEADLK;
	return *error ? NULL : loop;
}

/* What a call returns: how many sources ran, or, if none did, the error. */
static int64_t outcome(const struct baton__round *round)
{
	return round->error && !round->count ? round->error : round->count;
}

/* A round of at most so many sources; 0: until none is ready. */
static struct baton__round round_of(size_t sources_max)
{
	return (struct baton__round){.deadline = BATON_NEVER,
	                             .may_run = sources_max ? sources_max : SIZE_MAX};
}

BATON_EXPORT int64_t baton_mainloop_run(struct baton_mainloop *handle, size_t sources_max)
{
	int error;
	struct baton__mainloop *loop = enter_loop(handle, &error);
	struct baton__round round = round_of(sources_max);

	if (!loop)
		return error;
	awake(loop);
	round.levels = levels_now(loop);
	run_round(loop, &round);
	publish_alarm(loop);
	return outcome(&round);
}

BATON_EXPORT int64_t baton_mainloop_drain_until(struct baton_mainloop *handle, uint64_t deadline_ns)
{
	int error;
	struct baton__mainloop *loop = enter_loop(handle, &error);
	struct baton__round round = {.deadline = deadline_ns};
	int64_t before;

	if (!loop)
		return error;
	awake(loop);
	round.levels = levels_now(loop);
	/* Ends when no source is ready or to be asked, a round gives way or fails, or at the
	 * deadline. */
	do {
		before = round.count;
		round.may_run = DRAIN_ROUND;
		run_round(loop, &round);
	} while ((round.count > before || loop->ask_soon) && !round.gave_way && !round.error &&
	         loop->now < deadline_ns);
	publish_alarm(loop);
	return outcome(&round);
}

/* Moves the virtual clock to the next deadline, at most to `time_ns`. False: the clock is there
 * already. */
static bool move_clock(struct baton__mainloop *loop, uint64_t time_ns)
{
	uint64_t next = baton__places_next(loop);

	if (next > time_ns)
		next = time_ns;
	if (next <= loop->now)
		return false;
	/* Relaxed: a time; other threads may read it. */
	store_relaxed(&loop->virtual_now, next);
	baton__places_expire(loop, next);
	return true;
}

BATON_EXPORT int64_t baton_mainloop_advance_to(struct baton_mainloop *handle, uint64_t time_ns,
                                               size_t sources_max)
{
	int error;
	struct baton__mainloop *loop = enter_loop(handle, &error);
	struct baton__round round = round_of(sources_max);

	if (!loop)
		return error;
	if (loop->round || held(loop))
		return -EDEADLK;
	if (!loop->options.deterministic || time_ns > BATON_MAINLOOP_TIME_MAX ||
	    time_ns < baton__mainloop_clock(loop))
		return -EINVAL;
	awake(loop);
	round.levels = ALL_LEVELS;
	/* Ends: a source runs, and `may_run` counts down (0 sources_max: or none is ready); or the
	 * clock moves on. */
	do
		run_round(loop, &round);
	while (round.may_run && !round.error && (loop->ask_soon || move_clock(loop, time_ns)));
	publish_alarm(loop);
	return outcome(&round);
}

BATON_EXPORT int baton_mainloop_pass(struct baton_mainloop *handle, uint64_t span_ns)
{
	struct baton__mainloop *loop = baton__mainloop_of(handle);
	uint64_t now;

	if (!loop)
		return -ESHUTDOWN;
	if (!baton_loop_is_owner(loop->executor))
		return -EPERM;
	now = baton__mainloop_clock(loop);
	if (!loop->options.deterministic || !loop->running ||
	    span_ns > BATON_MAINLOOP_TIME_MAX - now)
		return -EINVAL;
	/* Relaxed: as in move_clock. */
	store_relaxed(&loop->virtual_now, now + span_ns);
	return 0;
}

bool baton__mainloop_yields(void *arg)
{
	struct baton__mainloop *loop = arg;
	const struct baton__source_run *run = loop->running;
	const uint64_t slice =
		loop->options.slice_ns ? loop->options.slice_ns : BATON_MAINLOOP_SLICE;
	uint32_t urgent;

	if (!run)
		return false;
	urgent = ((uint32_t)1 << run->level) - 1;
	if (!(loop->mask & urgent))
		(void)baton__mainloop_absorb(loop, YIELD_STEPS);
	baton__places_expire(loop, baton__mainloop_clock(loop));
	if (loop->watched && loop->now - loop->polled >= POLL_NS)
		baton__descriptors_poll(loop);
	return loop->now - run->began >= slice || loop->mask & urgent || has_input(loop);
}

BATON_EXPORT bool baton_mainloop_should_yield(struct baton_mainloop *handle)
{
	struct baton__mainloop *loop = baton__mainloop_of(handle);

	return loop && baton_loop_is_owner(loop->executor) && baton__mainloop_yields(loop);
}
