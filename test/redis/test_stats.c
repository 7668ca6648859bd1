/* SPDX-License-Identifier: MIT */
/* The figures of a queue. */
#include "pair.h"

#include <criterion/criterion.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

TestSuite(stats, .init = pair_start, .fini = pair_stop, .timeout = 60);

static struct baton_redis_stats stats_of(struct baton_redis *redis)
{
	struct baton_redis_stats stats;
	int error = baton_redis_stats_read(redis, &stats);

	cr_assert_eq(error, 0, "%s", baton_redis_error(redis));
	return stats;
}

static void withdraw(const char *id)
{
	struct baton_redis_task task = task_named(id, 0);

	cr_assert_eq(baton_redis_withdraw(client, &task), 0, "%s", baton_redis_error(client));
}

/* The server's epoch of the leader. */
static uint64_t epoch(void)
{
	return baton_redis_scheduler_epoch(scheduler);
}

Test(stats, a_queue_without_tasks_has_its_backends_and_its_leader_alone)
{
	struct baton_redis_stats expected = {.classes = 3, .backends = 2};
	struct baton_redis_stats stats = stats_of(client);

	cr_assert_eq(stats.leader, 0);
	cr_assert_eq(stats.lease_ns, 0);
	cr_assert_eq(stats.classes, 0);
	settle(scheduler);
	stats = stats_of(client);
	expected.leader = epoch();
	cr_assert_gt(expected.leader, 0);
	expected.lease_ns = SCHEDULER_LEASE_NS;
	expected.renewed_ns = stats.renewed_ns;
	cr_assert_eq(memcmp(&stats, &expected, sizeof(stats)), 0);
}

Test(stats, figures_are_those_of_what_has_happened)
{
	static const uint64_t waiting[BATON_REDIS_KINDS] = {0, 2, 3, 0, 0, 0, 0, 0, 8, 0};
	struct baton_redis_result result = {.effect = "x", .effect_size = 1};
	struct baton_redis_order order;
	struct baton_redis_stats stats;

	make_queue();
	stats = stats_of(client);
	cr_assert_eq(stats.waiting, 1 + 2 + 3 + 9 + 10);
	cr_assert_eq(stats.waiting_by_kind[0], 1);
	cr_assert_eq(stats.waiting_by_kind[BATON_RULES_DEFAULT], 9);
	cr_assert_eq(stats.waiting_by_kind[BATON_RULES_INTERACTIVE], 10);
	cr_assert_eq(stats.running, 3);
	cr_assert_eq(stats.bytes, (3 + 25) * strlen("true"));
	/* The scheduler denies what is interactive; one ends, for which the fast one starts. */
	settle(scheduler);
	await_order(backend[0], &order, BATON_REDIS_RUN, NULL);
	cr_assert_eq(baton_redis_backend_conclude(backend[0], &result), 0);
	settle(scheduler);
	withdraw("t8-0");
	/* A backend leaves: its task is started again. */
	await_order(backend[1], &order, BATON_REDIS_RUN, NULL);
	baton_redis_backend_destroy(backend[1]);
	stats = stats_of(client);
	cr_assert_eq(stats.retries, 1);
	cr_assert_eq(stats.backends, 1);
	cr_assert_eq(stats.running, 2);
	cr_assert_eq(stats.waiting_by_kind[order.kind], waiting[order.kind] + 1);
	settle(scheduler);
	backend[1] = backend_on(working[1], "two");
	stats = stats_of(client);
	cr_assert_eq(stats.running, 3);
	for (int kind = 0; kind < BATON_REDIS_KINDS; kind++)
		cr_assert_eq(stats.waiting_by_kind[kind], waiting[kind], "%d: %d", kind,
		             (int)stats.waiting_by_kind[kind]);
	cr_assert_eq(stats.waiting, 2 + 3 + 8);
	cr_assert_eq(stats.submitted, 28);
	cr_assert_eq(stats.denied, 10);
	cr_assert_eq(stats.done, 1);
	cr_assert_eq(stats.withdrawn, 1);
	cr_assert_eq(stats.failed, 0);
	cr_assert_eq(stats.effects, 1);
	cr_assert_eq(stats.bytes, 16 * strlen("true"));
	cr_assert_eq(stats.leader, epoch());
	cr_assert_leq(stats.renewed_ns, stats.lease_ns);
}

Test(stats, a_task_that_has_lost_its_attempts_has_failed)
{
	struct baton_redis_task task = task_named("task", 1);
	struct baton_redis_order order;

	task.attempts = 1;
	submit(&task);
	await_order(backend[1], &order, BATON_REDIS_RUN, scheduler);
	baton_redis_backend_destroy(backend[1]);
	cr_assert_eq(stats_of(client).failed, 1);
	cr_assert_eq(stats_of(client).retries, 0);
	cr_assert_eq(stats_of(client).bytes, 0);
	backend[1] = backend_on(working[1], "two");
}

Test(stats, the_oldest_wait_is_that_of_the_first_task_that_waits)
{
	struct baton_redis_stats stats;
	uint64_t before;

	submit_kind("first", 1);
	submit_kind("second", 0);
	/* As if it had been submitted an hour ago. */
	server_text(&server, "HINCRBY {test}:task:first submitted -3600000000");
	before = stats_of(client).oldest_ns;
	cr_assert_geq(before, 3600 * BATON_SECOND);
	cr_assert_gt(stats_of(client).oldest_ns, before);
	withdraw("first");
	stats = stats_of(client);
	cr_assert_gt(stats.oldest_ns, 0);
	cr_assert_lt(stats.oldest_ns, 3600 * BATON_SECOND);
	withdraw("second");
	cr_assert_eq(stats_of(client).oldest_ns, 0);
}

Test(stats, who_has_not_renewed_the_lease_in_time_leads_no_more)
{
	struct baton_redis_stats stats;
	char command[128];

	settle(scheduler);
	snprintf(command, sizeof(command), "HINCRBY {test}:numbers wall -%llu",
	         (unsigned long long)SCHEDULER_LEASE_NS / 1000);
	server_text(&server, command);
	stats = stats_of(client);
	cr_assert_eq(stats.leader, 0);
	cr_assert_eq(stats.lease_ns, SCHEDULER_LEASE_NS);
	cr_assert_gt(stats.renewed_ns, stats.lease_ns);
	server_text(&server, "HSET {test}:numbers wall 9000000000000000");
	cr_assert_eq(stats_of(client).renewed_ns, 0, "the clock was set back");
	cr_assert_eq(stats_of(client).leader, epoch());
}

Test(stats, unread_effects_are_those_that_the_slowest_reader_has_not_acknowledged)
{
	struct baton_redis_stats stats;

	cr_assert_str_eq(stats_of(client).slowest_reader, "");
	for (int i = 0; i < 5; i++)
		server_text(&server, "XADD {test}:effects %d-0 id t epoch 7 data d", i + 1);
	server_text(&server, "HSET {test}:readers quick 4-0 slow 0-0 other 10-0");
	server_text(&server, "HSET {test}:numbers effects_dropped 77");
	stats = stats_of(client);
	cr_assert_eq(stats.effects, 5);
	cr_assert_eq(stats.readers, 3);
	cr_assert_str_eq(stats.slowest_reader, "slow");
	cr_assert_eq(stats.effects_dropped, 77);
	server_text(&server, "FCALL baton_acknowledge 1 {test} slow 0 5-0");
	stats = stats_of(client);
	cr_assert_eq(stats.effects, 1);
	cr_assert_str_eq(stats.slowest_reader, "quick");
}

Test(stats, the_maxima_are_the_last_leaders)
{
	struct baton_redis_scheduler_options options = {
		.rules = {.class_count = 1, .duration_ns = {BATON_SECOND}, .limit = {1}},
		.effects_max = 11,
		.queue_max = 12,
		.queue_bytes_max = 13,
	};
	struct baton_redis_scheduler *other;
	struct baton_redis_stats stats;

	cr_assert_eq(baton_redis_scheduler_create(client, &options, &other), 0);
	settle(other);
	stats = stats_of(client);
	cr_assert_eq(stats.classes, 1);
	cr_assert_eq(stats.effects_max, 11);
	cr_assert_eq(stats.queue_max, 12);
	cr_assert_eq(stats.queue_bytes_max, 13);
	baton_redis_scheduler_destroy(other);
	cr_assert_eq(stats_of(client).leader, 0, "it has resigned");
}

/* They are no longer needed when the server is full, or the master is gone. */
Test(stats, figures_come_from_a_full_server_and_from_a_replica)
{
	submit_kind("task", 0);
	server_text(&server, "CONFIG SET maxmemory 1");
	cr_assert_eq(stats_of(client).waiting, 1);
	server_text(&server, "CONFIG SET maxmemory 0");
	server_text(&server, "REPLICAOF 127.0.0.1 1");
	cr_assert_eq(stats_of(client).waiting, 1);
	server_text(&server, "REPLICAOF NO ONE");
}

Test(stats, another_programs_key_is_a_clear_error)
{
	struct baton_redis_stats stats = {.waiting = 99};

	server_text(&server, "SET {test}:readers foreign");
	cr_assert_eq(baton_redis_stats_read(client, &stats), -EBADMSG);
	cr_assert(strstr(baton_redis_error(client), "{test}:readers"));
	server_text(&server, "DEL {test}:readers");
	submit_kind("task", 0);
	server_text(&server, "DEL {test}:task:task");
	server_text(&server, "SET {test}:task:task foreign");
	cr_assert_eq(baton_redis_stats_read(client, &stats), -EBADMSG);
	cr_assert(strstr(baton_redis_error(client), "{test}:task:task holds a string"));
	cr_assert_eq(stats.waiting, 99, "the copy is as it was");
	server_text(&server, "DEL {test}:task:task");
	cr_assert_eq(stats_of(client).waiting, 1);
}
