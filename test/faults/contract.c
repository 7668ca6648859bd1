/* SPDX-License-Identifier: MIT */
/* The table of the public functions: which errors each may return. */
#include "contract.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../parts.h"

#include <baton/call.h>

#define FUNCTIONS_MAX 512

/* What is documented for a first call of a thread, and after fork. */
#define FIRST ENOMEM, ECHILD
#define SUBMIT FIRST, EPIPE, ESHUTDOWN, EINVAL, ECANCELED, BOUNDED
#define BOUNDED EAGAIN, EDEADLK, ETIMEDOUT
#define WAIT FIRST, EDEADLK
#define WAIT_UNTIL WAIT, ETIMEDOUT
#define HOLD EPIPE, EALREADY, ECANCELED, EPERM, ESHUTDOWN, EAGAIN
#define ARM FIRST, ESHUTDOWN, EBUSY, EAGAIN, EPIPE, EINVAL
#define LOOP FIRST, EPERM, EDEADLK, ESHUTDOWN, EPIPE
#define DRIVE FIRST, EBUSY, EDEADLK, EINVAL, ESHUTDOWN

static const struct function {
	const char *name;
	int errors[14];
} functions[] = {
	/* baton/admission.h */
	{"baton_admission_init", {FIRST, EAGAIN, EINVAL}},
	{"baton_admission_arrive", {FIRST, EPIPE, EALREADY, EINVAL}},
	{"baton_admission_set_limits", {FIRST, EINVAL, EPIPE}},
	{"baton_admission_close", {FIRST, EALREADY}},
	{"baton_admission_await", {WAIT, EINVAL}},
	{"baton_admission_await_until", {WAIT_UNTIL, EINVAL}},
	{"baton_admission_deinit", {0}},
	{"baton_admission_stats_read", {0}},
	{"baton_admitted_init", {0}},
	{"baton_admitted_withdraw", {FIRST, EINVAL, EALREADY}},
	{"baton_admitted_estimate", {0}},
	{"baton_admitted_time_left", {0}},
	/* baton/bound.h */
	{"baton_bound_init", {0}},
	{"baton_bound_stats_read", {0}},
	/* baton/blocking.h */
	{"baton_blocking_begin", {0}},
	{"baton_blocking_end", {0}},
	/* baton/board.h */
	{"baton_board_create", {FIRST, EACCES, ENOENT, ENOSPC, EINVAL}},
	{"baton_board_destroy", {0}},
	{"baton_board_join", {ENOSPC, ECHILD}},
	{"baton_board_leave", {0}},
	{"baton_board_show", {0}},
	{"baton_board_pool_join", {ENOSPC, ECHILD}},
	{"baton_board_pool_leave", {0}},
	{"baton_board_refresh", {0}},
	{"baton_board_trace_start", {EBUSY}},
	{"baton_board_trace_stop", {ENOMEM, EALREADY, EMFILE}},
	{"baton_board_dump", {EBADF, EAGAIN}},
	{"baton_watchdog_create", {FIRST, EAGAIN, EINVAL}},
	{"baton_watchdog_destroy", {0}},
	{"baton_watchdog_trace", {EBUSY, ENAMETOOLONG}},
	/* baton/epoch.h */
	{"baton_epoch_enter", {FIRST}},
	{"baton_epoch_leave", {0}},
	{"baton_epoch_inside", {0}},
	{"baton_limbo_create", {FIRST}},
	{"baton_limbo_retire", {0}},
	{"baton_limbo_poll", {0}},
	{"baton_limbo_destroy", {0}},
	/* baton/detach.h */
	{"baton_detached_init", {0}},
	{"baton_deadline_init", {0}},
	{"baton_detach", {EINVAL, EBUSY, EPERM}},
	{"baton_detach_within", {ARM}},
	{"baton_detached_complete", {FIRST, EALREADY, EINVAL}},
	{"baton_detached_cancel_requested", {0}},
	/* baton/error.h */
	{"baton_error_text", {0}},
	{"baton_refused", {0}},
	/* baton/executor.h */
	{"baton_job_run", {0}},
	{"baton_job_cancel", {0}},
	{"baton_job_next", {0}},
	{"baton_should_yield", {0}},
	{"baton_plain_job_init", {0}},
	{"baton_executor_init", {0}},
	{"baton_executor_schedule", {FIRST, ESHUTDOWN}}, /* whatever the executor says */

	/* baton/manual.h */
	{"baton_manual_create", {FIRST}},
	{"baton_manual_executor", {0}},
	{"baton_manual_run", {0}},
	{"baton_manual_destroy", {0}},

	/* baton/loop.h */
	{"baton_loop_create", {ENOMEM, EMFILE, ENFILE}},
	{"baton_loop_executor", {0}},
	{"baton_loop_fd", {0}},
	{"baton_loop_adopt", {FIRST}},
	{"baton_loop_is_owner", {0}},
	{"baton_loop_wake", {0}},
	{"baton_loop_set_should_yield", {0}},
	{"baton_loop_set_signal", {0}},
	{"baton_loop_run", {0}},
	{"baton_loop_gather", {0}},
	{"baton_loop_run_gathered", {0}},
	{"baton_loop_destroy", {0}},
	/* baton/fan_out.h */
	{"baton_fan_out_submit", {FIRST, EINVAL}},
	{"baton_fan_out_wait", {WAIT}},
	{"baton_fan_out_wait_until", {WAIT_UNTIL}},
	{"baton_fan_out_future", {0}},
	{"baton_fan_out_status", {ECANCELED}}, /* or what an item failed with */
	{"baton_fan_out_item_status", {EAGAIN, ECANCELED}},
	{"baton_fan_out_stats_read", {0}},
	{"baton_fan_out_cancel", {EALREADY}},
	{"baton_fan_out_ref", {0}},
	{"baton_fan_out_unref", {0}},
	/* baton/future.h */
	{"baton_future_init", {0}},
	{"baton_promise_init", {0}},
	{"baton_future_state", {0}},
	{"baton_future_is_complete", {0}},
	{"baton_future_status", {EAGAIN, ECANCELED}},
	{"baton_future_value", {0}},
	{"baton_future_wait", {WAIT}},
	{"baton_future_wait_until", {WAIT_UNTIL}},
	{"baton_future_wait_any", {WAIT, EINVAL}},
	{"baton_future_wait_any_until", {WAIT_UNTIL, EINVAL}},
	{"baton_future_wait_all", {WAIT}},
	{"baton_future_wait_all_until", {WAIT_UNTIL}},
	{"baton_future_wait_all_or_cancel", {WAIT}},
	{"baton_future_wait_all_or_cancel_until", {WAIT_UNTIL}},
	{"baton_future_cancel", {FIRST, EINPROGRESS, EALREADY, EINVAL}},
	{"baton_future_complete", {EALREADY, EINVAL}},
	{"baton_continuation_task", {0}},
	{"baton_continuation_job", {0}},
	{"baton_continuation_function", {0}},
	{"baton_future_then", {0}},
	{"baton_future_ref", {0}},
	{"baton_future_unref", {0}},
	/* baton/group.h */
	{"baton_group_init", {0}},
	{"baton_group_enter", {0}},
	{"baton_group_enter_many", {0}},
	{"baton_group_leave", {0}},
	{"baton_group_leave_with", {0}},
	{"baton_group_wait", {FIRST}},
	{"baton_group_wait_until", {FIRST, ETIMEDOUT}},
	{"baton_group_then", {0}},
	{"baton_group_status", {0}},
	{"baton_group_take_status", {0}},
	/* baton/hooks.h */
	{"baton_batch_flush", {EBUSY}}, /* or a hook's status */
	/* baton/label.h */
	{"baton_stamp_set", {0}},
	{"baton_stamp_set_lane", {0}},
	{"baton_stamp_set_bytes", {0}},
	{"baton_stamp_set_tag", {0}},
	{"baton_stamp_hold_tag", {0}},
	{"baton_post_with", {SUBMIT}},
	{"baton_async_with", {SUBMIT}},
	{"baton_call_with", {FIRST, EPIPE, ESHUTDOWN, ECANCELED, EINVAL, BOUNDED}},
	/* baton/lane.h */
	{"baton_lanes_init", {0}},
	{"baton_lanes_waiting", {0}},
	{"baton_deadlock_cycle", {0}},
	/* baton/parallel.h */
	{"baton_parallel_for", {0}},
	/* baton/pool.h */
	{"baton_pool_create", {FIRST, EAGAIN, EINVAL}},
	{"baton_pool_default", {FIRST, EAGAIN, EINVAL}},
	{"baton_pool_default_destroy", {EDEADLK, ECHILD, EAGAIN, ENOMEM}},
	{"baton_pool_executor", {0}},
	{"baton_pool_workers", {0}},
	{"baton_pool_submit", {FIRST, ESHUTDOWN, EAGAIN}},
	{"baton_pool_submit_wait", {WAIT, ESHUTDOWN}},
	{"baton_pool_submit_wait_until", {WAIT_UNTIL, ESHUTDOWN}},
	{"baton_pool_shutdown", {FIRST, EALREADY}},
	{"baton_pool_shutdown_now", {FIRST, EALREADY}},
	{"baton_pool_await", {EDEADLK, EINVAL, ECHILD}},
	{"baton_pool_await_until", {EDEADLK, ETIMEDOUT, EINVAL, ECHILD}},
	{"baton_pool_destroy", {EDEADLK, ECHILD, EPERM}},
	{"baton_pool_worker_stats_read", {EINVAL}},
	{"baton_pool_stats_read", {0}},
	/* baton/published.h */
	{"baton_published_init", {FIRST}},
	{"baton_published_deinit", {0}},
	{"baton_published_read", {0}},
	{"baton_published_replace", {0}},
	/* baton/reader.h */
	{"baton_readers_init", {0}},
	{"baton_readers_deinit", {0}},
	{"baton_reader_init", {0}},
	{"baton_readers_at_work", {0}},
	{"baton_reading", {0}},
	{"baton_hold_shared", {WAIT, HOLD}},
	{"baton_hold_shared_until", {WAIT_UNTIL, HOLD}},
	{"baton_release_shared", {EINVAL}}, /* or what batch_end returned */
	/* baton/registry.h */
	{"baton_registry_create", {FIRST, EINVAL}},
	{"baton_registry_destroy", {FIRST}},
	{"baton_registry_find", {FIRST, ENOENT, ENAMETOOLONG}},
	{"baton_registry_acquire", {FIRST, ENAMETOOLONG, EDEADLK}},
	{"baton_registry_request_init", {0}},
	{"baton_registry_acquire_async", {FIRST, ENAMETOOLONG, EINVAL}},
	{"baton_registry_request_entry", {0}},
	{"baton_registry_ref", {0}},
	{"baton_registry_unref", {FIRST}},
	{"baton_registry_remove", {EALREADY}},
	{"baton_registry_walk", {FIRST, EDEADLK}},
	{"baton_registry_resource", {0}},
	{"baton_registry_name", {0}},
	{"baton_registry_name_of", {0}},
	{"baton_registry_count", {0}},
	/* baton/resource.h */
	{"baton_resource_init", {0}},
	{"baton_resource_deinit", {0}},
	{"baton_resource_set_bound", {0}},
	{"baton_resource_set_lanes", {0}},
	{"baton_resource_set_stats", {0}},
	{"baton_resource_name", {0}},
	{"baton_resource_stats_read", {0}},
	{"baton_submit", {SUBMIT}},
	{"baton_submit_later", {SUBMIT}},
	{"baton_try_submit_later", {FIRST, EPIPE, ESHUTDOWN, EINVAL, ECANCELED, EAGAIN}},
	{"baton_submit_batch", {SUBMIT}},
	{"baton_submit_batch_later", {SUBMIT}},
	{"baton_call", {FIRST, EPIPE, ESHUTDOWN, ECANCELED, BOUNDED}},
	{"baton_try_call", {FIRST, EPIPE, ESHUTDOWN, EDEADLK, EAGAIN}},
	{"baton_post", {SUBMIT}},
	{"baton_async", {SUBMIT}},
	{"baton_resource_close", {EALREADY}},
	{"baton_resource_close_then", {FIRST, EALREADY}},
	{"baton_resource_cancel_pending", {FIRST}},
	{"baton_resource_await", {WAIT}},
	{"baton_resource_await_until", {WAIT_UNTIL}},
	{"baton_resource_is_closed", {0}},
	{"baton_resource_is_idle", {0}},
	{"baton_current", {0}},
	{"baton_held", {0}},
	{"baton_assert_held", {0}},
	/* baton/hold.h */
	{"baton_hold", {WAIT, HOLD}},
	{"baton_hold_until", {WAIT_UNTIL, HOLD}},
	{"baton_hold_many", {WAIT, HOLD, EINVAL}},
	{"baton_hold_many_until", {WAIT_UNTIL, HOLD, EINVAL}},
	{"baton_release", {EINVAL}}, /* or what batch_end returned */
	/* baton/suspend.h */
	{"baton_resource_suspend_lower", {FIRST, EPIPE, EALREADY}},
	{"baton_resource_suspend", {FIRST, EPIPE, EALREADY}},
	{"baton_suspension_is_effective", {0}},
	{"baton_suspension_wait", {WAIT, EINVAL}},
	{"baton_suspension_wait_until", {WAIT_UNTIL, EINVAL}},
	{"baton_resource_resume", {FIRST, EINVAL}},
	{"baton_resource_resume_later", {FIRST, EINVAL}},
	{"baton_quiesce", {WAIT, EPIPE}},
	{"baton_quiesce_until", {WAIT_UNTIL, EPIPE}},
	{"baton_quiesce_end", {FIRST}},
	/* baton/tag.h */
	{"baton_tag_init", {0}},
	{"baton_tag_cancel", {0}},
	{"baton_tag_held", {0}},
	/* baton/task.h */
	{"baton_task_init", {0}},
	{"baton_set_result", {0}},
	{"baton_set_carried", {FIRST}},
	{"baton_carried", {0}},
	{"baton_cancel_requested", {0}},
	/* baton/thread.h */
	{"baton_thread_attach", {FIRST}},
	{"baton_node_alloc", {FIRST, ENOMEM}},
	{"baton_node_free", {0}},
	/* baton/mainloop.h */
	{"baton_io_init", {0}},
	{"baton_io_set_dropped", {0}},
	{"baton_io_start",
         {FIRST, EINVAL, EALREADY, EEXIST, EBUSY, EBADF, EPERM, EMFILE, ENFILE, EAGAIN, ENOSPC}},
	{"baton_io_stop", {0}},
	{"baton_io_stop_then", {0}},
	{"baton_io_stop_wait", {FIRST, EDEADLK}},
	{"baton_io_stop_wait_until", {FIRST, EDEADLK, ETIMEDOUT}},
	{"baton_io_is_active", {0}},
	{"baton_io_destroy", {ECHILD, EBUSY, EDEADLK}},
	{"baton_mainloop_init", {ENOMEM, ENOSPC, EMFILE, ENFILE, EINVAL}},
	{"baton_mainloop_adopt", {FIRST, ESHUTDOWN}},
	{"baton_mainloop_run", {LOOP}},
	{"baton_mainloop_drain_until", {LOOP}},
	{"baton_mainloop_advance_to", {LOOP, EINVAL}},
	{"baton_mainloop_pass", {LOOP, EINVAL}},
	{"baton_mainloop_next", {0}},
	{"baton_mainloop_now", {0}},
	{"baton_mainloop_fd", {ESHUTDOWN}},
	{"baton_mainloop_resource", {0}},
	{"baton_mainloop_executor", {0}},
	{"baton_mainloop_should_yield", {0}},
	{"baton_mainloop_cycle", {0}},
	{"baton_mainloop_stats_read", {0}},
	{"baton_mainloop_deinit", {FIRST, EDEADLK, EPERM, ESHUTDOWN}},
	{"baton_source_fd_init", {0}},
	{"baton_source_init", {0}},
	{"baton_source_name", {0}},
	{"baton_source_start", {ESHUTDOWN, EINVAL, EBADF}},
	{"baton_source_start_after", {ESHUTDOWN, EINVAL, EBADF}},
	{"baton_source_stop", {0}},
	{"baton_source_stop_then", {0}},
	{"baton_source_stop_wait", {FIRST, EDEADLK, EPIPE, ECANCELED}},
	{"baton_source_stop_wait_until", {FIRST, EDEADLK, EPIPE, ECANCELED, ETIMEDOUT}},
	{"baton_source_set_level", {ESHUTDOWN, EINVAL}},
	{"baton_source_is_active", {0}},
	{"baton_source_depend", {ELOOP, EXDEV, EEXIST, EPERM, ESHUTDOWN, ENOMEM}},
	{"baton_source_undepend", {ENOENT, EPERM, ESHUTDOWN}},
	{"baton_source_undepend_all", {EPERM, ESHUTDOWN}},
	/* baton/rules.h */
	{"baton_rules_init", {EINVAL}},
	{"baton_rules_entry_init", {0}},
	{"baton_rules_arrive", {EAGAIN, EALREADY, EINVAL}},
	{"baton_rules_arrive_at", {EAGAIN, EALREADY, EINVAL, EEXIST}},
	{"baton_rules_restore", {EALREADY, EINVAL}},
	{"baton_rules_finish", {EINVAL}},
	{"baton_rules_withdraw", {EINPROGRESS, EINVAL}},
	{"baton_rules_set_limits", {EINVAL}},
	{"baton_rules_tick", {0}},
	{"baton_rules_next", {0}},
	{"baton_rules_estimate", {0}},
	{"baton_rules_waiting", {0}},
	{"baton_rules_running", {0}},
	/* baton/time.h */
	{"baton_now", {0}},
	{"baton_after", {0}},
	/* baton/timer.h */
	{"baton_timer_init", {0}},
	{"baton_timer_arm_after", {ARM}},
	{"baton_submit_after", {ARM}},
	{"baton_timer_arm_at", {ARM}},
	{"baton_timer_arm_every", {ARM}},
	{"baton_timer_arm_again_after", {ARM}},
	{"baton_timer_state", {0}},
	{"baton_timer_stop", {0}},
	{"baton_timer_set_dropped", {0}},
	{"baton_timer_disarm", {0}},
	{"baton_timer_stop_then", {0}},
	{"baton_timer_stop_wait", {FIRST, EDEADLK}},
	{"baton_timer_stop_wait_until", {FIRST, EDEADLK, ETIMEDOUT}},

	/* baton/timers.h */
	{"baton_timers_create", {FIRST, EAGAIN, EINVAL}},
	{"baton_timers_default", {FIRST, EAGAIN}},
	{"baton_timers_default_destroy", {FIRST, EDEADLK, EBUSY}},
	{"baton_timers_close", {FIRST, EALREADY, EDEADLK, EBUSY, EINVAL}},
	{"baton_timers_destroy", {FIRST, EDEADLK, EBUSY, EPERM}},
	{"baton_timers_now", {0}},
	{"baton_timers_next", {0}},
	{"baton_timers_poll", {DRIVE}},
	{"baton_timers_advance", {DRIVE}},
	{"baton_timers_advance_to", {DRIVE}},
	{"baton_timers_stats_read", {0}},
	/* baton/stop.h */
	{"baton_stopped_complete", {0}},
	/* baton/trigger.h */
	{"baton_trigger_init", {0}},
	{"baton_trigger_fire", {FIRST, EPIPE, ESHUTDOWN, EAGAIN, ECANCELED, EINVAL}},
	{"baton_trigger_set_dropped", {0}},
	{"baton_trigger_stop", {0}},
	{"baton_trigger_stop_then", {0}},
	{"baton_trigger_stop_wait", {FIRST, EDEADLK}},
	{"baton_trigger_stop_wait_until", {FIRST, EDEADLK, ETIMEDOUT}},
	{"baton_trigger_is_pending", {0}},
	{"baton_continuation_trigger", {0}},
	/* baton/undo.h */
	{"baton_undo_log_begin", {0}},
	{"baton_undo_log_push", {0}},
	{"baton_undo_log_add", {ENOMEM}},
	{"baton_undo_log_end", {ENOTRECOVERABLE}}, /* or the status that it was given */
	{"baton_undo_log_failure", {0}},
	{"baton_undo_log_mark", {0}},
	{"baton_undo_log_roll_back", {0}}, /* whatever a compensation says */
	/* baton/version.h */
	{"baton_version", {0}},
	{"baton_version_number", {0}},
	/* baton/window.h */
	{"baton_window_init", {0}},
	{"baton_window_set_lanes", {0}},
	{"baton_window_deinit", {0}},
	{"baton_window_part_init", {0}},
	{"baton_window_set_limit", {FIRST}},
	{"baton_window_cancel", {FIRST}},
	{"baton_window_cancel_task", {FIRST, EINPROGRESS, EALREADY, EINVAL}},
	{"baton_window_in_flight", {0}},
	{"baton_window_waiting", {0}},
};

#define FUNCTIONS (sizeof(functions) / sizeof(*functions))

_Static_assert(FUNCTIONS <= FUNCTIONS_MAX, "room for their notes");

/* Shared with the children. */
static struct notes {
	atomic_uint calls[FUNCTIONS_MAX]; /* in cycles with a fault */
} * notes;

const char *_Atomic *contract_last;

void contract_init(void)
{
	notes = mmap(NULL, sizeof(*notes), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
	             0);
	if (notes == MAP_FAILED)
		abort();
}

/* The function's place in the table; `text` goes on after the name. */
static size_t find(const char *text)
{
	size_t length = strcspn(text, "(; \n");

	for (size_t i = 0; i < FUNCTIONS; i++)
		if (strlen(functions[i].name) == length &&
		    !strncmp(functions[i].name, text, length))
			return i;
	return FUNCTIONS;
}

void contract_enter(const char *call)
{
	size_t index = find(call);

	if (index == FUNCTIONS)
		contract_broken(call, 0, "not in the table of contract.c");
	atomic_store(contract_last, call);
	if (fault_planned())
		atomic_fetch_add(&notes->calls[index], 1);
}

int contract_leave(const char *call, int status)
{
	const struct function *function = &functions[find(call)];
	char text[64];

	if (status == 0)
		return 0;
	for (size_t i = 0; i < sizeof(function->errors) / sizeof(*function->errors); i++)
		if (function->errors[i] && function->errors[i] == -status)
			return status;
	(void)snprintf(text, sizeof(text), "returned %d, which its header does not document",
	               status);
	contract_broken(call, 0, text);
}

int64_t contract_count(const char *call, int64_t count)
{
	return count < 0 ? contract_leave(call, (int)count) : count;
}

/* Complains about functions of a library that the table lacks. */
static unsigned not_listed(const char *path)
{
	FILE *map = fopen(path, "r");
	unsigned bad = 0;
	char line[128];

	if (!map) {
		perror(path);
		return 1;
	}
	while (fgets(line, sizeof(line), map)) {
		const char *name = line + strspn(line, "\t ");

		/* All but the one variable, and what inlined code shares with the library. */
		if (strncmp(name, "baton_", strlen("baton_")) == 0 &&
		    strncmp(name, "baton_assert_hook;", strlen("baton_assert_hook;")) != 0 &&
		    strncmp(name, "baton_inline_", strlen("baton_inline_")) != 0 &&
		    find(name) == FUNCTIONS)
			bad += fprintf(stderr, "[FAIL] not in contract.c: %s", name) > 0;
	}
	(void)fclose(map);
	return bad;
}

unsigned contract_uncovered(void)
{
	static const char *const maps[] = {
		"src/baton.map",
		"src/companion/mainloop/mainloop.map",
		"src/companion/admission/admission.map",
	};
	unsigned bad = 0;

	for (size_t i = 0; i < sizeof(maps) / sizeof(maps[0]); i++)
		bad += not_listed(maps[i]);
	for (size_t i = 0; i < FUNCTIONS; i++)
		if (!atomic_load(&notes->calls[i]))
			bad += !!fprintf(stderr, "[FAIL] nothing calls %s\n", functions[i].name);
	return bad;
}
