/* SPDX-License-Identifier: MIT */
/* Stopping a source: what a stop meets, and when the memory is the caller's (stop.h). */
#include "mainloop_support.h"
#include "misuse.h"

#include <baton/bound.h>
#include <baton/call.h>
#include <baton/lane.h>
#include <baton/pool.h>

#include <sys/wait.h>
#include <unistd.h>

#define START(lettered) cr_assert_eq(baton_source_start(&(lettered).source), 0)

static struct lettered a = LETTERED(idle, a);
static struct lettered b = LETTERED(idle, b);
static unsigned owned;
static enum baton_stop met;

static void own(void *arg)
{
	MUST(arg == &owned);
	memset(&a.source, 0xA5, sizeof(a.source));
	owned++;
}

static enum baton_stop stop_then(void)
{
	return baton_source_stop_then(&a.source, own, &owned).met;
}

Test(mainloop_stop, the_owner_is_told_at_once_of_what_does_not_run, .timeout = 10)
{
	real_loop();
	cr_assert_eq(stop_then(), BATON_STOP_NOTHING);
	cr_assert_eq(owned, 1);
	baton_source_init(&a.source, &loop, &idle, "a");
	START(a);
	cr_assert_eq(stop_then(), BATON_STOP_PREVENTED);
	cr_assert_eq(owned, 2);
	cr_assert_eq(baton_mainloop_run(&loop, 10), 0);
	baton_source_init(&a.source, &loop, &idle, "a");
	START(a);
	cr_assert_eq(baton_source_stop_wait(&a.source), 0);
	cr_assert_eq(baton_mainloop_run(&loop, 10), 0);
	loop_end(0);
}

Test(mainloop_stop, its_dependencies_are_ended, .timeout = 10)
{
	real_loop();
	cr_assert_eq(baton_source_depend(&a.source, &b.source), 0);
	START(a);
	START(b);
	cr_assert_eq(stop_then(), BATON_STOP_PREVENTED);
	cr_assert_eq(owned, 1);
	cr_assert_eq(baton_mainloop_run(&loop, 10), 1);
	cr_assert_eq(b.runs, 1, "nothing holds it back any more");
	loop_end(0);
}

static int stops_itself(struct lettered *lettered)
{
	met = stop_then();
	MUST(!owned && lettered == &a);
	MUST(baton_source_stop_wait(&a.source) == -EDEADLK);
	return 0;
}

Test(mainloop_stop, its_own_function_is_told_when_it_has_returned, .timeout = 10)
{
	real_loop();
	a.act = stops_itself;
	START(a);
	cr_assert_eq(baton_mainloop_run(&loop, 10), 1);
	cr_assert_eq(met, BATON_STOP_RUNNING);
	while (!owned)
		BATON_IGNORE(baton_mainloop_run(&loop, 10));
	cr_assert_eq(owned, 1);
	loop_end(0);
}

static void *stops_elsewhere(void *arg)
{
	met = stop_then();
	return arg;
}

Test(mainloop_stop, another_thread_is_told_when_the_owner_has_come, .timeout = 10)
{
	real_loop();
	START(a);
	thread_join(thread_start(stops_elsewhere, NULL));
	cr_assert_eq(met, BATON_STOP_QUEUED);
	cr_assert_eq(owned, 0);
	cr_assert(loop_readable(0), "the host is woken");
	cr_assert_eq(baton_mainloop_run(&loop, 10), 0);
	cr_assert_eq(owned, 1);
	loop_end(0);
}

static void *nothing(void *arg)
{
	return arg;
}

static void *stops_without_room(void *arg)
{
	MUST(baton_post(baton_mainloop_resource(&loop), nothing, NULL) == 0);
	return stops_elsewhere(arg);
}

static void full_loop(enum baton_bound_policy policy)
{
	static struct baton_bound_config config = {.tasks_max = 1};
	static struct baton_bound bound;
	static struct baton_lanes lanes;
	static struct baton_lane lane;

	config.policy = policy;
	real_loop();
	baton_lanes_init(&lanes, &lane, 1, NULL);
	baton_resource_set_lanes(baton_mainloop_resource(&loop), &lanes);
	baton_bound_init(&bound, &config);
	baton_resource_set_bound(baton_mainloop_resource(&loop), &bound);
	START(a);
}

static void stop_in_a_full_loop(enum baton_bound_policy policy)
{
	full_loop(policy);
	thread_join(thread_start(stops_without_room, NULL));
}

Test(mainloop_stop, a_stop_waits_for_no_room, .timeout = 10)
{
	stop_in_a_full_loop(BATON_BOUND_WAIT);
	cr_assert_eq((int)met, -EAGAIN);
	cr_assert_eq(owned, 0);
	cr_assert_eq(baton_mainloop_run(&loop, 10), 0);
	cr_assert_eq(stop_then(), BATON_STOP_NOTHING);
	cr_assert_eq(owned, 1);
	loop_end(0);
}

static void *waits_without_room(void *arg)
{
	MUST(baton_post(baton_mainloop_resource(&loop), nothing, NULL) == 0);
	MUST(baton_source_stop_wait_until(&a.source, baton_after(BATON_MILLISECOND)) == -ETIMEDOUT);
	MUST(baton_source_stop_wait_until(&a.source, 1) == -ETIMEDOUT);
	return arg;
}

Test(mainloop_stop, a_wait_for_room_ends_at_its_deadline, .timeout = 10)
{
	full_loop(BATON_BOUND_WAIT);
	thread_join(thread_start(waits_without_room, NULL));
	cr_assert_eq(baton_mainloop_run(&loop, 10), 0);
	cr_assert_eq(stop_then(), BATON_STOP_NOTHING);
	cr_assert_eq(owned, 1);
	loop_end(0);
}

static atomic_int waited;

static void *waits_elsewhere(void *arg)
{
	MUST(baton_source_stop_wait_until(&a.source, baton_after(BATON_MILLISECOND)) == -ETIMEDOUT);
	atomic_store(&waited, 1);
	MUST(baton_source_stop_wait(&a.source) == 0);
	memset(&a.source, 0xA5, sizeof(a.source));
	atomic_store(&waited, 2);
	return arg;
}

Test(mainloop_stop, another_thread_waits_until_the_owner_has_come, .timeout = 10)
{
	pthread_t thread;

	real_loop();
	START(a);
	thread = thread_start(waits_elsewhere, NULL);
	until_at_least(&waited, 1);
	/* Ends: the thread's second wait posts a task to the loop. */
	while (atomic_load(&waited) < 2)
		cr_assert_eq(baton_mainloop_run(&loop, 10), 0);
	thread_join(thread);
	loop_end(0);
}

Test(mainloop_stop, a_closed_loop_tells_only_the_owner, .timeout = 10)
{
	real_loop();
	cr_assert_eq(baton_resource_close(baton_mainloop_resource(&loop)), 0);
	thread_join(thread_start(stops_elsewhere, NULL));
	cr_assert_eq(met, BATON_STOP_CLOSED);
	cr_assert_eq(owned, 0);
	cr_assert_eq(stop_then(), BATON_STOP_NOTHING);
	cr_assert_eq(owned, 1);
	loop_end(0);
}

static void *gives_up(void *arg)
{
	MUST(baton_source_stop_wait_until(&a.source, 0) == -ETIMEDOUT);
	return arg;
}

Test(mainloop_stop, a_wait_that_has_given_up_leaves_nothing_behind, .timeout = 10)
{
	real_loop();
	START(a);
	thread_join(thread_start(gives_up, NULL));
	cr_assert_eq(stop_then(), BATON_STOP_NOTHING);
	cr_assert_eq(owned, 1);
	cr_assert_eq(baton_mainloop_run(&loop, 10), 0);
	loop_end(0);
}

static void *posts(void *arg)
{
	MUST(baton_post(baton_mainloop_resource(&loop), nothing, NULL) == 0);
	return arg;
}

static void drops_a_stop(void)
{
	stop_in_a_full_loop(BATON_BOUND_DROP_OLDEST);
	thread_join(thread_start(posts, NULL));
}

static int stops_without_room_itself(struct lettered *lettered)
{
	MUST(baton_post(baton_mainloop_resource(&loop), nothing, NULL) == 0);
	return (int)stop_then();
}

static void drops_its_own(void)
{
	a.act = stops_without_room_itself;
	full_loop(BATON_BOUND_DROP_NEWEST);
	BATON_IGNORE(baton_mainloop_run(&loop, 1));
}

#define DROPPED                                                                                    \
	"baton_source_stop_then: a bound of the loop's resource has dropped the task that tells"

static const struct mistake drop[] = {{drops_a_stop, DROPPED}, {drops_its_own, DROPPED}};

Test(mainloop_stop, a_bound_may_not_drop_it, .timeout = 10)
{
	mistakes_are_said(drop, 2);
}

static void *stops_twice(void *arg)
{
	(void)stop_then();
	(void)stop_then();
	return arg;
}

static void stops_twice_elsewhere(void)
{
	real_loop();
	START(a);
	thread_join(thread_start(stops_twice, NULL));
}

static const struct mistake twice[] = {
	{stops_twice_elsewhere, "baton_source_stop_then: stop_then was called for this source "
	                        "already: one at a time"}};

Test(mainloop_stop, one_stop_then_at_a_time, .timeout = 10)
{
	mistakes_are_said(twice, 1);
}

Test(mainloop_stop, a_forks_child_stops_nothing, .timeout = 10)
{
	struct baton_pool *pool; /* its threads are missing in the child */
	int status;
	pid_t child;

	cr_assert_eq(baton_pool_default(&pool), 0);
	real_loop();
	START(a);
	child = fork();
	if (!child) {
		bool said = baton_source_stop(&a.source).met == BATON_STOP_CHILD &&
		            stop_then() == BATON_STOP_CHILD &&
		            baton_source_stop_wait(&a.source) == -ECHILD;

		_exit(said && !owned && baton_source_is_active(&a.source) ? 0 : 1);
	}
	cr_assert_eq(waitpid(child, &status, 0), child);
	cr_assert_eq(status, 0);
	cr_assert_eq(stop_then(), BATON_STOP_PREVENTED);
	loop_end(0);
}
