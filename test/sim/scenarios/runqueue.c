/* SPDX-License-Identifier: MIT */
/*
 * The run queue alone: its owner beside thieves, over the edge of the ring (4 slots here).
 */
#include "jobs.h"

#include "base/atomic.h"
#include "queue/runqueue.h"

#define ITEMS 10

static struct baton__runqueue queue;
static struct baton__runqueue own[2]; /* the thieves' */
static struct sim_item items[ITEMS];
static uint32_t asleep;
static bool found_empty;
static bool found_asleep;

/* The owner has pushed and popped so many: the ring's positions begin in the middle. */
static void set_up(unsigned past)
{
	static struct sim_item old[4];

	baton__runqueue_init(&queue);
	for (unsigned i = 0; i < 2; i++)
		baton__runqueue_init(&own[i]);
	for (unsigned i = 0; i < ITEMS; i++)
		sim_item_init(&items[i], NULL);
	for (unsigned i = 0; i < past; i++) {
		sim_item_init(&old[i], NULL);
		sim_require(baton__runqueue_push(&queue, sim_item_give(&old[i])));
		(void)sim_item_got(baton__runqueue_pop(&queue));
	}
}

static void pop_all(struct baton__runqueue *from)
{
	struct baton_job *job;

	while ((job = baton__runqueue_pop(from)))
		(void)sim_item_got(job);
}

static void push(unsigned first, unsigned count)
{
	for (unsigned i = first; i < first + count; i++)
		sim_require(baton__runqueue_push(&queue, sim_item_give(&items[i])));
}

/* What is left is in some queue. */
static void end(unsigned given)
{
	sim_join_all();
	pop_all(&queue);
	pop_all(&own[0]);
	pop_all(&own[1]);
	sim_items_settled(items, given);
}

static void steal_into(struct baton__runqueue *into, unsigned times)
{
	size_t count;

	for (unsigned i = 0; i < times; i++) {
		struct baton_job *job =
			baton__runqueue_steal(&queue, into, BATON__WHOLE / 2, &count);

		sim_require(!job == !count);
		sim_require(count <= 2); /* half of the ring */
		if (job)
			(void)sim_item_got(job);
		pop_all(into);
	}
}

static void thief(void *argument)
{
	steal_into(argument, 1);
}

static void thief_twice(void *argument)
{
	steal_into(argument, 2);
}

static void taker(void *argument)
{
	struct baton_job *job = baton__runqueue_take(&queue);

	if (job)
		(void)sim_item_got(job);
}

SIM_SCENARIO(runqueue_wrap, "owner and thief, six jobs through four slots: each once")
{
	set_up(3);
	push(0, 2);
	sim_start(thief_twice, &own[0]);
	for (unsigned i = 2; i < 6; i++)
		while (!baton__runqueue_push(&queue, items[i].fate ? &items[i].plain.job
		                                                   : sim_item_give(&items[i])))
			(void)sim_item_got(baton__runqueue_pop(&queue));
	pop_all(&queue);
	end(6);
}

SIM_SCENARIO(runqueue_pop, "owner and two thieves for three jobs: each once")
{
	set_up(2);
	push(0, 3);
	sim_start(thief, &own[0]);
	sim_start(thief, &own[1]);
	pop_all(&queue);
	end(3);
}

SIM_SCENARIO(runqueue_push, "the owner pushes beside two thieves: each job once, all visible")
{
	set_up(3);
	sim_start(thief, &own[0]);
	sim_start(thief, &own[1]);
	push(0, 4);
	end(4);
}

SIM_SCENARIO(runqueue_overflow, "the owner makes room beside a thief: each job once")
{
	struct baton__joblist list = BATON__JOBLIST_INIT;

	set_up(2);
	push(0, 4);
	sim_start(thief_twice, &own[0]);
	if (!baton__runqueue_push(&queue, sim_item_give(&items[4]))) {
		baton__runqueue_overflow(&queue, &list);
		sim_require(list.count == 0 || list.count == 2);
		sim_require(baton__runqueue_push(&queue, &items[4].plain.job));
	}
	push(5, 1);
	(void)sim_items_got(&list);
	end(6);
}

SIM_SCENARIO(runqueue_take, "owner, thief and a thread without a queue: each job once")
{
	set_up(3);
	push(0, 2);
	sim_start(thief, &own[0]);
	sim_start(taker, NULL);
	push(2, 1);
	pop_all(&queue);
	end(3);
}

/* Between the thief's two looks, at head and at tail, more than a ring's length goes by. */
SIM_SCENARIO(runqueue_old_head, "a thief whose look at the queue is old overwrites nothing")
{
	set_up(0);
	for (unsigned i = 0; i < 2; i++)
		sim_require(baton__runqueue_push(&own[0], sim_item_give(&items[i])));
	push(2, 1);
	sim_start(thief, &own[0]);
	for (unsigned i = 3; i < 9; i++) {
		push(i, 1);
		(void)sim_item_got(baton__runqueue_pop(&queue));
	}
	end(9);
}

/* The owner has popped what it could. */
SIM_UNSEEN static void thief_is_frozen(void)
{
	if (queue.head < queue.tail || sim_items_left(items, ITEMS) > 2)
		sim_fail("more is delayed than a thief takes at a time");
}

SIM_SCENARIO(runqueue_frozen_thief, "a stopped thief delays half a ring at most", .freeze = 1,
             .frozen = thief_is_frozen)
{
	set_up(3);
	push(0, 4);
	sim_start(thief, &own[0]);
	pop_all(&queue);
	push(4, 2);
	pop_all(&queue);
	end(6);
}

/* ---- is_empty, as a parking worker uses it ---- */

static void park(void *argument)
{
	store_seq_cst(&asleep, 1);
	found_empty = baton__runqueue_is_empty(&queue) && baton__runqueue_is_empty(&own[0]);
}

static void thief_who_looks(void *argument)
{
	size_t count;
	struct baton_job *job = baton__runqueue_steal(&queue, argument, BATON__WHOLE / 2, &count);

	sim_require(job);
	(void)sim_item_got(job);
	found_asleep = load_seq_cst(&asleep);
}

SIM_SCENARIO(runqueue_park, "a push sees the parking worker, or is seen by it")
{
	set_up(1);
	sim_start(park, NULL);
	push(0, 1);
	found_asleep = load_seq_cst(&asleep);
	sim_join_all();
	sim_require(found_asleep || !found_empty);
	end(1);
}

SIM_SCENARIO(runqueue_park_steal, "so does a thief who has moved a job to its own queue")
{
	set_up(1);
	push(0, 3);
	sim_start(park, NULL);
	sim_start(thief_who_looks, &own[0]);
	(void)sim_item_got(baton__runqueue_take(&queue));
	sim_join_all();
	sim_require(found_asleep || !found_empty);
	end(3);
}
