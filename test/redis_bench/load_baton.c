/* SPDX-License-Identifier: MIT */
/* baton's queue: every task has an effect. The leases are the header's. */
#include "load.h"

#include <baton/redis.h>
#include <baton/timer.h>

#include <hiredis/hiredis.h>

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- Commands: the linker puts this before hiredis's ---- */

int __real_redisAppendFormattedCommand(redisContext *context, const char *text, size_t size);
int __wrap_redisAppendFormattedCommand(redisContext *context, const char *text, size_t size);

/* A command begins with the number of its words. */
int __wrap_redisAppendFormattedCommand(redisContext *context, const char *text, size_t size)
{
	if (size > 0 && text[0] == '*')
		__atomic_add_fetch(&shared->commands[role], 1, __ATOMIC_RELAXED);
	return __real_redisAppendFormattedCommand(context, text, size);
}

static struct baton_redis *connect_to_queue(void)
{
	struct baton_redis *redis;

	if (baton_redis_create(&(struct baton_redis_options){.socket = socket_path}, &redis))
		load_die("connect", baton_redis_error(redis));
	return redis;
}

static void submit(uint32_t first, uint32_t step, uint32_t end, uint64_t every_ns)
{
	static struct baton_redis *redis;
	uint64_t begin;

	if (!redis)
		redis = connect_to_queue();
	begin = load_clock();
	for (uint32_t i = first; i < end; i += step) {
		char id[16];
		struct baton_redis_task task = {
			.id = id, .token = "t", .command = &i, .command_size = sizeof(i)};

		snprintf(id, sizeof(id), "t%u", i);
		if (every_ns > 0)
			load_until(begin + i * every_ns);
		shared->sent_at[i] = load_clock();
		if (baton_redis_submit(redis, &task))
			load_die("submit", baton_redis_error(redis));
	}
}

static void schedule(uint32_t number)
{
	struct baton_redis *redis = connect_to_queue();
	struct baton_redis_scheduler_options options = {
		.rules = {
			.class_count = 3,
			.duration_ns = {60 * BATON_SECOND, 120 * BATON_SECOND, 180 * BATON_SECOND},
			.limit = {shared->limit, shared->limit, shared->limit}}};
	struct baton_redis_scheduler *scheduler;
	bool ready = false;

	if (baton_redis_scheduler_create(redis, &options, &scheduler))
		load_die("scheduler", baton_redis_error(redis));
	for (;;) {
		uint64_t epoch;

		if (baton_redis_scheduler_run(scheduler, ready ? BATON_SECOND : 0))
			load_die("scheduler", baton_redis_error(redis));
		epoch = baton_redis_scheduler_epoch(scheduler);
		if (epoch > __atomic_load_n(&shared->leads, __ATOMIC_ACQUIRE)) {
			__atomic_store_n(&shared->leader, number, __ATOMIC_RELEASE);
			__atomic_store_n(&shared->leads, epoch, __ATOMIC_RELEASE);
		}
		if (!ready)
			load_ready();
		ready = true;
	}
}

static void run_task(struct baton_redis *redis, struct baton_redis_backend *backend,
                     const struct baton_redis_order *order)
{
	struct baton_redis_result result = {"done", 4, 0, "exit"};
	uint32_t i;

	memcpy(&i, order->command, sizeof(i));
	load_start(i);
	if (baton_redis_backend_conclude(backend, &result))
		load_die("conclude", baton_redis_error(redis));
	load_end();
}

static void work(uint32_t number, bool hold)
{
	struct baton_redis *redis = connect_to_queue();
	struct baton_redis_backend *backend;
	struct baton_redis_order order;
	char name[16];
	bool ready = false;

	snprintf(name, sizeof(name), "b%u", number);
	if (baton_redis_backend_create(redis, &(struct baton_redis_backend_options){.name = name},
	                               &backend))
		load_die("backend", baton_redis_error(redis));
	for (;;) {
		struct pollfd fd = {.events = POLLIN};

		if (baton_redis_backend_next(backend, &order))
			load_die("backend", baton_redis_error(redis));
		if (order.what == BATON_REDIS_RUN && hold && order.attempt == 1) {
			__atomic_store_n(&shared->holds, number + 1, __ATOMIC_RELEASE);
			continue;
		}
		if (order.what == BATON_REDIS_RUN) {
			run_task(redis, backend, &order);
			continue;
		}
		fd.fd = baton_redis_fd(redis);
		/* It has read what was left, and asks for new ones. */
		if (!ready && poll(&fd, 1, 100) == 0) {
			load_ready();
			ready = true;
		}
		poll(&fd, 1, (int)(baton_redis_backend_due(backend) / 1000000) + 1);
	}
}

const struct load_kind baton_kind = {.name = "baton",
                                     .has_scheduler = true,
                                     .submit = submit,
                                     .work = work,
                                     .schedule = schedule};
