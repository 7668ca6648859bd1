/* SPDX-License-Identifier: MIT */
/* However much waits or is lost, one call of a function touches little of it. */
#include "crash.h"
#include "monitor.h"

#include <criterion/criterion.h>
#include <hiredis/hiredis.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static struct server server;
static struct baton_redis *redis;
static struct baton_redis_scheduler *scheduler;
static struct monitor monitor;

static void set_up(void)
{
	server_start(&server, NULL);
	redis = server_connect(&server);
	scheduler = scheduler_on(redis);
}

static void tear_down(void)
{
	baton_redis_scheduler_destroy(scheduler);
	baton_redis_destroy(redis);
	server_stop(&server);
}

TestSuite(touched, .init = set_up, .fini = tear_down, .timeout = 240);

/* Runs a script of the test's own; 1: it is done. */
static void make(const char *script)
{
	const char *text = server_text(&server, "EVAL %s 0", script);

	cr_assert_str_eq(text, "", "%s", text);
}

static void run_and_read(void)
{
	int error = baton_redis_scheduler_run(scheduler, 20 * MS);

	cr_assert_eq(error, 0, "%s", baton_redis_error(redis));
	monitor_read(&monitor, &server);
}

/* A switch has failed: 60 backends are lost at once, each with 20 tasks. */
Test(touched, backends_that_are_lost_together_are_looked_after_by_several_calls)
{
	make("for i = 1, 1200 do local id, name = 't' .. i, 'b' .. i % 60 "
	     "redis.call('HSET', '{test}:task:' .. id, 'kind', 0, 'token', 't', 'attempts', 1, "
	     "'attempts_max', 2) "
	     "redis.call('HSET', '{test}:run', id, '0:0:5:50:' .. i .. ':' .. name) "
	     "redis.call('SADD', '{test}:held:' .. name, id) "
	     "redis.call('ZADD', '{test}:backends', 1, name) end");
	monitor_start(&monitor, &server);
	for (int run = 0; run < 1000 && server_number(&server, "ZCARD {test}:backends"); run++)
		run_and_read();
	cr_assert_eq(server_number(&server, "ZCARD {test}:backends"), 0);
	cr_assert_eq(server_number(&server, "EXISTS {test}:held:b1"), 0);
	for (int run = 0; run < 1000 && server_number(&server, "HLEN {test}:run") != 3; run++)
		run_and_read();
	cr_assert_eq(server_number(&server, "HLEN {test}:run"), 3, "the limit is 3");
	cr_assert_eq(server_number(&server, "ZCARD {test}:queue"), 1197);
	cr_assert(monitor.most > 100, "counted are %u", monitor.most);
	monitor_stop(&monitor);
}

#define BACKLOG 3000

/* Tasks that wait: as many submits would take long under valgrind and its like. */
static void make_backlog(void)
{
	make("for i = 1, 3000 do local id = 't' .. i "
	     "redis.call('HSET', '{test}:task:' .. id, 'kind', i % 3, 'token', 't', 'attempts', 0, "
	     "'attempts_max', 2, 'command', 'true') "
	     "redis.call('XADD', '{test}:in', '*', 'id', id, 'number', i, 'kind', i % 3) "
	     "redis.call('XADD', '{test}:note:' .. id, '*', 'what', 'waiting', 'value', '-1') "
	     "redis.call('ZADD', '{test}:queue', i, id) end "
	     "redis.call('HSET', '{test}:numbers', 'arrivals', 3000)");
}

/* How many notes the tasks have been told, beside the first of each. */
static long long notes_told(void)
{
	return server_number(&server, "EVAL %s 0",
	                     "local all = 0 for i = 1, 3000 do "
	                     "all = all + redis.call('XLEN', '{test}:note:t' .. i) - 1 end "
	                     "return all");
}

static void run_until_told(struct baton_redis_scheduler *leader)
{
	long long told = -1;

	/* Ends: when 20 runs have told nothing. */
	for (int quiet = 0, run = 0; quiet < 20 && run < 5000; run++, quiet++) {
		cr_assert_eq(baton_redis_scheduler_run(leader, 5 * MS), 0);
		monitor_read(&monitor, &server);
		if (quiet % 10 == 0 && notes_told() != told) {
			told = notes_told();
			quiet = 0;
		}
	}
}

/* However many wait. */
static void figures_touch_one_task(void)
{
	struct monitor own;
	struct baton_redis_stats stats;

	monitor_start(&own, &server);
	cr_assert_eq(baton_redis_stats_read(redis, &stats), 0, "%s", baton_redis_error(redis));
	monitor_read(&own, &server);
	cr_assert_eq(stats.waiting, BACKLOG - 3);
	cr_assert_eq(own.calls, 1);
	cr_assert_eq(own.most, 1, "%u", own.most);
	monitor_stop(&own);
}

Test(touched, a_new_leader_reads_a_backlog_in_pages_and_starts_after_the_first)
{
	struct baton_redis *other = server_connect(&server);
	struct baton_redis_scheduler *second = scheduler_on(other);
	long long told;

	make_backlog();
	monitor_start(&monitor, &server);
	run_and_read();
	cr_assert_eq(server_number(&server, "HLEN {test}:run"), 3);
	cr_assert(server_number(&server, "HEXISTS {test}:run t1") &&
	          server_number(&server, "HEXISTS {test}:run t2") &&
	          server_number(&server, "HEXISTS {test}:run t3"));
	cr_assert_eq(monitor.most, TOUCHED_MAX, "a page");
	cr_assert_lt(monitor.calls, 8, "%u", monitor.calls);
	run_until_told(scheduler);
	told = notes_told();
	cr_assert_geq(told, BACKLOG, "each task is told when it starts at the latest");
	figures_touch_one_task();
	/* What another leader has told is known to the next: nothing has moved by a tenth. */
	baton_redis_scheduler_destroy(scheduler);
	run_until_told(second);
	cr_assert(baton_redis_scheduler_epoch(second) > 0);
	cr_assert_lt(notes_told() - told, BACKLOG / 10);
	scheduler = second;
	monitor_stop(&monitor);
	baton_redis_destroy(redis);
	redis = other;
}

/* The leader knows the first page when a backend is lost whose task waits again on it. */
Test(touched, a_task_that_is_lost_while_the_pages_are_read_waits_at_its_old_place)
{
	struct baton_redis *working = server_connect(&server);
	struct baton_redis_backend *backend;
	struct baton_redis_order order;

	make_backlog();
	/* Three run: the first one on a backend that leaves. */
	make("for i = 1, 3 do local id = 't' .. i redis.call('ZREM', '{test}:queue', id) "
	     "redis.call('HSET', '{test}:run', id, '0:0:5:50:' .. i .. ':b' .. i) "
	     "redis.call('SADD', '{test}:held:b' .. i, id) end");
	cr_assert_eq(baton_redis_scheduler_run(scheduler, 0), 0);
	cr_assert_eq(server_number(&server, "HLEN {test}:run"), 3);
	server_number(&server, "FCALL baton_leave 1 {test} b1");
	server_number(&server, "FCALL baton_leave 1 {test} b3");
	cr_assert_eq(server_number(&server, "HLEN {test}:run"), 1);
	for (int run = 0; run < 20; run++)
		cr_assert_eq(baton_redis_scheduler_run(scheduler, 0), 0);
	cr_assert_eq(server_number(&server, "HLEN {test}:run"), 3);
	cr_assert(server_number(&server, "HEXISTS {test}:run t1"));
	backend = backend_on(working, "one");
	await_order(backend, &order, BATON_REDIS_RUN, scheduler);
	cr_assert_str_eq(order.id, "t1");
	baton_redis_backend_destroy(backend);
	baton_redis_destroy(working);
}

/* What the server's process has computed so far. Unlike the time of a call this does not grow with
 * what else runs on the machine. */
static uint64_t server_cpu_ns(void)
{
	struct timespec time = {.tv_sec = 0};
	clockid_t clock;

	cr_assert_eq(clock_getcpuclockid(server.pid, &clock), 0);
	cr_assert_eq(clock_gettime(clock, &time), 0);
	return (uint64_t)time.tv_sec * BATON_SECOND + (uint64_t)time.tv_nsec;
}

#define RUNS 2500
#define CALLS_MAX 40000
#define CALL_MAX_NS (10 * MS)

/* What the server has computed for each call: it does nothing else meanwhile. */
static uint64_t times[CALLS_MAX];
static size_t calls;
static uint64_t computed_ns;

static void note_time(void)
{
	uint64_t now = server_cpu_ns();

	cr_assert_lt(calls, CALLS_MAX);
	times[calls++] = now - computed_ns;
	computed_ns = now;
}

static int compare_times(const void *a, const void *b)
{
	uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;

	return one < other ? -1 : one > other;
}

static void begin_times(void)
{
	calls = 0;
	computed_ns = server_cpu_ns();
	after_answer = note_time;
}

/* What the server needs for a call at most, in 999 of 1,000. */
static void judge_times(const char *whose)
{
	uint64_t most;

	after_answer = NULL;
	qsort(times, calls, sizeof(times[0]), compare_times);
	most = times[calls - 1 - calls / 1000];
	cr_log_info("%s's %zu calls: median %lu us, 99.9 %% %lu us of the server's processor",
	            whose, calls, times[calls / 2] / 1000, most / 1000);
	cr_assert_leq(most, CALL_MAX_NS, "%s: %lu ns", whose, most);
}

#define PARTS 1000 /* of 1,000 tasks */

/* CRASH=deep: a million tasks wait when a new leader comes. */
Test(touched, a_million_waiting_tasks_stop_nobody, .timeout = 900)
{
	char id[16];

	if (!getenv("CRASH"))
		cr_skip_test("CRASH=deep, for a million tasks");
	for (int part = 0; part < PARTS; part++) {
		const char *text = server_text(
			&server, "EVAL %s 0 %d",
			"local first = 1000 * ARGV[1] "
			"for i = first + 1, first + 1000 do local id = 't' .. i "
			"redis.call('HSET', '{test}:task:' .. id, 'kind', i % 3, 'token', 't', "
			"'attempts', 0, 'attempts_max', 2, 'command', 'true') "
			"redis.call('XADD', '{test}:note:' .. id, '*', 'what', 'waiting', 'value', "
			"'-1') "
			"redis.call('ZADD', '{test}:queue', i, id) end",
			part);

		cr_assert_str_eq(text, "", "%s", text);
	}
	cr_assert_eq(baton_redis_scheduler_run(scheduler, 0), 0);
	cr_assert_eq(server_number(&server, "HLEN {test}:run"), 3, "after the first page");
	/* All pages, and some seconds of estimates. */
	begin_times();
	for (int i = 0; i < RUNS; i++)
		cr_assert_eq(baton_redis_scheduler_run(scheduler, MS), 0, "%s",
		             baton_redis_error(redis));
	judge_times("the leader");
	cr_assert(server_number(&server, "ZCARD {test}:queue") > PARTS * 999);
	begin_times();
	for (int i = 0; i < RUNS; i++) {
		struct baton_redis_task task = task_named(id, 0);

		snprintf(id, sizeof(id), "new%d", i);
		cr_assert_eq(baton_redis_submit(redis, &task), 0);
		cr_assert_eq(baton_redis_keep(redis, &task), 0);
		cr_assert_eq(baton_redis_withdraw(redis, &task), 0);
		cr_assert_eq(baton_redis_forget(redis, &task), 0);
	}
	judge_times("a submitter");
}
