/* SPDX-License-Identifier: MIT */
/*
 * Library nodes: a burst, short-lived threads and nodes freed by other threads leave bounded
 * memory: the heap's bytes in use, and the slabs' size. Under a sanitizer nothing is measured.
 */
#include "fixture.h"
#include "heap.h"

#include "../../faults/nodes_kept.h"

#include "thread/node.h"
#include "thread/thread.h"

#include <baton/registry.h>

#define MIB ((size_t)1024 * 1024)

static void *count(void *arg)
{
	++*(uint64_t *)arg;
	return arg;
}

/* With limit 0 the posts are freed by the worker, else perhaps by this thread, which helps. */
static void burst(struct baton_resource *resource, int posts, uint64_t *counter)
{
	struct occupant occupant;

	occupy_later(&occupant, resource);
	for (int i = 0; i < posts; i++)
		cr_assert_eq(baton_post(resource, count, counter), 0);
	gate_open(&occupant.leave);
	cr_assert_eq(baton_resource_await(resource), 0);
}

static void bursts(uint32_t capture_max)
{
	uint64_t counter = 0;
	size_t before;

	fix.config.capture_max = capture_max;
	fixture_pool(1);
	burst(&fix.resource, 1000, &counter);
	before = heap_in_use();
	for (int i = 0; i < 2; i++) {
		burst(&fix.resource, scaled(1000000), &counter);
		cr_assert(grown_less(before, 8 * MIB));
	}
	cr_assert_eq(counter, (uint64_t)(1000 + 2 * scaled(1000000)));
	fixture_end();
}

Test(memory, a_burst_of_a_million_posts_is_given_back, .timeout = 20)
{
	bursts(10);
}

Test(memory, a_burst_that_a_worker_frees_is_given_back, .timeout = 20)
{
	bursts(BATON_CAPTURE_NONE);
}

Test(memory, cancelled_posts_are_given_back, .timeout = 20)
{
	uint64_t counter = 0;
	size_t before = heap_in_use();

	for (int i = 0; i < 3; i++) {
		occupy(&fix.occupant, &fix.resource);
		for (int j = 0; j < scaled(100000); j++)
			cr_assert_eq(baton_post(&fix.resource, count, &counter), 0);
		cr_assert_eq(baton_resource_cancel_pending(&fix.resource), 0);
		release(&fix.occupant);
	}
	cr_assert(grown_less(before, MIB));
	cr_assert_eq(counter, 0);
	fixture_end();
}

struct brief {
	struct baton_resource *resource;
	uint64_t *counter;
	struct baton_future *future;
};

static void *brief_main(void *arg)
{
	struct brief *brief = arg;

	for (int i = 0; i < 20; i++)
		MUST(baton_post(brief->resource, count, brief->counter) == 0);
	MUST(baton_async(brief->resource, count, brief->counter, &brief->future) == 0);
	return NULL;
}

static void brief_threads(struct baton_resource *resource, int threads, uint64_t *counter)
{
	for (int i = 0; i < threads; i++) {
		struct brief brief = {resource, counter, NULL};

		thread_join(thread_start(brief_main, &brief));
		cr_assert_eq(baton_future_wait(brief.future), 0);
		baton_future_unref(brief.future);
	}
}

Test(memory, ten_thousand_short_lived_threads_leave_what_a_few_do, .timeout = 20)
{
	uint64_t counter = 0;
	size_t before;

	fixture_pool(1);
	brief_threads(&fix.resource, scaled(500), &counter);
	cr_assert_eq(baton_resource_await(&fix.resource), 0);
	before = heap_in_use();
	brief_threads(&fix.resource, scaled(10000), &counter);
	cr_assert_eq(baton_resource_await(&fix.resource), 0);
	cr_assert(grown_less(before, 1 * MIB));
	cr_assert_eq(counter, (uint64_t)(scaled(10000) + scaled(500)) * 21);
	fixture_end();
}

/* The thread is gone when its nodes are freed: its cache outlives it, and the next adopts it. */
static void *leaves_posts(void *arg)
{
	struct brief *brief = arg;

	for (int i = 0; i < 500; i++)
		MUST(baton_post(brief->resource, count, brief->counter) == 0);
	return NULL;
}

Test(memory, nodes_of_a_thread_that_has_gone_are_used_again, .timeout = 20)
{
	uint64_t counter = 0;
	struct brief brief = {&fix.resource, &counter, NULL};
	size_t before = 0;
	int rounds = scaled(2000);

	fix.config.capture_max = BATON_CAPTURE_NONE;
	fixture_manual();
	for (int i = 0; i < rounds; i++) {
		thread_join(thread_start(leaves_posts, &brief));
		(void)baton_manual_run(fix.manual, 0);
		if (i == rounds / 10)
			before = heap_in_use();
	}
	cr_assert(grown_less(before, MIB));
	cr_assert_eq(counter, (uint64_t)rounds * 500);
	fixture_end();
}

/* One thread allocates for ever, another one drops for ever. */
enum { RING = 256 };

struct pipeline {
	struct baton_resource *resource;
	uint64_t counter;
	int total;
	_Atomic(struct baton_future *) ring[RING];
	atomic_int tail;
	int errors;
};

static void *pipeline_drop(void *arg)
{
	struct pipeline *pipeline = arg;

	for (int i = 0; i < pipeline->total; i++) {
		struct baton_future *future;

		until_at_least(&pipeline->tail, i + 1);
		future = atomic_exchange(&pipeline->ring[i % RING], NULL);
		pipeline->errors += baton_future_wait(future) != 0;
		baton_future_unref(future);
	}
	return NULL;
}

Test(memory, nodes_freed_by_another_thread_come_home, .timeout = 20)
{
	struct pipeline pipeline = {.resource = &fix.resource, .total = scaled(300000)};
	size_t before = 0;
	pthread_t thread;

	fixture_pool(1);
	thread = thread_start(pipeline_drop, &pipeline);
	for (int i = 0; i < pipeline.total; i++) {
		struct baton_future *future = NULL;

		while (atomic_load(&pipeline.ring[i % RING]))
			sched_yield();
		cr_assert_eq(baton_async(&fix.resource, count, &pipeline.counter, &future), 0);
		atomic_store(&pipeline.ring[i % RING], future);
		atomic_store(&pipeline.tail, i + 1);
		if (i == pipeline.total / 10)
			before = heap_in_use();
	}
	thread_join(thread);
	cr_assert_eq(baton_resource_await(&fix.resource), 0);
	cr_assert(grown_less(before, MIB));
	cr_assert_eq(pipeline.errors, 0);
	cr_assert_eq(pipeline.counter, (uint64_t)pipeline.total);
	fixture_end();
}

/* Or the cache would seem full after so many nodes, and hold none any more. */
Test(memory, a_cache_counts_the_nodes_that_it_has, .timeout = 10)
{
	const size_t sizes[BATON__NODE_SIZES] = {BATON__NODE_SMALL_SIZE, BATON__NODE_BODY_SIZE};

	cr_assert_eq(baton__thread_attach(), 0);
	for (size_t i = 0; i < BATON__NODE_SIZES; i++) {
		const uint32_t *count = &baton__self->caches[i].count;
		void *nodes[3];
		uint32_t before;

		for (int n = 0; n < 3; n++)
			nodes[n] = baton__node_alloc(sizes[i]);
		before = *count;
		for (uint32_t n = 0; n < 3; n++) {
			baton__node_free(nodes[n]);
			cr_assert_eq(*count, before + n + 1, "size %zu", sizes[i]);
		}
		for (uint32_t n = 3; n-- > 0;) {
			nodes[n] = baton__node_alloc(sizes[i]);
			cr_assert_eq(*count, before + n, "size %zu", sizes[i]);
		}
		for (uint32_t n = 0; n < 3; n++)
			baton__node_free(nodes[n]);
	}
}

/* ---- Nodes that another thread has freed ---- */

#define ONE_SLAB 300  /* parcels that are full, and one that is not, with a bundle that is not */
#define TWO_SLABS 701 /* of large nodes */

static void *sent[TWO_SLABS];
static size_t sent_count;

/* In another order than that of their addresses. Its end sends the last parcel. */
static void *free_them(void *arg)
{
	cr_assert_eq(baton__thread_attach(), 0);
	for (size_t i = 0; i < sent_count; i++)
		baton__node_free(sent[i * 11 % sent_count]);
	return arg;
}

static int by_address(const void *left, const void *right)
{
	const uintptr_t a = *(const uintptr_t *)left;
	const uintptr_t b = *(const uintptr_t *)right;

	return (a > b) - (a < b);
}

/* Returns how often a node lay below the one before. */
static uint32_t come_home(size_t size, size_t count)
{
	void *before[TWO_SLABS];
	uint32_t descents = 0;

	cr_assert_eq(baton__thread_attach(), 0);
	cr_assert_eq(nodes_kept(baton__self), 0, "a new thread's record");
	sent_count = count;
	for (size_t i = 0; i < count; i++)
		before[i] = sent[i] = baton__node_alloc(size);
	(void)thread_join(thread_start(free_them, NULL));
	cr_assert_eq(nodes_kept(baton__self), count);
	for (size_t i = 0; i < count; i++) {
		sent[i] = baton__node_alloc(size);
		descents += i > 0 && (uintptr_t)sent[i] < (uintptr_t)sent[i - 1];
	}
	cr_assert_eq(nodes_kept(baton__self), 0, "none was new");
	qsort(before, count, sizeof(before[0]), by_address);
	qsort(sent, count, sizeof(sent[0]), by_address);
	cr_assert_eq(memcmp(before, sent, count * sizeof(before[0])), 0, "each came home once");
	for (size_t i = 0; i < count; i++)
		baton__node_free(sent[i]);
	return descents;
}

static void come_home_in_order(size_t size)
{
	uint32_t descents = come_home(size, ONE_SLAB);

	/* The window may begin in the middle of the slab. */
	if (BATON_NODE_SLABS)
		cr_assert_leq(descents, 1, "%u", descents);
}

Test(memory, small_nodes_come_home_and_are_used_in_the_order_of_their_addresses, .timeout = 10)
{
	come_home_in_order(BATON__NODE_SMALL_SIZE);
}

Test(memory, large_nodes_come_home_and_are_used_in_the_order_of_their_addresses, .timeout = 10)
{
	come_home_in_order(BATON__NODE_BODY_SIZE);
}

Test(memory, nodes_of_two_slabs_come_home, .timeout = 10)
{
	(void)come_home(BATON__NODE_BODY_SIZE, TWO_SLABS);
}

Test(memory, the_callers_own_tasks_allocate_nothing, .timeout = 10)
{
	uint64_t counter = 0;
	size_t before = 0;

	fixture_manual();
	for (int i = 0; i < 100; i++) {
		struct baton_future future = BATON_FUTURE_INIT;
		struct baton_task *batch[1] = {&fix.steps[2].task};

		fix.journal.count = 0;
		step_init(&fix.steps[0], &fix.journal, 0, &future);
		cr_assert_eq(baton_submit_later(&fix.resource, &fix.steps[0].task), 0);
		cr_assert_eq(baton_submit(&fix.resource, &fix.steps[1].task), 0);
		cr_assert_eq(baton_submit_batch(&fix.resource, batch, 1), 0);
		(void)baton_manual_run(fix.manual, 0);
		cr_assert_eq(baton_future_wait(&future), 0);
		cr_assert_eq(baton_call(&fix.resource, count, &counter, NULL), 0);
		if (i == 0)
			before = heap_in_use();
	}
	cr_assert_eq(heap_in_use(), before);
	fixture_end();
}

Test(memory, a_name_costs_its_object_and_a_slot_of_the_set, .timeout = 20)
{
	/* The entry, eight bytes of name, a NUL, and what malloc() needs itself; in steps of 16. */
	enum {
		OBJECT = (sizeof(struct baton_registry_entry) + 8 + 1 + 8 + 15) / 16 * 16,
		COUNT = 50000
	};
	struct baton_registry_options options =
		BATON_REGISTRY_OPTIONS_INIT(sizeof(struct baton_registry_entry), NULL, NULL, NULL);
	static struct baton_registry_entry *entries[COUNT];
	struct baton_registry *registry;
	size_t before = 0;

	cr_assert_eq(baton_registry_create(&options, &registry), 0);
	for (uint64_t i = 0; i < COUNT; i++) {
		if (i == 1) /* the first one makes this thread's record */
			before = heap_in_use();
		cr_assert_eq(baton_registry_acquire(registry, &i, sizeof(i), &entries[i]), 0);
		if (i >= 1000 && i % 100 == 0) {
			cr_assert(grown_less(before, i * (OBJECT + 32) + 4096));
			cr_assert(BATON_TEST_SANITIZED ||
			          !grown_less(before, i * (OBJECT + 16) - 4096));
		}
	}
	for (int i = 0; i < COUNT; i++)
		cr_assert_eq(baton_registry_unref(entries[i]), 0);
	cr_assert_eq(baton_registry_destroy(registry), 0);
}
