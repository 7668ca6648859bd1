/* SPDX-License-Identifier: MIT */
/*
 * Teams of pinned threads.
 */
#include "team.h"

#include "machine.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <ck_pr.h>

#define PAUSES 100
#define YIELDS 200
#define NAP_NS 20000

struct thread {
	struct team_member member;
	struct histogram latency;
	pthread_t id;
	team_body body;
	pthread_barrier_t *start;
};

static cpu_set_t usable;
static int cpus[CPU_SETSIZE];
static unsigned cpu_count;

static void look_at_cpus(void)
{
	if (cpu_count)
		return;
	if (sched_getaffinity(0, sizeof(usable), &usable))
		CPU_SET(0, &usable);
	for (size_t i = 0; i < CPU_SETSIZE; i++)
		if (CPU_ISSET(i, &usable))
			cpus[cpu_count++] = (int)i;
}

unsigned team_cpus(void)
{
	look_at_cpus();
	return cpu_count;
}

int team_cpu(unsigned index)
{
	look_at_cpus();
	return cpus[index % cpu_count];
}

void team_pin(unsigned index)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET((size_t)team_cpu(index), &one);
	(void)sched_setaffinity(0, sizeof(one), &one);
}

void team_unpin(void)
{
	look_at_cpus();
	(void)sched_setaffinity(0, sizeof(usable), &usable);
}

static void nap(uint64_t ns)
{
	struct timespec span = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};

	while (nanosleep(&span, &span))
		;
}

void team_wait(unsigned *turns)
{
	if (*turns >= PAUSES + YIELDS) {
		nap(NAP_NS);
		return;
	}
	if ((*turns)++ >= PAUSES) {
		(void)sched_yield();
		return;
	}
	ck_pr_stall();
}

static void *thread_main(void *argument)
{
	struct thread *thread = argument;

	team_pin(thread->member.index);
	(void)pthread_barrier_wait(thread->start);
	thread->body(&thread->member);
	return NULL;
}

static void must(int error, const char *what)
{
	if (error) {
		fprintf(stderr, "bench: %s: error %d\n", what, error);
		exit(2);
	}
}

static void note(struct thread *threads, unsigned count, uint64_t *done)
{
	for (unsigned i = 0; i < count; i++)
		done[i] = __atomic_load_n(&threads[i].member.done, __ATOMIC_RELAXED);
}

static void summarise(struct team_result *result, const uint64_t *before, const uint64_t *after,
                      unsigned count, uint64_t ns)
{
	uint64_t total = 0;
	uint64_t least = UINT64_MAX;
	uint64_t most = 0;

	for (unsigned i = 0; i < count; i++) {
		uint64_t done = after[i] - before[i];

		total += done;
		least = done < least ? done : least;
		most = done > most ? done : most;
	}
	result->per_second = (double)total * 1e9 / (double)ns;
	result->fairness = most ? (double)least / (double)most : 0;
}

static void gather(struct team_result *result, struct thread *threads, unsigned count)
{
	struct histogram *all = &threads[0].latency;
	double per_ns = machine_ticks_per_ns();

	for (unsigned i = 1; i < count; i++)
		histogram_merge(all, &threads[i].latency);
	result->p50_ns = (double)histogram_quantile(all, 0.50) / per_ns;
	result->p99_ns = (double)histogram_quantile(all, 0.99) / per_ns;
	result->max_ns = (double)all->most / per_ns;
}

struct team_result team_run(unsigned count, team_body body, void *context, unsigned window_ms,
                            bool latency)
{
	struct thread *threads = aligned_alloc(64, count * sizeof(*threads));
	uint64_t *before = calloc(2 * (size_t)count, sizeof(*before));
	struct team_result result = {0};
	pthread_barrier_t start;
	bool stop = false;
	uint64_t from;

	must(!threads || !before, "no memory");
	must(pthread_barrier_init(&start, NULL, count + 1), "barrier");
	for (unsigned i = 0; i < count; i++) {
		threads[i] = (struct thread){.body = body, .start = &start};
		threads[i].member =
			(struct team_member){.index = i, .stop = &stop, .context = context};
		threads[i].member.latency = latency ? &threads[i].latency : NULL;
		must(pthread_create(&threads[i].id, NULL, thread_main, &threads[i]), "thread");
	}
	(void)pthread_barrier_wait(&start);
	nap(window_ms * UINT64_C(1000000) / 8);
	note(threads, count, before);
	from = machine_now_ns();
	nap(window_ms * UINT64_C(1000000));
	note(threads, count, before + count);
	summarise(&result, before, before + count, count, machine_now_ns() - from);
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	for (unsigned i = 0; i < count; i++)
		(void)pthread_join(threads[i].id, NULL);
	if (latency)
		gather(&result, threads, count);
	(void)pthread_barrier_destroy(&start);
	free(before);
	free(threads);
	return result;
}

static void *sleep_for_ever(void *argument)
{
	(void)argument;
	for (;;)
		(void)pause();
	return NULL;
}

void team_be_multithreaded(void)
{
	pthread_t id;

	must(pthread_create(&id, NULL, sleep_for_ever, NULL), "thread");
	(void)pthread_detach(id);
}
