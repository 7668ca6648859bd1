/* SPDX-License-Identifier: MIT */
/* The run queue: order, capacity, stealing half, indices that wrap, each job once. */
#include "queue/runqueue.h"

#include "support.h"

enum { SLOTS = BATON_RUNQUEUE_SLOTS };

struct item {
	struct baton_job job;
	atomic_int taken;
	int number;
};

static struct item *item_of(struct baton_job *job)
{
	return baton_container_of(job, struct item, job);
}

static struct baton__runqueue *queue_create(uint64_t position)
{
	struct baton__runqueue *queue = aligned_alloc(BATON_CACHE_LINE, sizeof(*queue));

	MUST(queue);
	baton__runqueue_init(queue);
	queue->head = queue->tail = position;
	return queue;
}

static int push_numbers(struct baton__runqueue *queue, struct item *items, int count)
{
	for (int i = 0; i < count; i++) {
		items[i].number = i;
		if (!baton__runqueue_push(queue, &items[i].job))
			return i;
	}
	return count;
}

static int pop_number(struct baton__runqueue *queue)
{
	struct baton_job *job = baton__runqueue_pop(queue);

	return job ? item_of(job)->number : -1;
}

Test(runqueue, pops_the_oldest_first, .timeout = 10)
{
	struct baton__runqueue *queue = queue_create(0);
	struct item items[10] = {0};

	cr_assert_eq(push_numbers(queue, items, 10), 10);
	cr_assert_eq(baton__runqueue_length(queue), 10);
	for (int i = 0; i < 10; i++)
		cr_assert_eq(pop_number(queue), i);
	cr_assert_eq(pop_number(queue), -1);
	cr_assert(baton__runqueue_is_empty(queue));
	free(queue);
}

Test(runqueue, holds_as_many_jobs_as_it_has_slots, .timeout = 10)
{
	struct baton__runqueue *queue = queue_create(0);
	struct item items[SLOTS + 1] = {0};

	cr_assert_eq(push_numbers(queue, items, SLOTS + 1), SLOTS);
	for (int i = 0; i < SLOTS; i++)
		cr_assert_eq(pop_number(queue), i);
	free(queue);
}

Test(runqueue, overflow_gives_the_older_half_in_order, .timeout = 10)
{
	struct baton__runqueue *queue = queue_create(0);
	struct baton__joblist list = BATON__JOBLIST_INIT;
	struct item items[SLOTS] = {0};

	cr_assert_eq(push_numbers(queue, items, SLOTS), SLOTS);
	baton__runqueue_overflow(queue, &list);
	cr_assert_eq(list.count, SLOTS / 2);
	for (int i = 0; i < SLOTS / 2; i++)
		cr_assert_eq(item_of(baton__joblist_pop(&list))->number, i);
	baton__runqueue_overflow(queue, &list); /* not full any more */
	cr_assert_eq(list.count, 0);
	for (int i = SLOTS / 2; i < SLOTS; i++)
		cr_assert_eq(pop_number(queue), i);
	free(queue);
}

/* The older part, rounded up, at most half a ring. */
static size_t part_of(int count, uint32_t share)
{
	size_t part = ((size_t)count * share + 255) / 256;

	return part < SLOTS / 2 ? part : SLOTS / 2;
}

Test(runqueue, a_thief_takes_its_share_of_the_oldest_jobs, .timeout = 10)
{
	static const uint32_t shares[] = {1, 64, 128, 200, 256};

	for (int i = 0; i < 5 * SLOTS; i++) {
		struct baton__runqueue *from = queue_create(77);
		struct baton__runqueue *into = queue_create(1000);
		struct item items[SLOTS] = {0};
		uint32_t share = shares[i / SLOTS];
		int count = i % SLOTS + 1;
		size_t part = part_of(count, share);
		size_t stolen = 0;

		push_numbers(from, items, count);
		cr_assert_eq(baton__runqueue_steal(from, into, share, &stolen), &items[0].job);
		cr_assert_eq(stolen, part, "%d, %u: %zu", count, share, stolen);
		cr_assert_eq(baton__runqueue_length(into), part - 1);
		for (int k = 1; k < (int)part; k++)
			cr_assert_eq(pop_number(into), k);
		for (int k = (int)part; k < count; k++)
			cr_assert_eq(pop_number(from), k);
		free(from);
		free(into);
	}
	cr_assert_eq(part_of(7, 128), 4, "half, rounded up");
}

Test(runqueue, a_thief_finds_nothing_in_an_empty_queue, .timeout = 10)
{
	struct baton__runqueue *from = queue_create(5);
	struct baton__runqueue *into = queue_create(0);
	size_t stolen = 1;

	cr_assert_null(baton__runqueue_steal(from, into, BATON__WHOLE / 2, &stolen));
	cr_assert_eq(stolen, 0);
	cr_assert_null(baton__runqueue_take(from));
	free(from);
	free(into);
}

Test(runqueue, goes_round_the_ring_for_ever, .timeout = 10)
{
	struct baton__runqueue *queue = queue_create((UINT64_C(1) << 32) - 300);
	struct item items[100] = {0};

	for (int round = 0; round < 50; round++) {
		cr_assert_eq(push_numbers(queue, items, 100), 100);
		for (int i = 0; i < 100; i++)
			cr_assert_eq(pop_number(queue), i);
	}
	free(queue);
}

/* Threads. */
enum { THIEVES = 3, JOBS = 300000 };

struct heist {
	struct baton__runqueue *victim;
	atomic_int running;
	atomic_int taken;
};

static void take_item(struct heist *heist, struct baton_job *job)
{
	atomic_fetch_add_explicit(&item_of(job)->taken, 1, memory_order_relaxed);
	MUST(item_of(job)->number == 7); /* plain: the queue's edges alone order it */
	atomic_fetch_add_explicit(&heist->taken, 1, memory_order_relaxed);
}

static void *thief_main(void *arg)
{
	struct heist *heist = arg;
	struct baton__runqueue *own = queue_create(0);

	while (atomic_load(&heist->running)) {
		size_t stolen;
		struct baton_job *job =
			baton__runqueue_steal(heist->victim, own, BATON__WHOLE / 2, &stolen);

		if (!job)
			sched_yield();
		for (; job; job = baton__runqueue_pop(own))
			take_item(heist, job);
	}
	free(own);
	return NULL;
}

Test(runqueue, owner_and_thieves_take_each_job_once, .timeout = 60)
{
	int jobs = scaled(JOBS);
	struct heist heist = {.victim = queue_create(0)};
	struct item *items = calloc((size_t)jobs, sizeof(*items));
	struct baton__joblist list = BATON__JOBLIST_INIT;
	pthread_t threads[THIEVES];
	struct baton_job *job;

	atomic_store(&heist.running, 1);
	for (int i = 0; i < THIEVES; i++)
		threads[i] = thread_start(thief_main, &heist);
	for (int i = 0; i < jobs; i++) {
		items[i].number = 7;
		while (!baton__runqueue_push(heist.victim, &items[i].job))
			baton__runqueue_overflow(heist.victim, &list);
		while ((job = baton__joblist_pop(&list)))
			take_item(&heist, job);
		if (i % 3 == 0 && (job = baton__runqueue_pop(heist.victim)))
			take_item(&heist, job);
	}
	while ((job = baton__runqueue_pop(heist.victim)))
		take_item(&heist, job);
	while (atomic_load(&heist.taken) < jobs)
		sched_yield();
	atomic_store(&heist.running, 0);
	for (int i = 0; i < THIEVES; i++)
		thread_join(threads[i]);
	for (int i = 0; i < jobs; i++)
		cr_assert_eq(atomic_load(&items[i].taken), 1);
	free(items);
	free(heist.victim);
}
