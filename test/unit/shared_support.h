/* SPDX-License-Identifier: MIT */
/* What the tests of shared holds share: a thread that holds until it is let go. */
#ifndef BATON_TEST_UNIT_SHARED_SUPPORT_H
#define BATON_TEST_UNIT_SHARED_SUPPORT_H

#include "reader_support.h"

/* A thread that has a shared hold, and says so. */
struct sharer {
	uint64_t deadline_ns; /* 0: none */
	atomic_int tid;
	sem_t held;
	sem_t leave;
	int status;
	int released;
	uint32_t beside; /* readers at work, itself included */
	int seen;
	pthread_t thread;
};

static inline void *sharer_main(void *arg)
{
	struct sharer *sharer = arg;
	struct baton_shared_hold hold = BATON_SHARED_HOLD_INIT;

	atomic_store(&sharer->tid, thread_id());
	sharer->status =
		sharer->deadline_ns
			? baton_hold_shared_until(&readers, &hold, sharer->deadline_ns)
			: baton_hold_shared(&readers, &hold);
	MUST(baton_reading(&fix.resource) == !sharer->status);
	MUST(!baton_held(&fix.resource));
	sharer->beside = baton_readers_at_work(&readers);
	sharer->seen = seen;
	gate_open(&sharer->held);
	gate_pass(&sharer->leave);
	sharer->released = sharer->status ? 0 : baton_release_shared(&hold);
	MUST(!baton_reading(&fix.resource));
	return NULL;
}

static inline void sharer_start(struct sharer *sharer)
{
	memset(sharer, 0, sizeof(*sharer));
	gate_init(&sharer->held);
	gate_init(&sharer->leave);
	sharer->thread = thread_start(sharer_main, sharer);
}

/* Returns when the thread has its hold. */
static inline void share(struct sharer *sharer)
{
	sharer_start(sharer);
	gate_pass(&sharer->held);
	cr_assert_eq(sharer->status, 0);
}

/* Returns when the thread waits in its turn, asleep. */
static inline void share_in_turn(struct sharer *sharer)
{
	const uintptr_t before = __atomic_load_n(&fix.resource._word, __ATOMIC_RELAXED) >> 3;

	sharer_start(sharer);
	until_at_least(&sharer->tid, 1);
	while (__atomic_load_n(&fix.resource._word, __ATOMIC_RELAXED) >> 3 == before)
		sched_yield();
	until_asleep(sharer->tid);
}

static inline void sharer_end(struct sharer *sharer)
{
	gate_open(&sharer->leave);
	thread_join(sharer->thread);
	cr_assert_eq(sharer->released, 0);
}

#endif
