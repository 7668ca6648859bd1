/* SPDX-License-Identifier: MIT */
/*
 * How deep functions of the user's nest on one stack (L7, L14) through calls that cannot put them
 * off: the caller waits for their outcome. Each row of the table is such a way; its functions nest
 * as far as the library lets them, on a stack that is looked at afterwards. (What can be put off
 * is in test_chain.c, test_chain_modules.c and test_nest.c.)
 */
#include "stack.h"

#include <baton/call.h>

/* ---- Calls ---- */

static int calls(struct level *level)
{
	return (baton_call)(&level->resource, descends, NULL, NULL);
}

static int calls_inlined(struct level *level)
{
	return baton_call_inline(&level->resource, descends, NULL, NULL);
}

static int try_calls(struct level *level)
{
	return baton_try_call(&level->resource, descends, NULL, NULL);
}

static int calls_with_label(struct level *level)
{
	static const struct baton_label label = {.lane = 0};
	const struct baton_call_options options = {.fn = descends, .label = &label};

	return baton_call_with(&level->resource, &options, NULL);
}

static int calls_with_deadline(struct level *level)
{
	const struct baton_call_options options = {.fn = descends, .timeout_ns = 60 * BATON_SECOND};

	return baton_call_with(&level->resource, &options, NULL);
}

static void counted_init(struct level *level)
{
	baton_resource_set_stats(&level->resource, &level->stats);
}

static void lanes_init(struct level *level)
{
	baton_lanes_init(&level->lanes, &level->lane, 1, NULL);
	baton_resource_set_lanes(&level->resource, &level->lanes);
}

static int calls_nothing(struct level *level)
{
	return baton_call(&level->resource, returns_arg, NULL, NULL);
}

static int try_calls_nothing(struct level *level)
{
	return baton_try_call(&level->resource, returns_arg, NULL, NULL);
}

static int posts(struct level *level)
{
	return baton_post(&level->resource, descends, NULL);
}

static int asyncs(struct level *level)
{
	struct baton_future *future;
	int error = baton_async(&level->resource, descends, NULL, &future);

	if (!error)
		baton_future_unref(future);
	return error;
}

static int item_descends(struct baton_resource *resource, void *arg, size_t index)
{
	descend();
	return 0;
}

static int fans_out(struct level *level)
{
	const struct baton_fan_out_options options = {.fn = item_descends};
	struct baton_resource *resource = &level->resource;

	return baton_fan_out_submit(&resource, 1, &options, NULL);
}

/* ---- Waits ---- */

static int waits(struct level *level)
{
	baton_task_init(&level->task, task_descends, &level->future);
	MUST(baton_submit_later(&level->resource, &level->task) == 0);
	return baton_future_wait(&level->future);
}

static int awaits(struct level *level)
{
	baton_task_init(&level->task, task_descends, NULL);
	MUST(baton_submit_later(&level->resource, &level->task) == 0);
	return baton_resource_await(&level->resource);
}

static int calls_behind(struct level *level)
{
	baton_task_init(&level->task, rests, NULL);
	MUST(baton_submit_later(&level->resource, &level->task) == 0);
	return calls(level);
}

static int awaits_cancelled(struct level *level)
{
	baton_task_init(&level->task, rests, NULL);
	MUST(baton_submit_later(&level->resource, &level->task) == 0);
	MUST(baton_resource_cancel_pending(&level->resource) == 0);
	return baton_resource_await(&level->resource);
}

static int quiesces_cancelled(struct level *level)
{
	struct baton_resource *resource = &level->resource;
	int error;

	baton_task_init(&level->task, rests, NULL);
	MUST(baton_submit_later(&level->resource, &level->task) == 0);
	MUST(baton_resource_cancel_pending(&level->resource) == 0);
	error = baton_quiesce(&resource, 1, &level->suspension);
	if (!error)
		MUST(baton_quiesce_end(&level->suspension, 1) == 0);
	return error;
}

/* ---- Executors that this thread drives ---- */

static void job_descends(struct baton_plain_job *job)
{
	descend();
}

static void job_init(struct level *level)
{
	baton_plain_job_init(&level->job, job_descends, NULL);
}

static int runs_one(struct level *level)
{
	MUST(baton_executor_schedule(baton_manual_executor(manual), &level->job.job) == 0);
	return baton_manual_run(manual, 1) ? 0 : -EDEADLK;
}

static int runs_all(struct level *level)
{
	MUST(baton_executor_schedule(baton_manual_executor(manual), &level->job.job) == 0);
	return baton_manual_run(manual, 0) ? 0 : -EDEADLK;
}

static int runs_loop(struct level *level)
{
	MUST(baton_executor_schedule(baton_loop_executor(loop), &level->job.job) == 0);
	return baton_loop_run(loop, 1) ? 0 : -EDEADLK;
}

static int runs_gathered(struct level *level)
{
	baton_loop_gather(loop);
	MUST(baton_executor_schedule(baton_loop_executor(loop), &level->job.job) == 0);
	return baton_loop_run_gathered(loop) ? 0 : -EDEADLK;
}

static int runs_task(struct level *level)
{
	baton_task_init(&level->task, task_descends, NULL);
	MUST(baton_submit_later(&level->resource, &level->task) == 0);
	return baton_manual_run(manual, 1) ? 0 : -EDEADLK;
}

/*
 * The resource is suspended, so that the wait does not help but drives. The deadline of the wait
 * that is too deep to drive passes. It then ends the waits above it, none of whose deadlines may
 * pass before: the thread may be stopped for long at each level.
 */
static int drives(struct level *level)
{
	static struct baton_future over;
	struct baton_future *const futures[] = {&level->future, &over};
	const uint64_t deadline = deadline_in_ms(nested > way->levels ? 5 : 10000);
	int error;

	if (nested == 1)
		baton_promise_init(&over);
	MUST(baton_resource_suspend(&level->resource, &level->suspension) == 0);
	MUST(baton_executor_schedule(baton_manual_executor(manual), &level->job.job) == 0);
	baton_task_init(&level->task, rests, &level->future);
	MUST(baton_submit_later(&level->resource, &level->task) == 0);
	error = baton_future_wait_any_until(futures, 2, deadline, NULL);
	if (error)
		BATON_IGNORE(baton_future_complete(&over, 0, NULL));
	return error;
}

static int source_descends(struct baton_source *source)
{
	descend();
	return 0;
}

static void source_init(struct level *level)
{
	static const struct baton_source_config config = {.fn = source_descends};

	baton_source_init(&level->source, &mainloop, &config, NULL);
}

static int dispatches(struct level *level)
{
	int64_t ran;

	MUST(baton_source_start(&level->source) == 0);
	ran = baton_mainloop_run(&mainloop, 1);
	return ran < 0 ? (int)ran : 0;
}

/* ---- Functions that a module calls ---- */

static int acquires(struct level *level)
{
	const size_t name = (size_t)(level - levels);
	struct baton_registry_entry *entry;
	int error = baton_registry_acquire(registry, &name, sizeof(name), &entry);

	if (!error)
		MUST(baton_registry_unref(entry) == 0);
	return error;
}

static bool visit_descends(struct baton_registry_entry *entry, void *arg)
{
	descend();
	return false;
}

static int walks(struct level *level)
{
	return baton_registry_walk(registry, visit_descends, NULL);
}

/* ---- The table ---- */

static int mixes(struct level *level);

/* What a level takes of BATON_CALLING_MAX: 1; 2; 4, of a thread that helps. */
#define CALLED BATON_CALLING_MAX, -EDEADLK
#define TWO (BATON_CALLING_MAX / 2), -EDEADLK
#define HELPED BATON_HELPING_MAX, -EDEADLK
#define NESTED BATON_NESTING_MAX, -EDEADLK
#define PUT_OFF BATON_NESTING_MAX, 0

static const struct way ways[] = {
	{"call", calls, no_init, &plain, CALLED},
	{"call, inlined", calls_inlined, no_init, &plain, CALLED},
	{"try_call", try_calls, no_init, &plain, CALLED},
	{"call with a label", calls_with_label, no_init, &plain, CALLED},
	{"call with a deadline", calls_with_deadline, no_init, &plain, CALLED},
	{"call, statistics", calls, counted_init, &plain, CALLED},
	{"try_call, statistics", try_calls, counted_init, &plain, CALLED},
	{"call, time limit", calls, no_init, &timed, TWO},
	{"call, lanes", calls, lanes_init, &plain, CALLED},
	{"call with a label, lanes", calls_with_label, lanes_init, &plain, CALLED},
	{"call with a deadline, lanes", calls_with_deadline, lanes_init, &plain, CALLED},
	{"call, hooks", calls, no_init, &holds, HELPED},
	{"try_call, hooks", try_calls, no_init, &holds, TWO},
	{"call in batch_begin", calls_nothing, no_init, &begins, HELPED},
	{"try_call in batch_begin", try_calls_nothing, no_init, &begins, TWO},
	{"call in batch_end", calls_nothing, no_init, &ends, HELPED},
	{"try_call in batch_end", try_calls_nothing, no_init, &ends, TWO},
	{"post", posts, no_init, &plain, PUT_OFF},
	{"post, statistics", posts, counted_init, &plain, PUT_OFF},
	{"post, time limit", posts, no_init, &timed, PUT_OFF},
	{"post, hooks", posts, no_init, &holds, PUT_OFF},
	{"async", asyncs, no_init, &plain, PUT_OFF},
	{"async, time limit", asyncs, no_init, &timed, PUT_OFF},
	{"fan-out", fans_out, no_init, &plain, PUT_OFF},
	{"fan-out, time limit", fans_out, no_init, &timed, PUT_OFF},
	{"acquire in init", acquires, no_init, &plain, BATON_CALLING_MAX - 1, -EDEADLK},
	{"walk in a visit", walks, no_init, &plain, CALLED},
	{"call of a queued resource", calls_behind, no_init, &queued, HELPED},
	{"wait, task queued", waits, no_init, &queued, HELPED},
	{"await, task queued", awaits, no_init, &queued, HELPED},
	{"await, cancelled tasks queued", awaits_cancelled, no_init, &queued, HELPED},
	{"quiesce, cancelled tasks queued", quiesces_cancelled, no_init, &queued, HELPED},
	{"call, a manual executor's resource", calls, no_init, &driven, HELPED},
	{"wait that drives", drives, job_init, &driven, BATON_CALLING_MAX / 3, -ETIMEDOUT},
	{"jobs of a manual executor", runs_one, job_init, &plain, CALLED},
	{"jobs of a manual executor, all", runs_all, job_init, &plain, CALLED},
	{"tasks of a manual executor", runs_task, no_init, &driven, TWO},
	{"jobs of a loop", runs_loop, job_init, &plain, CALLED},
	{"jobs of a loop, gathered", runs_gathered, job_init, &plain, CALLED},
	{"sources of a main loop", dispatches, source_init, &plain, NESTED},
	{"the costliest of each sort", mixes, no_init, &plain, HELPED},
};

/* The costliest of the ways, further and further down. Each takes a level of its own. */
static int mixes(struct level *level)
{
	int error;

	baton_resource_init(&level->resource, &driven);
	error = calls(level);
	if (error == -EDEADLK && begun < LEVELS) {
		level = &levels[begun++];
		baton_resource_init(&level->resource, &queued);
		error = calls_behind(level);
	}
	if (error == -EDEADLK && begun < LEVELS) {
		level = &levels[begun++];
		lanes_init(level);
		error = calls_with_deadline(level);
	}
	return error;
}

Test(stack, functions_that_are_waited_for_nest_to_a_limit_and_fit_on_64_kib, .timeout = 30)
{
	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		size_t used;

		way = &ways[i];
		used = stack_of(row_main);
		/* The outermost function is the test's own. */
		cr_expect_eq(deepest - 1, way->levels, "%s: %zu", way->name, deepest - 1);
		cr_expect_eq(refusal, way->refusal, "%s: %d", way->name, refusal);
		cr_expect(is_small(used), "%s: %zu bytes", way->name, used);
	}
}

static struct baton_resource deep[BATON_CALLING_MAX];
static int refused[3];

/* Below the deepest call that is allowed: what is refused, and what is not. */
static void *looks_on(void *arg)
{
	static struct baton_resource last = BATON_RESOURCE_INIT(NULL);
	const struct baton_call_options options = {.fn = returns_arg};
	void *value = &last;

	refused[0] = baton_call(&last, returns_arg, NULL, &value);
	refused[1] = baton_try_call(&last, returns_arg, NULL, &value);
	refused[2] = baton_call_with(&last, &options, &value);
	MUST(value == &last && baton_deadlock_cycle(NULL, 0) == 0);
	MUST(baton_post(&last, returns_arg, NULL) == 0);
	return arg;
}

static void *goes_down(void *arg)
{
	const size_t level = (size_t)((struct baton_resource *)arg - deep);
	void *value = NULL;

	if (level + 1 == BATON_CALLING_MAX)
		return looks_on(arg);
	MUST(baton_call(&deep[level + 1], goes_down, &deep[level + 1], &value) == 0);
	MUST(value == &deep[level + 1]);
	return arg;
}

Test(stack, a_call_at_the_limit_is_refused_and_the_calls_above_have_their_values, .timeout = 10)
{
	cr_assert_eq(baton_call(&deep[0], goes_down, &deep[0], NULL), 0);
	for (size_t i = 0; i < 3; i++)
		cr_assert_eq(refused[i], -EDEADLK);
	cr_assert_eq(baton__self->calling_max, BATON_CALLING_MAX);
	cr_assert_eq(baton_call(&deep[0], goes_down, &deep[0], NULL), 0, "and again");
}
