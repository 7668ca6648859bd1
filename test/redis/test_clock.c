/* SPDX-License-Identifier: MIT */
/* The server's clock jumps, as after a correction, or a fail-over to another machine. */
#include "pair.h"

#include <criterion/criterion.h>

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
