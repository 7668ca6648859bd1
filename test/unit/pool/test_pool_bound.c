/* SPDX-License-Identifier: MIT */
/* A bound on the plain jobs that wait in a pool: who is refused, who waits, who is not bounded. */
#include "pool_support.h"

#include <baton/blocking.h>
#include <baton/future.h>

#include "base/futex.h"
#include "pool/pool.h"

static struct baton_pool *bounded(size_t workers, uint64_t waiting_max)
{
	const struct baton_pool_options options = {
		.workers = workers, .waiting_max = waiting_max, .count_accepted = true};
	struct baton_pool *pool = NULL;

	MUST(baton_pool_create(&options, &pool) == 0);
	return pool;
}

static void until_threads_wait(struct baton_pool *pool, uint32_t count)
{
	while (__atomic_load_n(&pool->room.sleepers, __ATOMIC_SEQ_CST) != count)
		sched_yield();
}

/* A thread that submits its work, and waits for room. */
static void *submit_wait(void *arg)
{
	struct work *work = arg;

	work->result = baton_pool_submit_wait(work->pool, &work->job);
	return NULL;
}

static void start_waiting(struct work *works, size_t count)
{
	for (size_t i = 0; i < count; i++)
		works[i].thread = thread_start(submit_wait, &works[i]);
	until_threads_wait(works[0].pool, (uint32_t)count);
}

static const uint64_t long_ago = 1;

Test(pool_bound, is_bounded_at_the_very_value, .timeout = 10)
{
	static const size_t bounds[] = {1, 2, 7, 300};

	for (size_t row = 0; row < sizeof(bounds) / sizeof(*bounds); row++) {
		const size_t max = bounds[row];
		struct baton_pool *pool = bounded(1, max);
		struct work *works = works_create(max + 1, pool, NULL);
		struct plug plug;

		plug_in(&plug, pool);
		cr_assert_eq(pool_stats(pool).waiting, 0, "the job has been entered");
		for (size_t i = 0; i < max; i++)
			cr_assert_eq(baton_pool_submit(pool, &works[i].job), 0);
		cr_assert_eq(pool_stats(pool).waiting, max);
		cr_assert_eq(baton_pool_submit(pool, &works[max].job), -EAGAIN);
		cr_assert_eq(baton_pool_submit_wait_until(pool, &works[max].job, long_ago),
		             -ETIMEDOUT);
		cr_assert_eq(pool_stats(pool).waiting, max);
		cr_assert_eq(pool_stats(pool).accepted, max + 1, "the plug, and no refused job");
		gate_open(&plug.leave);
		until_at_least(&works[max - 1].ran, 1);
		cr_assert_eq(pool_stats(pool).waiting, 0);
		cr_assert_eq(baton_pool_submit_wait_until(pool, &works[max].job, long_ago), 0);
		cr_assert_eq(baton_pool_destroy(pool), 0);
		for (size_t i = 0; i <= max; i++)
			cr_assert_eq(atomic_load(&works[i].ran), 1);
		free(works);
	}
}

Test(pool_bound, has_no_bound_and_no_count_unless_asked_for, .timeout = 10)
{
	struct baton_pool *pool = pool_of(1);
	struct work *works = works_create(1000, pool, NULL);
	struct plug plug;

	plug_in(&plug, pool);
	for (size_t i = 0; i < 1000; i++)
		cr_assert_eq(baton_pool_submit_wait_until(pool, &works[i].job, long_ago), 0);
	cr_assert_eq(pool_stats(pool).waiting, 0);
	gate_open(&plug.leave);
	cr_assert_eq(baton_pool_destroy(pool), 0);
	for (size_t i = 0; i < 1000; i++)
		cr_assert_eq(atomic_load(&works[i].ran), 1);
	free(works);
}

/* ---- Who is not bounded ---- */

/* A job that submits the other ones, half of them by submit_wait, and in a bracket, where its
 * thread may have no place. */
static void work_submit_others(struct baton_plain_job *job)
{
	struct work *work = work_of(job);

	gate_open(work->entered);
	gate_pass(work->leave);
	work->result = baton_pool_submit(work->pool, &work->others[0]->job);
	if (!work->result)
		work->result = baton_pool_submit_wait(work->pool, &work->others[1]->job);
	baton_blocking_begin();
	while (baton__worker_current())
		sched_yield(); /* until a spare has the place */
	if (!work->result)
		work->result = baton_pool_submit_wait(work->pool, &work->others[2]->job);
	baton_blocking_end();
	work_finish(work);
}

Test(pool_bound, the_pools_own_threads_are_counted_and_never_refused, .timeout = 10)
{
	struct baton_pool *pool = bounded(1, 1);
	struct work *works = works_create(5, pool, NULL);
	sem_t entered;
	sem_t leave;

	gate_init(&entered);
	gate_init(&leave);
	baton_plain_job_init(&works[0].job, work_submit_others, NULL);
	works[0].entered = &entered;
	works[0].leave = &leave;
	for (int i = 0; i < 3; i++)
		works[0].others[i] = &works[1 + i];
	cr_assert_eq(baton_pool_submit(pool, &works[0].job), 0);
	gate_pass(&entered);
	cr_assert_eq(baton_pool_submit(pool, &works[4].job), 0);
	gate_open(&leave);
	until_at_least(&works[3].ran, 1);
	until_at_least(&works[0].ran, 1);
	cr_assert_eq(baton_pool_destroy(pool), 0);
	cr_assert_eq(works[0].result, 0);
	for (int i = 0; i < 5; i++)
		cr_assert_eq(atomic_load(&works[i].ran), 1);
	free(works);
}

/* By the executor, continuations and resources are accepted beyond the bound; the plain jobs of
 * these count. */
Test(pool_bound, what_comes_by_the_executor_is_not_refused, .timeout = 10)
{
	struct baton_pool *pool = bounded(1, 1);
	struct baton_executor *executor = baton_pool_executor(pool);
	const struct baton_resource_config config = {.capture_max = BATON_CAPTURE_NONE,
	                                             .executor = executor};
	struct work *works = works_create(4, pool, NULL);
	struct baton_resource resources[3];
	struct journal journal = {0};
	struct step steps[3];
	struct plug plug;

	plug_in(&plug, pool);
	for (int i = 0; i < 3; i++)
		cr_assert_eq(baton_executor_schedule(executor, &works[i].job.job), 0);
	cr_assert_eq(pool_stats(pool).waiting, 3);
	steps_init(steps, 3, &journal, 0);
	for (int i = 0; i < 3; i++) {
		baton_resource_init(&resources[i], &config);
		cr_assert_eq(baton_submit_later(&resources[i], &steps[i].task), 0);
	}
	cr_assert_eq(pool_stats(pool).waiting, 3, "resources do not count");
	cr_assert_eq(baton_pool_submit(pool, &works[3].job), -EAGAIN);
	gate_open(&plug.leave);
	until_at_least(&works[2].ran, 1);
	for (int i = 0; i < 3; i++)
		resource_end(&resources[i]);
	cr_assert_eq(journal.count, 3);
	cr_assert_eq(baton_pool_destroy(pool), 0);
	free(works);
}

/* ---- Waiting ---- */

/* Each submitter has one job: they all get room, though no job comes that would wake them. */
Test(pool_bound, a_submitter_waits_until_there_is_room, .timeout = 20)
{
	static const size_t bounds[] = {1, 2, 8, 9, 16, 40};

	for (size_t row = 0; row < sizeof(bounds) / sizeof(*bounds); row++) {
		const size_t max = bounds[row];
		const size_t count = max + 50;
		struct baton_pool *pool = bounded(1, max);
		struct work *works = works_create(count, pool, NULL);
		struct plug plug;

		plug_in(&plug, pool);
		for (size_t i = 0; i < max; i++)
			cr_assert_eq(baton_pool_submit_wait(pool, &works[i].job), 0);
		start_waiting(works + max, count - max);
		cr_assert_eq(pool_stats(pool).waiting, max);
		gate_open(&plug.leave);
		for (size_t i = max; i < count; i++) {
			thread_join(works[i].thread);
			cr_assert_eq(works[i].result, 0);
		}
		until_threads_wait(pool, 0);
		cr_assert_eq(baton_pool_destroy(pool), 0);
		for (size_t i = 0; i < count; i++)
			cr_assert_eq(atomic_load(&works[i].ran), 1);
		free(works);
	}
}

Test(pool_bound, a_submitter_waits_no_longer_than_its_deadline, .timeout = 10)
{
	struct baton_pool *pool = bounded(1, 1);
	struct work *works = works_create(2, pool, NULL);
	uint64_t deadline;
	struct plug plug;

	plug_in(&plug, pool);
	cr_assert_eq(baton_pool_submit(pool, &works[0].job), 0);
	deadline = deadline_in_ms(20);
	cr_assert_eq(baton_pool_submit_wait_until(pool, &works[1].job, deadline), -ETIMEDOUT);
	cr_assert_geq(now_ns(), deadline);
	until_threads_wait(pool, 0);
	cr_assert_eq(pool_stats(pool).waiting, 1);
	gate_open(&plug.leave);
	deadline = deadline_in_ms(60000);
	cr_assert_eq(baton_pool_submit_wait_until(pool, &works[1].job, deadline), 0);
	cr_assert_eq(baton_pool_destroy(pool), 0);
	cr_assert_eq(atomic_load(&works[1].ran), 1);
	free(works);
}

/* Where a wait could close a cycle it is refused, if there is no room; else the job is taken. */
struct inside {
	struct work *work;
	int results[2];
	struct plug *plug;
	sem_t done;
};

static void try_inside(struct inside *inside)
{
	inside->results[0] = baton_pool_submit_wait(inside->work->pool, &inside->work->job);
	if (inside->plug) {
		gate_open(&inside->plug->leave);
		while (pool_stats(inside->work->pool).waiting)
			sched_yield();
		inside->results[1] = baton_pool_submit_wait(inside->work->pool, &inside->work->job);
	}
}

static void *try_in_a_call(void *arg)
{
	try_inside(arg);
	return arg;
}

static struct inside *inside_of_job;

static void try_in_a_job(struct baton_plain_job *job)
{
	try_inside(inside_of_job);
	gate_open(&inside_of_job->done);
}

static void try_in_a_callback(struct baton_plain_job *job)
{
	try_inside(inside_of_job);
}

static void in_a_call(struct inside *inside)
{
	struct baton_resource resource = BATON_RESOURCE_INIT(NULL);

	cr_assert_eq(baton_call(&resource, try_in_a_call, inside, NULL), 0);
	resource_end(&resource);
}

static void in_another_pool(struct inside *inside)
{
	struct baton_plain_job job = BATON_PLAIN_JOB_INIT(try_in_a_job, NULL);
	struct baton_pool *other = pool_of(1);

	inside_of_job = inside;
	gate_init(&inside->done);
	cr_assert_eq(baton_pool_submit(other, &job), 0);
	gate_pass(&inside->done);
	cr_assert_eq(baton_pool_destroy(other), 0);
}

static void in_a_callback(struct inside *inside)
{
	struct baton_plain_job job = BATON_PLAIN_JOB_INIT(try_in_a_job, try_in_a_callback);

	inside_of_job = inside;
	baton_job_cancel(&job.job);
}

Test(pool_bound, inside_a_task_or_a_callback_or_another_pool_nobody_waits, .timeout = 10)
{
	static void (*const ways[])(struct inside *) = {in_a_call, in_another_pool, in_a_callback};

	for (size_t way = 0; way < sizeof(ways) / sizeof(*ways); way++) {
		struct baton_pool *pool = bounded(1, 1);
		struct work *works = works_create(2, pool, NULL);
		struct plug plug;
		struct inside inside = {&works[1], {1, 1}, &plug, {{0}}};

		plug_in(&plug, pool);
		cr_assert_eq(baton_pool_submit(pool, &works[0].job), 0);
		ways[way](&inside);
		cr_assert_eq(inside.results[0], -EDEADLK, "%zu", way);
		cr_assert_eq(inside.results[1], 0, "%zu", way);
		cr_assert_eq(baton_pool_destroy(pool), 0);
		cr_assert_eq(atomic_load(&works[1].ran), 1);
		free(works);
	}
}

/* ---- The end ---- */

static void shut_down(struct baton_pool *pool)
{
	cr_assert_eq(baton_pool_shutdown(pool), 0);
}

static void shut_down_now(struct baton_pool *pool)
{
	struct baton_job *jobs = NULL;

	cr_assert_eq(baton_pool_shutdown_now(pool, &jobs), 0);
	cr_assert_eq(pool_stats(pool).waiting, 0, "they were taken out");
	while (jobs) {
		struct baton_job *job = jobs;

		jobs = baton_job_next(job);
		baton_job_cancel(job);
	}
}

Test(pool_bound, a_shutdown_ends_the_waits, .timeout = 10)
{
	static void (*const ways[])(struct baton_pool *) = {shut_down, shut_down_now};

	for (size_t way = 0; way < sizeof(ways) / sizeof(*ways); way++) {
		struct baton_pool *pool = bounded(1, 2);
		struct work *works = works_create(6, pool, NULL);
		struct plug plug;

		plug_in(&plug, pool);
		cr_assert_eq(baton_pool_submit(pool, &works[0].job), 0);
		cr_assert_eq(baton_pool_submit(pool, &works[1].job), 0);
		start_waiting(works + 2, 4);
		ways[way](pool);
		for (int i = 2; i < 6; i++) {
			thread_join(works[i].thread);
			cr_assert_eq(works[i].result, -ESHUTDOWN);
		}
		cr_assert_eq(baton_pool_submit(pool, &works[2].job), -ESHUTDOWN);
		cr_assert_eq(baton_pool_submit_wait(pool, &works[2].job), -ESHUTDOWN);
		gate_open(&plug.leave);
		cr_assert_eq(baton_pool_await(pool), 0);
		cr_assert_eq(pool_stats(pool).waiting, 0);
		cr_assert_eq(pool_stats(pool).accepted, 3);
		cr_assert_eq(baton_pool_destroy(pool), 0);
		for (int i = 0; i < 6; i++) {
			cr_assert_eq(atomic_load(&works[i].ran), way == 0 && i < 2);
			cr_assert_eq(atomic_load(&works[i].cancelled), way == 1 && i < 2);
		}
		free(works);
	}
}

Test(pool_bound, a_destroy_waits_for_the_submitters_that_it_wakes, .timeout = 10)
{
	for (int round = 0; round < scaled(200); round++) {
		struct baton_pool *pool = bounded(1, 1);
		struct work *works = works_create(4, pool, NULL);
		struct plug plug;

		plug_in(&plug, pool);
		cr_assert_eq(baton_pool_submit(pool, &works[0].job), 0);
		start_waiting(works + 1, 3);
		gate_open(&plug.leave);
		cr_assert_eq(baton_pool_destroy(pool), 0);
		for (int i = 1; i < 4; i++) {
			thread_join(works[i].thread);
			cr_assert(works[i].result == 0 || works[i].result == -ESHUTDOWN);
			cr_assert_eq(atomic_load(&works[i].ran), works[i].result == 0);
		}
		free(works);
	}
}

/* ---- Many producers ---- */

enum { PRODUCERS = 4, EACH = 20000 };

struct producer {
	struct baton_pool *pool;
	uint64_t max;
	struct work *works;
	int count;
	bool waits;
	uint64_t highest; /* number of waiting jobs seen */
	int refused;
	pthread_t thread;
};

static void *produce(void *arg)
{
	struct producer *producer = arg;

	for (int i = 0; i < producer->count; i++) {
		struct baton_plain_job *job = &producer->works[i].job;
		uint64_t waiting = pool_stats(producer->pool).waiting;

		if (waiting > producer->highest)
			producer->highest = waiting;
		if (producer->waits) {
			producer->refused += baton_pool_submit_wait(producer->pool, job) != 0;
			continue;
		}
		while (baton_pool_submit(producer->pool, job) == -EAGAIN) {
			producer->refused++;
			sched_yield();
		}
	}
	return NULL;
}

Test(pool_bound, many_producers_never_make_it_more_than_the_bound, .timeout = 30)
{
	static const uint64_t bounds[] = {1, 3, 64};

	for (int row = 0; row < 6; row++) {
		const uint64_t max = bounds[row / 2];
		struct baton_pool *pool = bounded(2, max);
		struct producer producers[PRODUCERS] = {{0}};
		atomic_int done = 0;

		for (int i = 0; i < PRODUCERS; i++) {
			producers[i] =
				(struct producer){.pool = pool, .max = max, .waits = row % 2};
			producers[i].count = scaled(EACH);
			producers[i].works = works_create((size_t)scaled(EACH), pool, &done);
		}
		for (int i = 0; i < PRODUCERS; i++)
			producers[i].thread = thread_start(produce, &producers[i]);
		for (int i = 0; i < PRODUCERS; i++)
			thread_join(producers[i].thread);
		until_at_least(&done, PRODUCERS * scaled(EACH));
		cr_assert_eq(pool_stats(pool).waiting, 0);
		cr_assert_eq(baton_pool_destroy(pool), 0);
		for (int i = 0; i < PRODUCERS; i++) {
			cr_assert_leq(producers[i].highest, max);
			cr_assert(!producers[i].waits || producers[i].refused == 0);
			for (int j = 0; j < scaled(EACH); j++)
				cr_assert_eq(atomic_load(&producers[i].works[j].ran), 1);
			free(producers[i].works);
		}
	}
}
