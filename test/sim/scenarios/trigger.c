/* SPDX-License-Identifier: MIT */
/*
 * Triggers: every fire that was accepted is answered by a run that sees what the firer did, or told
 * that it is cancelled; one run at most is pending; and it is never stuck.
 */
#include "support.h"

#include <baton/suspend.h>
#include <baton/trigger.h>

#include "base/atomic.h"

#define FIRERS 2

static struct sim_stage stage;
static struct baton_trigger trigger;
static uint32_t written[FIRERS]; /* by firers before they fire: relaxed */
static uint32_t seen[FIRERS];    /* of these, by the last run */
static uint64_t answered;        /* by the baton alone */
static uint64_t cancelled;
static unsigned runs;
static unsigned inside; /* fires so often in the next run */
static bool running;    /* by the baton alone */
static unsigned owned;  /* the memory is the owner's: so often */
static bool frees;      /* the function may free the trigger, if no run is queued */
static bool tells;      /* the function suspends its resource, and calls stop_then */
static struct baton_suspension suspension;
static uint64_t accepted[FIRERS + 1];

static void fire(unsigned who)
{
	int result = baton_trigger_fire(&trigger);

	sim_require(result == 0 || result == -EPIPE || result == -ECANCELED);
	accepted[who] += result == 0;
}

static void stop_then(void *argument);

static int run(struct baton_trigger *mine, uint64_t fires)
{
	sim_require(mine == &trigger && fires > 0);
	runs++;
	running = true;
	answered += fires;
	for (int i = 0; i < FIRERS; i++)
		seen[i] = load_relaxed(&written[i]);
	for (; inside > 0; inside--)
		fire(FIRERS);
	if (tells) {
		sim_require(baton_resource_suspend(&stage.topic.resource, &suspension) == 0);
		stop_then(NULL);
	}
	running = false;
	if (!frees || baton_trigger_stop(mine).met != BATON_STOP_RUNNING)
		return 0;
	sim_retire(&trigger, sizeof(trigger));
	return BATON_GONE;
}

/* Under the baton, or a refused submitter beside it. */
static void told(struct baton_trigger *mine, int error, uint64_t fires)
{
	sim_require(mine == &trigger && fires > 0);
	(void)add_relaxed(&cancelled, fires);
}

static void fire_once(void *argument)
{
	uint32_t *mine = argument;

	store_relaxed(mine, load_relaxed(mine) + 1);
	fire((unsigned)(mine - written));
}

static void fire_twice(void *argument)
{
	fire_once(argument);
	fire_once(argument);
}

static void begin(unsigned queued)
{
	sim_stage_init(&stage, 10, 64, queued);
	baton_trigger_init(&trigger, &stage.topic.resource, run);
	baton_trigger_set_dropped(&trigger, told);
}

/* Everything is over: `all` is to be answered. */
static void end(bool all)
{
	uint64_t sum = 0;

	sim_drive(stage.manual);
	for (int i = 0; i <= FIRERS; i++)
		sum += accepted[i];
	sim_require(!baton_trigger_is_pending(&trigger));
	sim_require(sum == answered + load_relaxed(&cancelled));
	if (all)
		sim_require(!load_relaxed(&cancelled));
	for (int i = 0; all && i < FIRERS; i++)
		sim_require(seen[i] == load_relaxed(&written[i]));
	sim_stage_end(&stage);
}

SIM_SCENARIO(trigger_2, "two fire beside each other: the last run sees what both did")
{
	begin(0);
	sim_start(fire_once, &written[0]);
	sim_start(fire_once, &written[1]);
	end(true);
}

SIM_SCENARIO(trigger_2_twice, "two fire twice, and it fires inside, too", .bound = 1)
{
	begin(0);
	inside = 1;
	sim_start(fire_twice, &written[0]);
	sim_start(fire_twice, &written[1]);
	end(true);
}

SIM_SCENARIO(trigger_queued, "behind tasks in an executor's queue", .bound = 1)
{
	begin(2);
	sim_start(fire_twice, &written[0]);
	sim_start(fire_once, &written[1]);
	sim_drive(stage.manual);
	sim_note_over(&stage.notes[0]);
	sim_note_over(&stage.notes[1]);
	end(true);
}

static void close_it(void *argument)
{
	(void)baton_resource_close(&stage.topic.resource);
}

SIM_SCENARIO(trigger_close, "who was not refused is answered, or told", .bound = 2)
{
	begin(0);
	sim_start(fire_once, &written[0]);
	sim_start(fire_once, &written[1]);
	sim_start(close_it, NULL);
	end(false);
}

static void cancel_all(void *argument)
{
	sim_require(baton_resource_cancel_pending(&stage.topic.resource) == 0);
}

SIM_SCENARIO(trigger_cancel_pending, "cancelled, it can be fired again", .bound = 1)
{
	begin(1);
	sim_start(fire_twice, &written[0]);
	sim_start(cancel_all, NULL);
	sim_drive(stage.manual);
	sim_note_over(&stage.notes[0]);
	fire(FIRERS);
	sim_require(runs > 0);
	end(false);
}

/* ---- Stop ---- */

static void give_back(struct sim_note *note)
{
	sim_retire(&trigger, sizeof(trigger));
}

static void fire_and_stop(void *argument)
{
	fire_once(argument);
	BATON_IGNORE(baton_trigger_stop(&trigger).met);
	sim_does_submit(&stage.notes[5]);
}

SIM_SCENARIO(trigger_stop, "a task submitted after the stop has the memory back")
{
	begin(1);
	sim_note_init(&stage.notes[5], &stage.topic, false);
	stage.notes[5].body = give_back;
	sim_start(fire_and_stop, &written[0]);
	sim_drive(stage.manual);
	sim_note_over(&stage.notes[0]);
	sim_require(runs <= 1 && answered <= accepted[0]);
	sim_stage_end(&stage);
}

SIM_SCENARIO(trigger_stop_queued, "stopped while it is queued it does not run")
{
	begin(1);
	fire(FIRERS);
	sim_require(baton_trigger_stop(&trigger).met == BATON_STOP_QUEUED);
	sim_start(fire_once, &written[0]);
	sim_drive(stage.manual);
	sim_note_over(&stage.notes[0]);
	sim_require(runs == 0 && accepted[0] == 0);
	sim_stage_end(&stage);
}

static void stop(void *argument)
{
	BATON_IGNORE(baton_trigger_stop(&trigger).met);
}

SIM_SCENARIO(trigger_stop_beside, "stopped beside fires it ends, and an await has the memory back",
             .bound = 2)
{
	begin(0);
	sim_start(fire_once, &written[0]);
	sim_start(fire_once, &written[1]);
	sim_start(stop, NULL);
	sim_drive(stage.manual);
	sim_require(!baton_trigger_is_pending(&trigger));
	sim_require(baton_trigger_fire(&trigger) == -ECANCELED);
	sim_require(answered <= accepted[0] + accepted[1]);
	sim_require(baton_resource_await(&stage.topic.resource) == 0);
	sim_retire(&trigger, sizeof(trigger));
	sim_stage_end(&stage);
}

static void own(void *argument)
{
	sim_require(argument == &owned && !running && !owned);
	owned++;
	sim_retire(&trigger, sizeof(trigger));
}

static void stop_then(void *argument)
{
	(void)baton_trigger_stop_then(&trigger, own, &owned);
}

static void stop_or_leave(void *argument)
{
	if (baton_trigger_stop(&trigger).met == BATON_STOP_NOTHING)
		own(&owned);
}

/* Every fire is over: the stops have the trigger to themselves, save for its run. */
static void begin_stop(void)
{
	begin(1);
	fire(0);
}

static void end_stop(void)
{
	sim_drive(stage.manual);
	sim_note_over(&stage.notes[0]);
	sim_stage_end(&stage);
	sim_require(owned == 1 && !running);
}

SIM_SCENARIO(trigger_told, "stopped beside its run: the owner is told once, and behind the run")
{
	begin_stop();
	sim_start(stop_then, NULL);
	end_stop();
	sim_require(runs <= 1 && !load_relaxed(&cancelled));
}

SIM_SCENARIO(trigger_told_inside, "its own function suspends and stops: told when it has returned")
{
	tells = true;
	begin(0);
	sim_start(fire_once, &written[0]);
	sim_join_all();
	sim_drive(stage.manual);
	sim_require(owned == 1);
	sim_require(baton_resource_resume(&suspension) == 0);
	sim_drive(stage.manual);
	sim_stage_end(&stage);
	sim_require(owned == 1 && runs == 1);
}

SIM_SCENARIO(trigger_told_again, "the same, while it fires itself", .bound = 2)
{
	begin_stop();
	inside = 1;
	sim_start(stop_then, NULL);
	end_stop();
}

SIM_SCENARIO(trigger_told_cancelled, "the same, beside a cancel of what is queued", .bound = 2)
{
	begin_stop();
	sim_start(stop_then, NULL);
	sim_start(cancel_all, NULL);
	end_stop();
	sim_require(answered + load_relaxed(&cancelled) <= accepted[0]);
}

SIM_SCENARIO(trigger_told_closed, "the same, on a resource that is closed meanwhile", .bound = 2)
{
	begin_stop();
	sim_start(stop_then, NULL);
	sim_start(close_it, NULL);
	end_stop();
}

static void fire_and_stop_then(void *argument)
{
	fire_once(argument);
	stop_then(NULL);
}

SIM_SCENARIO(trigger_told_refused, "the same, whose submit is perhaps refused", .bound = 2)
{
	begin(1);
	sim_start(fire_and_stop_then, &written[0]);
	sim_start(close_it, NULL);
	end_stop();
}

SIM_SCENARIO(trigger_stop_seen, "a stop beside its run that meets nothing has the memory back")
{
	begin_stop();
	sim_start(stop_or_leave, NULL);
	sim_drive(stage.manual);
	sim_note_over(&stage.notes[0]);
	if (!owned)
		stop_or_leave(NULL);
	sim_stage_end(&stage);
	sim_require(owned == 1);
}

SIM_SCENARIO(trigger_gone, "its function frees it, unless it has fired again", .bound = 2)
{
	begin_stop();
	frees = true;
	inside = sim_pick(2);
	sim_drive(stage.manual);
	sim_note_over(&stage.notes[0]);
	sim_stage_end(&stage);
	sim_require(runs == 1);
}
