/* SPDX-License-Identifier: MIT */
/* Threads that hold a resource from which others stand back. */
#ifndef BATON_TEST_UNIT_CORE_HOLDERS_H
#define BATON_TEST_UNIT_CORE_HOLDERS_H

#include "fixture.h"

#include "thread/thread.h"
#include "wait/cpus.h"

#include <sched.h>

static inline void *release_soon(void *argument)
{
	struct occupant *occupant = argument;

	release(occupant);
	return NULL;
}

/* Holds the resource until released, on a thread of its own. */
static inline void hold(struct occupant *occupant, struct baton_resource *resource)
{
	occupant_init(occupant, resource);
	occupant->thread = thread_start(occupant_main, occupant);
	gate_pass(&occupant->entered);
}

static inline struct baton__thread *attached(void)
{
	cr_assert_eq(baton__thread_attach(), 0);
	cr_assert_eq(baton__self->learnt.stand_back_skip, 0);
	return baton__self;
}

/* Holds fix.resource, and looks all the time whether it may leave: it leaves at once. */
struct sprinter {
	uint32_t entered;
	uint32_t may_leave;
	pthread_t thread;
};

static inline void *sprinter_run(void *argument)
{
	struct sprinter *sprinter = argument;

	__atomic_store_n(&sprinter->entered, 1, __ATOMIC_RELEASE);
	/* Ends: sprinter_may_leave. The thread that calls it may need this CPU. */
	for (unsigned turns = 1; !__atomic_load_n(&sprinter->may_leave, __ATOMIC_ACQUIRE); turns++)
		if (turns % 4096 == 0)
			(void)sched_yield();
	return NULL;
}

static inline void *sprinter_main(void *argument)
{
	cr_assert_eq(baton_call(&fix.resource, sprinter_run, argument, NULL), 0);
	return NULL;
}

/* Skips the test where there is one CPU: the two threads never run at the same time. */
static inline void sprinter_start(struct sprinter *sprinter)
{
	if (baton__cpus_known() < 2)
		cr_skip_test("needs two CPUs");
	*sprinter = (struct sprinter){0};
	sprinter->thread = thread_start(sprinter_main, sprinter);
	while (!__atomic_load_n(&sprinter->entered, __ATOMIC_ACQUIRE))
		(void)sched_yield();
}

static inline void sprinter_may_leave(struct sprinter *sprinter)
{
	__atomic_store_n(&sprinter->may_leave, 1, __ATOMIC_RELEASE);
}

/* Long after a call has stood back in vain. */
static inline void *release_late(void *argument)
{
	struct timespec nap = {0, 20000000};

	(void)nanosleep(&nap, NULL);
	return release_soon(argument);
}

static inline void *nothing(void *unused)
{
	return unused;
}

#endif
