/* SPDX-License-Identifier: MIT */
/* What becomes of tasks whose backend, or whose scheduler, is lost. */
#include "pair.h"

#include <criterion/criterion.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int until_no_memory = -1; /* so many reallocs, then none; -1: memory never ends */

void *__real_realloc(void *old, size_t size);
void *__wrap_realloc(void *old, size_t size);

/* The linker's --wrap: of the library, and not of hiredis. */
void *__wrap_realloc(void *old, size_t size)
{
	if (until_no_memory == 0)
		return NULL;
	until_no_memory -= until_no_memory > 0;
	return __real_realloc(old, size);
}

TestSuite(lost, .init = pair_start, .fini = pair_stop, .timeout = 15);

/* The scheduler's lease is renewed, those of the backends are not. */
static void lease_ends(void)
{
	for (uint64_t passed = 0; passed < 2 * BACKEND_LEASE_NS; passed += 20 * MS) {
		settle(scheduler);
		usleep(20000);
	}
}

Test(lost, what_runs_in_a_class_that_the_next_scheduler_has_not_still_counts)
{
	struct baton_redis_scheduler_options fewer = {
		.rules = {.class_count = 2,
	                  .duration_ns = {BATON_SECOND, 100 * BATON_SECOND},
	                  .limit = {2, 1}},
		.lease_ns = SCHEDULER_LEASE_NS,
	};
	struct baton_redis_task any = task_named("any", BATON_RULES_DEFAULT);
	struct baton_redis_task slow = task_named("slow", 2);
	struct baton_redis_task next = task_named("next", 1);
	struct baton_redis_note note = {0};
	struct baton_redis_order order;

	submit(&any);
	await_order(backend[0], &order, BATON_REDIS_RUN, scheduler);
	submit(&slow);
	await_order(backend[1], &order, BATON_REDIS_RUN, scheduler);
	cr_assert_str_eq(order.id, "slow");
	baton_redis_scheduler_destroy(scheduler);
	cr_assert_eq(baton_redis_scheduler_create(leading, &fewer, &scheduler), 0);
	submit(&next);
	settle(scheduler);
	cr_assert_eq(server_number(&server, "HLEN {test}:run"), 2, "both count");
	/* Each loses its backend: what has no class is denied, a default waits at its old place. */
	baton_redis_backend_destroy(backend[1]);
	backend[1] = backend_on(working[1], "two");
	settle(scheduler);
	await_note(client, &slow, &note, BATON_REDIS_DENIED);
	baton_redis_backend_destroy(backend[0]);
	backend[0] = backend_on(working[0], "one");
	await_order(backend[0], &order, BATON_REDIS_RUN, scheduler);
	await_order(backend[1], &order, BATON_REDIS_RUN, scheduler);
	cr_assert_eq(server_number(&server, "HEXISTS {test}:run any"), 1);
	cr_assert_eq(server_number(&server, "HEXISTS {test}:run next"), 1);
}

Test(lost, a_backend_that_has_claimed_a_task_is_given_no_other)
{
	struct baton_redis_task task = task_named("left", 0);
	struct baton_redis_order order = {.id = ""};
	char id[16];

	submit(&task);
	settle(scheduler);
	cr_assert_neq(server_number(&server,
	                            "XREADGROUP GROUP backends dead COUNT 1 STREAMS {test}:out >"),
	              0);
	/* Short tasks: so the backend has just begun to wait for another when it claims. */
	task.id = id;
	for (int i = 0; strcmp(order.id, "left") != 0; i++) {
		cr_assert_lt(i, 100);
		snprintf(id, sizeof(id), "short%d", i);
		submit(&task);
		await_order(backend[1], &order, BATON_REDIS_RUN, scheduler);
		if (strcmp(order.id, "left") != 0)
			cr_assert_eq(baton_redis_backend_finish(backend[1], 0, ""), 0);
		for (int ms = 0; ms < 30 && strcmp(order.id, "left") != 0; ms++) {
			cr_assert_eq(baton_redis_backend_next(backend[1], &order), 0);
			order.id = order.id ? order.id : "";
			usleep(1000);
		}
		settle(scheduler);
	}
	usleep(20000);
	task.id = "next";
	submit(&task);
	settle(scheduler);
	cr_assert_eq(server_number(&server, "EVAL %s 1 {test}:out",
	                           "return redis.call('XPENDING', KEYS[1], 'backends')[1]"),
	             0);
	await_order(backend[0], &order, BATON_REDIS_RUN, scheduler);
}

/* Another could be claimed in the same call. */
Test(lost, a_backend_whose_task_is_gone_is_told_so_before_it_is_given_another)
{
	struct baton_redis_task task[2] = {task_named("gone", 0), task_named("left", 0)};
	struct baton_redis_order order;

	submit(&task[0]);
	await_order(backend[0], &order, BATON_REDIS_RUN, scheduler);
	submit(&task[1]);
	settle(scheduler);
	cr_assert_neq(server_number(&server,
	                            "XREADGROUP GROUP backends dead COUNT 1 STREAMS {test}:out >"),
	              0);
	server_number(&server, "HDEL {test}:run gone");
	usleep((useconds_t)(BACKEND_LEASE_NS / 1000 + 20000));
	await_order(backend[0], &order, BATON_REDIS_STALE, NULL);
	await_order(backend[0], &order, BATON_REDIS_RUN, NULL);
	cr_assert_str_eq(order.id, "left");
}

/* The orders of an attempt that was lost may still be read by the next one. */
Test(lost, an_order_is_obeyed_by_the_attempt_that_it_names)
{
	static const char *const format =
		"XADD {test}:orders:one * what %s id runs epoch %llu value 7000";
	struct baton_redis_task task = task_named("runs", 0);
	struct baton_redis_order order;
	unsigned long long epoch;

	submit(&task);
	await_order(backend[0], &order, BATON_REDIS_RUN, scheduler);
	epoch = order.epoch;
	server_text(&server, format, "stop", epoch - 1);
	server_text(&server, format, "shorten", epoch);
	await_order(backend[0], &order, BATON_REDIS_SHORTEN, NULL);
	cr_assert_eq(order.may_run_ns, 7 * MS);
}

Test(lost, a_withdrawn_task_whose_backend_is_lost_does_not_start_again)
{
	struct baton_redis_task task[2] = {task_named("left", 0), task_named("lost", 0)};
	struct baton_redis_note note = {0};
	struct baton_redis_order order;

	for (int i = 0; i < 2; i++) {
		submit(&task[i]);
		await_order(backend[0], &order, BATON_REDIS_RUN, scheduler);
		cr_assert_eq(baton_redis_withdraw(client, &task[i]), 0);
		if (i == 0) {
			baton_redis_backend_destroy(backend[0]);
			backend[0] = backend_on(working[0], "one");
		} else {
			lease_ends();
		}
		note = (struct baton_redis_note){0};
		await_note(client, &task[i], &note, BATON_REDIS_WITHDRAWN);
		cr_assert_eq(baton_redis_forget(client, &task[i]), 0);
		cr_assert_eq(server_number(&server, "ZCARD {test}:queue"), 0);
		cr_assert_eq(server_number(&server, "HLEN {test}:run"), 0);
	}
}

Test(lost, what_a_backend_was_given_and_has_not_taken_is_anothers_when_it_leaves)
{
	struct baton_redis_task task = task_named("given", 0);
	struct baton_redis_order order;

	/* The backend waits for a task, and is given one. */
	for (int ms = 0; ms < 50; ms++) {
		settle(scheduler);
		cr_assert_eq(baton_redis_backend_next(backend[0], &order), 0);
		usleep(1000);
	}
	submit(&task);
	settle(scheduler);
	baton_redis_backend_destroy(backend[0]);
	cr_assert_eq(server_number(&server, "EVAL %s 1 {test}:out",
	                           "return redis.call('XPENDING', KEYS[1], 'backends')[1]"),
	             0);
	cr_assert_eq(server_number(&server, "ZCARD {test}:backends"), 1);
	await_order(backend[1], &order, BATON_REDIS_RUN, scheduler);
	cr_assert(order.attempt == 1);
	backend[0] = backend_on(working[0], "one");
}

Test(lost, a_decision_that_finds_no_memory_is_made_again)
{
	struct baton_redis_task task = task_named("again", 0);
	struct baton_redis_order order;
	int refused = 0;

	settle(scheduler);
	for (int i = 0; i < 6; i++) {
		submit(&task);
		until_no_memory = i;
		refused += baton_redis_scheduler_run(scheduler, 0) == -ENOMEM;
		until_no_memory = -1;
		await_order(backend[0], &order, BATON_REDIS_RUN, scheduler);
		cr_assert_eq(baton_redis_backend_finish(backend[0], 0, ""), 0);
		cr_assert_eq(baton_redis_forget(client, &task), 0);
	}
	cr_assert_gt(refused, 1);
}

Test(lost, a_scheduler_that_waits_for_longer_than_its_timeout_goes_on_to_lead)
{
	struct baton_redis_options options = {
		.socket = server.socket, .queue = "patient", .timeout_ns = 200 * MS};
	struct baton_redis_scheduler *patient;
	struct baton_redis *redis;
	uint64_t epoch;

	/* The server ends a read that waits up to a second late. */
	server_text(&server, "CONFIG SET hz 1");
	cr_assert_eq(baton_redis_create(&options, &redis), 0);
	patient = scheduler_on(redis);
	settle(patient);
	epoch = baton_redis_scheduler_epoch(patient);
	for (int i = 0; i < 4; i++)
		cr_assert_eq(baton_redis_scheduler_run(patient, 100 * MS), 0);
	cr_assert(epoch > 0 && baton_redis_scheduler_epoch(patient) == epoch);
	baton_redis_scheduler_destroy(patient);
	baton_redis_destroy(redis);
}
