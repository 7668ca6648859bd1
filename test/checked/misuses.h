/* SPDX-License-Identifier: MIT */
/* The misuses: each function makes one, in a process of its own. */
#ifndef BATON_TEST_CHECKED_MISUSES_H
#define BATON_TEST_CHECKED_MISUSES_H

#include <baton/all.h>
#include <baton/inline.h>

#include <stdlib.h>
#include <string.h>

#include "../named.h"

/* misuses_tasks.c */
extern struct baton_resource topic; /* topic/7 */
extern struct baton_resource other; /* topic/8 */
extern struct baton_task second;
int nothing(struct baton_task *task);
void *call_nothing(void *arg);

/* misuses_resources.c: an executor that runs nothing, and topic/7 on it */
extern struct baton_manual *manual;
void topic_on_manual(void);

void submitted_twice(void);
void submitted_to_two(void);
void again_with_statistics(void);
void twice_in_a_batch(void);
void used_within_a_batch(void);
void changed_while_queued(void);
void zeroed_while_queued(void);
void freed_while_queued(void);
void task_without_function(void);
void type_without_function(void);
void null_task(void);
void null_resource(void);
void finaliser_that_waits(void);
void continuation_without_function(void);
void continuation_uninitialised(void);
void told_function_waits(void);
void told_function_calls(void);
void call_null(void);
void post_null(void);
void async_null(void);

void shown_from_outside(void);
void resource_zeroed(void);
void nameless_zeroed(void);
void resource_initialised_again(void);
void resource_copied(void);
void resource_never_initialised(void);
void deinit_without_close(void);
void deinit_without_await(void);
void used_after_deinit(void);
void stats_not_zeroed(void);
void stats_too_late(void);
void config_changed(void);
void config_garbage(void);
void name_freed(void);

void mainloops_in_turn(void);
void pool_after_destroy(void);
void limbo_after_destroy(void);
void board_destroyed_twice(void);
void watchdog_destroyed_twice(void);
void registry_destroyed_twice(void);
void future_given_back_twice(void);
void fan_out_given_back_twice(void);
void fan_out_after_its_end(void);
void handed_to_a_dead_executor(void);
void job_without_function(void);
void timer_without_function(void);
void timer_without_resource(void);
void timer_initialised_while_armed(void);
void wheel_after_destroy(void);
void trigger_without_function(void);
void trigger_without_resource(void);
void lanes_without_lanes(void);
void lanes_of_two_resources(void);
void bound_without_config(void);
void never_submitted(void);
void result_outside_a_task(void);
void tasks_at_exit(void);
void suspended_at_exit(void);

/* misuses_sections.c */
void section_call(void);
void section_call_with(void);
void section_hold(void);
void section_hold_shared(void);
void section_hold_many(void);
void section_future(void);
void section_any(void);
void section_all(void);
void section_await(void);
void section_group(void);
void section_fan_out(void);
void section_quiesce(void);
void section_submits(void);

/* misuses_invalid.c: no misuses, but calls that a header promises to refuse */
void refused_as_promised(void);
void hold_outlives_task(void);
void hold_outlives_queued_task(void);
void hold_outlives_call(void);
void hold_outlives_hook(void);
void hold_outlives_callback(void);
void hold_outlives_thread(void);
void released_elsewhere(void);
void released_inside_a_task(void);
void hold_copied(void);
void hold_not_initialised(void);
void deinit_while_held(void);
void shared_outlives_task(void);
void shared_outlives_joined_task(void);
void shared_outlives_reader(void);
void shared_outlives_thread(void);
void shared_released_elsewhere(void);
void shared_released_by_a_holder(void);
void shared_released_inside_a_task(void);
void shared_copied(void);
void shared_not_initialised(void);
void deinit_while_shared(void);

/* misuses_refused.c: no misuses, but lists of what was refused */
void refused_at_exit(void);
void refused_twice_in_the_list(void);
void refused_too_often(void);
void refused_nothing(void);

#endif
