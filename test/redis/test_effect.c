/* SPDX-License-Identifier: MIT */
/* A task's effect, by itself or with the task's end: at most once, by the owner alone. */
#include "pair.h"

#include <criterion/criterion.h>

#include <errno.h>
#include <string.h>

TestSuite(effect, .init = pair_start, .fini = pair_stop, .timeout = 15);

/* Nothing of the task, but its effect. */
static void only_the_effect_is_left(const struct baton_redis_task *task, const char *data)
{
	cr_assert_eq(baton_redis_forget(client, task), 0);
	cr_assert_eq(
		server_number(&server, "EXISTS {test}:task:%s {test}:note:%s", task->id, task->id),
		0);
	cr_assert_eq(server_number(&server, "HLEN {test}:run"), 0);
	cr_assert_eq(server_number(&server, "EVAL %s 0 %s",
	                           "local all = redis.call('XRANGE', '{test}:effects', '-', '+') "
	                           "return #all == 1 and all[1][2][6] == ARGV[1] and 1 or 0",
	                           data),
	             1);
}

Test(effect, an_effect_before_the_loss_is_the_only_one)
{
	struct baton_redis_task task = task_named("once", 0);
	struct baton_redis_order order;

	submit(&task);
	await_order(backend[0], &order, BATON_REDIS_RUN, scheduler);
	cr_assert_eq(baton_redis_backend_effect(backend[0], "x", 1), 0);
	await_order(backend[1], &order, BATON_REDIS_RUN, scheduler);
	cr_assert_eq(baton_redis_backend_effect(backend[1], "y", 1), -EALREADY);
	cr_assert_eq(baton_redis_backend_finish(backend[1], 0, ""), 0);
	only_the_effect_is_left(&task, "x");
}

Test(effect, an_effect_that_comes_with_the_end_happens_once_and_only_by_the_owner)
{
	struct baton_redis_result result = {"late", 4, 3, "exit"};
	struct baton_redis_task task = task_named("moves", 0);
	struct baton_redis_note note = {0};
	struct baton_redis_order order;

	cr_assert_eq(baton_redis_backend_conclude(backend[0], &result), -EINVAL, "it runs nothing");
	submit(&task);
	await_order(backend[0], &order, BATON_REDIS_RUN, scheduler);
	await_order(backend[1], &order, BATON_REDIS_RUN, scheduler);
	cr_assert_eq(baton_redis_backend_conclude(backend[0], &result), -ESTALE);
	cr_assert_eq(server_number(&server, "EXISTS {test}:effects"), 0);
	cr_assert_eq(server_number(&server, "HLEN {test}:run"), 1, "neither has happened");
	result.effect = "first";
	result.effect_size = 5;
	cr_assert_eq(baton_redis_backend_conclude(backend[1], &result), 0);
	await_note(client, &task, &note, BATON_REDIS_LOST);
	await_note(client, &task, &note, BATON_REDIS_DONE);
	cr_assert(note.number == 3 && note.epoch == order.epoch);
	only_the_effect_is_left(&task, "first");
}

Test(effect, the_effect_of_a_backend_that_was_lost_counts_when_another_concludes)
{
	struct baton_redis_result result = {"second", 6, 0, "exit"};
	struct baton_redis_task task = task_named("once", 0);
	struct baton_redis_order order;

	submit(&task);
	await_order(backend[0], &order, BATON_REDIS_RUN, scheduler);
	cr_assert_eq(baton_redis_backend_effect(backend[0], "first", 5), 0);
	await_order(backend[1], &order, BATON_REDIS_RUN, scheduler);
	result.reason = NULL;
	cr_assert_eq(baton_redis_backend_conclude(backend[1], &result), 0);
	only_the_effect_is_left(&task, "first");
}
