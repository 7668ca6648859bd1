/* SPDX-License-Identifier: MIT */
/* Waiting for futures: deadlines, several futures, several waiters, signals; no wake is lost. */
#include "fixture.h"

#include <signal.h>

enum { WAITERS = 16 };

Test(wait, it_times_out_and_the_future_completes_later, .timeout = 10)
{
	struct baton_future future = BATON_FUTURE_INIT;
	uint64_t deadline = deadline_in_ms(20);

	step_init(&fix.steps[0], &fix.journal, 1, &future);
	occupy(&fix.occupant, &fix.resource);
	cr_assert_eq(baton_submit(&fix.resource, &fix.steps[0].task), 0);
	cr_assert_eq(baton_future_wait_until(&future, deadline), -ETIMEDOUT);
	cr_assert_geq(now_ns(), deadline);
	cr_assert_eq(baton_future_state(&future), BATON_PENDING);
	release(&fix.occupant);
	cr_assert_eq(baton_future_wait(&future), 0);
	cr_assert_eq(baton_future_state(&future), BATON_DONE);
	cr_assert_eq(fix.journal.count, 1);
	fixture_end();
}

Test(wait, a_deadline_in_the_past_times_out_at_once, .timeout = 10)
{
	struct baton_future promise = BATON_PROMISE_INIT;
	const uint64_t deadline = 1;

	cr_assert_eq(baton_future_wait_until(&promise, deadline), -ETIMEDOUT);
	cr_assert_eq(baton_future_complete(&promise, 0, NULL), 0);
	cr_assert_eq(baton_future_wait_until(&promise, deadline), 0, "complete is complete");
}

struct waiter {
	struct baton_future *future;
	uint64_t deadline;
	atomic_int tid;
	int result;
	enum baton_future_state state;
	uint64_t seen;
	const uint64_t *plain;
};

static void *waiter_main(void *arg)
{
	struct waiter *waiter = arg;

	atomic_store(&waiter->tid, thread_id());
	waiter->result = baton_future_wait_until(waiter->future, waiter->deadline);
	waiter->state = baton_future_state(waiter->future);
	if (waiter->result == 0 && waiter->plain)
		waiter->seen = *waiter->plain;
	return NULL;
}

static pthread_t waiter_start(struct waiter *waiter, struct baton_future *future,
                              const uint64_t *plain)
{
	memset(waiter, 0, sizeof(*waiter));
	waiter->future = future;
	waiter->deadline = BATON_FOREVER;
	waiter->plain = plain;
	waiter->result = 1;
	return thread_start(waiter_main, waiter);
}

static void waiter_until_asleep(struct waiter *waiter)
{
	until_at_least(&waiter->tid, 1);
	until_asleep(atomic_load(&waiter->tid));
}

Test(wait, all_sleepers_of_one_future_are_woken_and_see_the_work, .timeout = 10)
{
	struct baton_future promise = BATON_PROMISE_INIT;
	struct waiter waiters[WAITERS];
	pthread_t threads[WAITERS];
	uint64_t plain = 0;

	for (int i = 0; i < WAITERS; i++)
		threads[i] = waiter_start(&waiters[i], &promise, &plain);
	for (int i = 0; i < WAITERS; i++)
		waiter_until_asleep(&waiters[i]);
	plain = 99;
	cr_assert_eq(baton_future_complete(&promise, 0, NULL), 0);
	for (int i = 0; i < WAITERS; i++) {
		thread_join(threads[i]);
		cr_assert_eq(waiters[i].result, 0);
		cr_assert_eq(waiters[i].state, BATON_DONE);
		cr_assert_eq(waiters[i].seen, 99);
	}
}

Test(wait, waiters_that_arrive_while_it_completes_are_not_lost, .timeout = 20)
{
	for (int round = 0; round < scaled(500); round++) {
		struct baton_future promise = BATON_PROMISE_INIT;
		struct waiter waiters[3];
		pthread_t threads[3];
		uint64_t plain = 0;

		for (int i = 0; i < 3; i++)
			threads[i] = waiter_start(&waiters[i], &promise, &plain);
		until_at_least(&waiters[round % 3].tid, 1);
		for (int i = 0; i < round % 50; i++)
			sched_yield();
		plain = 1;
		cr_assert_eq(baton_future_complete(&promise, 0, NULL), 0);
		for (int i = 0; i < 3; i++) {
			thread_join(threads[i]);
			cr_assert_eq(waiters[i].seen, 1);
		}
	}
}

Test(wait, a_sleeper_is_woken_before_the_runner_enters_the_next_task, .timeout = 10)
{
	struct baton_future future = BATON_FUTURE_INIT;
	struct occupant first, second;
	struct waiter waiter;
	pthread_t thread;

	step_init(&fix.steps[0], &fix.journal, 1, &future);
	occupant_init(&second, &fix.resource);
	occupy(&first, &fix.resource);
	cr_assert_eq(baton_submit(&fix.resource, &fix.steps[0].task), 0);
	cr_assert_eq(baton_submit(&fix.resource, &second.task), 0);
	thread = waiter_start(&waiter, &future, NULL);
	waiter_until_asleep(&waiter);
	gate_open(&first.leave);
	gate_pass(&second.entered);
	thread_join(thread); /* while the runner is stuck in the second task */
	gate_open(&second.leave);
	thread_join(first.thread);
	cr_assert_eq(waiter.result, 0);
	fixture_end();
}

Test(wait, a_cancelled_promise_wakes_its_sleeper, .timeout = 10)
{
	struct baton_future promise = BATON_PROMISE_INIT;
	struct waiter waiter;
	pthread_t thread = waiter_start(&waiter, &promise, NULL);

	waiter_until_asleep(&waiter);
	cr_assert_eq(baton_future_cancel(&promise), 0);
	thread_join(thread);
	cr_assert_eq(waiter.result, 0);
	cr_assert_eq(waiter.state, BATON_CANCELLED);
}

/* Signals. */
static atomic_int signals;

static void count_signal(int number)
{
	atomic_fetch_add(&signals, 1);
}

static void interrupted_wait(int flags, bool with_deadline)
{
	struct sigaction action = {.sa_handler = count_signal, .sa_flags = flags};
	struct baton_future promise = BATON_PROMISE_INIT;
	uint64_t deadline = deadline_in_ms(60000);
	struct waiter waiter = {.future = &promise, .deadline = BATON_FOREVER, .result = 1};
	pthread_t thread;

	if (with_deadline)
		waiter.deadline = deadline;
	cr_assert_eq(sigaction(SIGUSR1, &action, NULL), 0);
	thread = thread_start(waiter_main, &waiter);
	until_at_least(&waiter.tid, 1);
	for (int i = 0; i < 20; i++) {
		until_asleep(atomic_load(&waiter.tid));
		cr_assert_eq(pthread_kill(thread, SIGUSR1), 0);
		if (!BATON_TEST_TSAN) /* which keeps the handler for the next call it intercepts */
			until_at_least(&signals, i + 1);
	}
	until_asleep(atomic_load(&waiter.tid));
	cr_assert_eq(baton_future_complete(&promise, 0, NULL), 0);
	thread_join(thread);
	cr_assert_eq(waiter.result, 0);
	cr_assert_eq(waiter.state, BATON_DONE);
}

Test(wait, signals_do_not_end_it, .timeout = 10)
{
	interrupted_wait(0, false);
}

Test(wait, signals_with_sa_restart_do_not_end_it, .timeout = 10)
{
	interrupted_wait(SA_RESTART, false);
}

Test(wait, signals_do_not_end_one_with_a_deadline, .timeout = 10)
{
	interrupted_wait(0, true);
}

/* Several futures. */
static void promises_init(struct baton_future *promises, struct baton_future **futures,
                          size_t count)
{
	for (size_t i = 0; i < count; i++) {
		baton_promise_init(&promises[i]);
		futures[i] = &promises[i];
	}
}

Test(wait, any_says_which_is_complete, .timeout = 10)
{
	struct baton_future promises[3];
	struct baton_future *futures[3];
	size_t index = 7;

	promises_init(promises, futures, 3);
	cr_assert_eq(baton_future_complete(&promises[2], 0, NULL), 0);
	cr_assert_eq(baton_future_wait_any(futures, 3, &index), 0);
	cr_assert_eq(index, 2);
	cr_assert_eq(baton_future_complete(&promises[1], -EIO, NULL), 0);
	cr_assert_eq(baton_future_wait_any(futures, 3, &index), 0);
	cr_assert_eq(index, 1, "the first such");
}

Test(wait, any_has_limits_and_a_deadline, .timeout = 10)
{
	struct baton_future promises[BATON_WAIT_ANY_MAX + 1];
	struct baton_future *futures[BATON_WAIT_ANY_MAX + 1];
	uint64_t deadline = deadline_in_ms(10);
	size_t index = 7;

	promises_init(promises, futures, BATON_WAIT_ANY_MAX + 1);
	cr_assert_eq(baton_future_wait_any_until(futures, 0, deadline, &index), -EINVAL);
	cr_assert_eq(baton_future_wait_any_until(futures, BATON_WAIT_ANY_MAX + 1, deadline, &index),
	             -EINVAL);
	cr_assert_eq(baton_future_wait_any_until(futures, BATON_WAIT_ANY_MAX, deadline, &index),
	             -ETIMEDOUT);
	cr_assert_eq(index, 7);
}

struct group {
	struct baton_future **futures;
	size_t count;
	bool any;
	atomic_int tid;
	size_t index;
	int result;
};

static void *group_main(void *arg)
{
	struct group *group = arg;

	atomic_store(&group->tid, thread_id());
	group->result = group->any
	                        ? baton_future_wait_any(group->futures, group->count, &group->index)
	                        : baton_future_wait_all(group->futures, group->count);
	return NULL;
}

Test(wait, any_is_woken_by_the_last_of_the_most_it_takes, .timeout = 10)
{
	struct baton_future promises[BATON_WAIT_ANY_MAX];
	struct baton_future *futures[BATON_WAIT_ANY_MAX];
	struct group group = {futures, BATON_WAIT_ANY_MAX, true, 0, 0, 1};
	pthread_t thread;

	promises_init(promises, futures, BATON_WAIT_ANY_MAX);
	thread = thread_start(group_main, &group);
	until_at_least(&group.tid, 1);
	until_asleep(atomic_load(&group.tid));
	cr_assert_eq(baton_future_complete(&promises[BATON_WAIT_ANY_MAX - 1], 0, NULL), 0);
	thread_join(thread);
	cr_assert_eq(group.result, 0);
	cr_assert_eq(group.index, BATON_WAIT_ANY_MAX - 1);
}

Test(wait, all_waits_for_the_last, .timeout = 10)
{
	struct baton_future promises[300];
	struct baton_future *futures[300];
	struct group group = {futures, 300, false, 0, 0, 1};
	uint64_t deadline = deadline_in_ms(10);
	pthread_t thread;

	promises_init(promises, futures, 300);
	for (int i = 1; i < 300; i++)
		cr_assert_eq(baton_future_complete(&promises[i], i % 2, NULL), 0);
	cr_assert_eq(baton_future_wait_all_until(futures, 300, deadline), -ETIMEDOUT);
	cr_assert_eq(baton_future_wait_all(futures, 0), 0);
	cr_assert_eq(baton_future_wait_all_until(NULL, 0, deadline), 0);
	thread = thread_start(group_main, &group);
	until_at_least(&group.tid, 1);
	until_asleep(atomic_load(&group.tid));
	cr_assert_eq(baton_future_complete(&promises[0], 0, NULL), 0);
	thread_join(thread);
	cr_assert_eq(group.result, 0);
	cr_assert_eq(baton_future_wait_all_until(futures, 300, deadline), 0);
}
