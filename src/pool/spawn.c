/* SPDX-License-Identifier: MIT */
/*
 * Starts the pool's threads, with stack size, affinity and name, and joins them.
 */
#include "pool/spawn.h"

#include "base/atomic.h"
#include "base/futex.h"
#include "base/refused.h"
#include "thread/thread.h"
#include "pool/start.h"
#include "pool/crew.h"
#include "pool/pool.h"
#include "pool/worker.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

/* A worker's frames need some KiB. glibc refuses less than this on x86; musl would accept less. */
#define STACK_MIN ((size_t)16 * 1024)

static int set_stack_size(pthread_attr_t *attributes, size_t size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	if (!size)
		return 0;
	if (size > SIZE_MAX - page)
		return baton__refused("baton_pool_create: stack_size is too large");
	size = (size + page - 1) / page * page;
	if (size < STACK_MIN)
		return baton__refused("baton_pool_create: stack_size is too small");
	return -pthread_attr_setstacksize(attributes, size);
}

/* Called by the thread that is pinned: musl has no affinity in pthread_attr_t. */
static int set_cpu(int cpu)
{
	cpu_set_t *set = CPU_ALLOC((size_t)cpu + 1);
	size_t size = CPU_ALLOC_SIZE((size_t)cpu + 1);
	int error;

	if (!set)
		return -ENOMEM;
	CPU_ZERO_S(size, set);
	CPU_SET_S((size_t)cpu, size, set);
	error = -pthread_setaffinity_np(pthread_self(), size, set);
	CPU_FREE(set);
	return error;
}

int baton__pin(const struct baton__worker *worker)
{
	const struct baton_pool *pool = worker->pool;

	return pool->cpus ? set_cpu(pool->cpus[worker->index % pool->cpu_count]) : 0;
}

/* A spare, and a worker without a CPU of its own, runs where the process may run. */
static int set_affinity(const struct baton__mate *mate)
{
	if (mate->first && mate->pool->cpus)
		return baton__pin(mate->first);
	baton__unpin();
	return 0;
}

static void set_thread_name(const struct baton__mate *mate)
{
	char name[BATON__POOL_NAME_MAX + sizeof("-4294967295")];

	(void)snprintf(name, sizeof(name), "%s-%u", mate->pool->name, mate->index);
	(void)pthread_setname_np(pthread_self(), name); /* a thread without a name works as well */
}

/* Prepares the thread, and tells the creator how it has started; no thread waits for a spare. */
static int prepare_mate(struct baton__mate *mate)
{
	struct baton_pool *pool = mate->pool;
	int error = set_affinity(mate);

	if (!error)
		error = baton__thread_attach();
	if (!error)
		/* Relaxed: nudge_for reads `member` of a thread that sleeps, long after this
		 * store. */
		store_relaxed(&baton__self->member, &pool->executor);
	if (!mate->first) {
		if (error)
			baton__crew_missing(pool);
		else
			baton__crew_add(&pool->crew_counts.started);
		return error;
	}
	if (error)
		store_relaxed(&pool->start_error, error); /* published by `starting` */
	/* [pool.started] release: start_error; pairs with [pool.started] in await_zero, pool.c.
	 * Release is enough: as in leave_pool. */
	if (sub_acq_rel(&pool->starting, 1) == 1)
		baton__futex_wake(&pool->starting, INT_MAX);
	return error;
}

/* Last touch of the pool. [pool.ended] release: all that this thread did; pairs with [pool.ended]
 * in await_zero, pool.c. */
static void leave_pool(uint32_t *live)
{
	/* Release is enough: the waiter acquires from all threads, whose subtractions are one
	 * release sequence. */
	if (sub_acq_rel(live, 1) == 1)
		baton__futex_wake(live, INT_MAX);
}

static void *mate_main(void *argument)
{
	struct baton__mate *mate = argument;
	uint32_t *live = &mate->pool->live;

	baton__signals_open();
	/* Published by `live`, [pool.ended], or by `retired`, [crew.holder]. */
	mate->thread = pthread_self();
	set_thread_name(mate);
	if (!prepare_mate(mate))
		baton__crew_serve(mate);
	baton__thread_detach();
	leave_pool(live);
	return NULL;
}

/* Takes a mate that no thread has; NULL: there is none. */
static struct baton__mate *claim_mate(struct baton_pool *pool)
{
	for (size_t i = 0; i < pool->mate_count; i++) {
		struct baton__mate *mate = &pool->mates[i];
		uint32_t used = load_relaxed(&mate->used);

		/* [crew.mate] acquire: the mate's last thread is gone; pairs with [crew.mate] in
		 * baton__join_mate. Relaxed is seldom noticed: the claimant has mostly read
		 * `threads` or `staff` after the one that left the place. */
		if (used || !cas_acquire(&mate->used, &used, 1))
			continue;
		mate->pool = pool;
		mate->index = (uint32_t)i;
		mate->first = NULL;
		mate->left = NULL;
		mate->blocked = 0;
		return mate;
	}
	return NULL;
}

/* Starts the mate's thread; on an error the mate is free again. */
static int start_mate(struct baton__mate *mate, pthread_attr_t *attributes)
{
	struct baton_pool *pool = mate->pool;
	pthread_t thread;
	int error;

	(void)add_relaxed(&pool->live, 1); /* pthread_create publishes the count */
	error = -pthread_create(&thread, attributes, mate_main, mate);
	if (error) {
		/* [crew.mate] release: as in baton__join_mate. Relaxed is seldom noticed: as in
		 * claim_mate. */
		store_release(&mate->used, 0);
		leave_pool(&pool->live);
	}
	return error;
}

int baton__spawn(struct baton_pool *pool)
{
	pthread_attr_t attributes;
	sigset_t before;
	int error = -pthread_attr_init(&attributes);

	if (error)
		return error;
	error = set_stack_size(&attributes, pool->stack_size);
	baton__signals_block(&before);
	for (size_t i = 0; i < pool->worker_count && !error; i++) {
		struct baton__mate *mate = claim_mate(pool);

		BATON_ASSERT(mate);
		mate->first = &pool->workers[i];
		store_relaxed(&mate->first->holder, mate->index + 1); /* no other thread yet */
		error = start_mate(mate, &attributes);
		if (!error)
			(void)add_relaxed(&pool->threads, 1);
	}
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	(void)pthread_attr_destroy(&attributes);
	return error;
}

int baton__spawn_spare(struct baton_pool *pool)
{
	struct baton__mate *mate = claim_mate(pool);
	pthread_attr_t attributes;
	sigset_t before;
	int error;

	if (!mate)
		return -EAGAIN; /* threads that have retired are not joined yet */
	error = -pthread_attr_init(&attributes);
	if (error) {
		/* Relaxed is seldom noticed: as in claim_mate. */
		store_release(&mate->used, 0); /* [crew.mate] release: as in baton__join_mate */
		return error;
	}
	error = set_stack_size(&attributes, pool->stack_size); /* valid, as in baton__spawn */
	baton__signals_block(&before);
	error = start_mate(mate, &attributes);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	(void)pthread_attr_destroy(&attributes);
	return error;
}

void baton__join_mate(struct baton__mate *mate)
{
	(void)pthread_join(mate->thread, NULL);
	/* [crew.mate] release: the thread is gone; pairs with [crew.mate] in claim_mate. Relaxed is
	 * seldom noticed: as in claim_mate. */
	store_release(&mate->used, 0);
}

void baton__join(struct baton_pool *pool)
{
	for (size_t i = 0; i < pool->mate_count; i++)
		/* Relaxed: the caller has waited for `live`. */
		if (load_relaxed(&pool->mates[i].used))
			baton__join_mate(&pool->mates[i]);
}
