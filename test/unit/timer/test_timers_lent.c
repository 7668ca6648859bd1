/* SPDX-License-Identifier: MIT */
/* The default wheel, driven by the workers of the default pool while there is one. */
#include "timer_support.h"
#include "pool_support.h"

#include "base/atomic.h"
#include "timer/timer.h"

#include <baton/blocking.h>
#include <baton/pool.h>
#include <baton/timers.h>

#include <dirent.h>
#include <stdio.h>

static struct baton_resource resource = BATON_RESOURCE_INIT(NULL);

/* The number of this process's threads with this name, which ends with a newline. */
static int threads_named(const char *wanted)
{
	DIR *tasks = opendir("/proc/self/task");
	struct dirent *entry;
	int count = 0;

	MUST(tasks);
	while ((entry = readdir(tasks))) {
		char path[300];
		char name[32] = "";
		FILE *file;

		(void)snprintf(path, sizeof(path), "/proc/self/task/%s/comm", entry->d_name);
		file = fopen(path, "r");
		if (!file)
			continue;
		count += fgets(name, sizeof(name), file) && !strcmp(name, wanted);
		(void)fclose(file);
	}
	(void)closedir(tasks);
	return count;
}

static int wheel_threads(void)
{
	return threads_named("baton-timers\n");
}

/* The timer runs after `delay_ns`: once more each time. */
static void ring(struct bell *bell, atomic_int *rung, uint64_t delay_ns)
{
	struct baton_timers *timers;
	int before = atomic_load(rung);

	MUST(baton_timers_default(&timers) == 0);
	bell_init(bell, NULL, &resource);
	bell->timers = timers;
	bell->then = bell_rings;
	bell->argument = rung;
	bell->asked = baton_timers_now(timers) + delay_ns;
	cr_assert_eq(baton_timer_arm_after(&bell->timer, delay_ns), 0);
	until_at_least(rung, before + 1);
	cr_assert_eq(baton_timer_stop_wait(&bell->timer), 0);
	cr_assert_eq(bell->early, 0);
}

static void end(void)
{
	cr_assert_eq(baton_timers_default_destroy(), 0);
	cr_assert_eq(baton_pool_default_destroy(), 0);
}

Test(timers_lent, the_default_wheel_has_no_thread_beside_the_default_pool, .timeout = 20)
{
	struct baton_pool *pool;
	struct bell bell;
	atomic_int rung = 0;

	cr_assert_eq(baton_pool_default(&pool), 0);
	for (int i = 0; i < 20; i++) {
		ring(&bell, &rung, (uint64_t)i * BATON_MILLISECOND / 4);
		cr_assert_eq(wheel_threads(), 0);
	}
	end();
}

Test(timers_lent, a_wheel_that_was_there_first_gives_its_thread_up, .timeout = 20)
{
	struct baton_timers *timers;
	struct bell bell;
	atomic_int rung = 0;

	cr_assert_eq(baton_timers_default(&timers), 0);
	cr_assert_eq(wheel_threads(), 1);
	ring(&bell, &rung, 0); /* this creates the default pool */
	while (wheel_threads())
		(void)sched_yield();
	ring(&bell, &rung, BATON_MILLISECOND);
	cr_assert_eq(wheel_threads(), 0);
	end();
}

Test(timers_lent, the_wheel_outlives_the_pool, .timeout = 20)
{
	struct baton_pool *pool;
	struct bell bell;
	atomic_int rung = 0;

	cr_assert_eq(baton_pool_default(&pool), 0);
	ring(&bell, &rung, BATON_MILLISECOND);
	cr_assert_eq(baton_pool_default_destroy(), 0);
	cr_assert_eq(wheel_threads(), 1);
	ring(&bell, &rung, BATON_MILLISECOND);
	cr_assert_eq(baton_pool_default(&pool), 0);
	cr_assert_eq(baton_pool_shutdown(pool), 0); /* the wheel is not lent a second time */
	end();
}

static void *destroy_pool(void *arg)
{
	MUST(baton_pool_default_destroy() == 0);
	return arg;
}

Test(timers_lent, the_wheel_comes_home_when_its_holder_releases_it, .timeout = 20)
{
	struct baton_timers *timers;
	struct baton_pool *pool;
	pthread_t thread;

	cr_assert_eq(baton_pool_default(&pool), 0);
	cr_assert_eq(baton_timers_default(&timers), 0);
	baton__timers_hold(timers);
	cr_assert(timers->lent);
	thread = thread_start(destroy_pool, NULL);
	while (!load_relaxed(&timers->sleepers))
		(void)sched_yield();
	cr_assert(timers->lent);
	baton__timers_release(timers, 0);
	thread_join(thread);
	cr_assert_not(timers->lent);
	cr_assert_eq(wheel_threads(), 1);
	end();
}

/* Each worker is in a job that ends when the timers have run. The timers' resource has an executor
 * of its own, which the test's thread drives. */
Test(timers_lent, timers_run_while_all_workers_are_in_long_jobs, .timeout = 20)
{
	struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;
	struct baton_resource bells;
	struct baton_manual *manual;
	struct baton_timers *timers;
	struct baton_pool *pool;
	struct plug *plugs;
	struct bell bell[3];
	atomic_int rung = 0;
	size_t workers;

	cr_assert_eq(baton_pool_default(&pool), 0);
	cr_assert_eq(baton_timers_default(&timers), 0);
	cr_assert_eq(baton_manual_create(&manual), 0);
	config.executor = baton_manual_executor(manual);
	baton_resource_init(&bells, &config);
	workers = baton_pool_workers(pool);
	plugs = calloc(workers, sizeof(*plugs));
	MUST(plugs);
	for (int i = 0; i < 3; i++) {
		bell_init(&bell[i], NULL, &bells);
		bell[i].timers = timers;
		bell[i].then = bell_rings;
		bell[i].argument = &rung;
	}
	/* The first timer is armed while the workers are free, the others while all are in jobs. */
	cr_assert_eq(baton_timer_arm_after(&bell[0].timer, 30 * BATON_MILLISECOND), 0);
	for (size_t i = 0; i < workers; i++)
		plug_in(&plugs[i], pool);
	cr_assert_eq(baton_timer_arm_after(&bell[1].timer, BATON_MILLISECOND), 0);
	cr_assert_eq(baton_timer_arm_after(&bell[2].timer, 0), 0);
	while (atomic_load(&rung) < 3) {
		(void)baton_manual_run(manual, 0);
		(void)sched_yield();
	}
	cr_assert_eq(threads_named("baton-sentry\n"), 1);
	cr_assert_eq(wheel_threads(), 0);
	for (size_t i = 0; i < workers; i++)
		gate_open(&plugs[i].leave);
	cr_assert_eq(baton_resource_close(&bells), 0);
	cr_assert_eq(baton_resource_await(&bells), 0);
	end();
	cr_assert_eq(threads_named("baton-sentry\n"), 0);
	free(plugs);
	baton_manual_destroy(manual);
}

/* A task that waits, inside, for a timer. The timer's function runs on the test's own thread. */
struct waiter {
	struct baton_task task;
	struct baton_resource resource;
	struct baton_future future;
	struct baton_timer timer;
	int status;
};

static atomic_int waited;

static int fulfil(struct baton_timer *timer)
{
	struct waiter *waiter = baton_container_of(timer, struct waiter, timer);

	return baton_future_complete(&waiter->future, 0, NULL);
}

static int wait_for_timer(struct baton_task *task)
{
	struct waiter *waiter = baton_container_of(task, struct waiter, task);

	waiter->status = baton_timer_arm_after(&waiter->timer, BATON_MILLISECOND);
	if (!waiter->status)
		waiter->status = baton_future_wait(&waiter->future);
	(void)atomic_fetch_add(&waited, 1);
	return 0;
}

/* Twice as many as there are workers and spares: no spare can be had for the deadline. */
#define WAITERS (2 * (BATON_POOL_SPARES + 4))

Test(timers_lent, timers_run_while_all_workers_wait_for_them, .timeout = 30)
{
	static struct waiter waiters[WAITERS];
	struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;
	struct baton_resource bells;
	struct baton_manual *manual;

	cr_assert_eq(baton_manual_create(&manual), 0);
	config.executor = baton_manual_executor(manual);
	baton_resource_init(&bells, &config);
	for (int i = 0; i < WAITERS; i++) {
		struct waiter *waiter = &waiters[i];

		baton_resource_init(&waiter->resource, NULL);
		baton_promise_init(&waiter->future);
		baton_task_init(&waiter->task, wait_for_timer, NULL);
		baton_timer_init(&waiter->timer, NULL, &bells, fulfil);
		cr_assert_eq(baton_submit_later(&waiter->resource, &waiter->task), 0);
	}
	while (atomic_load(&waited) < WAITERS) {
		(void)baton_manual_run(manual, 0);
		(void)sched_yield();
	}
	for (int i = 0; i < WAITERS; i++) {
		cr_assert_eq(baton_resource_close(&waiters[i].resource), 0);
		cr_assert_eq(baton_resource_await(&waiters[i].resource), 0);
		cr_assert_eq(waiters[i].status, 0);
	}
	cr_assert_eq(baton_resource_close(&bells), 0);
	cr_assert_eq(baton_resource_await(&bells), 0);
	end();
	baton_manual_destroy(manual);
}

/* `dropped` is called by the thread that drives the wheel: a worker, or the sentry. */
static atomic_int answers[3];

static void end_the_pool(struct baton_timer *timer, int error)
{
	struct baton_pool *pool;
	struct baton_job *jobs;

	(void)timer;
	(void)error;
	MUST(baton_pool_default(&pool) == 0);
	answers[1] = baton_pool_shutdown_now(pool, &jobs);
	answers[2] = baton_pool_default_destroy();
	answers[0] = baton_pool_shutdown(pool);
}

static int never_runs(struct baton_timer *timer)
{
	(void)timer;
	return 0;
}

Test(timers_lent, whoever_drives_the_wheel_cannot_end_the_pool, .timeout = 20)
{
	struct baton_resource closed = BATON_RESOURCE_INIT(NULL);
	struct baton_timer timer;
	struct baton_pool *pool;

	cr_assert_eq(baton_pool_default(&pool), 0);
	baton_timer_init(&timer, NULL, &closed, never_runs);
	baton_timer_set_dropped(&timer, end_the_pool);
	cr_assert_eq(baton_timer_arm_after(&timer, BATON_MILLISECOND), 0);
	cr_assert_eq(baton_resource_close(&closed), 0);
	while (!answers[0])
		sched_yield();
	for (int i = 0; i < 3; i++)
		cr_assert_eq(answers[i], -EDEADLK, "%d", i);
	end();
	resource_end(&closed);
}
