/* SPDX-License-Identifier: MIT */
/*
 * Readers and writers at random, on several threads: submits, some of them later, some cancelled,
 * some waited for, with a pool, beside suspensions. The state has a version twice. A reader sees
 * both the same, and none older than a version that its submitter knew; a writer runs alone. Each
 * task ends once.
 */
#include "support.h"

#include <baton/reader.h>
#include <baton/suspend.h>
#include <baton/thread.h>

#include "../../parts.h"

#define THREADS 4
#define ROUNDS 3000
#define TASKS 8 /* of a thread, at a time */

static struct baton_resource resource;
static struct baton_readers readers = BATON_READERS_INIT(&resource);
static struct baton_resource_stats stats;
static uint64_t version, mirror; /* plain: what writers write */
static atomic_int reading, writing;
static atomic_ulong ran, cancelled, accepted, wrong;

struct visit {
	struct read_task read; /* or its task alone */
	struct baton_future future;
	uint64_t known; /* a version, when it was submitted */
	uint64_t seen;
	bool waits;
};

static int look(struct baton_task *task)
{
	struct visit *visit = baton_container_of(task, struct visit, read.task);
	const uint64_t begin = version;

	atomic_fetch_add(&reading, 1);
	if (atomic_load(&writing) || mirror != begin || begin < visit->known)
		atomic_fetch_add(&wrong, 1);
	for (int i = 0; i < 50; i++)
		atomic_signal_fence(memory_order_seq_cst);
	if (mirror != begin || version != begin)
		atomic_fetch_add(&wrong, 1);
	visit->seen = begin;
	atomic_fetch_sub(&reading, 1);
	atomic_fetch_add(&ran, 1);
	return 0;
}

static int change(struct baton_task *task)
{
	struct visit *visit = baton_container_of(task, struct visit, read.task);

	if (atomic_fetch_add(&writing, 1) || atomic_load(&reading))
		atomic_fetch_add(&wrong, 1);
	version++;
	for (int i = 0; i < 20; i++)
		atomic_signal_fence(memory_order_seq_cst);
	mirror++;
	visit->seen = version;
	atomic_fetch_sub(&writing, 1);
	atomic_fetch_add(&ran, 1);
	return 0;
}

static void start(struct visit *visit, uint64_t *random, uint64_t known)
{
	const bool later = rng_below(random, 8) == 0;
	int error;

	baton_future_init(&visit->future);
	if (rng_below(random, 6) == 0)
		baton_task_init(&visit->read.task, change, &visit->future);
	else
		read_task_init(&visit->read, &readers, look, &visit->future);
	visit->known = known;
	visit->waits = true;
	error = later ? baton_submit_later(&resource, &visit->read.task)
	              : baton_submit(&resource, &visit->read.task);
	MUST(error == 0);
	atomic_fetch_add(&accepted, 1);
	if (rng_below(random, 16) == 0)
		BATON_IGNORE(baton_future_cancel(&visit->future));
}

/* Waits for it. Returns the newest version that this thread knows. */
static uint64_t finish(struct visit *visit, uint64_t known)
{
	if (!visit->waits)
		return known;
	visit->waits = false;
	MUST(baton_future_wait(&visit->future) == 0);
	if (baton_future_state(&visit->future) == BATON_CANCELLED) {
		atomic_fetch_add(&cancelled, 1);
		return known;
	}
	return visit->seen > known ? visit->seen : known;
}

static void *visits(void *arg)
{
	uint64_t random = rng_fork(*(uint64_t *)arg, (uint64_t)thread_id());
	struct visit mine[TASKS] = {0};
	struct baton_suspension suspension = BATON_SUSPENSION_INIT;
	uint64_t known = 0;

	for (int i = 0; i < scaled(ROUNDS); i++) {
		struct visit *visit = &mine[rng_below(&random, TASKS)];

		known = finish(visit, known);
		start(visit, &random, known);
		if (rng_below(&random, 64) == 0) {
			MUST(baton_resource_suspend(&resource, &suspension) == 0);
			MUST(baton_resource_resume(&suspension) == 0);
		}
	}
	for (int i = 0; i < TASKS; i++)
		known = finish(&mine[i], known);
	return NULL;
}

static void play(uint32_t capture_max, size_t workers, bool counted)
{
	static struct baton_resource_config config;
	struct baton_pool *pool = pool_of(workers);
	uint64_t seed = test_seed();
	pthread_t threads[THREADS];

	config.executor = baton_pool_executor(pool);
	config.capture_max = capture_max;
	baton_resource_init(&resource, &config);
	if (counted)
		baton_resource_set_stats(&resource, &stats);
	for (int i = 0; i < THREADS; i++)
		threads[i] = thread_start(visits, &seed);
	for (int i = 0; i < THREADS; i++)
		(void)thread_join(threads[i]);
	resource_end(&resource);
	cr_assert_eq(atomic_load(&wrong), 0);
	cr_assert_eq(version, mirror);
	cr_assert_eq(atomic_load(&ran) + atomic_load(&cancelled), atomic_load(&accepted));
	if (counted) {
		cr_assert_eq(resource_counts(&stats).executed, atomic_load(&ran));
		cr_assert_eq(resource_counts(&stats).cancelled, atomic_load(&cancelled));
		cr_assert_eq(resource_counts(&stats).outstanding, 0);
		cr_assert_eq(resource_counts(&stats).waiting, 0);
	}
	cr_assert_eq(baton_readers_at_work(&readers), 0);
	baton_readers_deinit(&readers);
	cr_assert_eq(baton_pool_destroy(pool), 0);
}

Test(reader_versions, of_captures_and_a_pool, .timeout = 60)
{
	play(10, 2, false);
}

Test(reader_versions, mostly_of_a_pool_and_counted, .timeout = 60)
{
	play(1, 3, true);
}
