/* SPDX-License-Identifier: MIT */
/*
 * The misuses that libbaton-checked stops, as a table: a child process makes each, and what it
 * prints must have the words of its row: the call, the resource, the earlier call, the mend. The
 * program is compiled like any other one, with baton/inline.h, and linked to the ordinary library;
 * LD_LIBRARY_PATH gives it the checked one.
 *
 *	misuses               every row; the last line counts them
 *	misuses --list        the rows' names
 *	misuses --make ROW    makes the mistake here
 */
#include "misuses.h"

#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#define WORDS_MAX 6

static const struct row {
	const char *name;
	void (*make)(void);
	const char *words[WORDS_MAX];
	bool exits; /* a report, without an abort */
} rows[] = {
#define ROW(name, ...)                                                                             \
	{                                                                                          \
#name, name, {__VA_ARGS__ }, false                                                 \
	}
	ROW(submitted_twice, "baton_submit: \"topic/7\"", "already waits in it since baton_submit",
            "submit a task again only when"),
	ROW(submitted_to_two, "baton_submit: \"topic/8\"", "already waits in \"topic/7\"",
            "since baton_submit_later"),
	ROW(twice_in_a_batch, "baton_submit_batch: \"topic/7\"", "twice in one batch"),
	ROW(changed_while_queued, "\"topic/7\" has a task that was changed or freed",
            "submitted by baton_submit", "until its function is entered"),
	ROW(zeroed_while_queued, "\"topic/7\" has a task that was zeroed"),
	ROW(freed_while_queued, "\"topic/7\" has a task that was changed or freed"),
	ROW(task_without_function, "baton_submit: \"topic/7\"", "without a function",
            "BATON_TASK_INIT"),
	ROW(type_without_function, "baton_submit: \"topic/7\"", "without a function"),
	ROW(null_task, "baton_submit: \"topic/7\" was given NULL", "give the address"),
	ROW(null_resource, "baton_submit: the resource is NULL"),
	ROW(finaliser_that_waits, "baton_resource_close_then: \"topic/7\"", "since baton_submit"),
	ROW(continuation_without_function, "baton_submit: \"topic/7\" is to run a task",
            "without a function"),
	ROW(continuation_uninitialised, "baton_future_then: the continuation does nothing",
            "baton_continuation_task"),
	ROW(told_function_waits, "a call or a wait: ", "baton_continuation_function",
            "submit a task instead"),
	ROW(told_function_calls, "a call or a wait: ", "baton_continuation_function"),
	ROW(call_null, "baton_call: the function is NULL"),
	ROW(post_null, "baton_post: the function is NULL"),
	ROW(async_null, "baton_async: the function is NULL"),
	ROW(shown_from_outside, "baton_board_show: this thread does not run the resource"),
	ROW(resource_zeroed, "baton_submit: \"topic/7\" was zeroed, initialised anew",
            "while 1 task waits", "by baton_submit", "close and await it first"),
	ROW(nameless_zeroed, "baton_submit: \"(no name)\" was zeroed", "by baton_submit"),
	ROW(resource_initialised_again, "baton_resource_init: \"topic/7\" is initialised anew",
            "while 1 task waits", "by baton_submit", "close and await it first"),
	ROW(resource_copied, "baton_call: \"topic/7\" was copied", "by its address"),
	ROW(resource_never_initialised, "baton_resource_close: ", "was never initialised",
            "BATON_RESOURCE_INIT"),
	ROW(deinit_without_close, "baton_resource_deinit: \"topic/7\" is not closed",
            "close and await it first"),
	ROW(deinit_without_await, "baton_resource_deinit: \"topic/7\" is closed, but not idle",
            "await it first"),
	ROW(used_after_deinit, "baton_post: \"topic/7\" is no resource any more",
            "since baton_resource_deinit", "initialise it anew"),
	ROW(stats_not_zeroed, "baton_resource_set_stats: \"topic/7\"", "not zero: zero them"),
	ROW(stats_too_late, "baton_resource_set_stats: \"topic/7\" is in use",
            "before the first submit"),
	ROW(config_changed, "baton_post: \"topic/7\" has a config that has changed",
            "since baton_resource_init", "must outlive the resource"),
	ROW(config_garbage, "\"topic/7\" has a config whose last members are not zero",
            "BATON_RESOURCE_CONFIG_INIT"),
	ROW(name_freed, "baton_post: \"session/4\" has another name now",
            "since baton_resource_init", "must live as long as the resource"),
	ROW(pool_after_destroy, "baton_pool_workers: ", "was ended by baton_pool_destroy",
            "do not use it"),
	ROW(limbo_after_destroy, "baton_limbo_poll: ", "was ended by baton_limbo_destroy"),
	ROW(board_destroyed_twice, "baton_board_destroy: ", "was ended by baton_board_destroy"),
	ROW(watchdog_destroyed_twice,
            "baton_watchdog_destroy: ", "was ended by baton_watchdog_destroy"),
	ROW(registry_destroyed_twice, "is no resource any more"),
	ROW(future_given_back_twice, "baton_future_unref: there is no reference left"),
	ROW(fan_out_given_back_twice, "baton_fan_out_unref: ", "was ended by baton_fan_out_unref"),
	ROW(fan_out_after_its_end, "baton_fan_out_cancel: ", "was ended by baton_fan_out_unref"),
	ROW(handed_to_a_dead_executor, "baton_submit: \"topic/7\" is handed off to an executor",
            "baton_manual_destroy has ended", "close and await the resource before"),
	ROW(job_without_function, "baton_pool_submit: the job has no function",
            "BATON_PLAIN_JOB_INIT"),
	ROW(timer_without_function, "baton_timer_init: \"topic/7\"", "without a function"),
	ROW(timer_without_resource, "baton_timer_init: the resource is NULL"),
	ROW(timer_initialised_while_armed, "baton_timer_init: \"topic/7\"",
            "armed, by baton_timer_arm_after", "stop a timer before"),
	ROW(wheel_after_destroy, "baton_timer_arm_after: ", "was ended by baton_timers_destroy"),
	ROW(trigger_without_function, "baton_trigger_init: \"topic/7\"", "without a function"),
	ROW(trigger_without_resource, "baton_trigger_init: the resource is NULL"),
	ROW(lanes_without_lanes, "baton_resource_set_lanes: \"topic/7\"", "lanes without lanes",
            "BATON_LANES_INIT"),
	ROW(lanes_of_two_resources, "baton_resource_set_lanes: \"topic/8\"", "another resource has",
            "lanes of its own"),
	ROW(bound_without_config, "baton_resource_set_bound: \"topic/7\"", "without a config",
            "BATON_BOUND_INIT"),
	ROW(never_submitted, "baton_future_wait: the future belongs to no task",
            "submit the task before the wait"),
	ROW(result_outside_a_task, "baton_set_result: this thread runs no task",
            "call it in a task's function"),
	ROW(hold_outlives_task, "baton_hold: \"topic/7\" is still held",
            "call baton_release before"),
	ROW(hold_outlives_queued_task, "baton_hold: \"topic/7\" is still held"),
	ROW(hold_outlives_call, "baton_hold: \"topic/7\" is still held"),
	ROW(hold_outlives_hook, "baton_hold: \"topic/7\" is still held"),
	ROW(hold_outlives_callback, "baton_hold: \"topic/7\" is still held"),
	ROW(hold_outlives_thread, "the thread ends inside a hold", "call baton_release, or"),
	ROW(released_elsewhere, "baton_release: \"topic/7\" is not held by this hold here",
            "on the thread"),
	ROW(released_inside_a_task, "baton_release: \"topic/7\" is not held by this hold here"),
	ROW(hold_copied, "baton_release: \"topic/7\" is not held by this hold here"),
	ROW(hold_not_initialised, "baton_hold: \"topic/7\"", "not initialised", "BATON_HOLD_INIT"),
	ROW(deinit_while_held, "baton_resource_deinit: \"topic/7\""),
	ROW(shared_outlives_task, "baton_hold_shared: \"topic/7\" is still held",
            "call baton_release_shared before"),
	ROW(shared_outlives_joined_task, "baton_hold_shared: \"topic/7\" is still held",
            "call baton_release_shared before"),
	ROW(shared_outlives_reader, "baton_hold_shared: \"topic/7\" is still held",
            "call baton_release_shared before"),
	ROW(shared_outlives_thread, "the thread ends inside a hold",
            "or baton_release_shared, first"),
	ROW(shared_released_elsewhere,
            "baton_release_shared: \"topic/7\" is not held by this hold here", "on the thread"),
	ROW(shared_released_by_a_holder,
            "baton_release_shared: \"topic/7\" is not held by this hold here"),
	ROW(shared_released_inside_a_task,
            "baton_release_shared: \"topic/7\" is not held by this hold here"),
	ROW(shared_copied, "baton_release_shared: \"topic/7\" is not held by this hold here"),
	ROW(shared_not_initialised, "baton_hold_shared: \"topic/7\"", "not initialised",
            "BATON_SHARED_HOLD_INIT"),
	ROW(deinit_while_shared, "baton_readers_deinit: \"topic/7\" has readers at work"),
	ROW(section_call, "baton_call: was called in a section"),
	ROW(section_call_with, "baton_call_with: was called in a section"),
	ROW(section_hold, "baton_hold: was called in a section"),
	ROW(section_hold_shared, "baton_hold_shared: was called in a section"),
	ROW(section_hold_many, "baton_hold_many: was called in a section"),
	ROW(section_future, "a wait: was called in a section"),
	ROW(section_any, "a wait: was called in a section"),
	ROW(section_all, "a wait: was called in a section"),
	ROW(section_await, "a wait: was called in a section"),
	ROW(section_group, "a wait: was called in a section"),
	ROW(section_fan_out, "a wait: was called in a section"),
	ROW(section_quiesce, "a wait: was called in a section"),
	{"tasks_at_exit",
         tasks_at_exit,
         {"exit: \"topic/7\" still has 1 task", "by baton_submit", "close and await it"},
         true},
	{"suspended_at_exit",
         suspended_at_exit,
         {"exit: \"topic/7\" is still suspended", "baton_resource_resume"},
         true},
	{"refused_at_exit",
         refused_at_exit,
         {"refused: baton_submit: \"topic/7\": the resource is closed (-32), 1 time, called at "
          "misuses+0x",
          "refused: baton_call_with: \"topic/7\": the label's lane is not below",
          "refused: baton_call: \"topic/7\"",
          "refused: baton_post: \"topic/7\": the resource is closed (-32), 3 times",
          "refused: baton_async: \"topic/7\"", "refused: baton_trigger_fire: \"topic/7\""},
         true},
	{"refused_twice_in_the_list",
         refused_twice_in_the_list,
         {"2 lines", "refused: baton_submit_later: \"topic/8\"",
          "refused: baton_submit_batch: \"topic/7\""},
         true},
	{"refused_too_often", refused_too_often, {"257 lines"}, true},
	{"refused_as_promised", refused_as_promised, {"calls refused"}, true},
	{"refused_nothing", refused_nothing, {NULL}, true},
	{"section_submits", section_submits, {NULL}, true},             /* no misuse */
	{"again_with_statistics", again_with_statistics, {NULL}, true}, /* no misuse */
	{"mainloops_in_turn", mainloops_in_turn, {NULL}, true},         /* no misuse */
	{"used_within_a_batch", used_within_a_batch, {NULL}, true},     /* no misuse */
};

#define ROWS (sizeof(rows) / sizeof(*rows))

/* Makes the mistake in a child process; its output goes to `printed`. Returns its status. */
static int made(const struct row *row, char *printed, size_t size)
{
	size_t length = 0;
	ssize_t got;
	int status = -1;
	int ends[2];
	pid_t child;

	if (pipe(ends))
		abort();
	(void)fflush(stdout);
	child = fork();
	if (child == 0) {
		(void)dup2(ends[1], STDERR_FILENO);
		(void)alarm(120);
		row->make();
		_exit(0);
	}
	(void)close(ends[1]);
	while ((got = read(ends[0], printed + length, size - 1 - length)) > 0)
		length += (size_t)got;
	printed[length] = 0;
	(void)close(ends[0]);
	if (child < 0 || waitpid(child, &status, 0) != child)
		abort();
	return status;
}

static bool stopped(const struct row *row)
{
	char printed[1024];
	const int status = made(row, printed, sizeof(printed));
	const bool ended = row->exits ? WIFEXITED(status) && WEXITSTATUS(status) == 0
	                              : WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
	bool good = ended && (row->words[0] || !printed[0]);

	for (size_t i = 0; i < WORDS_MAX && row->words[i]; i++)
		good = good && strstr(printed, row->words[i]);
	if (!good)
		printf("%s: status %d, printed: %s\n", row->name, status, printed);
	return good;
}

int main(int argc, char **argv)
{
	unsigned failed = 0;

	for (size_t i = 0; i < ROWS; i++) {
		if (argc > 1 && strcmp(argv[1], "--list") == 0)
			puts(rows[i].name);
		else if (argc > 2 && strcmp(argv[1], "--make") == 0) {
			if (strcmp(argv[2], rows[i].name) == 0)
				rows[i].make();
		} else
			failed += !stopped(&rows[i]);
	}
	if (argc == 1)
		printf("[====] Synthesis: Tested: %zu | Passing: %zu | Failing: %u\n", ROWS,
		       ROWS - failed, failed);
	return failed > 0;
}
