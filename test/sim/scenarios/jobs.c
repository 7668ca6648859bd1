/* SPDX-License-Identifier: MIT */
/*
 * Items. What they remember is the explorer's, not the program's: it is written without being
 * looked at (SIM_UNSEEN).
 */
#include "jobs.h"

#include <limits.h>

#include "base/atomic.h"
#include "base/futex.h"

static unsigned got;

SIM_UNSEEN static void set_fate(struct sim_item *item, enum sim_item_fate from,
                                enum sim_item_fate to)
{
	if (item->fate != from)
		sim_fail("an item of fate %d has now fate %d", item->fate, to);
	item->fate = to;
	if (to == SIM_GIVEN)
		item->giver = sim_thread();
	if (to == SIM_GOT) {
		item->getter = sim_thread();
		item->number = got++;
	}
}

static void run_item(struct baton_plain_job *job)
{
	struct sim_item *item = sim_item_got(&job->job);

	if (item->body)
		item->body(item);
	sim_item_is_over(item);
}

static void cancel_item(struct baton_plain_job *job)
{
	struct sim_item *item = baton_container_of(job, struct sim_item, plain);

	set_fate(item, SIM_GIVEN, SIM_DROPPED);
	sim_require(item->data == 1);
	sim_retire(&item->plain, sizeof(item->plain));
}

void sim_item_init(struct sim_item *item, void (*body)(struct sim_item *item))
{
	*item = (struct sim_item){.body = body};
	baton_plain_job_init(&item->plain, run_item, cancel_item);
}

struct sim_item *sim_item_of(struct baton_job *job)
{
	return baton_container_of(job, struct sim_item, plain.job);
}

struct baton_job *sim_item_give(struct sim_item *item)
{
	item->data = 1;
	set_fate(item, SIM_FRESH_ITEM, SIM_GIVEN);
	return &item->plain.job;
}

void sim_item_refused(struct sim_item *item)
{
	set_fate(item, SIM_GIVEN, SIM_TURNED_DOWN);
	sim_retire(&item->plain, sizeof(item->plain));
}

struct sim_item *sim_item_got(struct baton_job *job)
{
	struct sim_item *item = sim_item_of(job);

	set_fate(item, SIM_GIVEN, SIM_GOT);
	sim_require(item->data == 1);
	job->_next = NULL; /* races if it was not published */
	sim_retire(&item->plain, sizeof(item->plain));
	return item;
}

unsigned sim_items_got(struct baton__joblist *list)
{
	unsigned count = 0;

	while (list->count) {
		(void)sim_item_got(baton__joblist_pop(list));
		count++;
	}
	return count;
}

int sim_item_submit(struct sim_item *item, struct baton_pool *pool)
{
	int status;

	(void)sim_item_give(item);
	status = baton_pool_submit(pool, &item->plain);
	if (status)
		sim_item_refused(item);
	return status;
}

int sim_item_submit_wait(struct sim_item *item, struct baton_pool *pool, uint64_t deadline)
{
	int status;

	(void)sim_item_give(item);
	status = baton_pool_submit_wait_until(pool, &item->plain, deadline);
	if (status)
		sim_item_refused(item);
	return status;
}

void sim_item_is_over(struct sim_item *item)
{
	store_release(&item->over, 1);
	baton__futex_wake(&item->over, INT_MAX);
}

void sim_item_wait(struct sim_item *item)
{
	struct baton__futex_watch watch = {&item->over, 0};

	while (!load_acquire(&item->over))
		(void)baton__futex_wait(&watch, 1, BATON_FOREVER);
}

SIM_UNSEEN bool sim_item_ran(const struct sim_item *item)
{
	return item->fate == SIM_GOT;
}

SIM_UNSEEN unsigned sim_items_left(const struct sim_item *items, unsigned count)
{
	unsigned left = 0;

	for (unsigned i = 0; i < count; i++)
		left += items[i].fate == SIM_GIVEN;
	return left;
}

SIM_UNSEEN void sim_items_settled(const struct sim_item *items, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		if (items[i].fate == SIM_GIVEN)
			sim_fail("item %u was accepted, and is lost", i);
}

size_t sim_spares = BATON_POOL_NO_SPARES;
const struct baton_pool_policy *sim_policy;
uint64_t sim_waiting_max;

struct baton_pool *sim_pool_awake(unsigned workers)
{
	struct baton_pool_options options = {.workers = workers,
	                                     .spares_max = sim_spares,
	                                     .policy = sim_policy,
	                                     .waiting_max = sim_waiting_max};
	struct baton_pool *pool = NULL;

	sim_calm(true);
	sim_require(baton_pool_create(&options, &pool) == 0);
	sim_calm(false);
	return pool;
}

struct baton_pool *sim_pool(unsigned workers)
{
	struct baton_pool *pool = sim_pool_awake(workers);

	sim_settle();
	return pool;
}
