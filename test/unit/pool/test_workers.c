/* SPDX-License-Identifier: MIT */
/* The pool as its users see it: it sleeps when idle, says what it did, ends when told to. */
#include "pool_support.h"

#include <dirent.h>
#include <limits.h>

#include "pool/pool.h"
#include "pool/worker.h"

struct counted {
	struct baton_plain_job job;
	atomic_int *runs;
	atomic_int *tids; /* where to leave the worker's thread, or NULL */
};

static void counted_run(struct baton_plain_job *job)
{
	struct counted *counted = baton_container_of(job, struct counted, job);

	if (counted->tids)
		atomic_store(counted->tids, thread_id());
	atomic_fetch_add(counted->runs, 1);
}

static void counted_init(struct counted *counted, atomic_int *runs, atomic_int *tids)
{
	baton_plain_job_init(&counted->job, counted_run, NULL);
	counted->runs = runs;
	counted->tids = tids;
}

/* Threads of this process that neither sleep nor are the caller's. */
static int awake(void)
{
	DIR *tasks = opendir("/proc/self/task");
	const struct dirent *entry;
	int count = 0;

	MUST(tasks);
	while ((entry = readdir(tasks))) {
		int tid = atoi(entry->d_name);

		if (tid > 0 && tid != thread_id())
			count += thread_state(tid) == 'R';
	}
	closedir(tasks);
	return count;
}

Test(workers, without_jobs_they_all_sleep_and_stay_asleep, .timeout = 10)
{
	struct baton_pool *pool = pool_of(4);
	struct baton_pool_stats before, after;
	atomic_int runs = 0;
	struct counted jobs[100];
	int seen = 0;

	for (int i = 0; i < 100; i++) {
		counted_init(&jobs[i], &runs, NULL);
		cr_assert_eq(baton_pool_submit(pool, &jobs[i].job), 0);
	}
	until_at_least(&runs, 100);
	while (seen < 50)
		seen = awake() == 0 ? seen + 1 : 0;
	baton_pool_stats_read(pool, &before);
	for (int i = 0; i < 200; i++)
		seen += awake();
	baton_pool_stats_read(pool, &after);
	cr_assert_geq(before.parked, 4);
	cr_assert_eq(after.woken, before.woken, "nothing woke them, no time-out did");
	cr_assert_eq(after.parked, before.parked);
	cr_assert_eq(baton_pool_destroy(pool), 0);
}

Test(workers, a_parked_pool_wakes_for_each_single_job, .timeout = 20)
{
	struct baton_pool *pool = pool_of(2);
	atomic_int runs = 0, tid = 0;

	for (int i = 0; i < scaled(300); i++) {
		struct counted job;

		counted_init(&job, &runs, &tid);
		cr_assert_eq(baton_pool_submit(pool, &job.job), 0);
		until_at_least(&runs, i + 1);
		if (i % 3) /* parked again, or just about to */
			until_asleep(atomic_load(&tid));
	}
	cr_assert_eq(baton_pool_destroy(pool), 0);
}

Test(workers, their_counters_add_up, .timeout = 10)
{
	struct baton_pool *pool = pool_of(3);
	struct baton_pool_stats all, one, sum = {0};
	atomic_int runs = 0;
	int count = scaled(10000);
	struct counted *jobs = calloc((size_t)count, sizeof(*jobs));

	MUST(jobs);
	cr_assert_eq(baton_pool_workers(pool), 3);
	for (int i = 0; i < count; i++) {
		counted_init(&jobs[i], &runs, NULL);
		cr_assert_eq(baton_pool_submit(pool, &jobs[i].job), 0);
	}
	cr_assert_eq(baton_pool_shutdown(pool), 0);
	cr_assert_eq(baton_pool_await(pool), 0);
	baton_pool_stats_read(pool, &all);
	for (size_t i = 0; i < 3; i++) {
		cr_assert_eq(baton_pool_worker_stats_read(pool, i, &one), 0);
		sum.executed += one.executed;
		sum.stolen += one.stolen;
		sum.lifo_hits += one.lifo_hits;
		sum.injection_batches += one.injection_batches;
	}
	cr_assert_eq(baton_pool_worker_stats_read(pool, 3, &one), -EINVAL);
	cr_assert_eq(all.executed, (uint64_t)count);
	cr_assert_eq(sum.executed, (uint64_t)count);
	cr_assert_eq(sum.stolen, all.stolen);
	cr_assert_eq(sum.lifo_hits, all.lifo_hits);
	cr_assert_eq(sum.injection_batches, all.injection_batches);
	cr_assert_geq(all.injection_batches, 1, "they all came from outside");
	cr_assert_eq(baton_pool_destroy(pool), 0);
	free(jobs);
}

struct gated {
	struct baton_plain_job job;
	sem_t entered;
	sem_t leave;
};

static void gated_run(struct baton_plain_job *job)
{
	struct gated *gated = baton_container_of(job, struct gated, job);

	gate_open(&gated->entered);
	gate_pass(&gated->leave);
}

Test(workers, termination_is_awaited_after_a_shutdown_only, .timeout = 10)
{
	struct baton_pool *pool = pool_of(2);
	uint64_t deadline = deadline_in_ms(10);
	struct gated gated = {.job = BATON_PLAIN_JOB_INIT(gated_run, NULL)};
	struct baton_plain_job late = BATON_PLAIN_JOB_INIT(gated_run, NULL);
	struct baton_job *jobs = &late.job;

	gate_init(&gated.entered);
	gate_init(&gated.leave);
	cr_assert_eq(baton_pool_await_until(pool, deadline), -EINVAL);
	cr_assert_eq(baton_pool_submit(pool, &gated.job), 0);
	gate_pass(&gated.entered);
	cr_assert_eq(baton_pool_shutdown(pool), 0);
	cr_assert_eq(baton_pool_shutdown(pool), -EALREADY);
	cr_assert_eq(baton_pool_submit(pool, &late), -ESHUTDOWN);
	cr_assert_eq(baton_pool_await_until(pool, deadline), -ETIMEDOUT);
	cr_assert_eq(baton_pool_shutdown_now(pool, &jobs), 0, "harder than before");
	cr_assert_null(jobs);
	jobs = &late.job;
	cr_assert_eq(baton_pool_shutdown_now(pool, &jobs), -EALREADY);
	cr_assert_eq(jobs, &late.job);
	gate_open(&gated.leave);
	cr_assert_eq(baton_pool_await(pool), 0);
	cr_assert_eq(baton_pool_await(pool), 0);
	cr_assert_eq(baton_pool_destroy(pool), 0);
}

/* A hundred workers of one pool meet this thread, each in a job: every one of them was woken. */
static pthread_barrier_t meeting;

static void meets(struct baton_plain_job *job)
{
	(void)pthread_barrier_wait(&meeting);
}

Test(workers, a_hundred_are_all_woken_by_a_hundred_jobs, .timeout = 10)
{
	enum { MANY = 100 };
	struct baton_pool *pool = pool_of(MANY);
	struct baton_plain_job jobs[MANY];

	MUST(pthread_barrier_init(&meeting, NULL, MANY + 1) == 0);
	for (int round = 0; round < 5; round++) {
		for (int i = 0; i < MANY; i++)
			baton_plain_job_init(&jobs[i], meets, NULL);
		for (int i = 0; i < MANY - 1; i++)
			cr_assert_eq(baton_pool_submit(pool, &jobs[i]), 0);
		while (round % 2 && awake() > 0) /* some of them in the barrier, some idle */
			sched_yield();
		cr_assert_eq(baton_pool_submit(pool, &jobs[MANY - 1]), 0);
		(void)pthread_barrier_wait(&meeting);
	}
	cr_assert_eq(baton_pool_destroy(pool), 0);
}

/* Each job of a chain puts the next into its worker's slot; the first one queues another, too. */
enum { LINKS = 1000 };

static void link_run(struct baton_plain_job *job)
{
	struct work *link = work_of(job);

	if (link->others[1])
		MUST(baton_pool_submit(link->pool, &link->others[1]->job) == 0);
	if (link->others[0])
		MUST(baton_pool_submit(link->pool, &link->others[0]->job) == 0);
	link->result = link->others[2] && atomic_load(&link->others[2]->ran);
	work_finish(link);
}

Test(workers, a_chain_of_jobs_in_the_slot_does_not_starve_the_queue, .timeout = 10)
{
	struct baton_pool *pool = pool_of(1);
	atomic_int done = 0;
	struct work *links = works_create(LINKS, pool, &done);
	struct work queued;

	work_init(&queued, work_run, pool, &done);
	for (int i = 0; i < LINKS; i++) {
		baton_plain_job_init(&links[i].job, link_run, work_cancel);
		links[i].others[0] = i + 1 < LINKS ? &links[i + 1] : NULL;
	}
	links[0].others[1] = &queued;
	links[LINKS - 1].others[2] = &queued;
	cr_assert_eq(baton_pool_submit(pool, &links[0].job), 0);
	until_at_least(&done, LINKS + 1);
	cr_assert_eq(baton_pool_destroy(pool), 0);
	cr_assert_eq(atomic_load(&links[LINKS - 1].ran), 1);
	cr_assert_eq(links[LINKS - 1].result, 1, "it had run before the chain's end");
	free(links);
}

/* A worker's own work: each computes for some microseconds, counts, and submits itself again. */
struct grinding {
	struct baton_plain_job job;
	struct baton_pool *pool;
	atomic_int *runs;
	atomic_int stop;
	atomic_int ended;
};

static void grinding_run(struct baton_plain_job *job)
{
	struct grinding *grinding = baton_container_of(job, struct grinding, job);
	uint64_t until = now_ns() + 5000;

	while (now_ns() < until)
		;
	atomic_fetch_add(grinding->runs, 1);
	if (atomic_load(&grinding->stop))
		atomic_store(&grinding->ended, 1);
	else
		MUST(baton_pool_submit(grinding->pool, job) == 0);
}

struct noticing {
	struct baton_plain_job job;
	atomic_int *runs;
	atomic_int seen; /* the others' runs when it was run */
};

static void noticing_run(struct baton_plain_job *job)
{
	struct noticing *noticing = baton_container_of(job, struct noticing, job);

	atomic_store(&noticing->seen, atomic_load(noticing->runs));
}

static int ascending(const void *left, const void *right)
{
	return *(const int *)left - *(const int *)right;
}

/* Up to 61 of a worker's own jobs would go first if the number were fixed, 30 in the middle. */
Test(workers, a_job_from_outside_waits_for_a_few_long_jobs_only, .timeout = 20)
{
	struct baton_pool *pool = pool_of(1);
	atomic_int runs = 0;
	struct grinding own[2] = {0};
	int waited[51];

	for (int i = 0; i < 2; i++) {
		baton_plain_job_init(&own[i].job, grinding_run, NULL);
		own[i].pool = pool;
		own[i].runs = &runs;
		cr_assert_eq(baton_pool_submit(pool, &own[i].job), 0);
	}
	until_at_least(&runs, 200);
	for (int i = 0; i < 51; i++) {
		struct noticing noticing = {.runs = &runs, .seen = -1};
		int before = atomic_load(&runs);

		baton_plain_job_init(&noticing.job, noticing_run, NULL);
		cr_assert_eq(baton_pool_submit(pool, &noticing.job), 0);
		until_at_least(&noticing.seen, 0);
		waited[i] = atomic_load(&noticing.seen) - before;
	}
	for (int i = 0; i < 2; i++) {
		atomic_store(&own[i].stop, 1);
		until_at_least(&own[i].ended, 1);
	}
	cr_assert_eq(baton_pool_destroy(pool), 0);
	qsort(waited, 51, sizeof(waited[0]), ascending);
	cr_assert_leq(waited[25], 8, "%d in the middle", waited[25]);
}

static void one_job(struct baton_pool *pool, atomic_int *runs, int count)
{
	struct counted job;

	counted_init(&job, runs, NULL);
	cr_assert_eq(baton_pool_submit(pool, &job.job), 0);
	until_at_least(runs, count);
}

/* `looks` is written before the job is run that we see done, and not again before the next one. */
Test(workers, after_long_sleeps_they_look_around_once_only, .timeout = 20)
{
	struct baton_pool *pool = pool_of(1);
	atomic_int runs = 0;
	int rounds = 0;

	cr_assert_gt(BATON_WORKER_LOOKS, 1);
	do {
		struct timespec nap = {0, 2000000};

		(void)nanosleep(&nap, NULL);
		one_job(pool, &runs, ++rounds);
	} while (pool->workers[0].looks > 1 && rounds < 1000);
	cr_assert_lt(rounds, 1000);
	cr_assert_eq(pool->workers[0].looks, 1);
	cr_assert_eq(baton_pool_destroy(pool), 0);
}

/* ---- Turns ---- */

#define HOTS 32

struct hot {
	struct baton_task task;
	struct baton_resource resource;
	atomic_int *left; /* of all */
	int runs;         /* under the baton */
};

static int hot_run(struct baton_task *task)
{
	struct hot *hot = baton_container_of(task, struct hot, task);

	hot->runs++;
	if (atomic_fetch_sub(hot->left, 1) > 0)
		MUST(baton_submit(&hot->resource, task) == 0);
	return 0;
}

/* A close would be in the way of the task, which submits itself. */
static void until_idle(struct hot *hot)
{
	while (atomic_load(hot->left) > 0)
		sched_yield();
	cr_assert_eq(baton_resource_await(&hot->resource), 0);
	resource_end(&hot->resource);
}

/* Of resources that are never idle: the most turns by the fewest. */
static int turns_apart(struct baton_pool *pool)
{
	struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;
	struct hot hots[HOTS];
	atomic_int left = scaled(5000000);
	int fewest = INT_MAX;
	int most = 0;

	config.capture_max = BATON_CAPTURE_NONE;
	config.executor = baton_pool_executor(pool);
	for (int i = 0; i < HOTS; i++) {
		hots[i].runs = 0;
		hots[i].left = &left;
		baton_resource_init(&hots[i].resource, &config);
		baton_task_init(&hots[i].task, hot_run, NULL);
	}
	for (int i = 0; i < HOTS; i++)
		cr_assert_eq(baton_submit(&hots[i].resource, &hots[i].task), 0);
	for (int i = 0; i < HOTS; i++) {
		until_idle(&hots[i]);
		fewest = hots[i].runs < fewest ? hots[i].runs : fewest;
		most = hots[i].runs > most ? hots[i].runs : most;
	}
	return most / (fewest ? fewest : 1);
}

/*
 * No worker is ever idle, so none steals: their queues must be evened out otherwise. Without the
 * evening out at most 5 of 12 rounds are even. Other programs stop a worker now and then for as
 * long as a round lasts, which then is uneven: on a loaded machine the rounds may be repeated.
 */
Test(workers, resources_that_are_never_idle_have_about_as_many_turns, .timeout = 60)
{
	struct baton_pool *pool = pool_of(4);
	int even = 0;

	for (int i = 0; i < 4 && even < 7; i++) {
		even = 0;
		for (int round = 0; round < 12; round++)
			even += turns_apart(pool) < 4;
	}
	cr_assert_geq(even, 7);
	cr_assert_eq(baton_pool_destroy(pool), 0);
}
