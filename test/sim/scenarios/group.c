/* SPDX-License-Identifier: MIT */
/*
 * Groups: nobody waits for ever, nobody goes on before zero, and then the group may be given back.
 */
#include "support.h"

#include <baton/group.h>

static struct baton_group group;
static struct sim_stage stage;
static struct baton_continuation continuations[2];
static int done[3]; /* plain: by members, read when the count is zero */

static void leave(void *argument)
{
	int *mine = argument;

	*mine = 1;
	baton_group_leave_with(&group, mine == &done[1] ? -EIO : 0);
}

static void require_done(int count)
{
	for (int i = 0; i < count; i++)
		sim_require(done[i] == 1);
}

static void wait_for_two(void *argument)
{
	sim_require(baton_group_wait(&group) == 0);
	require_done(2);
	sim_require(baton_group_status(&group) == -EIO);
}

static void begin(uint32_t members)
{
	baton_group_init(&group);
	baton_group_enter_many(&group, members);
}

static void take_status(void *argument)
{
	int *result = argument;

	*result = baton_group_take_status(&group);
}

SIM_SCENARIO(group_take_status, "of two who take the status one gets it")
{
	int results[2];

	begin(1);
	leave(&done[1]);
	sim_start(take_status, &results[0]);
	sim_start(take_status, &results[1]);
	sim_join_all();
	sim_require(results[0] + results[1] == -EIO && results[0] * results[1] == 0);
}

SIM_SCENARIO(group_wait, "a waiter sees what all members did, and has the memory back")
{
	begin(2);
	sim_start(leave, &done[0]);
	sim_start(leave, &done[1]);
	wait_for_two(NULL);
	sim_retire(&group, sizeof(group));
	sim_join_all();
	sim_no_leaks();
}

SIM_SCENARIO(group_wait_2, "two waiters, both go on", .bound = 2)
{
	begin(2);
	sim_start(leave, &done[0]);
	sim_start(leave, &done[1]);
	sim_start(wait_for_two, NULL);
	wait_for_two(NULL);
	sim_join_all();
	sim_retire(&group, sizeof(group));
	sim_no_leaks();
}

static void wait_in_time(void *argument)
{
	uint64_t deadline = sim_in(4000);
	int status = baton_group_wait_until(&group, deadline);

	sim_require(status == 0 || status == -ETIMEDOUT);
	if (!status)
		require_done(1);
}

SIM_SCENARIO(group_deadline, "what a wait that timed out leaves is given back at zero")
{
	begin(1);
	sim_start(wait_in_time, NULL);
	leave(&done[0]);
	sim_join_all();
	sim_require(baton_group_wait(&group) == 0);
	sim_retire(&group, sizeof(group));
	sim_no_leaks();
}

/* ---- Who enters beside the last leave ---- */

static void enter_and_leave(void *argument)
{
	baton_group_enter(&group);
	baton_group_leave(&group);
}

static void wait_for_one(void *argument)
{
	sim_require(baton_group_wait(&group) == 0);
	require_done(1);
}

SIM_SCENARIO(group_enter_beside, "an enter beside the last leave loses no waiter", .bound = 2)
{
	begin(1);
	sim_start(wait_for_one, NULL);
	sim_start(leave, &done[0]);
	sim_start(enter_and_leave, NULL);
	sim_join_all();
	sim_require(baton_group_wait(&group) == 0);
	sim_retire(&group, sizeof(group));
	sim_no_leaks();
}

SIM_SCENARIO(group_enter_beside_2, "the same with two waiters", .bound = 1)
{
	begin(1);
	sim_start(wait_for_one, NULL);
	sim_start(wait_for_one, NULL);
	sim_start(leave, &done[0]);
	sim_start(enter_and_leave, NULL);
	sim_join_all();
	sim_retire(&group, sizeof(group));
	sim_no_leaks();
}

/* ---- Rounds ---- */

SIM_SCENARIO(group_rounds, "a second round, begun when the first one's wait has returned",
             .bound = 1)
{
	begin(1);
	sim_start(leave, &done[0]);
	wait_for_one(NULL);
	baton_group_enter_many(&group, 2);
	sim_start(leave, &done[1]);
	sim_start(leave, &done[2]);
	sim_require(baton_group_wait(&group) == 0);
	require_done(3);
	sim_retire(&group, sizeof(group));
	sim_join_all();
	sim_no_leaks();
}

/* ---- Notifications ---- */

static void has_all(struct sim_note *note)
{
	require_done(2);
	sim_retire(&continuations[note - stage.notes], sizeof(continuations[0]));
	sim_retire(&group, sizeof(group));
}

static void has_all_but_group(struct sim_note *note)
{
	require_done(2);
	sim_retire(&continuations[note - stage.notes], sizeof(continuations[0]));
}

static void notify(void *argument)
{
	struct sim_note *note = argument;
	size_t i = (size_t)(note - stage.notes);

	baton_continuation_task(&continuations[i], &stage.topic.resource, &note->task);
	baton_group_then(&group, &continuations[i]);
}

static void begin_notes(unsigned count, void (*body)(struct sim_note *note))
{
	sim_stage_init(&stage, 10, 64, 0);
	for (unsigned i = 0; i < count; i++) {
		sim_note_init(&stage.notes[i], &stage.topic, false);
		stage.notes[i].body = body;
		sim_note_begin(&stage.notes[i]);
	}
}

SIM_SCENARIO(group_notify, "who is notified has the memory back")
{
	begin(2);
	begin_notes(1, has_all);
	notify(&stage.notes[0]);
	sim_start(leave, &done[0]);
	sim_start(leave, &done[1]);
	sim_drive(stage.manual);
	sim_stage_end(&stage);
}

static void wait_and_give_back(void *argument)
{
	wait_for_two(argument);
	sim_retire(&group, sizeof(group));
}

SIM_SCENARIO(group_notify_and_wait, "nor is it touched for what is notified besides", .bound = 2)
{
	begin(2);
	begin_notes(1, has_all_but_group);
	notify(&stage.notes[0]);
	sim_start(leave, &done[0]);
	sim_start(leave, &done[1]);
	sim_start(wait_and_give_back, NULL);
	sim_drive(stage.manual);
	sim_stage_end(&stage);
}

SIM_SCENARIO(group_notify_beside, "registered beside the last leaves it fires once", .bound = 2)
{
	begin(2);
	begin_notes(2, has_all_but_group);
	sim_start(notify, &stage.notes[0]);
	sim_start(notify, &stage.notes[1]);
	sim_start(leave, &done[0]);
	leave(&done[1]);
	sim_drive(stage.manual);
	sim_stage_end(&stage);
}
