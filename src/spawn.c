/* SPDX-License-Identifier: MIT */
/*
 * Layer 6: the pool's threads: stack size, affinity, name, start, end.
 */
#include "spawn.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include "atomic.h"
#include "futex.h"
#include "pool.h"
#include "thread.h"
#include "worker.h"

static int set_stack_size(pthread_attr_t *attributes, size_t size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	if (!size)
		return 0;
	if (size > SIZE_MAX - page)
		return -EINVAL;
	return -pthread_attr_setstacksize(attributes, (size + page - 1) / page * page);
}

static int set_cpu(pthread_attr_t *attributes, int cpu)
{
	cpu_set_t *set = CPU_ALLOC((size_t)cpu + 1);
	size_t size = CPU_ALLOC_SIZE((size_t)cpu + 1);
	int error;

	if (!set)
		return -ENOMEM;
	CPU_ZERO_S(size, set);
	CPU_SET_S((size_t)cpu, size, set);
	error = -pthread_attr_setaffinity_np(attributes, size, set);
	CPU_FREE(set);
	return error;
}

/* The creator may be pinned; its workers are not, unless the options say so. */
static void set_process_cpus(pthread_attr_t *attributes)
{
	cpu_set_t set;

	/* Fails beyond 1,024 CPUs: then they inherit the creator's. */
	if (!sched_getaffinity(getpid(), sizeof(set), &set))
		(void)pthread_attr_setaffinity_np(attributes, sizeof(set), &set);
}

static void set_thread_name(const struct baton__worker *worker)
{
	char name[BATON__POOL_NAME_MAX + sizeof("-4294967295")];

	(void)snprintf(name, sizeof(name), "%s-%u", worker->pool->name, worker->index);
	(void)pthread_setname_np(pthread_self(), name); /* without a name it works as well */
}

/* Tells the creator how the thread has started. */
static int start(struct baton_pool *pool)
{
	int error = baton__thread_attach();

	if (error)
		store_relaxed(&pool->start_error, error); /* published by `starting` */
	else
		/* Relaxed: nudge_for reads it of a thread that sleeps, long after this. */
		store_relaxed(&baton__self->member, &pool->executor);
	/* [P1] release: start_error; pairs with [P1] in pool.c. */
	if (sub_acq_rel(&pool->starting, 1) == 1)
		baton__futex_wake(&pool->starting, INT_MAX);
	return error;
}

static void *worker_main(void *argument)
{
	struct baton__worker *worker = argument;
	uint32_t *live = &worker->pool->live;

	set_thread_name(worker);
	if (!start(worker->pool))
		baton__worker_loop(worker);
	baton__thread_detach();
	/* [P3] release: all that this worker did; pairs with [P3] in pool.c. Last touch. */
	if (sub_acq_rel(live, 1) == 1)
		baton__futex_wake(live, INT_MAX);
	return NULL;
}

int baton__spawn(struct baton_pool *pool, const struct baton_pool_options *options, size_t *started)
{
	pthread_attr_t attributes;
	sigset_t all;
	sigset_t before;
	int error = -pthread_attr_init(&attributes);

	*started = 0;
	if (error)
		return error;
	error = set_stack_size(&attributes, options->stack_size);
	set_process_cpus(&attributes);
	/* Signals are for the program's own threads: workers inherit this mask. */
	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	for (size_t i = 0; i < pool->worker_count && !error; i++) {
		struct baton__worker *worker = &pool->workers[i];

		if (options->cpus && options->cpu_count)
			error = set_cpu(&attributes, options->cpus[i % options->cpu_count]);
		if (!error)
			error = -pthread_create(&worker->thread, &attributes, worker_main, worker);
		if (!error)
			++*started;
	}
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	(void)pthread_attr_destroy(&attributes);
	return error;
}

void baton__join(struct baton_pool *pool, size_t count)
{
	for (size_t i = 0; i < count; i++)
		(void)pthread_join(pool->workers[i].thread, NULL);
}
