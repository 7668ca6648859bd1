/* SPDX-License-Identifier: MIT */
/*
 * W8: jobs that wait in a pool. One thread leaves them while the only worker is in another job;
 * then the worker runs them. Plain jobs; and resources, each of which has a task, and waits for the
 * pool to run it. Beside them a list under a mutex, with the same nodes.
 */
#include "w8.h"

#include "baton_pool.h"
#include "queue_pool.h"
#include "watch.h"

#include <baton.h>

#include <semaphore.h>
#include <stdlib.h>
#include <sys/mman.h>

#define LAPS_JOBS 100000U /* in all laps of a run together, at least */

/* The same size for all. */
struct node {
	union {
		struct queue_job queued;
		struct baton_plain_job plain;
		struct {
			struct baton_resource resource;
			struct baton_task task;
		};
	};
};

static struct {
	struct node *nodes;
	size_t size; /* of `nodes` */
	size_t count;
	struct node gate;
	sem_t entered;
	sem_t leave;
	sem_t all;
	size_t ran; /* the worker's */
	struct queue_pool *queue;
	struct baton_pool *pool;
	struct baton_resource_config config;
} jobs;

static void pass(sem_t *semaphore)
{
	while (sem_wait(semaphore))
		;
}

static void job_ran(void)
{
	if (++jobs.ran == jobs.count)
		(void)sem_post(&jobs.all);
}

static void gate_ran(void)
{
	(void)sem_post(&jobs.entered);
	pass(&jobs.leave);
}

static void queued_run(struct queue_job *job)
{
	job_ran();
}

static void queued_gate(struct queue_job *job)
{
	gate_ran();
}

static void plain_run(struct baton_plain_job *job)
{
	job_ran();
}

static void plain_gate(struct baton_plain_job *job)
{
	gate_ran();
}

static int task_run(struct baton_task *task)
{
	job_ran();
	return 0;
}

static void leave_queued(void)
{
	for (size_t i = 0; i < jobs.count; i++) {
		jobs.nodes[i].queued.run = queued_run;
		queue_pool_submit(jobs.queue, &jobs.nodes[i].queued);
	}
}

static void leave_plain(void)
{
	for (size_t i = 0; i < jobs.count; i++) {
		baton_plain_job_init(&jobs.nodes[i].plain, plain_run, NULL);
		if (baton_pool_submit(jobs.pool, &jobs.nodes[i].plain))
			abort();
	}
}

static void leave_resources(void)
{
	for (size_t i = 0; i < jobs.count; i++) {
		baton_resource_init(&jobs.nodes[i].resource, &jobs.config);
		baton_task_init(&jobs.nodes[i].task, task_run, NULL);
		if (baton_submit_later(&jobs.nodes[i].resource, &jobs.nodes[i].task))
			abort();
	}
}

static void close_gate(void)
{
	if (jobs.queue) {
		jobs.gate.queued.run = queued_gate;
		queue_pool_submit(jobs.queue, &jobs.gate.queued);
	} else {
		baton_plain_job_init(&jobs.gate.plain, plain_gate, NULL);
		if (baton_pool_submit(jobs.pool, &jobs.gate.plain))
			abort();
	}
	pass(&jobs.entered);
}

struct way {
	void (*leave)(void);
	bool baton;
};

static void run_way(const void *setup, double x, double *values)
{
	static struct watch both;
	static struct watch left;
	static struct watch run;
	const struct way *way = setup;
	unsigned laps = x < LAPS_JOBS ? (unsigned)(LAPS_JOBS / x) : 1;

	jobs.count = (size_t)x;
	jobs.queue = way->baton ? NULL : queue_pool_create(1, true);
	jobs.pool = way->baton ? bench_pool_create(1, true) : NULL;
	jobs.config.executor = way->baton ? baton_pool_executor(jobs.pool) : NULL;
	for (unsigned lap = 0; lap < laps; lap++) {
		uint64_t began;
		uint64_t filled;

		jobs.ran = 0;
		close_gate();
		began = machine_ticks();
		way->leave();
		filled = machine_ticks();
		(void)sem_post(&jobs.leave);
		pass(&jobs.all);
		watch_add(&left, began + (machine_ticks() - filled));
		watch_add(&run, filled);
		watch_add(&both, began);
	}
	if (way->baton)
		BATON_IGNORE(baton_pool_destroy(jobs.pool));
	else
		queue_pool_destroy(jobs.queue);
	values[0] = watch_end(&both, 1) / x;
	values[1] = watch_end(&left, 1) / x;
	values[2] = watch_end(&run, 1) / x;
}

void w8_jobs(unsigned last)
{
	static const char *const metrics[] = {"ns/job", "ns/push", "ns/run", NULL};
	static const struct way ways[] = {
		{leave_queued, false}, {leave_plain, true}, {leave_resources, true}};
	static const struct bench_series series[] = {
		{"list under a mutex", run_way, &ways[0]},
		{"baton pool, plain jobs", run_way, &ways[1]},
		{"baton pool, resources", run_way, &ways[2]},
	};
	double sizes[8];
	struct bench_sweep sweep = {
		.name = "W8: jobs that wait in a pool",
		.axis = "jobs",
		.xs = sizes,
		.x_count = w8_powers(sizes, 3, last),
		.metrics = metrics,
		.series = series,
		.series_count = 3,
		.note = "left there by one thread, run by one worker",
	};

	if (!bench_wanted(sweep.name))
		return;
	jobs.size = (size_t)sizes[sweep.x_count - 1] * sizeof(*jobs.nodes);
	jobs.nodes =
		mmap(NULL, jobs.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (jobs.nodes == MAP_FAILED) {
		printf("\n%s: left out, no memory for it\n", sweep.name);
		return;
	}
	(void)sem_init(&jobs.entered, 0, 0);
	(void)sem_init(&jobs.leave, 0, 0);
	(void)sem_init(&jobs.all, 0, 0);
	jobs.config = (struct baton_resource_config)BATON_RESOURCE_CONFIG_INIT;
	if (bench_sweep(&sweep))
		w8_exponents(&sweep, "time");
	(void)munmap(jobs.nodes, jobs.size);
}
