/* SPDX-License-Identifier: MIT */
/*
 * The idle path that programs compile themselves (baton/inline.h), beside the library's.
 */
#include "support.h"

#include <baton/inline.h>
#include <baton/manual.h>

#include <errno.h>

static struct sim_topic topic;
static struct sim_note notes[6];
static int count;

static void submit_two(void *argument)
{
	struct sim_note *first = argument;

	for (int i = 0; i < 2; i++) {
		sim_note_init(&first[i], &topic, false);
		sim_note_begin(&first[i]);
		sim_require(sim_note_end(&first[i], baton_submit_inline(&topic.resource,
		                                                        &first[i].task)) == 0);
	}
}

static void submit_two_by_the_library(void *argument)
{
	struct sim_note *first = argument;

	for (int i = 0; i < 2; i++) {
		sim_note_init(&first[i], &topic, false);
		sim_require(sim_note_submit(&first[i]) == 0);
	}
}

static void end(unsigned expected)
{
	sim_settled(&topic);
	sim_topic_close(&topic);
	sim_require(topic.changes == (int)expected + 1);
}

SIM_SCENARIO(inline_submit_2, "L1, L2, L3: two submitters, both inlined")
{
	sim_topic_init(&topic, 10, 64, NULL);
	sim_start(submit_two, &notes[0]);
	sim_start(submit_two, &notes[2]);
	sim_join_all();
	end(4);
}

SIM_SCENARIO(inline_submit_beside, "L1, L2, L3: one submitter inlined, one by the library")
{
	sim_topic_init(&topic, 10, 64, NULL);
	sim_start(submit_two, &notes[0]);
	sim_start(submit_two_by_the_library, &notes[2]);
	sim_join_all();
	end(4);
}

SIM_SCENARIO(inline_hand_off, "what comes during an inlined submit is handed off at the limit")
{
	struct baton_manual *manual;

	sim_require(baton_manual_create(&manual) == 0);
	sim_topic_init(&topic, 1, 1, baton_manual_executor(manual));
	sim_start(submit_two, &notes[0]);
	sim_start(submit_two, &notes[2]);
	sim_drive(manual);
	end(4);
	baton_manual_destroy(manual);
}

/* ---- Calls ---- */

static void *add_one(void *arg)
{
	int *number = arg;

	++*number;
	return number;
}

static void call(void *argument)
{
	void *value = NULL;

	sim_require(baton_call_inline(&topic.resource, add_one, &count, &value) == 0);
	sim_require(value == &count);
}

static void call_by_the_library(void *argument)
{
	sim_require(baton_call(&topic.resource, add_one, &count, NULL) == 0);
}

SIM_SCENARIO(inline_call_2, "L1: two calls, one inlined; the other waits, or runs at once")
{
	sim_topic_init(&topic, 10, 64, NULL);
	sim_start(call, NULL);
	sim_start(call_by_the_library, NULL);
	sim_join_all();
	sim_require(count == 2);
	sim_settled(&topic);
	sim_topic_close(&topic);
}

/* ---- The release is not the last word ---- */

static void *again(void *arg)
{
	struct baton_resource *resource = arg;

	sim_require(baton_held(resource) && baton_current() == resource);
	sim_require(baton_call_inline(resource, add_one, &count, NULL) == -EDEADLK);
	sim_note_init(&notes[0], &topic, false);
	sim_note_begin(&notes[0]);
	sim_require(sim_note_end(&notes[0], baton_submit_inline(resource, &notes[0].task)) == 0);
	sim_require(notes[0].fate == SIM_ACCEPTED);
	return NULL;
}

static void call_again(void *argument)
{
	sim_require(baton_call_inline(&topic.resource, again, &topic.resource, NULL) == 0);
	sim_require(!baton_held(&topic.resource) && !baton_current());
}

SIM_SCENARIO(inline_recursion, "a submit inside a call of the same resource goes behind")
{
	sim_topic_init(&topic, 10, 64, NULL);
	sim_start(call_again, NULL);
	sim_start(call_by_the_library, NULL);
	sim_join_all();
	sim_settled(&topic);
	sim_require(notes[0].fate == SIM_RAN);
	sim_require(count == 1);
	sim_topic_close(&topic);
}

/* ---- Close ---- */

static void submit_or_not(void *argument)
{
	struct sim_note *note = argument;
	int status;

	sim_note_init(note, &topic, false);
	sim_note_begin(note);
	status = sim_note_end(note, baton_submit_inline(&topic.resource, &note->task));
	sim_require(status == 0 || status == -EPIPE);
}

static void call_or_not(void *argument)
{
	int status = baton_call_inline(&topic.resource, add_one, &count, NULL);

	sim_require(status == 0 || status == -EPIPE);
	sim_require(count == (status == 0));
}

SIM_SCENARIO(inline_close, "L10: after close and await nobody touches the resource")
{
	unsigned submitter;
	unsigned caller;

	sim_topic_init(&topic, 10, 64, NULL);
	submitter = sim_start(submit_or_not, &notes[0]);
	caller = sim_start(call_or_not, NULL);
	sim_require(baton_resource_close(&topic.resource) == 0);
	sim_join(submitter);
	sim_join(caller);
	sim_require(baton_resource_await(&topic.resource) == 0);
	sim_retire(&topic, sizeof(topic));
}

/* ---- L4 ---- */

static struct sim_stage stage;

static void submit_one(void *argument)
{
	struct sim_note *note = argument;

	sim_note_begin(note);
	sim_require(sim_note_end(note, baton_submit_inline(&note->topic->resource, &note->task)) ==
	            0);
}

SIM_UNSEEN static void nobody_else_is_delayed(void)
{
	sim_not_delayed(&stage.topic);
}

SIM_SCENARIO(inline_frozen, "L4: a thread stopped in an inlined submit delays no other's",
             .bound = 1, .freeze = 1, .frozen = nobody_else_is_delayed)
{
	sim_stage_init(&stage, 10, 64, 0);
	for (int i = 0; i < 2; i++) {
		sim_note_init(&notes[i], &stage.topic, false);
		sim_start(submit_one, &notes[i]);
	}
	sim_drive(stage.manual);
	sim_stage_end(&stage);
}
