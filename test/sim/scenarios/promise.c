/* SPDX-License-Identifier: MIT */
/*
 * Promises: complete, cancel, wait, time out, and continuations, beside one another.
 */
#include "support.h"

static struct baton_future promises[2];
static int results[2];
static int data;

static void complete(void *argument)
{
	int *result = argument;

	*result = baton_future_complete(&promises[0], 0, result);
}

static void cancel(void *argument)
{
	int *result = argument;

	*result = baton_future_cancel(&promises[0]);
}

static void complete_with_data(void *argument)
{
	data = 1;
	sim_require(baton_future_complete(argument, 0, &data) == 0);
}

static void require_data(struct baton_future *promise)
{
	sim_require(baton_future_state(promise) == BATON_DONE);
	sim_require(baton_future_value(promise) == &data);
	sim_require(data == 1);
}

static void wait_for(void *argument)
{
	sim_require(baton_future_wait(argument) == 0);
	sim_require(data == 1);
	require_data(argument);
}

static void wait_and_give_back(void *argument)
{
	wait_for(argument);
	sim_retire(argument, sizeof(struct baton_future));
}

SIM_SCENARIO(promise_wait, "its waiter has the memory back, and sees what was done before")
{
	baton_promise_init(&promises[0]);
	sim_start(wait_and_give_back, &promises[0]);
	complete_with_data(&promises[0]);
	sim_join_all();
	sim_no_leaks();
}

SIM_SCENARIO(promise_wait_2, "two waiters, both wake")
{
	baton_promise_init(&promises[0]);
	sim_start(wait_for, &promises[0]);
	sim_start(wait_for, &promises[0]);
	complete_with_data(&promises[0]);
	sim_join_all();
}

static void poll_and_give_back(void *argument)
{
	while (!baton_future_is_complete(argument))
		sim_yield();
	require_data(argument);
	sim_retire(argument, sizeof(struct baton_future));
}

SIM_SCENARIO(promise_poll, "who polls has the memory back, too")
{
	baton_promise_init(&promises[0]);
	sim_start(poll_and_give_back, &promises[0]);
	complete_with_data(&promises[0]);
	sim_join_all();
}

SIM_SCENARIO(promise_complete_twice, "it is fulfilled once")
{
	baton_promise_init(&promises[0]);
	sim_start(complete, &results[0]);
	sim_start(complete, &results[1]);
	sim_require(baton_future_wait(&promises[0]) == 0);
	sim_join_all();
	sim_require(results[0] + results[1] == -EALREADY);
	sim_require(baton_future_value(&promises[0]) == (results[0] ? &results[1] : &results[0]));
}

SIM_SCENARIO(promise_cancel, "complete beside cancel beside a waiter: one of the two")
{
	baton_promise_init(&promises[0]);
	sim_start(complete, &results[0]);
	sim_start(cancel, &results[1]);
	sim_require(baton_future_wait(&promises[0]) == 0);
	sim_join_all();
	sim_require(results[0] + results[1] == -EALREADY);
	sim_require(baton_future_state(&promises[0]) ==
	            (results[0] ? BATON_CANCELLED : BATON_DONE));
	sim_require(baton_future_status(&promises[0]) == (results[0] ? -ECANCELED : 0));
}

static void wait_in_time(void *argument)
{
	uint64_t deadline = sim_in(4000);
	int status = baton_future_wait_until(argument, deadline);

	sim_require(status == 0 || status == -ETIMEDOUT);
	if (status)
		sim_require(sim_now() >= deadline);
	wait_and_give_back(argument);
}

SIM_SCENARIO(promise_deadline, "a wait that times out gives nothing back; the next one does")
{
	baton_promise_init(&promises[0]);
	sim_start(wait_in_time, &promises[0]);
	complete_with_data(&promises[0]);
	sim_join_all();
}

/* ---- Several ---- */

static struct baton_future *const both[] = {&promises[0], &promises[1]};

static void wait_for_any(void *argument)
{
	size_t index = 2;

	sim_require(baton_future_wait_any(both, 2, &index) == 0);
	sim_require(index < 2);
	require_data(both[index]);
}

static void wait_for_all(void *argument)
{
	sim_require(baton_future_wait_all(both, 2) == 0);
	require_data(both[0]);
	require_data(both[1]);
	sim_retire(promises, sizeof(promises));
}

SIM_SCENARIO(promise_any, "wait_any ends with either of two; one is never fulfilled")
{
	baton_promise_init(&promises[0]);
	baton_promise_init(&promises[1]);
	sim_start(wait_for_any, NULL);
	complete_with_data(&promises[sim_pick(2)]);
	sim_join_all();
}

static void wait_for_first(void *argument)
{
	size_t index = 2;

	sim_require(baton_future_wait_any(both, 2, &index) == 0);
	sim_require(index < 2 && baton_future_is_complete(both[index]));
}

SIM_SCENARIO(promise_any_both, "wait_any while both are fulfilled")
{
	baton_promise_init(&promises[0]);
	baton_promise_init(&promises[1]);
	sim_start(wait_for_first, NULL);
	sim_start(complete, &results[0]);
	sim_require(baton_future_complete(&promises[1], 0, &data) == 0);
	sim_join_all();
}

SIM_SCENARIO(promise_all, "wait_all ends with the second, and has the memory back")
{
	baton_promise_init(&promises[0]);
	baton_promise_init(&promises[1]);
	sim_start(wait_for_all, NULL);
	complete_with_data(&promises[1]);
	sim_require(baton_future_complete(&promises[0], 0, &data) == 0);
	sim_join_all();
}
