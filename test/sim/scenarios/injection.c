/* SPDX-License-Identifier: MIT */
/*
 * The injection queue alone: producers beside consumers, round and round. Here each of its rings
 * has 2 slots of 2 jobs; what finds no room in the 4 slots goes to the spill.
 */
#include "jobs.h"

#include "base/atomic.h"
#include "queue/injection.h"

#define ITEMS 12
#define RING 4 /* jobs that fill a ring */

static struct baton__injection queue;
static struct sim_item items[ITEMS];
static uint32_t asleep;
static bool found_empty;
static bool found_asleep;
static bool spilt; /* jobs have gone beyond the near ring */
static bool closed[2];
static uint32_t began[ITEMS]; /* step at which its push began */
static uint32_t claimed;      /* step at which thread 1 has claimed the last batch */

SIM_UNSEEN static void beyond_changes(const void *word, unsigned thread, uint64_t before,
                                      uint64_t after)
{
	spilt = true;
}

/* Thread 1 has claimed a batch of a ring, or takes the spill to put it into the far ring. */
SIM_UNSEEN static void claims(const void *word, unsigned thread, uint64_t before, uint64_t after)
{
	if (thread == 1 && (word != &queue.spill || after == 0))
		claimed = sim_step();
}

static void set_up(void)
{
	baton__injection_init(&queue);
	sim_watch(&queue.beyond, beyond_changes);
	for (unsigned i = 0; i < ITEMS; i++)
		sim_item_init(&items[i], NULL);
}

SIM_UNSEEN static void begins(unsigned i)
{
	began[i] = sim_step();
}

static int push(unsigned i)
{
	begins(i);
	int status = baton__injection_push(&queue, sim_item_give(&items[i]));

	if (status)
		sim_item_refused(&items[i]);
	return status;
}

static void push_two(void *argument)
{
	struct sim_item *first = argument;

	for (unsigned i = 0; i < 2; i++)
		sim_require(push((unsigned)(first - items) + i) == 0);
}

static unsigned fetch(size_t share)
{
	struct baton__joblist list = BATON__JOBLIST_INIT;

	baton__injection_fetch(&queue, share, &list);
	return sim_items_got(&list);
}

static void fetch_two(void *argument)
{
	(void)fetch(2);
}

static void fetch_one_twice(void *argument)
{
	(void)fetch(1);
	(void)fetch(1);
}

static void end(unsigned given)
{
	sim_join_all();
	while (fetch(SIZE_MAX))
		;
	sim_require(baton__injection_is_empty(&queue));
	sim_items_settled(items, given);
}

/* Neighbours were given by one thread, one after the other. */
static void check_order(unsigned given)
{
	for (unsigned i = 0; !spilt && i < given; i += 2)
		sim_require(items[i].number < items[i + 1].number);
}

SIM_SCENARIO(injection_push, "two producers beside a consumer: each job once, each one's in order")
{
	set_up();
	sim_start(push_two, &items[0]);
	sim_start(push_two, &items[2]);
	(void)fetch(2);
	end(4);
	check_order(4);
}

SIM_SCENARIO(injection_claim, "a push that joins a batch while it is claimed is in it, or later")
{
	set_up();
	sim_require(push(0) == 0);
	sim_start(fetch_two, NULL);
	sim_require(push(1) == 0);
	end(2);
	sim_require(items[0].number < items[1].number);
}

SIM_SCENARIO(injection_rounds, "a producer and a consumer, more rounds than slots: in order")
{
	set_up();
	sim_start(fetch_one_twice, NULL);
	for (unsigned i = 0; i < 6; i++)
		sim_require(push(i) == 0);
	end(6);
	for (unsigned i = 0; !spilt && i < 5; i++)
		sim_require(items[i].number < items[i + 1].number);
}

SIM_SCENARIO(injection_consumers, "two consumers beside a producer: each job once")
{
	set_up();
	sim_calm(true);
	push_two(&items[0]);
	sim_calm(false);
	sim_start(fetch_one_twice, NULL);
	sim_start(fetch_two, NULL);
	push_two(&items[2]);
	end(4);
}

/* `rings` rings are full, two jobs are beyond. Returns how many jobs that are. */
static unsigned fill(unsigned rings)
{
	set_up();
	for (unsigned i = 0; i < rings * RING + 2; i++)
		sim_require(push(i) == 0);
	sim_require(spilt);
	sim_require((rings == 2) == (queue.spill != 0));
	return rings * RING + 2;
}

static void fill_and_push(unsigned rings)
{
	unsigned count = fill(rings);

	sim_start(fetch_one_twice, NULL);
	sim_require(push(count) == 0);
	sim_require(push(count + 1) == 0);
	end(count + 2);
}

SIM_SCENARIO(injection_far, "a batch is moved nearer while others push: each job once")
{
	fill_and_push(1);
}

SIM_SCENARIO(injection_spill, "the spill is moved while others push: each job once")
{
	fill_and_push(2);
}

SIM_SCENARIO(injection_refill, "two consumers at a full queue: each job once")
{
	unsigned count = fill(1);

	sim_start(fetch_two, NULL);
	(void)fetch(3);
	end(count);
}

SIM_SCENARIO(injection_unspill, "two consumers move the spill and the far ring: each job once")
{
	unsigned count = fill(2);

	sim_start(fetch_two, NULL);
	(void)fetch(count);
	end(count);
}

static void push_list(void *argument)
{
	struct baton__joblist list = BATON__JOBLIST_INIT;

	for (unsigned i = 0; i < 3; i++)
		baton__joblist_append(&list, sim_item_give(&items[i]));
	if (baton__injection_push_list(&queue, &list))
		while (list.count)
			sim_item_refused(sim_item_of(baton__joblist_pop(&list)));
}

SIM_SCENARIO(injection_push_list, "a list beside a push and a consumer: each job once, in order")
{
	set_up();
	sim_start(push_list, NULL);
	sim_start(fetch_one_twice, NULL);
	sim_require(push(3) == 0);
	end(4);
	sim_require(spilt ||
	            (items[0].number < items[1].number && items[1].number < items[2].number));
}

/* ---- One of them is stopped ---- */

/* Thread 0 has fetched what it could; only what thread 1 has claimed may be left. */
SIM_UNSEEN static void consumer_is_frozen(void)
{
	for (unsigned i = 0; i < ITEMS; i++)
		if (items[i].fate == SIM_GIVEN && (!claimed || began[i] > claimed))
			sim_fail("item %u waits for a consumer that has not claimed it", i);
}

SIM_SCENARIO(injection_frozen_consumer, "a stopped consumer delays what it has claimed, no more",
             .freeze = 1, .frozen = consumer_is_frozen)
{
	set_up();
	sim_watch(&queue.near.head, claims);
	sim_require(push(0) == 0);
	sim_start(fetch_two, NULL);
	for (unsigned i = 1; i < 4; i++) {
		sim_point();
		sim_require(push(i) == 0);
	}
	while (fetch(SIZE_MAX))
		;
	end(4);
}

SIM_SCENARIO(injection_frozen_mover, "so does one that moves jobs nearer", .freeze = 1,
             .frozen = consumer_is_frozen)
{
	unsigned count = fill(2);

	sim_watch(&queue.near.head, claims);
	sim_watch(&queue.far.head, claims);
	sim_watch(&queue.spill, claims);
	sim_start(fetch_two, NULL);
	sim_point();
	sim_require(push(count) == 0);
	while (fetch(SIZE_MAX))
		;
	end(count + 1);
}

SIM_UNSEEN static void producer_is_frozen(void)
{
	if (sim_items_left(&items[2], ITEMS - 2))
		sim_fail("a job waits for a producer of others");
}

SIM_SCENARIO(injection_frozen_producer, "a stopped producer delays its own jobs only", .freeze = 1,
             .frozen = producer_is_frozen)
{
	set_up();
	sim_start(push_two, &items[0]);
	for (unsigned i = 2; i < 8; i++)
		sim_require(push(i) == 0);
	while (fetch(SIZE_MAX))
		;
	end(8);
}

/* ---- Closing ---- */

static void close_queue(void *argument)
{
	bool *is_closed = argument;

	/* As shutdown_now does. */
	while (!(*is_closed = baton__injection_close_if_empty(&queue)))
		if (!fetch(SIZE_MAX))
			sim_yield();
}

static void try_close(void *argument)
{
	bool *is_closed = argument;

	*is_closed = baton__injection_close_if_empty(&queue);
}

static void end_closed(unsigned given)
{
	sim_join_all();
	sim_require(fetch(SIZE_MAX) == 0); /* what came before the end was got before it */
	sim_require(push(given) == -ESHUTDOWN);
	sim_require(baton__injection_is_empty(&queue));
	sim_items_settled(items, given + 1);
}

SIM_SCENARIO(injection_close, "a closed queue is empty, and refuses: each job once, or refused")
{
	set_up();
	sim_start(close_queue, &closed[0]);
	(void)push(0);
	(void)push(1);
	end_closed(2);
}

SIM_SCENARIO(injection_close_list, "a list that is pushed beside the end: each once, or refused")
{
	set_up();
	sim_start(close_queue, &closed[0]);
	push_list(NULL);
	end_closed(3);
}

SIM_SCENARIO(injection_close_twice, "two who close beside a push and a consumer")
{
	set_up();
	sim_start(close_queue, &closed[0]);
	sim_start(try_close, &closed[1]);
	sim_start(fetch_two, NULL);
	(void)push(0);
	end_closed(1);
}

static void close_full(unsigned rings)
{
	unsigned count = fill(rings);

	sim_start(close_queue, &closed[0]);
	sim_start(fetch_two, NULL);
	(void)push(count);
	end_closed(count + 1);
}

SIM_SCENARIO(injection_close_full, "a queue that has jobs is not closed", .bound = 1)
{
	close_full(1);
}

SIM_SCENARIO(injection_close_spill, "nor one that has jobs in the spill", .bound = 1)
{
	close_full(2);
}

/* ---- is_empty, as a parking worker uses it ---- */

static void park(void *argument)
{
	store_seq_cst(&asleep, 1);
	found_empty = baton__injection_is_empty(&queue);
}

SIM_SCENARIO(injection_park, "a push sees the parking worker, is seen by it, or has been claimed")
{
	set_up();
	sim_start(park, NULL);
	sim_start(fetch_two, NULL);
	(void)push(0);
	found_asleep = load_seq_cst(&asleep);
	sim_join_all();
	sim_require(found_asleep || !found_empty || sim_item_ran(&items[0]));
	end(1);
}

static void push_two_and_look(void *argument)
{
	push_two(argument);
	found_asleep = load_seq_cst(&asleep);
}

SIM_SCENARIO(injection_park_rounds, "the same as positions are opened and claimed")
{
	set_up();
	push_two(&items[2]);
	sim_start(park, NULL);
	sim_start(push_two_and_look, &items[0]);
	(void)fetch(1);
	sim_join_all();
	sim_require(found_asleep || !found_empty || sim_items_left(items, 4) == 0);
	end(4);
}

static size_t share_of_refiller;

/* As a worker: what its fetch has moved within the queue others may have missed. */
static void fetch_and_look(void *argument)
{
	bool *found = argument;

	(void)fetch(share_of_refiller);
	if (!baton__injection_is_empty(&queue))
		*found = load_seq_cst(&asleep);
}

static void park_full(unsigned rings, size_t share)
{
	static bool refiller_found_asleep;
	unsigned count = fill(rings);

	share_of_refiller = share;
	sim_start(park, NULL);
	sim_start(fetch_and_look, &refiller_found_asleep);
	(void)push(count);
	found_asleep = load_seq_cst(&asleep);
	sim_join_all();
	sim_require(found_asleep || refiller_found_asleep || !found_empty ||
	            sim_items_left(items, count + 1) == 0);
	end(count + 1);
}

SIM_SCENARIO(injection_park_far, "the same for a push to the far ring, or who refills sees it")
{
	park_full(1, 1);
}

SIM_SCENARIO(injection_park_spill, "the same for a push to the spill")
{
	park_full(2, 1);
}

SIM_SCENARIO(injection_park_drained, "a push goes to the spill, although all has been taken")
{
	park_full(2, SIZE_MAX);
}
