/* SPDX-License-Identifier: MIT */
/* The order YIELDS: jobs that come back often go first, and the other jobs do not starve. */
#include "pool_support.h"

#include "pool/order.h"
#include "pool/pool.h"

#include <baton/io.h>
#include <unistd.h>

enum { SLOTS = BATON_RUNQUEUE_SLOTS };

static struct baton_pool *yields_create(size_t workers)
{
	const struct baton_pool_policy policy = {.order = BATON_POOL_YIELDS};
	struct baton_pool_options options = {.workers = workers, .policy = &policy};
	struct baton_pool *pool = NULL;

	cr_assert_eq(baton_pool_create(&options, &pool), 0);
	return pool;
}

static uint64_t hot_of(const struct baton_pool *pool)
{
	struct baton_pool_stats stats;

	baton_pool_stats_read(pool, &stats);
	return stats.hot;
}

struct comer {
	struct baton_plain_job job;
	struct baton_pool *pool;
	int left; /* how often it comes back */
	int runs;
	atomic_int *done;
};

static void comer_run(struct baton_plain_job *job)
{
	struct comer *comer = baton_container_of(job, struct comer, job);

	comer->runs++;
	if (comer->left) {
		comer->left--;
		MUST(baton_pool_submit(comer->pool, job) == 0);
	} else {
		atomic_fetch_add(comer->done, 1);
	}
}

static void comer_init(struct comer *comer, struct baton_pool *pool, int times, atomic_int *done)
{
	*comer = (struct comer){.pool = pool, .left = times, .done = done};
	baton_plain_job_init(&comer->job, comer_run, NULL);
}

Test(order, only_yields_has_a_second_queue, .timeout = 10)
{
	struct baton_pool *fifo = pool_of(2);
	struct baton_pool *yields = yields_create(2);

	for (int i = 0; i < 2; i++) {
		cr_assert_null(fifo->workers[i].order.hot);
		cr_assert_not_null(yields->workers[i].order.hot);
	}
	cr_assert_neq(yields->workers[0].order.hot, yields->workers[1].order.hot);
	cr_assert_eq(baton_pool_destroy(fifo), 0);
	cr_assert_eq(baton_pool_destroy(yields), 0);
}

Test(order, a_plain_job_is_hot_when_it_has_come_back_four_times_in_a_row, .timeout = 10)
{
	struct baton_pool *pool = yields_create(1);
	atomic_int done = 0;
	struct comer comer;

	comer_init(&comer, pool, 10, &done);
	cr_assert_eq(baton_pool_submit(pool, &comer.job), 0);
	until_at_least(&done, 1);
	cr_assert_eq(comer.runs, 11);
	cr_assert_eq(hot_of(pool), 7);
	comer.left = 3; /* not initialised again: the count begins anew all the same */
	cr_assert_eq(baton_pool_submit(pool, &comer.job), 0);
	until_at_least(&done, 2);
	cr_assert_eq(hot_of(pool), 7);
	comer.left = 4;
	cr_assert_eq(baton_pool_submit(pool, &comer.job), 0);
	until_at_least(&done, 3);
	cr_assert_eq(hot_of(pool), 8);
	cr_assert_eq(baton_pool_destroy(pool), 0);
}

static int count_task(struct baton_task *task)
{
	return 0;
}

/* With a quantum of 1 a resource comes back for each task but the first. */
static void run_tasks(struct baton_resource *resource, struct baton_pool *pool, size_t count)
{
	struct baton_task *tasks = calloc(count, sizeof(*tasks));
	struct baton_future last = BATON_FUTURE_INIT;
	struct plug plug;

	MUST(tasks);
	plug_in(&plug, pool);
	for (size_t i = 0; i < count; i++) {
		baton_task_init(&tasks[i], count_task, i + 1 < count ? NULL : &last);
		cr_assert_eq(baton_submit_later(resource, &tasks[i]), 0);
	}
	gate_open(&plug.leave);
	while (!baton_future_is_complete(&last))
		sched_yield();
	while (!baton_resource_is_idle(resource))
		sched_yield();
	free(tasks);
}

Test(order, a_resource_that_was_idle_begins_anew, .timeout = 10)
{
	struct baton_pool *pool = yields_create(1);
	struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;
	struct baton_resource resource;

	config.executor = baton_pool_executor(pool);
	config.quantum = 1;
	baton_resource_init(&resource, &config);
	run_tasks(&resource, pool, 10);
	cr_assert_eq(hot_of(pool), 6, "it has come back nine times");
	run_tasks(&resource, pool, 4);
	cr_assert_eq(hot_of(pool), 6);
	run_tasks(&resource, pool, 5);
	cr_assert_eq(hot_of(pool), 7);
	resource_end(&resource);
	cr_assert_eq(baton_pool_destroy(pool), 0);
}

static atomic_int bytes_read;

static int read_byte(struct baton_io *io)
{
	char byte;

	MUST(read(io->fd, &byte, 1) == 1);
	atomic_fetch_add(&bytes_read, 1);
	return 0;
}

/* Each byte is written after the run for the byte before: each run waits for the descriptor. */
Test(order, a_resource_that_has_waited_for_a_descriptor_comes_back_cold, .timeout = 10)
{
	struct baton_pool *pool = yields_create(1);
	struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;
	struct baton_resource resource;
	struct baton_io io;
	int ends[2];

	config.executor = baton_pool_executor(pool);
	baton_resource_init(&resource, &config);
	baton_io_init(&io, &resource, read_byte);
	cr_assert_eq(pipe(ends), 0);
	cr_assert_eq(baton_io_start(&io, ends[0], BATON_IO_READ | BATON_IO_AGAIN), 0);
	for (int i = 1; i <= 10; i++) {
		cr_assert_eq(write(ends[1], "x", 1), 1);
		until_at_least(&bytes_read, i);
	}
	BATON_IGNORE(baton_io_stop(&io).met);
	resource_end(&resource);
	cr_assert_eq(baton__returns(&resource._job), 0);
	close(ends[0]);
	close(ends[1]);
	cr_assert_eq(baton_io_destroy(), 0);
	cr_assert_eq(baton_pool_destroy(pool), 0);
}

/* A worker without a thread; its queues are full of jobs, cold ones and hot ones. */
struct idle_worker {
	struct baton_pool *pool;
	struct baton__worker *worker;
	struct baton__runqueue *hot;
	struct baton_plain_job jobs[3 * SLOTS];
};

static struct idle_worker *idle_worker_create(uint32_t hot_share)
{
	struct idle_worker *idle = calloc(1, sizeof(*idle));

	MUST(idle);
	idle->pool = aligned_alloc(BATON_CACHE_LINE, sizeof(*idle->pool));
	idle->worker = aligned_alloc(BATON_CACHE_LINE, sizeof(*idle->worker));
	idle->hot = aligned_alloc(BATON_CACHE_LINE, sizeof(*idle->hot));
	MUST(idle->pool && idle->worker && idle->hot);
	idle->pool->policy = (struct baton_pool_policy){.hot_share = hot_share, .hot_from = 4};
	*idle->worker = (struct baton__worker){
		.pool = idle->pool, .order = {.policy = &idle->pool->policy, .hot = idle->hot}};
	baton__runqueue_init(&idle->worker->order.queue);
	baton__runqueue_init(idle->hot);
	for (int i = 0; i < 3 * SLOTS; i++) {
		baton_plain_job_init(&idle->jobs[i], work_run, NULL);
		for (int k = 0; i >= SLOTS && k < 4; k++)
			baton__returns_count(&idle->jobs[i].job);
	}
	return idle;
}

static void idle_worker_push(struct idle_worker *idle, int job)
{
	struct baton_job *pushed = &idle->jobs[job].job;

	MUST(baton__runqueue_push(baton__order_queue(&idle->worker->order, pushed), pushed));
}

static void idle_worker_free(struct idle_worker *idle)
{
	free(idle->hot);
	free(idle->worker);
	free(idle->pool);
	free(idle);
}

Test(order, a_cold_job_is_a_ring_and_its_share_of_hot_ones_behind_at_most, .timeout = 10)
{
	static const uint32_t shares[] = {1, 3, 7};

	for (int i = 0; i < 3; i++) {
		struct idle_worker *idle = idle_worker_create(shares[i]);
		size_t ran = 0;
		struct baton_job *job;

		for (int k = 0; k < 2 * SLOTS; k++)
			idle_worker_push(idle, k);
		/* Each hot one comes back at once, and is never the last. */
		while ((job = baton__order_pop(&idle->worker->order)) !=
		       &idle->jobs[SLOTS - 1].job) {
			ran++;
			if (job >= &idle->jobs[SLOTS].job)
				MUST(baton__runqueue_push(idle->hot, job));
		}
		cr_assert_eq(ran + 1, SLOTS * (1 + shares[i]), "%zu", ran);
		idle_worker_free(idle);
	}
}

Test(order, hot_jobs_go_first_and_either_queue_does_alone, .timeout = 10)
{
	static const int order[] = {SLOTS, SLOTS + 1, SLOTS + 2, 0, SLOTS + 3, 1, 2};
	struct idle_worker *idle = idle_worker_create(3);

	for (int i = 0; i < 3; i++)
		idle_worker_push(idle, i);
	for (int i = 0; i < 4; i++)
		idle_worker_push(idle, SLOTS + i);
	cr_assert_eq(baton__order_length(&idle->worker->order), 7);
	for (int i = 0; i < 7; i++)
		cr_assert_eq(baton__order_pop(&idle->worker->order), &idle->jobs[order[i]].job,
		             "%d", i);
	cr_assert_null(baton__order_pop(&idle->worker->order));
	cr_assert(baton__order_is_empty(&idle->worker->order));
	idle_worker_push(idle, SLOTS);
	cr_assert_not(baton__order_is_empty(&idle->worker->order), "a hot job alone");
	cr_assert_eq(baton__order_take(&idle->worker->order), &idle->jobs[SLOTS].job);
	idle_worker_free(idle);
}

Test(order, a_count_has_a_ceiling_and_leaves_the_other_bits_alone, .timeout = 10)
{
	struct baton_plain_job job;

	baton_plain_job_init(&job, work_run, NULL);
	for (uint32_t i = 0; i < 2 * BATON__RETURNS_MAX; i++)
		baton__returns_count(&job.job);
	cr_assert_eq(baton__returns(&job.job), BATON__RETURNS_MAX);
	cr_assert_not(baton__job_is_resource(&job.job));
	baton__returns_reset(&job.job);
	cr_assert_eq(job.job._kind, BATON__JOB_PLAIN);
}

/* More than both rings hold, so that they overflow into the injection queue. */
Test(order, nothing_is_lost_with_two_queues_that_overflow, .timeout = 60)
{
	enum { COMERS = 3 * SLOTS };
	struct baton_pool *pool = yields_create(3);
	struct comer *comers = calloc(COMERS, sizeof(*comers));
	struct baton_pool_stats stats;
	atomic_int done = 0;
	uint64_t sum = 0;

	MUST(comers);
	for (int i = 0; i < COMERS; i++) {
		comer_init(&comers[i], pool, i % 40, &done);
		sum += (uint64_t)(i % 40) + 1;
		cr_assert_eq(baton_pool_submit(pool, &comers[i].job), 0);
	}
	until_at_least(&done, COMERS);
	for (int i = 0; i < COMERS; i++)
		cr_assert_eq(comers[i].runs, i % 40 + 1, "%d", i);
	baton_pool_stats_read(pool, &stats);
	cr_assert_eq(stats.executed, sum);
	cr_assert_gt(stats.hot, 0);
	cr_assert_eq(baton_pool_destroy(pool), 0);
	free(comers);
}
