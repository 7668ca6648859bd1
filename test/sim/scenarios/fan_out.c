/* SPDX-License-Identifier: MIT */
/*
 * Fan-outs: each item is over once, the waiter sees what all did, the block is freed once.
 */
#include "support.h"

#include <baton/fan_out.h>
#include <baton/manual.h>

#include "base/atomic.h"

static struct sim_stage stage; /* its topic's job is in a queue */
static struct sim_topic other; /* idle at first */
static struct baton_resource *resources[3];
static struct baton_fan_out *fan_out;
static uint32_t flags;
static int failing;
static int ran[3]; /* plain: by items, read when all is over */

static int visit(struct baton_resource *resource, void *arg, size_t index)
{
	sim_require(resource == resources[index]);
	sim_require(baton_held(resource));
	sim_require(arg == ran);
	ran[index]++;
	return (int)index == failing ? -EIO : 0;
}

static void begin(unsigned queued)
{
	sim_stage_init(&stage, 10, 64, queued);
	sim_topic_init(&other, 10, 64, baton_manual_executor(stage.manual));
	resources[0] = &stage.topic.resource;
	resources[1] = &other.resource;
	resources[2] = &stage.topic.resource;
	failing = -1;
}

static void submit_it(unsigned count, struct baton_fan_out **result)
{
	struct baton_fan_out_options options = {.fn = visit, .arg = ran, .flags = flags};

	sim_require(baton_fan_out_submit(resources, count, &options, result) == 0);
}

/* It is over: what it says is what has happened. Returns how many items ran. */
static unsigned over(unsigned count)
{
	struct baton_fan_out_stats counts;
	unsigned runs = 0;

	baton_fan_out_stats_read(fan_out, &counts);
	sim_require(counts.left == 0 && counts.count == count);
	for (unsigned i = 0; i < count; i++) {
		sim_require(ran[i] <= 1);
		runs += (unsigned)ran[i];
		if (!ran[i])
			sim_require(baton_fan_out_item_status(fan_out, i));
	}
	sim_require(runs + counts.cancelled + counts.failed - (failing >= 0 && ran[failing]) ==
	            count);
	return runs;
}

static void end(void)
{
	sim_settled(&other);
	sim_topic_close(&other);
	sim_stage_end(&stage);
}

static void submit_and_wait(void *argument)
{
	submit_it(3, &fan_out);
	sim_require(baton_fan_out_wait(fan_out) == 0);
	sim_require(over(3) == 3);
	baton_fan_out_unref(fan_out);
}

SIM_SCENARIO(fan_out_wait, "a waiter helps, beside the executor's thread", .bound = 1)
{
	begin(1);
	sim_start(submit_and_wait, NULL);
	sim_drive(stage.manual);
	sim_note_over(&stage.notes[0]);
	end();
}

SIM_SCENARIO(fan_out_alone, "the only thread that can run the items is the one that waits")
{
	/* Without this flag the submitter borrows the baton, and runs all items before the wait. */
	flags = BATON_FAN_OUT_LATER;
	begin(2);
	submit_and_wait(NULL);
	sim_drive(stage.manual);
	sim_note_over(&stage.notes[0]);
	sim_note_over(&stage.notes[1]);
	end();
}

static void submit_later_and_wait(void *argument)
{
	flags = BATON_FAN_OUT_LATER;
	submit_and_wait(argument);
}

SIM_SCENARIO(fan_out_later, "the same where nothing runs at the submitter's", .bound = 1)
{
	begin(0);
	sim_start(submit_later_and_wait, NULL);
	sim_drive(stage.manual);
	end();
}

static void submit_and_drop(void *argument)
{
	submit_it(3, &fan_out);
	baton_fan_out_unref(fan_out);
}

SIM_SCENARIO(fan_out_drop, "dropped beside its completion it is freed once", .bound = 2)
{
	begin(1);
	sim_start(submit_and_drop, NULL);
	sim_drive(stage.manual);
	sim_note_over(&stage.notes[0]);
	for (int i = 0; i < 3; i++)
		sim_require(ran[i] == 1);
	end();
}

/* Two hold it; each waits in its own way. */
static void wait_for_future(void *argument)
{
	sim_require(baton_future_wait(baton_fan_out_future(fan_out)) == 0);
	sim_require(over(2) == 2);
	baton_fan_out_unref(fan_out);
}

static void wait_helping(void *argument)
{
	sim_require(baton_fan_out_wait(fan_out) == 0);
	(void)over(2);
	baton_fan_out_unref(fan_out);
}

SIM_SCENARIO(fan_out_two_waiters, "one helps, one waits for the countdown alone", .bound = 1)
{
	begin(1);
	submit_it(2, &fan_out);
	(void)baton_fan_out_ref(fan_out);
	sim_start(wait_for_future, NULL);
	sim_start(wait_helping, NULL);
	sim_drive(stage.manual);
	sim_note_over(&stage.notes[0]);
	end();
}

/* Another thread learns of it from inside, and of an item before all are over. */
static uint32_t known;

static int make_known(struct baton_resource *resource, void *arg, size_t index)
{
	if (index == 0) {
		(void)baton_fan_out_ref(fan_out);
		store_release(&known, 1);
	}
	return visit(resource, arg, index);
}

static void look_at_item(void *argument)
{
	while (!load_acquire(&known))
		sim_yield();
	while (baton_fan_out_item_status(fan_out, 1) == -EAGAIN)
		sim_yield();
	sim_require(ran[1] == 1);
	sim_require(baton_fan_out_wait(fan_out) == 0);
	(void)over(3);
	baton_fan_out_unref(fan_out);
}

SIM_SCENARIO(fan_out_item, "who sees an item over sees what it did; a waiter beside the submitter",
             .bound = 1)
{
	struct baton_fan_out_options options = {.fn = make_known, .arg = ran};

	begin(0);
	sim_start(look_at_item, NULL);
	sim_require(baton_fan_out_submit(resources, 3, &options, &fan_out) == 0);
	baton_fan_out_unref(fan_out);
	sim_drive(stage.manual);
	end();
}

/* ---- Cancelling ---- */

static void cancel_it(void *argument)
{
	int result = baton_fan_out_cancel(fan_out);

	sim_require(result == 0 || result == -EALREADY);
}

SIM_SCENARIO(fan_out_cancel, "cancelled beside its items each of them runs or is counted",
             .bound = 2)
{
	begin(1);
	submit_it(3, &fan_out);
	sim_start(cancel_it, NULL);
	sim_drive(stage.manual);
	sim_note_over(&stage.notes[0]);
	sim_require(baton_fan_out_wait(fan_out) == 0);
	(void)over(3);
	baton_fan_out_unref(fan_out);
	end();
}

static void cancel_future(void *argument)
{
	int result = baton_future_cancel(baton_fan_out_future(fan_out));

	sim_require(result == 0 || result == -EALREADY);
}

SIM_SCENARIO(fan_out_cancel_future, "who cancels its future ends no wait before its items",
             .bound = 1)
{
	begin(1);
	submit_it(2, &fan_out);
	(void)baton_fan_out_ref(fan_out);
	sim_start(cancel_future, NULL);
	sim_start(wait_helping, NULL);
	sim_drive(stage.manual);
	sim_note_over(&stage.notes[0]);
	sim_require(baton_fan_out_wait(fan_out) == 0);
	(void)over(2);
	baton_fan_out_unref(fan_out);
	end();
}

static void cancel_resource(void *argument)
{
	sim_require(baton_resource_cancel_pending(&stage.topic.resource) == 0);
}

SIM_SCENARIO(fan_out_cancel_pending, "what a resource cancels is over, too", .bound = 1)
{
	begin(1);
	submit_it(3, &fan_out);
	sim_start(cancel_resource, NULL);
	sim_drive(stage.manual);
	sim_note_over(&stage.notes[0]);
	sim_require(baton_fan_out_wait(fan_out) == 0);
	(void)over(3);
	baton_fan_out_unref(fan_out);
	end();
}

static void submit_failing(void *argument)
{
	size_t index = 3;

	flags = BATON_FAN_OUT_CANCEL_ON_FAILURE;
	submit_it(3, &fan_out);
	sim_require(baton_fan_out_wait(fan_out) == 0);
	(void)over(3);
	sim_require(baton_fan_out_status(fan_out, &index) == (ran[1] ? -EIO : -EPIPE));
	sim_require(index == 1);
	baton_fan_out_unref(fan_out);
}

static void close_other(void *argument)
{
	(void)baton_resource_close(&other.resource);
}

SIM_SCENARIO(fan_out_refused, "a resource that is closed meanwhile is one failure", .bound = 1)
{
	begin(1);
	failing = 1;
	sim_start(submit_failing, NULL);
	sim_start(close_other, NULL);
	sim_drive(stage.manual);
	sim_note_over(&stage.notes[0]);
	end();
}

static void submit_for_the_first(void *argument)
{
	size_t index = 3;

	flags = BATON_FAN_OUT_CANCEL_ON_SUCCESS;
	submit_it(3, &fan_out);
	sim_require(baton_fan_out_wait(fan_out) == 0);
	(void)over(3);
	sim_require(baton_fan_out_status(fan_out, &index) == 0);
	/* The third is behind the first in the same resource. */
	sim_require(index < 2 && ran[index] == 1 && !ran[2]);
	baton_fan_out_unref(fan_out);
}

SIM_SCENARIO(fan_out_first, "two may be done first; one of them is, and the third does not run",
             .bound = 1)
{
	begin(1);
	sim_start(submit_for_the_first, NULL);
	sim_drive(stage.manual);
	sim_note_over(&stage.notes[0]);
	end();
}
