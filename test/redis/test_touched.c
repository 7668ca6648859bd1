/* SPDX-License-Identifier: MIT */
/* However much waits or is lost, one call of a function touches little of it. */
#include "monitor.h"

#include <criterion/criterion.h>
#include <hiredis/hiredis.h>

#include <stdio.h>

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
