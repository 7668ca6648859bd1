/* SPDX-License-Identifier: MIT */
/* What a function that is told of an end (baton_continuation_function) may do, and what not. */
#include "fixture.h"

#include <baton/bound.h>
#include <baton/fan_out.h>
#include <baton/group.h>
#include <baton/trigger.h>

static int returns_0(struct baton_task *task)
{
	return 0;
}

static void *returns_arg(void *arg)
{
	return arg;
}

/* ---- What a function submits does not run inside it ---- */

struct inside {
	struct baton_resource *idle;
	struct baton_task *task;
	int (*submit)(struct inside *inside);
	int answer;
	atomic_int ran;
	int ran_inside;
};

static struct inside inside;

static int notes_run(struct baton_task *task)
{
	atomic_fetch_add(&inside.ran, 1);
	return 0;
}

static void *notes_call(void *arg)
{
	atomic_fetch_add(&inside.ran, 1);
	return arg;
}

static int trigger_runs(struct baton_trigger *trigger, uint64_t fires)
{
	atomic_fetch_add(&inside.ran, 1);
	return 0;
}

static int item_runs(struct baton_resource *resource, void *arg, size_t index)
{
	atomic_fetch_add(&inside.ran, 1);
	return 0;
}

static int by_submit(struct inside *in)
{
	return baton_submit(in->idle, in->task);
}

static int by_batch(struct inside *in)
{
	return baton_submit_batch(in->idle, &in->task, 1);
}

static int by_post(struct inside *in)
{
	return baton_post(in->idle, notes_call, NULL);
}

static int by_async(struct inside *in)
{
	struct baton_future *future;
	int error = baton_async(in->idle, notes_call, NULL, &future);

	if (!error)
		baton_future_unref(future);
	return error;
}

static int by_trigger(struct inside *in)
{
	static struct baton_trigger trigger;

	baton_trigger_init(&trigger, in->idle, trigger_runs);
	return baton_trigger_fire(&trigger);
}

static int by_fan_out(struct inside *in)
{
	struct baton_fan_out_options options = {.fn = item_runs};

	return baton_fan_out_submit(&in->idle, 1, &options, NULL);
}

/* By the continuation of a future that the function completes. */
static int by_continuation(struct inside *in)
{
	static struct baton_future promise;
	static struct baton_continuation continuation;

	baton_promise_init(&promise);
	baton_continuation_task(&continuation, in->idle, in->task);
	baton_future_then(&promise, &continuation);
	return baton_future_complete(&promise, 0, NULL);
}

static void submits(void *arg)
{
	struct inside *in = arg;

	in->answer = in->submit(in);
	in->ran_inside = atomic_load(&in->ran);
}

static int (*const submits_by[])(struct inside *inside) = {
	by_submit, by_batch, by_post, by_async, by_trigger, by_fan_out, by_continuation,
};

/* By a thread that holds nothing; and `nested`: under the baton of another resource. */
static void tell_and_submit(struct baton_resource *idle, bool nested,
                            int (*submit_by)(struct inside *inside))
{
	struct baton_continuation continuation;
	struct baton_future future = BATON_FUTURE_INIT;
	struct baton_task first = BATON_TASK_INIT(returns_0, &future);
	struct baton_task task = BATON_TASK_INIT(notes_run, NULL);

	inside = (struct inside){.idle = idle, .task = &task, .submit = submit_by, .answer = -1};
	baton_continuation_function(&continuation, submits, &inside);
	if (!nested)
		baton_promise_init(&future);
	baton_future_then(&future, &continuation);
	if (nested)
		cr_assert_eq(baton_submit(&fix.resource, &first), 0);
	else
		cr_assert_eq(baton_future_complete(&future, 0, NULL), 0);
	cr_assert_eq(inside.answer, 0);
	cr_assert_eq(inside.ran_inside, 0);
	(void)stash_run(&fix.stash);
	cr_assert_eq(atomic_load(&inside.ran), 1);
}

static void idle_on_stash(struct baton_resource *idle)
{
	static struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;

	config.executor = &fix.stash.executor;
	baton_resource_init(idle, &config);
}

Test(told_inside, nothing_that_it_submits_runs_inside_it, .timeout = 10)
{
	struct baton_resource idle;

	fixture_stash();
	idle_on_stash(&idle);
	for (size_t i = 0; i < sizeof(submits_by) / sizeof(*submits_by); i++) {
		tell_and_submit(&idle, false, submits_by[i]);
		tell_and_submit(&idle, true, submits_by[i]);
	}
	resource_end(&idle);
	fixture_end();
}

Test(told_inside, with_no_executor_its_task_runs_afterwards_on_this_thread, .timeout = 10)
{
	struct baton_resource idle;

	fixture_stash();
	atomic_store(&fix.stash.answer, -ESHUTDOWN);
	idle_on_stash(&idle);
	tell_and_submit(&idle, false, by_submit);
	tell_and_submit(&idle, true, by_submit);
	resource_end(&idle);
	fixture_end();
}

static void submits_to_its_runner(void *arg)
{
	steps_submit(1, 2);
	journal_add(&fix.journal, 0);
}

Test(told_inside, a_task_that_it_submits_to_the_runners_resource_runs_next, .timeout = 10)
{
	struct baton_future future = BATON_FUTURE_INIT;
	struct baton_task first = BATON_TASK_INIT(returns_0, &future);
	struct baton_continuation continuation;

	fixture_config();
	baton_continuation_function(&continuation, submits_to_its_runner, NULL);
	baton_future_then(&future, &continuation);
	cr_assert_eq(baton_submit(&fix.resource, &first), 0);
	cr_assert(journal_counts_up(&fix.journal, 0, 2));
	cr_assert(journal_here(&fix.journal, 1), "within the capture limit of the same stay");
	fixture_end();
}

/* ---- Waits are refused ---- */

struct refusals {
	struct baton_future promise;
	struct baton_future complete;
	struct baton_resource *busy;
	struct baton_resource *idle;
	struct baton_group *group;
	struct baton_manual *manual;
	struct baton_pool *pool;
	struct baton_suspension *suspension;
	struct baton_task task;
	int answers[16];
	size_t links;
	bool manual_ran;
};

static void asks_to_wait(void *arg)
{
	struct refusals *refused = arg;
	struct baton_future *futures[] = {&refused->promise};
	const uint64_t soon = deadline_in_ms(60000);
	int *answer = refused->answers;

	*answer++ = baton_future_wait(&refused->promise);
	*answer++ = baton_future_wait_until(&refused->promise, soon);
	*answer++ = baton_future_wait_any(futures, 1, NULL);
	*answer++ = baton_future_wait_all(futures, 1);
	*answer++ = baton_call(refused->idle, returns_arg, NULL, NULL);
	*answer++ = baton_try_call(refused->idle, returns_arg, NULL, NULL);
	*answer++ = baton_call(refused->busy, returns_arg, NULL, NULL);
	*answer++ = baton_resource_await(refused->busy);
	*answer++ = baton_group_wait(refused->group);
	*answer++ = baton_pool_await(refused->pool);
	*answer++ = baton_pool_destroy(refused->pool);
	*answer++ = baton_submit(refused->busy, &refused->task); /* there is no room */
	refused->links = baton_deadlock_cycle(NULL, 0);
	refused->manual_ran = baton_manual_run(refused->manual, 1);
	/* What is over needs no wait. */
	if (baton_future_wait(&refused->complete) || baton_resource_await(refused->idle))
		*answer++ = 1;
	*answer = 0;
}

static void refuse_waits(struct refusals *refused, bool nested)
{
	struct baton_resource outer = BATON_RESOURCE_INIT(NULL);
	struct baton_continuation continuation;
	struct baton_future future = BATON_FUTURE_INIT;
	struct baton_task task = BATON_TASK_INIT(returns_0, &future);

	baton_continuation_function(&continuation, asks_to_wait, refused);
	if (!nested)
		baton_promise_init(&future);
	baton_future_then(&future, &continuation);
	if (nested)
		cr_assert_eq(baton_submit(&outer, &task), 0);
	else
		cr_assert_eq(baton_future_complete(&future, 0, NULL), 0);
	for (size_t i = 0; i < 12; i++)
		cr_assert_eq(refused->answers[i], -EDEADLK, "%zu: %d", i, refused->answers[i]);
	cr_assert_eq(refused->answers[12], 0);
	cr_assert_eq(refused->links, 0);
	cr_assert(!refused->manual_ran);
}

Test(told_inside, whatever_would_wait_is_refused, .timeout = 10)
{
	struct baton_bound_config bound_config = BATON_BOUND_CONFIG_INIT;
	struct baton_resource idle = BATON_RESOURCE_INIT(NULL);
	struct baton_group group = BATON_GROUP_INIT;
	struct baton_task waiting = BATON_TASK_INIT(returns_0, NULL);
	struct baton_bound bound;
	struct refusals refused = {
		.promise = BATON_PROMISE_INIT,
		.complete = BATON_PROMISE_INIT,
		.task = BATON_TASK_INIT(returns_0, NULL),
		.idle = &idle,
		.busy = &fix.resource,
		.group = &group,
	};

	bound_config.policy = BATON_BOUND_WAIT;
	bound_config.tasks_max = 1;
	baton_bound_init(&bound, &bound_config);
	fixture_config();
	baton_resource_set_bound(&fix.resource, &bound);
	refused.pool = pool_of(1);
	cr_assert_eq(baton_manual_create(&refused.manual), 0);
	cr_assert_eq(baton_future_complete(&refused.complete, 0, NULL), 0);
	baton_group_enter(&group);
	occupy(&fix.occupant, &fix.resource);
	cr_assert_eq(baton_submit(&fix.resource, &waiting), 0);
	refuse_waits(&refused, false);
	refuse_waits(&refused, true);
	cr_assert_eq(baton_call(&idle, returns_arg, NULL, NULL), 0, "afterwards all is as it was");
	release(&fix.occupant);
	baton_group_leave(&group);
	baton_manual_destroy(refused.manual);
	cr_assert_eq(baton_pool_destroy(refused.pool), 0);
	resource_end(&idle);
	fixture_end();
}

/* ---- A thread whose first use of baton this is ---- */

static void *completes_first(void *arg)
{
	MUST(baton_future_complete(arg, 0, NULL) == 0);
	return NULL;
}

Test(told_inside, a_thread_that_uses_baton_first_runs_nothing_inside_either, .timeout = 10)
{
	struct baton_future promise = BATON_PROMISE_INIT;
	struct baton_task task = BATON_TASK_INIT(notes_run, NULL);
	struct baton_continuation continuation;

	fixture_stash();
	inside = (struct inside){.idle = &fix.resource, .task = &task, .submit = by_submit};
	baton_continuation_function(&continuation, submits, &inside);
	baton_future_then(&promise, &continuation);
	thread_join(thread_start(completes_first, &promise));
	cr_assert_eq(inside.answer, 0);
	cr_assert_eq(inside.ran_inside, 0);
	(void)stash_run(&fix.stash);
	cr_assert_eq(atomic_load(&inside.ran), 1);
	fixture_end();
}
