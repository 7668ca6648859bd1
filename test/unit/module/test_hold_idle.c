/* SPDX-License-Identifier: MIT */
/* Holds of idle resources: what the thread has between hold and release, and what is refused. */
#include "support.h"

#include <baton/carried.h>
#include <baton/detach.h>
#include <baton/hold.h>

Test(hold_idle, between_hold_and_release_no_task_runs, .timeout = 10)
{
	struct baton_resource resource = BATON_RESOURCE_INIT(NULL);
	struct baton_hold hold = BATON_HOLD_INIT;
	struct journal journal = {0};
	struct step steps[3];

	steps_init(steps, 3, &journal, 0);
	cr_assert_eq(baton_hold(&resource, &hold), 0);
	cr_assert(baton_held(&resource));
	cr_assert_eq(baton_current(), &resource);
	for (int i = 0; i < 3; i++)
		cr_assert_eq(baton_submit(&resource, &steps[i].task), 0);
	cr_assert_eq(journal.count, 0);
	cr_assert_eq(baton_release(&hold), 0);
	cr_assert_not(baton_held(&resource));
	cr_assert(journal_counts_up(&journal, 0, 3));
	cr_assert(journal_here(&journal, 2));
	resource_end(&resource);
}

Test(hold_idle, wrong_use_is_an_error_and_takes_nothing, .timeout = 10)
{
	struct baton_resource resource = BATON_RESOURCE_INIT(NULL);
	struct baton_resource other = BATON_RESOURCE_INIT(NULL);
	struct baton_hold hold = BATON_HOLD_INIT;
	struct baton_hold second = BATON_HOLD_INIT;

	cr_assert_eq(baton_release(&hold), -EINVAL);
	cr_assert_eq(baton_hold(&resource, &hold), 0);
	cr_assert_eq(baton_hold(&other, &hold), -EALREADY);
	cr_assert_eq(baton_hold_until(&other, &hold, BATON_FOREVER), -EALREADY);
	cr_assert(baton_resource_is_idle(&other));
	cr_assert_eq(baton_hold(&resource, &second), -EDEADLK);
	cr_assert_eq(baton_hold_until(&resource, &second, 0), -EDEADLK);
	cr_assert_eq(baton_release(&second), -EINVAL);
	cr_assert_eq(baton_release(&hold), 0);
	cr_assert_eq(baton_release(&hold), -EINVAL);
	resource_end(&resource);
	resource = (struct baton_resource)BATON_RESOURCE_INIT(NULL);
	cr_assert_eq(baton_resource_close(&resource), 0);
	cr_assert_eq(baton_hold(&resource, &hold), -EPIPE);
	cr_assert_eq(baton_hold_until(&resource, &hold, 0), -EPIPE);
	cr_assert_eq(baton_release(&hold), -EINVAL);
	baton_resource_deinit(&resource);
	resource_end(&other);
}

Test(hold_idle, holds_are_released_in_any_order, .timeout = 10)
{
	static const int orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
	                                 {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
	struct baton_resource_stats stats[3] = {{0}, {0}, {0}};
	struct baton_resource resources[3];
	struct baton_hold holds[3] = {BATON_HOLD_INIT, BATON_HOLD_INIT, BATON_HOLD_INIT};

	for (int special = 0; special < 2; special++) {
		for (int i = 0; i < 3; i++) {
			baton_resource_init(&resources[i], NULL);
			if (special)
				baton_resource_set_stats(&resources[i], &stats[i]);
		}
		for (int order = 0; order < 6; order++) {
			for (int i = 0; i < 3; i++)
				cr_assert_eq(baton_hold(&resources[i], &holds[i]), 0);
			for (int i = 0; i < 3; i++) {
				int which = orders[order][i];

				cr_assert(baton_held(&resources[which]));
				cr_assert_eq(baton_release(&holds[which]), 0);
				cr_assert_not(baton_held(&resources[which]));
				cr_assert(baton_resource_is_idle(&resources[which]));
			}
			cr_assert_null(baton_current());
			expect_thread_is_free();
		}
		for (int i = 0; i < 3; i++) {
			if (special)
				cr_assert_eq(resource_counts(&stats[i]).executed, 6);
			resource_end(&resources[i]);
		}
	}
}

static void *count_call(void *arg)
{
	++*(int *)arg;
	return NULL;
}

Test(hold_idle, a_call_of_the_held_resource_is_refused_and_of_another_one_runs, .timeout = 10)
{
	struct baton_resource resource = BATON_RESOURCE_INIT(NULL);
	struct baton_resource other = BATON_RESOURCE_INIT(NULL);
	struct baton_hold hold = BATON_HOLD_INIT;
	struct baton_deadlock_link link;
	int calls = 0;

	cr_assert_eq(baton_hold(&resource, &hold), 0);
	cr_assert_eq(baton_call(&resource, count_call, &calls, NULL), -EDEADLK);
	cr_assert_eq(baton_deadlock_cycle(&link, 1), 1);
	cr_assert_eq(link.resource, &resource);
	cr_assert_eq(baton_call(&other, count_call, &calls, NULL), 0);
	cr_assert_eq(calls, 1);
	cr_assert_eq(baton_release(&hold), 0);
	resource_end(&resource);
	resource_end(&other);
}

/* ---- Inside a task: what is the task's ---- */

struct inside {
	struct baton_task task;
	struct baton_resource *resources[2];
	struct baton_detached token;
	struct baton_future *own;
	bool detaches;
	int errors;
	bool requested;
};

static int hold_inside(struct baton_task *task)
{
	struct inside *inside = baton_container_of(task, struct inside, task);
	struct baton_hold holds[2] = {BATON_HOLD_INIT, BATON_HOLD_INIT};

	for (int i = 0; i < 2; i++)
		inside->errors += baton_hold(inside->resources[i], &holds[i]) != 0;
	inside->errors += baton_current() != inside->resources[1];
	baton_set_result(inside);
	inside->errors += baton_set_carried(inside) != 0;
	inside->errors += baton_future_cancel(inside->own) != -EINPROGRESS;
	inside->requested = baton_cancel_requested();
	if (inside->detaches)
		inside->errors += baton_detach(&inside->token, 0) != 0;
	for (int i = 0; i < 2; i++)
		inside->errors += baton_release(&holds[i]) != 0;
	inside->errors += baton_carried() != inside;
	return 0;
}

Test(hold_idle, inside_a_task_the_result_the_cancel_and_the_carried_value_are_the_tasks,
     .timeout = 10)
{
	struct baton_resource resource = BATON_RESOURCE_INIT(NULL);
	struct baton_resource others[2] = {BATON_RESOURCE_INIT(NULL), BATON_RESOURCE_INIT(NULL)};
	struct baton_future future = BATON_FUTURE_INIT;
	struct inside inside = {.resources = {&others[0], &others[1]}, .own = &future};

	baton_task_init(&inside.task, hold_inside, &future);
	cr_assert_eq(baton_submit(&resource, &inside.task), 0);
	cr_assert_eq(inside.errors, 0);
	cr_assert(inside.requested);
	cr_assert_eq(baton_future_value(&future), &inside);
	cr_assert_null(baton_carried());
	for (int i = 0; i < 2; i++)
		resource_end(&others[i]);
	resource_end(&resource);
}

Test(hold_idle, a_task_detaches_itself_while_it_holds_another_resource, .timeout = 10)
{
	struct baton_resource resource = BATON_RESOURCE_INIT(NULL);
	struct baton_resource others[2] = {BATON_RESOURCE_INIT(NULL), BATON_RESOURCE_INIT(NULL)};
	struct baton_future future = BATON_FUTURE_INIT;
	struct inside inside = {.resources = {&others[0], &others[1]},
	                        .own = &future,
	                        .token = BATON_DETACHED_INIT,
	                        .detaches = true};

	baton_task_init(&inside.task, hold_inside, &future);
	cr_assert_eq(baton_submit(&resource, &inside.task), 0);
	cr_assert_eq(inside.errors, 0);
	cr_assert_eq(baton_future_state(&future), BATON_RUNNING);
	cr_assert_eq(baton_detached_complete(&inside.token, 0, &future), 0);
	cr_assert_eq(baton_future_value(&future), &future);
	for (int i = 0; i < 2; i++)
		resource_end(&others[i]);
	resource_end(&resource);
}

static int check_outside(struct baton_task *task)
{
	struct inside *inside = baton_container_of(task, struct inside, task);

	inside->errors += baton_current() != inside->resources[0];
	inside->errors += !baton_held(inside->resources[1]);
	inside->requested = true;
	return 0;
}

Test(hold_idle, a_task_of_another_resource_runs_inside_the_hold, .timeout = 10)
{
	struct baton_resource held = BATON_RESOURCE_INIT(NULL);
	struct baton_resource resource = BATON_RESOURCE_INIT(NULL);
	struct baton_hold hold = BATON_HOLD_INIT;
	struct inside inside = {.resources = {&resource, &held}};

	baton_task_init(&inside.task, check_outside, NULL);
	cr_assert_eq(baton_hold(&held, &hold), 0);
	cr_assert_eq(baton_submit(&resource, &inside.task), 0);
	cr_assert(inside.requested);
	cr_assert_eq(inside.errors, 0);
	cr_assert_eq(baton_release(&hold), 0);
	resource_end(&resource);
	resource_end(&held);
}

/* ---- The release ---- */

Test(hold_idle, the_release_runs_what_the_capture_limit_leaves, .timeout = 10)
{
	struct baton_manual *manual = NULL;
	struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;
	struct baton_resource resource;
	struct baton_hold hold = BATON_HOLD_INIT;
	struct journal journal = {0};
	struct step steps[6];

	cr_assert_eq(baton_manual_create(&manual), 0);
	config.executor = baton_manual_executor(manual);
	config.capture_max = 4;
	baton_resource_init(&resource, &config);
	steps_init(steps, 6, &journal, 0);
	cr_assert_eq(baton_hold(&resource, &hold), 0);
	for (int i = 0; i < 6; i++)
		cr_assert_eq(baton_submit(&resource, &steps[i].task), 0);
	cr_assert_eq(baton_release(&hold), 0);
	cr_assert_eq(journal.count, 3);
	(void)baton_manual_run(manual, 0);
	cr_assert(journal_counts_up(&journal, 0, 6));
	resource_end(&resource);
	baton_manual_destroy(manual);
}

Test(hold_idle, inside_another_hold_the_release_runs_nothing_here, .timeout = 10)
{
	struct baton_manual *manual = NULL;
	struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;
	struct baton_resource outer = BATON_RESOURCE_INIT(NULL);
	struct baton_resource resource;
	struct baton_hold holds[2] = {BATON_HOLD_INIT, BATON_HOLD_INIT};
	struct journal journal = {0};
	struct step step;

	cr_assert_eq(baton_manual_create(&manual), 0);
	config.executor = baton_manual_executor(manual);
	for (int order = 0; order < 2; order++) {
		journal.count = 0;
		baton_resource_init(&resource, &config);
		step_init(&step, &journal, 0, NULL);
		cr_assert_eq(baton_hold(order ? &resource : &outer, &holds[order]), 0);
		cr_assert_eq(baton_hold(order ? &outer : &resource, &holds[!order]), 0);
		cr_assert_eq(baton_submit(&resource, &step.task), 0);
		cr_assert_eq(baton_release(&holds[1]), 0);
		cr_assert_eq(journal.count, 0);
		(void)baton_manual_run(manual, 0);
		cr_assert_eq(journal.count, 1);
		cr_assert_eq(baton_release(&holds[0]), 0);
		resource_end(&resource);
	}
	resource_end(&outer);
	baton_manual_destroy(manual);
}

Test(hold_idle, holds_do_not_count_for_the_nesting_limit, .timeout = 20)
{
	enum { COUNT = 4 * BATON_NESTING_MAX };
	static struct baton_resource resources[COUNT];
	static struct baton_hold holds[COUNT];
	struct baton_resource last = BATON_RESOURCE_INIT(NULL);
	int calls = 0;

	for (int i = 0; i < COUNT; i++) {
		baton_resource_init(&resources[i], NULL);
		cr_assert_eq(baton_hold(&resources[i], &holds[i]), 0);
	}
	cr_assert_eq(baton_call(&last, count_call, &calls, NULL), 0);
	cr_assert_eq(calls, 1);
	for (int i = 0; i < COUNT; i++)
		cr_assert_eq(baton_release(&holds[i]), 0);
	for (int i = 0; i < COUNT; i++)
		resource_end(&resources[i]);
	resource_end(&last);
}

/* ---- Hooks and context ---- */

static struct baton_resource *hooked;
static char log_text[32];
static int begin_status;
static int end_status;

static void note(char letter)
{
	size_t length = strlen(log_text);

	MUST(length + 1 < sizeof(log_text) && baton_held(hooked));
	log_text[length] = letter;
}

static int batch_begin(struct baton_resource *resource)
{
	MUST(resource == hooked);
	note('b');
	return begin_status;
}

static int batch_end(struct baton_resource *resource)
{
	MUST(resource == hooked);
	note('e');
	return end_status;
}

static void enter(struct baton_resource *resource)
{
	MUST(resource == hooked);
	note('(');
}

static void leave(struct baton_resource *resource)
{
	MUST(resource == hooked);
	note(')');
}

static const struct baton_resource_config hooked_config = {
	.batch_begin = batch_begin,
	.batch_end = batch_end,
	.enter = enter,
	.leave = leave,
	.delay_completions = true,
};

Test(hold_idle, a_hold_is_a_batch_of_its_own_with_errors_of_both_ends, .timeout = 10)
{
	struct baton_resource resource;
	struct baton_hold hold = BATON_HOLD_INIT;

	hooked = &resource;
	baton_resource_init(&resource, &hooked_config);
	cr_assert_eq(baton_hold(&resource, &hold), 0);
	cr_assert_str_eq(log_text, "(b)(");
	end_status = -EIO;
	cr_assert_eq(baton_release(&hold), -EIO);
	cr_assert_str_eq(log_text, "(b)()(e)");
	cr_assert(baton_resource_is_idle(&resource));
	memset(log_text, 0, sizeof(log_text));
	begin_status = -ENOSPC;
	cr_assert_eq(baton_hold(&resource, &hold), -ENOSPC);
	cr_assert_str_eq(log_text, "(b)");
	cr_assert(baton_resource_is_idle(&resource));
	cr_assert_not(baton_held(&resource));
	cr_assert_eq(baton_release(&hold), -EINVAL);
	begin_status = 0;
	memset(log_text, 0, sizeof(log_text));
	resource_end(&resource);
}

/* ---- Executor-bound resources ---- */

static void *hold_elsewhere(void *arg)
{
	struct baton_hold hold = BATON_HOLD_INIT;
	static int error;

	error = baton_hold(arg, &hold);
	if (!error)
		error = baton_release(&hold);
	return &error;
}

Test(hold_idle, an_executor_bound_resource_is_held_by_its_executors_threads_alone, .timeout = 10)
{
	struct baton_resource_config config = {.capture_max = BATON_CAPTURE_NONE};
	struct baton_loop *loop = NULL;
	struct baton_resource resource;
	struct baton_hold hold = BATON_HOLD_INIT;
	struct journal journal = {0};
	struct step step;

	cr_assert_eq(baton_loop_create(&loop), 0);
	cr_assert_eq(baton_loop_adopt(loop), 0);
	config.executor = baton_loop_executor(loop);
	baton_resource_init(&resource, &config);
	cr_assert_eq(*(int *)thread_join(thread_start(hold_elsewhere, &resource)), -EPERM);
	cr_assert_eq(baton_hold(&resource, &hold), 0);
	cr_assert_eq(*(int *)thread_join(thread_start(hold_elsewhere, &resource)), -EPERM);
	step_init(&step, &journal, 0, NULL);
	cr_assert_eq(baton_submit(&resource, &step.task), 0);
	cr_assert_eq(baton_release(&hold), 0);
	/* No task runs outside the loop. */
	cr_assert_eq(journal.count, 0);
	/* The resource is queued: the hold drives the loop up to its place. */
	cr_assert_eq(baton_hold(&resource, &hold), 0);
	cr_assert_eq(journal.count, 1);
	cr_assert_eq(baton_release(&hold), 0);
	BATON_IGNORE(baton_loop_run(loop, 0));
	resource_end(&resource);
	baton_loop_destroy(loop);
}
