/* SPDX-License-Identifier: MIT */
/*
 * The locks that baton is compared with, behind one always-inlined call: what a user would write,
 * with the body inside the critical section, in the same function.
 */
#ifndef BATON_BENCH_LOCKS_H
#define BATON_BENCH_LOCKS_H

#include <pthread.h>
#include <stdint.h>

#include <ck_spinlock.h>

#include "team.h"

enum lock_kind {
	LOCK_MUTEX,
	LOCK_TICKET,
	LOCK_MCS,
};

struct lock {
	union {
		pthread_mutex_t mutex;
		ck_spinlock_ticket_t ticket;
		ck_spinlock_mcs_t mcs;
	};
};

static inline void lock_init(struct lock *lock, enum lock_kind kind)
{
	if (kind == LOCK_MUTEX)
		(void)pthread_mutex_init(&lock->mutex, NULL);
	else if (kind == LOCK_TICKET)
		ck_spinlock_ticket_init(&lock->ticket);
	else
		ck_spinlock_mcs_init(&lock->mcs);
}

static inline __attribute__((always_inline)) void lock_acquire(struct lock *lock,
                                                               enum lock_kind kind,
                                                               struct ck_spinlock_mcs *node)
{
	if (kind == LOCK_MUTEX)
		(void)pthread_mutex_lock(&lock->mutex);
	else if (kind == LOCK_TICKET)
		ck_spinlock_ticket_lock(&lock->ticket);
	else
		ck_spinlock_mcs_lock(&lock->mcs, node);
}

static inline __attribute__((always_inline)) void lock_release(struct lock *lock,
                                                               enum lock_kind kind,
                                                               struct ck_spinlock_mcs *node)
{
	if (kind == LOCK_MUTEX)
		(void)pthread_mutex_unlock(&lock->mutex);
	else if (kind == LOCK_TICKET)
		ck_spinlock_ticket_unlock(&lock->ticket);
	else
		ck_spinlock_mcs_unlock(&lock->mcs, node);
}

/*
 * The least that a capture and a release by compare-and-swap cost: a spinlock of two CASes. No
 * contender, but a floor for a queue on one word, unless a thread runs others' tasks, too.
 */
static inline __attribute__((always_inline)) void two_cases_acquire(uintptr_t *word)
{
	uintptr_t idle = 0;
	unsigned turns = 0;

	while (!__atomic_compare_exchange_n(word, &idle, 1, 0, __ATOMIC_ACQUIRE,
	                                    __ATOMIC_RELAXED)) {
		idle = 0;
		team_wait(&turns);
	}
}

static inline __attribute__((always_inline)) void two_cases_release(uintptr_t *word)
{
	uintptr_t held = 1;

	(void)__atomic_compare_exchange_n(word, &held, 0, 0, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}

#endif
