/* SPDX-License-Identifier: MIT */
/* A round of the modules, from beginning to end; and the threads in it that never wait. */
#include "mod.h"

#include <poll.h>
#include <pthread.h>
#include <unistd.h>

#include "actor.h"
#include "cell.h"
#include "disturber.h"
#include "options.h"
#include "random.h"
#include "report.h"
#include "watch.h"

#define CLIENTS_MAX 8

static atomic_bool leave;
static atomic_bool keepers_leave;
static struct baton_loop *loop;
static atomic_bool loop_ready;

static void *client_main(void *arg)
{
	struct actor *self = actor_self();

	self->client = true;
	self->random = *(uint64_t *)arg;
	while (!atomic_load_explicit(&leave, memory_order_relaxed)) {
		mod_deed();
		if (random_one_in(&self->random, 256))
			usleep(random_below(&self->random, 500));
	}
	open_finish(true);
	return NULL;
}

/* Polls the wheel, answers tokens, lets the windows go on: so that every wait has an end. */
static void *keeper_main(void *arg)
{
	struct actor *self = actor_self();

	while (!atomic_load(&keepers_leave)) {
		struct ground *ground = ground_pick(&self->random);

		alarms_poll();
		(void)stash_complete(ground, mod_stopping());
		if (!mod_stopping() && ground_pin(ground)) {
			MUST(baton_window_set_limit(
				     &ground->window,
				     1 + random_below(&self->random, MOD_WINDOW_MAX)) == 0);
			ground_unpin(ground);
		}
		mod_nested(NULL, NULL);
		usleep(random_below(&self->random, 200));
	}
	return NULL;
}

/* Drives the loop; what it schedules itself between gather and run_gathered is not announced. */
static void *looper_main(void *arg)
{
	struct actor *self = actor_self();

	MUST(baton_loop_adopt(loop) == 0);
	atomic_store(&loop_ready, true);
	while (!atomic_load(&keepers_leave)) {
		struct pollfd descriptor = {baton_loop_fd(loop), POLLIN, 0};

		if (random_one_in(&self->random, 2)) {
			baton_loop_gather(loop);
			for (uint32_t left = random_below(&self->random, 4); left > 0; left--)
				mod_nested(NULL, NULL);
			if (random_one_in(&self->random, 4))
				(void)baton_loop_run(loop, random_below(&self->random, 4));
			(void)baton_loop_run_gathered(loop);
		}
		if (poll(&descriptor, 1, random_one_in(&self->random, 4) ? 1 : 0) > 0)
			(void)baton_loop_run(loop, random_below(&self->random, 4));
	}
	return NULL;
}

static uint64_t operations(void)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < grounds_count(); i++)
		sum += atomic_load_explicit(&ground_at(i)->accepted, memory_order_relaxed);
	return sum;
}

static void run_clients(uint64_t *random, uint64_t operations_max, uint64_t duration_ns)
{
	pthread_t clients[CLIENTS_MAX];
	uint64_t randoms[CLIENTS_MAX];
	uint32_t count = 1 + random_below(random, CLIENTS_MAX);
	uint64_t begin = now_ns();

	if (options.threads && options.threads <= CLIENTS_MAX)
		count = options.threads;
	atomic_store(&leave, false);
	for (uint32_t i = 0; i < count; i++) {
		randoms[i] = random_stream(*random, i + 1);
		MUST(pthread_create(&clients[i], NULL, client_main, &randoms[i]) == 0);
	}
	while (now_ns() - begin < duration_ns && operations() < operations_max)
		usleep(500);
	/* Some end amid all that. */
	for (uint32_t i = 0; i < grounds_count(); i++)
		if (random_one_in(random, 3))
			ground_close(ground_at(i));
	usleep(random_below(random, 5000));
	atomic_store(&leave, true);
	for (uint32_t i = 0; i < count; i++)
		MUST(pthread_join(clients[i], NULL) == 0);
	mod_stop(true);
}

uint64_t mod_round_run(uint64_t number, uint64_t operations_max, uint64_t duration_ns)
{
	struct baton_pool_options pool_options = BATON_POOL_OPTIONS_INIT;
	struct baton_executor *executors[4] = {NULL};
	uint64_t random = random_stream(options.seed, number + 1);
	struct baton_pool *pool;
	pthread_t keeper;
	pthread_t looper;
	uint64_t sum;

	actor_self()->random = random_stream(random, 5);
	pool_options.workers = 1 + random_below(&random, 3);
	MUST(baton_pool_create(&pool_options, &pool) == 0);
	MUST(baton_loop_create(&loop) == 0);
	executors[1] = baton_pool_executor(pool);
	executors[2] = baton_loop_executor(loop);
	mod_deeds_weigh(&random);
	mod_stop(false);
	executors[3] = sources_start(&random);
	watches_start(&random, executors[1]);
	alarms_start();
	names_start();
	admission_start(&random, executors[1]);
	atomic_store(&keepers_leave, false);
	atomic_store(&loop_ready, false);
	grounds_start(&random, executors, 4);
	MUST(pthread_create(&keeper, NULL, keeper_main, NULL) == 0);
	MUST(pthread_create(&looper, NULL, looper_main, NULL) == 0);
	while (!atomic_load(&loop_ready))
		usleep(50);
	disturber_start(&random);
	/* The configuration says more than the time. */
	run_clients(&random, operations_max, duration_ns / 4);
	admission_end(&random);
	grounds_end();
	atomic_store(&keepers_leave, true);
	MUST(pthread_join(keeper, NULL) == 0);
	MUST(pthread_join(looper, NULL) == 0);
	watches_end();
	sources_end();
	alarms_end();
	names_end();
	baton_loop_destroy(loop);
	actor_busy("pool_destroy", 0);
	MUST(baton_pool_destroy(pool) == 0);
	actor_idle();
	disturber_stop();
	sum = operations();
	watch_pause(1);
	grounds_free();
	cell_check_all();
	actor_recycle();
	watch_pause(0);
	return sum + 1;
}
