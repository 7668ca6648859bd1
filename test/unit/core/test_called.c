/* SPDX-License-Identifier: MIT */
/*
 * The chain of sleeping callers (core/called.h): a function that runs on another thread for a call
 * made inside a task is inside that task's resource, as if the caller's thread had run it.
 */
#include "elsewhere.h"
#include "misuse.h"

#include <baton/detach.h>
#include <baton/hooks.h>
#include <baton/label.h>
#include <baton/manual.h>
#include <baton/suspend.h>
#include <baton/undo.h>

#include <sys/wait.h>

/* A calls B calls C, each on another thread; `body` is the function in the last of `depth`. */
struct tower {
	struct baton_resource resources[3];
	unsigned depth;
	unsigned level; /* of the function that runs */
	int threads[3];
	baton_call_fn body;
	const struct baton_label *label;
	uint64_t timeout_ns;
	int status[2];
	struct baton_future future; /* of `task`, in the first resource */
	struct step step;
	struct journal journal;
	struct baton_detached token;
	bool held[4];
};

static void *climb(void *arg)
{
	struct tower *tower = arg;
	unsigned level = tower->level;

	tower->threads[level] = thread_id();
	if (level + 1 == tower->depth)
		return tower->body(tower);
	tower->level++;
	tower->status[level] =
		call_elsewhere(&tower->resources[level + 1],
	                       &(struct baton_call_options){.fn = climb,
	                                                    .arg = tower,
	                                                    .label = tower->label,
	                                                    .timeout_ns = tower->timeout_ns});
	MUST(baton_held(&tower->resources[level]));
	MUST(!baton_held(&tower->resources[level + 1]));
	return NULL;
}

static void tower_run(struct tower *tower, unsigned depth, baton_call_fn body)
{
	tower->depth = depth;
	tower->body = body;
	baton_future_init(&tower->future);
	for (unsigned i = 0; i < 3; i++)
		baton_resource_init(&tower->resources[i], NULL);
	cr_assert_eq(baton_call(&tower->resources[0], climb, tower, NULL), 0);
	for (unsigned i = 0; i + 1 < depth; i++) {
		cr_assert_eq(tower->status[i], 0);
		cr_assert_neq(tower->threads[i], tower->threads[i + 1]);
	}
	for (unsigned i = 0; i < 3; i++)
		resource_end(&tower->resources[i]);
}

/* ---- Held ---- */

static void *look(void *arg)
{
	struct tower *tower = arg;

	for (unsigned i = 0; i < 3; i++)
		tower->held[i] = baton_held(&tower->resources[i]);
	for (unsigned i = 0; i < tower->depth; i++)
		baton_assert_held(&tower->resources[i]);
	tower->held[3] = baton_current() == &tower->resources[tower->depth - 1];
	return NULL;
}

static void all_are_held(struct tower *tower, unsigned depth)
{
	tower_run(tower, depth, look);
	for (unsigned i = 0; i < 3; i++)
		cr_assert_eq(tower->held[i], i < depth, "%u", i);
	cr_assert(tower->held[3]);
}

Test(called, a_function_that_runs_elsewhere_is_in_its_callers_resource, .timeout = 10)
{
	struct tower tower = {.level = 0};

	all_are_held(&tower, 2);
}

Test(called, so_it_is_in_the_resources_of_its_callers_caller, .timeout = 10)
{
	struct tower tower = {.level = 0};

	all_are_held(&tower, 3);
}

Test(called, with_a_label_or_a_deadline_as_well, .timeout = 10)
{
	const struct baton_label label = {.tag = NULL};
	struct tower labelled = {.label = &label};
	struct tower timed = {.timeout_ns = 60 * BATON_SECOND};
	struct tower both = {.label = &label, .timeout_ns = 60 * BATON_SECOND};

	all_are_held(&labelled, 3);
	all_are_held(&timed, 3);
	all_are_held(&both, 2);
}

/* Posted by the called function, so that it comes next in B, on the same thread. */
static void *look_again(void *arg)
{
	struct tower *tower = arg;

	tower->held[0] = baton_held(&tower->resources[0]);
	tower->held[1] = baton_held(&tower->resources[1]);
	tower->held[2] = tower->threads[1] == thread_id();
	return NULL;
}

static void *post_a_look(void *arg)
{
	struct tower *tower = arg;

	tower->held[3] = baton_held(&tower->resources[0]);
	MUST(baton_post(&tower->resources[1], look_again, tower) == 0);
	return NULL;
}

Test(called, the_next_task_of_the_thread_is_not, .timeout = 10)
{
	struct tower tower = {.level = 0};

	tower_run(&tower, 2, post_a_look);
	cr_assert(tower.held[3] && tower.held[2]);
	cr_assert_not(tower.held[0]);
	cr_assert(tower.held[1]);
}

/* A task that the called function's wait runs, on this thread, runs for others. */
static int look_in_wait(struct baton_task *task)
{
	struct tower *tower = baton_container_of(task, struct tower, step.task);

	tower->held[1] = baton_held(&tower->resources[0]);
	return 0;
}

static void *wait_for_a_look(void *arg)
{
	struct tower *tower = arg;
	struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;
	struct baton_resource other;
	struct baton_manual *manual;

	MUST(baton_manual_create(&manual) == 0);
	config.executor = baton_manual_executor(manual);
	baton_resource_init(&other, &config);
	baton_task_init(&tower->step.task, look_in_wait, &tower->future);
	MUST(baton_submit_later(&other, &tower->step.task) == 0);
	MUST(baton_future_wait(&tower->future) == 0);
	tower->held[0] = baton_held(&tower->resources[0]);
	MUST(baton_resource_close(&other) == 0 && baton_resource_await(&other) == 0);
	baton_manual_destroy(manual);
	return NULL;
}

Test(called, nor_is_what_the_functions_wait_runs, .timeout = 10)
{
	struct tower tower = {.held = {false, true}};

	tower_run(&tower, 2, wait_for_a_look);
	cr_assert(tower.held[0]);
	cr_assert_not(tower.held[1]);
}

/* ---- The message ---- */

static struct tower misused;

static void *claim_the_third(void *arg)
{
	(void)arg;
	baton_assert_held(&misused.resources[2]);
	return NULL;
}

static void called_and_not_held(void)
{
	static const struct baton_resource_config configs[3] = {BATON_RESOURCE_CONFIG_NAMED("a"),
	                                                        BATON_RESOURCE_CONFIG_NAMED("b"),
	                                                        BATON_RESOURCE_CONFIG_NAMED("c")};

	misused = (struct tower){.depth = 2, .body = claim_the_third};
	for (unsigned i = 0; i < 3; i++)
		baton_resource_init(&misused.resources[i], &configs[i]);
	BATON_IGNORE(baton_call(&misused.resources[0], climb, &misused, NULL));
}

Test(called, a_failed_assert_held_names_the_chain, .timeout = 20)
{
	static const struct mistake mistakes[] = {
		{called_and_not_held,
	         "baton_assert_held: \"c\" is not held by this thread: only a task of it, or a "
	         "function that such a task calls, may be here. Held, innermost first: \"b\"; by a "
	         "sleeping caller: \"a\" ("},
	};

	mistakes_are_said(mistakes, 1);
}

/* ---- What a called function may use ---- */

static int undone(void *arg)
{
	bool *called = arg;

	*called = true;
	return 0;
}

static struct baton_undo_log undo_log; /* of the outer task */

static void *add_to_log(void *arg)
{
	struct tower *tower = arg;

	MUST(baton_undo_log_add(&undo_log, undone, &tower->held[0]) == 0);
	return NULL;
}

static void *fill_log(void *arg)
{
	struct tower *tower = arg;

	baton_undo_log_begin(&undo_log);
	MUST(call_elsewhere(&tower->resources[1],
	                    &(struct baton_call_options){.fn = add_to_log, .arg = tower}) == 0);
	MUST(baton_undo_log_end(&undo_log, -EIO) == -EIO);
	return NULL;
}

Test(called, a_function_may_add_to_its_callers_undo_log, .timeout = 10)
{
	struct tower tower = {.level = 0};

	tower_run(&tower, 1, fill_log);
	cr_assert(tower.held[0]);
}

/* ---- Detached ---- */

static int detach_inside(struct baton_task *task)
{
	struct tower *tower = baton_container_of(task, struct tower, step.task);

	return baton_detach(&tower->token, 0);
}

static void *detach(void *arg)
{
	struct tower *tower = arg;

	baton_task_init(&tower->step.task, detach_inside, &tower->future);
	MUST(baton_submit(&tower->resources[2], &tower->step.task) == 0);
	tower->held[0] = baton_held(&tower->resources[0]);
	MUST(baton_detached_complete(&tower->token, 0, NULL) == 0);
	MUST(baton_detach(&tower->token, 0) == 0);
	tower->held[1] = baton_held(&tower->resources[0]);
	tower->held[2] = baton_held(&tower->resources[1]);
	MUST(baton_detached_complete(&tower->token, 0, NULL) == 0);
	return NULL;
}

Test(called, a_function_that_detaches_itself_is_no_more, .timeout = 10)
{
	struct tower tower = {.token = BATON_DETACHED_INIT, .held = {false, true}};

	tower_run(&tower, 2, detach);
	cr_assert(tower.held[0], "a task inside it has detached itself");
	cr_assert_not(tower.held[1]);
	cr_assert(tower.held[2]);
}

/* ---- Deadlocks ---- */

static void *nothing(void *arg)
{
	return arg;
}

static void expect_cycle(struct tower *tower, int status)
{
	struct baton_deadlock_link links[BATON_DEADLOCK_MAX];

	MUST(status == -EDEADLK);
	MUST(baton_deadlock_cycle(links, BATON_DEADLOCK_MAX) == tower->depth);
	for (unsigned i = 0; i < tower->depth; i++)
		MUST(links[i].resource == &tower->resources[i]);
}

static void *ask_for_outer(void *arg)
{
	struct tower *tower = arg;
	struct baton_resource *outer = &tower->resources[0];
	struct baton_future *future = &tower->future;
	const uint64_t late = baton_after(60 * BATON_SECOND);
	struct baton_call_options options = {.fn = nothing, .timeout_ns = 60 * BATON_SECOND};
	struct baton_suspension suspension;

	step_init(&tower->step, &tower->journal, 0, future);
	MUST(baton_submit(outer, &tower->step.task) == 0);
	expect_cycle(tower, baton_call(outer, nothing, NULL, NULL));
	expect_cycle(tower, baton_try_call(outer, nothing, NULL, NULL));
	expect_cycle(tower, baton_call_with(outer, &options, NULL));
	expect_cycle(tower, baton_future_wait(future));
	expect_cycle(tower, baton_future_wait_until(future, late));
	expect_cycle(tower, baton_future_wait_all(&future, 1));
	expect_cycle(tower, baton_future_wait_any_until(&future, 1, late, NULL));
	expect_cycle(tower, baton_resource_await(outer));
	expect_cycle(tower, baton_resource_await_until(outer, late));
	expect_cycle(tower, baton_quiesce_until(&outer, 1, &suspension, late));
	return NULL;
}

static void never_waits(unsigned depth)
{
	struct tower tower = {.level = 0};

	tower_run(&tower, depth, ask_for_outer);
	cr_assert_eq(baton_future_state(&tower.future), BATON_DONE);
}

Test(called, a_wait_for_a_callers_resource_is_refused_at_once, .timeout = 10)
{
	never_waits(2);
	never_waits(3);
}

static void *call_the_third(void *arg)
{
	struct tower *tower = arg;

	MUST(baton_call(&tower->resources[2], nothing, NULL, NULL) == 0);
	MUST(baton_try_call(&tower->resources[2], nothing, NULL, NULL) == 0);
	MUST(call_elsewhere(&tower->resources[2], &(struct baton_call_options){.fn = nothing}) ==
	     0);
	return NULL;
}

Test(called, a_call_of_a_resource_that_no_caller_holds_is_not, .timeout = 10)
{
	struct tower tower = {.level = 0};

	tower_run(&tower, 2, call_the_third);
}

/* ---- Hooks that a called function's flush calls ---- */

static struct tower *flushing; /* while its function flushes */
static int hook_calls;

static int look_in_hook(struct baton_resource *resource)
{
	if (!flushing)
		return 0;
	hook_calls++;
	flushing->held[0] &= baton_held(&flushing->resources[0]);
	expect_cycle(flushing, baton_call(&flushing->resources[0], nothing, NULL, NULL));
	return 0;
}

static void *flush(void *arg)
{
	flushing = arg;
	MUST(baton_batch_flush() == 0);
	flushing = NULL;
	return NULL;
}

static void *call_to_flush(void *arg)
{
	struct tower *tower = arg;

	MUST(call_elsewhere(&tower->resources[1],
	                    &(struct baton_call_options){.fn = flush, .arg = tower}) == 0);
	return NULL;
}

Test(called, the_hooks_of_a_flush_are_in_the_callers_resource_too, .timeout = 10)
{
	struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;
	struct tower tower = {.depth = 2, .held = {true}};

	config.batch_begin = look_in_hook;
	config.batch_end = look_in_hook;
	baton_resource_init(&tower.resources[0], NULL);
	baton_resource_init(&tower.resources[1], &config);
	cr_assert_eq(baton_call(&tower.resources[0], call_to_flush, &tower, NULL), 0);
	cr_assert_eq(hook_calls, 2);
	cr_assert(tower.held[0]);
	resource_end(&tower.resources[0]);
	resource_end(&tower.resources[1]);
}

/* ---- A fork's child has no caller ---- */

static void *look_in_child(void *arg)
{
	struct tower *tower = arg;
	pid_t child = fork();
	int status = -1;

	MUST(child >= 0);
	if (child == 0)
		_exit(baton_held(&tower->resources[0])   ? 1
		      : baton_held(&tower->resources[1]) ? 0
		                                         : 2);
	MUST(waitpid(child, &status, 0) == child);
	tower->held[0] = WIFEXITED(status) && WEXITSTATUS(status) == 0;
	return NULL;
}

Test(called, in_a_forks_child_the_chain_is_empty, .timeout = 10)
{
	struct tower tower = {.level = 0};

	tower_run(&tower, 2, look_in_child);
	cr_assert(tower.held[0]);
}
