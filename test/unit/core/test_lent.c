/* SPDX-License-Identifier: MIT */
/*
 * A thread in a call has lent its batons to the called function (called.lent, core/called.h): what
 * the thread itself runs in the wait does not hold them.
 */
#include "elsewhere.h"

/* Below so many calls the thread puts functions off, until it is about to sleep. */
#define DEPTH BATON_NESTING_MAX

static struct lending {
	struct baton_resource nest[DEPTH]; /* [0]: the one that is looked at */
	struct baton_resource busy[2];     /* each has an occupant when it is called */
	size_t level;
	struct baton_future end;
	struct baton_continuation continuation;
	struct baton_resource closed; /* refuses its task */
	struct baton_task refused;
	int status[2];
	atomic_int called; /* how many called functions have run */
	int put_off;       /* how many were, and have run */
	bool held_here[3]; /* before the call; by what was put off, in the wait; after the call */
	bool held_called[2];
	atomic_bool thread_differs;
	pthread_t thread;
} lending;

static bool held(void)
{
	return baton_held(&lending.nest[0]);
}

static void *looks(void *arg)
{
	bool *found = arg;

	*found = held();
	lending.called++;
	lending.thread_differs = !pthread_equal(lending.thread, pthread_self());
	return NULL;
}

static void put_off_looks(void *arg)
{
	lending.held_here[1] = held();
	lending.put_off += lending.called == 0;
}

static int call_busy(size_t index)
{
	return call_elsewhere(&lending.busy[index],
	                      &(struct baton_call_options){.fn = looks,
	                                                   .arg = &lending.held_called[index]});
}

static void put_off_calls(struct baton_task *refused)
{
	lending.put_off += lending.called == 0;
	lending.status[1] = call_busy(1);
}

static void put_off(bool calls)
{
	if (calls)
		baton_continuation_task(&lending.continuation, &lending.closed, &lending.refused);
	else
		baton_continuation_function(&lending.continuation, put_off_looks, NULL);
	baton_future_then(&lending.end, &lending.continuation);
	MUST(baton_future_complete(&lending.end, 0, NULL) == 0);
}

static void *nests(void *calls)
{
	if (lending.level < DEPTH) {
		MUST(baton_call(&lending.nest[lending.level++], nests, calls, NULL) == 0);
		return NULL;
	}
	put_off(calls);
	lending.held_here[0] = held();
	lending.status[0] = call_busy(0);
	lending.held_here[2] = held();
	return NULL;
}

static int does_not_run(struct baton_task *task)
{
	return 0;
}

static void lend(void *calls)
{
	const struct baton_resource_config config = {.cancelled = put_off_calls};

	lending = (struct lending){.thread = pthread_self()};
	baton_promise_init(&lending.end);
	for (size_t i = 0; i < DEPTH; i++)
		baton_resource_init(&lending.nest[i], NULL);
	for (size_t i = 0; i < 2; i++)
		baton_resource_init(&lending.busy[i], NULL);
	baton_resource_init(&lending.closed, &config);
	baton_resource_close(&lending.closed);
	baton_task_init(&lending.refused, does_not_run, NULL);
	(void)nests(calls);
	cr_assert_eq(lending.status[0], 0);
	cr_assert_eq(lending.put_off, 1);
	cr_assert(lending.thread_differs);
	cr_assert(lending.held_called[0]);
	cr_assert(lending.held_here[0]);
	cr_assert(lending.held_here[2]);
	for (size_t i = 0; i < DEPTH; i++)
		resource_end(&lending.nest[i]);
	for (size_t i = 0; i < 2; i++)
		resource_end(&lending.busy[i]);
	resource_end(&lending.closed);
}

Test(lent, what_the_caller_runs_in_its_wait_does_not_hold_it, .timeout = 10)
{
	lend(NULL);
	cr_assert_not(lending.held_here[1]);
}

Test(lent, nor_does_what_that_calls, .timeout = 10)
{
	lend(&lending);
	cr_assert_eq(lending.called, 2);
	cr_assert_eq(lending.status[1], 0);
	cr_assert_not(lending.held_called[1]);
}
