/* SPDX-License-Identifier: MIT */
/*
 * What the scenarios of queues and pools share: items, plain jobs whose fate is known.
 *
 * An execution fails when an item runs, or is taken out of a queue, twice, or though it was
 * refused; when it is lost (sim_items_settled); when the library touches it after that; when what
 * was written before it was given away is not visible to the one who gets it.
 */
#ifndef BATON_SIM_JOBS_H
#define BATON_SIM_JOBS_H

#include <baton.h>

#include <errno.h>

#include "sim.h"

#include "queue/joblist.h"

/* For what is the explorer's and not the program's: nothing in there is looked at. */
#define SIM_UNSEEN __attribute__((no_sanitize("thread"), noinline))

enum sim_item_fate { SIM_FRESH_ITEM, SIM_GIVEN, SIM_GOT, SIM_TURNED_DOWN, SIM_DROPPED };

struct sim_item {
	struct baton_plain_job plain;
	void (*body)(struct sim_item *item); /* called when it runs; may be NULL */
	int data;                            /* plain: written by the giver, read by the getter */
	uint32_t over;                       /* futex word: 1 when it has run */
	/* What became of it. */
	enum sim_item_fate fate;
	unsigned giver;
	unsigned getter;
	unsigned number; /* how many had been got before it */
};

void sim_item_init(struct sim_item *item, void (*body)(struct sim_item *item));
struct sim_item *sim_item_of(struct baton_job *job);

/* Before it is given away; and that it was refused after all. */
struct baton_job *sim_item_give(struct sim_item *item);
void sim_item_refused(struct sim_item *item);
/* The job has been got out of a queue, for good: the item. */
struct sim_item *sim_item_got(struct baton_job *job);
/* The same for all of the list; how many. */
unsigned sim_items_got(struct baton__joblist *list);

/* baton_pool_submit, and its status; 0 is the only one that is not refused. */
int sim_item_submit(struct sim_item *item, struct baton_pool *pool);
/* The same by baton_pool_submit_wait. */
int sim_item_submit_wait(struct sim_item *item, struct baton_pool *pool, uint64_t deadline);

/* Sleeps until it has run, without the library's knowledge. */
void sim_item_wait(struct sim_item *item);
/* Says that it has run before it is over: for items that are waited for inside their body. */
void sim_item_is_over(struct sim_item *item);

/* Without looking (for `frozen` and for checks at the end): has it run? And how many have not? */
bool sim_item_ran(const struct sim_item *item);
unsigned sim_items_left(const struct sim_item *items, unsigned count);

/* At the end: each item that was given away was got, cancelled or refused. */
void sim_items_settled(const struct sim_item *items, unsigned count);

/* Of the pools below: spares at most; none unless a scenario says so. */
extern size_t sim_spares;
/* Their policy; NULL: the defaults. */
extern const struct baton_pool_policy *sim_policy;
/* Plain jobs that may wait; 0: no bound. */
extern uint64_t sim_waiting_max;

/* A pool of so many workers, all of them asleep; and one whose workers are still starting. */
struct baton_pool *sim_pool(unsigned workers);
struct baton_pool *sim_pool_awake(unsigned workers);

#endif
