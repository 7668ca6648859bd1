/* SPDX-License-Identifier: MIT */
/* Effects are kept until their readers have acknowledged them, or dropped and counted. */
#include "nodes.h"

#include <criterion/criterion.h>
#include <hiredis/hiredis.h>

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct server server;
static struct baton_redis *redis;

static void set_up(void)
{
	server_start(&server, NULL);
	redis = server_connect(&server);
}

static void tear_down(void)
{
	baton_redis_destroy(redis);
	server_stop(&server);
}

TestSuite(reader, .init = set_up, .fini = tear_down, .timeout = 120);

/* Tasks `first` to `last` run, and have their effect. */
static void have_effects(int first, int last)
{
	redisContext *context = redisConnectUnix(server.socket);

	for (int i = first; i <= last; i++) {
		redisAppendCommand(context, "HSET {test}:task:%d token t", i);
		redisAppendCommand(context, "HSET {test}:run %d 0:0:7:50:%d:one", i, i);
		redisAppendCommand(context, "FCALL %s_effect 1 {test} %d 7 done-%d",
		                   server_library(), i, i);
	}
	for (int i = 0; i < 3 * (last - first + 1); i++) {
		redisReply *reply = NULL;

		cr_assert_eq(redisGetReply(context, (void **)&reply), REDIS_OK);
		cr_assert_neq(reply->type, REDIS_REPLY_ERROR, "%s", reply->str);
		freeReplyObject(reply);
	}
	redisFree(context);
}

static struct baton_redis_reader *reader_on(struct baton_redis *connection, const char *name)
{
	struct baton_redis_reader_options options = {.name = name};
	struct baton_redis_reader *reader;
	int error = baton_redis_reader_create(connection, &options, &reader);

	cr_assert_eq(error, 0, "%s", baton_redis_error(connection));
	return reader;
}

/* Waits for the next effect, and returns the number of its task. */
static int next_of(struct baton_redis *connection, struct baton_redis_reader *reader)
{
	struct baton_redis_effect effect = {0};
	char data[32];

	for (int i = 0; i < 100 && !effect.id; i++) {
		struct pollfd readable = {.events = POLLIN};

		cr_assert_eq(baton_redis_reader_next(reader, &effect), 0);
		readable.fd = baton_redis_fd(connection);
		if (!effect.id)
			poll(&readable, 1, 1000);
	}
	cr_assert(effect.id, "no effect has come");
	snprintf(data, sizeof(data), "done-%s", effect.id);
	cr_assert_str_eq((const char *)effect.data, data);
	cr_assert_eq(effect.size, strlen(data));
	cr_assert_eq(effect.id_size, strlen(effect.id));
	cr_assert_eq(effect.epoch, 7);
	return atoi(effect.id);
}

static void expect_all(struct baton_redis *connection, struct baton_redis_reader *reader, int first,
                       int last)
{
	for (int i = first; i <= last; i++)
		cr_assert_eq(next_of(connection, reader), i);
}

static long long kept(void)
{
	return server_number(&server, "XLEN {test}:effects");
}

Test(reader, an_effect_is_kept_until_all_readers_have_acknowledged_it)
{
	struct baton_redis *others = server_connect(&server);
	struct baton_redis_reader *fast = reader_on(redis, "fast");
	struct baton_redis_reader *slow = reader_on(others, "slow");
	struct baton_redis_effect effect;

	have_effects(1, 9);
	expect_all(redis, fast, 1, 9);
	cr_assert_eq(baton_redis_reader_acknowledge(fast), 0);
	cr_assert_eq(kept(), 9);
	expect_all(others, slow, 1, 4);
	cr_assert_eq(kept(), 9, "given is not acknowledged");
	cr_assert_eq(baton_redis_reader_acknowledge(slow), 0);
	cr_assert_eq(kept(), 5);
	expect_all(others, slow, 5, 6);
	/* The slow one ends without a word, and comes again. */
	baton_redis_reader_destroy(slow);
	slow = reader_on(others, "slow");
	expect_all(others, slow, 5, 9);
	cr_assert_eq(baton_redis_reader_next(slow, &effect), 0);
	cr_assert_eq(effect.id, NULL);
	cr_assert_eq(baton_redis_reader_leave(slow), 0);
	cr_assert_eq(kept(), 0);
	cr_assert_eq(baton_redis_reader_acknowledge(slow), -ESTALE);
	cr_assert_eq(baton_redis_reader_dropped(fast), 0);
	baton_redis_reader_destroy(slow);
	baton_redis_reader_destroy(fast);
	baton_redis_destroy(others);
}

/* More than one call deletes, and more than one read brings. */
Test(reader, however_many_effects_nobody_has_read_they_are_kept)
{
	struct baton_redis_reader *reader;

	have_effects(1, 10600);
	cr_assert_eq(kept(), 10600);
	reader = reader_on(redis, "late");
	cr_assert_eq(baton_redis_reader_acknowledge(reader), 0, "nothing was given yet");
	cr_assert_eq(kept(), 10600);
	expect_all(redis, reader, 1, 1750);
	cr_assert_eq(baton_redis_reader_acknowledge(reader), 0);
	cr_assert_eq(kept(), 10600 - 1750);
	baton_redis_reader_destroy(reader);
}

Test(reader, what_is_dropped_is_counted)
{
	struct baton_redis_scheduler_options options = {.effects_max = 200,
	                                                .rules = {.limit = {1, 1, 1}}};
	struct baton_redis_scheduler *scheduler;
	struct baton_redis_reader *reader = reader_on(redis, "slow");
	int left;

	cr_assert_eq(baton_redis_scheduler_create(redis, &options, &scheduler), 0);
	cr_assert_eq(baton_redis_scheduler_run(scheduler, 0), 0);
	have_effects(1, 1000);
	left = (int)kept();
	cr_assert(left >= 200 && left <= 300, "%d", left);
	expect_all(redis, reader, 1000 - left + 1, 1000);
	cr_assert_eq(baton_redis_reader_acknowledge(reader), 0);
	cr_assert_eq(baton_redis_reader_dropped(reader), (uint64_t)(1000 - left));
	cr_assert_eq(kept(), 0);
	baton_redis_reader_destroy(reader);
	baton_redis_scheduler_destroy(scheduler);
}

Test(reader, a_space_has_readers_of_its_own)
{
	struct baton_redis_reader_options options = {.name = "reader", .remote = true};
	struct baton_remote *remote = join(&server, "node", 0, count, NULL);
	struct baton_redis_effect effect = {0};
	struct baton_redis_reader *reader;

	cr_assert_eq(baton_redis_reader_create(redis, &options, &reader), 0);
	expect(remote, "name", "1");
	for (int i = 0; i < 100 && !effect.id; i++) {
		struct pollfd readable = {.events = POLLIN};

		cr_assert_eq(baton_redis_reader_next(reader, &effect), 0);
		readable.fd = baton_redis_fd(redis);
		if (!effect.id)
			poll(&readable, 1, 1000);
	}
	cr_assert(effect.id, "no effect has come");
	cr_assert_str_eq(effect.id, "name");
	cr_assert_str_eq((const char *)effect.data, "1");
	cr_assert_eq(baton_redis_reader_acknowledge(reader), 0);
	cr_assert_eq(server_number(&server, "XLEN {test}:remote:effects"), 0);
	baton_redis_reader_destroy(reader);
	baton_remote_destroy(remote);
}

Test(reader, names_and_readers_that_are_too_many_are_refused)
{
	struct baton_redis_reader_options options = {.name = "not a name"};
	struct baton_redis_reader *reader;
	char name[8];

	cr_assert_eq(baton_redis_reader_create(redis, &options, &reader), -EINVAL);
	options.name = "one";
	options._reserved[3] = 1;
	cr_assert_eq(baton_redis_reader_create(redis, &options, &reader), -EINVAL);
	for (int i = 0; i < 64; i++) {
		snprintf(name, sizeof(name), "r%d", i);
		baton_redis_reader_destroy(reader_on(redis, name));
	}
	baton_redis_reader_destroy(reader_on(redis, "r0"));
	options = (struct baton_redis_reader_options){.name = "r64"};
	cr_assert_eq(baton_redis_reader_create(redis, &options, &reader), -EAGAIN);
}
