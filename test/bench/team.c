/* SPDX-License-Identifier: MIT */
/* Teams: pinned threads that begin and stop together, and are counted within a window. */
#include "team.h"

#include "machine.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
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

void team_wait(unsigned *turns)
{
	if (*turns >= PAUSES + YIELDS) {
		machine_sleep_ns(NAP_NS);
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

/* One end of the window: when, each member's operations, and what the process has used up. */
struct mark {
	uint64_t at_ns;
	struct rusage usage;
	uint64_t *done;
};

static void note(struct thread *threads, unsigned count, struct mark *mark)
{
	for (unsigned i = 0; i < count; i++)
		mark->done[i] = __atomic_load_n(&threads[i].member.done, __ATOMIC_RELAXED);
	(void)getrusage(RUSAGE_SELF, &mark->usage);
	mark->at_ns = machine_now_ns();
}

static double cpu_ns(const struct rusage *usage)
{
	return (double)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) * 1e9 +
	       (double)(usage->ru_utime.tv_usec + usage->ru_stime.tv_usec) * 1e3;
}

static double switches(const struct rusage *usage)
{
	return (double)(usage->ru_nvcsw + usage->ru_nivcsw);
}

static void summarise(struct team_result *result, const struct mark *before,
                      const struct mark *after, unsigned count)
{
	uint64_t total = 0;
	uint64_t least = UINT64_MAX;
	uint64_t most = 0;

	for (unsigned i = 0; i < count; i++) {
		uint64_t done = after->done[i] - before->done[i];

		total += done;
		least = done < least ? done : least;
		most = done > most ? done : most;
	}
	result->per_second = (double)total * 1e9 / (double)(after->at_ns - before->at_ns);
	result->fairness = most ? (double)least / (double)most : 0;
	result->cpu_ns = (cpu_ns(&after->usage) - cpu_ns(&before->usage)) / (double)total;
	result->switches = (switches(&after->usage) - switches(&before->usage)) / (double)total;
}

static void gather(struct team_result *result, struct thread *threads, unsigned count)
{
	struct histogram *all = &threads[0].latency;
	double per_ns = machine_ticks_per_ns();

	for (unsigned i = 1; i < count; i++)
		histogram_merge(all, &threads[i].latency);
	result->p50_ns = (double)histogram_quantile(all, 0.50) / per_ns;
	result->p99_ns = (double)histogram_quantile(all, 0.99) / per_ns;
	result->p999_ns = (double)histogram_quantile(all, 0.999) / per_ns;
	result->max_ns = (double)all->most / per_ns;
}

static void start_all(struct thread *threads, unsigned count, const struct thread *like,
                      bool latency)
{
	for (unsigned i = 0; i < count; i++) {
		threads[i] = *like;
		threads[i].member.index = i;
		threads[i].member.latency = latency ? &threads[i].latency : NULL;
		must(pthread_create(&threads[i].id, NULL, thread_main, &threads[i]), "thread");
	}
}

struct team_result team_run(unsigned count, team_body body, void *context, unsigned window_ms,
                            bool latency)
{
	struct thread *threads = aligned_alloc(64, count * sizeof(*threads));
	uint64_t *done = calloc(2 * (size_t)count, sizeof(*done));
	struct mark before = {.done = done};
	struct mark after = {.done = done + count};
	struct team_result result = {0};
	pthread_barrier_t start;
	bool stop = false;
	bool measuring = false;
	struct thread like = {
		.member = {.stop = &stop, .measuring = &measuring, .context = context},
		.body = body,
		.start = &start,
	};

	must(!threads || !done, "no memory");
	must(pthread_barrier_init(&start, NULL, count + 1), "barrier");
	start_all(threads, count, &like, latency);
	(void)pthread_barrier_wait(&start);
	machine_sleep_ns(window_ms * UINT64_C(1000000) / 8);
	__atomic_store_n(&measuring, true, __ATOMIC_RELAXED);
	note(threads, count, &before);
	machine_sleep_ns(window_ms * UINT64_C(1000000));
	note(threads, count, &after);
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	for (unsigned i = 0; i < count; i++) {
		(void)pthread_join(threads[i].id, NULL);
		result.done += __atomic_load_n(&threads[i].member.done, __ATOMIC_RELAXED);
	}
	summarise(&result, &before, &after, count);
	if (latency)
		gather(&result, threads, count);
	(void)pthread_barrier_destroy(&start);
	free(done);
	free(threads);
	return result;
}

static void *sleep_for_ever(void *argument)
{
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
