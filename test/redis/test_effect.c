/* SPDX-License-Identifier: MIT */
/* A task's effect, by itself or with the task's end: at most once, by the owner alone. */
#include "server.h"

#include <criterion/criterion.h>

#include <errno.h>
#include <string.h>

static struct server server;
static struct baton_redis *client;
static struct baton_redis *leading;
static struct baton_redis_scheduler *scheduler;
static struct baton_redis *working[2];
static struct baton_redis_backend *backend[2];

static void set_up(void)
{
	server_start(&server, NULL);
	client = server_connect(&server);
	leading = server_connect(&server);
	scheduler = scheduler_on(leading);
	for (int i = 0; i < 2; i++) {
		working[i] = server_connect(&server);
		backend[i] = backend_on(working[i], i == 0 ? "one" : "two");
	}
}

static void tear_down(void)
{
	for (int i = 0; i < 2; i++) {
		baton_redis_backend_destroy(backend[i]);
		baton_redis_destroy(working[i]);
	}
	baton_redis_scheduler_destroy(scheduler);
	baton_redis_destroy(leading);
	baton_redis_destroy(client);
	server_stop(&server);
}

TestSuite(effect, .init = set_up, .fini = tear_down, .timeout = 15);

static void submit(const struct baton_redis_task *task)
{
	int error = baton_redis_submit(client, task);

	cr_assert_eq(error, 0, "%d: %s", error, baton_redis_error(client));
}

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
	cr_assert_eq(baton_redis_backend_conclude(backend[1], &result), 0);
	only_the_effect_is_left(&task, "first");
}
