/* SPDX-License-Identifier: MIT */
/*
 * W24: waits beside other programs' load. A round is 8 short jobs for a pool with a worker per CPU,
 * and a wait until all have run: when the machine is quiet, and beside spinning processes, two for
 * each CPU, which the benchmark forks and kills again.
 */
#include "harness.h"
#include "machine.h"

#include <baton/all.h>

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define JOBS 8
#define WORK_NS 100
#define SAMPLE_MS 300
#define ROUNDS_MAX 100000
#define SPINNERS_MAX 64

static struct machine_work work;

/* ---- What a user writes with a mutex and two condition variables ---- */

static struct {
	pthread_mutex_t lock;
	pthread_cond_t queued;
	pthread_cond_t all_run;
	unsigned waiting;
	unsigned left;
	bool end;
} by_hand = {.lock = PTHREAD_MUTEX_INITIALIZER,
             .queued = PTHREAD_COND_INITIALIZER,
             .all_run = PTHREAD_COND_INITIALIZER};

static void *by_hand_worker(void *argument)
{
	(void)pthread_mutex_lock(&by_hand.lock);
	for (;;) {
		while (!by_hand.waiting && !by_hand.end)
			(void)pthread_cond_wait(&by_hand.queued, &by_hand.lock);
		if (by_hand.end)
			break;
		by_hand.waiting--;
		(void)pthread_mutex_unlock(&by_hand.lock);
		machine_work(work);
		(void)pthread_mutex_lock(&by_hand.lock);
		if (--by_hand.left == 0)
			(void)pthread_cond_signal(&by_hand.all_run);
	}
	(void)pthread_mutex_unlock(&by_hand.lock);
	return argument;
}

static void round_by_hand(void)
{
	(void)pthread_mutex_lock(&by_hand.lock);
	by_hand.left = JOBS;
	(void)pthread_mutex_unlock(&by_hand.lock);
	for (unsigned i = 0; i < JOBS; i++) {
		(void)pthread_mutex_lock(&by_hand.lock);
		by_hand.waiting++;
		(void)pthread_cond_signal(&by_hand.queued);
		(void)pthread_mutex_unlock(&by_hand.lock);
	}
	(void)pthread_mutex_lock(&by_hand.lock);
	while (by_hand.left)
		(void)pthread_cond_wait(&by_hand.all_run, &by_hand.lock);
	(void)pthread_mutex_unlock(&by_hand.lock);
}

/* ---- baton ---- */

static struct baton_pool *pool;
static struct baton_group group = BATON_GROUP_INIT;
static struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;
static struct baton_resource resources[JOBS];

static void job_run(struct baton_plain_job *job)
{
	machine_work(work);
	baton_group_leave(&group);
}

static void job_run_bracketed(struct baton_plain_job *job)
{
	baton_blocking_begin();
	machine_work(work);
	baton_blocking_end();
	baton_group_leave(&group);
}

static void round_of_group(baton_job_fn run)
{
	struct baton_plain_job jobs[JOBS];

	baton_group_enter_many(&group, JOBS);
	for (unsigned i = 0; i < JOBS; i++) {
		baton_plain_job_init(&jobs[i], run, NULL);
		if (baton_pool_submit(pool, &jobs[i]))
			abort();
	}
	if (baton_group_wait(&group))
		abort();
}

static void round_group(void)
{
	round_of_group(job_run);
}

static void round_bracketed(void)
{
	round_of_group(job_run_bracketed);
}

static int task_run(struct baton_task *task)
{
	machine_work(work);
	return 0;
}

static void round_futures(void)
{
	struct baton_task tasks[JOBS];
	struct baton_future futures[JOBS];
	struct baton_future *pointers[JOBS];

	for (unsigned i = 0; i < JOBS; i++) {
		pointers[i] = &futures[i];
		baton_future_init(&futures[i]);
		baton_task_init(&tasks[i], task_run, &futures[i]);
		if (baton_submit_later(&resources[i], &tasks[i]))
			abort();
	}
	if (baton_future_wait_all(pointers, JOBS))
		abort();
}

/* ---- A run ---- */

static int compare(const void *one, const void *other)
{
	double a = *(const double *)one;
	double b = *(const double *)other;

	return (a > b) - (a < b);
}

static double switches(void)
{
	struct rusage usage;

	(void)getrusage(RUSAGE_SELF, &usage);
	return (double)(usage.ru_nvcsw + usage.ru_nivcsw);
}

static void run_rounds(const void *setup, double *values)
{
	static double took[ROUNDS_MAX];
	void (*const *round)(void) = setup;
	double per_us = machine_ticks_per_ns() * 1000;
	double length = bench_sample_ms(SAMPLE_MS) * 1000 * per_us;
	double switched = switches();
	uint64_t start = machine_ticks();
	uint64_t now = start;
	size_t count = 0;

	while (count < ROUNDS_MAX && (double)(now - start) < length) {
		uint64_t before = now;

		(*round)();
		now = machine_ticks();
		took[count++] = (double)(now - before) / per_us;
	}
	values[0] = (double)(now - start) / per_us / (double)count;
	values[2] = (switches() - switched) / (double)count;
	qsort(took, count, sizeof(*took), compare);
	values[1] = took[count / 2];
}

static void table(const char *name, const char *note)
{
	static void (*const rounds[])(void) = {round_by_hand, round_group, round_bracketed,
	                                       round_futures};
	static const char *const metrics[] = {"us/round, mean", "median", "switches", NULL};
	static const struct bench_case cases[] = {
		{"mutex, condition variables", run_rounds, &rounds[0]},
		{"baton jobs, group", run_rounds, &rounds[1]},
		{"  each in a bracket", run_rounds, &rounds[2]},
		{"baton tasks, futures", run_rounds, &rounds[3]},
	};
	const struct bench_group tables = {name, metrics, cases, 4, 0, note};

	bench_group(&tables);
}

static void loaded_table(const char *name, size_t spinners)
{
	pid_t children[SPINNERS_MAX];
	pid_t parent = getpid();

	if (!bench_wanted(name))
		return;
	for (size_t i = 0; i < spinners; i++) {
		children[i] = fork();
		if (children[i] < 0)
			abort();
		if (children[i])
			continue;
		if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent)
			_exit(1);
		for (;;) /* ended by the kill below, or with its parent */
			__asm__ volatile("");
	}
	table(name, "others' load: two spinning processes for each CPU");
	for (size_t i = 0; i < spinners; i++) {
		(void)kill(children[i], SIGKILL);
		(void)waitpid(children[i], NULL, 0);
	}
}

void bench_w24_load(void)
{
	static pthread_t workers[SPINNERS_MAX / 2];
	size_t count;

	if (!bench_wanted("W24: waits beside others' load"))
		return;
	work = machine_work_of(WORK_NS);
	if (baton_pool_create(NULL, &pool))
		abort();
	count = baton_pool_workers(pool);
	if (count > SPINNERS_MAX / 2)
		count = SPINNERS_MAX / 2;
	config.executor = baton_pool_executor(pool);
	for (unsigned i = 0; i < JOBS; i++)
		baton_resource_init(&resources[i], &config);
	for (size_t i = 0; i < count; i++)
		if (pthread_create(&workers[i], NULL, by_hand_worker, NULL))
			abort();
	table("W24: waits beside others' load, quiet", NULL);
	loaded_table("W24: waits beside others' load, loaded", 2 * count);
	(void)pthread_mutex_lock(&by_hand.lock);
	by_hand.end = true;
	(void)pthread_cond_broadcast(&by_hand.queued);
	(void)pthread_mutex_unlock(&by_hand.lock);
	for (size_t i = 0; i < count; i++)
		(void)pthread_join(workers[i], NULL);
	for (unsigned i = 0; i < JOBS; i++) {
		baton_resource_close(&resources[i]);
		if (baton_resource_await(&resources[i]))
			abort();
	}
	BATON_IGNORE(baton_pool_destroy(pool));
}
