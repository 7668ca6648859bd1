/* SPDX-License-Identifier: MIT */
/*
 * One thread of the pool's is stopped by the system, anywhere: what is not in its hands goes on
 * (law L4). Workers are threads 1 and 2, then come those that the scenario starts.
 *
 * What a stopped worker may delay: what it has claimed and not yet published, a share of the
 * injection queue or half a run queue. But it delays more if it is the only one that searches while
 * the others sleep: nobody is woken then (D4 in idle.c), not even for jobs that come later; and
 * between the end of its search and its look at the queues: until the next job comes.
 */
#include "jobs.h"

#include "pool/idle.h"
#include "pool/pool.h"

#define ITEMS 6
/* At a time: fetch takes whole batches until it has a share; steal half a run queue. */
#define CLAIM_MAX (BATON_WORKER_SHARE_MIN + BATON_INJECTION_BATCH - 1)

static struct baton_pool *pool;
static struct sim_item items[ITEMS];

static void set_up(unsigned workers)
{
	pool = sim_pool(workers);
	for (unsigned i = 0; i < ITEMS; i++)
		sim_item_init(&items[i], NULL);
}

static void submit(void *argument)
{
	int status = sim_item_submit(argument, pool);

	sim_require(status == 0 || status == -ESHUTDOWN);
}

static void end(unsigned given)
{
	sim_join_started();
	for (unsigned i = 0; i < given; i++)
		if (items[i].fate != SIM_TURNED_DOWN)
			sim_item_wait(&items[i]);
	sim_calm(true);
	sim_require(baton_pool_destroy(pool) == 0);
	sim_items_settled(items, given);
}

/* ---- What can be seen of the pool without touching it ---- */

SIM_UNSEEN static bool somebody_searches(void)
{
	return pool->idle.word >> 40 & 0xFFF;
}

SIM_UNSEEN static bool is_woken(void)
{
	return pool->idle.word >> 27 & 1;
}

SIM_UNSEEN static bool ring_has_jobs(const struct baton__injection_ring *ring)
{
	return ring->head <= ring->tail && !(ring->slots[ring->head % BATON_INJECTION_SLOTS] >> 63);
}

SIM_UNSEEN static bool injection_has_jobs(void)
{
	const struct baton__injection *queue = &pool->injection;

	return (queue->spill & ~UINT64_C(1)) || ring_has_jobs(&queue->far) ||
	       ring_has_jobs(&queue->near);
}

/* In the queues of the other workers. */
SIM_UNSEEN static bool others_have_jobs(void)
{
	for (size_t i = 0; i < pool->worker_count; i++) {
		const struct baton__worker *worker = &pool->workers[i];

		if (i + 1 != sim_frozen() && (worker->lifo || worker->fetched ||
		                              worker->order.queue.head < worker->order.queue.tail))
			return true;
	}
	return false;
}

/* ---- A worker ---- */

/* When these have run, or somebody is stopped and the others can do nothing: one job more. */
static void one_more(unsigned given)
{
	while (sim_items_left(items, given) && !sim_frozen())
		sim_yield();
	sim_settle();
	submit(&items[given]);
}

static void worker_is_frozen(void)
{
	/* Not written by anybody now. */
	if (others_have_jobs())
		sim_fail("jobs of an awake worker have not run");
	if (somebody_searches())
		return;
	if (is_woken())
		sim_fail("a wake-up stays half-way");
	if (injection_has_jobs())
		sim_fail("jobs in the injection queue have not run");
	if (sim_items_left(items, ITEMS) > CLAIM_MAX)
		sim_fail("%u jobs are delayed", sim_items_left(items, ITEMS));
}

SIM_SCENARIO(frozen_worker, "one of two workers is stopped: what it has not claimed is run",
             .bound = 1, .freeze = 1, .frozen = worker_is_frozen)
{
	set_up(2);
	for (unsigned i = 0; i < 4; i++)
		submit(&items[i]);
	one_more(4);
	end(5);
}

static void submit_three(struct sim_item *item)
{
	for (int i = 1; i <= 3; i++)
		submit(item + i);
}

SIM_SCENARIO(frozen_thief, "the same while it makes jobs, or steals them", .bound = 1, .freeze = 2,
             .frozen = worker_is_frozen)
{
	set_up(2);
	items[0].body = submit_three;
	submit(&items[0]);
	submit(&items[4]);
	one_more(5);
	end(6);
}

/* Wrong: for the explorer's own test. */
static void nothing_is_delayed(void)
{
	if (sim_items_left(items, ITEMS))
		sim_fail("a job is delayed");
}

SIM_SCENARIO(frozen_worker_wrong, "a stopped worker delays nothing at all", .bound = 1, .freeze = 1,
             .frozen = nothing_is_delayed, .fails = true)
{
	set_up(2);
	submit(&items[0]);
	end(1);
}

/* It would be so but for D4: for the record, and to see that it is looked at. */
static void nothing_waits_outside(void)
{
	if (injection_has_jobs())
		sim_fail("a job in the injection queue has not run");
}

SIM_SCENARIO(frozen_searcher_wrong, "a stopped searcher does not delay the others' wake-up",
             .bound = 1, .freeze = 1, .frozen = nothing_waits_outside, .fails = true)
{
	set_up(2);
	submit(&items[0]);
	submit(&items[1]);
	end(2);
}

/* ---- A submitter from outside, who pushes and wakes ---- */

static void submitter_is_frozen(void)
{
	/* Its own is number 0. */
	if (sim_items_left(&items[1], ITEMS - 1))
		sim_fail("others' jobs are delayed");
}

SIM_SCENARIO(frozen_submitter, "a stopped submitter delays its own job only", .bound = 1,
             .freeze = 2, .frozen = submitter_is_frozen)
{
	set_up(1);
	sim_start(submit, &items[0]);
	submit(&items[1]);
	submit(&items[2]);
	end(3);
}

SIM_SCENARIO(frozen_submitter_2, "the same with two sleeping workers", .bound = 1, .freeze = 3,
             .frozen = submitter_is_frozen)
{
	set_up(2);
	sim_start(submit, &items[0]);
	submit(&items[1]);
	submit(&items[2]);
	end(3);
}

/* It has pushed into the spill, or found the ring full. */
static void submit_five(void *argument)
{
	struct sim_item *first = argument;

	for (int i = 0; i < 5; i++)
		submit(first + i);
}

SIM_SCENARIO(frozen_full, "the same at a queue that is full", .bound = 1, .freeze = 2,
             .frozen = submitter_is_frozen)
{
	set_up(1);
	sim_start(submit, &items[0]);
	submit_five(&items[1]);
	end(6);
}

/* ---- Who ends the pool ---- */

static void shut_down(void *argument)
{
	(void)baton_pool_shutdown(pool);
}

static void nothing_accepted_is_delayed(void)
{
	if (sim_items_left(items, ITEMS))
		sim_fail("%u jobs are delayed", sim_items_left(items, ITEMS));
}

SIM_SCENARIO(frozen_shutdown, "who calls shutdown, and is stopped, delays no job", .bound = 1,
             .freeze = 2, .frozen = nothing_accepted_is_delayed)
{
	set_up(1);
	sim_start(shut_down, NULL);
	submit(&items[0]);
	submit(&items[1]);
	end(2);
}

static struct baton_job *rest;

static void shut_down_now(void *argument)
{
	sim_require(baton_pool_shutdown_now(pool, &rest) == 0);
	while (rest) {
		struct sim_item *item = sim_item_of(rest);

		rest = baton_job_next(rest);
		baton_job_cancel(&item->plain.job);
		sim_item_is_over(item);
	}
}

static uint32_t returned; /* calls of submit, whatever came of them */

SIM_UNSEEN static void submits_return(void)
{
	if (returned != 3)
		sim_fail("a submitter waits for who is stopped in shutdown_now");
}

SIM_UNSEEN static void submit_counted(struct sim_item *item)
{
	submit(item);
	returned++;
}

SIM_SCENARIO(frozen_shutdown_now, "who calls shutdown_now, and is stopped, holds up no submit",
             .bound = 1, .freeze = 2, .frozen = submits_return)
{
	set_up(1);
	sim_start(shut_down_now, NULL);
	for (unsigned i = 0; i < 3; i++)
		submit_counted(&items[i]);
	end(3);
}
