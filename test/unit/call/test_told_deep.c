/* SPDX-License-Identifier: MIT */
/* Functions that are told of an end where the stack is deep: they are put off. */
#include "fixture.h"

#include <baton/stop.h>
#include <baton/trigger.h>

static struct deep {
	struct baton_resource nest[BATON_CALLING_MAX];
	size_t level; /* of the call that runs */
	size_t depth; /* where the last one waits */
	struct baton_future first;
	struct baton_future second; /* whose end follows that of the first */
	bool told_at_once;
	int status;
} deep;

static void completes_second(void *arg)
{
	MUST(baton_future_complete(&deep.second, 0, NULL) == 0);
}

static void *nests(void *arg)
{
	if (deep.level < deep.depth) {
		MUST(baton_call(&deep.nest[deep.level++], nests, NULL, NULL) == 0);
		return NULL;
	}
	MUST(baton_future_complete(&deep.first, 0, NULL) == 0);
	deep.told_at_once = baton_future_is_complete(&deep.second);
	deep.status = baton_future_wait(&deep.second);
	return NULL;
}

static void wait_at(size_t depth)
{
	struct baton_continuation continuation;

	deep = (struct deep){.depth = depth};
	for (size_t i = 0; i < depth; i++)
		baton_resource_init(&deep.nest[i], NULL);
	baton_promise_init(&deep.first);
	baton_promise_init(&deep.second);
	baton_continuation_function(&continuation, completes_second, NULL);
	baton_future_then(&deep.first, &continuation);
	(void)nests(NULL);
	cr_assert_eq(deep.told_at_once, depth < BATON_NESTING_MAX, "%zu", depth);
	cr_assert_eq(deep.status, depth < BATON_CALLING_MAX ? 0 : -EDEADLK, "%zu", depth);
	/* On the way up. */
	cr_assert(baton_future_is_complete(&deep.second), "%zu", depth);
	for (size_t i = 0; i < depth; i++)
		resource_end(&deep.nest[i]);
}

Test(told_deep, a_wait_for_what_was_put_off_calls_it, .timeout = 10)
{
	wait_at(BATON_NESTING_MAX - 1);
	wait_at(BATON_NESTING_MAX);
	wait_at(BATON_HELPING_MAX);
	wait_at(BATON_CALLING_MAX - 1);
}

Test(told_deep, a_wait_that_is_too_deep_to_call_it_says_so, .timeout = 10)
{
	wait_at(BATON_CALLING_MAX);
	cr_assert_eq(baton_deadlock_cycle(NULL, 0), 0);
}

/* ---- The function of a stop_then, too ---- */

static int rests(struct baton_trigger *trigger, uint64_t fires)
{
	return 0;
}

static void *stops(void *arg)
{
	static struct baton_trigger trigger; /* baton's until the function is called */

	if (deep.level < deep.depth) {
		MUST(baton_call(&deep.nest[deep.level++], stops, arg, NULL) == 0);
		return NULL;
	}
	baton_trigger_init(&trigger, arg, rests);
	MUST(baton_trigger_stop_then(&trigger, baton_stopped_complete, &deep.second).met ==
	     BATON_STOP_NOTHING);
	deep.status = baton_trigger_stop_wait(&trigger);
	return NULL;
}

static int stop_at(size_t depth)
{
	static struct baton_resource resource = BATON_RESOURCE_INIT(NULL);

	deep = (struct deep){.depth = depth};
	for (size_t i = 0; i < depth; i++)
		baton_resource_init(&deep.nest[i], NULL);
	baton_promise_init(&deep.second);
	(void)stops(&resource);
	cr_assert(baton_future_is_complete(&deep.second), "%zu", depth);
	for (size_t i = 0; i < depth; i++)
		resource_end(&deep.nest[i]);
	return deep.status;
}

Test(told_deep, a_stop_wait_calls_it_or_says_so, .timeout = 10)
{
	cr_assert_eq(stop_at(BATON_CALLING_MAX - 1), 0);
	cr_assert_eq(stop_at(BATON_CALLING_MAX), -EDEADLK);
}

/* ---- The `cancelled` of a refused task, too: its resource may end in it ---- */

struct ending {
	struct baton_resource resource;
	struct baton_continuation continuation;
	struct baton_task task;
};

static void frees(struct baton_task *task)
{
	struct ending *ending = baton_container_of(task, struct ending, task);

	baton_resource_deinit(&ending->resource);
	free(ending);
	deep.status++;
}

static int does_not_run(struct baton_task *task)
{
	return 0;
}

static void *refuses(void *arg)
{
	static const struct baton_resource_config config = {.cancelled = frees};
	struct ending *ending;

	if (deep.level < deep.depth) {
		MUST(baton_call(&deep.nest[deep.level++], refuses, NULL, NULL) == 0);
		return NULL;
	}
	ending = malloc(sizeof(*ending));
	MUST(ending);
	baton_resource_init(&ending->resource, &config);
	baton_resource_close(&ending->resource);
	baton_task_init(&ending->task, does_not_run, NULL);
	baton_continuation_task(&ending->continuation, &ending->resource, &ending->task);
	baton_future_then(&deep.first, &ending->continuation);
	MUST(baton_future_complete(&deep.first, 0, NULL) == 0);
	cr_assert_eq(deep.status, deep.depth < BATON_NESTING_MAX);
	return NULL;
}

static void refuse_at(size_t depth)
{
	deep = (struct deep){.depth = depth};
	for (size_t i = 0; i < depth; i++)
		baton_resource_init(&deep.nest[i], NULL);
	baton_promise_init(&deep.first);
	(void)refuses(NULL);
	cr_assert_eq(deep.status, 1, "%zu", depth);
	for (size_t i = 0; i < depth; i++)
		resource_end(&deep.nest[i]);
}

Test(told_deep, a_refused_task_may_end_its_resource, .timeout = 10)
{
	refuse_at(0);
	refuse_at(BATON_NESTING_MAX - 1);
	refuse_at(BATON_NESTING_MAX);
}
