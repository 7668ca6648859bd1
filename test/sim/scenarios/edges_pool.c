/* SPDX-License-Identifier: MIT */
/*
 * As edges.c, for the queues, the idle set, the pool and the default pool.
 */
#include "support.h"

#include <baton/pool.h>

#include "base/atomic.h"
#include "core/executor.h"
#include "pool/idle.h"
#include "queue/injection.h"
#include "queue/runqueue.h"

#define JOBS 8

/* A job whose plain words the queues must carry from thread to thread. */
struct item {
	struct baton_job job;
	int made; /* by who pushed it */
	int seen; /* by who took it */
};

static struct item items[JOBS];
static struct baton_job *made(int number)
{
	items[number].made = number + 1;
	return &items[number].job;
}

static void got(struct baton_job *job)
{
	struct item *item = baton_container_of(job, struct item, job);

	sim_require(item->made == item - items + 1);
	item->seen++;
	sim_require(item->seen == 1);
}

static void got_list(struct baton__joblist *list)
{
	struct baton_job *job;

	while ((job = baton__joblist_pop(list)))
		got(job);
}

static void all_seen(int count)
{
	for (int i = 0; i < count; i++)
		sim_require(items[i].seen == 1);
}

/* ---- Run queue: 4 slots ---- */

static struct baton__runqueue queue;
static struct baton__runqueue thiefs;
static struct baton__runqueue second;

static void steal_into(void *into)
{
	for (int i = 0; i < 2; i++) {
		size_t count;
		struct baton_job *job =
			baton__runqueue_steal(&queue, into, BATON__WHOLE / 2, &count);

		if (!job)
			continue;
		got(job);
		while ((job = baton__runqueue_pop(into)))
			got(job);
	}
}

static void take_two(void *argument)
{
	for (int i = 0; i < 2; i++) {
		struct baton_job *job = baton__runqueue_take(&queue);

		if (job)
			got(job);
	}
}

/* The owner: pushes `count`, pops some on the way and what is left. */
static void own(int count)
{
	struct baton__joblist list = BATON__JOBLIST_INIT;
	struct baton_job *job;

	for (int i = 0; i < count; i++) {
		if (!baton__runqueue_push(&queue, made(i))) {
			baton__runqueue_overflow(&queue, &list);
			baton__joblist_append(&list, &items[i].job);
		}
		if (i % 3 == 2 && (job = baton__runqueue_pop(&queue)))
			got(job);
	}
	while ((job = baton__runqueue_pop(&queue)))
		got(job);
	got_list(&list);
}

static void runqueues(void)
{
	baton__runqueue_init(&queue);
	baton__runqueue_init(&thiefs);
	baton__runqueue_init(&second);
}

SIM_SCENARIO(edge_runqueue_steal,
             "[runqueue.job] [runqueue.slot] owner and thief: every job once, whole")
{
	runqueues();
	sim_start(steal_into, &thiefs);
	own(7);
	sim_join_all();
	all_seen(7);
}

SIM_SCENARIO(edge_runqueue_take, "[runqueue.job] [runqueue.slot] owner and one who takes")
{
	runqueues();
	sim_start(take_two, NULL);
	own(6);
	sim_join_all();
	all_seen(6);
}

SIM_SCENARIO(edge_runqueue_2, "[runqueue.job] a thief of a thief's loot", .bound = 2)
{
	struct baton_job *job;
	size_t count;

	runqueues();
	for (int i = 0; i < 4; i++)
		sim_require(baton__runqueue_push(&queue, made(i)));
	sim_start(steal_into, &thiefs);
	job = baton__runqueue_steal(&thiefs, &second, BATON__WHOLE / 2, &count);
	if (job)
		got(job);
	while ((job = baton__runqueue_pop(&second)))
		got(job);
	sim_join_all();
	while ((job = baton__runqueue_pop(&queue)))
		got(job);
	all_seen(4);
}

static void steal_beside_own(void *argument)
{
	struct baton_job *job;
	size_t count;

	for (int i = 6; i < 8; i++)
		sim_require(baton__runqueue_push(&thiefs, made(i)));
	job = baton__runqueue_steal(&queue, &thiefs, BATON__WHOLE / 2, &count);
	if (job)
		got(job);
	while ((job = baton__runqueue_pop(&thiefs)))
		got(job);
}

SIM_SCENARIO(edge_runqueue_old_head, "a thief that has read an old head does not overwrite its own")
{
	struct baton_job *job;

	runqueues();
	sim_start(steal_beside_own, NULL);
	for (int i = 0; i < 6; i++) {
		while (!baton__runqueue_push(&queue, made(i)))
			if ((job = baton__runqueue_pop(&queue)))
				got(job);
	}
	while ((job = baton__runqueue_pop(&queue)))
		got(job);
	sim_join_all();
	all_seen(8);
}

/* ---- Injection queue: 2 slots of 2 jobs ---- */

static struct baton__injection injection;

static void push_items(int first, int count)
{
	for (int i = first; i < first + count; i++)
		sim_require(baton__injection_push(&injection, made(i)) == 0);
}

static void push_second(void *argument)
{
	push_items(3, 3);
}

static void push_second_list(void *argument)
{
	struct baton__joblist list = BATON__JOBLIST_INIT;

	for (int i = 3; i < 6; i++)
		baton__joblist_append(&list, made(i));
	sim_require(baton__injection_push_list(&injection, &list) == 0);
}

static void fetch_some(void *argument)
{
	for (int i = 0; i < 2; i++) {
		struct baton__joblist list = BATON__JOBLIST_INIT;

		baton__injection_fetch(&injection, 1, &list);
		got_list(&list);
	}
}

static void fetch_rest(void)
{
	struct baton__joblist list = BATON__JOBLIST_INIT;

	sim_join_all();
	baton__injection_fetch(&injection, SIZE_MAX, &list);
	got_list(&list);
	sim_require(baton__injection_is_empty(&injection));
	sim_require(baton__injection_close_if_empty(&injection));
}

SIM_SCENARIO(edge_injection_push,
             "[injection.batch] [injection.spill] two who push: every job once, whole")
{
	baton__injection_init(&injection);
	sim_start(push_second, NULL);
	push_items(0, 3);
	fetch_rest();
	all_seen(6);
}

SIM_SCENARIO(
	edge_injection_fetch,
	"[injection.batch] [injection.spill] [injection.reuse] one who pushes, one who fetches")
{
	baton__injection_init(&injection);
	sim_start(fetch_some, NULL);
	push_items(0, 7);
	fetch_rest();
	all_seen(7);
}

SIM_SCENARIO(edge_injection_fetch_2,
             "[injection.batch] [injection.spill] [injection.reuse] two who fetch")
{
	baton__injection_init(&injection);
	push_items(0, 5);
	sim_start(fetch_some, NULL);
	fetch_some(NULL);
	push_items(5, 2);
	fetch_rest();
	all_seen(7);
}

SIM_SCENARIO(edge_injection_list, "[injection.batch] [injection.spill] a list, two who fetch",
             .bound = 1)
{
	baton__injection_init(&injection);
	sim_start(push_second_list, NULL);
	sim_start(fetch_some, NULL);
	push_items(0, 3);
	fetch_rest();
	all_seen(6);
}

static int pushed[2];

static void push_until_closed(void *argument)
{
	int me = argument != NULL;

	while (pushed[me] < 2 && baton__injection_push(&injection, made(4 * me + pushed[me])) == 0)
		pushed[me]++;
}

static void close_queue(void)
{
	struct baton__joblist list = BATON__JOBLIST_INIT;

	while (!baton__injection_close_if_empty(&injection)) {
		baton__injection_fetch(&injection, SIZE_MAX, &list);
		sim_yield();
	}
	got_list(&list);
}

static void closed_rightly(void)
{
	sim_join_all();
	for (int me = 0; me < 2; me++)
		for (int i = 0; i < 2; i++)
			sim_require(items[4 * me + i].seen == (i < pushed[me]));
}

SIM_SCENARIO(edge_injection_close, "a push is refused, or its job is found before the close")
{
	baton__injection_init(&injection);
	sim_start(push_until_closed, NULL);
	close_queue();
	closed_rightly();
}

SIM_SCENARIO(edge_injection_close_2, "two who push, one who closes")
{
	baton__injection_init(&injection);
	sim_start(push_until_closed, NULL);
	sim_start(push_until_closed, &pushed);
	close_queue();
	closed_rightly();
}

/* ---- [injection.sleepers] [runqueue.sleepers] [idle.work]: work made visible, then a look for
 * sleepers; and the other way round ---- */

static uint32_t asleep;
static bool woken;
static bool found;

static void inject_and_look(void *argument)
{
	sim_require(baton__injection_push(&injection, made(0)) == 0);
	woken = load_seq_cst(&asleep);
}

static void push_and_look(void *argument)
{
	sim_require(baton__runqueue_push(&queue, made(0)));
	woken = load_seq_cst(&asleep);
}

SIM_SCENARIO(edge_injection_sleep, "[injection.sleepers] who sleeps sees the job, or is seen")
{
	baton__injection_init(&injection);
	sim_start(inject_and_look, NULL);
	store_seq_cst(&asleep, 1);
	found = !baton__injection_is_empty(&injection);
	sim_join_all();
	sim_require(woken || found);
}

SIM_SCENARIO(edge_injection_sleep_full,
             "[injection.sleepers] the same with the ring full: into the spill")
{
	baton__injection_init(&injection);
	push_items(1, 4);
	sim_start(inject_and_look, NULL);
	fetch_some(NULL);
	store_seq_cst(&asleep, 1);
	found = !baton__injection_is_empty(&injection);
	sim_join_all();
	sim_require(woken || found);
}

SIM_SCENARIO(edge_injection_sleep_next, "[injection.sleepers] the same at the end of a slot")
{
	baton__injection_init(&injection);
	push_items(1, 2);
	sim_start(inject_and_look, NULL);
	fetch_some(NULL);
	store_seq_cst(&asleep, 1);
	found = !baton__injection_is_empty(&injection) || items[0].seen;
	sim_join_all();
	sim_require(woken || found);
}

SIM_SCENARIO(edge_runqueue_sleep, "[runqueue.sleepers] the same for a run queue")
{
	runqueues();
	sim_start(push_and_look, NULL);
	store_seq_cst(&asleep, 1);
	found = !baton__runqueue_is_empty(&queue);
	sim_join_all();
	sim_require(woken || found);
}

static void steal_and_look(void *argument)
{
	size_t count;
	struct baton_job *job = baton__runqueue_steal(&queue, &thiefs, BATON__WHOLE / 2, &count);

	sim_require(job);
	woken = load_seq_cst(&asleep);
}

SIM_SCENARIO(edge_steal_sleep, "[runqueue.sleepers] the same for what a thief has put into its own")
{
	runqueues();
	for (int i = 0; i < 4; i++)
		sim_require(baton__runqueue_push(&queue, made(i)));
	sim_start(steal_and_look, NULL);
	store_seq_cst(&asleep, 1);
	/* As seen by who looks at both: the thief's own is filled before it looks. */
	found = !baton__runqueue_is_empty(&thiefs);
	sim_join_all();
	sim_require(woken || found);
}
