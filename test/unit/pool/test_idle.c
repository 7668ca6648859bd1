/* SPDX-License-Identifier: MIT */
/* The idle set: who is woken, how many search, and that no wake-up is lost. */
#include "pool/idle.h"

#include "support.h"

struct set {
	struct baton__idle idle;
	struct baton__sleeper *sleepers;
};

static void set_init(struct set *set, size_t workers)
{
	set->sleepers = aligned_alloc(BATON_CACHE_LINE, workers * sizeof(*set->sleepers));
	MUST(set->sleepers);
	baton__idle_init(&set->idle, set->sleepers, workers);
}

static bool is_woken(const struct set *set, size_t worker)
{
	return __atomic_load_n(&set->sleepers[worker].wake, __ATOMIC_ACQUIRE) & 1;
}

Test(idle, wakes_the_last_to_fall_asleep, .timeout = 10)
{
	struct set set;

	set_init(&set, 4);
	for (size_t i = 0; i < 3; i++)
		cr_assert_eq(baton__idle_enter(&set.idle, i, false, false), BATON__IDLE_LOOK);
	cr_assert_eq(baton__idle_asleep(&set.idle), 3);
	cr_assert(baton__idle_notify(&set.idle));
	cr_assert(is_woken(&set, 2));
	cr_assert_not(is_woken(&set, 1));
	(void)baton__idle_wait(&set.idle, 2, BATON_FOREVER);
	cr_assert_eq(baton__idle_asleep(&set.idle), 2);
	free(set.sleepers);
}

Test(idle, wakes_nobody_while_somebody_searches, .timeout = 10)
{
	struct set set;

	set_init(&set, 4);
	(void)baton__idle_enter(&set.idle, 0, false, false);
	(void)baton__idle_enter(&set.idle, 1, false, false);
	cr_assert(baton__idle_notify(&set.idle));
	cr_assert_not(baton__idle_notify(&set.idle)); /* one wake-up is on its way */
	cr_assert(baton__idle_stop_searching(&set.idle));
	cr_assert(baton__idle_notify(&set.idle));
	cr_assert(is_woken(&set, 0));
	free(set.sleepers);
}

Test(idle, lets_at_most_half_of_the_workers_search, .timeout = 10)
{
	for (size_t workers = 1; workers <= 9; workers++) {
		struct set set;
		size_t searching = 0;

		set_init(&set, workers);
		while (baton__idle_try_search(&set.idle))
			searching++;
		cr_assert_eq(searching, workers < 2 ? 1 : workers / 2);
		for (; searching > 1; searching--)
			cr_assert_not(baton__idle_stop_searching(&set.idle));
		cr_assert(baton__idle_stop_searching(&set.idle));
		free(set.sleepers);
	}
}

Test(idle, tells_the_last_searcher_to_look_before_it_sleeps, .timeout = 10)
{
	struct set set;

	set_init(&set, 4);
	cr_assert(baton__idle_try_search(&set.idle));
	cr_assert(baton__idle_try_search(&set.idle));
	cr_assert_eq(baton__idle_enter(&set.idle, 0, true, false), BATON__IDLE_ENTERED);
	cr_assert_eq(baton__idle_enter(&set.idle, 1, true, false), BATON__IDLE_LOOK);
	free(set.sleepers);
}

Test(idle, tells_a_worker_that_all_others_sleep, .timeout = 10)
{
	struct set set;

	set_init(&set, 3);
	cr_assert_eq(baton__idle_enter(&set.idle, 0, false, true), BATON__IDLE_LOOK);
	cr_assert_eq(baton__idle_enter(&set.idle, 2, false, true), BATON__IDLE_LOOK);
	cr_assert_eq(baton__idle_enter(&set.idle, 1, false, true), BATON__IDLE_ALONE);
	cr_assert_eq(baton__idle_asleep(&set.idle), 2);
	free(set.sleepers);
}

Test(idle, holds_as_many_workers_as_a_pool_may_have, .timeout = 10)
{
	size_t workers = BATON__IDLE_WORKERS_MAX;
	struct set set;

	set_init(&set, workers);
	for (size_t i = 0; i < workers; i++)
		(void)baton__idle_enter(&set.idle, i, false, false);
	cr_assert_eq(baton__idle_asleep(&set.idle), workers);
	for (size_t i = workers; i-- > 0;) {
		cr_assert(baton__idle_notify(&set.idle));
		cr_assert(is_woken(&set, i));
		(void)baton__idle_stop_searching(&set.idle);
	}
	cr_assert_eq(baton__idle_asleep(&set.idle), 0);
	cr_assert_not(baton__idle_notify(&set.idle));
	free(set.sleepers);
}

/* Sleepers that run a number of rounds each; whoever is woken is counted as searching. */
enum { SLEEPERS = 80, TOKENS = 20000 };

struct dormitory {
	struct set set;
	atomic_int next;
	atomic_int tokens; /* what there is to do: published before notify */
	atomic_int done;
	atomic_int ending;
};

static void *sleeper_main(void *arg)
{
	struct dormitory *dormitory = arg;
	struct baton__idle *idle = &dormitory->set.idle;
	size_t self = (size_t)atomic_fetch_add(&dormitory->next, 1);
	bool searching = false;

	while (!atomic_load(&dormitory->ending)) {
		int tokens = atomic_load(&dormitory->tokens);

		if (tokens > 0) {
			if (!atomic_compare_exchange_strong(&dormitory->tokens, &tokens,
			                                    tokens - 1))
				continue;
			if (searching && baton__idle_stop_searching(idle) &&
			    atomic_load(&dormitory->tokens) > 0)
				(void)baton__idle_notify(idle);
			searching = false;
			atomic_fetch_add(&dormitory->done, 1);
			continue;
		}
		if (baton__idle_enter(idle, self, searching, false) == BATON__IDLE_LOOK &&
		    atomic_load(&dormitory->tokens) > 0)
			(void)baton__idle_notify(idle);
		if (atomic_load(&dormitory->ending))
			break;
		(void)baton__idle_wait(idle, self, BATON_FOREVER);
		searching = true;
	}
	return NULL;
}

Test(idle, loses_no_wake_up_of_more_than_64_sleepers, .timeout = 60)
{
	static struct dormitory dormitory;
	pthread_t threads[SLEEPERS];
	int tokens = scaled(TOKENS);

	set_init(&dormitory.set, SLEEPERS);
	for (int i = 0; i < SLEEPERS; i++)
		threads[i] = thread_start(sleeper_main, &dormitory);
	for (int i = 0; i < tokens; i++) {
		atomic_fetch_add(&dormitory.tokens, 1);
		(void)baton__idle_notify(&dormitory.set.idle);
		if (i % 16 == 0) /* let them fall asleep: were one not woken, this would not end */
			until_at_least(&dormitory.done, i + 1);
	}
	until_at_least(&dormitory.done, tokens);
	atomic_store(&dormitory.ending, 1);
	baton__idle_wake_all(&dormitory.set.idle);
	for (int i = 0; i < SLEEPERS; i++)
		thread_join(threads[i]);
	cr_assert_eq(atomic_load(&dormitory.done), tokens);
	free(dormitory.set.sleepers);
}
