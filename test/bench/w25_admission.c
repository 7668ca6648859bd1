/* SPDX-License-Identifier: MIT */
/*
 * W25, second part: admission (baton/admission.h) on one thread and a virtual clock, with the load
 * of the first part. An event is a job that ends early, by its token, whose place another takes on
 * an executor that this thread drives; or an arrival behind all others. Timers of all running jobs
 * are armed meanwhile, and time passes by a millisecond for each pair.
 */
#include "harness.h"
#include "machine.h"

#include <stdlib.h>

#include <baton/admission.h>
#include <baton/all.h>

#define BACKENDS 100U
#define CLASSES 3U

struct job {
	struct baton_admitted admitted;
	struct baton_detached token;
};

static struct baton_admission hall;
static struct baton_timers *timers;
static struct baton_manual *manual;
static struct job *jobs;
static struct job **running; /* a ring: those that were started, in order */
static uint64_t started;
static uint64_t finished;
static uint64_t size;

static void must(bool condition)
{
	if (!condition)
		abort();
}

static int job_run(struct baton_task *task)
{
	struct job *job = baton_container_of(task, struct job, admitted.task);

	running[started++ % size] = job;
	return baton_detach(&job->token, 0);
}

static void on_stop(struct baton_admission *admission, struct baton_admitted *admitted, int status)
{
	abort(); /* all end early */
}

static void arrive(struct job *job)
{
	must(baton_admission_arrive(&hall, &job->admitted) == 0);
}

static void begin(uint64_t waiting)
{
	static const struct baton_timers_options options = {.source = BATON_TIMERS_VIRTUAL};
	struct baton_admission_config config = {.rules = {.limit = {BACKENDS, 50, 20}},
	                                        .stop = on_stop};

	size = waiting + BACKENDS;
	started = finished = 0;
	jobs = calloc(size, sizeof(*jobs));
	running = calloc(size, sizeof(*running));
	must(jobs && running && baton_manual_create(&manual) == 0 &&
	     baton_timers_create(&options, &timers) == 0);
	config.timers = timers;
	config.executor = baton_manual_executor(manual);
	must(baton_admission_init(&hall, &config) == 0);
	for (uint64_t i = 0; i < size; i++) {
		baton_admitted_init(&jobs[i].admitted, (uint32_t)(i % CLASSES), job_run);
		arrive(&jobs[i]);
		(void)baton_manual_run(manual, 0);
	}
}

static void end(void)
{
	must(baton_admission_close(&hall, BATON_ADMISSION_RUN) == 0);
	while (finished < started) {
		must(baton_detached_complete(&running[finished++ % size]->token, 0, NULL) == 0);
		(void)baton_manual_run(manual, 0);
	}
	must(baton_admission_await(&hall) == 0);
	baton_admission_deinit(&hall);
	must(baton_timers_destroy(timers) == 0);
	baton_manual_destroy(manual);
	free(jobs);
	free(running);
}

/* One ends, and arrives again. */
static void pair(void)
{
	struct job *job = running[finished++ % size];

	must(baton_timers_advance(timers, BATON_MILLISECOND) >= 0);
	must(baton_detached_complete(&job->token, 0, NULL) == 0);
	(void)baton_manual_run(manual, 0);
	arrive(job);
}

static void run(const void *setup, double *values)
{
	const uint64_t waiting = *(const uint64_t *)setup;
	const uint64_t pairs = bench_options.quick ? 20000 : 200000;
	double slowest = 0;
	uint64_t began;
	double ns;

	begin(waiting);
	began = machine_ticks();
	for (uint64_t i = 0; i < pairs; i++)
		pair();
	ns = (double)(machine_ticks() - began) / machine_ticks_per_ns();
	values[0] = ns / (double)(2 * pairs);
	for (uint64_t i = 0; i < pairs / 10; i++) {
		began = machine_ticks();
		pair();
		ns = (double)(machine_ticks() - began) / machine_ticks_per_ns();
		slowest = ns > slowest ? ns : slowest;
	}
	values[1] = slowest / 1e3;
	end();
}

void bench_w25_admission(void)
{
	static const char *const metrics[] = {"ns per event", "slowest pair, us", NULL};
	static const uint64_t waiting[] = {10, 1000, 10000, 100000};
	static const char *const names[] = {"10 wait", "1,000 wait", "10,000 wait", "100,000 wait"};
	struct bench_case cases[4];
	const struct bench_group group = {
		"W25: admission, 100 backends",
		metrics,
		cases,
		4,
		0,
		"two timers, a job's own resource and a token besides the rules"};

	for (size_t i = 0; i < 4; i++)
		cases[i] = (struct bench_case){names[i], run, &waiting[i]};
	bench_group(&group);
}
