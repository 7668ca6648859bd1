/* SPDX-License-Identifier: MIT */
/* The server's clock jumps, as after a correction, or a fail-over to another machine. */
#include "nodes.h"
#include "pair.h"

#include <criterion/criterion.h>
#include <hiredis/hiredis.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define HOUR (3600 * (int64_t)BATON_SECOND)

static volatile int64_t *skew;
static char path[] = "/tmp/baton-skew.XXXXXX";

static void set_up(void)
{
	int fd = mkstemp(path);

	cr_assert(fd >= 0 && ftruncate(fd, sizeof(int64_t)) == 0);
	skew = mmap(NULL, sizeof(int64_t), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	cr_assert_neq((void *)(uintptr_t)skew, MAP_FAILED);
	close(fd);
	server_skew = path;
	pair_start();
}

static void tear_down(void)
{
	pair_stop();
	unlink(path);
}

TestSuite(clock, .init = set_up, .fini = tear_down, .timeout = 240);

static void jump(int64_t ns)
{
	long long before = server_number(&server, "EVAL %s 0", "return redis.call('TIME')[1]");
	long long after;

	*skew += ns;
	after = server_number(&server, "EVAL %s 0", "return redis.call('TIME')[1]");
	cr_assert(llabs(after - before - ns / (int64_t)BATON_SECOND) < 60, "the clock is skewed");
}

static const int64_t jumps[] = {-HOUR, 2 * HOUR, -48 * HOUR};
#define JUMPS (sizeof(jumps) / sizeof(jumps[0]))

/* A task runs, another waits, and the submitter is away. */
Test(clock, a_jump_ends_no_lease_and_deletes_no_task)
{
	struct baton_redis_task runs = task_named("runs", 2);
	struct baton_redis_task waits = task_named("waits", 2);
	struct baton_redis_order order;
	uint64_t epoch;

	submit(&runs);
	submit(&waits);
	await_order(backend[0], &order, BATON_REDIS_RUN, scheduler);
	epoch = order.epoch;
	for (size_t i = 0; i < JUMPS; i++) {
		jump(jumps[i]);
		/* Two sweeps at least. */
		for (int step = 0; step < 80; step++) {
			settle(scheduler);
			cr_assert_eq(baton_redis_backend_next(backend[0], &order), 0);
			cr_assert_eq(order.what, BATON_REDIS_IDLE, "%zu: %d", i, (int)order.what);
			usleep(20000);
		}
		cr_assert_eq(server_number(&server, "ZCARD {test}:queue"), 1);
		cr_assert_eq(server_number(&server, "EXISTS {test}:task:waits {test}:note:waits"),
		             2);
	}
	cr_assert_eq(baton_redis_backend_finish(backend[0], 0, ""), 0);
	await_order(backend[0], &order, BATON_REDIS_RUN, scheduler);
	cr_assert_str_eq(order.id, "waits");
	cr_assert(order.epoch > epoch && order.attempt == 1);
}

/* The leader is lost at the moment of the jump; so is a backend. */
Test(clock, who_is_lost_is_missed_whatever_the_clock_says)
{
	struct baton_redis *redis = server_connect(&server);
	struct baton_redis_scheduler *second = scheduler_on(redis);
	struct baton_redis_task task = task_named("moves", 0);
	struct baton_redis_order order;
	int runs = 0;

	submit(&task);
	await_order(backend[0], &order, BATON_REDIS_RUN, scheduler);
	cr_assert_eq(baton_redis_scheduler_run(second, 0), 0);
	cr_assert_eq(baton_redis_scheduler_epoch(second), 0);
	jump(-HOUR);
	/* A lease and a third; a busy machine takes longer, an hour has 36,000 steps. */
	for (; baton_redis_scheduler_epoch(second) == 0 && runs < 1000; runs++)
		cr_assert_eq(baton_redis_scheduler_run(second, 100 * MS), 0);
	cr_assert(baton_redis_scheduler_epoch(second) > 0, "nobody leads after %d steps", runs);
	jump(-HOUR);
	await_order(backend[1], &order, BATON_REDIS_RUN, second);
	cr_assert_str_eq(order.id, "moves");
	cr_assert_eq(order.attempt, 2);
	baton_redis_scheduler_destroy(second);
	baton_redis_destroy(redis);
}

/* What the queue waits for is waited for by the leader's clock. */
Test(clock, what_nobody_keeps_is_deleted_after_its_time_and_a_jump)
{
	struct baton_redis_task slow = task_named("slow", 2);
	struct baton_redis_task task = task_named("left", 2);
	struct baton_redis_order order;

	task.keep_ns = 100 * MS;
	submit(&slow);
	await_order(backend[0], &order, BATON_REDIS_RUN, scheduler);
	submit(&task);
	jump(-HOUR);
	for (int step = 0; step < 1000 && server_number(&server, "ZCARD {test}:queue"); step++) {
		settle(scheduler);
		cr_assert_eq(baton_redis_backend_next(backend[0], &order), 0);
		usleep(20000);
	}
	cr_assert_eq(server_number(&server, "ZCARD {test}:queue"), 0);
	cr_assert_eq(server_number(&server, "EXISTS {test}:task:left {test}:note:left"), 0);
}

/* ---- Nodes of a space ---- */

#define LEASE_NS (4 * 600 * MS)

/* A node runs a task whose submitter waits for the answer; another task waits. */
Test(clock, a_jump_ends_no_lease_of_a_node_and_loses_no_answer)
{
	struct question questions[2];
	struct gate gate;
	struct baton_remote *owner;
	struct baton_remote *guest;
	char record[96];
	unsigned partition;

	gate_init(&gate);
	owner = join(&server, "owner", LEASE_NS, pass_gate, &gate);
	guest = join(&server, "guest", LEASE_NS, NULL, NULL);
	partition = baton_remote_partition(owner, "a", 1);
	for (int i = 0; i < 2; i++)
		cr_assert_eq(ask(guest, &questions[i], "a", ""), 0);
	await_entered(&gate);
	snprintf(record, sizeof(record), "%s",
	         server_text(&server, "HGET {test}:remote:owners %u", partition));
	for (size_t i = 0; i < JUMPS; i++) {
		long long renewals = server_number(&server, "HGET {test}:remote:numbers renewals");

		jump(jumps[i]);
		/* Each renews twice at least. */
		while (server_number(&server, "HGET {test}:remote:numbers renewals") < renewals + 5)
			usleep(20000);
		cr_assert_str_eq(server_text(&server, "HGET {test}:remote:owners %u", partition),
		                 record);
		cr_assert_eq(baton_remote_owned(owner), PARTITIONS);
	}
	sem_post(&gate.open);
	sem_post(&gate.open);
	for (int i = 0; i < 2; i++) {
		cr_assert_eq(await(&questions[i]), 0);
		cr_assert_eq(atoi(questions[i].answer), i + 1);
	}
	cr_assert_eq(gate.runs, 2, "none has run twice");
	baton_remote_destroy(guest);
	baton_remote_destroy(owner);
}

/* Makes a node that owns all, and never renews. */
static void make_lost(const char *node, const char *lease_ms, const char *owns)
{
	freeReplyObject(server_ask(&server,
	                           "FCALL baton_remote_balance 1 {test} %s %s %s %d %s 0 0 0-0 0",
	                           node, lease_ms, lease_ms, PARTITIONS, owns));
}

Test(clock, a_node_that_is_lost_is_missed_whatever_the_clock_says)
{
	struct baton_remote *heir;

	make_lost("lost", "500", "1");
	make_lost("guest", "500", "0");
	heir = join(&server, "heir", LEASE_NS, count, NULL);
	jump(-HOUR);
	/* The suite's timeout ends it. */
	while (baton_remote_owned(heir) < PARTITIONS ||
	       server_number(&server, "EXISTS {test}:remote:to:lost {test}:remote:seq:lost "
	                              "{test}:remote:to:guest {test}:remote:seq:guest") > 0)
		usleep(20000);
	expect(heir, "a", "1");
	baton_remote_destroy(heir);
}

Test(clock, a_node_whose_lease_lasts_is_not_missed_after_a_jump)
{
	struct baton_remote *heir;

	make_lost("slow", "60000", "1");
	heir = join(&server, "heir", 500 * MS, count, NULL);
	jump(2 * HOUR);
	for (int step = 0; step < 100; step++) {
		usleep(20000);
		cr_assert_eq(baton_remote_owned(heir), 0);
	}
	baton_remote_destroy(heir);
}
