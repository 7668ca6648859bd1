/* SPDX-License-Identifier: MIT */
/* The executors of a round: how they are made, the threads that run them, how they end. */
#include "engine.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "actor.h"
#include "deed.h"
#include "errand.h"
#include "random.h"
#include "report.h"
#include "site.h"

#define OPEN ((uint64_t)1 << 63)

static struct engine engines[ENGINES_MAX];
static uint32_t engine_count;
static pthread_t threads[ENGINES_MAX];

static bool pin(struct engine *engine)
{
	uint64_t users = atomic_load_explicit(&engine->users, memory_order_relaxed);

	do {
		if (!(users & OPEN))
			return false;
	} while (!atomic_compare_exchange_weak_explicit(
		&engine->users, &users, users + 1, memory_order_acquire, memory_order_relaxed));
	return true;
}

struct engine *engine_pick(uint64_t *random)
{
	struct engine *engine = &engines[random_below(random, engine_count)];

	/* The first is the default pool, which is always there. */
	if (pin(engine))
		return engine;
	MUST(pin(&engines[0]));
	return &engines[0];
}

void engine_unpin(struct engine *engine)
{
	atomic_fetch_sub_explicit(&engine->users, 1, memory_order_release);
}

static bool unused(struct engine *engine)
{
	return (atomic_load_explicit(&engine->users, memory_order_acquire) & ~OPEN) == 0;
}

struct baton_executor *engine_executor(struct engine *engine)
{
	if (engine->executor)
		return engine->executor;
	return baton_pool_executor(engine->pool);
}

int engine_submit(struct engine *engine, struct baton_plain_job *job)
{
	if (engine->pool)
		return baton_pool_submit(engine->pool, job);
	return baton_executor_schedule(engine->executor, &job->job);
}

static void make_configs(struct engine *engine)
{
	static const uint32_t limits[] = {BATON_CAPTURE_NONE, 1, BATON_CAPTURE_MAX, 2, 1000,
	                                  BATON_CAPTURE_NONE};
	static const uint32_t quanta[] = {BATON_QUANTUM, 1, 3, 1000};
	static const uint64_t times_ns[] = {0, 0, 1, 2000, 50000};

	for (uint32_t i = 0; i < ENGINE_CONFIGS; i++) {
		struct baton_resource_config *config = &engine->configs[i];

		*config = (struct baton_resource_config)BATON_RESOURCE_CONFIG_INIT;
		config->capture_max = limits[random_below(&engine->random, 6)];
		config->quantum = quanta[random_below(&engine->random, 4)];
		config->capture_ns = times_ns[random_below(&engine->random, 5)];
		config->quantum_ns = times_ns[random_below(&engine->random, 5)];
		config->executor = engine->executor;
		if (random_one_in(&engine->random, 3)) {
			config->enter = site_context_enter;
			config->leave = site_context_leave;
		}
		config->cancelled = errand_cancelled;
	}
}

static void open_engine(struct engine *engine)
{
	make_configs(engine);
	atomic_store(&engine->ending, false);
	atomic_store(&engine->cancelling, false);
	atomic_store_explicit(&engine->users, OPEN, memory_order_release);
}

static void make_pool(struct engine *engine)
{
	struct baton_pool_options pool_options = BATON_POOL_OPTIONS_INIT;

	pool_options.workers = engine->workers;
	pool_options.name = "stress";
	MUST(baton_pool_create(&pool_options, &engine->pool) == 0);
	engine->executor = baton_pool_executor(engine->pool);
}

/* Jobs that no worker took: each is run or cancelled, here. */
static void work_off(struct engine *engine, struct baton_job *jobs)
{
	while (jobs) {
		struct baton_job *job = jobs;

		jobs = baton_job_next(job);
		/* What is run here must not wait for what comes later in the list. */
		actor_self()->hidden++;
		if (random_one_in(&engine->random, 2))
			baton_job_run(job);
		else
			baton_job_cancel(job);
		actor_self()->hidden--;
	}
}

/* Its resources may still be in use, or not: all orders are allowed up to destroy. */
static void shut_down(struct engine *engine)
{
	struct baton_job *jobs = NULL;
	uint32_t way = random_below(&engine->random, 4);

	atomic_store(&engine->ending, true);
	if (way == 0)
		(void)baton_pool_shutdown(engine->pool);
	if (way == 1) {
		atomic_store(&engine->cancelling, true);
		MUST(baton_pool_shutdown_now(engine->pool, &jobs) == 0);
		work_off(engine, jobs);
	}
}

static void end_pool(struct engine *engine)
{
	struct baton_pool *pool = engine->pool;

	if (atomic_load(&engine->ending) && random_one_in(&engine->random, 2)) {
		(void)baton_pool_shutdown(pool);
		actor_busy("pool_await", 0);
		MUST(baton_pool_await(pool) == 0);
		actor_idle();
	}
	actor_busy("pool_destroy", 0);
	MUST(baton_pool_destroy(pool) == 0);
	actor_idle();
	engine->pool = NULL;
}

static void nap(struct engine *engine, uint32_t at_most_us)
{
	usleep(random_below(&engine->random, at_most_us) + 1);
}

/* A pool that comes and goes. */
static void *rotating_main(void *arg)
{
	struct engine *engine = arg;

	actor_self()->client = true;
	while (!atomic_load(&engine->leave)) {
		make_pool(engine);
		open_engine(engine);
		sites_await_start();
		nap(engine, 100000);
		if (random_one_in(&engine->random, 2))
			shut_down(engine);
		if (random_one_in(&engine->random, 2))
			nap(engine, 20000);
		atomic_fetch_and(&engine->users, ~OPEN);
		actor_busy("for a pool's resources to end", 0);
		do {
			sites_retire(engine);
			deed_collect(true);
			usleep(500);
		} while (!unused(engine));
		actor_idle();
		end_pool(engine);
	}
	deed_collect(true);
	return NULL;
}

static void drive_once(struct engine *engine)
{
	struct pollfd descriptor;

	if (engine->kind == ENGINE_MANUAL) {
		if (!baton_manual_run(engine->manual, 1))
			nap(engine, 100);
		else if (random_one_in(&engine->random, 8))
			(void)baton_manual_run(engine->manual, 0);
		return;
	}
	descriptor = (struct pollfd){baton_loop_fd(engine->loop), POLLIN, 0};
	if (poll(&descriptor, 1, random_one_in(&engine->random, 4) ? 1 : 0) > 0)
		(void)baton_loop_run(engine->loop, random_below(&engine->random, 4));
}

/* A thread that drives, and does what clients do in between. */
static void *driven_main(void *arg)
{
	struct engine *engine = arg;
	struct actor *self = actor_self();

	self->client = true;
	self->drives = engine;
	if (engine->kind == ENGINE_MANUAL) {
		MUST(baton_manual_create(&engine->manual) == 0);
		engine->executor = baton_manual_executor(engine->manual);
	} else {
		MUST(baton_loop_create(&engine->loop) == 0);
		MUST(baton_loop_adopt(engine->loop) == 0);
		engine->executor = baton_loop_executor(engine->loop);
	}
	open_engine(engine);
	sites_await_start();
	while (!atomic_load(&engine->leave) || !unused(engine)) {
		drive_once(engine);
		if (random_one_in(&engine->random, 4) && !atomic_load(&engine->leave))
			deed_do();
		if (random_one_in(&engine->random, 16))
			deed_collect(false);
	}
	self->drives = NULL;
	deed_collect(true);
	atomic_fetch_and(&engine->users, ~OPEN);
	if (engine->kind == ENGINE_MANUAL)
		baton_manual_destroy(engine->manual);
	else
		baton_loop_destroy(engine->loop);
	return NULL;
}

static void start(struct engine *engine, uint32_t index, uint64_t *random)
{
	engine->random = random_stream(*random, index + 7);
	engine->workers = 1 + random_below(random, 4);
	engine->kind = (enum engine_kind)(1 + random_below(random, 4));
	if (index == 0)
		engine->kind = ENGINE_DEFAULT;
	atomic_store(&engine->leave, false);
	switch (engine->kind) {
	case ENGINE_DEFAULT:
		MUST(baton_pool_default(&engine->pool) == 0);
		open_engine(engine);
		break;
	case ENGINE_POOL:
		make_pool(engine);
		open_engine(engine);
		break;
	case ENGINE_ROTATING:
		MUST(pthread_create(&threads[index], NULL, rotating_main, engine) == 0);
		break;
	default:
		MUST(pthread_create(&threads[index], NULL, driven_main, engine) == 0);
		break;
	}
}

void engines_start(uint64_t *random, uint32_t count)
{
	memset(engines, 0, sizeof(engines));
	engine_count = count;
	for (uint32_t i = 0; i < count; i++)
		start(&engines[i], i, random);
	for (uint32_t i = 0; i < count; i++)
		while (!atomic_load(&engines[i].users))
			usleep(100);
}

void engines_end(void)
{
	for (uint32_t i = 0; i < engine_count; i++)
		atomic_store(&engines[i].leave, true);
	/* Jobs may still be about; from now on they find the default pool only. */
	for (uint32_t i = 1; i < engine_count; i++)
		atomic_fetch_and(&engines[i].users, ~OPEN);
	for (uint32_t i = 0; i < engine_count; i++) {
		if (engines[i].kind == ENGINE_POOL) {
			while (!unused(&engines[i]))
				usleep(200);
			end_pool(&engines[i]);
		} else if (engines[i].kind != ENGINE_DEFAULT) {
			MUST(pthread_join(threads[i], NULL) == 0);
		}
	}
	while (!unused(&engines[0]))
		usleep(200);
}

void engines_print(void)
{
	static const char *const names[] = {"default", "pool", "rotating", "manual", "loop"};

	for (uint32_t i = 0; i < engine_count; i++)
		fprintf(stderr, "executor %u: %s, %llu users%s%s\n", i, names[engines[i].kind],
		        (unsigned long long)(atomic_load(&engines[i].users) & ~OPEN),
		        atomic_load(&engines[i].users) & OPEN ? "" : ", takes no more",
		        atomic_load(&engines[i].ending) ? ", shut down" : "");
}
