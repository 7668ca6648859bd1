/* SPDX-License-Identifier: MIT */
/*
 * Submitters of one resource: capture, push, release and hand-off exclude each other, and run
 * each task once and in order.
 */
#include "support.h"

static struct sim_topic topic;
static struct sim_note notes[6];
static struct baton_manual *manual;

static void submit_two(void *argument)
{
	struct sim_note *first = argument;

	for (int i = 0; i < 2; i++) {
		sim_note_init(&first[i], &topic, false);
		sim_require(sim_note_submit(&first[i]) == 0);
	}
}

static void submit_and_wait(void *argument)
{
	struct sim_note *note = argument;

	sim_note_init(note, &topic, true);
	sim_require(sim_note_submit(note) == 0);
	sim_note_wait(note);
}

static void end(unsigned expected)
{
	sim_settled(&topic);
	sim_topic_close(&topic);
	sim_require(topic.changes == (int)expected + 1);
}

SIM_SCENARIO(submit_2, "two submitters, two tasks each, all inline")
{
	sim_topic_init(&topic, 10, 64, NULL);
	sim_start(submit_two, &notes[0]);
	sim_start(submit_two, &notes[2]);
	sim_join_all();
	end(4);
}

SIM_SCENARIO(submit_3, "three submitters, two tasks each")
{
	sim_topic_init(&topic, 10, 64, NULL);
	sim_start(submit_two, &notes[0]);
	sim_start(submit_two, &notes[2]);
	sim_start(submit_two, &notes[4]);
	sim_join_all();
	end(6);
}

static void with_hand_off(uint32_t limit, unsigned submitters)
{
	sim_require(baton_manual_create(&manual) == 0);
	sim_topic_init(&topic, limit, 1, baton_manual_executor(manual));
	for (unsigned i = 0; i < submitters; i++)
		sim_start(submit_two, &notes[2 * i]);
	sim_drive(manual);
	end(2 * submitters);
	baton_manual_destroy(manual);
}

SIM_SCENARIO(hand_off_limit_1, "capture limit 1: every other task goes to the executor")
{
	with_hand_off(1, 2);
}

SIM_SCENARIO(hand_off_limit_2, "capture limit 2, three submitters", .bound = 1)
{
	with_hand_off(2, 3);
}

SIM_SCENARIO(hand_off_limit_0, "capture limit 0: everything runs on the executor's thread")
{
	with_hand_off(0, 2);
}

SIM_SCENARIO(wait_2, "two submitters wait for their own")
{
	sim_topic_init(&topic, 10, 64, NULL);
	sim_start(submit_and_wait, &notes[0]);
	sim_start(submit_and_wait, &notes[1]);
	sim_join_all();
	end(2);
}

/* ---- A batch that is run at once ---- */

static void (*inside_the_second)(struct sim_note *note);

static void submit_batch(void *argument)
{
	struct baton_task *const tasks[] = {&notes[0].task, &notes[1].task, &notes[2].task};
	int status;

	for (int i = 0; i < 3; i++) {
		sim_note_init(&notes[i], &topic, false);
		sim_note_begin(&notes[i]);
	}
	notes[1].body = inside_the_second;
	status = baton_submit_batch(&topic.resource, tasks, 3);
	for (int i = 0; i < 3; i++)
		sim_require(sim_note_end(&notes[i], status) == 0);
}

static void cancel_pending(void *argument)
{
	sim_require(baton_resource_cancel_pending(&topic.resource) == 0);
}

SIM_SCENARIO(batch_cancelled, "L3: cancelled while it is run at once, each of its tasks ends once")
{
	sim_topic_init(&topic, 10, 64, NULL);
	sim_start(submit_batch, NULL);
	sim_start(cancel_pending, NULL);
	sim_join_all();
	sim_settled(&topic);
	sim_topic_close(&topic);
}

SIM_SCENARIO(batch_beside, "L2: beside another submitter, who comes before or after all of it")
{
	sim_topic_init(&topic, 10, 64, NULL);
	sim_start(submit_batch, NULL);
	sim_start(submit_two, &notes[3]);
	sim_join_all();
	end(5);
}

static void cancel_inside(struct sim_note *note)
{
	cancel_pending(NULL);
}

SIM_SCENARIO(batch_cancels, "its second task cancels the third, whoever runs them")
{
	sim_topic_init(&topic, 10, 64, NULL);
	inside_the_second = cancel_inside;
	sim_start(submit_batch, NULL);
	sim_start(submit_two, &notes[3]);
	sim_join_all();
	sim_require(notes[2].fate == SIM_CANCELLED);
	sim_settled(&topic);
	sim_topic_close(&topic);
}
