/* SPDX-License-Identifier: MIT */
/*
 * The injection queue, with two rings of 4 slots of 2 and some 4 jobs each, so that everything
 * wraps, fills and spills all the time. The rings in their true size are in test_flood.c.
 */
#define BATON_INJECTION_SLOTS 4
#define BATON_INJECTION_BATCH 2
#define BATON_INJECTION_PORTION 2
#define BATON_INJECTION_PIECE 2

#include "queue/injection.c"

#include "support.h"

enum { RING = BATON_INJECTION_SLOTS * BATON_INJECTION_BATCH };

struct item {
	struct baton_job job;
	atomic_int taken;
	int number;
};

static struct baton__injection *queue_create(void)
{
	struct baton__injection *queue = aligned_alloc(BATON_CACHE_LINE, sizeof(*queue));

	MUST(queue);
	baton__injection_init(queue);
	return queue;
}

static struct item *item_of(struct baton_job *job)
{
	return baton_container_of(job, struct item, job);
}

static size_t fetch_one_batch(struct baton__injection *queue, struct baton__joblist *list)
{
	size_t before = list->count;

	baton__injection_fetch(queue, 1, list);
	return list->count - before;
}

static bool counts_up(struct baton__joblist *list, int first, int count)
{
	for (int i = 0; i < count; i++) {
		struct baton_job *job = baton__joblist_pop(list);

		if (!job || item_of(job)->number != first + i)
			return false;
	}
	return list->count == 0;
}

static void push_numbers(struct baton__injection *queue, struct item *items, int first, int count)
{
	for (int i = first; i < first + count; i++) {
		items[i].number = i;
		cr_assert_eq(baton__injection_push(queue, &items[i].job), 0);
	}
}

Test(injection, gives_jobs_in_the_order_of_their_pushes, .timeout = 10)
{
	struct baton__injection *queue = queue_create();
	struct baton__joblist list = BATON__JOBLIST_INIT;
	struct item items[RING] = {0};

	push_numbers(queue, items, 0, RING - 1);
	baton__injection_fetch(queue, SIZE_MAX, &list);
	cr_assert(counts_up(&list, 0, RING - 1));
	cr_assert(baton__injection_is_empty(queue));
	free(queue);
}

Test(injection, keeps_order_over_many_rounds_of_the_ring, .timeout = 10)
{
	struct baton__injection *queue = queue_create();
	struct item items[5] = {0};

	for (int round = 0; round < 1000; round++) {
		struct baton__joblist list = BATON__JOBLIST_INIT;
		int count = 1 + round % 5;

		push_numbers(queue, items, 0, count);
		cr_assert_not(baton__injection_is_empty(queue));
		baton__injection_fetch(queue, SIZE_MAX, &list);
		cr_assert(counts_up(&list, 0, count));
	}
	free(queue);
}

Test(injection, takes_one_batch_at_a_time, .timeout = 10)
{
	struct baton__injection *queue = queue_create();
	struct baton__joblist list = BATON__JOBLIST_INIT;
	struct item items[5] = {0};

	push_numbers(queue, items, 0, 5);
	cr_assert_eq(fetch_one_batch(queue, &list), 2);
	cr_assert_eq(fetch_one_batch(queue, &list), 2);
	cr_assert_eq(fetch_one_batch(queue, &list), 1);
	cr_assert_eq(fetch_one_batch(queue, &list), 0);
	cr_assert(counts_up(&list, 0, 5));
	free(queue);
}

Test(injection, a_share_is_added_to_what_the_list_has, .timeout = 10)
{
	struct baton__injection *queue = queue_create();
	struct baton__joblist list = BATON__JOBLIST_INIT;
	struct item items[RING] = {0};

	push_numbers(queue, items, 0, RING);
	for (size_t count = BATON_INJECTION_BATCH; count <= RING; count += BATON_INJECTION_BATCH) {
		baton__injection_fetch(queue, BATON_INJECTION_BATCH, &list);
		cr_assert_eq(list.count, count);
	}
	cr_assert(counts_up(&list, 0, RING));
	free(queue);
}

Test(injection, loses_nothing_beyond_a_full_ring, .timeout = 10)
{
	struct baton__injection *queue = queue_create();
	struct baton__joblist list = BATON__JOBLIST_INIT;
	struct item *items = calloc(100, sizeof(*items));

	push_numbers(queue, items, 0, 100);
	cr_assert_geq(baton__injection_length(queue), 2 * RING, "a ring, and what is beyond");
	/* In order even so: while the spill holds jobs, all pushes go there. */
	while (!baton__injection_is_empty(queue))
		cr_assert_gt(fetch_one_batch(queue, &list), 0);
	cr_assert_eq(list.count, 100);
	cr_assert(counts_up(&list, 0, 100));
	free(items);
	free(queue);
}

Test(injection, pushes_a_list_like_single_jobs, .timeout = 10)
{
	struct baton__injection *queue = queue_create();
	struct baton__joblist list = BATON__JOBLIST_INIT;
	struct item items[7] = {0};

	for (int i = 0; i < 7; i++) {
		items[i].number = i;
		baton__joblist_append(&list, &items[i].job);
	}
	cr_assert_eq(baton__injection_push_list(queue, &list), 0);
	cr_assert_eq(list.count, 0);
	baton__injection_fetch(queue, SIZE_MAX, &list);
	cr_assert(counts_up(&list, 0, 7));
	free(queue);
}

Test(injection, once_closed_refuses_and_leaves_lists_whole, .timeout = 10)
{
	struct baton__injection *queue = queue_create();
	struct baton__joblist list = BATON__JOBLIST_INIT;
	struct item items[5] = {0};

	cr_assert(baton__injection_close_if_empty(queue));
	cr_assert(baton__injection_close_if_empty(queue));
	cr_assert_eq(baton__injection_push(queue, &items[0].job), -ESHUTDOWN);
	for (int i = 0; i < 5; i++) {
		items[i].number = i;
		baton__joblist_append(&list, &items[i].job);
	}
	cr_assert_eq(baton__injection_push_list(queue, &list), -ESHUTDOWN);
	cr_assert_eq(list.count, 5);
	cr_assert(counts_up(&list, 0, 5));
	cr_assert(baton__injection_is_empty(queue));
	free(queue);
}

Test(injection, does_not_close_while_it_holds_a_job, .timeout = 10)
{
	struct baton__injection *queue = queue_create();
	struct item items[3 * RING] = {0};

	for (int count = 1; count <= 3 * RING; count++) {
		struct baton__joblist list = BATON__JOBLIST_INIT;

		push_numbers(queue, items, 0, count);
		for (int left = count; left; left = count - (int)list.count) {
			cr_assert_not(baton__injection_close_if_empty(queue));
			cr_assert_gt(fetch_one_batch(queue, &list), 0);
		}
		cr_assert(counts_up(&list, 0, count));
	}
	cr_assert(baton__injection_close_if_empty(queue));
	free(queue);
}

/* Threads: each item is taken exactly once, and refused only when the queue had been closed. */
enum { PRODUCERS = 3, CONSUMERS = 3, EACH = 30000 };

struct traffic {
	struct baton__injection *queue;
	struct item *items;
	atomic_int next_producer;
	atomic_int producing;
	atomic_int accepted;
	atomic_int refused;
	atomic_int fetched;
	atomic_int disorders;
	int each;
};

static void *produce(void *arg)
{
	struct traffic *traffic = arg;
	int producer = atomic_fetch_add(&traffic->next_producer, 1);

	for (int i = 0; i < traffic->each; i++) {
		struct item *item = &traffic->items[producer * traffic->each + i];

		item->number = i + 1;
		if (baton__injection_push(traffic->queue, &item->job))
			atomic_fetch_add(&traffic->refused, 1);
		else
			atomic_fetch_add(&traffic->accepted, 1);
	}
	atomic_fetch_sub(&traffic->producing, 1);
	return NULL;
}

static bool consume_some(struct traffic *traffic, size_t share)
{
	struct baton__joblist list = BATON__JOBLIST_INIT;
	struct baton_job *job;

	baton__injection_fetch(traffic->queue, share, &list);
	atomic_fetch_add(&traffic->fetched, (int)list.count);
	if (!list.count)
		return false;
	while ((job = baton__joblist_pop(&list))) {
		MUST(item_of(job)->number > 0); /* plain: the queue's edges alone order it */
		atomic_fetch_add_explicit(&item_of(job)->taken, 1, memory_order_relaxed);
	}
	return true;
}

static void *consume(void *arg)
{
	struct traffic *traffic = arg;
	size_t share = 0;

	while (atomic_load(&traffic->producing) || !baton__injection_is_empty(traffic->queue))
		if (!consume_some(traffic, 1 + share++ % 5))
			sched_yield();
	return NULL;
}

static void *consume_until_closed(void *arg)
{
	struct traffic *traffic = arg;

	while (!baton__injection_close_if_empty(traffic->queue))
		(void)consume_some(traffic, 3);
	return NULL;
}

static void traffic_run(struct traffic *traffic, int each, void *(*consumer)(void *))
{
	pthread_t threads[PRODUCERS + CONSUMERS];

	memset(traffic, 0, sizeof(*traffic));
	traffic->each = each;
	traffic->queue = queue_create();
	traffic->items = calloc((size_t)(PRODUCERS * each), sizeof(*traffic->items));
	MUST(traffic->items);
	atomic_store(&traffic->producing, PRODUCERS);
	for (int i = 0; i < PRODUCERS; i++)
		threads[i] = thread_start(produce, traffic);
	for (int i = 0; i < CONSUMERS; i++)
		threads[PRODUCERS + i] = thread_start(consumer, traffic);
	for (int i = 0; i < PRODUCERS + CONSUMERS; i++)
		thread_join(threads[i]);
}

static void traffic_check(struct traffic *traffic)
{
	int taken = 0;

	for (int i = 0; i < PRODUCERS * traffic->each; i++) {
		cr_assert_leq(atomic_load(&traffic->items[i].taken), 1);
		taken += atomic_load(&traffic->items[i].taken);
	}
	cr_assert_eq(taken, atomic_load(&traffic->accepted));
	cr_assert_eq(atomic_load(&traffic->fetched), taken);
	free(traffic->items);
	free(traffic->queue);
}

Test(injection, gives_each_job_once_to_concurrent_consumers, .timeout = 60)
{
	struct traffic traffic;

	traffic_run(&traffic, scaled(EACH), consume);
	cr_assert_eq(atomic_load(&traffic.refused), 0);
	traffic_check(&traffic);
}

Test(injection, closes_at_one_moment_for_racing_pushes, .timeout = 60)
{
	for (int round = 0; round < scaled(2000); round++) {
		struct traffic traffic;

		traffic_run(&traffic, 20, consume_until_closed);
		cr_assert(baton__injection_is_empty(traffic.queue));
		cr_assert_eq(atomic_load(&traffic.accepted) + atomic_load(&traffic.refused),
		             PRODUCERS * 20);
		traffic_check(&traffic);
	}
}

/* One job that goes round and round makes the same words again and again: the ABA case. */
static void *circulate(void *arg)
{
	struct traffic *traffic = arg;

	for (int i = 0; i < traffic->each; i++) {
		struct baton__joblist list = BATON__JOBLIST_INIT;
		struct baton_job *job;

		baton__injection_fetch(traffic->queue, 1, &list);
		while ((job = baton__joblist_pop(&list))) {
			if (atomic_fetch_add(&item_of(job)->taken, 1))
				atomic_fetch_add(&traffic->disorders, 1);
			atomic_fetch_sub(&item_of(job)->taken, 1);
			MUST(baton__injection_push(traffic->queue, job) == 0);
		}
	}
	return NULL;
}

Test(injection, never_gives_a_circulating_job_to_two, .timeout = 60)
{
	struct traffic traffic = {.queue = queue_create(), .each = scaled(200000)};
	struct baton__joblist list = BATON__JOBLIST_INIT;
	struct item items[2] = {0};
	pthread_t threads[3];

	push_numbers(traffic.queue, items, 0, 2);
	for (int i = 0; i < 3; i++)
		threads[i] = thread_start(circulate, &traffic);
	for (int i = 0; i < 3; i++)
		thread_join(threads[i]);
	baton__injection_fetch(traffic.queue, SIZE_MAX, &list);
	cr_assert_eq(list.count, 2);
	cr_assert_eq(atomic_load(&traffic.disorders), 0);
	free(traffic.queue);
}
