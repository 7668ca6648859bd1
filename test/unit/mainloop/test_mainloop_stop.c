/* SPDX-License-Identifier: MIT */
/* Stopping a source: what a stop meets, and when the memory is the caller's (stop.h). */
#include "mainloop_support.h"

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
