/* SPDX-License-Identifier: MIT */
/*
 * fork: each function that libbaton and its plain companions export is called in a child of a
 * process with a pool, and returns. fork_rows.inc has a row for each function, with its answer;
 * test/tidy.sh compares the rows with the maps. The parent is at rest, or its threads stand in
 * tasks, callbacks and locks of the library. The thread that forks has used baton, or has not, or
 * is inside a task.
 */
#include "child.h"
#include "fork_world.h"

#include <baton/call.h>
#include <baton/carried.h>

#include <limits.h>
#include <signal.h>
#include <sys/wait.h>

/* Answers beside values. */
#define ANY LONG_MIN         /* what the function answers depends on more than the fork */
#define STOPS (LONG_MIN + 1) /* the program stops with a message: there is no way to refuse */

/* Objects of the child's own, set up anew for each call. */
static struct fresh {
	struct baton_task task;
	struct baton_task *tasks[1];
	struct baton_future future;
	struct baton_future promise;
	struct baton_future *futures[1];
	struct baton_continuation continuation;
	struct baton_resource resource;
	struct baton_resource *resources[1];
	struct baton_resource_stats stats;
	struct baton_timer timer;
	struct baton_trigger trigger;
	struct baton_window window;
	struct baton_window_lane window_lane[1];
	struct windowed windowed;
	struct baton_readers readers;
	struct baton_shared_hold shared;
	struct baton_published published;
	struct read_task read;
	struct baton_detached token;
	struct baton_deadline deadline;
	struct baton_suspension suspension;
	struct baton_hold hold;
	struct stamped stamped;
	struct baton_label label;
	struct baton_tag tag;
	struct baton_lanes lanes;
	struct baton_lane lane[1];
	struct baton_bound bound;
	struct baton_bound_config bound_config;
	struct baton_group group;
	struct baton_registry_request request;
	struct baton_plain_job job;
	struct baton_io io;
	struct baton_source source;
	struct baton_source_fd source_fd;
	struct baton_mainloop mainloop;
	struct baton_undo_log log;
	struct baton_undo undo;
	struct baton_rules rules;
	struct baton_rules_entry rule;
	struct baton_rules_run run;
	struct baton_admission admission;
	struct baton_admitted admitted;
	struct baton_retired retired;
	struct baton_call_options call;
	struct baton_future done;
	uint64_t soon;
} fresh;

/* Where functions put what they make. */
static union {
	void *pointer;
	struct baton_pool *pool;
	struct baton_manual *manual;
	struct baton_loop *loop;
	struct baton_timers *timers;
	struct baton_future *future;
	struct baton_board *board;
	struct baton_watchdog *watchdog;
	struct baton_registry *registry;
	struct baton_registry_entry *entry;
	struct baton_limbo *limbo;
	struct baton_fan_out *fan_out;
	struct baton_job *jobs;
	void *node;
	size_t size;
	struct baton_deadlock_link links[1];
	const char *names[1];
	struct baton_pool_stats pool_stats;
	struct baton_timers_stats timers_stats;
	struct baton_admission_stats admission_stats;
	struct baton_mainloop_stats mainloop_stats;
	struct baton_fan_out_stats fan_out_stats;
	struct baton_bound_stats bound_stats;
	struct baton_resource_stats resource_stats;
} out;

static const struct baton_source_config source_config = {.fn = source_nothing};
static const uint32_t limits[] = {1, 1, 1};
static const struct baton_admission_config admission_config = BATON_ADMISSION_CONFIG_INIT;
static const struct baton_fan_out_options fan_out_options = {.fn = item_nothing};
static const struct baton_registry_options registry_options =
	BATON_REGISTRY_OPTIONS_INIT(sizeof(struct baton_registry_entry), NULL, NULL, NULL);
static struct baton_watchdog_options watchdog_options;

/* ---- Calls that need more than an expression ---- */

static struct baton_continuation *continuation(void)
{
	baton_continuation_task(&fresh.continuation, &world.idle, &fresh.task);
	return &fresh.continuation;
}

static void inline_end(void)
{
	baton_inline_end_v2(&fresh.resource);
}

enum timer_call { TIMER_STOP, TIMER_STOP_THEN, TIMER_STOP_WAIT, TIMER_STOP_WAIT_UNTIL };

/* Was the call refused, whatever the state of the timer? */
static bool timer_refused(struct baton_timer *timer, enum timer_call call)
{
	baton_promise_init(&fresh.promise);
	switch (call) {
	case TIMER_STOP:
		return baton_timer_stop(timer).met == BATON_STOP_CHILD;
	case TIMER_STOP_THEN:
		return baton_timer_stop_then(timer, baton_stopped_complete, &fresh.promise).met ==
		               BATON_STOP_CHILD &&
		       !baton_future_is_complete(&fresh.promise);
	case TIMER_STOP_WAIT:
		return baton_timer_stop_wait(timer) == -ECHILD;
	case TIMER_STOP_WAIT_UNTIL:
		return baton_timer_stop_wait_until(timer, fresh.soon) == -ECHILD;
	}
	return false;
}

static bool each_timer(enum timer_call call)
{
	bool refused = timer_refused(&world.expired, call) && timer_refused(&fresh.timer, call);

	for (size_t i = 0; i < WHEELS; i++)
		refused = timer_refused(&world.timer[i], call) && refused;
	return refused;
}

static bool wheels_next(void)
{
	bool never = true;

	for (size_t i = 0; i < WHEELS; i++)
		never = baton_timers_next(world.wheel[i]) == BATON_NEVER && never;
	return never;
}

#define ROW(name, answer, call)                                                                    \
	static long call_##name(void)                                                              \
	{                                                                                          \
		return (long)(call);                                                               \
	}
#define VOID_ROW(name, answer, call)                                                               \
	static long call_##name(void)                                                              \
	{                                                                                          \
		call;                                                                              \
		return 0;                                                                          \
	}
#define TASK_ROW VOID_ROW
#include "fork_rows.inc"
#undef ROW
#undef VOID_ROW
#undef TASK_ROW

static const struct row {
	const char *name;
	long (*call)(void);
	long answer;
	bool in_a_task;
} rows[] = {
#define ROW(name, answer, call) {#name, call_##name, (answer), false},
#define VOID_ROW ROW
#define TASK_ROW(name, answer, call) {#name, call_##name, (answer), true},
#include "fork_rows.inc"
};

static void fresh_begin(void)
{
	fresh = (struct fresh){
		.tasks = {&fresh.task},
		.futures = {&world.queued},
		.resources = {&world.idle},
		.promise = BATON_PROMISE_INIT,
		.suspension = BATON_SUSPENSION_INIT,
		.call = {.fn = nothing},
		.soon = deadline_in_ms(10),
	};
	baton_task_init(&fresh.task, task_nothing, NULL);
	baton_future_init(&fresh.future);
	baton_registry_request_init(&fresh.request);
	baton_promise_init(&fresh.done);
	watchdog_options.board = world.board;
	baton_resource_init(&fresh.resource, NULL);
	baton_lanes_init(&fresh.lanes, fresh.lane, 1, NULL);
	baton_bound_init(&fresh.bound, &fresh.bound_config);
	baton_timer_init(&fresh.timer, NULL, &world.idle, timer_nothing);
	baton_trigger_init(&fresh.trigger, &world.idle, trigger_nothing);
	baton_window_init(&fresh.window, &world.idle, 1);
	baton_readers_init(&fresh.readers, &world.held);
	fresh.shared = (struct baton_shared_hold)BATON_SHARED_HOLD_INIT;
	baton_deadline_init(&fresh.deadline, NULL);
	baton_plain_job_init(&fresh.job, job_nothing, NULL);
	baton_io_init(&fresh.io, &world.idle, io_nothing);
	baton_source_init(&fresh.source, &world.mainloop, &source_config, NULL);
	baton_group_init(&fresh.group);
	baton_admitted_init(&fresh.admitted, 0, task_nothing);
	baton_rules_entry_init(&fresh.rule, 0);
}

/* What a child tells. */
struct told {
	long answer;
	bool changed; /* a task has run, or something was put out */
};

/* In the child. */
static void answer(const struct row *row, int to)
{
	struct told told = {0, false};

	MUST(dup2(to, STDERR_FILENO) >= 0);
	signal(SIGABRT, SIG_DFL); /* a sanitizer's, or the test's */
	fresh_begin();
	ran = 0;
	child_begins();
	told.answer = row->call();
	told.changed = ran || out.pointer || baton_future_state(&world.queued) != BATON_PENDING;
	MUST(write(to, &told, sizeof(told)) == sizeof(told));
	_exit(0);
}

static void judge(const struct row *row, int status, const char *printed, size_t length)
{
	struct told told = {0, false};

	if (WIFSIGNALED(status)) {
		cr_expect(WTERMSIG(status) == SIGABRT && row->answer == STOPS &&
		                  strncmp(printed, "baton: ", 7) == 0,
		          "%s: ended by signal %d%s: %s", row->name, WTERMSIG(status),
		          WTERMSIG(status) == SIGALRM ? " (hangs)" : "", printed);
		return;
	}
	cr_assert_eq(length, sizeof(told), "%s", row->name);
	memcpy(&told, printed, sizeof(told));
	cr_expect(row->answer == ANY || told.answer == row->answer, "%s: %ld", row->name,
	          told.answer);
	cr_expect(told.answer != -ECHILD || !told.changed, "%s: refused, but has an effect",
	          row->name);
}

static void call_in_a_child(const struct row *row)
{
	char printed[512] = "";
	size_t length = 0;
	ssize_t got;
	int status = 0;
	int ends[2];
	pid_t child;

	MUST(pipe(ends) == 0);
	child = fork();
	MUST(child >= 0);
	if (child == 0)
		answer(row, ends[1]);
	MUST(close(ends[1]) == 0);
	while ((got = read(ends[0], printed + length, sizeof(printed) - 1 - length)) > 0)
		length += (size_t)got;
	MUST(close(ends[0]) == 0);
	MUST(waitpid(child, &status, 0) == child);
	judge(row, status, printed, length);
}

static void *call_all(void *arg)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (!rows[i].in_a_task) {
			call_in_a_child(&rows[i]);
		} else if (arg) {
			MUST(baton_epoch_enter() == 0); /* as baton_epoch_leave needs it */
			call_in_a_child(&rows[i]);
			baton_epoch_leave();
		}
	}
	return NULL;
}

static void *call_all_in_a_task(void *arg)
{
	baton_undo_log_begin(&world.log);
	call_all(arg);
	MUST(baton_undo_log_end(&world.log, 0) == 0);
	return NULL;
}

static void from_a_thread_of_each_sort(void)
{
	struct baton_resource own = BATON_RESOURCE_INIT(NULL);

	call_all(NULL);
	thread_join(thread_start(call_all, NULL));
	cr_assert_eq(baton_call(&own, call_all_in_a_task, &own, NULL), 0);
	resource_end(&own);
}

Test(fork_table, each_function_returns_where_the_parent_is_at_rest, .timeout = 200)
{
	world_begin(false);
	from_a_thread_of_each_sort();
	world_end();
}

Test(fork_table, each_function_returns_where_the_parents_threads_are_inside, .timeout = 200)
{
	world_begin(true);
	from_a_thread_of_each_sort();
	world_end();
}
