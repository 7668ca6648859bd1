/* SPDX-License-Identifier: MIT */
/* Resources without an executor of their own: the default pool is theirs. The default wheel. */
#include "fixture.h"
#include "pool_support.h"

#include <baton/timer.h>
#include <baton/timers.h>
#include <baton/version.h>

#include <dirent.h>

Test(default_pool, runs_what_a_resource_without_executor_puts_off, .timeout = 10)
{
	cr_assert_eq(baton_submit_later(&fix.resource, &fix.steps[0].task), 0);
	fixture_end();
	cr_assert(journal_counts_up(&fix.journal, 0, 1));
}

/* All its workers are busy: the waiter takes the baton of the queued resource, and gives it back to
 * the pool's queue. */
Test(default_pool, a_waiter_helps_where_its_workers_are_all_busy, .timeout = 10)
{
	struct baton_future future = BATON_FUTURE_INIT;
	struct baton_pool *pool = NULL;
	struct plug *plugs;
	size_t workers;

	cr_assert_eq(baton_pool_default(&pool), 0);
	workers = baton_pool_workers(pool);
	plugs = calloc(workers, sizeof(*plugs));
	cr_assert_not_null(plugs);
	for (size_t i = 0; i < workers; i++)
		plug_in(&plugs[i], pool);
	step_init(&fix.steps[0], &fix.journal, 0, &future);
	cr_assert_eq(baton_submit_later(&fix.resource, &fix.steps[0].task), 0);
	cr_assert_eq(baton_future_wait(&future), 0);
	cr_assert(journal_counts_up(&fix.journal, 0, 1) && journal_here(&fix.journal, 0));
	for (size_t i = 0; i < workers; i++)
		gate_open(&plugs[i].leave);
	fixture_end();
	for (size_t i = 0; i < workers; i++)
		until_at_least(&plugs[i].work.ran, 1);
	free(plugs);
}

static size_t threads(void)
{
	DIR *tasks = opendir("/proc/self/task");
	size_t count = 0;

	MUST(tasks != NULL);
	while (readdir(tasks))
		count++;
	closedir(tasks);
	return count;
}

static void *nothing(void *arg)
{
	return arg;
}

/* With the one that ThreadSanitizer starts beside the program's first. */
static size_t threads_at_rest(void)
{
	size_t count = threads() + BATON_TEST_TSAN;

	thread_join(thread_start(nothing, NULL));
	while (threads() > count)
		sched_yield();
	return threads();
}

/* A joined thread may be listed for a moment. */
static void until_threads(size_t count)
{
	while (threads() != count)
		sched_yield();
}

static void hand_off(void)
{
	fixture_config();
	cr_assert_eq(baton_submit_later(&fix.resource, &fix.steps[0].task), 0);
	fixture_end();
	cr_assert(journal_counts_up(&fix.journal, 0, 1));
}

Test(default_pool, is_not_destroyed_like_others, .timeout = 10)
{
	struct baton_pool *pool = NULL;
	struct baton_pool *again = NULL;

	cr_assert_eq(baton_pool_default(&pool), 0);
	cr_assert_eq(baton_pool_destroy(pool), -EPERM);
	hand_off();
	cr_assert_eq(baton_pool_default(&again), 0);
	cr_assert_eq(again, pool);
}

Test(default_pool, ends_on_request_and_comes_anew, .timeout = 10)
{
	size_t before = threads_at_rest();
	struct baton_pool *pool = NULL;

	cr_assert_eq(baton_pool_default_destroy(), 0, "there is none");
	for (int i = 0; i < 3; i++) {
		hand_off();
		cr_assert_eq(baton_pool_default_destroy(), 0);
		until_threads(before);
	}
	/* After a shutdown, too. */
	cr_assert_eq(baton_pool_default(&pool), 0);
	cr_assert_eq(baton_pool_shutdown(pool), 0);
	cr_assert_eq(baton_pool_default_destroy(), 0);
	hand_off();
	cr_assert_eq(baton_pool_default_destroy(), 0);
	until_threads(before);
}

static void *end_pool(void *result)
{
	*(int *)result = baton_pool_default_destroy();
	return NULL;
}

Test(default_pool, is_not_ended_by_its_own_thread, .timeout = 10)
{
	struct baton_resource_config config = {.capture_max = BATON_CAPTURE_NONE};
	struct baton_resource resource = BATON_RESOURCE_INIT(&config);
	int result = 0;

	cr_assert_eq(baton_call(&resource, end_pool, &result, NULL), 0);
	cr_assert_eq(result, -EDEADLK);
	resource_end(&resource);
	cr_assert_eq(baton_pool_default_destroy(), 0);
}

Test(default_pool, is_ended_by_one_of_several, .timeout = 10)
{
	pthread_t ends[4];
	int results[4];

	hand_off();
	for (int i = 0; i < 4; i++)
		ends[i] = thread_start(end_pool, &results[i]);
	for (int i = 0; i < 4; i++) {
		thread_join(ends[i]);
		cr_assert_eq(results[i], 0);
	}
	hand_off();
	cr_assert_eq(baton_pool_default_destroy(), 0);
}

struct beat {
	struct baton_timer timer;
	sem_t entered;
	sem_t leave;
};

static int beat_run(struct baton_timer *timer)
{
	struct beat *beat = baton_container_of(timer, struct beat, timer);

	gate_open(&beat->entered);
	gate_pass(&beat->leave);
	return 0;
}

Test(default_pool, the_wheel_ends_on_request_and_comes_anew, .timeout = 10)
{
	size_t before = threads_at_rest();
	struct baton_timers *timers = NULL;

	cr_assert_eq(baton_timers_default_destroy(), 0, "there is none");
	for (int i = 0; i < 3; i++) {
		struct baton_resource resource = BATON_RESOURCE_INIT(NULL);
		struct beat beat;

		gate_init(&beat.entered);
		gate_init(&beat.leave);
		baton_timer_init(&beat.timer, NULL, &resource, beat_run);
		cr_assert_eq(baton_timer_arm_after(&beat.timer, 1), 0);
		gate_pass(&beat.entered);
		cr_assert_eq(baton_timers_default(&timers), 0);
		cr_assert_eq(baton_timers_destroy(timers), -EPERM);
		for (int twice = 0; twice < 2; twice++)
			cr_assert_eq(baton_timers_default_destroy(), -EBUSY, "a run is under way");
		cr_assert_eq(baton_timer_arm_after(&beat.timer, 1), -ESHUTDOWN, "it is closed");
		gate_open(&beat.leave);
		resource_end(&resource);
		cr_assert_eq(baton_timers_default_destroy(), 0);
		cr_assert_eq(baton_pool_default_destroy(), 0);
		until_threads(before);
	}
}

Test(default_pool, belongs_to_the_version_that_the_header_says, .timeout = 5)
{
	char expected[32];

	snprintf(expected, sizeof(expected), "%d.%d.%d", BATON_VERSION_MAJOR, BATON_VERSION_MINOR,
	         BATON_VERSION_PATCH);
	cr_assert_str_eq(baton_version(), expected);
	cr_assert_eq(baton_version_number(), BATON_VERSION);
	cr_assert_lt(BATON_VERSION_OF(0, 2, 255), BATON_VERSION);
	cr_assert_lt(BATON_VERSION, BATON_VERSION_OF(0, 4, 0));
}
